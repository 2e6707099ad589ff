"""Asset checks: what a run says about the tables and fits it made.

Here: one check per rule, each a step of its own (those of fits are one together), with the figures and what to do in
its result. Not here: the rules (`observables.quality`, `urn`), or who is told (`alerts`).
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.formatting import counted
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.orchestration.asset_keys import asset_key, home_key, home_of, numbers, pool
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    import pandas as pd


_WORST_SHOWN = 10
# More would take as long again as all that was counted before.
_ROWS_COUNTED_AGAIN = 20_000_000
# Fewer are no measure of what is usual.
_PAIRS_BEFORE = 3
_WARN, _ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


def collection_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    """Every check of a collection."""
    checks = [*_calendar_checks(collection), _revised_history(collection), _headline_fit(collection)]
    checks += [_drift(collection, parameter) for parameter in SYMBOLS]
    checks += [_observed_drift(collection), _coverage_drop(collection)]
    if collection.has_histories:
        checks.append(_histories_complete(collection))
    if collection.has_discovery_curve:
        checks += _discovery_checks(collection)
    if collection.has_containment:
        checks.append(_containment_in_range(collection))
    if collection.has_containment and collection.has_discovery_curve:
        checks.append(_projections_agree(collection))
    return [*checks, _fit_checks(collection)]


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


def _result(
    *,
    passed: bool,
    severity: dg.AssetCheckSeverity,
    figure: float | str,
    threshold: float | str,
    reason: str,
    todo: str,
    **more: Any,
) -> dg.AssetCheckResult:
    """Give a check's result: what was found, what is allowed, and when that is exceeded, why and what to do."""
    return dg.AssetCheckResult(
        passed=passed,
        severity=severity,
        description=reason if passed else f"{reason} {todo}",
        metadata={
            "figure": figure,
            "threshold": threshold,
            **({} if passed else {"reason": reason, "what_to_do": todo}),
            **more,
        },
    )


def _none_of(
    offenders: "pd.DataFrame", *, rule: str, todo: str, severity: dg.AssetCheckSeverity = _ERROR, **more: Any
) -> dg.AssetCheckResult:
    """Pass when nothing offends; else say how many do, show the worst, and say what to do."""
    from crawl_urn_dagster.observables.quality import breach

    found: dict[str, Any] = {"severity": severity, "figure": len(offenders), "threshold": 0, "todo": todo, **more}
    if offenders.empty:
        return _result(passed=True, reason=f"Holds: {rule}.", **found)
    return _result(
        passed=False,
        reason=breach(rule, offenders),
        worst=dg.MetadataValue.md(offenders.head(_WORST_SHOWN).to_markdown(index=False)),
        **found,
    )


def _calendar_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    def increasing(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import STARTS_IN_TURN, WHAT_TO_DO, calendar_disorder

        return _none_of(
            calendar_disorder(home.observables.read("crawls")),
            rule=STARTS_IN_TURN,
            todo=WHAT_TO_DO[STARTS_IN_TURN],
        )

    def complete(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import IN_CALENDAR, WHAT_TO_DO, dated_by_week

        return _none_of(
            dated_by_week(home.observables.read("crawls")),
            rule=IN_CALENDAR,
            todo=WHAT_TO_DO[IN_CALENDAR],
            severity=_WARN,
        )

    return [
        _check(collection, "crawls", "calendar_strictly_increasing", "Crawls start one after another.", increasing),
        _check(collection, "crawls", "calendar_complete", "The calendar has a date for every crawl.", complete),
    ]


def _histories_complete(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
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
        found = {"elements": counts.distinct_elements}
        if sum(one.rows for one in partitions) <= _ROWS_COUNTED_AGAIN:
            found["distinct_in_presence"] = collection.sample_one_in * count_distinct_keys([p.path for p in partitions])
        worst = f" The first crawl of another size: {wrong.iloc[0].to_dict()}." if len(wrong) else ""
        return _result(
            passed=wrong.empty and len(set(found.values())) == 1,
            severity=_ERROR,
            figure=len(wrong),
            threshold=0,
            reason=f"Capture histories count {counts.distinct_elements:,} elements; of another size than their "
            f"presence partition: {counted(len(wrong), 'crawl')}.{worst}",
            todo="Delete the folder histories of the collection, and materialise this asset again.",
            **found,
        )

    return _check(
        collection,
        "capture_history_counts",
        "histories_sum_to_elements",
        "The history counts sum to the elements of each presence partition, and of all together.",
        judge,
    )


def _discovery_checks(collection: Collection) -> list[dg.AssetChecksDefinition]:
    relative_error = collection.source.relative_error

    def non_decreasing(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import NON_DECREASING, WHAT_TO_DO, discovery_decreases

        return _none_of(
            discovery_decreases(home.observables.read("discovery_curve"), relative_error),
            rule=NON_DECREASING,
            todo=WHAT_TO_DO[NON_DECREASING],
        )

    def at_least_largest(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import AT_LEAST_LARGEST, WHAT_TO_DO, discovery_below_largest_crawl

        file = home.observables
        return _none_of(
            discovery_below_largest_crawl(file.read("discovery_curve"), file.read("crawls"), relative_error),
            rule=AT_LEAST_LARGEST,
            todo=WHAT_TO_DO[AT_LEAST_LARGEST],
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
        from crawl_urn_dagster.observables.quality import WHAT_TO_DO, WITHIN_SMALLER, containment_out_of_range

        return _none_of(
            containment_out_of_range(home.observables.read("containment"), collection.source.relative_error),
            rule=WITHIN_SMALLER,
            todo=WHAT_TO_DO[WITHIN_SMALLER],
        )

    return _check(collection, "containment", "in_range", "Containment is in [0, 1], within the source's error.", judge)


def _headline_fit(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.estimates.headline import read_headline

        headline = read_headline(home.observables.read("parameters"))
        return _result(
            passed=not headline.withheld,
            severity=_ERROR,
            figure=headline.status,
            threshold="ok, at_bound or not_identified",
            reason=headline.sentence,
            todo="Look at the figures of the observables: they show what no urn does, or that more crawls are needed.",
            fit=headline.fit_name,
        )

    return _check(
        collection,
        "headline",
        "headline_fit",
        "The headline fit may be shown. When it fails, the figures of parameters are not made.",
        judge,
        blocking=True,
    )


def _drift(collection: Collection, parameter: str) -> dg.AssetChecksDefinition:
    symbol = SYMBOLS[parameter]

    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        table = home.observables.read("drift").set_index("parameter")
        row = cast("dict[str, Any]", table.loc[parameter].to_dict())
        if isinstance(row["reason"], str):
            return dg.AssetCheckResult(
                passed=True, severity=_WARN, description=f"Drift of {symbol} was not judged: {row['reason']}."
            )
        attributed = table["attributed"].fillna(value=False).astype(bool)
        # What moved only because another parameter did is said there.
        drifted = bool(row["drifted"]) and bool(attributed[parameter] or not attributed.any())
        since = f" since {row['since_crawl']}" if drifted else ""
        return _result(
            passed=not drifted,
            severity=_WARN,
            figure=float(row["statistic"]),
            threshold=float(row["threshold"]),
            reason=f"{symbol} went from {row['reference_value']:.3f} to {row['value']:.3f}{since}: a change of "
            f"{row['difference']:+.3f}; the average of its chart is {row['statistic']:.3g} standard deviations off, "
            f"and any chart gives the alarm above {row['threshold']:.3g}{_noted(row)}.",
            todo="Look at the crawler's seeds, scope and budget since then.",
            drawn_in="control_charts",
            **numbers(**{name: float(row[name]) for name in ("reference_value", "value", "difference")}),
        )

    return _check(
        collection,
        "drift",
        f"{parameter}_drift",
        f"{symbol} of the last crawls is what it was in the reference.",
        judge,
    )


def _noted(row: "dict[str, Any]") -> str:
    return f"; {row['note']}" if isinstance(row["note"], str) else ""


def _observed_drift(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        table = home.observables.read("drift")
        observed = table[~table["parameter"].isin(SYMBOLS)]
        if observed.empty:
            return dg.AssetCheckResult(
                passed=True, severity=_WARN, description="An urn describes the collection: see drift of its parameters."
            )
        return _none_of(
            observed.loc[observed["drifted"].astype(bool), ["parameter", "since_crawl", "reference_value", "value"]],
            rule="first returns and crawl sizes must not change",
            todo="Look at the crawler's revisit policy and budget since then; when the change is there to stay, name "
            "its first crawl as drift.reference_from.",
            severity=_WARN,
        )

    return _check(
        collection,
        "drift",
        "observed_drift",
        "Where no urn fits: first returns, the revisit delay they tell, and crawl sizes are what they were.",
        judge,
    )


def _projections_agree(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        table = home.observables.read("diagnosis")
        rows = table[(table["test"] == "projections") & (table["verdict"] != "not_tested")]
        if rows.empty:
            return dg.AssetCheckResult(
                passed=True,
                severity=_WARN,
                description="Not judged: no parameter is known well from both curves.",
            )
        fails = rows[rows["verdict"] == "fails"]
        worst = cast("dict[str, Any]", rows.sort_values("p_value").iloc[0].to_dict())
        return _result(
            passed=fails.empty,
            severity=_WARN,
            figure=float(worst["p_value"]),
            threshold="1 in 100 that any of the parameters would differ so much by chance",
            reason=f"{worst['subject']} is {worst['observed']:.3f} by containment and {worst['expected']:.3f} by the "
            f"discovery curve, a difference of {worst['difference']:+.3f} ({worst['difference_low']:+.3f} to "
            f"{worst['difference_high']:+.3f}), p = {worst['p_value']:.2g}.",
            todo=str(worst["meaning"]),
            differing=", ".join(fails["subject"]),
        )

    return _check(
        collection,
        "diagnosis",
        "projections_agree",
        "Containment and the discovery curve give the same parameters.",
        judge,
    )


def _coverage_drop(collection: Collection) -> dg.AssetChecksDefinition:
    asset = "containment" if collection.has_containment else "discovery_curve"
    before = collection.drift.window_crawls

    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        from crawl_urn_dagster.observables.quality import seen_again

        table = home.observables.read(asset)
        pairs = seen_again(*((table, None) if collection.has_containment else (None, table)))
        if len(pairs) <= _PAIRS_BEFORE:
            return dg.AssetCheckResult(
                passed=True,
                severity=_WARN,
                description=f"Not judged: needs {_PAIRS_BEFORE + 1} pairs of neighbours, and has {len(pairs)}.",
            )
        last, usual = pairs.iloc[-1], float(pairs["seen_again"].iloc[-1 - before : -1].median())
        # At least so much, whatever the error of the counting.
        fall = 1 - float(last["seen_again_high"]) / usual if usual > 0 else 0.0
        return _result(
            passed=fall <= collection.coverage_drop,
            severity=_WARN,
            figure=fall,
            threshold=collection.coverage_drop,
            reason=f"Crawl {last['crawl']} sees {last['seen_again']:.1%} of the crawl before it again; {usual:.1%} is "
            f"the median of the {min(before, len(pairs) - 1)} pairs before: a relative change of {-fall:+.1%}, where "
            f"{-collection.coverage_drop:+.1%} is allowed.",
            todo="Look whether the crawl was cut short, blocked, or seeded otherwise.",
            cause=str(last["crawl"]),
        )

    return _check(
        collection,
        asset,
        "coverage_drop",
        "The last crawl sees as much of the crawl before it again as earlier crawls did.",
        judge,
    )


def _revised_history(collection: Collection) -> dg.AssetChecksDefinition:
    def judge(home: CollectionHome) -> dg.AssetCheckResult:
        revisions = home.observables.read("revisions")
        return _none_of(
            revisions,
            rule="counts of the past must not change once they are published",
            todo="Everything was computed anew; ask the publisher when no correction was announced.",
            severity=_WARN,
            cause=hashlib.sha256(revisions.to_csv(index=False).encode()).hexdigest()[:16],
        )

    return _check(
        collection,
        "crawls",
        "revised_history",
        "The counts of earlier crawls are what they were before the source's content last changed.",
        judge,
    )


def _fit_checks(collection: Collection) -> dg.AssetChecksDefinition:
    """One check per fit; all together are one step, for they judge rows of one table alike."""
    from crawl_urn_dagster.estimates.fit_catalogue import fit_kinds

    kinds = {
        f"{kind.projection}_{kind.model}_{kind.form}_per_{kind.clock}": kind
        for kind in fit_kinds(containment=collection.has_containment, discovery_curve=collection.has_discovery_curve)
    }
    key = asset_key(collection, "parameters")
    specs = [
        dg.AssetCheckSpec(
            name,
            asset=key,
            description=f"The {kind.model} fit of {kind.projection} ({kind.form} form, per {kind.clock}) is ok.",
        )
        for name, kind in kinds.items()
    ]

    @dg.multi_asset_check(
        name=f"{collection.name}__fits_are_ok",
        specs=specs,
        can_subset=True,
        required_resource_keys={home_key(collection)},
        pool=pool(collection),
    )
    def fits_are_ok(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        table = home_of(context, collection).observables.read("parameters")
        of_all = table[table["stratum"].isna()]
        for check in sorted(context.selected_asset_check_keys):
            of_kind = (of_all[list(kinds[check.name]._fields)] == list(kinds[check.name])).all(axis=1)
            yield _fit_is_ok(of_all[of_kind].iloc[-1])._replace(check_name=check.name, asset_key=key)

    return fits_are_ok


def _fit_is_ok(row: "pd.Series") -> dg.AssetCheckResult:
    from crawl_urn_dagster.urn import WITHHELD

    # A fit that is ok may have a reservation.
    todo = "No numbers are given of it." if row["status"] in WITHHELD else "Take its numbers with this reservation."
    passed = row["status"] == "ok" and not isinstance(row["reason"], str)
    return _result(
        passed=bool(passed),
        severity=_WARN,
        figure=str(row["status"]),
        threshold="ok",
        reason="The fit is ok." if passed else f"{row['status']}: {str(row['reason']).rstrip('.')}.",
        todo=f"{todo} {'' if row['headline'] else 'It is not the fit that speaks for the collection.'}".rstrip(),
        **numbers(residual_rms=row["residual_rms"]),
    )
