"""Names, groups and metadata that all assets of a collection share.

Here: asset keys, specs, the decorator every asset is made with, and numbers as Dagster metadata. Not here: what
any asset computes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.observables.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawl_urn_dagster.collection import Collection
    from crawl_urn_dagster.resources import CollectionHome

#: Metadata of a report, and tag of a run: the content of the source that it is made from.
FINGERPRINT = "crawl_urn/fingerprint"


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
) -> dg.AssetSpec:
    """Spec of an asset of a collection; an asset named like a table of the contract carries its columns."""
    table = TABLES.get(name)
    metadata: dict[str, Any] = {}
    if table is not None:
        metadata["dagster/table_name"] = f"{collection.name}.{table.name}"
        metadata["dagster/column_schema"] = dg.TableSchema(
            columns=[
                dg.TableColumn(
                    column.name,
                    column.type.lower(),
                    description=column.description,
                    constraints=dg.TableColumnConstraints(nullable=column.nullable),
                )
                for column in table.columns
            ]
        )
    return dg.AssetSpec(
        asset_key(collection, name),
        deps=[asset_key(collection, dep) for dep in deps],
        description=description or (table.description if table else None),
        group_name=collection.name,
        kinds=set(kinds),
        metadata=metadata,
    )


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
    collection: Collection, step: str, specs: Sequence[dg.AssetSpec]
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorate the function that makes some assets of a collection in one step."""
    return dg.multi_asset(
        specs=specs,
        name=f"{collection.name}__{step}",
        required_resource_keys={home_key(collection)},
        pool=pool(collection),
    )


def numbers(**values: float | None) -> dict[str, float]:
    """Metadata that the UI plots over time: finite numbers only, as plain floats."""
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}
