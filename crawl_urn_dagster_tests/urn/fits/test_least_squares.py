"""Test what the least-squares fits of all curves share: the search, its statuses, and mean curves."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import (
    CoreShellUrn,
    ReasonCode,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_discovery_core_shell,
)
from crawl_urn_dagster.urn.fits.least_squares import mean_by
from crawl_urn_dagster.urn.optimise import bounded_least_squares
from crawl_urn_dagster_tests.urn.fits.fitted_curves import T, mean_curve


def test_repeated_lags_count_once():
    fit = fit_containment_log_linear([1, 1, 2, 2], [0.5, 0.5, 0.4, 0.4], clock="year")
    assert fit.status == "too_few_points"
    assert fit.reason_codes == (ReasonCode.TOO_FEW_LAGS,)
    assert fit.reasons[0].values["found"] == 2
    assert "distinct lags and window lengths is 2;" in fit.reason


def test_search_cut_short_is_not_converged(monkeypatch):
    monkeypatch.setattr(bounded_least_squares, "_EVALUATIONS", 1)
    curve = CoreShellUrn(0.4, 0.75, 0.6).discovery_curve(T)
    fit = fit_discovery_core_shell(*mean_curve(curve), clock="crawl")
    assert fit.status == "not_converged"
    assert fit.reason_codes == (ReasonCode.NOT_CONVERGED,)
    assert fit.reasons[0].values == {"search": "least-squares"}
    assert "search did not converge" in fit.reason


def test_fit_minimises_squares_of_noisy_curve():
    rng = np.random.default_rng(11)
    truth = CoreShellUrn(0.3, 0.9, 0.4)
    observed = truth.discovery_curve(T) + 0.02 * rng.normal(size=T.size)
    fit = fit_discovery_core_shell(*mean_curve(observed), clock="crawl")
    best = np.array([fit.kappa, fit.alpha, fit.coverage])
    assert ((best > 0.001) & (best < 0.999)).all()
    cost = np.sum(fit.details.residuals**2)
    for move in 1e-4 * rng.normal(size=(200, 3)):
        other = CoreShellUrn(*(best + move)).discovery_curve(T)
        assert np.sum((observed - other) ** 2) > cost


def test_move_within_residuals_is_not_identified():
    lag = np.arange(1.0, 51.0)
    curve = CoreShellUrn(0.4, 0.75, 0.6).containment(lag)
    assert fit_containment_core_shell(lag, curve, form="exact", clock="crawl").status == "ok"
    missed = fit_containment_core_shell(lag, curve + 0.1 * np.sin(lag / 3), form="exact", clock="crawl")
    assert missed.status == "not_identified"
    assert ReasonCode.UNCHANGED_FIT in missed.reason_codes
    assert 0.01 < missed.reasons[0].values["moved"] <= missed.details.residual_rms
    assert "is not identified by the containment fit" in missed.reason


def test_mean_by_lag_returns_lags_means_and_counts():
    lags, means, counts = mean_by([2, 1, 2, 3, 1], [0.4, 0.9, 0.2, 0.1, 0.7])
    assert lags.tolist() == [1, 2, 3]
    assert means == pytest.approx([0.8, 0.3, 0.1])
    assert counts.tolist() == [2, 2, 1]
