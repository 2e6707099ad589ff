"""Differentiate functions of bounded parameters by central differences.

Does not compute exact derivatives (see `cormack_jolly_seber`) or derivatives on the logit scale (see
`maximum_likelihood`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import FloatArray

# The best step of a central difference is the cube root of the spacing of float64.
_STEP = 6e-6


def jacobian(
    function: Callable[[FloatArray], FloatArray],
    parameters: FloatArray,
    low: FloatArray | float = -np.inf,
    high: FloatArray | float = np.inf,
) -> FloatArray:
    """Differentiate a function by all its parameters, on one side only where the other side is out of bounds.

    Parameters
    ----------
    function
        Function with values of shape (..., n_points) for parameters of shape (..., n). It is called once, with two
        more leading axes.
    parameters
        Shape (..., n), within the bounds.
    low, high
        Bounds, shape (n,) or a number.

    Returns
    -------
    ndarray
        Derivatives, shape (..., n, n_points).
    """
    n = parameters.shape[-1]
    steps = _STEP * np.eye(n).reshape(n, *(1,) * (parameters.ndim - 1), n)
    up, down = np.minimum(parameters + steps, high), np.maximum(parameters - steps, low)
    above, below = function(np.stack([up, down]))
    width = np.diagonal(up - down, axis1=0, axis2=-1)
    # The axis of the parameters is first, and belongs before the points.
    moved = (above - below).transpose(*range(1, above.ndim - 1), 0, above.ndim - 1)
    return np.asarray(moved / width[..., None])
