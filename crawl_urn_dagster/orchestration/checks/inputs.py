"""Check what was read from the source: the dates of the crawls and changes of published counts.

Does not check the observables that are counted from it; see `checks.observables`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.results import WARN, no_rows_result, table_check

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome


def input_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    """Return the checks of the `crawls` asset."""
    return [
        table_check(
            collection,
            "crawls",
            "calendar_strictly_increasing",
            "Each crawl starts later than the previous one.",
            _starts_increase,
        ),
        table_check(
            collection, "crawls", "calendar_complete", "The calendar has a date for every crawl.", _calendar_is_complete
        ),
        table_check(
            collection,
            "crawls",
            "revised_history",
            "The last change of the source did not change counts of earlier crawls.",
            _history_is_unrevised,
        ),
    ]


def _starts_increase(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.observables.quality import STARTS_INCREASE, WHAT_TO_DO, calendar_disorder

    return no_rows_result(
        calendar_disorder(home.observables.read("crawls")), rule=STARTS_INCREASE, todo=WHAT_TO_DO[STARTS_INCREASE]
    )


def _calendar_is_complete(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.observables.quality import IN_CALENDAR, WHAT_TO_DO, dated_by_week

    return no_rows_result(
        dated_by_week(home.observables.read("crawls")),
        rule=IN_CALENDAR,
        todo=WHAT_TO_DO[IN_CALENDAR],
        severity=WARN,
    )


def _history_is_unrevised(home: CollectionHome) -> dg.AssetCheckResult:
    revisions = home.observables.read("revisions")
    return no_rows_result(
        revisions,
        rule="published counts of earlier crawls must not change",
        todo="All tables were recomputed. If no correction was announced, contact the publisher.",
        severity=WARN,
        cause=hashlib.sha256(revisions.to_csv(index=False).encode()).hexdigest()[:16],
    )
