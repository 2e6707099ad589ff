"""The code location that `workspace.yaml` names.

Here: where the configuration of the shipped code location comes from; the environment is read nowhere else.
Not here: what is built from it (`build`).
"""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.orchestration.build import build_defs


def alert_addresses() -> list[str]:
    """Where the environment says that alerts are sent, in apprise's notation."""
    return os.environ.get("CRAWL_URN_ALERTS", "").split()


@dg.definitions
def definitions() -> dg.Definitions:
    """Definitions of the collections that the environment names, or of the embedded default."""
    configuration = os.environ.get("CRAWL_URN_COLLECTIONS")
    return build_defs(
        load_collections(Path(configuration)) if configuration else (demo_collection(),),
        home=os.environ.get("CRAWL_URN_HOME", "crawl_urn_home"),
        alerts=alert_addresses(),
        ui_url=os.environ.get("CRAWL_URN_UI"),
    )
