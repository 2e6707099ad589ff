"""Test the fits to capture histories: recovery, intervals and statuses."""

import numpy as np
import pytest
from scipy.special import expit, logit

from crawl_urn_dagster.urn import (
    CaptureHistoryCounts,
    ReasonCode,
    compare_likelihoods,
    fit_containment_core_shell,
    fit_discovery_core_shell,
    fit_histories,
    simulate,
)
from crawl_urn_dagster.urn.fits import histories
from crawl_urn_dagster.urn.fits.least_squares import mean_by
from crawl_urn_dagster_tests.urn.fits.simulated_shells import one_shell, two_shells

MODELS = ("homogeneous", "core_shell", "core_two_shells")
CRAWLS = np.arange(51)


def contains(fit, name, truth):
    low, high = fit.intervals[name]
    return low <= truth <= high


@pytest.mark.slow
def test_histories_identify_two_shells_and_curves_do_not():
    counts, _ = two_shells(200_000, 51, 1)
    fits = [fit_histories(counts, CRAWLS, model=model) for model in MODELS]
    two = fits[-1]
    assert (two.status, two.reason, two.details.is_identified) == ("ok", None, True)
    assert contains(two, "kappa", 0.3)
    assert contains(two, "core_share", 0.3 / (0.3 + 0.35 * 0.8 + 0.35 * 0.35))
    for name, truths in [("share", (0.5, 0.5)), ("alpha", (0.97, 0.85)), ("coverage", (0.8, 0.35))]:
        assert all(contains(two, f"{name}_{k}", truth) for k, truth in enumerate(truths, start=1))
    assert set(two.intervals) == set(two.estimates)
    assert max(two.intervals[name].high - two.intervals[name].low for name in ("kappa", "core_share")) < 0.007
    rows = compare_likelihoods(fits)
    assert [row.preferred for row in rows] == [False, False, True]
    assert rows[1].delta > 1000

    shared, unions = counts.intersections(), counts.unions()
    i, j = np.triu_indices(51, k=1)
    lag, g, _ = mean_by(j - i, shared[i, j] / shared[i, i])
    _, ratio, _ = mean_by(j - i, unions[i, j] / shared[i, i])
    assert fit_containment_core_shell(lag, g, form="paper", clock="crawl").kappa == pytest.approx(0.46, abs=0.01)
    curve = (CRAWLS, np.zeros(50, dtype=int), CRAWLS[1:], ratio)
    assert fit_discovery_core_shell(*curve, clock="crawl").kappa == pytest.approx(0.46, abs=0.01)


@pytest.mark.slow
def test_one_shell_is_preferred_to_two_where_it_is_true():
    counts = one_shell(200_000, 51, 1)
    fits = [fit_histories(counts, CRAWLS, model=model) for model in MODELS]
    assert [row.preferred for row in compare_likelihoods(fits)] == [False, True, False]
    assert [row.preferred for row in compare_likelihoods(fits, "bic")] == [False, True, False]
    plain = fits[1]
    assert plain.status == "ok"
    assert contains(plain, "kappa", 0.3)
    assert contains(plain, "alpha", 0.85)
    assert contains(plain, "coverage", 0.5)
    # Shares are estimated of two shells only.
    assert set(plain.estimates) == set(plain.intervals) == {"kappa", "core_share", "alpha", "coverage"}
    # The histories need no second shell, so its parameters are at bounds or not identified.
    assert fits[2].status in {"at_bound", "not_identified"}


def test_varying_coverage_is_fitted_and_constant_misleads():
    counts, coverage = two_shells(200_000, 51, 2, noise=0.3)
    varying = fit_histories(counts, CRAWLS, model="core_two_shells")
    assert varying.status == "ok"
    assert contains(varying, "kappa", 0.3)
    assert contains(varying, "core_share", (0.3 / (0.3 + 0.35 * coverage.sum(axis=0))).mean())
    names = ("alpha_1", "alpha_2", "coverage_1", "coverage_2")
    truths = dict(zip(names, (0.97, 0.85, *coverage.mean(axis=1)), strict=True))
    assert all(contains(varying, name, truth) for name, truth in truths.items())
    assert varying.details.n_parameters == 56
    offsets = logit(coverage).mean(axis=0)
    # An offset is as uncertain as a crawl's coverage, whose standard error is about 0.005 on the logit scale.
    np.testing.assert_allclose(varying.details.offsets, offsets - offsets.mean(), atol=0.03)

    constant = fit_histories(counts, CRAWLS, model="core_two_shells", over_time="constant")
    assert (constant.details.offsets == 0).all()
    assert constant.details.n_parameters == 6
    assert constant.details.log_likelihood < varying.details.log_likelihood - 1000
    missed = [not contains(constant, name, truth) for name, truth in truths.items()]
    assert sum(missed) >= 2


def test_uneven_times_in_any_unit_are_fitted():
    times = np.cumsum(np.append(0, np.random.default_rng(4).uniform(0.05, 0.3, 23)))
    counts = simulate(times=times, core=6_000, shell=14_000, alpha=0.4, coverage=0.5, seed=4).counts()
    fit = fit_histories(counts, times, model="core_shell")
    assert fit.status == "ok"
    assert contains(fit, "alpha", 0.4)
    assert contains(fit, "kappa", 0.3)
    doubled = fit_histories(counts, 2 * times, model="core_shell")
    assert doubled.alpha == pytest.approx(np.sqrt(fit.alpha), rel=1e-6)
    assert doubled.intervals["alpha"] == pytest.approx(np.sqrt(fit.intervals["alpha"]), rel=1e-6)
    assert doubled.details.log_likelihood == pytest.approx(fit.details.log_likelihood)


@pytest.mark.parametrize("noise", [0, 0.3])
def test_intervals_contain_the_truth_as_often_as_stated(noise):
    crawls, hits = 12, []
    for seed in range(40):
        steps = noise * np.random.default_rng(seed).normal(size=crawls)
        coverage = expit(logit(0.5) + steps)
        fit = fit_histories(one_shell(5_000, crawls, seed, coverage), np.arange(crawls), model="core_shell")
        core_share = (0.3 / (0.3 + 0.7 * coverage)).mean()
        truths = {"kappa": 0.3, "core_share": core_share, "alpha": 0.85, "coverage": coverage.mean()}
        hits.append([contains(fit, name, truth) for name, truth in truths.items()])
    # At least 95 % minus three standard errors of 40 binomial trials.
    assert (np.mean(hits, axis=0) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)).all()


def test_histories_without_core_have_kappa_at_bound():
    counts = simulate(times=np.arange(12), core=0, shell=10_000, alpha=0.85, coverage=0.5, seed=1).counts()
    fit = fit_histories(counts, np.arange(12), model="core_shell")
    assert fit.status == "at_bound"
    assert fit.reason_codes == (ReasonCode.AT_BOUND,)
    assert fit.reasons[0].values == {"parameter": "kappa", "bound": 0}
    assert fit.reason == "Parameter kappa is at its bound 0."
    assert fit.kappa == pytest.approx(0, abs=1e-12)
    assert "kappa" not in fit.intervals
    plain = fit_histories(counts, np.arange(12), model="homogeneous")
    assert (plain.status, plain.kappa, plain.core_share) == ("ok", None, None)
    assert plain.alpha == pytest.approx(fit.alpha, abs=1e-4)


def test_histories_of_few_elements_do_not_identify_kappa():
    fit = fit_histories(one_shell(60, 6, 3), np.arange(6), model="core_shell")
    assert fit.status == "not_identified"
    assert not fit.details.is_identified
    wide = {reason.values["parameter"]: reason for reason in fit.reasons}
    assert wide["kappa"].code == ReasonCode.WIDE_INTERVAL
    low, high = fit.intervals["kappa"]
    assert wide["kappa"].values == {"parameter": "kappa", "low": low, "high": high}
    assert "Parameter kappa is not identified by the capture histories (95 % CI" in fit.reason


def test_histories_of_too_few_cells_have_no_estimates():
    fit = fit_histories(one_shell(1_000, 3, 1), np.arange(3), model="core_two_shells", over_time="constant")
    # Three crawls have 7 cells, enough for 6 parameters but not for two offsets more.
    assert fit.status != "too_few_points"
    fit = fit_histories(one_shell(1_000, 3, 1), np.arange(3), model="core_two_shells")
    assert (fit.status, fit.kappa, fit.details.log_likelihood) == ("too_few_points", None, None)
    assert fit.reason_codes == (ReasonCode.TOO_FEW_CELLS,)
    assert fit.reasons[0].values == {"found": 7, "n_parameters": 8, "needed": 9}
    assert fit.reason.startswith("The capture histories fill 7 cells")
    assert "8 parameters need at least 9." in fit.reason


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_crawl_of_one_element_is_fitted():
    counts = simulate(times=np.arange(12), core=80, shell=120, alpha=0.8, coverage=0.6, seed=1).counts()
    seen = counts.seen.copy()
    only = np.flatnonzero(seen[:, 5] & (counts.elements == 1))[0]
    seen[:, 5] = np.arange(len(seen)) == only
    fit = fit_histories(CaptureHistoryCounts(seen, counts.elements), np.arange(12), model="core_shell")
    assert np.isfinite(fit.details.log_likelihood)


def test_search_cut_short_is_not_converged(monkeypatch):
    monkeypatch.setattr(histories, "_ITERATIONS_OF_A_START", 1)
    monkeypatch.setattr(histories, "_ITERATIONS", 1)
    fit = fit_histories(two_shells(5_000, 12, 1)[0], np.arange(12), model="core_two_shells", over_time="constant")
    assert fit.status == "not_converged"
    assert fit.reason_codes == (ReasonCode.NOT_CONVERGED,)
    assert fit.reason == "The maximum-likelihood search did not converge."


def test_times_must_be_one_per_crawl_and_not_all_equal():
    with pytest.raises(ValueError, match="there are 3 times and 4 crawls"):
        fit_histories(one_shell(100, 4, 1), np.arange(3), model="homogeneous")
    with pytest.raises(ValueError, match="all crawls have the same time"):
        fit_histories(one_shell(100, 4, 1), np.zeros(4), model="homogeneous")
