"""Test the fits to containment; the tests of what the fits of all curves share are in `test_least_squares`."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CoreShellUrn, ReasonCode, Urn, fit_containment_core_shell, fit_containment_log_linear
from crawl_urn_dagster_tests.urn.fits.fitted_curves import (
    CLOSE,
    CORE_SHELL,
    ELAPSED,
    HOMOGENEOUS,
    T,
    assert_complete,
    assert_homogeneous_suffices,
    assert_too_few,
    assert_unchanged,
    estimates,
)


@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_log_linear_recovers_homogeneous_urn(alpha, coverage):
    fit = fit_containment_log_linear(T, Urn(alpha, coverage).containment(T), clock="crawl")
    assert_complete(fit, ("containment", "homogeneous", "exact", "crawl"), 50)
    assert estimates(fit) == (None, None, pytest.approx(alpha, **CLOSE), pytest.approx(coverage, **CLOSE))
    fit = fit_containment_log_linear(ELAPSED, Urn(alpha**8, coverage).containment(ELAPSED), clock="year")
    assert_complete(fit, ("containment", "homogeneous", "exact", "year"), 1275)
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha**8, coverage), **CLOSE)
    assert fit.status == "ok"


@pytest.mark.parametrize("form", ["exact", "paper"])
@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_containment_recovers_core_and_shell_in_its_form(kappa, alpha, coverage, form):
    truth = CoreShellUrn(kappa, alpha, coverage)
    core_share = float(truth.core_share)
    fit = fit_containment_core_shell(T, truth.containment(T), form=form, clock="crawl")
    assert_complete(fit, ("containment", "core_shell", form, "crawl"), 50)
    expected_kappa = kappa if form == "exact" else core_share
    assert estimates(fit) == pytest.approx((expected_kappa, core_share, alpha, coverage), **CLOSE)

    yearly = CoreShellUrn(kappa, alpha**8, coverage).containment(ELAPSED)
    fit = fit_containment_core_shell(ELAPSED, yearly, form=form, clock="year")
    assert_complete(fit, ("containment", "core_shell", form, "year"), 1275)
    assert estimates(fit) == pytest.approx((expected_kappa, core_share, alpha**8, coverage), **CLOSE)


@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_containment_without_core_has_kappa_at_bound(alpha, coverage):
    urn, yearly = Urn(alpha, coverage), Urn(alpha**8, coverage)
    for fit in [
        fit_containment_core_shell(T, urn.containment(T), form="exact", clock="crawl"),
        fit_containment_core_shell(ELAPSED, yearly.containment(ELAPSED), form="paper", clock="year"),
    ]:
        assert_homogeneous_suffices(fit, alpha, coverage)


def test_containment_identifies_floor_unless_churn_is_slow():
    def fit(alpha):
        g = CoreShellUrn(0.4, alpha, 0.6).containment(T)
        return fit_containment_core_shell(T, g, form="exact", clock="crawl")

    assert fit(0.75).status == "ok"
    slow = fit(0.995)
    assert slow.status == "not_identified"
    assert slow.core_share == pytest.approx(0.526, abs=5e-4)
    assert_unchanged(slow.reasons[0], parameter="core_share", fit="containment")
    assert slow.reason.startswith("Parameter core_share is not identified by the containment fit: changing it by 0.1")


def test_log_linear_outside_unit_interval_is_not_identified():
    fit = fit_containment_log_linear(T, 1.2 * 0.9**T, clock="crawl")
    assert (fit.alpha, fit.coverage) == pytest.approx((0.9, 1.2))
    assert fit.status == "not_identified"
    assert fit.reason_codes == (ReasonCode.OUTSIDE_UNIT_INTERVAL,)
    assert fit.reasons[0].values == {"alpha": fit.alpha, "coverage": fit.coverage}
    assert fit.reason == "The line implies alpha 0.9 and coverage 1.2; an urn has both between 0 and 1."


@pytest.mark.parametrize("n_points", [0, 1, 2, 3, 4, 5])
def test_containment_of_too_few_lags_has_no_estimates(n_points):
    t = np.arange(1, n_points + 1)
    g = CoreShellUrn(0.4, 0.75, 0.6).containment(t)
    assert_too_few(fit_containment_log_linear(t, g, clock="crawl"), n_points, n_parameters=2)
    assert_too_few(fit_containment_core_shell(t, g, form="exact", clock="crawl"), n_points, n_parameters=3)


def test_containment_leaves_out_lag_0_and_empty_overlaps():
    lags = np.arange(12)
    g = Urn(0.8, 0.5).containment(lags)
    fit = fit_containment_core_shell(lags, g, form="exact", clock="crawl")
    assert fit.details.abscissa.tolist() == list(range(1, 12))
    g[[3, 7]] = [0, -0.01]
    fit = fit_containment_log_linear(lags, g, clock="crawl")
    assert fit.details.abscissa.tolist() == [1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert (fit.alpha, fit.coverage) == pytest.approx((0.8, 0.5), **CLOSE)


def test_containment_fits_negative_sketched_values_as_given():
    g = CoreShellUrn(0.0, 0.5, 0.6).containment(T)
    g[20:] -= 0.001
    fit = fit_containment_core_shell(T, g, form="exact", clock="crawl")
    np.testing.assert_array_equal(fit.details.observed, g)


@pytest.mark.parametrize("gap_in_years", [1 / 52, 1 / 365.25, 3.0])
def test_containment_is_fitted_in_years_at_any_cadence(gap_in_years):
    start, end = np.triu_indices(30, k=1)
    g = CoreShellUrn(0.4, 0.7, 0.5).containment(end - start)
    fit = fit_containment_core_shell((end - start) * gap_in_years, g, form="exact", clock="year")
    assert (fit.kappa, fit.coverage) == pytest.approx((0.4, 0.5), abs=1e-6)
    assert fit.alpha == pytest.approx(0.7 ** (1 / gap_in_years), rel=1e-4)


def test_containment_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="containment 2 is nan; expected finite numbers"):
        fit_containment_log_linear([1, 2, 3], [0.5, 0.4, np.nan], clock="crawl")
