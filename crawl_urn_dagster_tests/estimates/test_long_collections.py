"""Fits of long collections, which use a part of the pairs and few second derivatives."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.estimates.intervals import with_intervals
from crawl_urn_dagster.urn.data import thinning
from crawl_urn_dagster_tests.benchmarks.step_speed import (
    SIMULATED_CORE,
    SIMULATED_SHELL,
    peak_megabytes,
    simulated_list,
)


def test_rolling_windows_of_long_collections_are_few_and_stay():
    before, after = thinning.window_starts(365, 24, 1), thinning.window_starts(366, 24, 1)
    assert len(before) <= 33
    assert before[-1] == 365 - 24
    assert set(before[:-1]) <= set(after)
    assert thinning.window_starts(100, 24, 1) == list(range(77))


@pytest.mark.slow
def test_intervals_of_all_curves_move_by_less_than_a_tenth(monkeypatch):
    crawls = cu.read_presence(simulated_list(80))

    def fits():
        tables = crawls.tables
        data = CollectionData(tables["crawls"], tables["containment"], tables["discovery_curve"])
        return {fit.kind: fit for fit in with_intervals(fit_primary(data), data, n_replicates=40, seed=1).fits}

    complete = fits()
    monkeypatch.setattr(thinning, "LONGEST_COMPLETE", 40)
    monkeypatch.setattr(thinning, "_MOST_PAIRS", 1_100)  # one pair in 3
    thinned = fits()
    n_compared = 0
    for kind, fit in complete.items():
        for name, interval in fit.intervals.items():
            if name in fit.estimates:
                moved = np.abs(np.subtract(thinned[kind].intervals[name], interval)).max()
                assert moved < 0.1 * (interval.high - interval.low), (kind, name)
                n_compared += 1
    assert n_compared > 40


def _fit_long_list(n_crawls):
    fitted = cu.fit(cu.read_presence(simulated_list(n_crawls)), n_resamples=20)
    return fitted.verdict.quotable.value, dict(fitted.intervals), peak_megabytes()


@pytest.mark.slow
def test_fit_of_200_crawls_has_the_truth_in_its_intervals():
    n_crawls, elements = 200, SIMULATED_CORE + SIMULATED_SHELL
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        quotable, intervals, megabytes = pool.submit(_fit_long_list, n_crawls).result()
    truth = {
        "kappa": SIMULATED_CORE / elements,
        "population": elements,
        "survival": 1 - 3 / n_crawls * SIMULATED_SHELL / elements,
        "growth": 0.0,
    }
    assert quotable != "no"
    for name, value in truth.items():
        assert intervals[name].low <= value <= intervals[name].high, name
    assert megabytes < 700
