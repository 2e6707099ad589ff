"""Intervals of the joint fit: their construction, their width, and how often they contain the parameters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student_t

from crawl_urn_dagster.urn import Urn, simulate
from crawl_urn_dagster.urn.curves.model import OperatorTerms
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.fits.joint import fit_joint
from crawl_urn_dagster.urn.uncertainty.bootstrap import bootstrap_joint, difference_interval, fraction_interval

CRAWLS = 16
TRUTH = {"kappa": 0.4, "core_share": 0.4 / 0.76, "alpha": 0.75, "coverage": 0.6}


def simulated(seed=1, core=4000, shell=6000, crawls=CRAWLS, alpha=0.75, coverage=0.6):
    histories = simulate(
        times=np.arange(crawls), core=core, shell=shell, alpha=alpha, coverage=coverage, seed=seed
    ).counts()
    shared = histories.intersections().astype(float)
    return Counts(np.arange(crawls, dtype=float), np.diagonal(shared), shared, histories.unions().astype(float))


def fitted(counts, model="core_shell"):
    return fit_joint(counts, model=model, clock="crawl")


@pytest.fixture(scope="module")
def bootstrap():
    return bootstrap_joint(fitted(simulated()), seed=1, n_replicates=200)


def width(interval):
    return interval.high - interval.low


def test_replicates_are_refitted_around_the_estimate(bootstrap):
    assert bootstrap.converged.all()
    for name, values in bootstrap.estimates.items():
        assert values.shape == (200,)
        assert values.mean() == pytest.approx(getattr(bootstrap.fit, name), abs=5 * values.std() / np.sqrt(200))


def test_replicate_is_fitted_like_a_collection(bootstrap):
    counts = bootstrap.replicates.counts
    for row in (0, 101):
        fit = fitted(Counts(counts.times, counts.sizes[row], counts.intersections[row], counts.unions[row]))
        for name, values in bootstrap.estimates.items():
            assert values[row] == pytest.approx(getattr(fit, name), abs=2e-5)


def test_intervals_of_parameters_and_operator_terms(bootstrap):
    intervals = bootstrap.intervals()
    assert list(intervals) == [*TRUTH, *OperatorTerms._fields, "crawl_coverage"]
    terms = Urn(bootstrap.fit.alpha, bootstrap.fit.coverage).operator_terms()._asdict()
    kappa = bootstrap.fit.kappa
    terms["crawl_coverage"] = kappa + (1 - kappa) * bootstrap.fit.coverage
    for name, interval in intervals.items():
        estimate = terms.get(name, getattr(bootstrap.fit, name, None))
        assert 0 <= interval.low < estimate < interval.high
        assert width(bootstrap.intervals(0.5)[name]) < width(interval)
    # Life expectancy is alpha/(1 - alpha), so its interval is the transformed interval of alpha.
    assert np.array(intervals["life_expectancy"]) == pytest.approx(
        [end / (1 - end) for end in intervals["alpha"]], rel=1e-9
    )


def test_equal_seeds_give_equal_intervals(bootstrap):
    again = bootstrap_joint(bootstrap.fit, seed=1, n_replicates=200)
    assert again.intervals() == bootstrap.intervals()
    assert bootstrap_joint(bootstrap.fit, seed=2, n_replicates=20).intervals() != bootstrap.intervals()


def test_homogeneous_urn_has_no_core_interval():
    counts = simulated(core=0)
    intervals = bootstrap_joint(fitted(counts, "homogeneous"), seed=1, n_replicates=50).intervals()
    assert list(intervals) == ["alpha", "coverage", *OperatorTerms._fields, "crawl_coverage"]
    assert intervals["alpha"].low < 0.75 < intervals["alpha"].high


def test_empty_core_has_an_interval_from_zero():
    counts = simulated(core=0)
    seed = next(seed for seed in range(20) if fitted(simulated(seed, core=0)).status == "at_bound")
    counts = simulated(seed, core=0)
    interval = bootstrap_joint(fitted(counts), seed=1, n_replicates=100).intervals()["kappa"]
    assert interval.low == 0
    assert 0 < interval.high < 0.01


def test_intervals_per_year_match_intervals_per_crawl():
    counts = simulated()
    years = replace(counts, times=counts.times / 8)
    per_crawl = bootstrap_joint(fitted(counts), seed=1, n_replicates=50).intervals()
    per_year = bootstrap_joint(fit_joint(years, model="core_shell", clock="year"), seed=1, n_replicates=50).intervals()
    assert np.array(per_year["alpha"]) ** (1 / 8) == pytest.approx(np.array(per_crawl["alpha"]), abs=2e-4)
    assert np.array(per_year["life_expectancy"]) == pytest.approx(np.array(per_crawl["life_expectancy"]), rel=1e-3)
    assert np.array(per_year["kappa"]) == pytest.approx(np.array(per_crawl["kappa"]), abs=1e-4)


def test_sample_of_1_in_16_has_four_times_the_error():
    counts = simulated(core=64_000, shell=96_000)
    whole, sampled = (
        bootstrap_joint(fitted(replace(counts, one_in=one_in)), seed=1, n_replicates=100) for one_in in (1.0, 16.0)
    )
    for name in ("alpha", "coverage"):
        ratio = sampled.estimates[name].std() / whole.estimates[name].std()
        # Noise of births adds to sampling noise, up to a factor of 1.3; the ratio has an error of 0.1.
        assert 4 * 0.65 < ratio < 4 * 1.3 * 1.35
    # The sample contains 4,000 core elements.
    assert sampled.estimates["kappa"].std() > 5 * whole.estimates["kappa"].std()


def test_sketches_have_larger_errors():
    counts = simulated(core=64_000, shell=96_000)
    exact, sketched = (
        bootstrap_joint(fitted(replace(counts, relative_error=error)), seed=1, n_replicates=60) for error in (0.0, 0.02)
    )
    for name in TRUTH:
        assert sketched.estimates[name].std() > 3 * exact.estimates[name].std()


def test_coverage_noise_widens_the_interval_of_coverage(bootstrap):
    rng = np.random.default_rng(3)
    noisy = simulated(coverage=expit(logit(0.6) + 0.3 * rng.standard_normal(CRAWLS)))
    found = bootstrap_joint(fitted(noisy), seed=1, n_replicates=100)
    assert found.noise.coverage.sd > 0.1
    assert width(found.intervals()["coverage"]) > 3 * width(bootstrap.intervals()["coverage"])
    # The mean coverage over the crawls has an error of sd c (1 - c)/sqrt(crawls).
    expected = found.noise.coverage.sd * 0.24 * np.sqrt((1 + found.noise.coverage.rho) / (1 - found.noise.coverage.rho))
    assert found.estimates["coverage"].std() == pytest.approx(expected / np.sqrt(CRAWLS), rel=0.35)


def test_survival_noise_widens_the_interval_of_alpha(bootstrap):
    rng = np.random.default_rng(4)
    noisy = simulated(alpha=0.75 ** rng.gamma(9, 1 / 9, CRAWLS - 1))
    found = bootstrap_joint(fitted(noisy), seed=1, n_replicates=100)
    assert width(found.intervals()["alpha"]) > 3 * width(bootstrap.intervals()["alpha"])
    assert width(found.intervals()["kappa"]) < 0.02


@pytest.mark.slow
def test_intervals_contain_parameters_under_both_noises():
    contained = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        counts = simulated(
            seed,
            crawls=20,
            coverage=expit(logit(0.6) + 0.3 * rng.standard_normal(20)),
            alpha=0.75 ** rng.gamma(9, 1 / 9, 19),
        )
        intervals = bootstrap_joint(fitted(counts), seed=seed, n_replicates=60).intervals()
        contained.append([intervals[name].low <= true <= intervals[name].high for name, true in TRUTH.items()])
    # Fewer than 33 of 40 intervals at 95 % contain the parameter with probability 0.0007.
    assert (np.sum(contained, axis=0) >= 33).all()


def test_intervals_of_fractions_are_t_intervals_of_logits():
    rng = np.random.default_rng(1)
    replicates = 0.41 + 0.01 * rng.standard_normal(400)
    interval = fraction_interval(0.4, replicates, freedom=7)
    slope = 1 / 0.24
    half = student_t.ppf(0.975, 7) * replicates.std(ddof=1) * slope
    centre = logit(0.4) - slope * (replicates.mean() - 0.4)
    assert interval == pytest.approx((expit(centre - half), expit(centre + half)))
    assert fraction_interval(0.99, 0.99 + 0.01 * rng.standard_normal(400), freedom=7).high < 1


def test_interval_of_a_small_core_begins_at_zero():
    draws = np.random.default_rng(1).standard_normal(400)
    draws = (draws - draws.mean()) / draws.std(ddof=1)
    t = student_t.ppf(0.975, 7)
    for sd, begins_at_zero in ((0.02 / t * 1.01, True), (0.02 / t * 0.99, False)):
        plain = fraction_interval(0.02, 0.02 + sd * draws, freedom=7)
        core = fraction_interval(0.02, 0.02 + sd * draws, freedom=7, may_be_zero=True)
        assert plain.low > 0
        assert core == (0 if begins_at_zero else plain.low, plain.high)


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_interval_of_an_absent_core_contains_zero(seed):
    coverage = expit(np.random.default_rng(seed).normal(0, 0.3, 12))
    fit = fitted(simulated(seed=seed, core=0, shell=400, crawls=12, alpha=0.9, coverage=coverage))
    assert fit.kappa > 0
    intervals = bootstrap_joint(fit, seed=seed, n_replicates=40).intervals()
    assert intervals["kappa"].low == intervals["core_share"].low == 0


def test_intervals_of_estimates_at_bound_are_quantiles():
    replicates = np.maximum(np.random.default_rng(1).standard_normal(1000), 0)
    assert fraction_interval(0.0, replicates, freedom=7, level=0.9) == (0, np.quantile(replicates, 0.95))
    assert fraction_interval(1.0, np.full(10, 0.9), freedom=7) == (0.9, 1.0)


def test_interval_of_a_difference_is_a_t_interval(bootstrap):
    pairs = replace(bootstrap.replicates.counts, unions=np.full_like(bootstrap.replicates.counts.unions, np.nan))
    others = [
        fitted(Counts(pairs.times, pairs.sizes[k], pairs.intersections[k], pairs.unions[k])).kappa for k in range(20)
    ]
    replicates = bootstrap.estimates["kappa"][:20] - np.array(others)
    counts = bootstrap.fit.details.counts
    other = fitted(replace(counts, unions=np.full_like(counts.unions, np.nan))).kappa
    interval = difference_interval(bootstrap.fit.kappa - other, replicates, freedom=bootstrap.freedom)
    assert interval.low < 0 < interval.high  # both estimate the same κ
    apart = difference_interval(bootstrap.fit.kappa - other + 1, replicates + 1, freedom=bootstrap.freedom)
    assert apart.low > 0.9
    sd = np.std(replicates, ddof=1)
    assert width(interval) == pytest.approx(2 * student_t.ppf(0.975, bootstrap.freedom) * sd)


def test_biased_interval_is_extended_to_the_estimate(bootstrap):
    replicates = 0.6 + 0.01 * np.random.default_rng(1).standard_normal(200)
    low, high = fraction_interval(0.5, replicates, freedom=20)
    assert high == 0.5
    assert low < 0.42


def test_quantiles_of_corrected_replicates_are_intervals(bootstrap):
    intervals, corrected = bootstrap.intervals(), bootstrap.corrected
    for name in ("kappa", "alpha"):
        low, high = np.quantile(corrected[name], [0.025, 0.975])
        # A 2.5 % quantile of a normal sample has an error of about 2.7 standard deviations / sqrt(sample size).
        error = 3 * 2.7 / np.sqrt(200) * np.std(corrected[name])
        assert (low, high) == pytest.approx(intervals[name], abs=error)
