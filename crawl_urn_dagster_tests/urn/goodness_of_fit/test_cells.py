"""The omnibus test over cells of first capture, last capture and captures."""

import itertools
import time

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster.urn.data import thinning
from crawl_urn_dagster.urn.goodness_of_fit import cells
from crawl_urn_dagster.urn.goodness_of_fit.cells import compare_cells, expected_cells, observed_cells
from crawl_urn_dagster_tests.urn.goodness_of_fit.populations import (
    EMPTY,
    as_counts,
    core_and_two_shells,
    group,
    presence,
)


def expected_of_history(history, of):
    """Sum over the crawl of entry and the last crawl alive: the definition."""
    n_crawls, total = len(history), 0.0
    entries = of.eligible - np.append(0, of.survival * of.eligible[:-1])
    for entry, last in itertools.combinations_with_replacement(range(n_crawls), 2):
        if not any(history[:entry]) and not any(history[last + 1 :]):
            drawn = np.where(history, of.coverage, 1 - of.coverage)[entry : last + 1].prod()
            dies = 1 - of.survival[last] if last < n_crawls - 1 else 1.0
            total += entries[entry] * of.survival[entry:last].prod() * dies * drawn
    return total


def test_expected_cells_sum_the_histories():
    classes, n_crawls = core_and_two_shells(n_crawls=6), 6
    total = np.zeros((n_crawls, n_crawls, n_crawls + 1))
    for history in itertools.product([False, True], repeat=n_crawls):
        if any(history):
            captures = np.flatnonzero(history)
            cell = captures[0], captures[-1], captures.size
            total[cell] += sum(expected_of_history(history, of) for of in classes)
    np.testing.assert_allclose(expected_cells(classes), total, rtol=1e-12, atol=1e-9)


def test_true_classes_are_not_refuted():
    classes, rng = core_and_two_shells(n_crawls=8, size=500), np.random.default_rng(7)
    expected, repeats = expected_cells(classes), 80
    found = [compare_cells(observed_cells(as_counts(presence(classes, rng))), expected) for _ in range(repeats)]
    df = found[0].df
    assert np.mean([result.c_hat for result in found]) == pytest.approx(1, abs=4 * np.sqrt(2 / df / repeats))
    assert np.mean([result.p_value < 0.05 for result in found]) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / repeats)
    assert not any(result.has_failed for result in found)


def test_wrong_classes_fail_at_any_number_of_elements():
    true = [group("core", 2_000, 1, 1, 10), group("shell", 3_000, 0.9, 0.6, 10)]
    wrong = [group("core", 1_000, 1, 1, 10), group("shell", 4_000, 0.9, 0.6, 10)]
    expected = expected_cells(true), expected_cells(wrong)
    shares = []
    for size in (10.0, 1e5):
        found = compare_cells(np.rint(size * expected[0]), size * expected[1])
        assert found.has_failed
        shares.append(found.misplaced_excess)
        assert (found.worst.first[0], found.worst.last[0], found.worst.captures[0]) == (0, 9, 10)
        assert set(np.argsort(-found.excess_by_crawl)[:2]) == {0, 9}
    assert shares[0] == pytest.approx(shares[1], rel=0.02)


def test_worst_cells_state_their_counts_and_the_pool():
    expected = np.zeros((3, 3, 4))
    expected[0, 0, 1], expected[0, 2, 2], expected[1, 1, 1], expected[2, 2, 1] = 4.0, 50.0, 3.0, 100.0
    observed = np.zeros_like(expected)
    observed[0, 0, 1], observed[0, 2, 2], observed[1, 1, 1], observed[2, 2, 1] = 6.0, 80.0, 2.0, 100.0
    found = compare_cells(observed, expected)
    assert found.df == 3
    assert found.x2 == pytest.approx(30**2 / 50 + 1 / 7)
    assert found.worst.first.tolist() == [0, 0, 2]
    assert found.worst.last.tolist() == [2, 0, 2]
    assert found.worst.pooled.tolist() == [1, 2, 1]
    assert found.worst.observed.tolist() == [80, 8, 100]
    assert found.worst.expected.tolist() == [50, 7, 100]
    assert found.misplaced == pytest.approx(31 / (2 * 188))


def test_parameters_take_degrees_of_freedom():
    cells = expected_cells(core_and_two_shells(n_crawls=5))
    assert compare_cells(cells, cells, n_parameters=3).df == compare_cells(cells, cells).df - 3


def test_too_few_degrees_of_freedom_are_not_tested():
    for classes in ([group("shell", 3, 0.5, 0.5, n)] for n in (1, 2, 3, 4)):
        n_crawls = len(classes[0].coverage)
        one = CaptureHistoryCounts(np.ones((1, n_crawls), dtype=bool), np.array([1]))
        found = compare_cells(observed_cells(one), expected_cells(classes), n_parameters=5)
        assert not found.is_tested
        assert not found.has_failed
        assert np.isnan([found.x2, found.c_hat, found.p_value, found.misplaced]).all()
    assert not compare_cells(observed_cells(EMPTY), expected_cells([group("shell", 30, 0.5, 0.5, 3)])).is_tested
    assert not compare_cells(np.zeros((0, 0, 1)), np.zeros((0, 0, 1))).is_tested


def test_70_crawls_take_less_than_a_processor_second():
    classes = core_and_two_shells(n_crawls=70, size=20_000, growth=0.0)
    start = time.process_time()
    expected = expected_cells(classes)
    assert compare_cells(expected, expected).x2 == 0
    assert time.process_time() - start < 1


def test_wide_cells_hold_the_elements_of_narrow_ones(monkeypatch):
    classes = core_and_two_shells(n_crawls=23)
    counts = as_counts(presence(classes, np.random.default_rng(1)))
    narrow = [expected_cells(classes), observed_cells(counts)]
    monkeypatch.setattr(thinning, "LONGEST_COMPLETE", 20)
    monkeypatch.setattr(cells, "_MOST_BINS", 6)
    wide = [expected_cells(classes), observed_cells(counts)]
    bins = np.arange(0, 23, 4)
    for one, other in zip(narrow, wide, strict=True):
        summed = np.add.reduceat(np.add.reduceat(one, bins, axis=0), bins, axis=1)
        np.testing.assert_allclose(other, np.add.reduceat(summed, np.arange(0, 24, 4), axis=2), rtol=1e-9)
    assert compare_cells(wide[1], wide[0], n_crawls=23).excess_by_crawl.shape == (23,)
