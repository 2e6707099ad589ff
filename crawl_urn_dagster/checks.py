"""Asset checks: what a run says about the tables and fits it made.

Here: one check per rule, each a step of its own, with the figures and what to do in its result. Not here: the rules
(`observables.quality`, `urn`), or who is told (`alerts`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import dagster as dg

from crawl_urn_dagster.collection import Collection
from crawl_urn_dagster.resources import CollectionHome
from crawl_urn_dagster.specs import asset_key, home_key, home_of, numbers, pool

if TYPE_CHECKING:
    import pandas as pd


_WORST_SHOWN = 10
_DRIFT_FIGURES = ("reference_value", "value", "difference", "threshold")
_WARN, _ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


def collection_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    """Every check of a collection."""
    checks = [*_calendar_checks(collection), _headline_fit(collection), _kappa_drift(collection)]
    if collection.has_histories:
        checks.append(_histories_complete(collection))
    if collection.has_discovery_curve:
        checks += _discovery_checks(collection)
    if collection.has_containment:
        checks.append(_containment_in_range(collection))
    return checks + _fit_checks(collection)


def _check(
    collection: Collection,
    asset: str,
    name: str,
    description: str,
    judge: Callable[[CollectionHome], dg.AssetCheckResult],
    *,
    blocking: bool = False,
) -> dg.AssetChecksDefinition:
    """One check as a step of its own; the judge gets the collection's home."""

    @dg.asset_check(
        asset=asset_key(collection, asset),
        name=name,
        description=description,
        blocking=blocking,
        required_resource_keys={home_key(collection)},
        pool=pool(collection),
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        return judge(home_of(context, collection))

    return check


def _none_of(
    offenders: "pd.DataFrame", *, rule: str, todo: str, severity: dg.AssetCheckSeverity = _ERROR
) -> dg.AssetCheckResult:
    """Pass when nothing offends; else say how many do, show the worst, and say what to do."""
    if offenders.empty:
        return dg.AssetCheckResult(passed=True, description=f"Holds: {rule}.")
    worst = offenders.head(_WORST_SHOWN)
    first = ", ".join(f"{column} {value}" for column, value in worst.iloc[0].items())
    return dg.AssetCheckResult(
        passed=False,
        severity=severity,
        description=f"{len(offenders)} rows break the rule that {rule}; the worst: {first}. {todo}",
        metadata={
            "offenders": len(offenders),
            "worst": dg.MetadataValue.md(worst.to_markdown(index=False)),
        },
    )


def _calendar_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    def increasing(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import STARTS_IN_TURN, calendar_disorder

        return _none_of(
            calendar_disorder(home.observables.read("crawls")),
            rule=STARTS_IN_TURN,
            todo="Correct the dates in the calendar: lags and survival per year depend on them.",
        )

    def complete(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import IN_CALENDAR, dated_by_week

        return _none_of(
            dated_by_week(home.observables.read("crawls")),
            rule=IN_CALENDAR,
            todo="They are dated by the ISO week of their label, which can be weeks off: add them to the calendar.",
            severity=_WARN,
        )

    return [
        _check(collection, "crawls", "calendar_strictly_increasing", "Crawls start one after another.", increasing),
        _check(collection, "crawls", "calendar_complete", "The calendar has a date for every crawl.", complete),
    ]


def _histories_complete(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.tables import count_distinct_elements, read_capture_histories

        counted = read_capture_histories(home.observables).distinct_elements
        present = count_distinct_elements(home.observables, home.presence)
        return dg.AssetCheckResult(
            passed=counted == present,
            severity=_ERROR,
            description=f"Capture histories count {counted:,} elements, the presence list has {present:,}."
            + ("" if counted == present else " Materialise presence and everything below it again."),
            metadata={"in_histories": counted, "in_presence": present},
        )

    return _check(
        collection,
        "capture_history_counts",
        "histories_sum_to_elements",
        "The history counts sum to the distinct elements of the presence list.",
        judge,
    )


def _discovery_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    relative_error = collection.source.relative_error

    def non_decreasing(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import NON_DECREASING, discovery_decreases

        return _none_of(
            discovery_decreases(home.observables.read("discovery_curve"), relative_error),
            rule=NON_DECREASING,
            todo="Check the source's table, or its relative_error.",
        )

    def at_least_largest(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import AT_LEAST_LARGEST, discovery_below_largest_crawl

        file = home.observables
        return _none_of(
            discovery_below_largest_crawl(file.read("discovery_curve"), file.read("crawls"), relative_error),
            rule=AT_LEAST_LARGEST,
            todo="Check the source's table, or its relative_error.",
        )

    return [
        _check(
            collection,
            "discovery_curve",
            "non_decreasing",
            "U(s, T) does not decrease in T, within the source's error.",
            non_decreasing,
        ),
        _check(
            collection,
            "discovery_curve",
            "at_least_largest_crawl",
            "U(s, T) is at least the largest crawl of the window, within the source's error.",
            at_least_largest,
        ),
    ]


def _containment_in_range(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import WITHIN_SMALLER, containment_out_of_range

        return _none_of(
            containment_out_of_range(home.observables.read("containment"), collection.source.relative_error),
            rule=WITHIN_SMALLER,
            todo="Check the source's table, or its relative_error.",
        )

    return _check(collection, "containment", "in_range", "Containment is in [0, 1], within the source's error.", judge)


def _headline_fit(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.estimates.headline import read_headline

        headline = read_headline(home.observables.read("parameters"))
        return dg.AssetCheckResult(
            passed=not headline.withheld,
            severity=_ERROR,
            description=headline.sentence,
            metadata={"fit": headline.fit_name, "status": headline.status},
        )

    return _check(
        collection,
        "headline",
        "headline_fit",
        "The headline fit may be shown. When it fails, the figures of parameters are not made.",
        judge,
        blocking=True,
    )


def _kappa_drift(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        table = home.observables.read("drift").set_index("parameter")
        row = cast("dict[str, Any]", table.loc["kappa"].to_dict())
        if isinstance(row["reason"], str):
            return dg.AssetCheckResult(
                passed=True, severity=_WARN, description=f"Drift of the core was not judged: {row['reason']}."
            )
        drifted = bool(row["drifted"])
        return dg.AssetCheckResult(
            passed=not drifted,
            severity=_WARN,
            description=(
                f"κ went from {row['reference_value']:.3f} to {row['value']:.3f} since {row['since_crawl']}: "
                f"a change of {row['difference']:+.3f}, threshold {row['threshold']:g}."
                + (" Look at the crawler's seeds and scope since then." if drifted else "")
            ),
            metadata=numbers(**{name: float(row[name]) for name in _DRIFT_FIGURES}),
        )

    return _check(
        collection,
        "drift",
        "kappa_drift",
        "κ of the last window of crawls is near κ of the window before it.",
        judge,
    )


def _fit_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    from crawl_urn_dagster.estimates.kinds import fit_kinds

    return [
        _fit_check(collection, *kind)
        for kind in fit_kinds(containment=collection.has_containment, discovery_curve=collection.has_discovery_curve)
    ]


def _fit_check(collection: Collection, projection: str, model: str, form: str, clock: str) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        table = home.observables.read("parameters")
        of_kind = (
            (table["projection"] == projection)
            & (table["model"] == model)
            & (table["form"] == form)
            & (table["clock"] == clock)
        )
        row = table[of_kind].iloc[-1]
        passed = row["status"] == "ok"
        return dg.AssetCheckResult(
            passed=bool(passed),
            severity=_WARN,
            description="The fit is ok." if passed else f"{row['status']}: {row['reason']}",
            metadata={"status": str(row["status"]), **numbers(residual_rms=row["residual_rms"])},
        )

    return _check(
        collection,
        "parameters",
        f"{projection}_{model}_{form}_per_{clock}",
        f"The {model} fit of {projection} ({form} form, per {clock}) is ok.",
        judge,
    )
