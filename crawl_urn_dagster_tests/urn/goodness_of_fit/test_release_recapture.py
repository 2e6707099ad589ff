"""The tests of release-recapture data: published results, hand-made tables, and urns."""

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, fisher_exact

from crawl_urn_dagster.urn import CaptureHistoryCounts, simulate
from crawl_urn_dagster.urn.goodness_of_fit.release_recapture import _pool_columns, pooled_c_hat, release_recapture_tests
from crawl_urn_dagster_tests.urn.goodness_of_fit.populations import EMPTY, as_counts, group, presence


def _has_few_expected(table):
    return (np.outer(table.sum(axis=1), table.sum(axis=0)) < 2 * table.sum()).any()


def _pooled_step_by_step(table):
    while table.shape[1] > 2 and table.any() and _has_few_expected(table):
        table = np.column_stack([table[:, :-2], table[:, -2] + table[:, -1]])
        if table[:, 0].sum() < table[:, -1].sum():
            table = table[:, ::-1]
    return table


def test_columns_are_pooled_from_the_end_that_is_smaller():
    rng = np.random.default_rng(1)
    for _ in range(300):
        means = rng.exponential(5) * rng.random((2, rng.integers(1, 30))) ** rng.integers(1, 6)
        table = rng.poisson(means).astype(float)
        np.testing.assert_array_equal(_pool_columns(table), _pooled_step_by_step(table))


@pytest.fixture(scope="module")
def dippers(shared_data):
    """Tests of the female and of the male dippers."""
    rows = [line.split() for line in (shared_data / "capture_recapture" / "dipper.txt").read_text().splitlines()]
    return [
        release_recapture_tests(
            as_counts(np.array([[mark == "1" for mark in history] for history, of in rows if of == sex]))
        )
        for sex in ("Female", "Male")
    ]


def printed(test):
    """Return χ², degrees of freedom and probability as R2ucare prints them."""
    return [test.x2, test.df, round(test.p_value, 3)]


def test_female_dippers_match_r2ucare(dippers):
    females, _ = dippers
    assert printed(females.transience) == [4.985, 5, 0.418]
    assert females.transience.statistics.tolist() == [0.858, 3.586, 0.437, 0.103, 0.001]
    assert females.transience.signed.tolist() == [0.926, 1.894, 0.661, -0.321, 0.032]
    assert round(females.transience.z, 3) == 1.428
    assert printed(females.next_capture) == [2.041, 3, 0.564]
    assert females.next_capture.statistics.tolist() == [1.542, 0, 0.499, 0, 0]
    assert printed(females.trap_dependence) == [3.25, 4, 0.517]
    assert females.trap_dependence.statistics.tolist() == [0, 0, 0, 3.25]
    assert females.trap_dependence.signed.tolist() == [0, 0, 0, -1.803]
    assert females.trap_dependence.is_exact.all()
    assert round(females.trap_dependence.p_values[3], 3) == 0.071
    assert round(females.trap_dependence.z, 3) == -0.901
    assert printed(females.later_capture) == [0, 0, 1]
    assert printed(females) == [10.276, 12, 0.592]


def test_male_dippers_match_r2ucare(dippers):
    _, males = dippers
    assert printed(males.transience)[:2] == [6.778, 5]
    assert printed(males.later_capture) == [0, 0, 1]
    assert printed(males) == [11.062, 9, 0.271]


def test_c_hat_of_both_sexes_matches_the_published_one(dippers):
    assert round(pooled_c_hat(dippers), 3) == 1.016


def test_tables_by_hand():
    rows = {"11010": 30, "11001": 20, "01010": 25, "01001": 15, "10110": 12, "10101": 18, "10010": 22, "10001": 28}
    rows |= {"11100": 10, "01100": 20}
    seen = np.array([[mark == "1" for mark in history] for history in rows])
    tests = release_recapture_tests(CaptureHistoryCounts(seen, np.array(list(rows.values()))))

    def chi_squared(table):
        table = np.array(table, dtype=float)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        return round(((table - expected) ** 2 / expected).sum(), 3)

    # Crawl 1, of those captured again: captured before or new, next captured by crawl 2, 3 or 4.
    assert tests.next_capture.statistics[0] == chi_squared([[10, 30, 20], [20, 25, 15]])
    # Crawl 2: missed (by crawls 0 and 1 only: 30 + 25 + 22) or captured, next captured by crawl 3 or 4.
    assert tests.trap_dependence.statistics[1] == chi_squared([[77, 63], [12, 18]])
    # Crawl 1: missed or captured, next captured by crawl 3 or 4, of those that crawl 2 missed.
    assert tests.later_capture.statistics.tolist() == [chi_squared([[22, 28], [55, 35]])]
    # All elements of crawl 1 return, and crawl 2 has no new one.
    assert tests.transience.degrees.tolist()[:2] == [0, 0]
    assert tests.transience.df == 3


def test_columns_are_pooled_from_both_ends():
    rows = {"111000": 2, "110100": 6, "110010": 0, "110001": 1, "011000": 3, "010100": 30, "010010": 10, "010001": 10}
    seen = np.array([[mark == "1" for mark in history] for history in rows])
    tests = release_recapture_tests(CaptureHistoryCounts(seen, np.array(list(rows.values()))))
    # Captured before or new, next captured by crawl 2 to 5: [2 6 0 1], [3 30 10 10] become [2 6 1], [3 30 20], where
    # the last column exceeds the first, which therefore joins the second: [8 1], [33 20].
    assert tests.next_capture.degrees[0] == 1
    assert not tests.next_capture.is_exact[0]
    expected = chi2_contingency([[8, 1], [33, 20]], correction=False)
    assert tests.next_capture.statistics[0] == round(float(expected[0]), 3)
    assert tests.next_capture.p_values[0] == pytest.approx(expected[1])


def test_small_tables_are_tested_exactly():
    rows = {"1101": 3, "1100": 1, "0101": 1, "0100": 4}
    seen = np.array([[mark == "1" for mark in history] for history in rows])
    tests = release_recapture_tests(CaptureHistoryCounts(seen, np.array(list(rows.values()))))
    p_value = fisher_exact([[3, 1], [1, 4]])[1]
    assert tests.transience.is_exact[0]
    assert tests.transience.p_values[0] == pytest.approx(p_value)
    assert tests.transience.statistics[0] == pytest.approx(chi2.isf(p_value, 1), abs=5e-4)


def test_homogeneous_urns_are_not_rejected():
    found = [
        release_recapture_tests(
            simulate(times=np.arange(7), core=0, shell=600, alpha=0.8, coverage=0.4, seed=seed).counts()
        )
        for seed in range(60)
    ]
    degrees = sum(tests.df for tests in found)
    assert pooled_c_hat(found) == pytest.approx(1, abs=4 * np.sqrt(2 / degrees))
    assert np.mean([tests.p_value < 0.05 for tests in found]) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 60)
    for z in ([tests.transience.z for tests in found], [tests.trap_dependence.z for tests in found]):
        assert abs(np.mean(z)) < 4 / np.sqrt(60)
        assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(2 * 60))


def test_signs_tell_transients_avoidance_and_a_core():
    rng, shell = np.random.default_rng(1), group("shell", 2_000, 0.8, 0.5, 8)
    transients = presence([shell, group("shell", 1_000, 0, 0.5, 8)], rng)
    avoiding = presence([shell], rng, avoided=0.5)
    core = presence([shell, group("core", 1_000, 1, 1, 8)], rng)
    assert release_recapture_tests(as_counts(transients)).transience.z > 4
    assert release_recapture_tests(as_counts(avoiding)).trap_dependence.z > 4
    assert release_recapture_tests(as_counts(core)).trap_dependence.z < -4


@pytest.mark.parametrize("n_crawls", [1, 2, 3, 4])
def test_few_crawls_or_elements_are_not_tested(n_crawls):
    for counts in (CaptureHistoryCounts(np.ones((1, n_crawls), dtype=bool), np.array([1])), EMPTY):
        tests = release_recapture_tests(counts)
        assert not tests.is_tested
        assert np.isnan(tests.c_hat)
        assert np.isnan(pooled_c_hat([tests, tests]))
        assert tests.p_value == 1


def test_an_empty_crawl_and_random_lists_do_not_raise():
    rng = np.random.default_rng(2)
    for _ in range(100):
        seen = rng.random((rng.integers(0, 60), rng.integers(1, 15))) < rng.random()
        seen[:, rng.integers(seen.shape[1])] = False
        release_recapture_tests(as_counts(seen))
