"""Read the counters of Common Crawl's crawler: the states of its CrawlDB, and what each crawl fetched.

Does not compare them with estimates; see `estimates.ground_truth`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from crawl_urn_dagster.sources.csv_tables import read_rows
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.counter_table import counters_frame
from crawl_urn_dagster.sources.interface import CounterSource
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from crawl_urn_dagster.sources.csv_tables import Row
    from crawl_urn_dagster.sources.transport.files import Files

_CRAWL = "crawl"
_PLOTS = "https://raw.githubusercontent.com/commoncrawl/cc-crawl-statistics/master/plots/"


class CommonCrawlCrawlerMetricsSource(CounterSource):
    r"""Counters of Common Crawl's crawler: tables with a column ``crawl`` and a column for each counter.

    Parameters
    ----------
    status
        URLs of the CrawlDB by state, counted before the crawl fetches.
    metrics
        Fetches of the crawl by outcome, and the fetch list, which is its budget. None: not read.
    new_urls
        URLs of the crawl that no earlier crawl captured, an estimate. None: not read.
    population
        States whose sum is compared with the size of the urn: fetched, and not modified since.
    new
        Counter of the new URLs; an empty list if `new_urls` is None.
    divide_by
        See `CounterSource`.

    References
    ----------
    Common Crawl, "Statistics of Common Crawl Monthly Archives", https://github.com/commoncrawl/cc-crawl-statistics.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import CommonCrawlCrawlerMetricsSource, Files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "crawldb_status.csv")
    ...     _ = path.write_text("crawl,fetched,notmodified\nCC-MAIN-2024-10,7,3\n")
    ...     source = CommonCrawlCrawlerMetricsSource(status=str(path), metrics=None, new_urls=None, new=[])
    ...     source.read_counters(Files(Path(folder, "cache")))["value"].tolist()
    [7, 3]
    """

    location_fields: ClassVar[tuple[str, ...]] = ("status", "metrics", "new_urls")

    type: Literal["common_crawl_crawler_metrics"] = "common_crawl_crawler_metrics"
    status: Location = f"{_PLOTS}crawler/crawldb_status.csv"
    metrics: Location | None = f"{_PLOTS}crawler/metrics.csv"
    new_urls: Location | None = f"{_PLOTS}crawlsize/monthly_new.csv"
    population: list[str] = Field(default=["fetched", "notmodified"])
    new: list[str] = Field(default=["url estim. new"])

    def read_counters(self, files: Files) -> pd.DataFrame:
        """Read the counters of all tables."""
        return counters_frame(self._cells(files), self, self.status)

    def _cells(self, files: Files) -> Iterator[tuple[Row, str, str]]:
        for location in self._locations().values():
            header, rows = read_rows(files.fetch(location))
            if _CRAWL not in header:
                raise SourceError(f"{location}: has columns {header[:20]}, expected {_CRAWL!r} and counters")
            yield from ((row, name, name) for row in rows for name in header if name != _CRAWL)
