"""Name the Dagster objects of a collection, and build the specs and metadata that its assets share.

Does not compute the content of any asset; see `assets`.
"""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.observables.lineage import column_sources
from crawl_urn_dagster.observables.schema import FILES, TABLES, VIEWS
from crawl_urn_dagster.orchestration.customisation import customised_step, options_of, specs_of
from crawl_urn_dagster.orchestration.declarative import EXTERNAL, automation_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import CodeType

    import pandas as pd

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome

#: Rows of a table that the UI shows.
ROWS_SHOWN = 8
# Assets that every new crawl updates, and therefore the only ones with a freshness policy.
_FRESH = {"crawls", "headline", "report"}
#: Metadata of a report and tag of a run: fingerprint of the source that it used, or that an ingest found.
FINGERPRINT = "crawl_urn/fingerprint"
#: Job of the runs in which the UI or an automation condition materialises chosen assets.
ASSET_JOB = "__ASSET_JOB"
#: Tag of a run that the command line launched.
COMMAND, COMMAND_NAME = "crawl_urn/launched_by", "crawl-urn"


def asset_key(collection: Collection, name: str) -> dg.AssetKey:
    """Return the key of an asset: the name of the collection, then of the asset, unless the code location renames it.

    No other function may build a key of a collection's asset.
    """
    spec = specs_of(collection).get(name)
    return spec.key if spec else dg.AssetKey([collection.name, name])


def asset_name(collection: Collection, key: dg.AssetKey) -> str:
    """Return the name of an asset of a collection in this package."""
    return next((name for name, spec in specs_of(collection).items() if spec.key == key), key.path[-1])


def has_asset(collection: Collection, key: dg.AssetKey) -> bool:
    """Return whether a collection defines an asset, or the asset's key starts with the collection's name."""
    return key.path[0] == collection.name or any(spec.key == key for spec in specs_of(collection).values())


def selection_of(collection: Collection) -> dg.AssetSelection:
    """Return the selection of the assets that belong to a collection."""
    prefixed = dg.AssetSelection.key_prefixes(collection.name)
    own = (spec for name, spec in specs_of(collection).items() if name not in EXTERNAL)
    renamed = [spec.key for spec in own if spec.key.path[0] != collection.name]
    return prefixed | dg.AssetSelection.assets(*renamed) if renamed else prefixed


def asset_spec(
    collection: Collection,
    home: CollectionHome,
    name: str,
    *,
    kinds: Iterable[str],
    deps: Iterable[str] = (),
    description: str | None = None,
) -> dg.AssetSpec:
    """Return the spec of an asset; an asset with the name of a table or view has its columns."""
    if name in specs_of(collection):
        return specs_of(collection)[name]
    table_name = VIEWS.get(name, name)
    table = TABLES.get(table_name) or FILES.get(name)
    metadata: dict[str, Any] = {}
    if name in FILES:
        metadata["dagster/column_schema"] = _column_schema(name)
    elif table is not None:
        # DuckDB names the database after the file, so the name can be queried as it is written.
        metadata["dagster/table_name"] = f"{home.database.stem}.main.{name}"
        metadata["duckdb_file"] = dg.MetadataValue.path(str(home.database))
        metadata["dagster/column_schema"] = _column_schema(table_name)
    return dg.AssetSpec(
        asset_key(collection, name),
        deps=[_dependency(collection, dep) for dep in deps],
        description=description or (table.description if table else None),
        group_name=collection.name,
        kinds=set(kinds),
        owners=collection.owners,
        freshness_policy=_freshness(collection) if name in _FRESH else None,
        automation_condition=automation_condition(collection, name),
        metadata=metadata,
    )


def _dependency(collection: Collection, name: str) -> dg.AssetDep | dg.AssetKey:
    """Return a dependency: on all partitions of `presence`, and otherwise on the asset."""
    key = asset_key(collection, name)
    return dg.AssetDep(key, partition_mapping=dg.AllPartitionMapping()) if name == "presence" else key


@cache
def _column_schema(table: str) -> dg.TableSchema:
    """Return the columns of a table; cached for all collections because building them takes long."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                column.type.lower(),
                description=column.description,
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for column in (TABLES.get(table) or FILES[table]).columns
        ]
    )


def update_job_name(collection: Collection) -> str:
    """Return the name of the job that updates a collection from the ingested crawls."""
    return f"{collection.name}_update"


def ingest_job_name(collection: Collection) -> str:
    """Return the name of the job that reads crawls of a presence source into partitions."""
    return f"{collection.name}_ingest"


def read_job_name(collection: Collection) -> str:
    """Return the name of the job that downloads and converts files that are too large for a sensor."""
    return f"{collection.name}_read"


def new_crawl_sensor_name(collection: Collection) -> str:
    """Return the name of the sensor that polls the source."""
    return f"{collection.name}_new_crawl"


def job_names(collection: Collection) -> list[str]:
    """Return the names of the collection's jobs, in the order in which they run."""
    read = [read_job_name(collection)] if collection.has_files else []
    ingest = [ingest_job_name(collection)] if collection.has_histories else []
    return [*read, *ingest, update_job_name(collection)]


def _freshness(collection: Collection) -> dg.FreshnessPolicy | None:
    """Return the policy that marks an asset as late or stale, from the expected interval between crawls."""
    settings = collection.automation
    if settings.expect_every_days is None or settings.stale_after_days is None:
        return None
    late, stale = timedelta(days=settings.expect_every_days), timedelta(days=settings.stale_after_days)
    return dg.FreshnessPolicy.time_window(fail_window=stale, warn_window=late if late < stale else None)


def pool(collection: Collection) -> str:
    """Return the concurrency pool of the steps that open the collection's DuckDB file."""
    return f"{collection.name}_duckdb"


def assets_of(
    collection: Collection, step: str, specs: Sequence[dg.AssetSpec], **options: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorate the function that materialises some assets in one step; takes the options of `dagster.multi_asset`."""
    custom = options_of(collection)

    return lambda function: dg.multi_asset(
        specs=[spec.merge_attributes(metadata=code_reference(function)) for spec in specs],
        name=f"{collection.name}__{step}",
        retry_policy=custom.retry_policy,
        **{"pool": pool(collection), **options, "op_tags": {**options.get("op_tags", {}), **custom.op_tags}},
    )(customised_step(custom, function))


def code_reference(function: Callable[..., Any]) -> dict[str, Any]:
    """Return metadata that links an asset to its source lines in the UI.

    Dagster's own function parses the file again for every asset, which takes a quarter of the time to load the code
    location.
    """
    return {"dagster/code_references": _code_reference(function.__code__)}


@cache
def _code_reference(code: CodeType) -> dg.CodeReferencesMetadataValue:
    with warnings.catch_warnings():
        # Users need no warning that Dagster may still change this class.
        warnings.simplefilter("ignore", dg.BetaWarning)
        lines = dg.LocalFileCodeReference(file_path=code.co_filename, line_number=code.co_firstlineno)
        return dg.CodeReferencesMetadataValue(code_references=[lines])


def column_lineage(collection: Collection, name: str) -> dict[str, Any]:
    """Return metadata that lists the columns of other tables from which each column is computed."""
    present = {"crawls", "parameters", *collection.fitted_observables}
    present |= {"capture_history_counts"} if collection.has_histories else set()
    sources = column_sources(name, present)
    return {
        "dagster/column_lineage": dg.TableColumnLineage(
            {
                column: [dg.TableColumnDep(asset_key(collection, asset), source) for asset, source in pairs]
                for column, pairs in sources.items()
            }
        )
    }


def table_result(collection: Collection, name: str, table: pd.DataFrame, **metadata: Any) -> dg.MaterializeResult[None]:
    """Return the metadata of a written table: its number of rows, its first rows, its lineage, and further entries."""
    shown = table.head(ROWS_SHOWN).astype(object)
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


class PartErrors:
    """Errors of the parts of one step, kept until every part was tried."""

    def __init__(self) -> None:
        self._errors: dict[str, Exception] = {}

    @contextmanager
    def keep(self, part: str) -> Iterator[None]:
        """Keep the error of a part, so the next part is tried."""
        try:
            yield
        except Exception as error:
            self._errors[part] = error

    def raise_kept(self) -> None:
        """Raise the error if one part failed; if several did, an error that names each."""
        errors = list(self._errors.values())
        if len(errors) > 1:
            raise RuntimeError("\n".join(f"{part}: {error}" for part, error in self._errors.items())) from errors[0]
        if errors:
            raise errors[0]


def numeric_metadata(**values: float | None) -> dict[str, float]:
    """Return metadata that the UI plots over time: finite numbers only, as plain floats."""
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}
