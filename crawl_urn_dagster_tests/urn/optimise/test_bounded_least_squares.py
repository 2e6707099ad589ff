"""The bounded search: against exact solvers where the curve is linear."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from crawl_urn_dagster.urn.optimise.bounded_least_squares import minimise, minimise_holding

STARTS = [(0.2, 0.3, 0.4), (0.7, 0.6, 0.9)]
DESIGN = np.random.default_rng(3).normal(size=(40, 3))


def line(parameters):
    return parameters @ DESIGN.T


@pytest.mark.parametrize(
    ("truth", "free"),
    [
        ((0.3, 0.6, 0.5), (True, True, True)),
        ((-0.4, 0.5, 0.5), (False, True, True)),
        ((0.5, 1.4, -0.3), (True, False, False)),
        ((1.5, 1.4, -0.3), (False, False, False)),
    ],
)
def test_linear_least_squares_with_bounds(truth, free):
    noise = 0.1 * np.random.default_rng(4).normal(size=40)
    observed = line(np.array(truth)) + noise
    exact = lsq_linear(DESIGN, observed, bounds=(0, 1), method="bvls", tol=1e-14)
    optimum = minimise(line, observed, STARTS)
    np.testing.assert_allclose(optimum.parameters, exact.x, atol=1e-9)
    np.testing.assert_array_equal(optimum.free, free)
    assert set(optimum.parameters[~optimum.free]) <= {0.0, 1.0}
    assert optimum.cost == pytest.approx(2 * exact.cost, rel=1e-12)
    np.testing.assert_allclose(optimum.fitted, line(optimum.parameters), atol=1e-14)
    assert optimum.converged


def test_noisy_optimum_near_a_bound_stays_free():
    noise = 0.1 * np.random.default_rng(4).normal(size=40)
    off = np.linalg.lstsq(DESIGN, noise)[0]
    optimum = minimise(line, line(np.array([0.005, 0.5, 0.995]) - off) + noise, STARTS)
    np.testing.assert_allclose(optimum.parameters, [0.005, 0.5, 0.995], atol=1e-9)
    assert optimum.free.all()


def test_exact_optimum_near_a_bound_stays_free():
    optimum = minimise(line, line(np.array([1e-4, 0.5, 0.5])), STARTS)
    np.testing.assert_allclose(optimum.parameters, [1e-4, 0.5, 0.5], atol=1e-12)
    assert optimum.free.all()


def test_holding_a_parameter_fits_the_others():
    observed = line(np.array([0.3, 0.6, 0.5]))
    held = minimise_holding(line, observed, minimise(line, observed, STARTS), index=1, value=0.5)
    others = np.linalg.lstsq(DESIGN[:, [0, 2]], observed - 0.5 * DESIGN[:, 1])[0]
    np.testing.assert_allclose(held.parameters, [others[0], 0.5, others[1]], atol=1e-10)
    assert held.free.tolist() == [True, False, True]


def test_best_of_several_starts_is_chosen():
    # Two minima, of which the one at 0.9 is lower.
    def curve(parameters):
        x = parameters[..., 0]
        return np.stack([(x - 0.2) * (x - 0.9), 0.1 * (x - 0.9)], axis=-1)

    for starts in ([(0.15,), (0.95,)], [(0.95,), (0.15,)]):
        optimum = minimise(curve, np.zeros(2), starts)
        assert optimum.parameters[0] == pytest.approx(0.9, abs=1e-9)
