"""Test the search for groups that account for more of the losses than chance allows."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from crawl_urn_dagster.urn.elements.losses import concentration


def test_p_values_are_those_of_holm():
    expected, lost = np.array([50, 100, 850]), np.array([8, 2, 10])
    single = hypergeom.sf(lost - 1, 1000, expected, 20)
    found = concentration(expected, lost)
    assert found.p_value[0] == pytest.approx(3 * single[0])
    assert found.p_value[1] == pytest.approx(min(1, 2 * single[1]))
    assert found.is_concentrated.tolist() == [True, False, False]


def test_random_losses_are_rarely_concentrated():
    """Any of 40 groups is found by chance in at most 1 % of the collections."""
    rng = np.random.default_rng(5)
    expected = np.full(40, 25)
    alarms = sum(
        concentration(expected, rng.multivariate_hypergeometric(expected, 60)).is_concentrated.any() for _ in range(300)
    )
    assert alarms <= 8


def test_significant_but_irrelevant_excess_is_not_concentrated():
    expected, lost = np.array([5000, 50_000]), np.array([700, 5000])
    found = concentration(expected, lost)
    assert found.p_value[0] < 0.01
    assert not found.is_concentrated.any()


def test_no_losses_are_not_concentrated():
    found = concentration(np.array([3, 4]), np.array([0, 0]))
    assert found.p_value.tolist() == [1, 1]
    assert not found.is_concentrated.any()
