"""Long collections are searched by gradients, and reach the maxima that Newton's method reaches."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster.urn.data import thinning
from crawl_urn_dagster.urn.open_population.ladder import fit_member


@pytest.mark.parametrize("name", ["core_shell", "two_shells_no_core_growing", "core_two_shells"])
def test_search_by_gradients_reaches_the_same_maximum(name, monkeypatch):
    coverage = np.random.default_rng(1).uniform(0.4, 0.7, 24)
    counts = simulate(times=np.arange(24.0), core=200, shell=800, alpha=0.9, coverage=coverage, seed=1).counts()
    expected = fit_member(counts, name)
    monkeypatch.setattr(thinning, "LONGEST_COMPLETE", 20)
    found = fit_member(counts, name)
    assert found.converged
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-2)
    for quantity, interval in expected.intervals.items():
        tolerance = 0.1 * (interval.high - interval.low) + 1e-12  # an interval at a bound has no width
        np.testing.assert_allclose(found.intervals[quantity], interval, rtol=0, atol=tolerance)
