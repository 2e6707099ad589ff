"""Check what was read from the source: the dates of the crawls and changes of published counts.

Does not check the observables that are counted from it; see `checks.observables`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.results import WARN, TableCheck, no_rows_result, rule_check

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.orchestration.resources import CollectionHome


def input_checks() -> list[TableCheck]:
    """Return the checks of the `crawls` asset."""
    return [
        rule_check(
            "crawls",
            "calendar_strictly_increasing",
            "Each crawl starts later than the previous one.",
            lambda quality, file: (quality.STARTS_INCREASE, quality.calendar_disorder(file.read("crawls"))),
        ),
        rule_check(
            "crawls",
            "calendar_complete",
            "The calendar has a date for every crawl.",
            lambda quality, file: (quality.IN_CALENDAR, quality.dated_by_week(file.read("crawls"))),
            severity=WARN,
        ),
        TableCheck("crawls", "crawls_readable", "No crawl is set aside in quarantine.", _no_crawl_is_set_aside),
        TableCheck(
            "crawls",
            "revised_history",
            "The last change of the source did not change counts of earlier crawls.",
            _history_is_unrevised,
        ),
    ]


def _history_is_unrevised(home: CollectionHome) -> dg.AssetCheckResult:
    revisions = home.observables.read("revisions")
    return no_rows_result(
        revisions,
        rule="published counts of earlier crawls must not change",
        todo="All tables were recomputed. If no correction was announced, contact the publisher.",
        severity=WARN,
        cause=hashlib.sha256(revisions.to_csv(index=False).encode()).hexdigest()[:16],
    )


def _no_crawl_is_set_aside(home: CollectionHome) -> dg.AssetCheckResult:
    rows = home.observables.read("quarantine")
    return no_rows_result(
        rows[["crawl", "reason"]],
        rule="every listed crawl must be readable",
        todo="The other crawls were updated without it. Replace the file; the next update then includes the crawl.",
        severity=WARN,
        # One line per file: a crawl that returns is not a new cause.
        cause="\n".join(rows["crawl"] + " " + rows["kind"]),
    )
