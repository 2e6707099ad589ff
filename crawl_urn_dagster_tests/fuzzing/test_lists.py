"""Test that small lists of any pattern are fitted; `lists` runs thousands of them."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.assessment.result import Assessment, Quantity
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.urn import CaptureHistoryCounts, Interval, Status
from crawl_urn_dagster.urn.fits.histories import fit_histories
from crawl_urn_dagster_tests.fuzzing.lists import PATTERNS, error_of, impossible_quantities, random_list


@pytest.mark.parametrize("n_crawls", [2, 4, 12, 40])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_histories_of_any_pattern_are_fitted(pattern, n_crawls):
    seen = PATTERNS[pattern](np.random.default_rng(n_crawls), 20, n_crawls)
    histories, elements = np.unique(seen[seen.any(axis=1)], axis=0, return_counts=True)
    counts, times = (
        CaptureHistoryCounts(histories.reshape(-1, n_crawls), elements.astype(np.int64)),
        np.arange(n_crawls),
    )
    for model in ("homogeneous", "core_shell", "core_two_shells"):
        for over_time in ("constant", "varying"):
            fit = fit_histories(counts, times, model=model, over_time=over_time)
            assert all(0 <= value <= 1 for value in fit.estimates.values())
            assert all(0 <= low <= high <= 1 for low, high in fit.intervals.values())
            assert fit.estimates or fit.status == Status.TOO_FEW_POINTS


@pytest.mark.parametrize("seed", [1, 3, 17, 25])
def test_a_random_list_is_fitted(seed):
    assert error_of(seed) is None


def test_random_lists_are_assessed():
    assert [error for seed in range(12) if (error := error_of(seed, most=8)) is not None] == []


def test_quantity_outside_its_interval_is_found():
    verdict = state_verdict(VerdictName.SOUND)
    quantities = {"population": Quantity(5.0, Interval(6.0, 7.0)), "kappa": Quantity(0.4, Interval(0.3, 0.5))}
    assert impossible_quantities(Assessment(verdict, quantities=quantities)) == ["population"]
    assert impossible_quantities(Assessment(verdict, quantities={"growth": Quantity(np.nan)})) == ["growth"]


def test_random_lists_include_empty_crawls_and_single_elements():
    lists = [random_list(seed)[1] for seed in range(100)]
    assert any(not counts.seen.any(axis=0).all() for counts in lists)
    assert any(counts.distinct_elements == 1 for counts in lists)
    assert {1, 2} <= {counts.n_crawls for counts in lists}
