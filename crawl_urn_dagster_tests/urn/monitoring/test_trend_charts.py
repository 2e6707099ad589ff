"""Charts about a trend: false alarms, detection, and the date of a step with its interval."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.monitoring.control_charts import FALSE_ALARMS
from crawl_urn_dagster.urn.monitoring.trend_charts import FEWEST_REFERENCE, chart_trend

N, REFERENCE, STEP = 48, 24, 32


def series(seed, rho=0.0):
    """Return a rising line with first-order autoregressive errors of standard deviation 0.02."""
    rng = np.random.default_rng(seed)
    errors = rng.standard_normal(N)
    for t in range(1, N):
        errors[t] = rho * errors[t - 1] + np.sqrt(1 - rho**2) * errors[t]
    return 6 + 0.01 * np.arange(N) + 0.02 * errors


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_trend_alone_seldom_raises_an_alarm(rho):
    raised = [chart_trend(series(seed, rho), REFERENCE, seed=seed).alarmed.any() for seed in range(60)]
    # Twice the nominal rate is allowed for, because the memory of the errors is estimated.
    assert np.mean(raised) <= 2 * FALSE_ALARMS + 3 * np.sqrt(2 * FALSE_ALARMS * (1 - 2 * FALSE_ALARMS) / 60)


def test_step_is_found_and_its_interval_contains_the_date():
    held, found = [], []
    for seed in range(40):
        values = series(seed)
        values[STEP:] -= 0.2
        chart = chart_trend(values, REFERENCE, seed=seed)
        since, first, last = chart.date_change()
        assert first <= since <= last
        found.append(chart.alarmed.any())
        held.append(first <= STEP <= last)
    assert np.mean(found) > 0.9
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)


def test_values_on_a_line_stay_at_the_centre():
    chart = chart_trend(series(0), REFERENCE, seed=1)
    assert chart.n_reference == REFERENCE
    np.testing.assert_allclose(chart.expected + chart.residuals, series(0))
    low, high = chart.error
    assert low < 0 < high


@pytest.mark.parametrize("n_reference", [FEWEST_REFERENCE - 1, N])
def test_unsuitable_reference_is_refused(n_reference):
    with pytest.raises(ValueError, match="reference crawls"):
        chart_trend(series(0), n_reference, seed=1)
