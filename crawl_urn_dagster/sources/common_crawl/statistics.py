"""Read Common Crawl's published tables: distinct URLs of the last N crawls, and counts of each crawl.

Does not read tables with a row per window; see `formats.observable_tables`. Does not compare publications; see
`observables.publications`.
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
    select_crawls,
)
from crawl_urn_dagster.sources.csv_tables import Row, add_once, parse_count, read_rows
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.observable_frames import windows_frame
from crawl_urn_dagster.sources.interface import ObservableTables, TablesSource
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from crawl_urn_dagster.sources.calendar import DatedCrawl, Selection
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

_CRAWL = "crawl"
_URL = "url"
_TABLES = "https://raw.githubusercontent.com/commoncrawl/cc-crawl-statistics/master/plots/crawlsize/"


class CommonCrawlStatisticsSource(TablesSource):
    r"""Tables of Common Crawl's statistics: distinct URLs of windows, and counts of each crawl.

    The table of windows has the header ``crawl,1,12,2,3,...``: the distinct URLs of the N crawls *ending* at a crawl. N
    counts crawls of the table, in the order of the calendar. ``nan`` marks a window that is not published. Every
    publication is kept, and changes between them are reported.

    Parameters
    ----------
    windows
        The table of windows.
    counts
        Table with the header ``crawl,domain,host,...``: counts of other kinds of element in each crawl. None: not kept.
    calendar
        Start of each crawl: Common Crawl's ``collinfo.json``, or CSV with columns ``id, from``. None: labels are dates
        or Common Crawl ids.
    relative_error
        One standard error of the windows, which are HyperLogLog estimates from 2^14 registers.

    References
    ----------
    Common Crawl, "Statistics of Common Crawl Monthly Archives", https://github.com/commoncrawl/cc-crawl-statistics.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import CommonCrawlStatisticsSource, Files, Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "url_last_n_crawls.csv")
    ...     _ = path.write_text("crawl,1,2\n2024-01,10,nan\n2024-02,20,25\n")
    ...     source = CommonCrawlStatisticsSource(windows=str(path), calendar=None)
    ...     tables = source.read_tables(Files(Path(folder, "cache")), Selection())
    >>> tables.windows[["start_crawl", "end_crawl", "distinct_elements"]].values.tolist()
    [['2024-01', '2024-01', 10], ['2024-02', '2024-02', 20], ['2024-01', '2024-02', 25]]
    """

    has_pairs: ClassVar[bool] = False
    has_windows: ClassVar[bool] = True
    location_fields: ClassVar[tuple[str, ...]] = ("windows", "counts", "calendar")

    type: Literal["common_crawl_statistics"] = "common_crawl_statistics"
    windows: Location = f"{_TABLES}url_last_n_crawls.csv"
    counts: Location | None = None
    calendar: Location | None = COLLINFO
    relative_error: float = Field(default=1.04 / 2**7, ge=0, lt=1)

    @property
    def granularity(self) -> str:
        """Kind of element: ``url``, because windows of other kinds are not published."""
        return _URL

    @property
    def is_revised(self) -> bool:
        """True: windows change when a missing crawl is added."""
        return True

    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Read the windows whose crawls are all selected."""
        import pandas as pd

        calendar, inputs = fetch_calendar(files, self.calendar)
        local = files.fetch(self.windows)
        header, by_crawl = _rows_by_crawl(local)
        lengths = _window_lengths(header, self.windows)
        crawls = date_crawls(by_crawl, where=self.windows, calendar=calendar)
        windows = self._windows(crawls, by_crawl, lengths)
        selected = select_crawls(crawls, selection, self.windows)
        sizes = {start: union for (start, end), union in windows.items() if start == end}
        labels = [crawl.crawl for crawl in crawls]
        frames = [(local.input, windows_frame(windows, labels, labels).assign(quantity=_URL))]
        if self.counts is not None:
            counts = files.fetch(self.counts)
            frames.append((counts.input, _counts_frame(counts)))
        published = [frame.assign(location=file.location, sha256=file.sha256) for file, frame in frames]
        return ObservableTables(
            crawls=crawls_frame(selected, sizes),
            pairs=None,
            windows=windows_frame(windows, labels, {crawl.crawl for crawl in selected}),
            inputs=(*(file for file, _ in frames), *inputs),
            published=pd.concat(published, ignore_index=True),
        )

    def _windows(
        self,
        crawls: Sequence[DatedCrawl],
        by_crawl: Mapping[str, Row],
        lengths: Mapping[str, int],
    ) -> dict[tuple[str, str], int]:
        """Return the distinct elements of each window, by first and last crawl."""
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
    """Return the header of a table whose first column names the crawl, and its only row for each crawl."""
    header, rows = read_rows(local)
    if header[0] != _CRAWL:
        raise SourceError(f"{local.input.location}: has columns {header[:20]}, expected {_CRAWL!r} first")
    by_crawl: dict[tuple[str], Row] = {}
    for row in rows:
        add_once(by_crawl, (check_label(row.cells[_CRAWL], row.where),), row)
    return header, {crawl: row for (crawl,), row in by_crawl.items()}


def _counts_frame(local: LocalFile) -> pd.DataFrame:
    """Return the counts of a table with a column per quantity, except URLs, which the windows give."""
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
    return pd.DataFrame(rows, columns=columns)


def _window_lengths(header: list[str], location: str) -> dict[str, int]:
    """Return the number of crawls that each column after the first covers."""
    lengths = {name: int(name) for name in header[1:] if name.isascii() and name.isdecimal() and 0 < int(name) < 10_000}
    if header[0] != _CRAWL or not lengths or len(set(lengths.values())) != len(header) - 1:
        raise SourceError(
            f"{location}: has columns {header[:20]}, expected {_CRAWL!r}, then numbers of crawls, each once, "
            "such as 1,12,2,3,4,6,9"
        )
    return lengths
