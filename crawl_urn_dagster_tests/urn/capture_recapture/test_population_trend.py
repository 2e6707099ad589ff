"""The trend of the population, from the Jolly-Seber population of each crawl."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import recaptures_from_unions, simulate
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster.urn.capture_recapture.population_trend import population_trend
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import m_array
from crawl_urn_dagster_tests.urn.goodness_of_fit.populations import as_counts, group, presence


def core_and_shell(rng, *, shell_growth=0.0, core_growth=0.0, coverage=0.6, n_crawls=16, repeats=1):
    """Return sizes and recaptures of repeated draws, and the expected core and shell."""
    crawl = np.arange(n_crawls)
    core, shell = 500 * (1 + core_growth) ** crawl, 1_000 * (1 + shell_growth) ** crawl
    classes = [group("core", core, 1, 1, n_crawls), group("shell", shell, 0.75, coverage, n_crawls)]
    return [m_array(as_counts(presence(classes, rng))) for _ in range(repeats)], core, shell


def test_population_without_a_core_is_that_of_jolly_seber():
    sizes, recaptures = m_array(
        simulate(times=np.arange(8), core=0, shell=900, alpha=0.8, coverage=0.4, seed=1).counts()
    )
    np.testing.assert_allclose(
        population_trend(sizes, recaptures).population, jolly_seber(sizes, recaptures).population.estimate, rtol=1e-12
    )


def test_population_with_a_core_adds_it_to_the_shell():
    draws, *_ = core_and_shell(np.random.default_rng(1), n_crawls=8, repeats=25)
    found = [population_trend(*draw, 500).population[1:-1].mean() for draw in draws]
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) == pytest.approx(1_500, abs=4 * error)
    assert error < 15


@pytest.mark.parametrize(("shell_growth", "core_growth"), [(-0.02, 0.0), (0.0, 0.0), (0.02, 0.02), (0.02, 0.0)])
def test_slope_of_growth_lies_in_its_interval(shell_growth, core_growth):
    repeats, rng = 20, np.random.default_rng(2)
    draws, core, shell = core_and_shell(rng, shell_growth=shell_growth, core_growth=core_growth, repeats=repeats)
    found = [population_trend(*draw, core) for draw in draws]
    truth = np.polyfit(np.arange(14), np.log(core + shell)[1:-1], 1)[0]
    slopes = [trend.slope for trend in found]
    assert np.mean(slopes) == pytest.approx(truth, abs=4 * np.std(slopes) / np.sqrt(repeats))
    inside = np.mean([trend.low <= truth <= trend.high for trend in found])
    assert inside > 0.95 - 4 * np.sqrt(0.95 * 0.05 / repeats)


def test_coverage_trend_leaves_the_population_constant():
    [(sizes, recaptures)], *_ = core_and_shell(np.random.default_rng(3), coverage=0.5 + 0.02 * np.arange(16))
    found = population_trend(sizes, recaptures, 500)
    assert abs(found.slope) < 4 * found.se
    assert found.se < 0.006
    assert found.smallest_detectable == pytest.approx(2.8 * found.se * 15)


def test_windows_alone_give_the_same_trend():
    seen = presence([group("shell", 2_000 * 1.02 ** np.arange(12), 0.8, 0.5, 12)], np.random.default_rng(4))
    counts = as_counts(seen)
    unions = counts.unions().astype(float)
    from_windows = population_trend(np.diagonal(unions), recaptures_from_unions(unions))
    assert from_windows.slope == population_trend(*m_array(counts)).slope


def test_gaps_set_the_unit_of_time():
    [(sizes, recaptures)], *_ = core_and_shell(np.random.default_rng(5), shell_growth=0.02)
    even, doubled = (population_trend(sizes, recaptures, 500, np.full(15, gap)) for gap in (1, 2))
    assert even.slope == pytest.approx(population_trend(sizes, recaptures, 500).slope)
    assert doubled.slope == pytest.approx(even.slope / 2)


def test_few_crawls_or_elements_are_not_tested():
    for n_crawls in (0, 1, 2, 3, 4, 6):
        found = population_trend(np.full(n_crawls, 5), 3 * np.eye(n_crawls, k=1))
        assert not found.is_tested
        assert np.isnan(found.slope)
        assert found.smallest_detectable == np.inf
        assert found.population.shape == (n_crawls,)
    for sizes in (np.zeros(9), np.eye(9)[4]):
        assert not population_trend(sizes, np.zeros((9, 9))).is_tested


def test_noisy_recaptures_and_an_empty_crawl_do_not_raise():
    [(sizes, recaptures)], *_ = core_and_shell(np.random.default_rng(6))
    noisy = recaptures + np.random.default_rng(7).normal(0, 40, recaptures.shape)
    noisy[2, 3] = np.nan
    assert np.isfinite(population_trend(sizes, noisy, 500).slope)
    holes = np.where(np.arange(16) == 5, 0, 1)
    found = population_trend(sizes * holes, recaptures * holes * holes[:, None])
    assert np.isnan(found.population[5])
    assert found.is_tested


def test_a_constant_population_has_slope_zero():
    # Every element is in every crawl.
    found = population_trend(np.full(9, 7), 7 * np.eye(9, k=1), core=7)
    assert not found.is_tested
    found = population_trend(np.full(9, 7), 7 * np.eye(9, k=1))
    assert (found.slope, found.se) == (pytest.approx(0, abs=1e-15), pytest.approx(0, abs=1e-15))
