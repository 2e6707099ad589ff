"""Define the asset `dashboard`, the index of the collections of one home folder.

It is rematerialised like the comparison, and no run waits for it. Does not write the text; see `report.dashboard`.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_key, code_reference
from crawl_urn_dagster.orchestration.assets.comparison import COMPARISON_FILE, read_collections, when_reported
from crawl_urn_dagster.orchestration.assets.report import write_page
from crawl_urn_dagster.orchestration.resources import CollectionHome

# A collection name cannot start with an underscore.
_PREFIX = "_dashboard"
_FILE = "dashboard"


def dashboard_asset(collections: Sequence[Collection], home: str) -> dg.AssetsDefinition:
    """Define the asset that writes the dashboard; the name of the first collection makes its key unique."""

    @dg.asset(
        key=dg.AssetKey([_PREFIX, collections[0].name]),
        deps=[asset_key(one, "report") for one in collections],
        description="Verdict, last crawl and history of every collection: HTML and Markdown in the home folder.",
        group_name=_FILE,
        kinds={"markdown", "html"},
        metadata=code_reference(dashboard_asset),
        automation_condition=when_reported(),
    )
    def dashboard() -> dg.MaterializeResult[None]:
        homes = [CollectionHome(home, one.name) for one in collections]
        return dg.MaterializeResult(metadata=write_dashboard(collections, homes))

    return dashboard


def write_dashboard(collections: Sequence[Collection], homes: Sequence[CollectionHome]) -> dict[str, Any]:
    """Write the dashboard next to the folders of the collections, and return its paths as metadata."""
    from crawl_urn_dagster.report.dashboard import DASHBOARD_TABLES, dashboard_page

    page = dashboard_page(read_collections(collections, homes, DASHBOARD_TABLES), comparison=f"{COMPARISON_FILE}.html")
    return dict(write_page(page, homes[0].path.parent / _FILE))
