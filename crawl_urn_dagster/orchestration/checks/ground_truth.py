"""Check estimates against the operator's own counters, and name counters that moved at the latest crawl.

Does not compare them; see `estimates.ground_truth` and `estimates.counter_changes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.orchestration.checks.results import (
    WARN,
    TableCheck,
    check_result,
    no_rows_result,
    not_assessed,
)

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.orchestration.resources import CollectionHome

# A counter and an estimate of the same quantity that are this close agree, even if the interval is narrower.
_LARGEST_DIFFERENCE = 0.05


def ground_truth_checks() -> list[TableCheck]:
    """Return the checks of a collection that is compared with counters."""
    return [
        TableCheck(
            "ground_truth_comparison",
            "size_agrees_with_counter",
            "The latest estimate of the eligible elements is near the operator's counter.",
            _agrees,
        ),
        TableCheck(
            "counter_changes",
            "counters_are_steady",
            "No counter of the operator moved at the latest crawl beyond its own scatter.",
            _steady,
        ),
    ]


def _agrees(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.estimates.ground_truth import reported_comparison

    tables = home.observables.read_all(["ground_truth_comparison", "parameters"])
    rows = reported_comparison(tables["ground_truth_comparison"], tables["parameters"])
    rows = rows[(rows["quantity"] == "urn_size") & rows["counted"].notna() & rows["estimate"].notna()]
    if rows.empty:
        return not_assessed("No fit implies a number of eligible elements, or the operator counts none.")
    last = rows.iloc[-1]
    ratio = float(last["ratio"])
    return check_result(
        passed=last["verdict"] == "inside" or abs(ratio - 1) <= _LARGEST_DIFFERENCE,
        severity=WARN,
        observed=ratio,
        threshold=1.0,
        reason=f"The fit of {last['first_crawl']} to {last['last_crawl']} gives {last['estimate']:,.0f} eligible "
        f"elements; the operator counts {last['counted']:,.0f} ({last['verdict']}).",
        todo="Check what the counter includes, and whether a revisit delay or growth of the population fits the data.",
    )


def _steady(home: CollectionHome) -> dg.AssetCheckResult:
    tables = home.observables.read_all(["counter_changes", "ground_truth"])
    if tables["ground_truth"].empty:
        return not_assessed("The operator counts none of the collection's crawls.")
    changes, last = tables["counter_changes"], tables["ground_truth"]["crawl"].iloc[-1]
    return no_rows_result(
        changes.loc[changes["crawl"] == last, ["quantity", "previous", "value", "statistic"]],
        rule=f"counters at {last} must not differ from the crawl before by more than their scatter",
        todo="Ask the operator what happened; a counter that moved need not be the cause of a drift.",
        severity=WARN,
    )
