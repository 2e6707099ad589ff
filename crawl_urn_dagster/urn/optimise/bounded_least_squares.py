"""Least squares of a curve whose few parameters lie in [0, 1], with a decision whether they lie on a bound.

Here: the search, what it found, how that answers to the points, and what else would fit. Not here: which curve is
fitted, or what a bound means for it (`status`).

The search is for one curve and thorough: from several starts, and along the ridges of discovery curves and of uneven
shells, on which `levenberg_marquardt` stops short of the optimum or is at rest elsewhere. For counts of many
replicates, which have no such ridge, the latter is many times faster; for many curves of one lag grid `batched` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import least_squares

from crawl_urn_dagster.urn.optimise.differences import jacobian
from crawl_urn_dagster.urn.optimise.levenberg_marquardt import minimise_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

    #: A curve's values at the fitted points, shape (..., points), for parameters of shape (..., parameters).
    Curve: TypeAlias = Callable[[FloatArray], FloatArray]

#: Distance at which a parameter is held elsewhere, to test whether it is identified.
PARAMETER_MOVE = 0.1
# Along the ridge of a discovery curve a search takes hundreds of evaluations.
_EVALUATIONS = 2_000
# A search that starts on a bound hardly leaves it.
_INSIDE = 1e-3
_NEAR_BOUND = 0.02
# A bound is taken when it costs no more than rounding does: relatively, and per point of a noiseless curve.
_RELATIVE_COST = 1e-9
_ROUNDING_COST = 1e-20


class Optimum(NamedTuple):
    """Where a search ended.

    Attributes
    ----------
    parameters
        Shape (parameters,), each in [0, 1].
    free
        Shape (parameters,); False where a parameter was held where it is.
    fitted
        The curve there, shape (points,).
    cost
        Sum of the squared residuals.
    converged
        Whether the search met its tolerance.
    """

    parameters: FloatArray
    free: BoolArray
    fitted: FloatArray
    cost: float
    converged: bool


def minimise(curve: Curve, observed: FloatArray, starts: Iterable[tuple[float, ...]]) -> Optimum:
    """Find the best of several starts, then move parameters onto a bound while that costs nothing.

    The starts are searched together, and the best one thoroughly. That search stays inside the bounds. A parameter that
    ends near one is set exactly on it, and the free ones are fitted again; where the cost is no larger, that is the
    optimum, with the parameter not free.
    """
    start = np.array(list(starts))
    every = np.broadcast_to(observed, (len(start), observed.size))
    bounds = np.zeros(start.shape[1]), np.ones(start.shape[1])
    free = np.ones(start.shape, dtype=bool)
    first = minimise_all(
        lambda values, _: curve(values), every, np.ones_like(every), start=start, free=free, bounds=bounds
    )
    inside = np.clip(first.parameters[first.cost.argmin()], _INSIDE, 1 - _INSIDE)
    best = _search(curve, observed, inside, free[0])
    while True:
        nearest = np.rint(best.parameters)
        near = np.flatnonzero(best.free & (abs(best.parameters - nearest) <= _NEAR_BOUND))
        on_bounds = [minimise_holding(curve, observed, best, int(index), float(nearest[index])) for index in near]
        candidate = min(on_bounds, key=lambda optimum: optimum.cost, default=None)
        tolerated = best.cost * (1 + _RELATIVE_COST) + _ROUNDING_COST * observed.size
        if candidate is None or candidate.cost > tolerated:
            return best
        best = candidate


def minimise_holding(curve: Curve, observed: FloatArray, near: Optimum, index: int, value: float) -> Optimum:
    """Search on from an optimum with one more parameter held, at a value."""
    start, free = near.parameters.copy(), near.free.copy()
    start[index], free[index] = value, False
    return _search(curve, observed, start, free)


def moves(value: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Values within bounds that are `PARAMETER_MOVE` away."""
    return [moved for moved in (value - PARAMETER_MOVE, value + PARAMETER_MOVE) if low <= moved <= high]


def hold_elsewhere(
    curve: Curve, observed: FloatArray, optimum: Optimum, indices: Iterable[int]
) -> Iterator[tuple[int, Optimum]]:
    """Search on with each of the free parameters of these indices held at `moves` of it, one after the other."""
    for index in indices:
        if optimum.free[index]:
            for value in moves(float(optimum.parameters[index])):
                yield index, minimise_holding(curve, observed, optimum, index, value)


def response(curve: Curve, optimum: Optimum, estimates: Curve) -> FloatArray:
    """Find the derivative of estimates by each observed point, the curve being linear near the optimum.

    Parameters
    ----------
    estimates
        Estimates, shape (..., estimates), for parameters of shape (..., parameters).

    Returns
    -------
    Shape (estimates, points); NaN of an estimate that no free parameter moves.
    """
    found = np.full((estimates(optimum.parameters).size, optimum.fitted.size), np.nan)
    if not optimum.free.any():
        return found

    def slopes(function: Curve) -> FloatArray:
        return jacobian(
            lambda values: function(_with_free(optimum.parameters, optimum.free, values)),
            optimum.parameters[optimum.free],
            0,
            1,
        ).T

    by_parameters = slopes(estimates)
    moving = (by_parameters != 0).any(axis=1)
    found[moving] = by_parameters[moving] @ np.linalg.pinv(slopes(curve))
    return found


def _with_free(parameters: FloatArray, free: BoolArray, values: FloatArray) -> FloatArray:
    """Parameters, shape (..., parameters), of which the free ones have these values, shape (..., free)."""
    whole = np.broadcast_to(parameters, (*values.shape[:-1], parameters.size)).copy()
    whole[..., free] = values
    return whole


def _search(curve: Curve, observed: FloatArray, start: FloatArray, free: BoolArray) -> Optimum:
    """Least squares over the free parameters from one start; the others stay where they start.

    Only a negligible step ends the search, for along a ridge the cost is flat.
    """

    def of_free(values: FloatArray) -> FloatArray:
        return curve(_with_free(start, free, values))

    def residuals(values: FloatArray) -> FloatArray:
        return of_free(values) - observed

    def slopes(values: FloatArray) -> FloatArray:
        return jacobian(of_free, values, 0, 1).T

    if not free.any():
        fitted = curve(start)
        return Optimum(start, free, fitted, float(((fitted - observed) ** 2).sum()), converged=True)
    found = least_squares(
        residuals,
        start[free],
        jac=slopes,
        bounds=(0, 1),
        ftol=None,
        xtol=1e-12,
        gtol=1e-15,
        max_nfev=_EVALUATIONS,
    )
    parameters = _with_free(start, free, found.x)
    return Optimum(parameters, free, observed + found.fun, 2 * float(found.cost), bool(found.success))
