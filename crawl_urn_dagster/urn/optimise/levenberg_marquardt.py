"""Weighted least squares of many small problems at once, with bounds.

Here: the search. Not here: which curves are fitted or what a bound means for them (`joint`), or the thorough search
of one problem, along a ridge and from several starts (`bounded`).

It is for the replicates of a bootstrap, each close to its optimum: hundreds of problems share every evaluation, where
`bounded` would search them one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from crawl_urn_dagster.urn.optimise.differences import jacobian

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray

    #: Values at the points, shape (..., problems, points), of those problems, for parameters (..., problems, n).
    Curves: TypeAlias = Callable[[FloatArray, IntArray], FloatArray]

_ITERATIONS = 50
_SETTLED = 1e-9
# Gain of a step, as part of the sum of squares, that is not worth another, and the part of what was observed that
# counts as none left over: on a ridge steps can stay long while they gain nothing.
_GAIN, _NOTHING = 1e-9, 1e-20
_FIRST_DAMPING, _SOFTER, _HARDER = 1e-3, 0.1, 10.0


class Optima(NamedTuple):
    """Where the searches ended.

    Attributes
    ----------
    parameters
        Shape (problems, n), each within its bounds.
    cost
        Weighted sum of the squared residuals, shape (problems,).
    settled
        Whether the last step, or what it gained, was negligible, shape (problems,).
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
) -> Optima:
    """Search for the least squares of each problem from its own start, by Levenberg and Marquardt's steps.

    A parameter on a bound whose gradient points outward stays out of the step; a step that leaves the bounds is cut
    off at them.

    Parameters
    ----------
    curves
        What is fitted.
    observed, weights
        Shape (problems, points).
    start, free
        Shape (problems, n): where each search starts, and which parameters may move.
    bounds
        Least and greatest values of the parameters, shape (n,) each.
    slopes
        The curves' derivatives by the parameters, shape (problems, n, points); None: by differences.
    """
    lower, upper = bounds

    def differences(values: FloatArray, rows: IntArray) -> FloatArray:
        return jacobian(lambda moved: curves(moved, rows), values, lower, upper)

    slopes_at = slopes or differences
    parameters = start.copy()
    damping = np.full(len(start), _FIRST_DAMPING)
    settled = np.zeros(len(start), dtype=bool)
    residuals = curves(parameters, np.arange(len(start))) - observed
    cost = (weights * residuals**2).sum(axis=-1)
    nothing = _NOTHING * (weights * observed**2).sum(axis=-1)
    for _ in range(_ITERATIONS):
        rows = np.flatnonzero(~settled)
        if not rows.size:
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
        settled[rows] = (abs(there - here).max(axis=-1) < _SETTLED) | gained_nothing
        damping[rows] *= np.where(better, _SOFTER, _HARDER)
        taken = rows[better]
        parameters[taken], residuals[taken], cost[taken] = there[better], new[better], new_cost[better]
    return Optima(parameters, cost, settled)


def _step(normal: FloatArray, gradient: FloatArray, moves: BoolArray, damping: FloatArray) -> FloatArray:
    """Solve the damped normal equations for the parameters that move; the others' step is 0."""
    diagonal = np.eye(gradient.shape[-1], dtype=bool)
    both = moves[:, :, None] & moves[:, None, :]
    damped = np.where(diagonal, normal * (1 + damping[:, None, None]) + np.finfo(float).tiny, normal)
    system = np.where(both, damped, diagonal)
    downhill = np.where(moves, gradient, 0.0)[..., None]
    try:
        return np.asarray(np.linalg.solve(system, downhill)[..., 0])
    except np.linalg.LinAlgError:  # a parameter moves no point of some problem; then its step is none
        return np.asarray((np.linalg.pinv(system, hermitian=True) @ downhill)[..., 0])
