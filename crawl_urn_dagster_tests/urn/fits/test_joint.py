"""Test the joint fit: recovery from expected counts, statuses, sketched and partial collections, profiles of κ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from crawl_urn_dagster.urn import ReasonCode, Status, fit_containment_core_shell, simulate
from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.fits.joint import fit_joint, profile_kappa
from crawl_urn_dagster.urn.fits.least_squares import mean_by
from crawl_urn_dagster_tests.urn.fits.fitted_curves import assert_unchanged

CRAWLS = 24
GAPS = np.random.default_rng(7).uniform(21, 120, CRAWLS - 1)
YEARS = np.cumsum(np.append(0, GAPS)) / 365.25
EVEN = np.arange(CRAWLS, dtype=float)
# kappa, alpha (over the mean gap), and mean coverage
CORE_SHELL = [(0.4, 0.75, 0.6), (0.06, 0.62, 0.5), (0.2, 0.93, 0.3), (0.6, 0.85, 0.8)]
HOMOGENEOUS = [(0.9, 0.5), (0.75, 0.6), (0.97, 0.11), (0.4, 0.8)]
CLOSE = {"rel": 1e-6, "abs": 1e-7}


def expected_counts(kappa, alpha, coverage, times=EVEN, elements=1e6, spread=0.2):
    """Return expected counts of an urn whose coverage varies by up to a fifth of its mean, and coverage by crawl."""
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


def test_weights_of_a_misfit_settle(us_gov_hosts):
    """The coverage of one crawl reaches 1 at every other iteration."""
    shared = us_gov_hosts.intersections().astype(float)
    times = np.arange(us_gov_hosts.n_crawls, dtype=float)
    counts = Counts(times, np.diagonal(shared), shared, us_gov_hosts.unions().astype(float))
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    assert fit.status != Status.NOT_CONVERGED
    again = fit_joint(replace(counts, sizes=counts.sizes * (1 + 1e-9)), model="core_shell", clock="crawl")
    assert again.kappa == pytest.approx(fit.kappa, abs=1e-4)


@pytest.mark.parametrize("clock", ["crawl", "year"])
@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_joint_fit_recovers_core_and_shell(kappa, alpha, coverage, clock):
    times = EVEN if clock == "crawl" else YEARS
    alpha **= 1 if clock == "crawl" else 8  # per year
    counts, varied = expected_counts(kappa, alpha, coverage, times)
    fit = fit_joint(counts, model="core_shell", clock=clock)
    assert fit.kind == ("joint", "core_shell", "exact", clock)
    core_share = (kappa * 1e6 / counts.sizes).mean()
    assert (fit.kappa, fit.core_share, fit.alpha, fit.coverage) == pytest.approx(
        (kappa, core_share, alpha, varied.mean()), **CLOSE
    )
    assert fit.details.coverage_sd == pytest.approx(varied.std(ddof=1), **CLOSE)
    core, shell = fit.details.urn
    assert (float(core), float(shell.size[0])) == pytest.approx((kappa * 1e6, (1 - kappa) * 1e6), rel=1e-5)
    assert (fit.status, fit.reason) == ("ok", None)
    assert (
        fit.details.n_points
        == 276 + 253
        == len(fit.details.abscissa)
        == len(fit.details.observed)
        == len(fit.details.fitted)
    )
    assert fit.details.residual_rms == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("clock", ["crawl", "year"])
@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_joint_fit_recovers_homogeneous_urn(alpha, coverage, clock):
    times = EVEN if clock == "crawl" else YEARS
    alpha **= 1 if clock == "crawl" else 8
    counts, varied = expected_counts(0.0, alpha, coverage, times)
    fit = fit_joint(counts, model="homogeneous", clock=clock)
    assert (fit.kappa, fit.core_share) == (None, None)
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha, varied.mean()), **CLOSE)


@pytest.mark.parametrize("missing", ["unions", "intersections"])
def test_pairs_or_windows_alone_recover_varying_coverage(missing):
    counts, varied = expected_counts(0.4, 0.75, 0.6)
    fit = fit_joint(without(counts, missing), model="core_shell", clock="crawl")
    assert (fit.kappa, fit.alpha, fit.coverage) == pytest.approx((0.4, 0.75, varied.mean()), **CLOSE)


def test_published_window_lengths_recover_core_and_shell():
    counts, varied = expected_counts(0.4, 0.75, 0.6)
    length = np.arange(CRAWLS) - np.arange(CRAWLS)[:, None] + 1
    partial = replace(
        without(counts, "intersections"),
        unions=np.where(np.isin(length, [1, 2, 3, 4, 6, 9, 12]), counts.unions, np.nan),
    )
    fit = fit_joint(partial, model="core_shell", clock="crawl")
    assert set(fit.details.points.kind.tolist()) == {"recapture", "window"}
    assert (fit.kappa, fit.alpha, fit.coverage) == pytest.approx((0.4, 0.75, varied.mean()), **CLOSE)


def test_counts_in_larger_unit_give_equal_estimates():
    counts, _ = expected_counts(0.4, 0.75, 0.6)
    big = Counts(counts.times, 1e4 * counts.sizes, 1e4 * counts.intersections, 1e4 * counts.unions)
    fit = fit_joint(big, model="core_shell", clock="crawl")
    assert (fit.kappa, fit.alpha) == pytest.approx((0.4, 0.75), **CLOSE)


def test_joint_fit_beats_mean_curve_under_coverage_noise():
    fits, mean_curve_kappas = [], []
    for seed in range(14):
        coverage = expit(logit(0.6) + 0.3 * np.random.default_rng(seed).standard_normal(CRAWLS))
        counts = simulated_counts(seed, coverage=coverage)
        fit = fit_joint(counts, model="core_shell", clock="crawl")
        fits.append([fit.kappa, fit.core_share, fit.alpha, fit.coverage])
        true = [0.4, (4000 / (4000 + 6000 * coverage)).mean(), 0.75, coverage.mean()]
        fits[-1] = np.subtract(fits[-1], true)
        i, j = np.triu_indices(CRAWLS, 1)
        curve = mean_by(j - i, counts.intersections[i, j] / counts.sizes[i])[:2]
        mean_curve_kappas.append(fit_containment_core_shell(*curve, form="exact", clock="crawl").kappa)
    error = np.std(fits, axis=0, ddof=1) / np.sqrt(14)
    assert (abs(np.mean(fits, axis=0)) < 4 * error).all()
    assert np.std(fits, axis=0)[0] < 0.2 * np.std(mean_curve_kappas)


def test_variance_is_that_of_counts_the_fit_expects():
    fit = fit_joint(simulated_counts(), model="core_shell", clock="crawl")
    assert fit.details.variance == pytest.approx(
        fit.details.points.variance(fit.details.counts, *fit.details.urn), rel=1e-3
    )
    assert fit.details.variance.min() >= 1


def test_sketched_counts_with_negative_overlaps_are_fitted():
    counts = simulated_counts(core=0, shell=200_000, alpha=0.6, coverage=0.5)
    rng, error = np.random.default_rng(3), 0.016
    one, other = counts.sizes[:, None], counts.sizes
    either = one + other - counts.intersections
    sd = error * np.sqrt(np.maximum(either**2 - one**2 - other**2 + 2 * one * other * counts.intersections / either, 0))
    drawn = counts.intersections + sd * rng.standard_normal(sd.shape)
    sketched = replace(without(counts, "unions"), intersections=drawn, relative_error=error)
    assert (sketched.intersections[np.triu_indices(CRAWLS, 1)] < 0).any()
    fit = fit_joint(sketched, model="homogeneous", clock="crawl")
    # Each of 276 overlaps has an error of 0.03 crawl sizes; the first lags identify 0.5 and 0.6 to about 0.01.
    assert (fit.alpha, fit.coverage) == pytest.approx((0.6, 0.5), abs=0.04)
    assert fit.status == "ok"


def test_urn_without_core_has_kappa_at_bound():
    counts, _ = expected_counts(0.0, 0.75, 0.6)
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    assert (fit.status, fit.kappa) == ("at_bound", pytest.approx(0, abs=1e-6))
    assert ReasonCode.NO_CORE_NEEDED in fit.reason_codes
    assert "the homogeneous urn suffices" in fit.reason


def test_urn_without_losses_has_alpha_at_bound():
    counts, _ = expected_counts(0.0, 1.0, 0.6)
    fit = fit_joint(counts, model="homogeneous", clock="crawl")
    assert (fit.status, fit.alpha) == ("at_bound", 1)
    assert ReasonCode.NO_LOSSES in fit.reason_codes
    assert "no element leaves the urn" in fit.reason


def test_crawls_of_whole_urn_have_coverage_at_bound():
    counts, _ = expected_counts(0.0, 0.7, 1.0, spread=0.0)
    fit = fit_joint(counts, model="homogeneous", clock="crawl")
    assert fit.status == "at_bound"
    assert ReasonCode.FULL_COVERAGE in fit.reason_codes
    assert "the largest crawl captures the whole urn" in fit.reason


def test_slow_shell_needs_windows_to_identify_kappa():
    counts, _ = expected_counts(0.3, 0.98, 0.6, times=np.arange(6.0), spread=0.02)
    pairs = fit_joint(without(counts, "unions"), model="core_shell", clock="crawl")
    assert pairs.status == "not_identified"
    assert pairs.kappa == pytest.approx(0.3, abs=5e-4)
    assert_unchanged(pairs.reasons[0], parameter="kappa", fit="joint")
    assert pairs.reason.startswith("Parameter kappa is not identified by the joint fit: changing it by 0.1")
    assert fit_joint(counts, model="core_shell", clock="crawl").status == "ok"


def test_large_slow_core_leaves_mean_coverage_unidentified():
    counts, _ = expected_counts(0.95, 0.99, 0.6, times=np.arange(6.0), spread=0.3)
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    assert fit.status == "not_identified"
    assert_unchanged(fit.reasons[0], parameter="coverage", fit="joint")
    assert "Parameter coverage is not identified by the joint fit" in fit.reason
    assert fit.coverage == pytest.approx(fit.details.urn[1].coverage.mean(), rel=1e-12)


@pytest.mark.parametrize("crawls", [1, 2])
def test_too_few_lags_give_no_estimates(crawls):
    counts, _ = expected_counts(0.4, 0.75, 0.6, times=np.arange(crawls + 1.0))
    short = replace(without(counts, "unions"))
    fit = fit_joint(short, model="core_shell", clock="crawl")
    assert fit.status == "too_few_points"
    assert fit.kappa is None
    assert np.isnan(fit.details.coverage_sd)
    assert fit.reason_codes == (ReasonCode.TOO_FEW_LAGS,)
    assert fit.reasons[0].values == {"found": crawls, "n_parameters": 3, "needed": 4}
    assert f"distinct lags and window lengths is {crawls};" in fit.reason


def test_joint_fit_status_is_a_member_of_status():
    counts, _ = expected_counts(0.4, 0.75, 0.6)
    assert fit_joint(counts, model="core_shell", clock="crawl").status is Status.OK
    short, _ = expected_counts(0.4, 0.75, 0.6, times=np.arange(2.0))
    assert fit_joint(short, model="core_shell", clock="crawl").status is Status.TOO_FEW_POINTS


def test_kappa_profile_is_flat_for_windows_alone():
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
    # A κ from 0 to 0.3 misses windows by less than 0.01 crawl sizes; both together identify it best.
    below = slice(0, 3)
    assert (windows.residual_rms[below] < 0.01).all()
    assert (windows.residual_rms[below] < 0.5 * pairs.residual_rms[below]).all()
    assert (joint.standardised_rms[below] > np.maximum(pairs.standardised_rms, windows.standardised_rms)[below]).all()


def test_kappa_profile_at_estimate_is_the_fit():
    counts = simulated_counts()
    fit = fit_joint(counts, model="core_shell", clock="crawl")
    profile = profile_kappa(counts, [fit.kappa, fit.kappa + 0.05])
    assert (profile.alpha[0], profile.residual_rms[0]) == pytest.approx((fit.alpha, fit.details.residual_rms), rel=1e-5)
    assert profile.standardised_rms[1] > profile.standardised_rms[0]


@pytest.mark.parametrize("kappa", [-0.1, 1.0, np.nan])
def test_kappa_profile_refuses_kappa_outside_0_to_1(kappa):
    counts, _ = expected_counts(0.4, 0.75, 0.6)
    with pytest.raises(ValueError, match="expected numbers from 0 to below 1"):
        profile_kappa(counts, [0.2, kappa])
