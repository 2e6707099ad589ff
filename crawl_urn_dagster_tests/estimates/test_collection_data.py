import numpy as np
import pytest

from crawl_urn_dagster.estimates.collection_data import times_of
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn

COUNTS = urn(6, core=400, shell=600, alpha=0.75, coverage=0.6, seed=3)


@pytest.mark.parametrize(
    ("pairs", "windows", "observables"),
    [
        (True, True, {"containment", "discovery_curve"}),
        (True, False, {"containment"}),
        (False, True, {"discovery_curve"}),
    ],
)
def test_observables_are_the_tables_that_exist(pairs, windows, observables):
    data = collection_data(COUNTS, pairs=pairs, windows=windows, histories=False)
    counts = data.counts("crawl")
    assert set(data.observables) == observables
    assert np.isfinite(counts.intersections).any() == pairs
    assert np.isfinite(counts.unions).any() == windows
    assert data.in_all is None


def test_counts_are_those_of_the_histories():
    data = collection_data(COUNTS)
    upper = np.triu_indices(6, k=1)
    np.testing.assert_array_equal(data.counts("crawl").intersections[upper], COUNTS.intersections()[upper])
    np.testing.assert_array_equal(data.counts("crawl").unions[upper], COUNTS.unions()[upper])
    assert data.in_all == COUNTS.in_all
    assert data.counts("crawl") is data.counts("crawl")


def test_times_are_in_units_of_the_clock():
    data = collection_data(COUNTS)
    assert data.times("crawl").tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(data.times("year"), data.crawls["years"])
    np.testing.assert_array_equal(data.counts("year").times, times_of(data.crawls, "year"))


def test_histories_of_a_sample_are_the_counted_elements():
    whole, sample = (collection_data(COUNTS, error) for error in (CountingError(), CountingError(one_in=2)))
    assert whole.counted_histories.distinct_elements == COUNTS.distinct_elements
    assert sample.counted_histories.distinct_elements < COUNTS.distinct_elements
    assert collection_data(COUNTS, histories=False).counted_histories is None
