"""Fit a curve of the homogeneous or the core-shell urn to one observable by unweighted least squares.

Contains the steps that the fits of all observables share. Does not read an observable; see `containment` and
`discovery`.

On the clock ``crawl`` the points are the mean curve, one per lag or window length; on the clock ``year`` every pair of
crawls and every window is a point with its own gaps. Parameters are bounded by 0 and 1. A least-squares fit starts at
the optimum by variable projection (see `batched`) where the curve allows it, or else is the best of 12 starts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.curves.model import CoreShellUrn, Urn
from crawl_urn_dagster.urn.fits.identification import Alternative, explain_non_identification, search_status
from crawl_urn_dagster.urn.optimise.bounded_least_squares import hold_elsewhere, minimise, response
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode, at_bound, too_few
from crawl_urn_dagster.urn.results.result import FitKind, FitResult, LeastSquaresDetails, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray
    from crawl_urn_dagster.urn.fits.batched import BatchedFits
    from crawl_urn_dagster.urn.optimise.bounded_least_squares import Curve, Optimum

Model = Literal["homogeneous", "core_shell"]
CurveFit = FitResult[LeastSquaresDetails]

#: Names of the estimates, in the order of `LeastSquaresDetails.response`.
ESTIMATES = CoreShellUrn.ESTIMATES
URNS: dict[str, type[Urn] | type[CoreShellUrn]] = {"homogeneous": Urn, "core_shell": CoreShellUrn}
#: Parameters to search from.
STARTS: dict[str, tuple[tuple[float, ...], ...]] = {
    "homogeneous": tuple(product((0.2, 0.5, 0.8, 0.97), (0.1, 0.4, 0.8))),
    "core_shell": tuple(product((0.1, 0.5), (0.3, 0.7, 0.95), (0.2, 0.7))),
}


@dataclass(frozen=True)
class Points:
    """Points of a curve that an urn is fitted to.

    Attributes
    ----------
    kind
        Kind of the fit.
    abscissa, observed
        Shape (points,); see `LeastSquaresDetails`.
    """

    kind: FitKind
    abscissa: FloatArray
    observed: FloatArray

    @property
    def unfitted(self) -> CurveFit | None:
        """The fit of too few points; None when there are enough."""
        n_parameters, distinct = len(fields(URNS[self.kind.model])), len(np.unique(self.abscissa))
        if distinct > n_parameters:
            return None
        reason = too_few(ReasonCode.TOO_FEW_LAGS, distinct, n_parameters)
        none = np.full(len(self.abscissa), np.nan)
        return self.fitted(none, {}, status=Status.TOO_FEW_POINTS, reasons=(reason,))

    def fitted(
        self,
        fitted: FloatArray,
        estimates: dict[str, float],
        response_to_points: FloatArray | None = None,
        *,
        status: Status = Status.OK,
        reasons: tuple[Reason, ...] = (),
    ) -> CurveFit:
        """Return the fit with these estimates.

        Parameters
        ----------
        fitted
            The model's values, shape (points,).
        estimates
            By name.
        response_to_points
            Derivative of `ESTIMATES` by each point, shape (4, points); unknown by default.
        """
        unknown = np.full((len(ESTIMATES), len(self.abscissa)), np.nan)
        details = LeastSquaresDetails(
            abscissa=self.abscissa,
            observed=self.observed,
            fitted=fitted,
            response=unknown if response_to_points is None else response_to_points,
            response_names=ESTIMATES,
        )
        return FitResult(kind=self.kind, estimates=estimates, status=status, details=details, reasons=reasons)


def mean_by(lag: npt.ArrayLike, values: npt.ArrayLike) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the mean of the values of each lag: the mean curve that the clock ``crawl`` fits.

    Returns
    -------
    tuple
        The distinct lags in increasing order, the mean at each, and the number of values behind each mean.

    Examples
    --------
    >>> lags, means, counts = mean_by([1, 1, 2], [0.8, 0.6, 0.5])
    >>> lags.tolist(), means.round(2).tolist(), counts.tolist()
    ([1.0, 2.0], [0.7, 0.5], [2, 1])
    """
    lags, index, counts = np.unique(np.asarray(lag, dtype=np.float64), return_inverse=True, return_counts=True)
    return lags, np.bincount(index, weights=np.asarray(values, dtype=np.float64)) / counts, counts


def finite(**named: npt.ArrayLike) -> list[FloatArray]:
    """Return values as arrays.

    Raises
    ------
    ValueError
        When a value is not finite; the message has its name and index.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in named.values()]
    for name, values in zip(named, arrays, strict=True):
        if not np.isfinite(values).all():
            index = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"{name} {index} is {values[index]}; expected finite numbers: leave unknown points out")
    return arrays


def columns(parameters: FloatArray) -> list[FloatArray]:
    """Return parameters of shape (..., parameters) as arrays that broadcast against a last axis of points."""
    return [parameters[..., k, None] for k in range(parameters.shape[-1])]


def fit_line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return slope and intercept of the least-squares line."""
    slope, intercept = np.polyfit(x, y, 1)
    return float(slope), float(intercept)


def line_response(x: FloatArray) -> FloatArray:
    """Return the derivative of slope and intercept of a line by each point, shape (2, points)."""
    return np.asarray(np.linalg.pinv(np.stack([x, np.ones_like(x)], axis=1)))


def fit_from_line(
    points: Points, fitted: FloatArray, alpha: float, coverage: float, response_to_points: FloatArray
) -> CurveFit:
    """Return a fit that inverts a line.

    Parameters
    ----------
    response_to_points
        Derivative of alpha and coverage by each point, shape (2, points).
    """
    unknown = np.full((len(ESTIMATES) - 2, len(points.abscissa)), np.nan)
    fit = points.fitted(fitted, {"alpha": alpha, "coverage": coverage}, np.concatenate([unknown, response_to_points]))
    if 0 < alpha < 1 and 0 < coverage < 1:
        return fit
    outside = Reason(ReasonCode.OUTSIDE_UNIT_INTERVAL, {"alpha": alpha, "coverage": coverage})
    return fit.with_reasons(outside, status=Status.NOT_IDENTIFIED)


class SearchedCurve(NamedTuple):
    """Optimum of a curve, and its status with reasons."""

    optimum: Optimum
    status: Status
    reasons: tuple[Reason, ...]


def search_curve(
    points: Points, curve: Curve, unit: float, *, share_name: str = "kappa", near: BatchedFits | None = None
) -> SearchedCurve:
    """Search the optimum of a curve whose alpha is the survival over a unit of time.

    In units of the smallest lag or gap, survival is away from 0 and sensitive to the data on every clock.

    Parameters
    ----------
    curve
        Function that returns the values at the points, shape (..., points), for parameters (..., parameters).
    unit
        Unit of time of the fitted alpha, in units of the clock.
    share_name
        Name of the fitted core fraction in reasons.
    near
        Optimum of the same curve by `batched`, one problem, from which the search starts if it is inside the bounds; by
        default it has 12 starts.
    """
    if near is None or near.status[0] != Status.OK:
        starts = STARTS[points.kind.model]
    else:
        starts = ((float(near.kappa[0]), float(near.alpha[0] ** unit), float(near.coverage[0])),)
    optimum = minimise(curve, points.observed, starts)
    return SearchedCurve(optimum, *_status(points, curve, optimum, share_name))


def fit_curve(
    points: Points,
    curve: Curve,
    unit: float,
    searched: SearchedCurve,
    *,
    shares: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
) -> CurveFit:
    """Return the fit at the optimum of a curve.

    Parameters
    ----------
    curve, unit
        As in `search_curve`.
    searched
        Its result.
    shares
        Function that returns κ and μ for the fitted core fraction and coverage.
    """
    optimum = searched.optimum

    def estimated(parameters: FloatArray) -> FloatArray:
        *share, alpha, coverage = np.moveaxis(parameters, -1, 0)
        core_shares = shares(share[0], coverage) if share else np.full((2, *alpha.shape), np.nan)
        return np.stack([*core_shares, alpha ** (1 / unit), coverage], axis=-1)

    values = dict(zip(ESTIMATES, estimated(optimum.parameters).tolist(), strict=True))
    if points.kind.model == "homogeneous":
        values = {name: values[name] for name in ("alpha", "coverage")}
    by_points = response(curve, optimum, estimated)
    return points.fitted(optimum.fitted, values, by_points, status=searched.status, reasons=searched.reasons)


def _status(points: Points, curve: Curve, optimum: Optimum, share_name: str) -> tuple[Status, tuple[Reason, ...]]:
    """Return the status of a least-squares fit and the reasons; kappa may be unidentified in a fit at a bound too."""
    part = "urn" if points.kind.model == "homogeneous" else "shell"
    names = [field.name for field in fields(URNS[points.kind.model])]
    bounds = [
        at_bound(names[index], bound, part=part)
        for index, bound in enumerate(optimum.parameters)
        if not optimum.free[index]
    ]
    is_testable = optimum.converged and points.kind.model == "core_shell" and optimum.free[0]
    unidentified = _non_identification(points, curve, optimum, share_name) if is_testable else ()
    return search_status(bounds, unidentified, converged=optimum.converged)


def _non_identification(points: Points, curve: Curve, optimum: Optimum, share_name: str) -> tuple[Reason, ...]:
    """Return why a parameter of a core-shell fit is not identified, if one is not."""
    names = [share_name, "alpha", "coverage"]
    residuals = points.observed - optimum.fitted
    return explain_non_identification(
        points.kind.projection,
        optimum.fitted,
        (
            Alternative(names[index], other.fitted)
            for index, other in hold_elsewhere(curve, points.observed, optimum, (0, 2, 1))
        ),
        residual_rms=float(np.sqrt(np.mean(residuals**2))),
    )
