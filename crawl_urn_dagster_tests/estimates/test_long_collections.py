"""Collections of a year of daily crawls get a verdict, with the time left on the way."""

import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.urn.data import thinning
from crawl_urn_dagster_tests.benchmarks.step_speed import simulated_list


@pytest.mark.slow
def test_365_crawls_get_a_verdict_and_numbers():
    lines = []
    fitted = cu.fit(simulated_list(365), n_resamples=20, progress=lines.append)
    assert fitted.verdict.name != "not_fitted"
    assert fitted.headline.estimates["kappa"] == pytest.approx(1 / 6, abs=0.01)
    assert fitted.headline.estimates["alpha"] == pytest.approx(1 - 3 / 365, abs=0.003)
    assert all("s left" in line for line in lines[1:4])


def test_rolling_windows_of_long_collections_are_few_and_stay():
    before, after = thinning.window_starts(365, 24, 1), thinning.window_starts(366, 24, 1)
    assert len(before) <= 33
    assert before[-1] == 365 - 24
    assert set(before[:-1]) <= set(after)
    assert thinning.window_starts(100, 24, 1) == list(range(77))
