"""The joint fit: recovery from expected counts, every status, sketched and partial collections, profiles of κ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from crawl_urn_dagster.urn import STATUSES, fit_containment_core_shell, mean_by, simulate
from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.fits.joint import fit_joint, profile_kappa

CRAWLS = 24
GAPS = np.random.default_rng(7).uniform(21, 120, CRAWLS - 1)
YEARS = np.cumsum(np.append(0, GAPS)) / 365.25
EVEN = np.arange(CRAWLS, dtype=float)
# kappa, alpha (over the mean gap), and mean coverage
CORE_SHELL = [(0.4, 0.75, 0.6), (0.06, 0.62, 0.5), (0.2, 0.93, 0.3), (0.6, 0.85, 0.8)]
HOMOGENEOUS = [(0.9, 0.5), (0.75, 0.6), (0.97, 0.11), (0.4, 0.8)]
CLOSE = {"rel": 1e-6, "abs": 1e-7}


def expected_counts(kappa, alpha, coverage, times=EVEN, elements=1e6, spread=0.2):
    """What is expected of an urn whose coverage varies by a fifth either way."""
    n = len(times)
    varied = coverage * (1 + spread * np.random.default_rng(5).uniform(-1, 1, n))
    shell = ElementClass(times, np.full(n, (1 - kappa) * elements), varied, np.array(alpha))
    pairs = np.triu_indices(n, 1)
    intersections = np.full((n, n), np.nan)
    intersections[pairs] = kappa * elements + shell.intersections(*pairs)
    sizes = kappa * elements + shell.size * varied
    return Counts(times, sizes, intersections, kappa * elements + shell.unions()), varied


def simulated_counts(seed=1, crawls=CRAWLS, core=4000, shell=6000, alpha=0.75, coverage=0.6):
    histories = simulate(
        times=np.arange(crawls), core=core, shell=shell, alpha=alpha, coverage=coverage, seed=seed
    ).counts()
    shared = histories.intersections().astype(float)
    return Counts(np.arange(crawls, dtype=float), np.diagonal(shared), shared, histories.unions().astype(float))


def without(counts, name):
    return replace(counts, **{name: np.full_like(getattr(counts, name), np.nan)})


@pytest.mark.parametrize("clock", ["crawl", "year"])
@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_core_and_shell_are_recovered(kappa, alpha, coverage, clock):
    times = EVEN if clock == "crawl" else YEARS
    alpha **= 1 if clock == "crawl" else 8  # per year
    counts, varied = expected_counts(kappa, alpha, coverage, times)
    fit = fit_joint(counts, model="core_shell", clock=clock)
    assert (fit.projection, fit.model, fit.form, fit.clock) == ("joint", "core_shell", "exact", clock)
    core_share = (kappa * 1e6 / counts.sizes).mean()
    assert (fit.kappa, fit.core_share, fit.alpha, fit.coverage) == pytest.approx(
        (kappa, core_share, alpha, varied.mean()), **CLOSE
    )
    assert fit.coverage_sd == pytest.approx(varied.std(ddof=1), **CLOSE)
    core, shell = fit.urn
    assert (float(core), float(shell.size[0])) == pytest.approx((kappa * 1e6, (1 - kappa) * 1e6), rel=1e-5)
    assert (fit.status, fit.reason) == ("ok", None)
    assert fit.n_points == 276 + 253 == len(fit.abscissa) == len(fit.observed) == len(fit.fitted)
    assert fit.residual_rms == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("clock", ["crawl", "year"])
@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_the_homogeneous_urn_is_recovered(alpha, coverage, clock):
    times = EVEN if clock == "crawl" else YEARS
    alpha **= 1 if clock == "crawl" else 8
    counts, varied = expected_counts(0.0, alpha, coverage, times)
    fit = fit_joint(counts, model="homogeneous", clock=clock)
    assert (fit.kappa, fit.core_share) == (None, None)
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha, varied.mean()), **CLOSE)


@pytest.mark.parametrize("missing", ["unions", "intersections"])
def test_pairs_or_windows_alone_determine_an_urn_whose_coverage_varies(missing):
    counts, varied = expected_counts(0.4, 0.75, 0.6)
    fit = fit_joint(without(counts, missing), model="core_shell", clock="crawl")
    assert (fit.kappa, fit.alpha, fit.coverage) == pytest.approx((0.4, 0.75, varied.mean()), **CLOSE)


def test_windows_of_the_published_lengths_suffice():
    counts, varied = expected_counts(0.4, 0.75, 0.6)
    length = np.arange(CRAWLS) - np.arange(CRAWLS)[:, None] + 1
    partial = replace(
        without(counts, "intersections"),
        unions=np.where(np.isin(length, [1, 2, 3, 4, 6, 9, 12]), counts.unions, np.nan),
    )
    fit = fit_joint(partial, model="core_shell", clock="crawl")
    assert set(fit.points.kind.tolist()) == {"recapture", "window"}
    assert (fit.kappa, fit.alpha, fit.coverage) == pytest.approx((0.4, 0.75, varied.mean()), **CLOSE)


def test_the_unit_of_counts_does_not_matter():
    counts, _ = expected_counts(0.4, 0.75, 0.6)
    big = Counts(counts.times, 1e4 * counts.sizes, 1e4 * counts.intersections, 1e4 * counts.unions)
    fit = fit_joint(big, model="core_shell", clock="crawl")
    assert (fit.kappa, fit.alpha) == pytest.approx((0.4, 0.75), **CLOSE)


def test_estimates_under_coverage_noise_are_unbiased_and_far_sharper_than_those_of_the_mean_curve():
    fits, of_mean_curve = [], []
    for seed in range(14):
        coverage = expit(logit(0.6) + 0.3 * np.random.default_rng(seed).standard_normal(CRAWLS))
        counts = simulated_counts(seed, coverage=coverage)
        fit = fit_joint(counts, model="core_shell", clock="crawl")
        fits.append([fit.kappa, fit.core_share, fit.alpha, fit.coverage])
        true = [0.4, (4000 / (4000 + 6000 * coverage)).mean(), 0.75, coverage.mean()]
        fits[-1] = np.subtract(fits[-1], true)
        i, j = np.triu_indices(CRAWLS, 1)
        curve = mean_by(j - i, counts.intersections[i, j] / counts.sizes[i])[:2]
        of_mean_curve.append(fit_containment_core_shell(*curve, form="exact", clock="crawl").kappa)
    error = np.std(fits, axis=0, ddof=1) / np.sqrt(14)
    assert (abs(np.mean(fits, axis=0)) < 4 * error).all()
    assert np.std(fits, axis=0)[0] < 0.2 * np.std(of_mean_curve)


def test_weights_come_from_expected_counts_of_the_fit_itself():
    fit = fit_joint(simulated_counts(), model="core_shell", clock="crawl")
    assert fit.variance == pytest.approx(fit.points.variance(fit.counts, *fit.urn), rel=1e-3)
    assert fit.variance.min() >= 1


def test_sketched_collections_are_fitted_with_negative_overlaps():
    counts = simulated_counts(core=0, shell=200_000, alpha=0.6, coverage=0.5)
    rng, error = np.random.default_rng(3), 0.016
    one, other = counts.sizes[:, None], counts.sizes
    either = one + other - counts.intersections
    sd = error * np.sqrt(np.maximum(either**2 - one**2 - other**2 + 2 * one * other * counts.intersections / either, 0))
    drawn = counts.intersections + sd * rng.standard_normal(sd.shape)
    sketched = replace(without(counts, "unions"), intersections=drawn, relative_error=error)
    assert (sketched.intersections[np.triu_indices(CRAWLS, 1)] < 0).any()
    fit = fit_joint(sketched, model="homogeneous", clock="crawl")
    # 276 overlaps with an error of 0.03 of a crawl each, of which the first lags tell 0.5 and 0.6 to about 0.01.
    assert (fit.alpha, fit.coverage) == pytest.approx((0.6, 0.5), abs=0.04)
    assert fit.status == "ok"


def test_an_urn_without_core_is_at_the_bound():
    counts, _ = expected_counts(0.0, 0.75, 0.6)
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    assert (fit.status, fit.kappa) == ("at_bound", pytest.approx(0, abs=1e-6))
    assert "the homogeneous urn suffices" in fit.reason


def test_a_shell_that_nothing_leaves_is_at_the_bound():
    counts, _ = expected_counts(0.0, 1.0, 0.6)
    fit = fit_joint(counts, model="homogeneous", clock="crawl")
    assert (fit.status, fit.alpha) == ("at_bound", 1)
    assert "nothing leaves the urn" in fit.reason


def test_a_crawl_that_samples_all_is_at_the_bound():
    counts, _ = expected_counts(0.0, 0.7, 1.0, spread=0.0)
    fit = fit_joint(counts, model="homogeneous", clock="crawl")
    assert fit.status == "at_bound"
    assert "the largest crawl samples the whole urn" in fit.reason


def test_a_slow_shell_leaves_kappa_open_to_pairs_but_not_to_both():
    counts, _ = expected_counts(0.3, 0.98, 0.6, times=np.arange(6.0), spread=0.02)
    pairs = fit_joint(without(counts, "unions"), model="core_shell", clock="crawl")
    assert pairs.status == "not_identified"
    assert pairs.reason.startswith("The joint fit leaves kappa open: at 0.200 instead of 0.300")
    assert fit_joint(counts, model="core_shell", clock="crawl").status == "ok"


def test_an_open_coverage_is_told_as_the_mean_that_the_fit_gives():
    counts, _ = expected_counts(0.95, 0.99, 0.6, times=np.arange(6.0), spread=0.3)
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    assert f"leaves coverage open: at 0.686 instead of {fit.coverage:.3f}, with" in fit.reason


@pytest.mark.parametrize("crawls", [1, 2])
def test_too_few_points(crawls):
    counts, _ = expected_counts(0.4, 0.75, 0.6, times=np.arange(crawls + 1.0))
    short = replace(without(counts, "unions"))
    fit = fit_joint(short, model="core_shell", clock="crawl")
    assert fit.status == "too_few_points"
    assert fit.kappa is None
    assert np.isnan(fit.coverage_sd)
    assert f"lengths of windows: {crawls};" in fit.reason


def test_statuses_are_those_of_the_package():
    counts, _ = expected_counts(0.4, 0.75, 0.6)
    assert fit_joint(counts, model="core_shell", clock="crawl").status in STATUSES


def test_the_profile_is_least_at_kappa_and_flat_for_windows_alone():
    counts, _ = expected_counts(0.4, 0.75, 0.6, spread=0.0)
    grid = np.array([0.0, 0.2, 0.3, 0.4, 0.5])
    joint = profile_kappa(counts, grid)
    pairs = profile_kappa(without(counts, "unions"), grid)
    windows = profile_kappa(without(counts, "intersections"), grid)
    for profile in (joint, pairs, windows):
        assert profile.standardised_rms.argmin() == 3
        assert (profile.kappa[3], profile.alpha[3], profile.coverage[3]) == pytest.approx((0.4, 0.75, 0.6), abs=1e-5)
        assert profile.core_share[3] == pytest.approx(0.4 / 0.76, abs=1e-5)
        assert profile.residual_rms[3] == pytest.approx(0, abs=1e-6)
    # The ridge: a κ from 0 to 0.3 misses windows by less than a hundredth of a crawl. Both together tell it best.
    below = slice(0, 3)
    assert (windows.residual_rms[below] < 0.01).all()
    assert (windows.residual_rms[below] < 0.5 * pairs.residual_rms[below]).all()
    assert (joint.standardised_rms[below] > np.maximum(pairs.standardised_rms, windows.standardised_rms)[below]).all()


def test_a_profile_is_the_best_of_the_other_parameters():
    counts = simulated_counts()
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    profile = profile_kappa(counts, [fit.kappa, fit.kappa + 0.05])
    assert (profile.alpha[0], profile.residual_rms[0]) == pytest.approx((fit.alpha, fit.residual_rms), rel=1e-5)
    assert profile.standardised_rms[1] > profile.standardised_rms[0]


@pytest.mark.parametrize("kappa", [-0.1, 1.0, np.nan])
def test_a_profile_needs_a_share(kappa):
    counts, _ = expected_counts(0.4, 0.75, 0.6)
    with pytest.raises(ValueError, match="expected numbers from 0 to below 1"):
        profile_kappa(counts, [0.2, kappa])
