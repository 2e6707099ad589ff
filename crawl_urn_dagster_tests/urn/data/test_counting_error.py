"""Intervals of samples and sketches: exact cases, and how often they contain the true value."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, simulate, unions_from_recaptures
from crawl_urn_dagster_tests.urn.sketching import estimates

ONE_IN = 64
COUNTS = np.array([0.0, 1.0, 40.0, 1e6])


def test_exact_counts_have_no_error():
    exact = CountingError()
    for limits in (
        exact.count_interval(COUNTS),
        exact.containment_interval(COUNTS, 2e6, 3e6),
        exact.ratio_interval(2e6, COUNTS[1:]),
    ):
        np.testing.assert_allclose(limits[0], limits[1], rtol=1e-12)
    assert exact.containment_interval(COUNTS, 2e6, 3e6)[0].tolist() == (COUNTS / 2e6).tolist()
    sizes = np.arange(1.0, 1000.0)
    assert (
        exact.ratio_interval(1234.0, sizes)[0].tolist()
        == exact.ratio_interval(1234.0, sizes)[1].tolist()
        == (1234 / sizes).tolist()
    )


@pytest.mark.parametrize("error", [CountingError(one_in=10), CountingError(relative=0.01)])
def test_interval_of_an_empty_crawl_is_unknown(error):
    assert np.isnan(error.containment_interval(0, 0, 5)).all()
    assert np.isnan(error.ratio_interval(5, 0)).all()
    assert np.isnan(error.containment_interval(3, np.nan, 5)).all()


def test_sample_intervals_contain_the_estimate():
    sampled = CountingError(one_in=ONE_IN)
    low, high = sampled.count_interval(ONE_IN * np.arange(50))
    assert (low[1:] > 0).all()
    assert low[0] == 0
    assert ((low <= ONE_IN * np.arange(50)) & (ONE_IN * np.arange(50) <= high)).all()
    low, high = sampled.containment_interval(ONE_IN * np.arange(11), ONE_IN * 10, ONE_IN * 10)
    assert (low >= 0).all()
    assert (high <= 1 + 1e-12).all()
    assert high[0] > 0
    assert low[-1] < 1


def test_sample_intervals_contain_the_true_value():
    """Each disjoint sample of an urn is one observation, because its containments share elements."""
    histories = simulate(times=np.arange(8.0), core=40_000, shell=60_000, alpha=0.75, coverage=0.6, seed=2)
    seen = np.unpackbits(histories.packed, axis=1, count=8).astype(bool)
    part = np.random.default_rng(5).integers(0, ONE_IN, len(seen))
    i, j = np.triu_indices(8, k=1)

    def observed(rows, times):
        counts = CaptureHistoryCounts(rows, np.full(len(rows), times))
        intersections = counts.intersections()
        unions = unions_from_recaptures(np.diagonal(intersections), counts.recaptures())
        return np.diagonal(intersections)[i], np.diagonal(intersections)[j], intersections[i, j], unions[i, j]

    size, _, both, union = observed(seen, 1)
    truths = {"containment": both / size, "union": union, "ratio": union / size}
    inside = {name: [] for name in truths}
    error = CountingError(one_in=ONE_IN)
    for number in range(ONE_IN):
        size, other, both, union = observed(seen[part == number], ONE_IN)
        limits = {
            "containment": error.containment_interval(both, size, other),
            "union": error.count_interval(union),
            "ratio": error.ratio_interval(union, size),
        }
        for name, (low, high) in limits.items():
            inside[name].append(np.mean((low <= truths[name]) & (truths[name] <= high)))
    for name, shares in inside.items():
        standard_error = np.std(shares, ddof=1) / np.sqrt(ONE_IN)
        assert abs(np.mean(shares) - 0.95) < 3 * standard_error, name


@pytest.mark.parametrize(
    ("both", "one", "other"), [(0, 1e6, 1e6), (1e5, 9e5, 9e5), (6e5, 4e5, 6e5), (9e5, 1e5, 2e6), (1e6, 1e5, 1e5)]
)
def test_sketch_intervals_contain_the_true_value(both, one, other):
    """Errors of sketches are correlated by the shared elements of disjoint to nearly equal crawls."""
    relative, n = 0.03, 2_000
    groups = np.array([max(both, 1e-9), one, other])
    sets = np.array([[True, True, False], [True, False, True], [True, True, True]])
    drawn = estimates(np.random.default_rng(3), groups, sets, error=relative, draws=n)
    sizes, others, unions = drawn.T
    error = CountingError(relative=relative)
    cases = {
        "count": (error.count_interval(unions), both + one + other),
        "ratio": (error.ratio_interval(unions, sizes), (both + one + other) / (both + one)),
        "containment": (error.containment_interval(sizes + others - unions, sizes, others), both / (both + one)),
    }
    for name, ((low, high), truth) in cases.items():
        inside = np.mean((low <= truth) & (truth <= high))
        # The estimates are not exactly normal: 0.01 is added to three standard errors.
        assert abs(inside - 0.95) < 3 * np.sqrt(0.95 * 0.05 / n) + 0.01, name
