"""Asset checks: test the tables and fits that a run wrote.

Each module holds the checks of one subject. The rules themselves are in `observables.quality` and `urn`; see `alerts`
for who is notified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.archives import archive_checks
from crawl_urn_dagster.orchestration.checks.drift import drift_checks
from crawl_urn_dagster.orchestration.checks.elements import element_checks
from crawl_urn_dagster.orchestration.checks.fits import estimate_checks, headline_check
from crawl_urn_dagster.orchestration.checks.ground_truth import ground_truth_checks
from crawl_urn_dagster.orchestration.checks.inputs import input_checks
from crawl_urn_dagster.orchestration.checks.last_crawl import last_crawl_check
from crawl_urn_dagster.orchestration.checks.observables import observable_checks
from crawl_urn_dagster.orchestration.checks.results import checks_step
from crawl_urn_dagster.orchestration.checks.sql_definitions import sql_definition_checks

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome


def collection_checks(collection: Collection, home: CollectionHome) -> list[dg.AssetChecksDefinition]:
    """Return all checks of a collection, one step per subject."""
    element_definitions = element_checks(collection)
    observables = [*observable_checks(collection), *sql_definition_checks(collection)]
    return [
        checks_step(collection, home, "input", input_checks()),
        checks_step(collection, home, "observable", observables),
        checks_step(collection, home, "fit", estimate_checks(collection)),
        # A separate step: the figures that it blocks wait for no other check.
        checks_step(collection, home, "headline", [headline_check()], blocking=True),
        checks_step(collection, home, "drift", [*drift_checks(), last_crawl_check()]),
        *([checks_step(collection, home, "archive", archive_checks(collection))] if collection.cross_archive else []),
        *([checks_step(collection, home, "ground_truth", ground_truth_checks())] if collection.ground_truth else []),
        *([checks_step(collection, home, "element", element_definitions)] if element_definitions else []),
    ]
