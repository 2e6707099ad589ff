"""Intervals from standard errors, on the logit scale."""

import numpy as np
import pytest
from scipy.special import logit

from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE, logit_interval


def test_interval_is_symmetric_on_the_logit_scale():
    value, se = np.array([0.3, 0.98]), np.array([0.05, 0.01])
    low, high = logit_interval(value, se)
    half_width = NORMAL_QUANTILE * se / (value * (1 - value))
    assert logit(value) - logit(low) == pytest.approx(half_width)
    assert logit(high) - logit(value) == pytest.approx(half_width)
    assert pytest.approx(1.96, abs=1e-4) == NORMAL_QUANTILE


def test_interval_is_unknown_at_bounds_and_without_an_error():
    low, high = logit_interval(np.array([0.0, 1.0, 0.5]), np.array([0.1, 0.1, np.nan]))
    assert np.isnan([low, high]).all()


def test_interval_of_a_share_that_may_be_zero_contains_it():
    value, se = np.array([0.02, 0.02, 0.4]), np.array([0.005, 0.012, 0.05])
    plain, reaching = logit_interval(value, se), logit_interval(value, se, np.array([True, True, False]))
    assert plain[0][1] > 0
    assert reaching[0] == pytest.approx([plain[0][0], 0, plain[0][2]])
    assert reaching[1] == pytest.approx(plain[1])
    assert np.isnan(logit_interval(np.array([0.0]), np.array([0.1]), may_be_zero=True)).all()
