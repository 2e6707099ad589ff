"""Read the crawls of a collection: presence lists, web-archive indexes, Common Crawl's data, ready-made observables.

Does not count captures or build observables; see `observables`.
"""

from crawl_urn_dagster.sources.calendar import Selection
from crawl_urn_dagster.sources.common_crawl.count_files import CommonCrawlCountsSource
from crawl_urn_dagster.sources.common_crawl.crawler_metrics import CommonCrawlCrawlerMetricsSource
from crawl_urn_dagster.sources.common_crawl.host_index import CommonCrawlHostIndexSource
from crawl_urn_dagster.sources.common_crawl.sketches import CommonCrawlSketchesSource
from crawl_urn_dagster.sources.common_crawl.statistics import CommonCrawlStatisticsSource
from crawl_urn_dagster.sources.common_crawl.url_index import CommonCrawlIndexSource
from crawl_urn_dagster.sources.common_crawl.web_graph_ranks import WebGraphRanksSource
from crawl_urn_dagster.sources.errors import SourceError, TooLargeError
from crawl_urn_dagster.sources.formats.cdx import CdxSource
from crawl_urn_dagster.sources.formats.cdx_api import CdxApiSource
from crawl_urn_dagster.sources.formats.counter_table import CounterTableSource
from crawl_urn_dagster.sources.formats.heritrix_log import HeritrixLogSource
from crawl_urn_dagster.sources.formats.observable_tables import ObservableTablesSource
from crawl_urn_dagster.sources.formats.presence_list import PresenceListSource
from crawl_urn_dagster.sources.formats.theta_sketches import ThetaSketchesSource
from crawl_urn_dagster.sources.formats.warc import WarcSource
from crawl_urn_dagster.sources.input_files import InputFile, LocalFile, fingerprint
from crawl_urn_dagster.sources.interface import (
    Captures,
    CounterSource,
    Listing,
    ObservableTables,
    PresenceSource,
    Sample,
    SourceConfig,
    StratumColumn,
    TablesSource,
)
from crawl_urn_dagster.sources.registry import Counters, Source
from crawl_urn_dagster.sources.simulated import SimulatedSource
from crawl_urn_dagster.sources.transport.files import Files

__all__ = [
    "Captures",
    "CdxApiSource",
    "CdxSource",
    "CommonCrawlCountsSource",
    "CommonCrawlCrawlerMetricsSource",
    "CommonCrawlHostIndexSource",
    "CommonCrawlIndexSource",
    "CommonCrawlSketchesSource",
    "CommonCrawlStatisticsSource",
    "CounterSource",
    "CounterTableSource",
    "Counters",
    "Files",
    "HeritrixLogSource",
    "InputFile",
    "Listing",
    "LocalFile",
    "ObservableTables",
    "ObservableTablesSource",
    "PresenceListSource",
    "PresenceSource",
    "Sample",
    "Selection",
    "SimulatedSource",
    "Source",
    "SourceConfig",
    "SourceError",
    "StratumColumn",
    "TablesSource",
    "ThetaSketchesSource",
    "TooLargeError",
    "WarcSource",
    "WebGraphRanksSource",
    "fingerprint",
]
