"""Replicates of a collection: their moments match simulated urns, and their noise is estimated."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster.urn.curves.data_points import Points
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.fits.joint import fit_joint
from crawl_urn_dagster.urn.uncertainty.replicates import CONSTANT, Noise, Series, draw, estimate_noise

CRAWLS = 12
NO_NOISE = Noise(CONSTANT, CONSTANT)
REPLICATES = 400
# The standard deviation of 400 replicates has a relative standard error of 0.035; the tests compare two of them.
SD_ERROR = 5 * np.sqrt(2) * 0.035


def counts_of(histories):
    shared = histories.intersections().astype(float)
    return Counts(
        np.arange(histories.n_crawls, dtype=float), np.diagonal(shared), shared, histories.unions().astype(float)
    )


def simulated(seed=1, core=500, shell=1500, crawls=CRAWLS, alpha=0.75, coverage=0.6):
    return counts_of(
        simulate(times=np.arange(crawls), core=core, shell=shell, alpha=alpha, coverage=coverage, seed=seed).counts()
    )


def fitted(counts):
    return fit_joint(counts, model="core_shell", clock="crawl")


def with_truth(fit, core, shell, alpha=0.75):
    """Return the fit with the parameters of the simulation."""
    coverage = (fit.details.counts.sizes.max() - core) / shell
    parameters = np.array([core / (core + shell), alpha, coverage])
    return replace(fit, details=replace(fit.details, parameters=parameters))


@pytest.mark.parametrize("shell", [1500, 6000])  # all elements sampled, and a third of them scaled up
def test_replicates_have_moments_of_simulated_elements(shell):
    core = shell // 3
    first = simulated(core=core, shell=shell)
    points = Points.from_counts(first)
    fit = with_truth(fitted(first), core, shell)
    # Both simulate the same urn because the coverage is the fitted one.
    coverage = expit(np.mean(logit(fit.details.urn[1].coverage)))
    drawn = points.count(draw(fit, NO_NOISE, REPLICATES, seed=2).counts)
    simulations = [simulated(seed, core, shell, coverage=coverage) for seed in range(REPLICATES)]
    elements = np.stack([points.count(counts) for counts in simulations])
    errors = np.sqrt((drawn.var(axis=0) + elements.var(axis=0)) / REPLICATES)
    assert (abs(drawn.mean(axis=0) - elements.mean(axis=0)) < 5 * np.maximum(errors, 1e-9)).all()
    frequent = elements.mean(axis=0) - core * (points.kind == "overlap") > 20
    assert frequent.sum() > 50
    ratio = drawn.std(axis=0)[frequent] / elements.std(axis=0)[frequent]
    assert ratio == pytest.approx(1, abs=SD_ERROR)
    # The correlation of 400 replicates has an error of at most 0.05, and a difference of two 0.07; pairs are thousands.
    correlations = np.corrcoef(drawn[:, frequent].T) - np.corrcoef(elements[:, frequent].T)
    assert abs(correlations).max() < 5.5 * 0.07
    assert np.sqrt(np.mean(correlations**2)) < 0.09


def test_elements_in_all_crawls_are_expected():
    fit = with_truth(fitted(simulated(crawls=5, alpha=0.9)), 500, 1500, alpha=0.9)
    coverage = expit(np.mean(logit(fit.details.urn[1].coverage)))
    in_all = draw(fit, NO_NOISE, REPLICATES, seed=3).in_all
    expected = 500 + 1500 * coverage**5 * 0.9**4
    assert in_all.mean() == pytest.approx(expected, abs=5 * in_all.std() / np.sqrt(REPLICATES))


def test_equal_seeds_give_equal_replicates():
    fit = fitted(simulated())
    one, same, other = (draw(fit, NO_NOISE, 3, seed=seed).counts.sizes for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_sampled_elements_have_the_noise_of_the_sample():
    counts = simulated(core=20_000, shell=60_000)
    sampled = with_truth(fitted(replace(counts, one_in=40.0)), 20_000, 60_000)
    points = Points.from_counts(counts)
    drawn = draw(sampled, NO_NOISE, REPLICATES, seed=4).counts
    values = points.count(drawn)
    expected = points.expect(*sampled.details.urn)
    frequent = expected > 40 * 20
    # k times a Poisson count has k times its expectation as variance; the core is sampled too, one element in 40.
    core_part = 20_000 * (points.kind[frequent] == "overlap")
    variance = 40 * (expected[frequent] - core_part) + 39 * core_part
    assert values.std(axis=0)[frequent] == pytest.approx(np.sqrt(variance), rel=SD_ERROR)


def test_sketches_vary_by_their_error():
    counts = replace(simulated(core=50_000, shell=150_000), relative_error=0.02)
    fit = with_truth(fitted(counts), 50_000, 150_000)
    drawn = draw(fit, NO_NOISE, REPLICATES, seed=5).counts
    points = Points.from_counts(counts)
    sd = np.sqrt(points.variance(counts, *fit.details.urn))
    assert points.count(drawn).std(axis=0) == pytest.approx(sd, rel=SD_ERROR)


def test_unpublished_counts_are_not_drawn():
    counts = simulated()
    hidden = np.triu(np.ones((CRAWLS, CRAWLS), dtype=bool), 6)
    partial = replace(counts, unions=np.where(hidden, np.nan, counts.unions))
    drawn = draw(fitted(partial), NO_NOISE, 2, seed=6).counts
    assert (np.isnan(drawn.unions) == hidden).all()
    assert np.isfinite(drawn.intersections[(slice(None), *np.triu_indices(CRAWLS, 1))]).all()


def autoregressive(rng, rho, n):
    values = rng.standard_normal(n)
    for k in range(1, n):
        values[k] = rho * values[k - 1] + np.sqrt(1 - rho**2) * values[k]
    return values


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_noise_of_simulated_crawls_is_estimated(rho):
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        coverage = expit(logit(0.6) + 0.3 * autoregressive(rng, rho, 30))
        alpha = 0.75 ** np.exp(0.3 * autoregressive(rng, rho, 29))
        noisy = simulated(seed, core=4000, shell=6000, crawls=30, alpha=alpha, coverage=coverage)
        found.append(np.ravel(estimate_noise(fitted(noisy), seed=seed)))
    # A standard deviation of 30 values of an AR(1) has a relative error of sqrt((1 + rho²)/(1 - rho²)/60).
    error = 4 * np.sqrt((1 + rho**2) / (1 - rho**2) / 60 / 8)
    mean = np.mean(found, axis=0)
    assert mean[[0, 3]] == pytest.approx([0.3, 0.3 * -np.log(0.75)], rel=error + 0.05)  # survival: loss is convex
    # A correlation of 30 values has an error of about 0.18; one below 0 counts as 0, which adds 0.07 on average to 0.
    assert mean[[1, 4]] == pytest.approx(np.maximum(rho, 0.07), abs=4 * 0.18 / np.sqrt(8))


def test_noise_of_replicates_is_estimated():
    fit = fitted(simulated(core=4000, shell=6000, crawls=30))
    noise = Noise(Series(0.3, 0.4, 0.0), Series(0.08, 0.0, 0.0))
    drawn = draw(fit, noise, 8, seed=7).counts
    found = []
    for row in range(8):
        counts = Counts(drawn.times, drawn.sizes[row], drawn.intersections[row], drawn.unions[row])
        found.append(np.ravel(estimate_noise(fitted(counts), seed=row)))
    error = 4 * np.sqrt((1 + 0.4**2) / (1 - 0.4**2) / 60 / 8)
    assert np.mean(found, axis=0)[[0, 3]] == pytest.approx([0.3, 0.08], rel=error)


def test_constant_urn_has_no_noise():
    found = np.array([np.ravel(estimate_noise(fitted(simulated(seed)), seed=seed)) for seed in range(8)])
    # Sampling noise of logit c is 0.05 here, and half of the series vary by less than it.
    assert np.median(found[:, 0]) < 0.025
    assert (found[:, 0] == 0).any()


def test_short_series_have_no_noise():
    noise = estimate_noise(fitted(simulated(crawls=4)), seed=1)
    assert noise == NO_NOISE


def test_fit_without_estimates_is_refused():
    counts = simulated(crawls=3)
    few = fitted(replace(counts, unions=np.full_like(counts.unions, np.nan)))
    with pytest.raises(
        ValueError, match="no estimates to draw replicates from: The number of distinct lags and window lengths is 2"
    ):
        draw(few, NO_NOISE, 2, seed=1)


def test_gaps_without_neighbours_give_a_variance():
    # Overlaps of every other pair of neighbours are known, and therefore no two gaps in a row.
    counts = simulated(core=4000, shell=6000, alpha=0.75 ** np.linspace(0.5, 1.5, CRAWLS - 1))
    known = np.zeros((CRAWLS, CRAWLS), dtype=bool)
    known[np.arange(0, CRAWLS - 1, 2), np.arange(1, CRAWLS, 2)] = True
    known |= np.triu(np.ones_like(known), 2)
    partial = replace(
        counts,
        intersections=np.where(known, counts.intersections, np.nan),
        unions=np.full_like(counts.unions, np.nan),
    )
    noise = estimate_noise(fitted(partial), seed=1)
    assert noise.survival.sd > 0.02
