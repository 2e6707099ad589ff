"""Define the asset `export`, which writes the tables of a collection as files for other programs.

Does not define the formats; see the package `export`.
"""

from collections.abc import Sequence

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.orchestration.asset_keys import asset_name, asset_spec, assets_of
from crawl_urn_dagster.orchestration.assets.source import TABLES_WITH_CRAWLS
from crawl_urn_dagster.orchestration.resources import CollectionHome


def export_asset(
    collection: Collection, home: CollectionHome, assets: Sequence[dg.AssetsDefinition]
) -> dg.AssetsDefinition:
    """Define the asset that writes all tables of some assets; it does not wait for figures."""
    names = {asset_name(collection, spec.key) for made in assets for spec in made.specs}
    tables = [name for name in TABLES if name in names]
    spec = asset_spec(
        collection,
        home,
        "export",
        kinds={"csv", "parquet", "tex"},
        deps=tables,
        description="All tables as CSV and Parquet, the parameters as LaTeX, and a data package that describes them.",
    )

    @assets_of(collection, "export", [spec])
    def export() -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.export import export_collection

        exported = [*tables, *TABLES_WITH_CRAWLS]
        title = f"{collection.name}: {collection.granularity} elements of a series of crawls"
        export_collection(home.observables, exported, home.export, name=collection.name, title=title)
        return dg.MaterializeResult(
            metadata={
                "path": dg.MetadataValue.path(str(home.export)),
                "tables": len(exported),
                "bytes": sum(path.stat().st_size for path in home.export.iterdir()),
            }
        )

    return export
