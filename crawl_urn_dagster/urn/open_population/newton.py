"""Maximise a smooth function within bounds by Newton's method with exact second derivatives.

Does not define functions; see `likelihood`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

# Largest step along one eigenvector of the second derivatives, in units of the parameters.
_RADIUS = 2.0
# An eigenvalue of the scaled second derivatives below this is a direction in which the function is flat.
_FLAT = 1e-9
_HALVINGS = 30
# Number of parameters from which eigenvectors are computed only if they are needed: they take twenty times as long as
# a factor.
_MANY = 200
# Share of the gain that the gradient promises, which a step must reach.
_SUFFICIENT = 1e-4
# The decrement is about twice the gain that is left. A search ends below the first threshold, which is a fiftieth of a
# standard error for a log-likelihood; a search that ends above the second has not converged.
_DECREMENT = 4e-4
_CONVERGED_DECREMENT = 1e-2
# A search also ends after this many steps in a row of which none gains more than this: it is on a ridge.
_FLAT_STEPS = 4
_FLAT_GAIN = 0.01


class Maximum(NamedTuple):
    """Result of `maximise_within`.

    Attributes
    ----------
    parameters
        Parameters of the maximum, shape (n_parameters,).
    value
        Value of the function.
    hessian
        Second derivatives, shape (n_parameters, n_parameters).
    at_bound
        Whether a parameter is at a bound and would leave it, shape (n_parameters,).
    converged
        Whether the search ended at a maximum.
    """

    parameters: FloatArray
    value: float
    hessian: FloatArray
    at_bound: BoolArray
    converged: bool


def maximise_within(
    value: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    start: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    *,
    iterations: int = 80,
) -> Maximum:
    """Search for a maximum from one start.

    Eigenvalues of the second derivatives are taken by their size, so a search leaves saddle points uphill.

    Parameters
    ----------
    value
        The function.
    derivatives
        Its gradient and second derivatives.
    start
        Parameters within the bounds, shape (n_parameters,).
    bounds
        Lower and upper bounds, each of shape (n_parameters,).
    iterations
        Largest number of steps.
    """
    parameters = np.clip(start, *bounds)
    current = value(parameters)
    gains: list[float] = []
    for left in range(iterations, -1, -1):
        gradient, hessian = derivatives(parameters)
        at_bound = find_bound(parameters, gradient, bounds)
        step, decrement = _step(gradient, hessian, ~at_bound)
        is_flat = max(gains[-_FLAT_STEPS:], default=np.inf) < _FLAT_GAIN and len(gains) >= _FLAT_STEPS
        if decrement < _DECREMENT or is_flat or not left:
            break
        trial = search_line(value, (parameters, current), step, gradient, bounds)
        if trial is None:
            break
        gains.append(trial[1] - current)
        parameters, current = trial
    return Maximum(parameters, current, hessian, at_bound, bool(decrement < _CONVERGED_DECREMENT or is_flat))


def find_bound(parameters: FloatArray, gradient: FloatArray, bounds: tuple[FloatArray, FloatArray]) -> BoolArray:
    """Return whether a parameter is at a bound and would leave it."""
    low, high = bounds
    return np.asarray(((parameters <= low) & (gradient <= 0)) | ((parameters >= high) & (gradient >= 0)))


def scaled(hessian: FloatArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return scale of, and scaled, minus the second derivatives of the free parameters."""
    information = -hessian[np.ix_(free, free)]
    diagonal = np.abs(np.diagonal(information))
    scale = np.sqrt(np.maximum(diagonal, max(1e-8, 1e-12 * diagonal.max(initial=0.0))))
    return scale, information / np.outer(scale, scale)


def factor_above(matrix: FloatArray, least: float) -> FloatArray | None:
    """Return the Cholesky factor of a large matrix whose eigenvalues all exceed `least`; None for any other."""
    if len(matrix) < _MANY:
        return None
    try:
        cholesky(matrix - least * np.eye(len(matrix)), lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(cholesky(matrix, lower=True, check_finite=False))
    except np.linalg.LinAlgError:
        return None


def _step(gradient: FloatArray, hessian: FloatArray, free: BoolArray) -> tuple[FloatArray, float]:
    """Return the step uphill and the gain that is left."""
    step = np.zeros_like(gradient)
    if not free.any():
        return step, 0.0
    scale, information = scaled(hessian, free)
    slope = gradient[free] / scale
    factor = factor_above(information, _FLAT)
    if factor is not None:
        move = cho_solve((factor, True), slope, check_finite=False)
        decrement = float(slope @ move)
        # No component of the step along an eigenvector is longer than this.
        if decrement < _DECREMENT or np.linalg.norm(move) <= _RADIUS * scale.min():
            step[free] = move / scale
            return step, decrement
    eigenvalues, vectors = np.linalg.eigh(information)
    along = vectors.T @ slope
    directions = vectors / scale[:, None]
    sizes = along / np.maximum(np.abs(eigenvalues), _FLAT)
    longest = _RADIUS / np.abs(directions).max(axis=0)
    sizes = np.clip(sizes, -longest, longest)
    step[free] = directions @ sizes
    return step, float(along @ sizes)


def search_line(
    value: Callable[[FloatArray], float],
    now: tuple[FloatArray, float],
    step: FloatArray,
    gradient: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, float] | None:
    """Halve the step until the value rises enough; return parameters and value, None if it never does."""
    parameters, current = now
    size = min(1.0, 2 * _RADIUS / max(float(np.abs(step).max()), 1e-300))
    for _ in range(_HALVINGS):
        trial = np.clip(parameters + size * step, *bounds)
        reached = value(trial)
        if reached - current > max(_SUFFICIENT * float(gradient @ (trial - parameters)), 0.0):
            return trial, reached
        size /= 2
    return None


def covariance_of(hessian: FloatArray, free: BoolArray) -> FloatArray:
    """Invert minus the second derivatives of the free parameters without their flat directions.

    Parameters
    ----------
    hessian
        Second derivatives, shape (n_parameters, n_parameters).
    free
        Whether a parameter is free, shape (n_parameters,).

    Returns
    -------
    ndarray
        Covariance, 0 for parameters that are not free, shape (n_parameters, n_parameters).
    """
    result = np.zeros_like(hessian)
    if free.any():
        scale, information = scaled(hessian, free)
        factor = factor_above(information, _FLAT)
        if factor is not None:
            inverse = cho_solve((factor, True), np.eye(len(scale)), check_finite=False)
            result[np.ix_(free, free)] = inverse / np.outer(scale, scale)
            return result
        eigenvalues, vectors = np.linalg.eigh(information)
        regular = eigenvalues > _FLAT
        directions = vectors[:, regular] / scale[:, None]
        result[np.ix_(free, free)] = (directions / eigenvalues[regular]) @ directions.T
    return result
