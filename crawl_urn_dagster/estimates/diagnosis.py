"""Whether one urn holds for a collection: table `diagnosis`, and one verdict that an operator can act on.

Here: which tests are made of which fits, what counts as a failure, and what it means in words. Not here: the statistics
(`urn.adequacy`, `urn.violation`), replicates (`intervals`), or the choice between richer urns (`models`).

Each test is one family: it fails at a chance of 1 in 100 that any of its rows would look like this if the urn held
(Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student_t

from crawl_urn_dagster.observables.schema import DIAGNOSIS, SYMBOLS
from crawl_urn_dagster.urn import WITHHELD
from crawl_urn_dagster.urn.fits.status import is_all_core
from crawl_urn_dagster.urn.goodness_of_fit.adequacy import check_core, check_increments, lack_of_fit
from crawl_urn_dagster.urn.uncertainty.bootstrap import difference_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.intervals import Fitted
    from crawl_urn_dagster.urn import Bootstrap, Violation

#: Chance that a test fails though the urn holds, over all of its rows.
LEVEL = 0.01
#: The difference of two shares is within 1 of 0: an interval that is wider tells hardly anything.
_WIDEST = 0.5
_WITHHELD_VERDICTS = {
    "model_violation": (
        "no_urn",
        "No urn with constant coverage describes this collection: quote no parameter of it. Read first returns and "
        "crawl sizes, and the fits of model revisit_delay, which allow for a crawler that avoids recent fetches.",
    ),
    "too_few_points": ("too_short", "There are too few crawls to fit an urn: wait for more."),
    "not_converged": ("not_fitted", "The search did not settle: look for crawls that are unlike all others."),
}
_CORE_LEAVES = (
    "Elements leave the core or are missed at times: read kappa and mu as the part that lives longest, not as one that "
    "is there for good."
)
_MISFIT = (
    "The fit is off by more than sampling and the changes from crawl to crawl explain: look at the rows that fail, at "
    "model_comparison for a richer urn, and whether seeds, scope or size of some crawl were changed."
)


class _Row(NamedTuple):
    """A row of table `diagnosis` but for its clock; the verdict follows from the p-value where that is known."""

    test: str
    subject: str
    observed: float
    expected: float
    difference_low: float
    difference_high: float
    p_value: float
    meaning: str
    verdict: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What the tests of a collection come to.

    Attributes
    ----------
    name
        ``sound``, ``not_identified``, ``misfit``, ``uneven_shell``, ``core_not_permanent``, ``too_short``,
        ``not_fitted`` or ``no_urn``; see column ``verdict``.
    meaning
        What it means and what to do, in words.
    """

    name: str
    meaning: str


def diagnosis_table(
    fitted: Sequence[Fitted], headline: Fitted, violations: Sequence[Violation], in_all: int | None
) -> pd.DataFrame:
    """Table `diagnosis`: every test of the fits on the headline's clock, and the verdict on the whole last.

    Parameters
    ----------
    fitted
        All fits of the collection.
    headline
        The one of them that speaks for it.
    violations
        Verdicts of the violation rule, as of `fitting.judge_violation`.
    in_all
        Elements that are in every crawl, None where no histories tell it.
    """
    clock, model = headline.fit.clock, headline.fit.model
    by_projection = {
        one.fit.projection: one
        for one in fitted
        if (one.fit.clock, one.fit.model, one.fit.form) == (clock, model, "exact")
    }
    rows = [_violation_row(violation) for violation in violations]
    bootstrap = by_projection["joint"].bootstrap
    if bootstrap is not None:
        if {"containment", "discovery_curve"} <= by_projection.keys():
            rows += _projection_rows(by_projection["containment"], by_projection["discovery_curve"], bootstrap)
        if in_all is not None and model == "core_shell":
            rows.append(_core_row(bootstrap, in_all))
        rows += _lack_of_fit_rows(bootstrap) + _increment_rows(bootstrap)
    frame = pd.DataFrame(rows, columns=list(_Row._fields))
    frame["clock"], frame["difference"] = clock, frame["observed"] - frame["expected"]
    rows_of_test = frame.groupby("test")["p_value"].transform("count")
    by_p_value = np.where(frame["p_value"] < LEVEL / rows_of_test.clip(lower=1), "fails", "holds")
    wide = (frame["test"] == "projections") & (frame["difference_high"] - frame["difference_low"] > _WIDEST)
    untested = frame["p_value"].isna() | (wide & (by_p_value == "holds"))
    frame["verdict"] = frame["verdict"].fillna(pd.Series(np.where(untested, "not_tested", by_p_value)))
    verdict = _verdict(headline, frame)
    whole = {"clock": clock, "test": "collection", "subject": "all tests"}
    frame.loc[len(frame)] = {**whole, "verdict": verdict.name, "meaning": verdict.meaning}
    return frame[list(DIAGNOSIS.column_names)]


def read_verdict(diagnosis: pd.DataFrame) -> Verdict:
    """Verdict on the whole from table `diagnosis`."""
    row = diagnosis[diagnosis["test"] == "collection"].iloc[0]
    return Verdict(row["verdict"], row["meaning"])


def _violation_row(violation: Violation) -> _Row:
    half = norm.ppf(0.975) * violation.se
    return _Row(
        "violation",
        violation.rule,
        observed=violation.difference,
        expected=0.0,
        difference_low=violation.difference - half,
        difference_high=violation.difference + half,
        p_value=float(norm.sf(violation.difference / violation.se)) if violation.se > 0 else np.nan,
        meaning=violation.reason,
        verdict={True: "fails", False: "holds", None: "not_tested"}[violation.violated],
    )


def _projection_rows(containment: Fitted, discovery: Fitted, bootstrap: Bootstrap) -> list[_Row]:
    """Compare the estimates from the two curves, whose replicates are the same."""
    rows = []
    for name in containment.fit.estimates:
        one, other = containment.fit.estimates[name], discovery.fit.estimates[name]
        if one is None or other is None:
            continue
        if all(is_all_core(side.fit.reason) for side in (containment, discovery)):
            meaning = "By either all elements belong to the core, so that there is no difference to test."
            rows.append(_Row("projections", name, one, other, np.nan, np.nan, np.nan, meaning))
            continue
        said = [
            f"{side.fit.projection} is {side.fit.status}: {side.fit.reason}"
            for side in (containment, discovery)
            if side.fit.status != "ok"
        ]
        if not all(np.isfinite(side.replicated.get(name, np.nan)).all() for side in (containment, discovery)):
            meaning = " ".join(["The error of an estimate is not known, so there is no test.", *said])
            rows.append(_Row("projections", name, one, other, np.nan, np.nan, np.nan, meaning))
            continue
        # If one urn holds, replicates of it differ like this, the bias of either fit and its ridge included.
        spread = containment.replicated[name] - discovery.replicated[name]
        interval = difference_interval(one - other, spread + one - other, freedom=bootstrap.freedom)
        low, high = (min(max(limit, -1.0), 1.0) for limit in interval)  # all of them are shares
        p_value = _two_sided(one - other - spread.mean(), float(np.std(spread, ddof=1)), bootstrap.freedom)
        meaning = " ".join([_meaning_of_difference(name, one - other), *said])
        rows.append(_Row("projections", name, one, other, low, high, p_value, meaning))
    return rows


def _meaning_of_difference(name: str, difference: float) -> str:
    if name != "coverage":
        return f"{SYMBOLS[name]} from containment is the {'higher' if difference > 0 else 'lower'}."
    if difference > 0:
        return (
            "c from containment is the higher: if the difference is real, elements usually differ in coverage, and "
            "containment sees those that are sampled often."
        )
    return "c from the discovery curve is the higher: if the difference is real, elements usually differ in survival."


def _core_row(bootstrap: Bootstrap, in_all: int) -> _Row:
    test = check_core(bootstrap, in_all)
    numbers = test.in_all, test.expected
    sd = abs((test.in_all - test.expected) / test.z) if test.z else np.nan
    freedom = len(bootstrap.fit.counts.times) - 1
    meaning = "An immortal core that is always sampled, and what is left of the shell, are in every crawl."
    row = _compared("core", "elements in every crawl", *numbers, sd=sd, freedom=freedom, meaning=meaning)
    return row._replace(p_value=test.p_value)


def _lack_of_fit_rows(bootstrap: Bootstrap) -> list[_Row]:
    """Mean standardised residuals; what cannot vary in the replicates is not tested."""
    found, freedom = lack_of_fit(bootstrap), bootstrap.freedom
    meaning = "Mean of {} residuals over their standard deviations in counting."
    return [
        _compared("lack_of_fit", f"{kind}, lag {lag}", mean, 0.0, sd=se, freedom=freedom, meaning=meaning.format(n))
        for kind, lag, mean, se, n in zip(*found, strict=True)
    ]


def _increment_rows(bootstrap: Bootstrap) -> list[_Row]:
    found, freedom = check_increments(bootstrap), bootstrap.freedom
    meaning = "Share of the crawl's elements that no earlier crawl holds."
    return [
        _compared("increments", f"crawl {position}", observed, expected, sd=se, freedom=freedom, meaning=meaning)
        for position, (observed, expected, se) in enumerate(zip(*found, strict=True), start=1)
        if np.isfinite(observed)
    ]


def _compared(
    test: str, subject: str, observed: float, expected: float, *, sd: float, freedom: float, meaning: str
) -> _Row:
    """Row of a difference that has a standard deviation if the urn holds, by Student's t."""
    difference, half = observed - expected, student_t.ppf(0.975, freedom) * sd
    p_value = _two_sided(difference, sd, freedom)
    return _Row(test, subject, observed, expected, difference - half, difference + half, p_value, meaning)


def _two_sided(difference: float, sd: float, freedom: float) -> float:
    return 2 * float(student_t.sf(abs(difference) / sd, freedom)) if sd > 0 else np.nan


def _verdict(headline: Fitted, tests: pd.DataFrame) -> Verdict:
    """Name the most serious of what was found."""
    status, reason = headline.fit.status, headline.fit.reason
    if status in WITHHELD:
        return Verdict(*_WITHHELD_VERDICTS[status])
    failed = tests[tests["verdict"] == "fails"].sort_values("p_value", kind="stable")
    if len(failed):
        return _failed(failed)
    if (tests.loc[tests["test"] == "violation", "verdict"] == "not_tested").all():
        return Verdict(
            "too_short", "There are too few crawls to tell whether an urn holds: take the numbers as provisional."
        )
    if status != "ok":
        return Verdict("not_identified", f"{reason} More crawls, or capture histories, would tell more.")
    return Verdict("sound", "One urn describes the collection: its numbers can be quoted with their intervals.")


def _failed(failed: pd.DataFrame) -> Verdict:
    """Verdict from the tests that failed, the surest first."""
    core_leaves = bool(((failed["test"] == "core") & (failed["difference"] < 0)).any())
    if (failed["test"] == "projections").any():
        return _uneven_shell(failed, core_leaves=core_leaves)
    if core_leaves:
        return Verdict("core_not_permanent", _CORE_LEAVES)
    worst = "; ".join(f"{row.test}, {row.subject}" for row in failed.head(3).itertuples())
    return Verdict("misfit", f"{_MISFIT} The worst: {worst}.")


def _uneven_shell(failed: pd.DataFrame, *, core_leaves: bool) -> Verdict:
    differ = failed[failed["test"] == "projections"].set_index("subject")["difference"]
    shown = ", ".join(f"{SYMBOLS[str(name)]} by {difference:+.3f}" for name, difference in differ.items())
    meaning = [
        f"Containment and discovery curve disagree ({shown}), so the shell is not of one kind. Quote mu rather than "
        "kappa, and look at model_comparison for an urn with two shells."
    ]
    meaning += [_meaning_of_difference("coverage", differ["coverage"])] if "coverage" in differ else []
    meaning += [_CORE_LEAVES] if core_leaves else []
    return Verdict("uneven_shell", " ".join(meaning))
