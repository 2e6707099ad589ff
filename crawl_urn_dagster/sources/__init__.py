"""Sources of raw data: each says which crawls it has, and gives presence lists or ready-made observables.

Here: the public names. Not here: what is counted from presence (`observables`), or anything about Dagster.
"""

from typing import Annotated

from pydantic import Field

from crawl_urn_dagster.sources.common_crawl.counts import CommonCrawlCountsSource
from crawl_urn_dagster.sources.common_crawl.host_index import CommonCrawlHostIndexSource
from crawl_urn_dagster.sources.common_crawl.sketches import CommonCrawlSketchesSource
from crawl_urn_dagster.sources.common_crawl.statistics import CommonCrawlStatisticsSource
from crawl_urn_dagster.sources.common_crawl.url_index import CommonCrawlIndexSource
from crawl_urn_dagster.sources.common_crawl.web_graph_ranks import WebGraphRanksSource
from crawl_urn_dagster.sources.formats.cdx import CdxSource
from crawl_urn_dagster.sources.formats.observable_tables import ObservableTablesSource
from crawl_urn_dagster.sources.formats.presence_list import PresenceListSource
from crawl_urn_dagster.sources.formats.simulated import SimulatedSource
from crawl_urn_dagster.sources.inputs import InputFile, SourceError, TooLargeError, fingerprint
from crawl_urn_dagster.sources.interface import (
    Captures,
    Listing,
    ObservableTables,
    PresenceSource,
    Sample,
    Selection,
    SourceConfig,
    StratumColumn,
    TablesSource,
)
from crawl_urn_dagster.sources.transport.files import Files, LocalFile

#: Configuration of any source; ``type`` says which.
Source = Annotated[
    SimulatedSource
    | PresenceListSource
    | CdxSource
    | CommonCrawlIndexSource
    | CommonCrawlHostIndexSource
    | WebGraphRanksSource
    | ObservableTablesSource
    | CommonCrawlStatisticsSource
    | CommonCrawlSketchesSource
    | CommonCrawlCountsSource,
    Field(discriminator="type"),
]

__all__ = [
    "Captures",
    "CdxSource",
    "CommonCrawlCountsSource",
    "CommonCrawlHostIndexSource",
    "CommonCrawlIndexSource",
    "CommonCrawlSketchesSource",
    "CommonCrawlStatisticsSource",
    "Files",
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
    "TooLargeError",
    "WebGraphRanksSource",
    "fingerprint",
]
