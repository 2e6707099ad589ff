"""Test what every fit returns: its statuses, intervals, text and details."""

from dataclasses import replace

import numpy as np
import pytest

from crawl_urn_dagster.urn import (
    NO_POINT_ESTIMATE_STATUSES,
    UNREPORTED_STATUSES,
    CoreShellUrn,
    FitKind,
    FitResult,
    Interval,
    Reason,
    ReasonCode,
    Status,
    Urn,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_curves,
    fit_discovery_core_shell,
    fit_histories,
    invert_discovery_tail,
    simulate,
)
from crawl_urn_dagster.urn.fits.batched import fit_containment_batch
from crawl_urn_dagster.urn.optimise import bounded_least_squares
from crawl_urn_dagster.urn.results.reasons import at_bound
from crawl_urn_dagster.urn.results.result import LeastSquaresDetails, no_fit
from crawl_urn_dagster_tests.urn.fits.fitted_curves import T, mean_curve

KIND = FitKind("containment", "core_shell", "exact", "crawl")
DETAILS = LeastSquaresDetails(
    abscissa=np.array([1.0, 2.0]),
    observed=np.array([0.7, 0.5]),
    fitted=np.array([0.6, 0.6]),
    response=np.array([[1.0, 0.0], [0.5, -0.5]]),
    response_names=("kappa", "alpha"),
)
# κ has no interval.
FIT = FitResult(
    kind=KIND,
    estimates={"kappa": 0.4123, "alpha": 0.8456},
    intervals={"alpha": Interval(0.79, 0.8912)},
    status=Status.OK,
    details=DETAILS,
)
NO_COUNTS = Reason(ReasonCode.NO_COUNTS)


def test_statuses_are_in_order_of_precedence():
    assert [status.value for status in Status] == [
        "model_violation",
        "too_few_points",
        "not_converged",
        "refuted",
        "at_bound",
        "not_identified",
        "qualified",
        "ok",
    ]


@pytest.mark.parametrize("status", Status)
def test_status_compares_and_hashes_like_its_text(status):
    assert status == status.value == str(status)
    assert Status(status.value) is status
    assert {status: 1}[status.value] == {status.value: 1}[status] == 1
    assert status.value in set(Status)


def test_unknown_status_is_refused():
    with pytest.raises(ValueError, match="is not a valid Status"):
        Status("open")


def test_statuses_without_estimates_precede_those_with_them():
    order = list(Status)
    assert order[: len(UNREPORTED_STATUSES)] == list(UNREPORTED_STATUSES)
    assert set(NO_POINT_ESTIMATE_STATUSES) == {*UNREPORTED_STATUSES, Status.NOT_IDENTIFIED}


def test_fits_return_every_status_as_a_member(monkeypatch):
    g, none = CoreShellUrn(0.4, 0.75, 0.6).containment(T), Urn(0.9, 0.5)
    slow = CoreShellUrn(0.4, 0.995, 0.6).containment(T)
    exact = {"form": "exact", "clock": "crawl"}
    few = simulate(times=np.arange(3), core=300, shell=700, alpha=0.85, coverage=0.5, seed=1).counts()
    found = {
        Status.OK: [fit_containment_core_shell(T, g, **exact), fit_curves("core_shell", lag=T, containment=g)],
        Status.AT_BOUND: [
            fit_containment_core_shell(T, none.containment(T), **exact),
            fit_curves("core_shell", lag=T, containment=none.containment(T)),
        ],
        Status.NOT_IDENTIFIED: [
            fit_containment_core_shell(T, slow, **exact),
            fit_containment_log_linear(T, 1.2 * 0.9**T, clock="crawl"),
            invert_discovery_tail(T, T + 1.0),
        ],
        Status.TOO_FEW_POINTS: [
            fit_containment_core_shell([1, 2], [0.5, 0.4], **exact),
            fit_curves("beta_shell", lag=[1, 2], containment=[0.5, 0.4]),
            fit_histories(few, np.arange(3), model="core_two_shells"),
            no_fit(KIND, NO_COUNTS),
        ],
    }
    monkeypatch.setattr(bounded_least_squares, "_EVALUATIONS", 1)
    curve = CoreShellUrn(0.4, 0.75, 0.6).discovery_curve(T)
    found[Status.NOT_CONVERGED] = [fit_discovery_core_shell(*mean_curve(curve), clock="crawl")]
    # Tests of the collection, not fits, give the other statuses.
    assert set(found) == set(Status) - {Status.MODEL_VIOLATION, Status.REFUTED, Status.QUALIFIED}
    for status, fits in found.items():
        assert all(fit.status is status for fit in fits), status
    batched = fit_containment_batch(T, np.stack([g, none.containment(T)]), model="core_shell")
    assert [Status(status) for status in batched.status] == [Status.OK, Status.AT_BOUND]


@pytest.mark.parametrize(
    ("low", "high", "is_uninformative"),
    [(0.0, 1.0, True), (0.02, 0.93, True), (0.0, 0.9, False), (0.1, 0.9, False), (0.4, 0.4, False)],
)
def test_interval_wider_than_0_9_is_uninformative(low, high, is_uninformative):
    assert Interval(low, high).is_uninformative is is_uninformative


def test_kind_names_the_form_of_core_and_shell_only():
    assert str(KIND) == "core_shell containment, exact form, per crawl"
    assert str(FitKind("joint", "homogeneous", "exact", "year")) == "homogeneous joint, per year"


def test_summary_of_ok_fit_has_estimates_and_intervals():
    assert FIT.summary().splitlines() == [
        "core_shell containment, exact form, per crawl",
        "kappa = 0.412",
        "alpha = 0.846 (95 % CI 0.790 to 0.891)",
        "status: ok",
    ]


def test_summary_of_unidentified_fit_has_intervals_only():
    fit = replace(FIT, status=Status.NOT_IDENTIFIED, reasons=(NO_COUNTS,))
    assert fit.summary().splitlines() == [
        "core_shell containment, exact form, per crawl",
        "alpha: not identified (95 % CI 0.790 to 0.891)",
        f"status: not_identified. {fit.reason}",
    ]


@pytest.mark.parametrize("status", UNREPORTED_STATUSES)
def test_summary_of_unreported_fit_has_no_numbers(status):
    fit = replace(FIT, status=status, reasons=(NO_COUNTS,))
    assert fit.summary().splitlines() == [
        "core_shell containment, exact form, per crawl",
        f"status: {status.value}. {fit.reason}",
    ]
    assert not fit.is_reported


@pytest.mark.parametrize("status", Status)
def test_repr_has_estimates_unless_not_reported(status):
    shown = "" if status in NO_POINT_ESTIMATE_STATUSES else ", kappa=0.412, alpha=0.846"
    expected = f"<FitResult core_shell containment, exact form, per crawl: {status.value}{shown}>"
    assert repr(replace(FIT, status=status)) == str(replace(FIT, status=status)) == expected


def test_reasons_give_codes_sentences_and_all_core():
    assert (FIT.reason_codes, FIT.reason, FIT.is_all_core) == ((), None, False)
    fit = FIT.with_reasons(at_bound("kappa", 1, part="shell"), status=Status.AT_BOUND).with_reasons(NO_COUNTS)
    assert fit.status is Status.AT_BOUND
    assert fit.reason_codes == (ReasonCode.ALL_CORE, ReasonCode.NO_COUNTS)
    assert fit.reason.startswith("Parameter kappa is at its bound 1: all elements belong to the core. The joint fit")
    assert fit.is_all_core
    assert FIT.reasons == ()


def test_parameters_without_estimate_are_none():
    assert (FIT.kappa, FIT.core_share, FIT.alpha, FIT.coverage) == (0.4123, None, 0.8456, None)


def test_details_give_residuals_and_their_rms():
    assert DETAILS.n_points == 2
    assert DETAILS.residuals == pytest.approx([0.1, -0.1])
    assert DETAILS.residual_rms == pytest.approx(0.1)
    assert replace(DETAILS, fitted=np.full(2, np.nan)).residual_rms is None


def test_linear_refits_move_estimates_by_the_response():
    refits = DETAILS.linear_refits({"kappa": 0.4}, np.array([[0.7, 0.5], [0.8, 0.5]]))
    assert set(refits) == {"kappa"}
    assert refits["kappa"] == pytest.approx([0.4, 0.5])
    refits = DETAILS.linear_refits(FIT.estimates, np.array([[0.7, 0.4]]))
    assert refits["alpha"] == pytest.approx([0.8456 + 0.05])


def test_fit_without_data_has_no_points_and_its_reason():
    fit = no_fit(KIND, NO_COUNTS)
    assert (fit.kind, fit.status, fit.estimates, fit.reasons) == (KIND, "too_few_points", {}, (NO_COUNTS,))
    assert (fit.details.n_points, fit.details.residual_rms) == (0, None)
    assert fit.details.linear_refits({}, np.empty((3, 0))) == {}
