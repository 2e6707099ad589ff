"""Common Crawl's published table of unions: distinct elements of the last N crawls, for some N.

Here: the format of ``url_last_n_crawls.csv``. Not here: tables with a row per window (`observable_tables`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from crawl_urn_dagster.sources.base import ObservableTables, Selection, TablesSource
from crawl_urn_dagster.sources.calendar import (
    check_label,
    crawls_frame,
    date_crawls,
    fetch_calendar,
    select_run,
)
from crawl_urn_dagster.sources.inputs import SourceError
from crawl_urn_dagster.sources.locations import Location  # noqa: TC001 - pydantic reads it
from crawl_urn_dagster.sources.tables import Row, add_once, parse_count, read_rows, windows_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.files import Files

_CRAWL = "crawl"


class PublishedWindowsSource(TablesSource):
    """A table with header ``crawl,1,12,2,3,...``: distinct elements of the N crawls *ending* at a crawl.

    N counts crawls of the table, in the order of the calendar. ``nan`` is a window that is not published.

    Parameters
    ----------
    windows
        The table.
    calendar
        When the crawls started: CSV with columns ``id, from``, or Common Crawl's collinfo.json. None: labels
        are dates or Common Crawl ids.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("windows", "calendar")

    type: Literal["published_windows"] = "published_windows"
    windows: Location
    calendar: Location | None = None

    @property
    def has_pairs(self) -> bool:
        """No: windows only."""
        return False

    @property
    def has_windows(self) -> bool:
        """Yes."""
        return True

    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Read the windows that lie whole within the selected crawls.

        Raises
        ------
        SourceError
            When a file, a date, a count or a selected crawl is not as expected.
        """
        calendar, inputs = fetch_calendar(files, self.calendar)
        local = files.fetch(self.windows)
        header, rows = read_rows(local)
        lengths = _window_lengths(header, self.windows)
        by_crawl: dict[tuple[str], Row] = {}
        for row in rows:
            add_once(by_crawl, (check_label(row.cells[_CRAWL], row.where),), row)
        crawls = date_crawls((crawl for (crawl,) in by_crawl), where=self.windows, calendar=calendar)
        windows = self._windows(crawls, by_crawl, lengths)
        selected = select_run(crawls, selection, self.windows)
        sizes = {start: union for (start, end), union in windows.items() if start == end}
        return ObservableTables(
            crawls=crawls_frame(selected, sizes),
            pairs=None,
            windows=windows_frame(windows, [crawl.crawl for crawl in crawls], {crawl.crawl for crawl in selected}),
            inputs=(local.input, *inputs),
        )

    def _windows(
        self,
        crawls: Sequence[DatedCrawl],
        by_crawl: Mapping[tuple[str], Row],
        lengths: Mapping[str, int],
    ) -> dict[tuple[str, str], int]:
        """Unions by first and last crawl."""
        windows = {}
        for end, crawl in enumerate(crawls):
            row = by_crawl[(crawl.crawl,)]
            for column, length in lengths.items():
                union = parse_count(row, column, estimated=self.relative_error > 0)
                if union is None:
                    continue
                if length > end + 1:
                    raise SourceError(
                        f"{row.where}, {column}: {crawl.crawl} is crawl number {end + 1} of the table in "
                        f"time, so no window of {length} crawls ends there; expected nan, or earlier crawls"
                    )
                windows[crawls[end - length + 1].crawl, crawl.crawl] = union
        return windows


def _window_lengths(header: list[str], location: str) -> dict[str, int]:
    """Read the number of crawls of each column but the first."""
    lengths = {name: int(name) for name in header[1:] if name.isascii() and name.isdecimal() and 0 < int(name) < 10_000}
    if header[0] != _CRAWL or not lengths or len(set(lengths.values())) != len(header) - 1:
        raise SourceError(
            f"{location}: has columns {header[:20]}, expected {_CRAWL!r}, then numbers of crawls, each once, "
            "such as 1,12,2,3,4,6,9"
        )
    return lengths
