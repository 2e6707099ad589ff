"""Asset checks: test the tables and fits that a run wrote.

Each module holds the checks of one subject. The rules themselves are in `observables.quality` and `urn`; see `alerts`
for who is notified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.drift import drift_checks
from crawl_urn_dagster.orchestration.checks.fits import estimate_checks
from crawl_urn_dagster.orchestration.checks.inputs import input_checks
from crawl_urn_dagster.orchestration.checks.observables import observable_checks
from crawl_urn_dagster.orchestration.checks.sql_definitions import sql_definition_checks

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection


def collection_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    """Return all checks of a collection."""
    return [
        *input_checks(collection),
        *observable_checks(collection),
        *sql_definition_checks(collection),
        *estimate_checks(collection),
        *drift_checks(collection),
    ]
