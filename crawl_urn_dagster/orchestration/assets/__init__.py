"""Define the assets of a collection, from its source to figures, export and report.

A collection has only the assets that its source provides data for. Does not compute them; see the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.assets.complete import complete_asset
from crawl_urn_dagster.orchestration.assets.cross_archive import cross_archive_assets
from crawl_urn_dagster.orchestration.assets.drift import drift_assets
from crawl_urn_dagster.orchestration.assets.elements import element_assets
from crawl_urn_dagster.orchestration.assets.estimates import estimate_assets
from crawl_urn_dagster.orchestration.assets.export import export_asset
from crawl_urn_dagster.orchestration.assets.figures import figure_assets
from crawl_urn_dagster.orchestration.assets.forecast import forecast_assets
from crawl_urn_dagster.orchestration.assets.ground_truth import ground_truth_assets
from crawl_urn_dagster.orchestration.assets.observables import observable_assets
from crawl_urn_dagster.orchestration.assets.report import report_asset
from crawl_urn_dagster.orchestration.assets.source import source_assets
from crawl_urn_dagster.orchestration.assets.strata import stratum_assets

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome


def collection_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return all assets of a collection."""
    tables = [
        *source_assets(collection, home),
        *observable_assets(collection, home),
        *estimate_assets(collection, home),
        *stratum_assets(collection, home),
        *drift_assets(collection, home),
        *forecast_assets(collection, home),
        *cross_archive_assets(collection, home),
        *ground_truth_assets(collection, home),
        *element_assets(collection, home),
    ]
    return [
        *tables,
        export_asset(collection, home, tables),
        *figure_assets(collection, home),
        report_asset(collection, home),
        complete_asset(collection, home, tables),
    ]
