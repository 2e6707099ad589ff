"""Check the assessment, the fits, and whether containment and the discovery curve agree.

Does not check whether parameters change over time; see `checks.drift`.
"""

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any, cast

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.formatting import UNKNOWN, state_p_value
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.asset_keys import numeric_metadata
from crawl_urn_dagster.orchestration.checks.results import ERROR, WARN, TableCheck, check_result, not_assessed
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.estimates.assessment.result import Assessment


def headline_check() -> TableCheck:
    """Return the check that blocks the figures of parameters if no number may be given."""
    return TableCheck(
        "headline",
        "headline_fit",
        "The assessment gives numbers. If the curves have no fit either, no figures of parameters are created.",
        _assessment_gives_numbers,
    )


def estimate_checks(collection: Collection) -> list[TableCheck]:
    """Return the checks of the collection's fits."""
    checks = [
        TableCheck(
            "quantities",
            "numbers_may_be_quoted",
            "The numbers of the collection may be quoted without a reservation.",
            _numbers_may_be_quoted,
        ),
        *_fit_checks(collection),
    ]
    if collection.stratum:
        checks.append(
            TableCheck(
                "stratum_verdicts",
                "strata_may_be_quoted",
                "The numbers of every stratum may be quoted, if only with a reservation.",
                _strata_may_be_quoted,
            )
        )
    if collection.has_containment and collection.has_discovery_curve:
        checks.append(
            TableCheck(
                "diagnosis",
                "projections_agree",
                "Containment and the discovery curve give the same parameters.",
                _projections_agree,
            )
        )
    return checks


def _assessment_gives_numbers(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.estimates.assessment.reading import state_assessment
    from crawl_urn_dagster.estimates.headline import read_headline

    assessment, curves = _read_assessment(home), read_headline(home.observables.read("parameters"))
    return check_result(
        passed=assessment.has_numbers,
        # Only an error blocks the figures, and those of a fit that tests refute show where it misses.
        severity=WARN if curves.is_reported else ERROR,
        observed=assessment.verdict.name.value,
        threshold="a verdict with numbers",
        reason=state_assessment(assessment),
        todo="Check the failed tests and the figures of the observables.",
        model=assessment.model or "none",
    )


def _numbers_may_be_quoted(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.estimates.assessment.verdicts import Quotable

    verdict = _read_assessment(home).verdict
    return check_result(
        passed=verdict.quotable is Quotable.YES,
        severity=WARN,
        observed=verdict.quotable.value,
        threshold=Quotable.YES.value,
        reason=f"Verdict {verdict.name}: {verdict.meaning}",
        todo="Quote no number without this reservation."
        if verdict.quotable is Quotable.WITH_RESERVATION
        else "Quote no number of this collection.",
        cause=verdict.name.value,
    )


def _strata_may_be_quoted(home: CollectionHome) -> dg.AssetCheckResult:
    from crawl_urn_dagster.estimates.assessment.verdicts import Quotable
    from crawl_urn_dagster.formatting import count_noun

    table = home.observables.read("stratum_verdicts")
    withheld = table[table["quotable"] == Quotable.NO.value]
    names = ", ".join(f"{row.stratum} ({row.verdict})" for row in withheld.itertuples())
    return check_result(
        passed=withheld.empty,
        severity=WARN,
        observed=len(withheld),
        threshold=0,
        reason=f"{count_noun(len(withheld), 'stratum', 'strata')} of {len(table)} may not be quoted"
        f"{f': {names}' if names else ''}.",
        todo="Quote no number of these strata; column meaning of table stratum_verdicts states why.",
        verdicts=", ".join(f"{verdict} {n}" for verdict, n in table["verdict"].value_counts().items()),
    )


def _read_assessment(home: CollectionHome) -> "Assessment":
    from crawl_urn_dagster.estimates.assessment.reading import read_assessment

    return read_assessment(home.observables.read_all(ASSESSMENT_TABLES))


def _projections_agree(home: CollectionHome) -> dg.AssetCheckResult:
    table = home.observables.read("diagnosis")
    rows = table[(table["test"] == "projections") & (table["verdict"] != "not_tested")]
    if rows.empty:
        return not_assessed("Not assessed: no parameter is estimated precisely enough from both curves.")
    fails = rows[rows["verdict"] == "fails"]
    worst = cast("dict[str, Any]", rows.sort_values("p_value").iloc[0].to_dict())
    return check_result(
        passed=fails.empty,
        severity=WARN,
        observed=float(worst["p_value"]),
        threshold="0.01, the probability that any of the parameters differs by this much by chance",
        reason=f"{worst['subject']} is {worst['observed']:.3f} in the containment fit and {worst['expected']:.3f} in "
        f"the discovery-curve fit (difference {_signed(worst['difference'])}, 95 % CI "
        f"{_signed(worst['difference_low'])} to {_signed(worst['difference_high'])}, "
        f"{state_p_value(worst['p_value'])}).",
        todo=str(worst["meaning"]),
        differing=", ".join(fails["subject"]),
    )


def _signed(value: float) -> str:
    return UNKNOWN if isnan(value) else f"{value:+.3f}"


def _fit_checks(collection: Collection) -> Iterator[TableCheck]:
    from crawl_urn_dagster.estimates.fits import primary_fits

    for definition in primary_fits(collection.fitted_observables, collection.fits):
        for clock in definition.clocks:
            yield _fit_check(definition.check_name(clock), (*definition.name, clock))


def _fit_check(name: str, fit: tuple[str, str, str, str]) -> TableCheck:
    projection, model, form, clock = fit

    def evaluate(home: CollectionHome) -> dg.AssetCheckResult:
        table = home.observables.read("parameters")
        whole = table[table["stratum"].isna()]
        is_this_fit = (whole[["projection", "model", "form", "clock"]] == list(fit)).all(axis=1)
        return _fit_is_ok(whole[is_this_fit].iloc[-1])

    return TableCheck(
        "parameters", name, f"The {model} fit to {projection} ({form} form, per {clock}) is ok.", evaluate
    )


def _fit_is_ok(row: "pd.Series") -> dg.AssetCheckResult:
    from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, Reason, ReasonCode, Status
    from crawl_urn_dagster.urn.results.reasons import explain

    has_reservation = isinstance(row["reason_code"], str)
    observed = "ok with reservation" if row["status"] == "ok" and has_reservation else str(row["status"])
    # A model that the tests refute fails this check only if it is the selected fit.
    passed = observed == "ok" or (observed == Status.REFUTED and not row["headline"])
    if row["status"] in UNREPORTED_STATUSES:
        todo = "No numbers of this fit are reported."
    elif row["status"] == Status.REFUTED:
        todo = "Draw no conclusion from its numbers."
    elif row["status"] in NO_POINT_ESTIMATE_STATUSES:
        todo = "Only confidence intervals of this fit are reported."
    else:
        todo = "Use its numbers with this reservation."
    # Refuted fits have one text, whatever else qualifies them, so a summary of all checks states it once.
    why = explain([Reason(ReasonCode.REFUTED)]) if observed == Status.REFUTED else row["reason"]
    return check_result(
        passed=passed,
        severity=WARN,
        observed=observed,
        threshold="ok",
        reason="The fit is ok." if observed == "ok" else f"{observed}: {str(why).rstrip('.')}.",
        todo=f"{todo} {'' if row['headline'] else 'This fit is not the selected fit.'}".rstrip(),
        selected=bool(row["headline"]),
        **numeric_metadata(residual_rms=row["residual_rms"]),
    )
