"""What every source is: typed configuration that can say which crawls there are and give their data.

Here: the two kinds of source, what they return, and the error they raise. Not here: any format (one module
each), fetching of files (`files`), dating of crawls (`calendar`), or anything about Dagster.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from crawl_urn_dagster.sources.files import Files


class SourceError(ValueError):
    """The source cannot be read as configured; the message says where, what was found and expected."""


@dataclass(frozen=True)
class InputFile:
    """A file as it was read: where it is from, its size in bytes, the hash of its content."""

    location: str
    bytes: int
    sha256: str


def fingerprint(inputs: tuple[InputFile, ...]) -> str:
    """Hash of the locations and contents of some inputs, 16 hexadecimal digits."""
    lines = sorted(f"{file.location}\t{file.sha256}\n" for file in inputs)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


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
        ``crawl, started_at, dated_by, elements``, in time order.
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
    """Common to the configuration of every source; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: One standard error of the source's counts, as a fraction of the count; 0 where counts are exact.
    relative_error: float = 0.0

    @abstractmethod
    def relative_to(self, folder: Path) -> SourceConfig:
        """Return a copy in which relative paths are taken from a folder; http(s) addresses stay."""

    @abstractmethod
    def missing_files(self) -> list[str]:
        """Local files that are configured and not there."""

    @abstractmethod
    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """Ask the source what it has."""


class PresenceSource(SourceConfig):
    """A source of presence lists: which element was in which crawl."""

    @abstractmethod
    def read_presence(self, files: Files, selection: Selection, destination: Path) -> Presence:
        """Write the presence list of the selected crawls to a Parquet file, atomically."""


class TablesSource(SourceConfig):
    """A source of ready-made observables."""

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
