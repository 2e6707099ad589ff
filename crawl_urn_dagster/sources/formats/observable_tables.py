"""Read ready-made observables: a table with a row per pair of crawls, a table with a row per window, or both.

Does not read Common Crawl's table of windows; see `common_crawl.statistics`. Does not test whether counts are
plausible; see `observables.quality`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.calendar import (
    Selection,
    check_label,
    check_starts,
    crawls_frame,
    date_crawls,
    fetch_calendar,
    require_date,
    select_crawls,
)
from crawl_urn_dagster.sources.csv_tables import Row, add_once, parse_count, read_header, read_rows
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.observable_frames import PAIR_COLUMNS, pairs_frame, windows_frame
from crawl_urn_dagster.sources.interface import ObservableTables, TablesSource
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

DATE_COLUMNS = ("started_i", "started_j")
WINDOW_COLUMNS = ("start", "end", "union")
_STANDARD_ERRORS_ALLOWED = 5

PairCounts = dict[tuple[str, str], tuple[int, int, int]]
WindowCounts = dict[tuple[str, str], int]


class ObservableTablesSource(TablesSource):
    r"""A table of pairwise intersections, a table of distinct elements of windows, or both.

    A window covers every crawl of the tables from its start to its end. Other columns are ignored; rows whose count is
    ``nan`` are left out.

    Parameters
    ----------
    pairs
        Table of pairs, ``crawl_i, crawl_j, size_i, size_j, intersection``, with i earlier than j. Its columns
        ``started_i, started_j``, if present, date the crawls.
    windows
        Table of windows, ``start, end, union``, by first and last crawl.
    calendar
        Start of each crawl: CSV with columns ``id, from``, or Common Crawl's ``collinfo.json``. None: the pairs are
        dated, or labels are dates or Common Crawl ids.
    columns
        Names in the file of columns that are named otherwise, by the name above.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import Files, ObservableTablesSource, Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.csv")
    ...     _ = path.write_text("crawl_i,crawl_j,size_i,size_j,intersection\n2024-01,2024-02,10,20,5\n")
    ...     source = ObservableTablesSource(pairs=str(path))
    ...     tables = source.read_tables(Files(Path(folder, "cache")), Selection())
    >>> tables.crawls["elements"].tolist()
    [10, 20]
    """

    location_fields: ClassVar[tuple[str, ...]] = ("pairs", "windows", "calendar")

    type: Literal["observable_tables"] = "observable_tables"
    pairs: Location | None = None
    windows: Location | None = None
    calendar: Location | None = None
    columns: dict[str, str] = Field(default_factory=dict)

    @field_validator("columns")
    @classmethod
    def _check_columns(cls, columns: dict[str, str]) -> dict[str, str]:
        known = (*PAIR_COLUMNS, *DATE_COLUMNS, *WINDOW_COLUMNS)
        for name in columns:
            if name not in known:
                raise ValueError(f"{name!r} is not a column of a pair or window table; {format_options(name, known)}")
        return columns

    @model_validator(mode="after")
    def _check_any_table(self) -> Self:
        if self.pairs is None and self.windows is None:
            raise ValueError("has neither pairs nor windows; give the path of at least one of the two")
        return self

    @property
    def has_pairs(self) -> bool:
        """Whether there is a table of pairs."""
        return self.pairs is not None

    @property
    def has_windows(self) -> bool:
        """Whether there is a table of windows."""
        return self.windows is not None

    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Read the pairs and windows whose crawls are all selected."""
        where = " and ".join(location for location in (self.pairs, self.windows) if location is not None)
        calendar, inputs = fetch_calendar(files, self.calendar)
        pair_file = None if self.pairs is None else files.fetch(self.pairs)
        window_file = None if self.windows is None else files.fetch(self.windows)
        pair_rows = {} if pair_file is None else self._pair_rows(pair_file)
        window_rows = {} if window_file is None else self._rows(window_file, WINDOW_COLUMNS)

        labels = [label for key in (*pair_rows, *window_rows) for label in key]
        crawls = date_crawls(labels, where=where, calendar=calendar, table_dates=_table_dates(pair_rows))
        _check_order(crawls, pair_rows, may_be_equal=False)
        _check_order(crawls, window_rows, may_be_equal=True)
        estimated = self.relative_error > 0
        pairs = _pair_counts(pair_rows, estimated=estimated)
        windows = {
            key: union
            for key, row in window_rows.items()
            if (union := parse_count(row, "union", estimated=estimated)) is not None
        }
        sizes = _crawl_sizes(pairs, windows, pair_rows, window_rows, self.relative_error)

        selected = select_crawls(crawls, selection, where)
        check_starts(selected, where)
        names = {crawl.crawl for crawl in selected}
        return ObservableTables(
            crawls=crawls_frame(selected, sizes),
            pairs=None if pair_file is None else pairs_frame(pairs, names),
            windows=None if window_file is None else windows_frame(windows, [crawl.crawl for crawl in crawls], names),
            inputs=(*(file.input for file in (pair_file, window_file) if file is not None), *inputs),
        )

    def _pair_rows(self, local: LocalFile) -> dict[tuple[str, str], Row]:
        header = read_header(local)
        dated = any(name in self.columns or name in header for name in DATE_COLUMNS)
        return self._rows(local, (*PAIR_COLUMNS, *DATE_COLUMNS) if dated else PAIR_COLUMNS)

    def _rows(self, local: LocalFile, columns: Sequence[str]) -> dict[tuple[str, str], Row]:
        """Return the rows of a table by their two crawls, which the first two columns name."""
        _, rows = read_rows(local, {name: self.columns.get(name, name) for name in columns})
        by_crawls: dict[tuple[str, str], Row] = {}
        for row in rows:
            first, second = (check_label(row.cells[name], f"{row.where}, {name}") for name in columns[:2])
            add_once(by_crawls, (first, second), row)
        return by_crawls


def _table_dates(pair_rows: Mapping[tuple[str, str], Row]) -> dict[str, datetime]:
    """Return the start of every crawl that the pairs date, and reject two starts of one crawl."""
    dates: dict[str, datetime] = {}
    first_row: dict[str, Row] = {}
    for crawls, row in pair_rows.items():
        for crawl, column in zip(crawls, DATE_COLUMNS, strict=True):
            if column not in row.cells:
                continue
            date = require_date(row.cells[column], f"{row.where}, {column}")
            if dates.setdefault(crawl, date) != date:
                raise SourceError(
                    f"{row.where}, {column}: {crawl} started {date}, but {dates[crawl]} at "
                    f"{first_row[crawl].where}; expected one start per crawl"
                )
            first_row.setdefault(crawl, row)
    return dates


def _check_order(crawls: Sequence[DatedCrawl], rows: Mapping[tuple[str, str], Row], *, may_be_equal: bool) -> None:
    position = {crawl.crawl: index for index, crawl in enumerate(crawls)}
    for (first, second), row in rows.items():
        gap = position[second] - position[first]
        if gap < 0 or (gap == 0 and not may_be_equal):
            dates = [crawls[position[label]].started_at for label in (first, second)]
            raise SourceError(
                f"{row.where}: {first} ({dates[0]}) is not before {second} ({dates[1]}); expected the "
                "earlier crawl first; swap them or correct the dates"
            )


def _pair_counts(rows: Mapping[tuple[str, str], Row], *, estimated: bool) -> PairCounts:
    """Return the two sizes and the intersection of each pair; an estimated intersection may be negative."""
    pairs: PairCounts = {}
    for crawls, row in rows.items():
        size_i = parse_count(row, "size_i", estimated=estimated)
        size_j = parse_count(row, "size_j", estimated=estimated)
        both = parse_count(row, "intersection", estimated=estimated, negative=estimated)
        if size_i is not None and size_j is not None and both is not None:
            pairs[crawls] = (size_i, size_j, both)
    return pairs


def _crawl_sizes(
    pairs: PairCounts,
    windows: WindowCounts,
    pair_rows: Mapping[tuple[str, str], Row],
    window_rows: Mapping[tuple[str, str], Row],
    relative_error: float,
) -> dict[str, int]:
    """Return the size of each crawl from its window of one crawl, or else from the pairs."""
    sizes = {start: union for (start, end), union in windows.items() if start == end}
    found_at = {crawl: window_rows[crawl, crawl].where for crawl in sizes}
    allowed = dict.fromkeys(sizes, _STANDARD_ERRORS_ALLOWED * relative_error)
    for crawls, counts in pairs.items():
        where = pair_rows[crawls].where
        for crawl, size in zip(crawls, counts[:2], strict=True):
            known = sizes.setdefault(crawl, size)
            found_at.setdefault(crawl, where)
            # A pair table has one count of each crawl; the window table may have another estimate of it.
            if abs(size - known) > allowed.get(crawl, 0.0) * known:
                raise SourceError(
                    f"{where}: {crawl} has {size:,} elements, but {known:,} at {found_at[crawl]}; expected "
                    f"the same, or across tables within {_STANDARD_ERRORS_ALLOWED} times relative_error"
                )
    return sizes
