"""Register every source type in the union that the configuration of a collection is parsed with.

A type with a dot in its name is an entry point of another package. Does not define sources; see `formats`,
`common_crawl` and `simulated`.
"""

from typing import Annotated, Any, get_args

from pydantic import Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from crawl_urn_dagster.entry_points import entry_points_of, load_entry_point
from crawl_urn_dagster.sources.common_crawl.count_files import CommonCrawlCountsSource
from crawl_urn_dagster.sources.common_crawl.crawler_metrics import CommonCrawlCrawlerMetricsSource
from crawl_urn_dagster.sources.common_crawl.host_index import CommonCrawlHostIndexSource
from crawl_urn_dagster.sources.common_crawl.sketches import CommonCrawlSketchesSource
from crawl_urn_dagster.sources.common_crawl.statistics import CommonCrawlStatisticsSource
from crawl_urn_dagster.sources.common_crawl.url_index import CommonCrawlIndexSource
from crawl_urn_dagster.sources.common_crawl.web_graph_ranks import WebGraphRanksSource
from crawl_urn_dagster.sources.formats.cdx import CdxSource
from crawl_urn_dagster.sources.formats.cdx_api import CdxApiSource
from crawl_urn_dagster.sources.formats.counter_table import CounterTableSource
from crawl_urn_dagster.sources.formats.heritrix_log import HeritrixLogSource
from crawl_urn_dagster.sources.formats.observable_tables import ObservableTablesSource
from crawl_urn_dagster.sources.formats.presence_list import PresenceListSource
from crawl_urn_dagster.sources.formats.theta_sketches import ThetaSketchesSource
from crawl_urn_dagster.sources.formats.warc import WarcSource
from crawl_urn_dagster.sources.interface import (
    CounterSource,
    PresenceSource,
    SourceConfig,
    TablesSource,
    select_by_type,
)
from crawl_urn_dagster.sources.simulated import SimulatedSource

#: Configuration of any source; its key ``type`` selects the class. To add a source, append its class.
Source = Annotated[
    SimulatedSource
    | PresenceListSource
    | CdxSource
    | CdxApiSource
    | WarcSource
    | HeritrixLogSource
    | ThetaSketchesSource
    | CommonCrawlIndexSource
    | CommonCrawlHostIndexSource
    | WebGraphRanksSource
    | ObservableTablesSource
    | CommonCrawlStatisticsSource
    | CommonCrawlSketchesSource
    | CommonCrawlCountsSource,
    Field(discriminator="type", json_schema_extra=select_by_type),
]

#: Configuration of the operator's own counters; its key ``type`` selects the class.
Counters = Annotated[
    CounterTableSource | CommonCrawlCrawlerMetricsSource,
    Field(discriminator="type", json_schema_extra=select_by_type),
]

#: Sources of this package by type.
SOURCE_TYPES: dict[str, type[SourceConfig]] = {
    get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(Source)[0])
}

#: Sources of operators' counters by type.
COUNTER_TYPES: dict[str, type[CounterSource]] = {
    get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(Counters)[0])
}


def is_own_type(kind: object) -> bool:
    """Return whether a source type is an entry point of another package."""
    return isinstance(kind, str) and "." in kind


def source_class(kind: str) -> type[SourceConfig]:
    """Return the class of a source type, of this package or of another one.

    Raises
    ------
    ValueError
        If no installed package has such a type, or its class is not a source with that type.
    """
    if not is_own_type(kind):
        return SOURCE_TYPES[kind]
    loaded: type[SourceConfig] = load_entry_point("sources", kind, (PresenceSource, TablesSource))
    declared = loaded.model_fields.get("type")
    if declared is None or declared.default != kind:
        raise ValueError(f'names {kind!r}, but its class has no field `type: Literal["{kind}"] = "{kind}"`; add it')
    return loaded


def validate_own_source(value: dict[str, Any]) -> SourceConfig:
    """Return the source of another package that a mapping configures.

    Raises
    ------
    ValidationError
        If the settings are invalid; its locations start with the type, as for the sources of this package.
    """
    kind = str(value["type"])
    try:
        return source_class(kind).model_validate(value)
    except ValidationError as error:
        details = [
            InitErrorDetails(
                type=PydanticCustomError("value_error", "{error}", one["ctx"])
                if one["type"] == "value_error"
                else one["type"],
                loc=(kind, *one["loc"]),
                input=one["input"],
                ctx=one.get("ctx", {}),
            )
            for one in error.errors()
        ]
        raise ValidationError.from_exception_data(error.title, details) from error


def own_source_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the installed sources of other packages by type."""
    # A separate identifier keeps the references inside a schema apart from those of the surrounding one.
    return {
        kind: {"$id": f"entry-point:{kind}", **source_class(kind).model_json_schema()}
        for kind in entry_points_of("sources")
    }
