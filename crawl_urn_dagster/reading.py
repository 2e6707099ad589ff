"""Read crawls into memory: presence lists, published counts, or any source.

Does not fit them; see `api`. Nothing is kept on disk.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.engines import LocalEngine
from crawl_urn_dagster.observables.losses import with_losses
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.quality import WHAT_TO_DO, breach, broken_rules
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_counts, tables_from_histories
from crawl_urn_dagster.sources import (
    Files,
    ObservableTablesSource,
    PresenceListSource,
    PresenceSource,
    Selection,
    SourceError,
)
from crawl_urn_dagster.sources.calendar import crawls_frame
from crawl_urn_dagster.urn import CountingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from crawl_urn_dagster.sources import TablesSource
    from crawl_urn_dagster.urn import CaptureHistoryCounts

    #: A path or address, or a frame of pandas, polars or pyarrow.
    Data: TypeAlias = str | os.PathLike[str] | pd.DataFrame | Any

_MEMORY_BYTES = 2**32


@dataclass(frozen=True, repr=False)
class Crawls:
    """A sequence of crawls as read by `read_presence`, `read_counts` or `read_source`.

    Attributes
    ----------
    tables
        Tables of the contract by name: crawls, with containment, discovery_curve, m_array and first_returns where the
        data contain them.
    histories
        Capture-history counts; None for counts of overlaps and unions.
    error
        How the elements were counted.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"crawl": ["2024-01", "2024-01", "2024-02"], "element": ["a", "b", "b"]})
    >>> read_presence(frame)
    2 crawls, 2024-01 to 2024-02, of 1 to 2 elements
    """

    tables: Mapping[str, pd.DataFrame]
    histories: CaptureHistoryCounts | None
    error: CountingError

    def __repr__(self) -> str:
        crawls = self.tables["crawls"]
        first, last = crawls["crawl"].iloc[[0, -1]]
        known = crawls["elements"].dropna()
        sizes = f", of {known.min():,} to {known.max():,} elements" if len(known) else ""
        return f"{count_noun(len(crawls), 'crawl')}, {first} to {last}{sizes}"


def read_presence(
    presence: Data,
    *,
    crawl_column: str = "crawl",
    element_column: str = "element",
    calendar: Data | None = None,
) -> Crawls:
    """Read a presence list: one row per crawl and element.

    Parameters
    ----------
    presence
        Path or address of CSV, gzip CSV or Parquet, or a frame of pandas, polars or pyarrow.
    crawl_column, element_column
        Names of the two columns.
    calendar
        Start dates of the crawls, columns ``id, from``, if their labels are neither dates nor Common Crawl ids.

    Returns
    -------
    Crawls
        The crawls with their observables.

    Raises
    ------
    SourceError
        When a file, a row, a date or a crawl is not as expected; the message names the place and what to do.

    Examples
    --------
    >>> frame = pd.DataFrame({"snapshot": ["2024-01", "2024-02", "2024-02"], "host": ["a.org", "a.org", "b.org"]})
    >>> crawls = read_presence(frame, crawl_column="snapshot", element_column="host")
    >>> crawls.tables["containment"]["containment"].tolist()
    [1.0]
    """
    with _located(presence=presence, calendar=calendar) as locations:
        columns = {"crawl_column": crawl_column, "element_column": element_column}
        path, when = locations["presence"], locations["calendar"]
        source = PresenceListSource.model_validate({"path": path, "calendar": when, **columns})
        return warned(_read(source, Selection()))


def read_counts(
    *,
    pairs: Data | None = None,
    windows: Data | None = None,
    calendar: Data | None = None,
    relative_error: float = 0.0,
) -> Crawls:
    """Read published counts of crawls: pairwise overlaps, unions of windows, or both.

    Parameters
    ----------
    pairs
        Path, address or frame of intersections: ``crawl_i, crawl_j, size_i, size_j, intersection``, and
        ``started_i, started_j`` where the table dates the crawls.
    windows
        Path, address or frame of unions of consecutive crawls: ``start, end, union``.
    calendar
        See `read_presence`.
    relative_error
        Standard error of sketched counts as a fraction of the count, in [0, 1); 0 for exact counts.

    Returns
    -------
    Crawls
        The crawls with their observables.

    Raises
    ------
    SourceError
        When a file, a row, a date or a crawl is not as expected; the message names the place and what to do.

    Warns
    -----
    UserWarning
        When the counts cannot all be true, such as an intersection larger than one of its crawls, by more than
        `relative_error` allows; `fit` gives the same warning.

    Examples
    --------
    >>> pairs = pd.DataFrame(
    ...     {"crawl_i": ["2024-01"], "crawl_j": ["2024-02"], "size_i": [100], "size_j": [90], "intersection": [60]}
    ... )
    >>> read_counts(pairs=pairs).tables["containment"]["containment"].tolist()
    [0.6]
    """
    with _located(pairs=pairs, windows=windows, calendar=calendar) as locations:
        source = ObservableTablesSource.model_validate({**locations, "relative_error": relative_error})
        return warned(_read(source, Selection()))


def read_source(
    source: PresenceSource | TablesSource, *, first_crawl: str | None = None, last_crawl: str | None = None
) -> Crawls:
    """Read any source.

    Parameters
    ----------
    source
        One of the classes of `crawl_urn_dagster.sources`, or your own source.
    first_crawl, last_crawl
        The first and the last crawl to read, both included; by default all.

    Returns
    -------
    Crawls
        The crawls with their observables.

    Raises
    ------
    SourceError
        When the source cannot be read or is not as expected; the message names the place and what to do.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import SimulatedSource
    >>> source = SimulatedSource(kappa=0.4, alpha=0.8, coverage=0.6, crawls=3, elements=500)
    >>> len(read_source(source).tables["crawls"])
    3
    """
    return warned(_read(source, Selection(first_crawl, last_crawl)))


def as_crawls(data: Data) -> Crawls:
    """Read a presence list with the default column names.

    Raises
    ------
    TypeError
        When it is neither a path nor a frame.
    """
    if isinstance(data, str | os.PathLike) or _is_frame(data):
        return read_presence(data)
    raise TypeError(
        f"crawls: found {type(data).__name__}, expected the result of read_presence, read_counts or read_source, a "
        "frame with the columns crawl and element, or the path of such a table"
    )


def _is_frame(data: object) -> bool:
    """Whether data are a frame: of pandas, or one that can be converted to it, such as frames of polars and pyarrow."""
    return isinstance(data, pd.DataFrame) or hasattr(data, "to_pandas")


def warned(crawls: Crawls) -> Crawls:
    """Warn the caller of a public function about counts that cannot be true."""
    tables = crawls.tables
    broken = broken_rules(
        tables["crawls"], tables.get("containment"), tables.get("discovery_curve"), crawls.error.relative
    )
    for rule, rows in broken.items():
        warnings.warn(f"{breach(rule, rows)} {WHAT_TO_DO[rule]}", stacklevel=3)
    return crawls


def _read(source: PresenceSource | TablesSource, selection: Selection) -> Crawls:
    with tempfile.TemporaryDirectory(prefix="crawl_urn_") as scratch:
        if isinstance(source, PresenceSource):
            return _read_presence_source(source, selection, Path(scratch))
        return _read_tables_source(source, selection, Path(scratch))


def _read_presence_source(source: PresenceSource, selection: Selection, scratch: Path) -> Crawls:
    files, presence = Files(scratch / "cache"), PresenceFolder(scratch / "presence")
    listing = source.list_crawls(files, selection)
    labels = [crawl.crawl for crawl in listing.crawls]
    written = {
        partition.crawl: partition for partition in presence.write(source.captures(files, labels), listing.revisions)
    }
    partitions = [written[label] for label in labels]
    histories = LocalEngine().count_histories(
        partitions, state=scratch / "histories", memory_bytes=_MEMORY_BYTES, report=str
    )
    histories = with_losses(partitions, {None: histories})[None]
    elements = {label: partition.elements for label, partition in written.items()}
    content = {label: partition.content for label, partition in written.items()}
    crawls, exact = crawls_table(crawls_frame(listing.crawls, elements), content), CountingError()
    tables = {"crawls": crawls, **tables_from_histories(crawls, histories, exact)}
    return Crawls(MappingProxyType(tables), histories, exact)


def _read_tables_source(source: TablesSource, selection: Selection, scratch: Path) -> Crawls:
    read = source.read_tables(Files(scratch / "cache"), selection)
    crawls, error = crawls_table(read.crawls), CountingError(relative=source.relative_error)
    tables = {"crawls": crawls, **tables_from_counts(crawls, read.pairs, read.windows, error)}
    return Crawls(MappingProxyType(tables), None, error)


@contextmanager
def _located(**data: Data | None) -> Iterator[dict[str, str | None]]:
    """Yield the location of each table by name; frames are temporary files while they are read."""
    with tempfile.TemporaryDirectory(prefix="crawl_urn_") as folder:
        locations = {name: None if one is None else _locate(one, Path(folder), name) for name, one in data.items()}
        try:
            yield locations
        except SourceError as error:
            raise SourceError(str(error).replace(f"{folder}{os.sep}", "frame ")) from error


def _locate(data: Data, folder: Path, name: str) -> str:
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    if not _is_frame(data):
        raise TypeError(
            f"{name}: found {type(data).__name__}, expected a path, an address, or a frame of pandas, polars or pyarrow"
        )
    path = folder / f"{name}.csv"
    (data if isinstance(data, pd.DataFrame) else data.to_pandas()).to_csv(path, index=False)
    return str(path)
