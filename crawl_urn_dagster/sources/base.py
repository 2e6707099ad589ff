"""What every source is: typed configuration that can say which crawls there are and give their data.

Here: the two kinds of source and what they return. Not here: any format (one module each), fetching of files
(`files`), dating of crawls (`calendar`), or anything about Dagster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from crawl_urn_dagster.sources.locations import existing, in_folder

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from typing_extensions import Self

    from crawl_urn_dagster.sources.files import Files
    from crawl_urn_dagster.sources.inputs import InputFile


@dataclass(frozen=True)
class Listing:
    """What a source has now: its crawls in time order (selected ones only), and the files they are from."""

    crawls: tuple[str, ...]
    inputs: tuple[InputFile, ...]


@dataclass(frozen=True)
class ObservableTables:
    """Ready-made observables of the selected run of crawls.

    Attributes
    ----------
    crawls
        ``crawl, started_at, dated_by, elements``, in time order; elements is nullable (``Int64``): a source
        may not publish the size of every crawl.
    pairs
        ``crawl_i, crawl_j, size_i, size_j, intersection`` with i earlier than j, or None.
    windows
        ``start_crawl, end_crawl, window_crawls, distinct_elements``; only windows that lie whole within the
        selected crawls, those of one crawl included; window_crawls counts both ends; or None.
    inputs
        The files that were read.
    """

    crawls: pd.DataFrame
    pairs: pd.DataFrame | None
    windows: pd.DataFrame | None
    inputs: tuple[InputFile, ...]


@dataclass(frozen=True)
class Presence:
    """A presence list that was written to Parquet (columns ``crawl, element``, both text).

    Attributes
    ----------
    crawls
        ``crawl, started_at, dated_by, elements``, in time order.
    rows
        Rows written; a pair of crawl and element may occur more than once.
    inputs
        The files that were read.
    """

    crawls: pd.DataFrame
    rows: int
    inputs: tuple[InputFile, ...]


@dataclass(frozen=True)
class Selection:
    """The crawls a collection takes from its source: from the first to the last, both included."""

    first_crawl: str | None = None
    last_crawl: str | None = None


class SourceConfig(BaseModel, ABC):
    """Common to the configuration of every source; unknown keys and wrong types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    #: Names of the fields that hold a location.
    location_fields: ClassVar[tuple[str, ...]] = ()

    def relative_to(self, folder: Path) -> Self:
        """Return a copy in which relative paths are taken from a folder; http(s) addresses stay."""
        return self.model_copy(update={name: in_folder(folder, value) for name, value in self._locations().items()})

    def missing_files(self) -> list[str]:
        """Local files that are configured and not there, and globs that match none."""
        return [value for value in self._locations().values() if not existing(value)]

    def _locations(self) -> dict[str, str]:
        values = {name: getattr(self, name) for name in self.location_fields}
        return {name: value for name, value in values.items() if value is not None}

    @abstractmethod
    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """Ask the source what it has."""


class PresenceSource(SourceConfig):
    """A source of presence lists: which element was in which crawl."""

    #: Presence lists are counted, not estimated.
    relative_error: ClassVar[float] = 0.0

    @abstractmethod
    def read_presence(self, files: Files, selection: Selection, destination: Path) -> Presence:
        """Write the presence list of the selected crawls to a Parquet file, atomically."""


class TablesSource(SourceConfig):
    """A source of ready-made observables.

    Attributes
    ----------
    relative_error
        One standard error of the source's counts, as a fraction of the count, in [0, 1); 0: exact.
    """

    relative_error: float = Field(default=0.0, ge=0, lt=1)

    @property
    @abstractmethod
    def has_pairs(self) -> bool:
        """Whether the source gives pairwise intersections."""

    @property
    @abstractmethod
    def has_windows(self) -> bool:
        """Whether the source gives unions of windows."""

    @abstractmethod
    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Read the observables of the selected crawls."""

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """Read the tables, which are small, and list their crawls."""
        tables = self.read_tables(files, selection)
        return Listing(tuple(tables.crawls["crawl"]), tables.inputs)
