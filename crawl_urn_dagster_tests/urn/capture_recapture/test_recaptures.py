"""The sufficient statistic of the m-array, and the probability of no later capture."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.capture_recapture.recaptures import (
    never_seen_again,
    never_seen_again_gradient,
    recapture_counts,
)
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import histories


def test_recapture_counts_of_histories():
    found = recapture_counts(*histories("101 3", "110 2", "011 4"))
    assert [array.tolist() for array in found] == [[5, 6, 7], [5, 6, 7], [5, 4, 0], [0, 2, 7], [0, 3, 0]]


def test_m_array_of_dippers(all_dippers, dipper_reference):
    sizes, recaptures = all_dippers
    published = np.array(dipper_reference["m_array"])
    np.testing.assert_array_equal(sizes[:-1], published[:, 0])
    np.testing.assert_array_equal(recaptures[:-1, 1:], published[:, 1:])


def test_never_seen_again_sums_all_fates():
    phi, p = np.array([0.7, 0.5, 0.9]), np.array([0.3, 0.6, 0.2])
    # The element dies in the first, the second or the third gap, or survives.
    fates = [0.3, 0.7 * 0.7 * 0.5, 0.7 * 0.7 * 0.5 * 0.4 * 0.1, 0.7 * 0.7 * 0.5 * 0.4 * 0.9 * 0.8]
    chi = never_seen_again(phi, p)
    assert chi[0] == pytest.approx(sum(fates))
    assert chi[-1] == 1


def test_gradient_matches_differences():
    rng = np.random.default_rng(1)
    phi, p, weights = rng.uniform(0.1, 0.9, (2, 6)), rng.uniform(0.1, 0.9, (2, 6)), rng.uniform(0, 5, (2, 7))

    def value(phi, p):
        return (weights * np.log(never_seen_again(phi, p))).sum()

    by_phi, by_p = never_seen_again_gradient(weights, phi, p, never_seen_again(phi, p))
    for index in np.ndindex(phi.shape):
        step = np.zeros_like(phi)
        step[index] = 1e-6
        assert by_phi[index] == pytest.approx((value(phi + step, p) - value(phi - step, p)) / 2e-6, rel=1e-6, abs=1e-8)
        assert by_p[index] == pytest.approx((value(phi, p + step) - value(phi, p - step)) / 2e-6, rel=1e-6, abs=1e-8)
