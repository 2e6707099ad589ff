"""Long collections are divided into blocks that hold every known pair once; shorter ones are not thinned."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import Counts
from crawl_urn_dagster.urn.curves.data_points import Points
from crawl_urn_dagster.urn.data.thinning import (
    LONGEST_COMPLETE,
    blocks_of_pairs,
    is_long,
    kept_pairs,
    kept_windows,
)


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_blocks_hold_every_known_pair_once(share):
    known = np.triu(np.random.default_rng(1).random((213, 213)) < share, 1)
    held = np.zeros(known.shape, dtype=int)
    for i, j, m in blocks_of_pairs(known).T:
        held[i : i + m, j : j + m] += 1
        assert m == 1 or j - i >= 12 * m
    np.testing.assert_array_equal(held, known)


def test_number_of_points_grows_with_the_number_of_crawls():
    sizes = [blocks_of_pairs(np.triu(np.ones((n, n), dtype=bool), 1)).shape[1] for n in (400, 800)]
    assert sizes[1] < 2.2 * sizes[0]
    assert kept_pairs(800).sum() < 8_100


@pytest.mark.parametrize("n", [130, 365, 1_000])
def test_selected_windows_are_spread_evenly_over_lags_and_crawls(n):
    kept = kept_windows(n)
    one_in = n * (n + 1) / 2 / kept.sum()
    assert kept.any(axis=1).sum() < 240
    for lag in range(n):
        assert abs(np.diagonal(kept, lag).sum() - (n - lag) / one_in) <= 2
    for crawl in range(n):
        assert abs(kept[:, crawl].sum() - (crawl + 1) / one_in) <= 2


def test_nothing_is_thinned_up_to_the_threshold():
    n = LONGEST_COMPLETE
    assert not is_long(n)
    assert kept_windows(n).sum() == n * (n + 1) / 2
    times, table = np.arange(float(n)), np.ones((n, n))
    points = Points.from_counts(Counts(times, np.ones(n), table, table))
    assert points.sides is None
    assert len(points.i) == n * (n - 1) - (n - 1)


def test_replicates_of_selected_crawls_keep_their_counts():
    n = LONGEST_COMPLETE + 5
    table = np.arange(float(n * n)).reshape(n, n)
    counts = Counts(np.arange(float(n)), np.ones(n), table, table + 0.5)
    held = counts.hold(held=_held(n), of_points=np.zeros(1))
    i, j = np.array([3, 3]), np.array([4, 9])
    np.testing.assert_array_equal(held.overlaps_of(i, j), [table[3, 4], np.nan])
    np.testing.assert_array_equal(held.window(2, 20).overlaps_of(i - 2, j - 2), [table[3, 4], np.nan])
    np.testing.assert_array_equal(held.window(2, 20).unions_of(i - 2, j - 2), [np.nan, table[3, 9] + 0.5])


def test_means_by_lag_are_over_all_known_pairs():
    n = 6
    table = np.random.default_rng(1).random((2, n, n))
    table[:, 1, 4] = np.nan
    counts = Counts(np.arange(float(n)), np.full((2, n), 2.0), table, table + 1)
    containment, ratio = np.moveaxis(counts.means_by_lag(), -2, 0)
    for lag in range(1, n):
        np.testing.assert_allclose(containment[:, lag], np.nanmean(table.diagonal(lag, 1, 2) / 2, axis=1))
        np.testing.assert_allclose(ratio[:, lag], np.nanmean((table.diagonal(lag, 1, 2) + 1) / 2, axis=1))


def _held(n):
    from crawl_urn_dagster.urn.data.counts import HeldPairs

    return HeldPairs(np.eye(n, k=1, dtype=bool), np.eye(n, k=6, dtype=bool))
