"""Central differences: against exact derivatives, inside and at bounds."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.optimise.differences import jacobian


def curves(parameters):
    """Return three curves of two parameters."""
    a, b = parameters[..., 0, None], parameters[..., 1, None]
    return a * np.array([1.0, 2.0, 3.0]) + b ** np.array([1.0, 2.0, 3.0])


def exact(parameters):
    b = parameters[..., 1, None]
    by_a = np.broadcast_to([1.0, 2.0, 3.0], (*parameters.shape[:-1], 3))
    return np.stack([by_a, np.array([1.0, 2.0, 3.0]) * b ** np.array([0.0, 1.0, 2.0])], axis=-2)


@pytest.mark.parametrize("shape", [(2,), (4, 2), (3, 4, 2)])
def test_jacobian_matches_exact_derivatives(shape):
    parameters = np.random.default_rng(1).uniform(0.1, 0.9, shape)
    found = jacobian(curves, parameters)
    assert found.shape == (*shape, 3)
    np.testing.assert_allclose(found, exact(parameters), atol=1e-9)


def test_jacobian_at_bounds_is_one_sided():
    evaluated = []

    def recorded(parameters):
        evaluated.append(parameters)
        return curves(parameters)

    parameters = np.array([0.0, 1.0])
    found = jacobian(recorded, parameters, 0, 1)
    assert (np.min(evaluated), np.max(evaluated)) == (0, 1)
    # A one-sided difference has an error of half its step times the second derivative.
    np.testing.assert_allclose(found, exact(parameters), atol=6e-6 * 3 * 1.01)
