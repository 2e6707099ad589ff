"""Solve many small weighted least-squares problems with bounds at once.

Does not define the fitted curves (see `joint`) and does not search ridges or several starts (see
`bounded_least_squares`).

The search is meant for the replicates of a bootstrap, each close to its optimum. Hundreds of problems share every
evaluation, where `bounded_least_squares` would search them one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from crawl_urn_dagster.urn.optimise.differences import jacobian

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray

    #: Fitted values, shape (..., n_problems, n_points), of the selected problems, for parameters of shape
    #: (..., n_problems, n).
    Curves: TypeAlias = Callable[[FloatArray, IntArray], FloatArray]

_ITERATIONS = 50
_SETTLED = 1e-9
# The search of a problem ends when a step gains no more than these fractions of the sum of squares and of the observed
# values' sum of squares. On a ridge, steps can stay long although they gain nothing.
_GAIN, _NOTHING = 1e-9, 1e-20
_FIRST_DAMPING, _SOFTER, _HARDER = 1e-3, 0.1, 10.0


class Optima(NamedTuple):
    """Optima of the problems.

    Attributes
    ----------
    parameters
        Shape (n_problems, n), within the bounds.
    cost
        Weighted sum of squared residuals, shape (n_problems,).
    settled
        Whether the last step, or its gain, was negligible, shape (n_problems,).
    """

    parameters: FloatArray
    cost: FloatArray
    settled: BoolArray


def minimise_all(
    curves: Curves,
    observed: FloatArray,
    weights: FloatArray,
    *,
    start: FloatArray,
    free: BoolArray,
    bounds: tuple[FloatArray, FloatArray],
    slopes: Curves | None = None,
    negligible: FloatArray | float = _SETTLED,
    only_best: bool = False,
) -> Optima:
    """Minimise the squared residuals of each problem from its start, by the steps of Levenberg and Marquardt.

    A parameter on a bound whose gradient points outward is left out of the step. A step that leaves the bounds is
    truncated at them.

    Parameters
    ----------
    curves
        Fitted curves as a function of parameters and problem numbers.
    observed, weights
        Shape (n_problems, n_points).
    start, free
        Start of each search, and whether each parameter may change, shape (n_problems, n).
    bounds
        Lower and upper bounds of the parameters, shape (n,) each.
    slopes
        Derivatives of the curves by the parameters, shape (n_problems, n, n_points); by differences if None.
    negligible
        Step at which a search ends, of all problems or of each.
    only_best
        Whether the problems are starts of one problem, of which only the lowest optimum is needed. After the leading
        search has settled, the others have as many steps again. A search also ends, not settled, if at the gain of its
        last step the steps that are left would not reach the lowest cost.

    Returns
    -------
    Optima
        Parameters, cost and convergence of each problem.

    References
    ----------
    Marquardt, D. W. (1963). An algorithm for least-squares estimation of nonlinear parameters. Journal of the Society
    for Industrial and Applied Mathematics 11, 431-441.
    """
    lower, upper = bounds
    negligible = np.broadcast_to(negligible, len(start))

    def differences(values: FloatArray, rows: IntArray) -> FloatArray:
        return jacobian(lambda moved: curves(moved, rows), values, lower, upper)

    slopes_at = slopes or differences
    parameters = start.copy()
    damping = np.full(len(start), _FIRST_DAMPING)
    settled, behind = np.zeros((2, len(start)), dtype=bool)
    residuals = curves(parameters, np.arange(len(start))) - observed
    cost = (weights * residuals**2).sum(axis=-1)
    nothing = _NOTHING * (weights * observed**2).sum(axis=-1)
    last = _ITERATIONS
    for step_number in range(1, _ITERATIONS + 1):
        rows = np.flatnonzero(~(settled | behind))
        if not rows.size or step_number > last:
            break
        here = parameters[rows]
        by_parameters = slopes_at(here, rows)
        weighted = by_parameters * weights[rows, None]
        gradient = (weighted @ residuals[rows, :, None])[..., 0]
        moves = free[rows] & ~((here <= lower) & (gradient > 0)) & ~((here >= upper) & (gradient < 0))
        step = _step(weighted @ by_parameters.swapaxes(-1, -2), gradient, moves, damping[rows])
        there = np.clip(here - step, lower, upper)
        new = curves(there, rows) - observed[rows]
        new_cost = (weights[rows] * new**2).sum(axis=-1)
        better = new_cost < cost[rows]
        gained_nothing = better & (cost[rows] - new_cost <= _GAIN * new_cost + nothing[rows])
        settled[rows] = (abs(there - here).max(axis=-1) < negligible[rows]) | gained_nothing
        damping[rows] *= np.where(better, _SOFTER, _HARDER)
        accepted, gain = rows[better], (cost[rows] - new_cost)[better]
        parameters[accepted], residuals[accepted], cost[accepted] = there[better], new[better], new_cost[better]
        if only_best:
            if settled[cost.argmin()]:
                last = min(last, 2 * step_number)
            behind[accepted] = cost[accepted] - (last - step_number) * gain > cost.min()
    return Optima(parameters, cost, settled)


def _step(normal: FloatArray, gradient: FloatArray, moves: BoolArray, damping: FloatArray) -> FloatArray:
    """Solve the damped normal equations for the parameters that move; the step of the others is 0."""
    diagonal = np.eye(gradient.shape[-1], dtype=bool)
    both = moves[:, :, None] & moves[:, None, :]
    damped = np.where(diagonal, normal * (1 + damping[:, None, None]) + np.finfo(float).tiny, normal)
    system = np.where(both, damped, diagonal)
    downhill = np.where(moves, gradient, 0.0)[..., None]
    try:
        return np.asarray(np.linalg.solve(system, downhill)[..., 0])
    except np.linalg.LinAlgError:  # a parameter of some problem moves no point, so its step is 0
        return np.asarray((np.linalg.pinv(system, hermitian=True) @ downhill)[..., 0])
