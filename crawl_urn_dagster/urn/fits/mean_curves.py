"""Fit any urn to mean containment, the mean discovery curve, or both together, by unweighted least squares.

Does not fit capture histories (see `histories`), nor compare models (see `goodness_of_fit.model_comparison`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.curves.model import CoreShellUrn, Urn
from crawl_urn_dagster.urn.curves.revisit import RevisitDelayUrn
from crawl_urn_dagster.urn.curves.shells import BetaShellUrn, shells_in_order
from crawl_urn_dagster.urn.fits.identification import Alternative, explain_non_identification, search_status
from crawl_urn_dagster.urn.fits.least_squares import STARTS
from crawl_urn_dagster.urn.optimise.bounded_least_squares import hold_elsewhere, minimise, response
from crawl_urn_dagster.urn.results.reasons import ReasonCode, at_bound, too_few
from crawl_urn_dagster.urn.results.result import FitKind, FitResult, LeastSquaresDetails, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray

CurvesModel = Literal["homogeneous", "core_shell", "core_two_shells", "beta_shell"]


@dataclass(frozen=True, eq=False)
class UrnDetails(LeastSquaresDetails):
    """Points, residuals and fitted urn of a least-squares fit to curves.

    The points are the curves in units of one crawl size, containment first.

    Attributes
    ----------
    urn
        The fitted urn, whose fields are the parameters; None when nothing could be estimated.
    n_parameters
        Number of fitted parameters.
    is_identified
        Whether the points distinguish the first parameter from values 0.1 away.
    """

    urn: Any
    n_parameters: int
    is_identified: bool


UrnFit: TypeAlias = FitResult[UrnDetails]


def fit_curves(
    model: CurvesModel,
    *,
    lag: npt.ArrayLike = (),
    containment: npt.ArrayLike = (),
    t: npt.ArrayLike = (),
    ratio: npt.ArrayLike = (),
    near: UrnFit | None = None,
) -> UrnFit:
    """Fit an urn to mean containment, the mean discovery curve, or both together; unweighted, per crawl.

    Containment is in its exact form. Shells are in order of survival, the longer-lived first.

    Parameters
    ----------
    model
        ``homogeneous``, ``core_shell``, ``core_two_shells`` or ``beta_shell``. One curve alone does not identify two
        shells in general; the status then says so.
    lag, containment
        Crawls and mean containment, shape (lags,); lag 0 is left out. None by default.
    t, ratio
        Crawls after the first and mean U(s, T)/U(s, 0), shape (lengths,); t = 0 is left out. None by default.
    near
        A fit of the same urn to similar curves, to search from; by default the search has many starts.

    Returns
    -------
    FitResult
        Estimates are in [0, 1]: ``kappa`` and ``core_share`` (with a core), ``alpha`` and ``coverage``. Two shells have
        ``share_1``, ``alpha_1`` and ``coverage_1``, and the same names with 2. A shell with spread coverage also has
        ``spread`` and ``coverage_sd``. The details are `UrnDetails`.

    Raises
    ------
    ValueError
        When shapes do not match or a value is not finite.

    Examples
    --------
    >>> lag = np.arange(1, 25)
    >>> urn = BetaShellUrn(kappa=0.2, alpha=0.9, coverage=0.5, spread=0.3)
    >>> fit = fit_curves("beta_shell", lag=lag, containment=urn.containment(lag), t=lag, ratio=urn.discovery_curve(lag))
    >>> round(fit.estimates["spread"], 3)
    0.3
    """
    curves = {"lag": lag, "containment": containment, "t": t, "ratio": ratio}
    return _fit_urn_to_curves(model, urn_of=_URNS[model], starts=_STARTS[model], near=near, **curves)


def fit_revisit_delay(
    t: npt.ArrayLike,
    ratio: npt.ArrayLike,
    *,
    delay: int,
    lag: npt.ArrayLike = (),
    containment: npt.ArrayLike = (),
    near: UrnFit | None = None,
) -> UrnFit:
    """Fit the curves of an urn with a revisit delay of given length; it has no core.

    Parameters
    ----------
    t, ratio, lag, containment, near
        As in `fit_curves`.
    delay
        Delay in crawls, at least 1; without a delay the urn is the homogeneous one, see `fit_curves`.

    Returns
    -------
    FitResult
        Estimates ``alpha``, ``coverage``, ``revisit_coverage`` and ``crawl_coverage``.

    Raises
    ------
    ValueError
        When a number is out of range.

    Examples
    --------
    >>> t = np.arange(1, 25)
    >>> urn = RevisitDelayUrn(alpha=0.9, coverage=0.5, revisit_coverage=0.1, delay=1)
    >>> fit = fit_revisit_delay(t, urn.discovery_curve(t), delay=1)
    >>> round(fit.estimates["revisit_coverage"], 3)
    0.1
    """
    if delay < 1:
        raise ValueError(f"delay is {delay}; expected a whole number of crawls of at least 1")
    return _fit_urn_to_curves(
        "revisit_delay",
        urn_of=partial(RevisitDelayUrn, delay=delay),
        starts=_REVISIT_STARTS,
        lag=lag,
        containment=containment,
        t=t,
        ratio=ratio,
        near=near,
    )


def fit_urn(
    projection: str,
    model: str,
    observed: FloatArray,
    *,
    urn_of: Callable[..., Any],
    curve_of: Callable[[Any], FloatArray],
    starts: Sequence[tuple[float, ...]],
    abscissa: FloatArray | None = None,
) -> UrnFit:
    """Fit an urn whose parameters are in [0, 1] by least squares.

    Parameters
    ----------
    projection, model
        Names for the result.
    observed
        Shape (points,), finite.
    urn_of
        Function that returns the urn with given parameters, which are its first fields in order. The attributes named
        in its ``ESTIMATES`` are estimated.
    curve_of
        Function that returns the values of an urn at the points.
    starts
        Parameters to search from.
    abscissa
        Lags of the points, shape (points,); 1, 2, … by default.

    Returns
    -------
    FitResult
        Its details are `UrnDetails`.

    Examples
    --------
    >>> t = np.arange(1, 11)
    >>> observed = Urn(alpha=0.9, coverage=0.4).discovery_curve(t)
    >>> curve_of = lambda urn: urn.discovery_curve(t)
    >>> fit = fit_urn("discovery_curve", "homogeneous", observed, urn_of=Urn, curve_of=curve_of, starts=[(0.5, 0.5)])
    >>> round(fit.alpha, 4)
    0.9
    """
    n_parameters = len(starts[0])
    kind = FitKind(projection, model, "exact", "crawl")
    lags = np.arange(1.0, observed.size + 1) if abscissa is None else abscissa
    if observed.size <= n_parameters:
        return _too_few(kind, lags, observed, n_parameters)

    def curve(parameters: FloatArray) -> FloatArray:
        return curve_of(urn_of(*np.moveaxis(parameters, -1, 0)[..., None]))

    def estimated(parameters: FloatArray) -> FloatArray:
        urn = urn_of(*np.moveaxis(parameters, -1, 0))
        return np.stack([getattr(urn, name) for name in urn.ESTIMATES], axis=-1)

    optimum = minimise(curve, observed, starts)
    urn = urn_of(*optimum.parameters.tolist())
    parameters = {field.name: float(getattr(urn, field.name)) for field in fields(urn)[:n_parameters]}
    first = next(iter(parameters))
    unidentified = explain_non_identification(
        projection,
        optimum.fitted,
        (Alternative(first, other.fitted) for _, other in hold_elsewhere(curve, observed, optimum, (0,))),
        residual_rms=float(np.sqrt(np.mean((optimum.fitted - observed) ** 2))),
    )
    bounds = [at_bound(name, value) for name, value in parameters.items() if value in {0, 1}]
    status, reasons = search_status(bounds, unidentified, converged=optimum.converged)
    details = UrnDetails(
        abscissa=lags,
        observed=observed,
        fitted=optimum.fitted,
        response=response(curve, optimum, estimated),
        response_names=urn.ESTIMATES,
        urn=urn,
        n_parameters=n_parameters,
        is_identified=not unidentified,
    )
    estimates = dict(zip(urn.ESTIMATES, estimated(optimum.parameters).tolist(), strict=True))
    return FitResult(kind=kind, estimates=estimates, status=status, details=details, reasons=reasons)


def _fit_urn_to_curves(
    model: str,
    *,
    urn_of: Callable[..., Any],
    starts: Sequence[tuple[float, ...]],
    lag: npt.ArrayLike,
    containment: npt.ArrayLike,
    t: npt.ArrayLike,
    ratio: npt.ArrayLike,
    near: UrnFit | None,
) -> UrnFit:
    """Fit any urn that has both curves; for the parameters see `fit_urn` and `fit_curves`."""
    lags, g = _points("lag", lag, "containment", containment)
    lengths, curve = _points("t", t, "ratio", ratio)
    projection = "curves" if lags.size and lengths.size else "containment" if lags.size else "discovery_curve"

    def curves(urn: Any) -> FloatArray:
        parts = [urn.containment(lags)] if lags.size else []
        return np.concatenate([*parts, urn.discovery_curve(lengths)] if lengths.size else parts, axis=-1)

    return fit_urn(
        projection,
        model,
        np.concatenate([g, curve]),
        urn_of=urn_of,
        curve_of=curves,
        starts=starts if near is None or near.details.urn is None else [_parameters_of(near.details)],
        abscissa=np.concatenate([lags, lengths]),
    )


def _too_few(kind: FitKind, abscissa: FloatArray, observed: FloatArray, n_parameters: int) -> UrnFit:
    details = UrnDetails(
        abscissa=abscissa,
        observed=observed,
        fitted=np.full(observed.size, np.nan),
        response=np.empty((0, observed.size)),
        response_names=(),
        urn=None,
        n_parameters=n_parameters,
        is_identified=False,
    )
    reason = too_few(ReasonCode.TOO_FEW_POINTS, observed.size, n_parameters)
    return FitResult(kind=kind, estimates={}, status=Status.TOO_FEW_POINTS, details=details, reasons=(reason,))


def _parameters_of(details: UrnDetails) -> tuple[float, ...]:
    return tuple(float(getattr(details.urn, field.name)) for field in fields(details.urn)[: details.n_parameters])


def _points(
    abscissa_name: str, abscissa: npt.ArrayLike, name: str, values: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return the points as arrays, without the points at 0."""
    x, y = np.asarray(abscissa, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"{abscissa_name} has shape {x.shape} and {name} {y.shape}; expected (points,) for both")
    unknown = ~(np.isfinite(x) & np.isfinite(y))
    if unknown.any():
        at = int(unknown.argmax())
        raise ValueError(f"point {at} is {name} {y[at]} at {abscissa_name} {x[at]}; leave unknown points out")
    return x[x != 0], y[x != 0]


_URNS: dict[CurvesModel, Callable[..., Any]] = {
    "homogeneous": Urn,
    "core_shell": CoreShellUrn,
    "core_two_shells": shells_in_order,
    "beta_shell": BetaShellUrn,
}
_SHELLS = (
    (0.5, 0.95, 0.8, 0.7, 0.3),
    (0.5, 0.95, 0.3, 0.7, 0.8),
    (0.5, 0.9, 0.5, 0.4, 0.5),
    (0.5, 0.99, 0.6, 0.85, 0.6),
    (0.2, 0.95, 0.7, 0.8, 0.3),
    (0.8, 0.95, 0.3, 0.5, 0.7),
)
_STARTS: dict[CurvesModel, tuple[tuple[float, ...], ...]] = {
    "homogeneous": STARTS["homogeneous"],
    "core_shell": STARTS["core_shell"],
    "core_two_shells": tuple((kappa, *shells) for kappa in (0.1, 0.4) for shells in _SHELLS),
    "beta_shell": tuple(product((0.1, 0.4), (0.5, 0.9), (0.3, 0.7), (0.05, 0.4))),
}
_REVISIT_STARTS = tuple(product((0.6, 0.9), (0.15, 0.4, 0.8), (0.02, 0.3)))
