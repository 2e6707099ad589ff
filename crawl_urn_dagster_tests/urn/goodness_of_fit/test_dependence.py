"""Trap dependence and transience beyond those of the classes of a population."""

import itertools

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster.urn.goodness_of_fit.dependence import count_tables, dependence_effects, expected_tables
from crawl_urn_dagster_tests.urn.goodness_of_fit.populations import (
    EMPTY,
    as_counts,
    core_and_two_shells,
    group,
    presence,
)


def effects(counts, classes):
    return dependence_effects(count_tables(counts), expected_tables(classes))


def test_tables_count_the_elements_of_each_history():
    histories = np.array(list(itertools.product([False, True], repeat=5))[1:])
    counts = CaptureHistoryCounts(histories, np.arange(1, 32) ** 2)
    tables = count_tables(counts)
    for i in (1, 2, 3):
        before, here, after = histories[:, :i].any(axis=1), histories[:, i], histories[:, i + 1 :].any(axis=1)
        expected = [
            [counts.elements[here & (before == old) & (after == again)].sum() for again in (True, False)]
            for old in (True, False)
        ]
        assert tables.transience[i - 1].tolist() == expected
        at_next = histories[:, i + 1]
        if i < 3:
            expected = [
                [counts.elements[row & after & (at_next == now)].sum() for now in (True, False)]
                for row in (before & ~here, here)
            ]
            assert tables.trap_dependence[i - 1].tolist() == expected


def test_expected_tables_match_simulation():
    classes, rng, repeats = core_and_two_shells(size=1_000), np.random.default_rng(1), 30
    observed = [count_tables(as_counts(presence(classes, rng))) for _ in range(repeats)]
    for kind, expected in expected_tables(classes)._asdict().items():
        total = sum(getattr(tables, kind) for tables in observed)
        # Counts of a Poisson population are Poisson.
        z = (total - repeats * expected) / np.sqrt(repeats * expected)
        assert abs(z).max() < 4
        assert (z**2).mean() == pytest.approx(1, abs=4 * np.sqrt(2 / z.size))


def test_effects_of_the_true_classes_are_near_zero():
    classes, rng = core_and_two_shells(size=500), np.random.default_rng(2)
    found = [effects(as_counts(presence(classes, rng)), classes) for _ in range(60)]
    for kind in ("trap_dependence", "transience"):
        results = [getattr(pair, kind) for pair in found]
        z = np.array([result.effect / result.se for result in results])
        assert abs(z.mean()) < 4 / np.sqrt(z.size)
        assert 0.6 < z.std() < 1.2
        assert not any(result.has_failed for result in results)
        # Errors are divided by their own scatter only where that exceeds 1.
        assert min(result.se for result in results) > 0


def test_a_long_list_of_few_elements_without_transience_is_not_refuted():
    classes, rng = [group("core", 180, 1, 1, 130), group("shell", 420, 0.95, 0.6, 130)], np.random.default_rng(7)
    found = [effects(as_counts(presence(classes, rng)), classes).transience for _ in range(15)]
    bias, se = np.mean([one.effect for one in found]), np.mean([one.se for one in found])
    # Weights by observed counts leave a bias, which must not reach the smallest failure, log 1.10.
    assert abs(bias) < np.log(1.1) / 2 + 4 * se / np.sqrt(len(found))
    assert not any(one.has_failed for one in found)


def test_avoidance_lowers_the_effect_and_fails():
    classes = [group("core", 4_000, 1, 1, 12), group("shell", 6_000, 0.75, 0.6, 12)]
    counts = as_counts(presence(classes, np.random.default_rng(3), avoided=0.2))
    found = effects(counts, classes).trap_dependence
    assert found.has_failed
    assert found.effect < -0.2


def test_transients_lower_the_effect_of_transience():
    classes = [group("shell", 6_000, 0.8, 0.5, 12)]
    transients = [group("shell", 1_500, 0.0, 0.5, 12)]
    counts = as_counts(presence([*classes, *transients], np.random.default_rng(4)))
    found = effects(counts, classes).transience
    assert found.has_failed
    assert found.effect < -0.3
    assert not effects(counts, [*classes, *transients]).transience.has_failed


def test_smallest_detectable_effect_grows_with_c_hat():
    classes = core_and_two_shells(size=1_000)
    found = effects(as_counts(presence(classes, np.random.default_rng(5))), classes).trap_dependence
    assert found.smallest_detectable() == pytest.approx(2.8 * found.se)
    assert found.smallest_detectable(4.0) == pytest.approx(5.6 * found.se)


@pytest.mark.parametrize("n_crawls", [1, 2, 3, 4])
def test_few_crawls_or_elements_are_not_tested(n_crawls):
    classes = [group("shell", 10, 0.5, 0.5, n_crawls)]
    one = CaptureHistoryCounts(np.ones((1, n_crawls), dtype=bool), np.array([1]))
    for found in effects(one, classes):
        assert not found.is_tested
        assert not found.has_failed
        assert np.isnan(found.effect)
        assert found.smallest_detectable() == np.inf


def test_no_element_and_an_expected_empty_cell_are_not_tested():
    assert not any(found.is_tested for found in effects(EMPTY, [group("shell", 10, 0.5, 0.5, 3)]))
    core = [group("core", 100, 1, 1, 6)]
    counts = as_counts(presence([group("shell", 100, 0.9, 0.5, 6)], np.random.default_rng(6)))
    assert not any(found.is_tested for found in effects(counts, core))
