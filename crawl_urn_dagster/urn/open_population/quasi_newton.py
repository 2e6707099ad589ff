"""Approach a maximum within bounds with few second derivatives.

Does not test for convergence or return second derivatives at the maximum; see `newton`.

With T crawls, a model of an open population has 2 T parameters, and its second derivatives take T³ steps, where its
gradient takes T. For long collections the search therefore updates second derivatives by the gradients that it meets
(limited-memory BFGS, Nocedal 1980). It computes them again only if it has not ended after some steps.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky

from crawl_urn_dagster.urn.open_population.newton import factor_above, find_bound, scaled, search_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

    Functions = tuple[
        Callable[[FloatArray], float],
        Callable[[FloatArray], FloatArray],
        Callable[[FloatArray], FloatArray],
        Callable[[FloatArray], FloatArray],
    ]

# Steps with the same second derivatives, and how often they are computed for the best start.
_STEPS, _ROUNDS = 30, 8
# Smallest eigenvalue of the scaled second derivatives at the start that is used as it is.
_FLAT = 1e-3
# Gain that the next step promises at which the approach ends; the last steps are by Newton's method.
_GAIN = 1e-4


def approach(
    functions: Functions, starts: Sequence[FloatArray], bounds: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, float]:
    """Search for a maximum from the start that is best after some steps.

    Parameters
    ----------
    functions
        The function, its gradient, its second derivatives, and an approximation of these at a start.
    starts
        Parameters within the bounds, shape (n_parameters,) each; at least one.
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
    >>> def curvature(x):
    ...     return -np.diag(12 * (x - centre) ** 2 + 2)
    >>> functions = value, gradient, curvature, curvature
    >>> approach(functions, [np.zeros(2)], (-np.ones(2), np.ones(2)))[0].round(2).tolist()
    [0.3, 1.0]
    """
    value, gradient, curvature, approximate = functions
    ends = [_climb((value, gradient), start, approximate(start), bounds) for start in starts]
    best = max(ends, key=lambda end: end.value)
    for _ in range(_ROUNDS):
        if best.is_settled:
            break
        best = _climb((value, gradient), best.parameters, curvature(best.parameters), bounds)
    return best.parameters, best.value


class _End(NamedTuple):
    """End of a number of steps, and whether a further step would gain nothing."""

    parameters: FloatArray
    value: float
    is_settled: bool


def _climb(
    functions: tuple[Callable[[FloatArray], float], Callable[[FloatArray], FloatArray]],
    start: FloatArray,
    hessian: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
) -> _End:
    """Take steps with the same second derivatives."""
    value, gradient = functions
    parameters = np.clip(start, *bounds)
    current, slope, inverse = value(parameters), gradient(parameters), _Inverse(hessian)
    steps: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=_STEPS)
    for _ in range(_STEPS):
        free = ~find_bound(parameters, slope, bounds)
        step = _direction(np.where(free, slope, 0.0), steps, inverse, free)
        if step @ slope < _GAIN:
            steps.clear()
            step = inverse.times(np.where(free, slope, 0.0), free)
        if step @ slope < _GAIN:
            return _End(parameters, current, is_settled=True)
        trial = search_line(value, (parameters, current), step, slope, bounds)
        if trial is None:
            if not steps:
                return _End(parameters, current, is_settled=True)
            steps.clear()
            continue
        after = gradient(trial[0])
        moved, fallen = trial[0] - parameters, slope - after
        if moved @ fallen > 0:
            steps.append((moved, fallen))
        (parameters, current), slope = trial, after
    return _End(parameters, current, is_settled=False)


class _Inverse:
    """Inverse of the second derivatives at the start, by their size, of the parameters that are free."""

    def __init__(self, hessian: FloatArray) -> None:
        self._scale, self._matrix = scaled(hessian, np.ones(len(hessian), dtype=bool))
        if factor_above(self._matrix, _FLAT) is None:
            eigenvalues, vectors = np.linalg.eigh(self._matrix)
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
