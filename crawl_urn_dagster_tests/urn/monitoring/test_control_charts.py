"""Control charts: their limit, and what each crawl shows."""

import numpy as np
import pytest
from scipy.special import logit

from crawl_urn_dagster.urn import Counts, fit_joint
from crawl_urn_dagster.urn.monitoring.control_charts import (
    CHARTS,
    FALSE_ALARMS,
    HORIZON,
    draw_baseline,
    monitor,
    to_parameter_scale,
)
from crawl_urn_dagster_tests.benchmarks.drift_error_rates import ALPHA, CHANGE_AFTER, COVERAGE, KAPPA, NONE
from crawl_urn_dagster_tests.urn.monitoring.scenarios import CELL, counts_of, monitored


def test_limit_is_exceeded_by_the_nominal_share(baseline):
    n = len(baseline.largest)
    assert FALSE_ALARMS - 2 / n < np.mean(baseline.largest > baseline.limit) <= FALSE_ALARMS
    assert baseline.mean.shape == baseline.sd.shape == (len(CHARTS), HORIZON)


def test_estimates_from_each_crawl_are_unbiased(baseline):
    monitoring = monitored(baseline, NONE)
    core, survival, coverage = (
        to_parameter_scale(monitoring, chart, monitoring.by_crawl[row]) for row, chart in enumerate(CHARTS)
    )
    # The shell elements in both of two crawls are a sample, at lags 1 to 23.
    assert np.abs(core - KAPPA).max() < 0.01
    assert np.isnan(survival[0])
    assert np.nanmean(survival) == pytest.approx(ALPHA, abs=0.01)
    noise = logit(coverage) - logit(COVERAGE)
    assert noise.std() == pytest.approx(0.25, abs=3 * 0.25 / np.sqrt(2 * len(noise)))


def test_equal_seeds_give_equal_limits(baseline):
    counts = counts_of(NONE)
    again = draw_baseline(baseline.bootstrap.fit, counts, seed=1, n_replicates=150)
    np.testing.assert_array_equal(again.largest, baseline.largest)


def test_unions_of_neighbours_replace_their_overlap(baseline):
    counts = counts_of("κ 0.40 → 0.35")
    unions_only = Counts(counts.times, counts.sizes, np.full_like(counts.intersections, np.nan), counts.unions)
    reference = fit_joint(unions_only.window(0, CELL.window), model="core_shell", clock="crawl")
    monitoring = monitor(draw_baseline(reference, unions_only, seed=1, n_replicates=60), unions_only)
    assert monitoring.alarmed[:, CHANGE_AFTER:].any()
    np.testing.assert_allclose(monitoring.by_crawl[2], monitored(baseline, "κ 0.40 → 0.35").by_crawl[2], atol=0.1)


def test_number_of_monitored_crawls_is_checked(baseline):
    counts = counts_of(NONE)
    with pytest.raises(ValueError, match="there are 24 crawls; expected more than the 24 of the reference"):
        monitor(baseline, counts.window(0, CELL.window))
