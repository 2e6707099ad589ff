"""Ready-made observables: a table of pairwise intersections, a table of unions of windows, or both.

Here: the two formats, with a row per pair and a row per window. Not here: Common Crawl's table of the last N
crawls (`common_crawl_statistics`), or whether counts are plausible (`observables.quality`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from crawl_urn_dagster.sources.calendar import (
    check_label,
    crawls_frame,
    date_crawls,
    fetch_calendar,
    require_date,
    select_run,
)
from crawl_urn_dagster.sources.formats.count_tables import (
    PAIR_COLUMNS,
    Row,
    add_once,
    pairs_frame,
    parse_count,
    read_header,
    read_rows,
    windows_frame,
)
from crawl_urn_dagster.sources.inputs import SourceError, listed
from crawl_urn_dagster.sources.interface import ObservableTables, Selection, TablesSource
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.transport.files import Files, LocalFile

DATE_COLUMNS = ("started_i", "started_j")
WINDOW_COLUMNS = ("start", "end", "union")
_STANDARD_ERRORS_ALLOWED = 5

PairCounts = dict[tuple[str, str], tuple[int, int, int]]
WindowCounts = dict[tuple[str, str], int]


class ObservableTablesSource(TablesSource):
    """A table of pairwise intersections, a table of unions of windows, or both.

    A window is every crawl from its start to its end that the tables name. Other columns are not read; rows
    whose count is ``nan`` are left out.

    Parameters
    ----------
    pairs
        Table of pairs, ``crawl_i, crawl_j, size_i, size_j, intersection``, i earlier than j; its columns
        ``started_i, started_j``, if any, date the crawls.
    windows
        Table of windows, ``start, end, union``, from the first to the last crawl of each.
    calendar
        When the crawls started: CSV with columns ``id, from``, or Common Crawl's collinfo.json. None: the
        pairs are dated, or labels are dates or Common Crawl ids.
    columns
        Name in the file of a column that is not called as above.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("pairs", "windows", "calendar")

    type: Literal["observable_tables"] = "observable_tables"
    pairs: Location | None = None
    windows: Location | None = None
    calendar: Location | None = None
    columns: dict[str, str] = Field(default_factory=dict)

    @field_validator("columns")
    @classmethod
    def _canonical(cls, columns: dict[str, str]) -> dict[str, str]:
        known = (*PAIR_COLUMNS, *DATE_COLUMNS, *WINDOW_COLUMNS)
        for name in columns:
            if name not in known:
                raise ValueError(f"{name!r} is no column of a pair or window table; {listed(name, known)}")
        return columns

    @model_validator(mode="after")
    def _has_a_table(self) -> Self:
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
        """Read the pairs and windows of the selected crawls.

        Raises
        ------
        SourceError
            When a file, a date, a count, the order of two crawls or a selected crawl is not as expected.
        """
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

        selected = select_run(crawls, selection, where)
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
        """Rows by their two crawls, which the first two columns name."""
        _, rows = read_rows(local, {name: self.columns.get(name, name) for name in columns})
        by_crawls: dict[tuple[str, str], Row] = {}
        for row in rows:
            first, second = (check_label(row.cells[name], f"{row.where}, {name}") for name in columns[:2])
            add_once(by_crawls, (first, second), row)
        return by_crawls


def _table_dates(pair_rows: Mapping[tuple[str, str], Row]) -> dict[str, datetime]:
    """Start of every crawl that the pairs date; a crawl has one."""
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
    """Sizes and intersection of each pair; an intersection of estimates may be negative."""
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
    """Elements of each crawl: its window of one crawl where there is one, else what the pairs say."""
    sizes = {start: union for (start, end), union in windows.items() if start == end}
    found_at = {crawl: window_rows[crawl, crawl].where for crawl in sizes}
    allowed = dict.fromkeys(sizes, _STANDARD_ERRORS_ALLOWED * relative_error)
    for crawls, counts in pairs.items():
        where = pair_rows[crawls].where
        for crawl, size in zip(crawls, counts[:2], strict=True):
            known = sizes.setdefault(crawl, size)
            found_at.setdefault(crawl, where)
            # One pair table has one count of each crawl; another table may have estimated it anew.
            if abs(size - known) > allowed.get(crawl, 0.0) * known:
                raise SourceError(
                    f"{where}: {crawl} has {size:,} elements, but {known:,} at {found_at[crawl]}; expected "
                    f"the same, or across tables within {_STANDARD_ERRORS_ALLOWED} times relative_error"
                )
    return sizes
