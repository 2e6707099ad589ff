"""Partial pooling of simulated groups."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE
from crawl_urn_dagster.urn.uncertainty.partial_pooling import pool_partially, slope_of_groups

GROUPS, RUNS = 6, 150


def drawn(between_sd, seed):
    """Return true values, estimates and standard errors, shape (runs, groups)."""
    rng = np.random.default_rng(seed)
    errors = rng.choice([0.1, 0.2, 0.4], (RUNS, GROUPS))
    truth = 0.5 + between_sd * rng.normal(size=(RUNS, GROUPS))
    return truth, truth + errors * rng.normal(size=truth.shape), errors


@pytest.mark.parametrize(("between_sd", "largest_ratio"), [(0.0, 0.5), (0.3, 0.9), (1.0, 1.02)])
def test_pooling_reduces_errors_and_keeps_coverage(between_sd, largest_ratio):
    truth, estimates, errors = drawn(between_sd, seed=4)
    pooled = [pool_partially(*some) for some in zip(estimates, errors, strict=True)]
    values = np.array([one.value for one in pooled])
    assert np.sqrt(((values - truth) ** 2).mean() / ((estimates - truth) ** 2).mean()) < largest_ratio
    half = NORMAL_QUANTILE * np.array([one.standard_error for one in pooled])
    # 900 intervals; with few groups, those of the least certain groups cover a little less than 0.95.
    assert (abs(values - truth) <= half).mean() > 0.89


def test_homogeneity_is_rejected_at_its_level():
    p_values = [pool_partially(*some).p_value for some in zip(*drawn(0.0, seed=5)[1:], strict=True)]
    assert np.mean(np.array(p_values) < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)
    differing = [pool_partially(*some).p_value for some in zip(*drawn(1.0, seed=5)[1:], strict=True)]
    assert np.mean(np.array(differing) < 0.05) > 0.9


def test_group_without_an_estimate_borrows_everything():
    pooled = pool_partially(np.array([0.4, 0.6, np.nan]), np.array([0.1, 0.1, np.nan]))
    assert pooled.weight[2] == pytest.approx(1)
    assert pooled.value[2] == pytest.approx(0.5)
    assert pooled.standard_error[2] > pooled.standard_error[:2].max()
    with pytest.raises(ValueError, match="found 1 groups with an estimate"):
        pool_partially(np.array([0.4, np.nan]), np.array([0.1, 0.1]))


def test_slope_is_recovered_and_absent_without_one():
    rank = np.arange(GROUPS, dtype=float)
    _, estimates, errors = drawn(0.0, seed=6)
    steep = [slope_of_groups(rank, y + 0.3 * rank, s) for y, s in zip(estimates, errors, strict=True)]
    assert np.mean([one.low <= 0.3 <= one.high for one in steep]) > 0.92
    assert np.mean([one.low > 0 for one in steep]) > 0.9
    assert slope_of_groups(rank[:2], estimates[0, :2], errors[0, :2]) is None
