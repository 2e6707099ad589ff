"""Tests of `urn.open_population.newton`."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.open_population import newton
from crawl_urn_dagster.urn.open_population.newton import covariance_of, maximise_within

WIDE = (np.full(2, -10.0), np.full(2, 10.0))


def _saddle(at):
    """Return a function with a saddle at 0 and maxima at (±1, 0)."""
    x, y = at
    return 2 * x**2 - x**4 - y**2


def _derivatives(at):
    x, y = at
    return np.array([4 * x - 4 * x**3, -2 * y]), np.diag([4 - 12 * x**2, -2.0])


def test_search_leaves_a_saddle_uphill():
    found = maximise_within(_saddle, _derivatives, np.array([0.01, 1.0]), WIDE)
    assert found.converged
    np.testing.assert_allclose(found.parameters, [1.0, 0.0], atol=1e-2)
    assert found.value == pytest.approx(1.0, abs=1e-3)


def test_search_stops_at_a_bound_and_names_it():
    found = maximise_within(_saddle, _derivatives, np.array([0.01, 1.0]), (WIDE[0], np.array([0.5, 10.0])))
    assert found.converged
    assert found.at_bound.tolist() == [True, False]
    assert found.parameters[0] == 0.5


def test_covariance_leaves_out_flat_and_fixed_directions():
    hessian = -np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 4.0]])
    covariance = covariance_of(hessian, np.array([True, True, True]))
    np.testing.assert_allclose(covariance[:2, :2], 0.125, rtol=1e-12)
    assert covariance[2, 2] == pytest.approx(0.25)
    assert covariance_of(hessian, np.array([True, True, False]))[2, 2] == 0.0


@pytest.mark.parametrize("lowest", [0.5, 1e-12])
def test_many_parameters_have_the_covariance_of_few(lowest, monkeypatch):
    vectors = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    hessian = -(vectors * np.append(lowest, np.arange(1.0, 6))) @ vectors.T
    expected = covariance_of(hessian, np.ones(6, dtype=bool))
    monkeypatch.setattr(newton, "_MANY", 1)
    np.testing.assert_allclose(covariance_of(hessian, np.ones(6, dtype=bool)), expected, rtol=1e-9, atol=1e-12)
