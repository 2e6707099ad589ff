"""What every source is: typed configuration that can say which crawls there are and give their data.

Here: the two kinds of source and what they return. Not here: any format (one module each), fetching of files
(`files`), dating of crawls (`calendar`), or anything about Dagster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from crawl_urn_dagster.sources.calendar import DatedCrawl, fetch_calendar
from crawl_urn_dagster.sources.transport.locations import existing, in_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from typing_extensions import Self

    from crawl_urn_dagster.sources.inputs import InputFile
    from crawl_urn_dagster.sources.transport.files import Files


@dataclass(frozen=True)
class Listing:
    """What a source has now.

    Attributes
    ----------
    crawls
        The selected crawls in time order.
    inputs
        The files they are from.
    revisions
        Of a presence source: by crawl, a hash of its captures, or of what they are read from.
    captures
        Of a presence source: by crawl, how many captures there are, to tell progress by; empty when that is not known.
    findings
        What was noticed in the files: lines by what became of them, samples of what could not be read.
    """

    crawls: tuple[DatedCrawl, ...]
    inputs: tuple[InputFile, ...]
    revisions: Mapping[str, str] = field(default_factory=dict)
    captures: Mapping[str, int] = field(default_factory=dict)
    findings: Mapping[str, int | str] = field(default_factory=dict)


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
    published
        Of a source that is revised: all counts that it publishes now, selected or not, as ``quantity, start_crawl,
        end_crawl, window_crawls, distinct_elements, location, sha256``; or None.
    not_published
        Labels of selected crawls that are listed, and whose data are not published.
    """

    crawls: pd.DataFrame
    pairs: pd.DataFrame | None
    windows: pd.DataFrame | None
    inputs: tuple[InputFile, ...]
    published: pd.DataFrame | None = None
    not_published: tuple[str, ...] = ()


class Captures(NamedTuple):
    """Some captures of one crawl.

    Attributes
    ----------
    crawl
        Label of the crawl.
    elements
        Texts, shape (captures,), in any order; an element may occur more than once.
    complete
        Whether the crawl has no more.
    strata
        Of a source with a column of strata: texts, shape (captures,), NaN or None where there is none.
    """

    crawl: str
    elements: npt.NDArray[np.object_]
    complete: bool
    strata: npt.NDArray[np.object_] | None = None


class StratumColumn(NamedTuple):
    """The column that elements are divided by.

    Attributes
    ----------
    name
        Of the column in the source.
    ranks
        Whether its values must be whole numbers from 1.
    """

    name: str
    ranks: bool


class Sample(NamedTuple):
    """A coordinated sample of elements.

    Attributes
    ----------
    one_in
        Of how many elements one is kept.
    keeps
        Says of texts, shape (captures,), which are in the sample.
    """

    one_in: int
    keeps: Callable[[npt.NDArray[np.object_]], npt.NDArray[np.bool_]]


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

    @property
    def granularity(self) -> str | None:
        """What an element is; None where the source cannot tell."""
        return None

    @abstractmethod
    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """Ask the source what it has."""

    def awaited(self, files: Files, listing: Listing) -> list[str]:
        """Return the crawls that the source's calendar has later than any that has data: announced, not published."""
        calendar, _ = fetch_calendar(files, self._locations().get("calendar"))
        return [crawl for crawl, date in (calendar or {}).items() if date > listing.crawls[-1].started_at]


class PresenceSource(SourceConfig):
    """A source of presence lists: which element was in which crawl."""

    #: Presence lists are counted, not estimated.
    relative_error: ClassVar[float] = 0.0

    def with_stratum(self, column: StratumColumn) -> Self:
        """Return the source that gives the values of a column with its captures; a source without columns cannot.

        Raises
        ------
        ValueError
            When the source has no columns.
        """
        raise ValueError(f"has no column {column.name!r} to take a stratum from: leave stratum out")

    def with_sample(self, sample: Sample) -> Self:  # noqa: ARG002 - of those that can
        """Return the source that may leave out what is not in a sample; a source that keeps no elements gives all."""
        return self

    @abstractmethod
    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the captures of some crawls that were listed, each crawl's as close together as the files allow."""


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

    @property
    def is_revised(self) -> bool:
        """Whether counts that were published are known to be revised, so that what was published when is kept."""
        return False

    @abstractmethod
    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Read the observables of the selected crawls."""

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """Read the tables, which are small, and list their crawls."""
        tables = self.read_tables(files, selection)
        dated = (DatedCrawl(*row) for row in tables.crawls[["crawl", "started_at", "dated_by"]].itertuples(index=False))
        return Listing(tuple(dated), tables.inputs)
