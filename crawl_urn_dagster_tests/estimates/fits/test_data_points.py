"""Points of fits, and the same points of bootstrap replicates."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.fits.data_points import (
    containment_points,
    containment_replicates,
    discovery_points,
    discovery_replicates,
)
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn


@pytest.fixture(scope="module")
def data():
    return collection_data(urn(6, core=400, shell=600, alpha=0.75, coverage=0.6, seed=3))


@pytest.fixture
def replicate(data):
    """The raw counts as a single replicate."""
    return data.counts("crawl").repeated(1)


@pytest.mark.parametrize(("clock", "n_points"), [("crawl", 5), ("year", 15)])
def test_replicate_of_the_data_has_its_containment(data, replicate, clock, n_points):
    _, observed = containment_points(data, clock)
    curves, known = containment_replicates(data, clock, replicate)
    assert len(observed) == n_points
    np.testing.assert_allclose(curves, observed[None])
    np.testing.assert_allclose(known, observed)


@pytest.mark.parametrize(("clock", "n_points"), [("crawl", 5), ("year", 15)])
def test_replicate_of_the_data_has_its_discovery_curve(data, replicate, clock, n_points):
    _, start, end, ratio = discovery_points(data, clock)
    curves, lengths = discovery_replicates(data, clock, replicate)
    assert curves.shape == (1, n_points)
    np.testing.assert_allclose(curves[0], ratio[end > start])
    assert lengths.tolist() == (end - start)[end > start].tolist()


def test_missing_table_raises(data):
    without = collection_data(urn(6, core=40, shell=60, alpha=0.75, coverage=0.6, seed=3), pairs=False)
    with pytest.raises(ValueError, match="lacks an observable table"):
        containment_points(without, "crawl")
