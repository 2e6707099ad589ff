"""Intervals are adjusted for other crawls, for crawls before the first, and at bounds."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.assessment.adjustments import (
    complement,
    over_crawls,
    over_earlier_crawls,
    with_rule_of_three,
)
from crawl_urn_dagster.estimates.assessment.result import Quantity, format_quantity
from crawl_urn_dagster.urn import Interval
from crawl_urn_dagster.urn.open_population.quantity_intervals import Course, limits_of


def course(values, error=0.0):
    values = np.array(values)
    return Course(values, np.full(len(values), error), values, values)


def test_variation_between_crawls_widens_both_sides():
    sampled = Quantity(0.8, Interval(0.79, 0.81))
    low, high = over_crawls(sampled, course([0.7, 0.9, 0.75, 0.85, 0.8, 0.8])).interval
    assert 0.6 < low < 0.79
    assert 0.81 < high < 0.9
    assert over_crawls(sampled, course([0.8] * 6)) == sampled


def test_variation_next_to_one_leaves_an_informative_interval():
    found = over_crawls(Quantity(0.9999, Interval(0.999, 1.0)), course([1.0, 1.0, 0.999, 1.0, 1.0, 1.0]))
    assert 0.99 < found.interval.low < 0.999
    assert found.interval.high == 1


def test_completeness_without_earlier_crawls_is_inside():
    found = over_earlier_crawls(Quantity(0.9, Interval(0.85, 0.95)), 0.97)
    assert found.interval == pytest.approx((0.85, 1.0))
    assert (found.inner, found.assumption) == (Interval(0.85, 0.95), "earlier_crawls")
    for same in (0.9, np.nan):
        assert over_earlier_crawls(Quantity(0.9, Interval(0.85, 0.95)), same).assumption is None


def test_rates_without_events_have_a_limit():
    none = with_rule_of_three(Quantity(6e-6, Interval(6e-6, 6e-6)), 6_000)
    assert format_quantity("gone", none) == "share of a crawl gone by the next 0 (upper limit 0.0005)"
    assert format_quantity("survival", complement(none)) == "survival per crawl 1 (lower limit 0.9995)"
    few = with_rule_of_three(Quantity(2 / 6_000, Interval(1e-4, 4e-4)), 6_000)
    assert few.value == 2 / 6_000
    assert few.interval == pytest.approx((0, 5e-4))
    known = Quantity(0.1, Interval(0.05, 0.15))
    assert with_rule_of_three(known, 6_000) == known


def test_interval_of_survival_next_to_one_is_short():
    low, high = limits_of("mean_survival", 0.9999, 0.001)
    assert (low, high) == pytest.approx((0.9999 - 1.96 * 0.001, 1.0), abs=1e-6)
    assert limits_of("kappa", 0.95, 0.03)[1] < 1
