"""Maximum likelihood of probabilities: against binomial estimates, at bounds, and along flat directions."""

import numpy as np
import pytest
from scipy.special import xlog1py, xlogy

from crawl_urn_dagster.urn import FitKind, Reason, ReasonCode
from crawl_urn_dagster.urn.data.normal_intervals import logit_interval
from crawl_urn_dagster.urn.optimise.maximum_likelihood import (
    as_not_identified,
    fit_at,
    maximise,
    nothing_estimated,
)
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import ends, in_order

TRIALS = np.array([40.0, 100.0])
NAMES = ("first", "second")
KIND = FitKind("recaptures", "binomial", "exact", "crawl")


def binomial(successes):
    """Return the log-likelihood of independent binomial counts, with its gradient."""

    def log_likelihood(p):
        value = xlogy(successes, p) + xlog1py(TRIALS - successes, -p)
        return float(value.sum()), successes / p - (TRIALS - successes) / (1 - p)

    return log_likelihood


def estimated(log_likelihood, powers=(1.0, 1.0)):
    n = int(TRIALS.sum())
    best = maximise(log_likelihood, [np.array([0.3, 0.8]), np.array([0.9, 0.1])], n)
    return fit_at(log_likelihood, best, kind=KIND, parameters=NAMES, sample_size=n, powers=np.array(powers))


def test_binomial_estimates_and_standard_errors():
    p = np.array([0.25, 0.7])
    found = estimated(binomial(TRIALS * p))
    assert (found.kind, found.status, found.reasons) == (KIND, "ok", ())
    assert (found.details.n_parameters, found.details.parameters) == (2, NAMES)
    np.testing.assert_allclose(in_order(found), p, rtol=1e-8)
    np.testing.assert_allclose(in_order(found, "standard_errors"), np.sqrt(p * (1 - p) / TRIALS), rtol=1e-6)
    np.testing.assert_allclose(ends(found), logit_interval(in_order(found), in_order(found, "standard_errors")))
    assert found.details.minus_two_log_likelihood == pytest.approx(-2 * binomial(TRIALS * p)(p)[0])
    assert found.details.aicc == pytest.approx(found.details.minus_two_log_likelihood + 4 + 12 / (TRIALS.sum() - 3))


def test_powers_change_the_unit_of_an_estimate():
    p = np.array([0.25, 0.7])
    found = estimated(binomial(TRIALS * p), powers=(0.5, 1.0))
    np.testing.assert_allclose(in_order(found), [0.5, 0.7], rtol=1e-8)
    # The derivative of the square root of p is 1/(2 sqrt(p)).
    assert found.details.standard_errors["first"] == pytest.approx(np.sqrt(0.25 * 0.75 / 40) / (2 * 0.5), rel=1e-6)


def test_estimate_at_a_bound_has_no_standard_error():
    found = estimated(binomial(np.array([0.0, 70.0])))
    assert (found.status, found.details.n_parameters) == ("at_bound", 2)
    assert found.estimates["first"] == 0
    assert found.details.standard_errors.keys() == found.intervals.keys() == {"second"}
    assert found.reason_codes == (ReasonCode.AT_BOUND_WITHOUT_ERROR,)
    assert "first at 0" in found.reason


def test_parameters_with_only_a_product_are_not_identified():
    def log_likelihood(p):
        product = p[0] * p[1]
        slope = 30 / product - 70 / (1 - product)
        return float(30 * np.log(product) + 70 * np.log(1 - product)), slope * p[::-1]

    found = estimated(log_likelihood)
    assert (found.status, found.details.n_parameters) == ("not_identified", 1)
    assert found.estimates == {}
    assert found.reason_codes == (ReasonCode.FLAT_LIKELIHOOD,)
    assert found.details.minus_two_log_likelihood == pytest.approx(-2 * (30 * np.log(0.3) + 70 * np.log(0.7)))


def test_best_of_several_starts_is_chosen():
    # Two maxima, near 0.2 and near 0.9; the second is higher.
    def log_likelihood(p):
        low, high = np.exp(-200 * (p[0] - 0.2) ** 2), 2 * np.exp(-200 * (p[0] - 0.9) ** 2)
        slope = (-400 * (p[0] - 0.2) * low - 400 * (p[0] - 0.9) * high) / (low + high + 1e-9)
        return float(np.log(low + high + 1e-9)), np.array([slope])

    for starts in ([0.15, 0.85], [0.85, 0.15]):
        assert maximise(log_likelihood, [np.array([start]) for start in starts], 1)[0] == pytest.approx(0.9, abs=1e-3)


def test_search_that_has_not_converged_is_reported():
    start = np.array([0.2, 0.5])
    found = fit_at(binomial(TRIALS * 0.5), start, kind=KIND, parameters=NAMES, sample_size=140, powers=np.ones(2))
    assert (found.status, found.reason_codes) == ("not_converged", (ReasonCode.NOT_CONVERGED,))
    assert found.reason == "The maximum-likelihood search did not converge."


def test_unreported_estimates_are_absent():
    found = estimated(binomial(TRIALS * 0.5))
    suffices, too_few = Reason(ReasonCode.ONE_CLASS_SUFFICES), Reason(ReasonCode.NO_RECAPTURES)
    unidentified = as_not_identified(found, 1, suffices)
    assert (unidentified.status, unidentified.details.n_parameters) == ("not_identified", 1)
    assert unidentified.reasons == (suffices,)
    assert unidentified.details.minus_two_log_likelihood == found.details.minus_two_log_likelihood
    assert unidentified.details.sample_size == found.details.sample_size
    nothing = nothing_estimated(KIND, NAMES, 0, too_few)
    assert (nothing.status, nothing.reasons) == ("too_few_points", (too_few,))
    for fit in (unidentified, nothing):
        assert (fit.estimates, fit.intervals, fit.details.standard_errors) == ({}, {}, {})
        assert (fit.kind, fit.details.parameters) == (KIND, NAMES)
    assert np.isnan(nothing.details.aicc)
