"""The first step of a collection: its source is read once, into presence or ready-made observables.

Here: assets `presence`, `crawls`, `truth`, and for sources of counts `discovery_curve`, `containment`,
`first_returns`. Not here: formats (`sources`), or what follows from presence (`assets.observables`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.collection import Collection
from crawl_urn_dagster.sources import InputFile, PresenceSource, SimulatedSource, TablesSource
from crawl_urn_dagster.specs import asset_key, asset_spec, assets_of, home_of

if TYPE_CHECKING:
    import pandas as pd


def source_assets(collection: Collection) -> list[dg.AssetsDefinition]:
    """Assets that read the collection's source."""
    source = collection.source
    if isinstance(source, SimulatedSource):
        return [_presence_assets(collection, source), _truth_asset(collection, source)]
    if isinstance(source, PresenceSource):
        return [_presence_assets(collection, source)]
    return [_tables_assets(collection, source)]


def _presence_assets(collection: Collection, source: PresenceSource) -> dg.AssetsDefinition:
    specs = [
        asset_spec(
            collection,
            "presence",
            kinds={"parquet"},
            description="Which element was captured in which crawl: the raw lists as one Parquet file.",
        ),
        asset_spec(collection, "crawls", kinds={"duckdb"}, deps=["presence"]),
    ]

    @assets_of(collection, "read_presence", specs)
    def read_presence(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.observables.tables import crawls_table

        home = home_of(context, collection)
        presence = source.read_presence(home.files, collection.selection, home.presence)
        context.log.info(f"{presence.rows:,} captures in {len(presence.crawls)} crawls")
        crawls = crawls_table(presence.crawls)
        home.observables.replace({"crawls": crawls, "inputs": _inputs_table(presence.inputs)})
        yield dg.MaterializeResult(
            asset_key=asset_key(collection, "presence"),
            metadata={"dagster/row_count": presence.rows, "path": dg.MetadataValue.path(str(home.presence))},
        )
        yield _crawls_result(collection, crawls)

    return read_presence


def _tables_assets(collection: Collection, source: TablesSource) -> dg.AssetsDefinition:
    names = ["crawls"]
    names += ["containment"] if source.has_pairs else []
    names += ["discovery_curve", "first_returns"] if source.has_windows else []
    specs = [asset_spec(collection, name, kinds={"duckdb"}) for name in names]

    @assets_of(collection, "read_tables", specs)
    def read_tables(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.observables import tables

        home = home_of(context, collection)
        observables = source.read_tables(home.files, collection.selection)
        crawls = tables.crawls_table(observables.crawls)
        frames = {}
        if observables.pairs is not None:
            frames["containment"] = tables.containment_table(crawls, observables.pairs)
        if observables.windows is not None:
            frames["discovery_curve"] = tables.discovery_curve_table(crawls, observables.windows)
            frames["first_returns"] = tables.first_returns_table(crawls, frames["discovery_curve"])
        home.observables.replace({"crawls": crawls, "inputs": _inputs_table(observables.inputs), **frames})
        yield _crawls_result(collection, crawls)
        for name, frame in frames.items():
            yield dg.MaterializeResult(
                asset_key=asset_key(collection, name), metadata={"dagster/row_count": len(frame)}
            )

    return read_tables


def _truth_asset(collection: Collection, source: SimulatedSource) -> dg.AssetsDefinition:
    @assets_of(collection, "truth", [asset_spec(collection, "truth", kinds={"duckdb"})])
    def truth(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        table = source.truth()
        home_of(context, collection).observables.replace({"truth": table})
        return dg.MaterializeResult(metadata={"dagster/row_count": len(table)})

    return truth


def _inputs_table(inputs: tuple[InputFile, ...]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        [(file.location, file.bytes, file.sha256) for file in inputs], columns=["location", "bytes", "sha256"]
    )


def _crawls_result(collection: Collection, crawls: "pd.DataFrame") -> dg.MaterializeResult[None]:
    last = crawls.iloc[-1]
    return dg.MaterializeResult(
        asset_key=asset_key(collection, "crawls"),
        metadata={
            "dagster/row_count": len(crawls),
            "last_crawl": str(last["crawl"]),
            "last_crawl_started_at": last["started_at"].isoformat(),
        },
    )
