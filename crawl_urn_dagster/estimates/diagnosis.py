"""Test whether the curves of a collection are those of the fitted urn: table `diagnosis`.

Does not compute the statistics (see `urn.goodness_of_fit`), nor compare richer urns (see `model_comparison`).

Each test is one family of comparisons: if the model fits, any of its comparisons fails with probability 1 in 100
(Bonferroni). The two tests of the new share of crawls form one family, with half of this probability each. With the
four families, a collection that satisfies the model keeps its verdict with probability 0.96 or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.assessment.verdicts import Verdict, VerdictName, state_verdict
from crawl_urn_dagster.observables.schema import DIAGNOSIS, SYMBOLS
from crawl_urn_dagster.urn import Status
from crawl_urn_dagster.urn.data.distributions import normal_quantile, normal_tail, student_quantile, student_tail
from crawl_urn_dagster.urn.goodness_of_fit.adequacy import check_core, check_increments, lack_of_fit
from crawl_urn_dagster.urn.uncertainty.bootstrap import difference_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.intervals import FittedCollection
    from crawl_urn_dagster.urn import Bootstrap, Violation
    from crawl_urn_dagster.urn.results.result import AnyFit

#: Probability that a family of comparisons fails although the model fits.
LEVEL = 0.01
# Tests whose comparisons belong to the family of another test.
_FAMILIES = {"transient_tail": "increments"}
# The difference of two shares is between -1 and 1, so a wider interval is hardly informative.
_WIDEST = 0.5
_UNREPORTED_VERDICTS = {
    Status.MODEL_VIOLATION: VerdictName.NO_URN,
    Status.TOO_FEW_POINTS: VerdictName.TOO_SHORT,
    Status.NOT_CONVERGED: VerdictName.NOT_FITTED,
}


class _Row(NamedTuple):
    """A row of table `diagnosis` without its clock; a missing verdict follows from the p-value."""

    test: str
    subject: str
    observed: float
    expected: float
    difference_low: float
    difference_high: float
    p_value: float
    meaning: str
    verdict: str | None = None


def diagnosis_table(
    fitted: FittedCollection, headline: AnyFit, violations: Sequence[Violation], in_all: int | None
) -> pd.DataFrame:
    """Return the tests of table `diagnosis`, on the headline's clock, without the verdict on the collection.

    Parameters
    ----------
    fitted
        The primary fits of the collection.
    headline
        The selected fit.
    violations
        Results of the violation rule; see `fitting.apply_violation_rules`.
    in_all
        Elements in every crawl; None without histories.
    """
    clock, model = headline.kind.clock, headline.kind.model
    same_urn = [one for one in fitted.fits if one.kind == one.kind._replace(clock=clock, model=model, form="exact")]
    by_projection = {fit.kind.projection: fit for fit in same_urn}
    rows = [_violation_row(violation) for violation in violations]
    bootstrap = fitted.bootstraps.get(by_projection["joint"].kind)
    if bootstrap is not None:
        if {"containment", "discovery_curve"} <= by_projection.keys():
            curves = by_projection["containment"], by_projection["discovery_curve"]
            rows += _projection_rows(*curves, fitted, bootstrap)
        if in_all is not None and model == "core_shell":
            rows.append(_core_row(bootstrap, in_all))
        rows += _lack_of_fit_rows(bootstrap) + _increment_rows(bootstrap)
    frame = pd.DataFrame(rows, columns=list(_Row._fields))
    frame["clock"], frame["difference"] = clock, frame["observed"] - frame["expected"]
    by_p_value = np.where(frame["p_value"] < levels_of_comparisons(frame), "fails", "holds")
    wide = (frame["test"] == "projections") & (frame["difference_high"] - frame["difference_low"] > _WIDEST)
    untested = frame["p_value"].isna() | (wide & (by_p_value == "holds"))
    frame["verdict"] = frame["verdict"].fillna(pd.Series(np.where(untested, "not_tested", by_p_value)))
    return frame.reindex(columns=list(DIAGNOSIS.column_names))


def levels_of_comparisons(tests: pd.DataFrame) -> pd.Series[float]:
    """Return the p-value below which each row of table `diagnosis` fails, unless it has a rule of its own.

    Examples
    --------
    >>> rows = {"test": ["core", "increments", "increments", "transient_tail"], "p_value": 0.5}
    >>> levels_of_comparisons(pd.DataFrame(rows)).tolist()
    [0.01, 0.0025, 0.0025, 0.005]
    """
    family = tests["test"].replace(_FAMILIES)
    comparisons = tests.groupby("test")["p_value"].transform("count").clip(lower=1)
    n_tests = tests["test"].where(tests["p_value"].notna()).groupby(family).transform("nunique").clip(lower=1)
    return LEVEL / (comparisons * n_tests)


def with_verdict(tests: pd.DataFrame, clock: str, verdict: Verdict) -> pd.DataFrame:
    """Return table `diagnosis`: the tests, and the verdict on the collection last."""
    row = {"clock": clock, "test": "collection", "subject": "all tests"}
    row |= {"verdict": verdict.name.value, "meaning": verdict.meaning}
    whole = tests.copy()
    whole.loc[len(whole)] = row
    return whole


def read_verdict(diagnosis: pd.DataFrame) -> Verdict:
    """Return the overall verdict from table `diagnosis`."""
    row = diagnosis[diagnosis["test"] == "collection"].iloc[0]
    return Verdict(VerdictName(row["verdict"]), row["meaning"])


def _violation_row(violation: Violation) -> _Row:
    half = float(normal_quantile(0.975)) * violation.se
    return _Row(
        "violation",
        violation.rule,
        observed=violation.difference,
        expected=0.0,
        difference_low=violation.difference - half,
        difference_high=violation.difference + half,
        p_value=float(normal_tail(violation.difference / violation.se)) if violation.se > 0 else np.nan,
        meaning=violation.reason,
        verdict={True: "fails", False: "holds", None: "not_tested"}[violation.violated],
    )


def _projection_rows(
    containment: AnyFit, discovery: AnyFit, fitted: FittedCollection, bootstrap: Bootstrap
) -> list[_Row]:
    """Compare the estimates from the two curves, whose replicates are the same."""
    rows = []
    sides = (containment, discovery)
    refits = [fitted.refits[side.kind].replicated if side.kind in fitted.refits else {} for side in sides]
    notes = [f"{side.kind.projection} is {side.status}: {side.reason}" for side in sides if side.status != Status.OK]
    for name in containment.estimates:
        if name not in discovery.estimates:
            continue
        one, other = containment.estimates[name], discovery.estimates[name]
        if all(side.is_all_core for side in sides):
            meaning = "In both fits all elements belong to the core, so the difference is not tested."
            rows.append(_Row("projections", name, one, other, np.nan, np.nan, np.nan, meaning))
            continue
        if not all(np.isfinite(replicated.get(name, np.nan)).all() for replicated in refits):
            meaning = " ".join(["The error of an estimate is unknown, so the difference is not tested.", *notes])
            rows.append(_Row("projections", name, one, other, np.nan, np.nan, np.nan, meaning))
            continue
        # If the model fits, its replicates differ like this, with the bias and the non-identification of either fit.
        spread = refits[0][name] - refits[1][name]
        interval = difference_interval(one - other, spread + one - other, freedom=bootstrap.freedom)
        low, high = (min(max(end, -1.0), 1.0) for end in interval)  # all of them are shares
        p_value = _two_sided(one - other - spread.mean(), float(np.std(spread, ddof=1)), bootstrap.freedom)
        meaning = " ".join([_meaning_of_difference(name, one - other), *notes])
        rows.append(_Row("projections", name, one, other, low, high, p_value, meaning))
    return rows


def _meaning_of_difference(name: str, difference: float) -> str:
    if name != "coverage":
        return f"{SYMBOLS[name]} is {'higher' if difference > 0 else 'lower'} from containment."
    if difference > 0:
        return (
            "c is higher from containment. If the difference is real, elements usually differ in coverage, and "
            "containment weights elements that are captured often."
        )
    return "c is higher from the discovery curve. If the difference is real, elements usually differ in survival."


def _core_row(bootstrap: Bootstrap, in_all: int) -> _Row:
    test = check_core(bootstrap, in_all)
    numbers = test.in_all, test.expected
    sd = abs((test.in_all - test.expected) / test.z) if test.z else np.nan
    freedom = len(bootstrap.fit.details.counts.times) - 1
    meaning = "Elements in every crawl: a permanent core, and the shell elements that every crawl captured."
    row = _compared("core", "elements in every crawl", *numbers, sd=sd, freedom=freedom, meaning=meaning)
    return row._replace(p_value=test.p_value)


def _lack_of_fit_rows(bootstrap: Bootstrap) -> list[_Row]:
    """Return the mean standardised residuals by lag; those that do not vary in the replicates are not tested."""
    found, freedom = lack_of_fit(bootstrap), bootstrap.freedom
    meaning = "Mean of {} residuals divided by their standard deviations in counting."
    return [
        _compared("lack_of_fit", f"{kind}, lag {lag}", mean, 0.0, sd=se, freedom=freedom, meaning=meaning.format(n))
        for kind, lag, mean, se, n in zip(*found, strict=True)
    ]


def _increment_rows(bootstrap: Bootstrap) -> list[_Row]:
    """Return the new share of each crawl, and its fall from the transient of the discovery curve to its tail."""
    found, freedom = check_increments(bootstrap), bootstrap.freedom
    meaning = "Share of the crawl that no earlier crawl captured."
    rows = [
        _compared("increments", f"crawl {position}", observed, expected, sd=se, freedom=freedom, meaning=meaning)
        for position, (observed, expected, se) in enumerate(zip(*found[:3], strict=True), start=1)
        if np.isfinite(observed)
    ]
    if found.fall is None:
        return rows
    observed, expected, se = found.fall
    meaning = _meaning_of_fall(observed - expected)
    subject = "fall of the new share"
    return [*rows, _compared("transient_tail", subject, observed, expected, sd=se, freedom=freedom, meaning=meaning)]


def _meaning_of_fall(difference: float) -> str:
    meaning = "Mean new share of the first half of the crawls minus that of the second half."
    if difference > 0:
        return f"{meaning} It falls further than the model expects: the tail has fewer new elements."
    return f"{meaning} It falls less than the model expects: the tail has more new elements."


def _compared(
    test: str, subject: str, observed: float, expected: float, *, sd: float, freedom: float, meaning: str
) -> _Row:
    """Return a row that tests a difference with known standard deviation under the model, by Student's t."""
    difference, half = observed - expected, float(student_quantile(0.975, freedom)) * sd
    p_value = _two_sided(difference, sd, freedom)
    return _Row(test, subject, observed, expected, difference - half, difference + half, p_value, meaning)


def _two_sided(difference: float, sd: float, freedom: float) -> float:
    return 2 * float(student_tail(abs(difference) / sd, freedom)) if sd > 0 else np.nan


def curves_verdict(headline: AnyFit, tests: pd.DataFrame, *, is_tested_enough: bool) -> Verdict:
    """Return the verdict that the tests of the curves give: the most serious result.

    Parameters
    ----------
    headline
        The selected fit.
    tests
        As returned by `diagnosis_table`.
    is_tested_enough
        Whether the tests would have found a departure that matters.
    """
    if not headline.is_reported:
        why = [headline.reason or ""] if headline.status is Status.TOO_FEW_POINTS else []
        return state_verdict(_UNREPORTED_VERDICTS[headline.status], *why)
    failed = tests[tests["verdict"] == "fails"].sort_values("p_value", kind="stable")
    if len(failed):
        return _failed(failed)
    violation = tests[tests["test"] == "violation"]
    if (violation["verdict"] == "not_tested").all():
        return state_verdict(VerdictName.TOO_SHORT, *violation["meaning"].head(1))
    if headline.status != Status.OK:
        return state_verdict(VerdictName.NOT_IDENTIFIED, headline.reason or "")
    return state_verdict(VerdictName.SOUND if is_tested_enough else VerdictName.NOT_TESTED_ENOUGH)


def _failed(failed: pd.DataFrame) -> Verdict:
    """Return the verdict from the comparisons that failed, the smallest p-value first."""
    differ = failed[failed["test"] == "projections"].set_index("subject")["difference"]
    if len(differ):
        shown = ", ".join(f"{SYMBOLS[str(name)]} by {difference:+.3f}" for name, difference in differ.items())
        finding = [f"Containment and discovery curve disagree ({shown}), so the elements of the shell are not alike."]
        finding += [_meaning_of_difference("coverage", differ["coverage"])] if "coverage" in differ else []
        return state_verdict(VerdictName.MISFIT, *finding)
    if ((failed["test"] == "core") & (failed["difference"] < 0)).any():
        return state_verdict(VerdictName.CORE_NOT_PERMANENT)
    worst = "; ".join(f"{row.test}, {row.subject}" for row in failed.head(3).itertuples())
    return state_verdict(VerdictName.MISFIT, f"Worst comparisons: {worst}.")
