"""Means over blocks of neighbours, and their standard errors."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.block_means import block_mean


def test_independent_values_have_the_usual_standard_error():
    values = np.random.default_rng(5).normal(2, 3, size=40_000)
    mean, se = block_mean(values)
    assert mean == pytest.approx(values.mean())
    # The variance of 10,000 blocks from their differences has a relative error of sqrt(3/10,000).
    assert se**2 == pytest.approx(9 / 40_000, rel=4 * np.sqrt(3 / 10_000))


def test_equal_neighbours_count_once():
    independent = np.random.default_rng(5).normal(size=10_000)
    _, se = block_mean(np.repeat(independent, 4))
    # The variance of 10,000 blocks from their differences has a relative error of sqrt(3/10,000).
    assert se**2 == pytest.approx(1 / 10_000, rel=4 * np.sqrt(3 / 10_000))


def test_block_mean_by_hand():
    # Blocks (1 2 3 4 5) and (6 7 8 9): means 3 and 7.5, and half the squared difference over two blocks.
    assert block_mean([1, 2, 3, np.nan, 4, 5, 6, 7, 8, 9]) == pytest.approx((5, np.sqrt(4.5**2 / 2 / 2)))
    assert block_mean([1, 2, 6, 10], block=2) == pytest.approx((4.75, np.sqrt(6.5**2 / 2 / 2)))


def test_fewer_than_two_blocks_have_no_standard_error():
    mean, se = block_mean([1, 2, 3, 4, 5, 6, 7])
    assert mean == 4
    assert np.isnan(se)
    assert np.isnan(block_mean([np.nan])).all()


def test_one_change_of_regime_hardly_affects_the_error():
    noise = 0.05 * np.random.default_rng(6).normal(size=80)
    _, quiet = block_mean(noise)
    _, changed = block_mean(noise + np.repeat([0.0, 0.3], 40))
    # One of the 19 differences of 20 blocks changes, by 0.3, while all block means move by 0.15.
    assert changed < quiet + 0.3 / np.sqrt(2 * 19 * 20)
    assert changed < 0.5 * 0.15 / np.sqrt(20)
