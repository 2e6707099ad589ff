"""Least squares of a curve whose few parameters lie in [0, 1], with a decision whether they lie on a bound.

Here: the search and what it found. Not here: which curve is fitted, or what a bound means for it (`fits`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import least_squares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawl_urn_dagster.urn.histories import BoolArray, FloatArray

    #: A curve's values at the fitted points, shape (..., points), for parameters of shape (..., parameters).
    Curve: TypeAlias = Callable[[FloatArray], FloatArray]

# The best step of a central difference is the cube root of the spacing of float64.
_STEP = 6e-6
# Along the ridge of a discovery curve a search takes hundreds of evaluations: only the best start gets them.
_EVALUATIONS_OF_A_START = 50
_EVALUATIONS = 2_000
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

    The search itself stays inside the bounds. A parameter that ends near one is set exactly on it, and the
    free ones are fitted again; where the cost is no larger, that is the optimum, with the parameter not free.
    """
    optima = [
        _search(curve, observed, np.array(start), np.ones(len(start), dtype=bool), _EVALUATIONS_OF_A_START)
        for start in starts
    ]
    leader = min(optima, key=lambda optimum: optimum.cost)
    best = _search(curve, observed, leader.parameters, leader.free, _EVALUATIONS)
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
    return _search(curve, observed, start, free, _EVALUATIONS)


def _search(curve: Curve, observed: FloatArray, start: FloatArray, free: BoolArray, evaluations: int) -> Optimum:
    """Least squares over the free parameters from one start; the others stay where they start.

    Derivatives are central differences, of all parameters in one evaluation of the curve. Only a negligible
    step ends the search, for along a ridge the cost is flat.
    """

    def whole(values: FloatArray) -> FloatArray:
        parameters = np.broadcast_to(start, (*values.shape[:-1], start.size)).copy()
        parameters[..., free] = values
        return parameters

    def jacobian(values: FloatArray) -> FloatArray:
        steps = _STEP * np.eye(values.size)
        up, down = np.minimum(values + steps, 1), np.maximum(values - steps, 0)
        above, below = curve(whole(np.stack([up, down])))
        return np.asarray(((above - below) / np.diagonal(up - down)[:, None]).T)

    def residuals(values: FloatArray) -> FloatArray:
        return curve(whole(values)) - observed

    if not free.any():
        fitted = curve(start)
        return Optimum(start, free, fitted, float(((fitted - observed) ** 2).sum()), converged=True)
    found = least_squares(
        residuals,
        start[free],
        jac=jacobian,
        bounds=(0, 1),
        ftol=None,
        xtol=1e-12,
        gtol=1e-15,
        max_nfev=evaluations,
    )
    return Optimum(whole(found.x), free, observed + found.fun, 2 * float(found.cost), bool(found.success))
