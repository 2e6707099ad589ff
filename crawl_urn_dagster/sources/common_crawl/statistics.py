"""Common Crawl's published tables: distinct URLs of the last N crawls, and counts of each crawl.

Here: the formats of ``url_last_n_crawls.csv`` and ``domain.csv``. Not here: tables with a row per window
(`observable_tables`), sketches (`common_crawl_sketches`), or what moved since a table was read before
(`observables.publications`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from crawl_urn_dagster.sources.calendar import (
    COLLINFO,
    check_label,
    crawls_frame,
    date_crawls,
    fetch_calendar,
    select_run,
)
from crawl_urn_dagster.sources.formats.count_tables import Row, add_once, parse_count, read_rows, windows_frame
from crawl_urn_dagster.sources.inputs import SourceError
from crawl_urn_dagster.sources.interface import ObservableTables, Selection, TablesSource
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.transport.files import Files, LocalFile

_CRAWL = "crawl"
_URL = "url"
_TABLES = "https://raw.githubusercontent.com/commoncrawl/cc-crawl-statistics/master/plots/crawlsize/"


class CommonCrawlStatisticsSource(TablesSource):
    """Tables of Common Crawl's statistics: unions of the last N crawls, of URLs only, and counts of each crawl.

    The table of windows has the header ``crawl,1,12,2,3,...``: distinct URLs of the N crawls *ending* at a crawl. N
    counts crawls of the table, in the order of the calendar. ``nan`` is a window that is not published. What is
    published is kept, and what moved when a table is revised is shown.

    Parameters
    ----------
    windows
        The table of windows.
    counts
        Table with the header ``crawl,domain,host,...``: what each crawl has of other things. None: not kept.
    calendar
        When the crawls started: Common Crawl's collinfo.json, or CSV with columns ``id, from``. None: labels
        are dates or Common Crawl ids.
    relative_error
        One standard error of the windows, which are HyperLogLog estimates of 2^14 registers.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("windows", "counts", "calendar")

    type: Literal["common_crawl_statistics"] = "common_crawl_statistics"
    windows: Location = f"{_TABLES}url_last_n_crawls.csv"
    counts: Location | None = None
    calendar: Location | None = COLLINFO
    relative_error: float = Field(default=1.04 / 2**7, ge=0, lt=1)

    @property
    def granularity(self) -> str:
        """URLs: windows of other things are not published."""
        return _URL

    @property
    def has_pairs(self) -> bool:
        """No: windows only."""
        return False

    @property
    def has_windows(self) -> bool:
        """Yes."""
        return True

    @property
    def is_revised(self) -> bool:
        """Yes: windows change when a crawl is added later."""
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
        header, by_crawl = _rows_by_crawl(local)
        lengths = _window_lengths(header, self.windows)
        crawls = date_crawls(by_crawl, where=self.windows, calendar=calendar)
        windows = self._windows(crawls, by_crawl, lengths)
        selected = select_run(crawls, selection, self.windows)
        sizes = {start: union for (start, end), union in windows.items() if start == end}
        labels = [crawl.crawl for crawl in crawls]
        published = [windows_frame(windows, labels, labels).assign(quantity=_URL, **_said_by(local))]
        read = [local]
        if self.counts is not None:
            read.append(files.fetch(self.counts))
            published.append(_counts_frame(read[-1]))
        return ObservableTables(
            crawls=crawls_frame(selected, sizes),
            pairs=None,
            windows=windows_frame(windows, labels, {crawl.crawl for crawl in selected}),
            inputs=(*(file.input for file in read), *inputs),
            published=_joined(published),
        )

    def _windows(
        self,
        crawls: Sequence[DatedCrawl],
        by_crawl: Mapping[str, Row],
        lengths: Mapping[str, int],
    ) -> dict[tuple[str, str], int]:
        """Unions by first and last crawl."""
        windows = {}
        for end, crawl in enumerate(crawls):
            row = by_crawl[crawl.crawl]
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


def _rows_by_crawl(local: LocalFile) -> tuple[list[str], dict[str, Row]]:
    """Header of a table whose first column names the crawl, and its rows, one for each crawl."""
    header, rows = read_rows(local)
    if header[0] != _CRAWL:
        raise SourceError(f"{local.input.location}: has columns {header[:20]}, expected {_CRAWL!r} first")
    by_crawl: dict[tuple[str], Row] = {}
    for row in rows:
        add_once(by_crawl, (check_label(row.cells[_CRAWL], row.where),), row)
    return header, {crawl: row for (crawl,), row in by_crawl.items()}


def _counts_frame(local: LocalFile) -> pd.DataFrame:
    """Read the counts of a table with a column for each thing that is counted; of URLs the windows tell."""
    import pandas as pd

    header, by_crawl = _rows_by_crawl(local)
    rows = [
        (crawl, crawl, 1, count, name)
        for name in header[1:]
        if name != _URL
        for crawl, row in by_crawl.items()
        if (count := parse_count(row, name, estimated=True)) is not None
    ]
    columns = ["start_crawl", "end_crawl", "window_crawls", "distinct_elements", "quantity"]
    return pd.DataFrame(rows, columns=columns).assign(**_said_by(local))


def _said_by(local: LocalFile) -> dict[str, str]:
    return {"location": local.input.location, "sha256": local.input.sha256}


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def _window_lengths(header: list[str], location: str) -> dict[str, int]:
    """Read the number of crawls of each column but the first."""
    lengths = {name: int(name) for name in header[1:] if name.isascii() and name.isdecimal() and 0 < int(name) < 10_000}
    if header[0] != _CRAWL or not lengths or len(set(lengths.values())) != len(header) - 1:
        raise SourceError(
            f"{location}: has columns {header[:20]}, expected {_CRAWL!r}, then numbers of crawls, each once, "
            "such as 1,12,2,3,4,6,9"
        )
    return lengths
