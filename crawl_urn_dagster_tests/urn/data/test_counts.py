"""Raw counts: what they accept, and how crawls and replicates are selected."""

from dataclasses import replace

import numpy as np
import pytest

from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster.urn.data.counts import Counts

CRAWLS = 8
HISTORIES = simulate(times=np.arange(CRAWLS), core=300, shell=900, alpha=0.8, coverage=0.6, seed=1).counts()
SHARED, UNIONS = HISTORIES.intersections().astype(float), HISTORIES.unions().astype(float)
COUNTS = Counts(np.arange(CRAWLS, dtype=float), np.diagonal(SHARED), SHARED, UNIONS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sizes": COUNTS.sizes[1:]}, "shapes"),
        ({"unions": UNIONS[1:]}, "shapes"),
        ({"sizes": np.where(np.arange(CRAWLS) == 3, 0.0, COUNTS.sizes)}, "size of crawl 3 is 0.0"),
        ({"sizes": np.where(np.arange(CRAWLS) == 2, np.nan, COUNTS.sizes)}, "size of crawl 2 is nan"),
        ({"times": COUNTS.times[::-1]}, "time order"),
        ({"times": np.zeros(CRAWLS)}, "same time"),
        ({"relative_error": 1.0}, "relative_error is 1.0"),
        ({"one_in": 0.5}, "one_in is 0.5"),
    ],
)
def test_impossible_counts_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        replace(COUNTS, **changed)


def test_replicates_repeat_and_select():
    many = COUNTS.repeated(5)
    assert many.sizes.shape == (5, CRAWLS)
    assert many.select(slice(1, 3)).unions.shape == (2, CRAWLS, CRAWLS)


def test_window_selects_crawls_and_starts_at_time_zero():
    window = COUNTS.repeated(2).window(3, 6)
    assert window.times.tolist() == [0, 1, 2]
    assert (window.sizes == COUNTS.sizes[3:6]).all()
    assert (window.intersections == SHARED[3:6, 3:6]).all()
    assert (window.unions == UNIONS[3:6, 3:6]).all()


def test_times_are_converted_to_mean_gaps():
    counts = replace(COUNTS, times=np.arange(CRAWLS) ** 2 / 7.0)
    assert counts.mean_gap == 1
    assert replace(COUNTS, times=3 * counts.times).in_mean_gaps == pytest.approx(counts.times)
