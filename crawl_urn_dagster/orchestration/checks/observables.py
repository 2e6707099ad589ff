"""Check the observables: capture histories, the discovery curve and containment.

Does not check the fits to them; see `checks.fits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.checks.results import (
    ERROR,
    WARN,
    TableCheck,
    check_result,
    not_assessed,
    rule_check,
)

if TYPE_CHECKING:
    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome

# Recounting more rows would take as long as the original count, so the cross-check is skipped.
_MAX_ROWS_RECOUNTED = 20_000_000
# A median of fewer than three earlier pairs is too noisy to serve as a baseline.
_MIN_EARLIER_PAIRS = 3


def observable_checks(collection: Collection) -> list[TableCheck]:
    """Return the checks of the observables that the collection has."""
    checks = [_containment_drop(collection)]
    if collection.has_histories:
        checks.append(_histories_complete(collection))
    if collection.has_discovery_curve:
        checks += _discovery_checks(collection)
    if collection.has_containment:
        check = rule_check(
            "containment",
            "in_range",
            "Containment is in [0, 1], allowing for the source's counting error.",
            lambda quality, file: (
                quality.WITHIN_SMALLER,
                quality.containment_out_of_range(file.read("containment"), collection.source.relative_error),
            ),
        )
        checks.append(check)
    return checks


def _discovery_checks(collection: Collection) -> list[TableCheck]:
    error = collection.source.relative_error
    return [
        rule_check(
            "discovery_curve",
            "non_decreasing",
            "U(s, T) does not decrease in T, allowing for the source's counting error.",
            lambda quality, file: (
                quality.NON_DECREASING,
                quality.discovery_decreases(file.read("discovery_curve"), error),
            ),
        ),
        rule_check(
            "discovery_curve",
            "at_least_largest_crawl",
            "U(s, T) is at least the largest crawl of the window, allowing for the source's counting error.",
            lambda quality, file: (
                quality.AT_LEAST_LARGEST,
                quality.discovery_below_largest_crawl(file.read("discovery_curve"), file.read("crawls"), error),
            ),
        ),
    ]


def _histories_complete(collection: Collection) -> TableCheck:
    def evaluate(home: CollectionHome) -> dg.AssetCheckResult:
        import pandas as pd

        from crawl_urn_dagster.observables.tables import count_distinct_keys, read_capture_histories

        labels = home.observables.read("crawls")["crawl"].tolist()
        partitions = home.presence.read_all(labels)
        counts = read_capture_histories(home.observables)
        captured = counts.elements @ counts.seen
        sizes = pd.DataFrame(
            {"crawl": labels, "in_histories": captured, "in_presence": [one.elements for one in partitions]}
        )
        wrong = sizes[sizes["in_histories"] != sizes["in_presence"]]
        totals = {"elements": counts.distinct_elements}
        if sum(one.rows for one in partitions) <= _MAX_ROWS_RECOUNTED:
            distinct = count_distinct_keys([one.path for one in partitions])
            totals["distinct_in_presence"] = collection.sample_one_in * distinct
        first = f" The first is {wrong.iloc[0].to_dict()}." if len(wrong) else ""
        return check_result(
            passed=wrong.empty and len(set(totals.values())) == 1,
            severity=ERROR,
            observed=len(wrong),
            threshold=0,
            reason=f"The capture histories contain {counts.distinct_elements:,} elements. Their counts differ from the "
            f"presence partitions in {count_noun(len(wrong), 'crawl')}.{first}",
            todo="Delete the folder histories of the collection and materialise this asset again.",
            **totals,
        )

    return TableCheck(
        "capture_history_counts",
        "histories_sum_to_elements",
        "The history counts sum to the number of elements of each presence partition and of all partitions together.",
        evaluate,
    )


def _containment_drop(collection: Collection) -> TableCheck:
    asset = "containment" if collection.has_containment else "discovery_curve"
    n_baseline = collection.drift.window_crawls

    def evaluate(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import lag1_containment

        table = home.observables.read(asset)
        pairs = lag1_containment(*((table, None) if collection.has_containment else (None, table)))
        if len(pairs) <= _MIN_EARLIER_PAIRS:
            return not_assessed(
                f"Not assessed: found {count_noun(len(pairs), 'pair')} of consecutive crawls, expected at least "
                f"{_MIN_EARLIER_PAIRS + 1}."
            )
        last, median = pairs.iloc[-1], float(pairs["containment"].iloc[-1 - n_baseline : -1].median())
        # The upper end of the counting error, because an inexact count should not raise a warning.
        fall = 1 - float(last["containment_high"]) / median if median > 0 else 0.0
        return check_result(
            passed=fall <= collection.containment_drop,
            severity=WARN,
            observed=fall,
            threshold=collection.containment_drop,
            reason=f"Crawl {last['crawl']} contains {100 * last['containment']:.1f} % of the previous crawl. The "
            f"median of the previous {count_noun(min(n_baseline, len(pairs) - 1), 'pair')} is {100 * median:.1f} % "
            f"(relative change {-100 * fall:+.1f} %, allowed {-100 * collection.containment_drop:+.1f} %).",
            todo="Check whether the crawl was cut short, blocked, or started from other seeds.",
            cause=str(last["crawl"]),
        )

    return TableCheck(
        asset,
        "coverage_drop",
        "The latest crawl contains as much of the previous crawl as earlier crawls did.",
        evaluate,
    )
