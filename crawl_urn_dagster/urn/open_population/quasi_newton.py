"""Approach a maximum within bounds with second derivatives at the start only.

Does not test for convergence or return second derivatives at the maximum; see `newton`.

With T crawls, a model of an open population has 2 T parameters, and its second derivatives take T³ steps, where its
gradient takes T. For long collections the search therefore updates the second derivatives at the start by the gradients
that it meets (limited-memory BFGS, Nocedal 1980).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_solve, cholesky

from crawl_urn_dagster.urn.open_population.newton import find_bound, scaled_information, search_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

    Functions = tuple[
        Callable[[FloatArray], float],
        Callable[[FloatArray], FloatArray],
        Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    ]

_STEPS = 300
# Gradients that are remembered.
_MEMORY = 30
# Smallest eigenvalue of the scaled second derivatives at the start that is used as it is.
_FLAT = 1e-3
# Gain that the next step promises at which the approach ends; the last steps are by Newton's method.
_GAIN = 1e-4


def approach(
    functions: Functions, start: FloatArray, bounds: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, float]:
    """Search for a maximum from one start.

    Parameters
    ----------
    functions
        The function, its gradient, and its gradient with second derivatives.
    start
        Parameters within the bounds, shape (n_parameters,).
    bounds
        Lower and upper bounds, each of shape (n_parameters,).

    Returns
    -------
    tuple
        Parameters and value of the function.

    Examples
    --------
    >>> centre = np.array([0.3, 2.0])
    >>> def value(x):
    ...     return -float(np.sum((x - centre) ** 4 + (x - centre) ** 2))
    >>> def gradient(x):
    ...     return -4 * (x - centre) ** 3 - 2 * (x - centre)
    >>> def derivatives(x):
    ...     return gradient(x), -np.diag(12 * (x - centre) ** 2 + 2)
    >>> found, _ = approach((value, gradient, derivatives), np.zeros(2), (-np.ones(2), np.ones(2)))
    >>> found.round(2).tolist()
    [0.3, 1.0]
    """
    value, gradient, derivatives = functions
    parameters = np.clip(start, *bounds)
    current = value(parameters)
    slope, hessian = derivatives(parameters)
    inverse = _Inverse(hessian)
    steps: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        free = ~find_bound(parameters, slope, bounds)
        step = _direction(np.where(free, slope, 0.0), steps, inverse, free)
        if step @ slope < _GAIN:
            steps.clear()
            step = inverse.times(np.where(free, slope, 0.0), free)
        if step @ slope < _GAIN:
            break
        trial = search_line(value, (parameters, current), step, slope, bounds)
        if trial is None:
            if not steps:
                break
            steps.clear()
            continue
        after = gradient(trial[0])
        moved, fallen = trial[0] - parameters, slope - after
        if moved @ fallen > 0:
            steps.append((moved, fallen))
        (parameters, current), slope = trial, after
    return parameters, current


class _Inverse:
    """Inverse of the second derivatives at the start, by their size, of the parameters that are free."""

    def __init__(self, hessian: FloatArray) -> None:
        self._scale, eigenvalues, vectors = scaled_information(hessian, np.ones(len(hessian), dtype=bool))
        self._matrix = (vectors * np.maximum(np.abs(eigenvalues), _FLAT)) @ vectors.T
        self._of = np.zeros(0, dtype=bool)
        self._factor = np.zeros((0, 0))

    def times(self, vector: FloatArray, free: BoolArray) -> FloatArray:
        if not np.array_equal(free, self._of):
            self._factor, self._of = cholesky(self._matrix[np.ix_(free, free)], lower=True), free
        result = np.zeros_like(vector)
        result[free] = cho_solve((self._factor, True), vector[free] / self._scale[free]) / self._scale[free]
        return result


def _direction(
    slope: FloatArray, steps: deque[tuple[FloatArray, FloatArray]], inverse: _Inverse, free: BoolArray
) -> FloatArray:
    """Return the step that the remembered gradients and the second derivatives at the start give."""
    vector, shares = slope.copy(), []
    for moved, fallen in reversed(steps):
        share = moved @ vector / (moved @ fallen)
        vector -= share * fallen
        shares.append(share)
    vector = inverse.times(np.where(free, vector, 0.0), free)
    for (moved, fallen), share in zip(steps, reversed(shares), strict=True):
        vector += moved * (share - fallen @ vector / (moved @ fallen))
    return np.where(free, vector, 0.0)
