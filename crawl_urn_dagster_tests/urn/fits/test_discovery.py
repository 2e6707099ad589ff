"""Test the fits to the discovery curve, its tail and its increments."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import (
    CoreShellUrn,
    ReasonCode,
    Urn,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    fit_discovery_increments,
    invert_discovery_tail,
)
from crawl_urn_dagster_tests.urn.fits.fitted_curves import (
    CLOSE,
    CORE_SHELL,
    HOMOGENEOUS,
    T,
    assert_complete,
    assert_homogeneous_suffices,
    assert_too_few,
    assert_unchanged,
    estimates,
    mean_curve,
    windows,
)


@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_discovery_recovers_homogeneous_urn(alpha, coverage):
    fit = fit_discovery_homogeneous(*mean_curve(Urn(alpha, coverage).discovery_curve(T)), clock="crawl")
    assert_complete(fit, ("discovery_curve", "homogeneous", "exact", "crawl"), 50)
    assert estimates(fit) == (None, None, pytest.approx(alpha, **CLOSE), pytest.approx(coverage, **CLOSE))
    assert fit.status == "ok"
    fit = fit_discovery_homogeneous(*windows(Urn(alpha**8, coverage)), clock="year")
    assert_complete(fit, ("discovery_curve", "homogeneous", "exact", "year"), 1275)
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha**8, coverage), **CLOSE)
    assert fit.status == "ok"


@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_discovery_recovers_core_and_shell(kappa, alpha, coverage):
    truth = CoreShellUrn(kappa, alpha, coverage)
    fit = fit_discovery_core_shell(*mean_curve(truth.discovery_curve(T)), clock="crawl")
    assert_complete(fit, ("discovery_curve", "core_shell", "exact", "crawl"), 50)
    assert estimates(fit) == pytest.approx((kappa, float(truth.core_share), alpha, coverage), abs=1e-6)

    yearly = CoreShellUrn(kappa, alpha**8, coverage)
    fit = fit_discovery_core_shell(*windows(yearly), clock="year")
    assert_complete(fit, ("discovery_curve", "core_shell", "exact", "year"), 1275)
    assert estimates(fit) == pytest.approx((kappa, float(truth.core_share), alpha**8, coverage), abs=1e-6)


@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_increments_recover_core_and_shell(kappa, alpha, coverage):
    truth = CoreShellUrn(kappa, alpha, coverage)
    fit = fit_discovery_increments(T, truth.discovery_curve(T))
    assert_complete(fit, ("discovery_increments", "core_shell", "exact", "crawl"), 50)
    np.testing.assert_allclose(fit.details.observed, truth.new_fraction(T), atol=1e-12)
    assert estimates(fit) == pytest.approx((kappa, float(truth.core_share), alpha, coverage), abs=1e-6)


def test_increments_skip_unpublished_window_lengths():
    t = np.array([5, 1, 2, 3, 8, 9, 10])
    truth = CoreShellUrn(0.4, 0.75, 0.6)
    fit = fit_discovery_increments(t, truth.discovery_curve(t))
    assert fit.details.abscissa.tolist() == [1, 2, 3, 9, 10]
    assert fit.details.observed == pytest.approx(truth.new_fraction(fit.details.abscissa), abs=1e-12)


@pytest.mark.parametrize(("alpha", "coverage"), [(0.75, 0.6), (0.4, 0.9), (0.9, 0.5)])
def test_tail_recovers_settled_homogeneous_urn(alpha, coverage):
    fit = invert_discovery_tail(T, Urn(alpha, coverage).discovery_curve(T))
    assert_complete(fit, ("discovery_tail", "homogeneous", "exact", "crawl"), 25)
    assert fit.details.abscissa[0] == 26
    # The transient at t = 26 is rho_inf tau_h (alpha (1 - c))^26.
    transient = (alpha * (1 - coverage)) ** 26
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha, coverage), abs=10 * transient + 1e-9)
    assert fit.status == "ok"


def test_tail_of_odd_number_of_lengths_is_larger_half():
    t = np.arange(12)
    fit = invert_discovery_tail(t, Urn(0.8, 0.5).discovery_curve(t))
    assert fit.details.abscissa.tolist() == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_discovery_without_core_has_kappa_at_bound(alpha, coverage):
    curve = Urn(alpha, coverage).discovery_curve(T)
    for fit in [
        fit_discovery_core_shell(*mean_curve(curve), clock="crawl"),
        fit_discovery_core_shell(*windows(Urn(alpha**8, coverage)), clock="year"),
        fit_discovery_increments(T, curve),
    ]:
        assert_homogeneous_suffices(fit, alpha, coverage)


@pytest.mark.parametrize(
    ("urn", "at", "code", "sentence"),
    [
        (
            CoreShellUrn(0.3, 1, 0.3),
            {"alpha": 1},
            ReasonCode.NO_LOSSES,
            "alpha is at its bound 1: no element leaves the shell",
        ),
        (
            CoreShellUrn(0.3, 0.8, 1),
            {"coverage": 1},
            ReasonCode.FULL_COVERAGE,
            "coverage is at its bound 1: every crawl captures the whole shell",
        ),
        (
            CoreShellUrn(1, 0.8, 0.3),
            {"kappa": 1},
            ReasonCode.ALL_CORE,
            "kappa is at its bound 1: all elements belong to the core",
        ),
        (
            CoreShellUrn(0, 0, 0.3),
            {"kappa": 0, "alpha": 0},
            ReasonCode.NO_SURVIVAL,
            "alpha is at its bound 0: no element survives",
        ),
    ],
)
def test_truth_at_bound_is_fitted_at_bound(urn, at, code, sentence):
    fit = fit_discovery_core_shell(*mean_curve(urn.discovery_curve(T)), clock="crawl")
    assert fit.status == "at_bound"
    assert code in fit.reason_codes
    assert sentence in fit.reason
    assert fit.is_all_core == (code == ReasonCode.ALL_CORE)
    assert {name: fit.estimates[name] for name in at} == at
    np.testing.assert_allclose(fit.details.fitted, fit.details.observed, atol=1e-9)


def test_homogeneous_fit_at_bound_names_the_urn():
    fit = fit_discovery_homogeneous(*mean_curve(Urn(1, 0.3).discovery_curve(T)), clock="crawl")
    assert (fit.status, fit.alpha) == ("at_bound", 1)
    assert fit.reason_codes == (ReasonCode.NO_LOSSES,)
    assert fit.reason == "Parameter alpha is at its bound 1: no element leaves the urn within the window."
    assert fit.coverage == pytest.approx(0.3, **CLOSE)


def test_fit_at_bound_also_names_unidentified_kappa():
    # At coverage 1 the curve is 1 + (1 - mu)(1 - alpha) t, which determines only a product of kappa and alpha.
    fit = fit_discovery_core_shell(*mean_curve(CoreShellUrn(0.3, 0.8, 1).discovery_curve(T)), clock="crawl")
    assert fit.status == "at_bound"
    assert fit.reason_codes == (ReasonCode.FULL_COVERAGE, ReasonCode.UNCHANGED_FIT)
    assert fit.reasons[1].values["parameter"] == "kappa"
    assert "Parameter kappa is not identified" in fit.reason


@pytest.mark.parametrize("crawls", [12, 51])
def test_discovery_curve_does_not_identify_kappa(crawls):
    t = np.arange(1, crawls)
    fit = fit_discovery_core_shell(*mean_curve(CoreShellUrn(0.4, 0.75, 0.6).discovery_curve(t), t), clock="crawl")
    assert fit.status == "not_identified"
    assert fit.kappa == pytest.approx(0.4, abs=5e-4)
    assert_unchanged(fit.reasons[0], parameter="kappa", fit="discovery_curve")
    assert fit.reason.startswith("Parameter kappa is not identified by the discovery_curve fit: changing it by 0.1")


def test_tail_outside_unit_interval_is_not_identified():
    fit = invert_discovery_tail(T, 0.9 + 0.2 * T)
    assert fit.status == "not_identified"
    assert fit.reason_codes == (ReasonCode.OUTSIDE_UNIT_INTERVAL,)
    # rho_inf = 0.8 and tau_h = -0.1/0.8
    assert (fit.alpha, fit.coverage) == pytest.approx((0.675 / 0.875, 0.8 / 0.675))


def test_tail_without_recaptures_has_no_estimates():
    fit = invert_discovery_tail(T, T + 1.0)
    assert estimates(fit) == (None, None, None, None)
    assert fit.status == "not_identified"
    assert fit.reason_codes == (ReasonCode.NOTHING_RECAPTURED,)
    assert "no element is recaptured" in fit.reason
    np.testing.assert_allclose(fit.details.fitted, fit.details.observed)


@pytest.mark.parametrize("n_points", [0, 1, 2, 3, 4, 5])
def test_discovery_of_too_few_lengths_has_no_estimates(n_points):
    t = np.arange(1, n_points + 1)
    urn = CoreShellUrn(0.4, 0.75, 0.6)
    curve = mean_curve(urn.discovery_curve(t), t) if n_points else ([0.0], [], [], [])
    assert_too_few(fit_discovery_homogeneous(*curve, clock="crawl"), n_points, n_parameters=2)
    assert_too_few(fit_discovery_core_shell(*curve, clock="crawl"), n_points, n_parameters=3)
    assert_too_few(fit_discovery_increments(t, curve[3]), n_points, n_parameters=3)
    # The tail has half of the points, rounded up.
    assert_too_few(invert_discovery_tail(t, curve[3]), (n_points + 1) // 2, n_parameters=2)


def test_discovery_leaves_out_windows_of_one_crawl():
    ends = np.append(0, T)
    fit = fit_discovery_homogeneous(*mean_curve(Urn(0.8, 0.5).discovery_curve(ends), ends), clock="crawl")
    assert fit.details.abscissa.tolist() == T.tolist()


@pytest.mark.parametrize("gap_in_years", [1 / 52, 1 / 365.25, 3.0])
def test_discovery_is_fitted_in_years_at_any_cadence(gap_in_years):
    times = np.arange(30) * gap_in_years
    start, end = np.triu_indices(30, k=1)
    ratio = CoreShellUrn(0.4, 0.7, 0.5).discovery_curve(end - start)
    fit = fit_discovery_core_shell(times, start, end, ratio, clock="year")
    assert (fit.kappa, fit.coverage) == pytest.approx((0.4, 0.5), abs=1e-6)
    assert fit.alpha == pytest.approx(0.7 ** (1 / gap_in_years), rel=1e-4)


def test_discovery_ratio_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="ratio 1 is inf"):
        fit_discovery_homogeneous([0, 1, 2], [0, 0], [1, 2], [1.5, np.inf], clock="crawl")
