"""Conversions between parameters: inverses, and divisions by 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_urn_dagster.urn import Urn
from crawl_urn_dagster.urn.curves.conversions import core_share_from_kappa, kappa_from_core_share, ratio, urn_from_tail

FRACTION = st.floats(0, 1)
INNER = st.floats(0.01, 0.99)


@given(INNER, INNER)
def test_tail_gives_back_the_urn(alpha, coverage):
    end = Urn(alpha, coverage).asymptote()
    assert urn_from_tail(float(end.rho_inf), float(end.tau_h)) == pytest.approx((alpha, coverage), rel=1e-10)


def test_tail_outside_the_model_gives_raw_values():
    assert urn_from_tail(1.2, 0.5) == pytest.approx((1.7 / 1.5, 1.2 / 1.7))


@given(FRACTION, st.floats(1e-6, 1))
def test_core_share_maps_back_to_kappa(kappa, coverage):
    core_share = core_share_from_kappa(kappa, coverage)
    assert core_share >= kappa * (1 - 1e-15)
    assert kappa_from_core_share(core_share, coverage) == pytest.approx(kappa, rel=1e-9)


def test_core_share_without_a_core_or_at_coverage_zero():
    assert core_share_from_kappa(0.0, 0.0) == 0
    assert core_share_from_kappa(0.3, 0.0) == 1
    assert kappa_from_core_share(0.3, 0.0) == 0
    assert kappa_from_core_share(1.0, 0.0) == 1


def test_ratio_by_zero_is_infinite_or_the_given_value():
    assert ratio(1.0, 0.0) == float("inf")
    assert ratio(1.0, 5e-324) == float("inf")
    assert ratio(0.0, 0.0) == 0
    assert ratio(0.0, 0.0, undefined=1.0) == 1


@pytest.mark.parametrize("numerator", [0.0, 1e-300, 0.3, 1.0, 7.0, np.inf, np.nan])
@pytest.mark.parametrize("denominator", [0.0, 1e-320, 1e-9, 0.7, 3.0, np.inf, np.nan])
def test_ratio_of_numbers_equals_ratio_of_arrays(numerator, denominator):
    number = ratio(numerator, denominator, undefined=0.5)
    (element,) = ratio(np.array([numerator]), np.array([denominator]), undefined=0.5)
    assert number == element
    assert type(number) is type(element)
