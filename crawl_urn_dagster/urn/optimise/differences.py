"""Derivatives by central differences, of parameters within bounds.

Here: the one step and how it is cut off at bounds. Not here: derivatives that are exact (`likelihood`,
`cormack_jolly_seber`), or those of a likelihood on the logit scale (`maximum_likelihood`).
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
    """Differentiate a function by all its parameters, to one side where the other is out of bounds.

    Parameters
    ----------
    function
        Values of shape (..., points) for parameters of shape (..., n); called once, with two more leading axes.
    parameters
        Shape (..., n), within the bounds.
    low, high
        Bounds, shape (n,) or a number.

    Returns
    -------
    Shape (..., n, points).
    """
    n = parameters.shape[-1]
    steps = _STEP * np.eye(n).reshape(n, *(1,) * (parameters.ndim - 1), n)
    up, down = np.minimum(parameters + steps, high), np.maximum(parameters - steps, low)
    above, below = function(np.stack([up, down]))
    width = np.diagonal(up - down, axis1=0, axis2=-1)
    return np.asarray(np.moveaxis(above - below, 0, -2) / width[..., None])
