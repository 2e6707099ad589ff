"""Register every source type in the union that the configuration of a collection is parsed with.

Does not define sources; see `formats`, `common_crawl` and `simulated`.
"""

from typing import Annotated

from pydantic import Field

from crawl_urn_dagster.sources.common_crawl.count_files import CommonCrawlCountsSource
from crawl_urn_dagster.sources.common_crawl.host_index import CommonCrawlHostIndexSource
from crawl_urn_dagster.sources.common_crawl.sketches import CommonCrawlSketchesSource
from crawl_urn_dagster.sources.common_crawl.statistics import CommonCrawlStatisticsSource
from crawl_urn_dagster.sources.common_crawl.url_index import CommonCrawlIndexSource
from crawl_urn_dagster.sources.common_crawl.web_graph_ranks import WebGraphRanksSource
from crawl_urn_dagster.sources.formats.cdx import CdxSource
from crawl_urn_dagster.sources.formats.observable_tables import ObservableTablesSource
from crawl_urn_dagster.sources.formats.presence_list import PresenceListSource
from crawl_urn_dagster.sources.interface import select_by_type
from crawl_urn_dagster.sources.simulated import SimulatedSource

#: Configuration of any source; its key ``type`` selects the class. To add a source, append its class.
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
    Field(discriminator="type", json_schema_extra=select_by_type),
]
