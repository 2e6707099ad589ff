"""Fit one curve with a few parameters in [0, 1] by least squares, and decide which parameters are at a bound.

Does not define curves or explain what a bound means for them; see `status` for the explanations.

The search is thorough: it uses several starts and follows the ridges of discovery curves and of uneven shells, where
`levenberg_marquardt` can stop short of the optimum. For the counts of many replicates, which have no such ridge,
`levenberg_marquardt` is many times faster; for many curves on one grid of lags, `batched` is.
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

    #: Values of a curve at the fitted points, shape (..., n_points), for parameters of shape (..., n_parameters).
    Curve: TypeAlias = Callable[[FloatArray], FloatArray]

#: Distance at which a parameter is held elsewhere, to test whether it is identified.
PARAMETER_MOVE = 0.1
# Along the ridge of a discovery curve a search takes hundreds of evaluations. It is given up if a part of them lowers
# the cost by no more than rounding.
_EVALUATIONS, _WITHOUT_PROGRESS = 2_000, 100
# A search that starts on a bound hardly leaves it.
_INSIDE = 1e-3
_NEAR_BOUND = 0.02
# A parameter is set to a bound if that costs no more than rounding: relative to the cost, and per point of a noiseless
# curve.
_RELATIVE_COST = 1e-9
_ROUNDING_COST = 1e-20


class _NoProgressError(Exception):
    """A search has lowered the cost by no more than rounding for many evaluations."""


class _Progress:
    """The best point of a search, and when it last lowered the cost by more than rounding."""

    def __init__(self) -> None:
        self.values: FloatArray = np.zeros(0)
        self.residuals: FloatArray = np.zeros(0)
        self._best = self._cost = np.inf
        self._since = 0

    def note(self, values: FloatArray, residuals: FloatArray) -> None:
        """Note an evaluation, and give the search up if there is no progress."""
        cost = float(residuals @ residuals)
        if cost < self._best:
            self._best, self.values, self.residuals = cost, values, residuals
        self._since += 1
        if cost < self._cost * (1 - _RELATIVE_COST):
            self._cost, self._since = cost, 0
        elif self._since >= _WITHOUT_PROGRESS:
            raise _NoProgressError


class Optimum(NamedTuple):
    """Optimum of a search.

    Attributes
    ----------
    parameters
        Shape (n_parameters,), each in [0, 1].
    free
        Shape (n_parameters,); False for a parameter held at its value.
    fitted
        The curve at the optimum, shape (n_points,).
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
    """Find the best optimum of several starts, then move parameters to a bound while that costs nothing.

    All starts are searched together, and the best one again thoroughly; a single start only thoroughly. The thorough
    search stays inside the bounds. A parameter that ends near a bound is set to it and the free parameters are fitted
    again. If the cost is not larger, that fit becomes the optimum, with the parameter no longer free.
    """
    start = np.array(list(starts))
    found = start[0] if len(start) == 1 else _best_of(curve, observed, start)
    best = _search(curve, observed, np.clip(found, _INSIDE, 1 - _INSIDE), np.ones(start.shape[1], dtype=bool))
    while True:
        nearest = np.rint(best.parameters)
        near = np.flatnonzero(best.free & (abs(best.parameters - nearest) <= _NEAR_BOUND))
        on_bounds = [minimise_holding(curve, observed, best, int(index), float(nearest[index])) for index in near]
        candidate = min(on_bounds, key=lambda optimum: optimum.cost, default=None)
        tolerated = best.cost * (1 + _RELATIVE_COST) + _ROUNDING_COST * observed.size
        if candidate is None or candidate.cost > tolerated:
            return best
        best = candidate


def _best_of(curve: Curve, observed: FloatArray, start: FloatArray) -> FloatArray:
    """Search from all starts, shape (n_starts, n_parameters), and return the best end."""
    every = np.broadcast_to(observed, (len(start), observed.size))
    bounds = np.zeros(start.shape[1]), np.ones(start.shape[1])
    free = np.ones(start.shape, dtype=bool)
    found = minimise_all(
        lambda values, _: curve(values),
        every,
        np.ones_like(every),
        start=start,
        free=free,
        bounds=bounds,
        only_best=True,
    )
    return np.asarray(found.parameters[found.cost.argmin()])


def minimise_holding(curve: Curve, observed: FloatArray, near: Optimum, index: int, value: float) -> Optimum:
    """Continue from an optimum with one more parameter held, at a value."""
    start, free = near.parameters.copy(), near.free.copy()
    start[index], free[index] = value, False
    return _search(curve, observed, start, free)


def moves(value: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Return the values within the bounds at a distance of `PARAMETER_MOVE`."""
    return [moved for moved in (value - PARAMETER_MOVE, value + PARAMETER_MOVE) if low <= moved <= high]


def hold_elsewhere(
    curve: Curve, observed: FloatArray, optimum: Optimum, indices: Iterable[int]
) -> Iterator[tuple[int, Optimum]]:
    """Continue with each free parameter of the given indices held at each of its `moves`, one at a time.

    All searches are made together. One that does not end, as on a ridge, is made again thoroughly.
    """
    held = [
        (index, value) for index in indices if optimum.free[index] for value in moves(float(optimum.parameters[index]))
    ]
    start, free = np.tile(optimum.parameters, (len(held), 1)), np.tile(optimum.free, (len(held), 1))
    for row, (index, value) in enumerate(held):
        start[row, index], free[row, index] = value, False
    every = np.broadcast_to(observed, (len(held), observed.size))
    bounds = np.zeros(start.shape[1]), np.ones(start.shape[1])
    found = minimise_all(
        lambda values, _: curve(values), every, np.ones_like(every), start=start, free=free, bounds=bounds
    )
    fitted = curve(found.parameters)
    for row, (index, value) in enumerate(held):
        if found.settled[row]:
            cost = float(found.cost[row])
            yield index, Optimum(found.parameters[row], free[row], fitted[row], cost, converged=True)
        else:
            yield index, minimise_holding(curve, observed, optimum, index, value)


def response(curve: Curve, optimum: Optimum, estimates: Curve) -> FloatArray:
    """Differentiate estimates by each observed point, with the curve linearised at the optimum.

    Parameters
    ----------
    estimates
        Estimates, shape (..., n_estimates), for parameters of shape (..., n_parameters).

    Returns
    -------
    ndarray
        Shape (n_estimates, n_points); NaN for an estimate that does not depend on a free parameter.
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
    """Return all parameters, shape (..., n_parameters), with the free ones set to values of shape (..., n_free)."""
    whole = np.broadcast_to(parameters, (*values.shape[:-1], parameters.size)).copy()
    whole[..., free] = values
    return whole


def _search(curve: Curve, observed: FloatArray, start: FloatArray, free: BoolArray) -> Optimum:
    """Minimise over the free parameters from one start, with the other parameters held.

    Only a negligible step ends the search, because the cost is flat along a ridge.
    """

    def curve_at(values: FloatArray) -> FloatArray:
        return curve(_with_free(start, free, values))

    progress = _Progress()

    def residuals(values: FloatArray) -> FloatArray:
        found = curve_at(values) - observed
        progress.note(values, found)
        return found

    def slopes(values: FloatArray) -> FloatArray:
        return jacobian(curve_at, values, 0, 1).T

    if not free.any():
        fitted = curve(start)
        return Optimum(start, free, fitted, float(((fitted - observed) ** 2).sum()), converged=True)
    try:
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
    except _NoProgressError:
        end, left, converged = progress.values, progress.residuals, False
    else:
        end, left, converged = found.x, found.fun, bool(found.success)
    return Optimum(_with_free(start, free, end), free, observed + left, float(left @ left), converged)
