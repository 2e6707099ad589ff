"""Likelihood of capture histories: cells, their probabilities by brute force, recovery, intervals, statuses."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit

from crawl_urn_dagster.urn import (
    CaptureHistoryCounts,
    fit_containment_core_shell,
    fit_discovery_core_shell,
    mean_by,
    simulate,
)
from crawl_urn_dagster.urn.data.histories import count_cells
from crawl_urn_dagster.urn.fits import histories_likelihood
from crawl_urn_dagster.urn.fits.histories_likelihood import fit_histories
from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import compare_likelihoods

MODELS = ("homogeneous", "core_shell", "core_two_shells")
CRAWLS = np.arange(51)


def side_by_side(*counts):
    return CaptureHistoryCounts(
        np.concatenate([part.seen for part in counts]), np.concatenate([part.elements for part in counts])
    )


def two_shells(elements, crawls, seed, noise=0.0):
    """Core of 0.3, two equal shells (0.97, 0.8) and (0.85, 0.35); and coverage by crawl of the two shells."""
    steps = noise * np.random.default_rng(seed).normal(size=crawls)
    coverage = expit(logit([[0.8], [0.35]]) + steps)
    shell = {"times": np.arange(crawls), "shell": round(0.35 * elements)}
    first = simulate(**shell, core=round(0.3 * elements), alpha=0.97, coverage=coverage[0], seed=seed)
    second = simulate(**shell, core=0, alpha=0.85, coverage=coverage[1], seed=seed + 10_000)
    return side_by_side(first.counts(), second.counts()), coverage


def one_shell(elements, crawls, seed, coverage=0.5):
    return simulate(
        times=np.arange(crawls),
        core=round(0.3 * elements),
        shell=round(0.7 * elements),
        alpha=0.85,
        coverage=coverage,
        seed=seed,
    ).counts()


def contains(estimate, truth):
    return estimate.low <= truth <= estimate.high


def test_cells_of_a_few_histories():
    seen = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
    cells = count_cells(CaptureHistoryCounts(seen.astype(bool), np.array([5, 7, 1, 2, 4, 9, 0])))
    rows = list(zip(*(column.tolist() for column in cells), strict=True))
    assert rows == [(1, 1, 1, 7), (1, 2, 2, 5), (0, 3, 2, 1), (0, 3, 3, 6)]


@pytest.mark.parametrize("crawls", [1, 4, 7])
def test_number_of_cells(crawls):
    seen = np.array(list(product([False, True], repeat=crawls)))
    cells = count_cells(CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64)))
    assert len(cells.elements) == (crawls**3 + 5 * crawls) / 6
    assert cells.elements.sum() == 2**crawls - 1


def test_expected_cells_by_brute_force():
    """Sum over all births and deaths of an element, and over all its histories."""
    n, alpha, gaps = 5, 0.7, np.array([1, 0.4, 2, 0.6])
    coverage, survival = np.array([0.6, 0.3, 0.8, 0.1, 0.5]), alpha**gaps
    seen = np.array(list(product([False, True], repeat=n)))[1:]
    expected = np.zeros(len(seen))
    for birth in range(n):
        for death in range(birth, n):
            life = (1 - survival[birth - 1] if birth else 1) * np.prod(survival[birth:death])
            life *= 1 - survival[death] if death < n - 1 else 1
            chance = np.where(seen, coverage, 1 - coverage)[:, birth : death + 1].prod(axis=1)
            outside = seen[:, :birth].any(axis=1) | seen[:, death + 1 :].any(axis=1)
            expected += life * np.where(outside, 0, chance)
    cells = count_cells(CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64)))
    by_cell = np.zeros(len(cells.elements))
    index = {cell: k for k, cell in enumerate(zip(cells.first, cells.last, cells.captures, strict=True))}
    for history, count in zip(seen, expected, strict=True):
        captured = np.flatnonzero(history)
        by_cell[index[captured[0], captured[-1], captured.size]] += count
    data = histories_likelihood._Histories(cells, gaps, np.ones(n))
    found, captured = histories_likelihood._shell_expectations(data, np.array([alpha]), coverage[None])
    np.testing.assert_allclose(found[0], by_cell)
    assert captured == pytest.approx([expected.sum()])


@pytest.mark.parametrize("model", MODELS)
def test_gradient_is_the_slope_of_the_likelihood(model):
    counts, _ = two_shells(2_000, 10, 1)
    sizes = np.diagonal(counts.intersections()).astype(float)
    data = histories_likelihood._Histories(count_cells(counts), np.ones(9), sizes)
    point, offsets = logit(np.array(histories_likelihood._STARTS[model][0])), np.linspace(-0.3, 0.3, 10)
    gradient = histories_likelihood._score(data, point, offsets).gradient
    for index, step in enumerate(1e-5 * np.eye(point.size)):
        ends = [histories_likelihood._log_likelihood(data, point + sign * step, offsets) for sign in (-1, 1)]
        rise = np.diff(ends)[0]
        assert gradient[index] == pytest.approx(rise / 2e-5, rel=1e-5, abs=1e-3)


@pytest.mark.slow
def test_two_shells_are_told_from_the_core_where_fits_of_one_shell_are_not():
    counts, _ = two_shells(200_000, 51, 1)
    fits = [fit_histories(counts, CRAWLS, model=model) for model in MODELS]
    two = fits[-1]
    assert (two.status, two.reason, two.identified) == ("ok", None, True)
    assert contains(two.kappa, 0.3)
    assert contains(two.core_share, 0.3 / (0.3 + 0.35 * 0.8 + 0.35 * 0.35))
    for estimates, truths in [(two.share, (0.5, 0.5)), (two.alpha, (0.97, 0.85)), (two.coverage, (0.8, 0.35))]:
        assert all(contains(estimate, truth) for estimate, truth in zip(estimates, truths, strict=True))
    assert max(two.kappa.high - two.kappa.low, two.core_share.high - two.core_share.low) < 0.007
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
def test_one_shell_is_not_taken_for_two():
    counts = one_shell(200_000, 51, 1)
    fits = [fit_histories(counts, CRAWLS, model=model) for model in MODELS]
    assert [row.preferred for row in compare_likelihoods(fits)] == [False, True, False]
    assert [row.preferred for row in compare_likelihoods(fits, "bic")] == [False, True, False]
    plain = fits[1]
    assert plain.status == "ok"
    assert contains(plain.kappa, 0.3)
    assert contains(plain.alpha[0], 0.85)
    assert contains(plain.coverage[0], 0.5)
    assert (plain.share[0].value, plain.share[0].low) == (1, None)
    # The second shell has no use: what is left of it is at bounds or open.
    assert fits[2].status in {"at_bound", "not_identified"}


def test_coverage_that_varies_by_crawl_is_fitted_and_else_misleads():
    counts, coverage = two_shells(200_000, 51, 2, noise=0.3)
    varying = fit_histories(counts, CRAWLS, model="core_two_shells")
    assert varying.status == "ok"
    assert contains(varying.kappa, 0.3)
    assert contains(varying.core_share, (0.3 / (0.3 + 0.35 * coverage.sum(axis=0))).mean())
    truths = [
        *zip(varying.alpha, (0.97, 0.85), strict=True),
        *zip(varying.coverage, coverage.mean(axis=1), strict=True),
    ]
    assert all(contains(estimate, truth) for estimate, truth in truths)
    assert varying.n_parameters == 56
    offsets = logit(coverage).mean(axis=0)
    # An offset is as uncertain as a crawl's coverage, whose standard error is about 0.005 on the logit scale.
    np.testing.assert_allclose(varying.offsets, offsets - offsets.mean(), atol=0.03)

    constant = fit_histories(counts, CRAWLS, model="core_two_shells", over_time="constant")
    assert (constant.offsets == 0).all()
    assert constant.n_parameters == 6
    assert constant.log_likelihood < varying.log_likelihood - 1000
    estimates = [*constant.alpha, *constant.coverage]
    missed = [not contains(estimate, truth) for estimate, (_, truth) in zip(estimates, truths, strict=True)]
    assert sum(missed) >= 2


def test_times_need_not_be_even():
    times = np.cumsum(np.append(0, np.random.default_rng(4).uniform(0.05, 0.3, 23)))
    counts = simulate(times=times, core=6_000, shell=14_000, alpha=0.4, coverage=0.5, seed=4).counts()
    fit = fit_histories(counts, times, model="core_shell")
    assert fit.status == "ok"
    assert contains(fit.alpha[0], 0.4)
    assert contains(fit.kappa, 0.3)
    doubled = fit_histories(counts, 2 * times, model="core_shell")
    assert doubled.alpha[0] == pytest.approx([np.sqrt(limit) for limit in fit.alpha[0]], rel=1e-6)
    assert doubled.log_likelihood == pytest.approx(fit.log_likelihood)


@pytest.mark.parametrize("noise", [0, 0.3])
def test_intervals_cover(noise):
    crawls, hits = 12, []
    for seed in range(40):
        steps = noise * np.random.default_rng(seed).normal(size=crawls)
        coverage = expit(logit(0.5) + steps)
        fit = fit_histories(one_shell(5_000, crawls, seed, coverage), np.arange(crawls), model="core_shell")
        core_share = (0.3 / (0.3 + 0.7 * coverage)).mean()
        pairs = [
            (fit.kappa, 0.3),
            (fit.core_share, core_share),
            (fit.alpha[0], 0.85),
            (fit.coverage[0], coverage.mean()),
        ]
        hits.append([contains(*pair) for pair in pairs])
    # 95 % or more, less three standard errors of 40 binomial trials.
    assert (np.mean(hits, axis=0) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)).all()


def test_without_a_core_kappa_is_at_its_bound():
    counts = simulate(times=np.arange(12), core=0, shell=10_000, alpha=0.85, coverage=0.5, seed=1).counts()
    fit = fit_histories(counts, np.arange(12), model="core_shell")
    assert fit.status == "at_bound"
    assert fit.reason == "kappa is at its bound 0."
    assert fit.kappa.value == pytest.approx(0, abs=1e-12)
    assert (fit.kappa.low, fit.kappa.high) == (None, None)
    plain = fit_histories(counts, np.arange(12), model="homogeneous")
    assert (plain.status, plain.kappa, plain.core_share) == ("ok", None, None)
    assert plain.alpha[0].value == pytest.approx(fit.alpha[0].value, abs=1e-4)


def test_few_elements_leave_parameters_open():
    fit = fit_histories(one_shell(60, 6, 3), np.arange(6), model="core_shell")
    assert fit.status == "not_identified"
    assert not fit.identified
    assert "The histories leave kappa open, from" in fit.reason


def test_too_few_cells():
    fit = fit_histories(one_shell(1_000, 3, 1), np.arange(3), model="core_two_shells", over_time="constant")
    # Three crawls have 7 cells; 6 parameters would do, but not with two more offsets.
    assert fit.status != "too_few_points"
    fit = fit_histories(one_shell(1_000, 3, 1), np.arange(3), model="core_two_shells")
    assert (fit.status, fit.kappa, fit.log_likelihood) == ("too_few_points", None, None)
    assert fit.reason == "There are 7 cells; 8 parameters need at least 9."


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_crawl_of_one_element_is_fitted():
    counts = simulate(times=np.arange(12), core=80, shell=120, alpha=0.8, coverage=0.6, seed=1).counts()
    seen = counts.seen.copy()
    only = np.flatnonzero(seen[:, 5] & (counts.elements == 1))[0]
    seen[:, 5] = np.arange(len(seen)) == only
    fit = fit_histories(CaptureHistoryCounts(seen, counts.elements), np.arange(12), model="core_shell")
    assert np.isfinite(fit.log_likelihood)


def test_search_cut_short_has_not_converged(monkeypatch):
    monkeypatch.setattr(histories_likelihood, "_ITERATIONS_OF_A_START", 1)
    monkeypatch.setattr(histories_likelihood, "_ITERATIONS", 1)
    fit = fit_histories(two_shells(5_000, 12, 1)[0], np.arange(12), model="core_two_shells", over_time="constant")
    assert fit.status == "not_converged"


def test_one_time_per_crawl():
    with pytest.raises(ValueError, match="there are 3 times and 4 crawls"):
        fit_histories(one_shell(100, 4, 1), np.arange(3), model="homogeneous")
    with pytest.raises(ValueError, match="all crawls have the same time"):
        fit_histories(one_shell(100, 4, 1), np.zeros(4), model="homogeneous")
