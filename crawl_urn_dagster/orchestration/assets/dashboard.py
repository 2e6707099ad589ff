"""Define the asset `dashboard`, the index of the collections of one home folder.

Does not write the text (`report.dashboard`) or decide when it is rematerialised (`home_pages`).
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.assets.comparison import COMPARISON_FILE
from crawl_urn_dagster.orchestration.assets.home_pages import home_page_asset, read_collections
from crawl_urn_dagster.orchestration.assets.report import write_page
from crawl_urn_dagster.orchestration.resources import CollectionHome

_FILE = "dashboard"


def dashboard_asset(collections: Sequence[Collection], home: str) -> dg.AssetsDefinition:
    """Define the asset that writes the dashboard; the name of the first collection makes its key unique."""
    description = "Verdict, last crawl and history of every collection: HTML and Markdown in the home folder."
    return home_page_asset(_FILE, collections, home, write_dashboard, description)


def write_dashboard(collections: Sequence[Collection], homes: Sequence[CollectionHome]) -> dict[str, Any]:
    """Write the dashboard next to the folders of the collections, and return its paths as metadata."""
    from crawl_urn_dagster.report.dashboard import DASHBOARD_TABLES, dashboard_page

    page = dashboard_page(read_collections(collections, homes, DASHBOARD_TABLES), comparison=f"{COMPARISON_FILE}.html")
    return dict(write_page(page, homes[0].path.parent / _FILE))
