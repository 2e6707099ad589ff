"""Noiseless curves on both clocks, and what the tests of their fits share."""

import numpy as np
import pytest

CRAWLS = 51
T = np.arange(1, CRAWLS)
YEARS = np.cumsum(np.append(0, np.random.default_rng(7).uniform(21, 120, CRAWLS - 1))) / 365.25
START, END = np.triu_indices(CRAWLS, k=1)
ELAPSED = YEARS[END] - YEARS[START]
# kappa, alpha (per crawl, and per year as its 8th power), coverage
CORE_SHELL = [(0.4, 0.75, 0.6), (0.06, 0.62, 0.51), (0.2, 0.93, 0.3), (0.6, 0.85, 0.9)]
HOMOGENEOUS = [(0.9, 0.5), (0.75, 0.6), (0.97, 0.11), (0.4, 0.9)]
CLOSE = {"abs": 1e-7}


def mean_curve(ratio, t=T):
    """Return the arguments of a discovery fit per crawl."""
    return np.arange(t.max() + 1), np.zeros_like(t), t, ratio


def windows(urn):
    """Return the arguments of a discovery fit per year: every window with its own gaps."""
    ratio = np.concatenate([urn.discovery_curve_at(YEARS[start:])[1:] for start in range(CRAWLS - 1)])
    return YEARS, START, END, ratio


def estimates(fit):
    """Return κ, μ, α and c; None when not estimated."""
    return fit.kappa, fit.core_share, fit.alpha, fit.coverage


def assert_complete(fit, kind, n_points):
    """Assert the kind of a fit, the number of its points and that its parts agree."""
    details = fit.details
    assert fit.kind == kind
    assert details.n_points == n_points == len(details.abscissa) == len(details.observed) == len(details.fitted)
    assert details.residual_rms == pytest.approx(np.sqrt(np.mean(details.residuals**2)))
    assert (fit.reason is None) == (fit.status == "ok")


def assert_too_few(fit, n_used, n_parameters):
    """Assert that a fit has an estimate if and only if its lags exceed its parameters."""
    assert fit.details.n_points == n_used
    if n_used > n_parameters:
        assert fit.status != "too_few_points"
        return
    assert fit.status == "too_few_points"
    assert fit.reason_codes == ("too_few_lags",)
    assert fit.reasons[0].values == {"found": n_used, "n_parameters": n_parameters, "needed": n_parameters + 1}
    assert f"distinct lags and window lengths is {n_used};" in fit.reason
    assert f"{n_parameters} parameters need at least {n_parameters + 1}" in fit.reason
    assert (*estimates(fit), fit.details.residual_rms) == (None,) * 5
    assert np.isnan(fit.details.fitted).all()


def assert_homogeneous_suffices(fit, alpha, coverage):
    """Assert that a core-shell fit found no core, and the survival per crawl of the homogeneous urn."""
    survival = alpha if fit.kind.clock == "crawl" else alpha**8
    assert (fit.kappa, fit.core_share) == (0, 0)
    assert (fit.alpha, fit.coverage) == pytest.approx((survival, coverage), **CLOSE)
    assert fit.status == "at_bound"
    assert fit.reason_codes == ("no_core_needed",)
    assert fit.reason == "Parameter kappa is at its bound 0: the homogeneous urn suffices."


def assert_unchanged(reason, parameter, fit):
    """Assert that a reason names the parameter whose move by 0.1 hardly moves the fitted points."""
    assert reason.code == "unchanged_fit"
    assert {name: reason.values[name] for name in ("parameter", "fit", "change")} == {
        "parameter": parameter,
        "fit": fit,
        "change": 0.1,
    }
    assert 0 < reason.values["moved"] <= 0.01
