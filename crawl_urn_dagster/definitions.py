"""Define the code location that `workspace.yaml` names, configured by environment variables.

No other module reads them when the code location loads. Does not build the definitions; see `orchestration.build`.
"""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.executor import single_process_executor


def alert_targets() -> list[str]:
    """Return the targets of alerts from the environment, as Apprise URLs."""
    return os.environ.get("CRAWL_URN_ALERTS", "").split()


@dg.definitions
def definitions() -> dg.Definitions:
    """Build the definitions of the configured collections, or of the demo collection."""
    configuration = os.environ.get("CRAWL_URN_COLLECTIONS")
    built = build_defs(
        load_collections(Path(configuration)) if configuration else (demo_collection(),),
        home=os.environ.get("CRAWL_URN_HOME", "crawl_urn_home"),
        alerts=alert_targets(),
        ui_url=os.environ.get("CRAWL_URN_UI"),
    )
    # For the runs in which the UI materialises chosen assets.
    return dg.Definitions.merge(built, dg.Definitions(executor=single_process_executor))
