"""Expected counts of blocks of pairs are the sums over their pairs."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.curves.blocks import BlockPairs, count_slopes, expect_counts, sum_counts
from crawl_urn_dagster.urn.curves.expectations import ClassSlopes, ElementClass, table_of_pairs

_N = 40


def _shell(step=0.0):
    rng = np.random.default_rng(1)
    coverage = rng.uniform(0.1, 0.9, (2, _N)) + step * np.linspace(0, 1, _N)
    times = np.cumsum(rng.uniform(0.5, 2, _N))
    return ElementClass(times, np.full((2, 1), 100.0) + step, coverage, np.array([0.9, 0.97]) * np.exp(step))


def _blocks():
    i, j, m = np.array([[0, 24, 1], [0, 10, 2], [8, 16, 8], [16, 32, 4], [3, 4, 1], [0, 39, 1]]).T
    return BlockPairs(i, j, m)


def _tables(shell):
    i, j = np.triu_indices(_N, k=1)
    return [table_of_pairs(values, i, j, _N) for values in (shell.intersections(i, j), shell.recaptures(i, j))]


def test_block_counts_are_sums_of_pairs():
    shell, blocks = _shell(), _blocks()
    for table, factors in zip(_tables(shell), (shell.overlap_factors(), shell.recapture_factors()), strict=True):
        np.testing.assert_allclose(expect_counts(factors, blocks), sum_counts(table, blocks), rtol=1e-10)


@pytest.mark.parametrize("kind", [0, 1])
def test_slopes_of_block_counts_are_differences(kind):
    shell, blocks, step = _shell(), _blocks(), 1e-6
    slopes = ClassSlopes(np.ones((2, 1, 1)), np.tile(np.linspace(0, 1, _N), (2, 1, 1)), np.ones((2, 1)))
    if kind == 0:
        found = count_slopes(shell.overlap_factors(), shell.overlap_factor_slopes(slopes), blocks)
    else:
        found = count_slopes(*shell.recapture_factor_slopes(slopes), blocks)
    low, high = (sum_counts(_tables(_shell(side))[kind], blocks) for side in (-step, step))
    np.testing.assert_allclose(found[:, 0], (high - low) / (2 * step), rtol=1e-6, atol=1e-6 * high.max())
