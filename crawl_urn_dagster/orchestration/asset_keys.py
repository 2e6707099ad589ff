"""Names, groups and metadata that all assets of a collection share.

Here: asset keys, specs, the decorator every asset is made with, and numbers as Dagster metadata. Not here: what
any asset computes.
"""

from __future__ import annotations

import math
import warnings
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.observables.lineage import column_sources
from crawl_urn_dagster.observables.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import CodeType

    import pandas as pd

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome

_ROWS_SHOWN = 8
# Made anew with every crawl, and nothing else.
_FRESH = {"crawls", "headline", "report"}
#: Metadata of a report, and tag of a run: the content of the source that it is made from (of an ingest: that it found).
FINGERPRINT = "crawl_urn/fingerprint"
#: Tag of a run that the command line made.
COMMAND = "crawl_urn/launched_by"


def asset_key(collection: Collection, name: str) -> dg.AssetKey:
    """Key of an asset of a collection: the collection's name, then the asset's."""
    return dg.AssetKey([collection.name, name])


def asset_spec(
    collection: Collection,
    name: str,
    *,
    kinds: Iterable[str],
    deps: Iterable[str] = (),
    description: str | None = None,
    columns_of: str | None = None,
) -> dg.AssetSpec:
    """Spec of an asset of a collection; an asset named like a table of the contract carries its columns.

    Parameters
    ----------
    columns_of
        Table of the contract whose columns the asset has, when it is named otherwise.
    """
    table = TABLES.get(columns_of or name)
    metadata: dict[str, Any] = {}
    if table is not None:
        metadata["dagster/table_name"] = f"{collection.name}.{name}"
        metadata["dagster/column_schema"] = _column_schema(columns_of or name)
    return dg.AssetSpec(
        asset_key(collection, name),
        deps=[asset_key(collection, dep) for dep in deps],
        description=description or (table.description if table else None),
        group_name=collection.name,
        kinds=set(kinds),
        owners=collection.owners,
        freshness_policy=_freshness(collection) if name in _FRESH else None,
        metadata=metadata,
    )


@cache
def _column_schema(table: str) -> dg.TableSchema:
    """Columns of a table of the contract; the same object for all collections, for it takes long to make."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                column.type.lower(),
                description=column.description,
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for column in TABLES[table].columns
        ]
    )


def update_job_name(collection: Collection) -> str:
    """Name of the job that brings a collection up to date, from what was ingested."""
    return f"{collection.name}_update"


def ingest_job_name(collection: Collection) -> str:
    """Name of the job that reads crawls of a presence source into partitions."""
    return f"{collection.name}_ingest"


def read_job_name(collection: Collection) -> str:
    """Name of the job that fetches and converts files that take longer than a look at the source may."""
    return f"{collection.name}_read"


def look_sensor_name(collection: Collection) -> str:
    """Name of the sensor that looks at the source."""
    return f"{collection.name}_new_crawl"


def job_names(collection: Collection) -> list[str]:
    """Names of the collection's jobs, in the order in which they follow one another."""
    read = [read_job_name(collection)] if collection.has_files else []
    ingest = [ingest_job_name(collection)] if collection.has_histories else []
    return [*read, *ingest, update_job_name(collection)]


def _freshness(collection: Collection) -> dg.FreshnessPolicy | None:
    """Policy that says when the collection is older than the cadence of its crawls allows."""
    settings = collection.automation
    if settings.expect_every_days is None or settings.stale_after_days is None:
        return None
    late, stale = timedelta(days=settings.expect_every_days), timedelta(days=settings.stale_after_days)
    return dg.FreshnessPolicy.time_window(fail_window=stale, warn_window=late if late < stale else None)


def home_key(collection: Collection) -> str:
    """Key of the collection's resource, so that collections never collide."""
    return f"{collection.name}_home"


def home_of(
    context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext, collection: Collection
) -> CollectionHome:
    """Return the collection's home from a running step."""
    home: CollectionHome = getattr(context.resources, home_key(collection))
    return home


def pool(collection: Collection) -> str:
    """Concurrency pool of the steps that open the collection's DuckDB file."""
    return f"{collection.name}_duckdb"


def assets_of(
    collection: Collection, step: str, specs: Sequence[dg.AssetSpec], **options: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorate the function that makes some assets of a collection in one step; options are `dagster.multi_asset`'s."""
    return lambda function: dg.multi_asset(
        specs=[spec.merge_attributes(metadata=code_reference(function)) for spec in specs],
        name=f"{collection.name}__{step}",
        required_resource_keys={home_key(collection)},
        **{"pool": pool(collection), **options},
    )(function)


def code_reference(function: Callable[..., Any]) -> dict[str, Any]:
    """Metadata that says which lines make an asset, for the UI's link.

    Dagster's own parses the file again for every asset, which takes a quarter of the time to load the code location.
    """
    return {"dagster/code_references": _code_reference(function.__code__)}


@cache
def _code_reference(code: CodeType) -> dg.CodeReferencesMetadataValue:
    with warnings.catch_warnings():
        # That Dagster may still change this is not the user's concern.
        warnings.simplefilter("ignore", dg.BetaWarning)
        lines = dg.LocalFileCodeReference(file_path=code.co_filename, line_number=code.co_firstlineno)
        return dg.CodeReferencesMetadataValue(code_references=[lines])


def column_lineage(collection: Collection, name: str) -> dict[str, Any]:
    """Metadata that says which columns of the collection's other tables a table is computed from."""
    present = {"crawls", "parameters"}
    present |= {"capture_history_counts"} if collection.has_histories else set()
    present |= {"containment"} if collection.has_containment else set()
    present |= {"discovery_curve"} if collection.has_discovery_curve else set()
    sources = column_sources(name, present)
    return {
        "dagster/column_lineage": dg.TableColumnLineage(
            {
                column: [dg.TableColumnDep(asset_key(collection, asset), source) for asset, source in ones]
                for column, ones in sources.items()
            }
        )
    }


def table_result(collection: Collection, name: str, table: pd.DataFrame, **metadata: Any) -> dg.MaterializeResult[None]:
    """Give what is recorded of a table that was written: its rows, the first of them, and more."""
    shown = table.head(_ROWS_SHOWN).astype(object)
    preview = shown.where(shown.notna(), None).to_markdown(index=False, floatfmt=".4g", missingval="")
    return dg.MaterializeResult(
        asset_key=asset_key(collection, name),
        metadata={
            "dagster/row_count": len(table),
            "first_rows": dg.MetadataValue.md(preview),
            **column_lineage(collection, name),
            **metadata,
        },
    )


def numbers(**values: float | None) -> dict[str, float]:
    """Metadata that the UI plots over time: finite numbers only, as plain floats."""
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}
