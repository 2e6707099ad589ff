"""Check the newest crawl against what the crawls before it let expect.

Does not check for lasting changes; see `checks.drift`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.results import WARN, TableCheck, check_result, not_assessed

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.orchestration.resources import CollectionHome


def last_crawl_check() -> TableCheck:
    """Return the check of the last crawl."""

    def evaluate(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.estimates.last_crawl import RELEVANT_FACTOR, state_last_crawl, unexpected

        table = home.observables.read("last_crawl")
        tested = table[table["verdict"] != "not_tested"]
        if tested.empty:
            return not_assessed("Not assessed: there are too few earlier crawls to know what to expect.")
        rows = unexpected(tested)
        names = ", ".join(tested["quantity"])
        return check_result(
            passed=rows.empty,
            severity=WARN,
            observed=len(rows),
            threshold=0,
            reason=state_last_crawl(table)
            or f"The last crawl is as expected ({names}): none is outside its 95 % prediction interval by a factor of "
            f"more than {RELEVANT_FACTOR:g}.",
            todo="Check whether the crawl was cut short, blocked, or started from other seeds.",
            cause=f"{table['crawl'].iloc[0]}: {', '.join(rows['quantity'])}",
        )

    return TableCheck(
        "last_crawl",
        "last_crawl_as_expected",
        "Size, new share, overlap, completeness and survival of the last crawl are inside or close to their 95 % "
        "prediction intervals.",
        evaluate,
    )
