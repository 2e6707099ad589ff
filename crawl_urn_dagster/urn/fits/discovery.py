"""Fit the homogeneous and the core-shell urn to the discovery curve, its tail and its increments.

Does not fit other observables; see `containment` and `joint`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.curves.conversions import core_share_from_kappa, urn_from_tail
from crawl_urn_dagster.urn.curves.model import CoreShellUrn
from crawl_urn_dagster.urn.fits.batched import fit_discovery_batch
from crawl_urn_dagster.urn.fits.least_squares import (
    URNS,
    Points,
    columns,
    finite,
    fit_curve,
    fit_from_line,
    fit_line,
    line_response,
    search_curve,
)
from crawl_urn_dagster.urn.optimise.differences import jacobian
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
from crawl_urn_dagster.urn.results.result import FitKind, Status

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.fits.least_squares import CurveFit, Model
    from crawl_urn_dagster.urn.results.result import Clock

# A tail whose slope is this close to one crawl size per crawl does not identify what is recaptured.
_NOTHING_RECAPTURED = 1e-9


def fit_discovery_homogeneous(
    times: npt.ArrayLike, start: npt.ArrayLike, end: npt.ArrayLike, ratio: npt.ArrayLike, *, clock: Clock
) -> CurveFit:
    """Fit the discovery curve of the homogeneous urn to windows of crawls.

    Parameters
    ----------
    times
        Times of the crawls, shape (crawls,), in units of the clock, not decreasing. For the mean curve of the
        clock ``crawl`` they are 0, 1, … and every window starts at 0.
    start, end
        Index into ``times`` of a window's first and last crawl, shape (windows,). Windows of one crawl are
        left out.
    ratio
        Distinct elements of the window divided by those of its first crawl, shape (windows,).
    clock
        Unit of the times: ``crawl`` or ``year``.

    Returns
    -------
    FitResult
        Estimates ``alpha`` and ``coverage``.

    Raises
    ------
    ValueError
        When a value is not finite.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Urn
    >>> t = np.arange(1, 11)
    >>> curve = Urn(alpha=0.9, coverage=0.4).discovery_curve(t)
    >>> fit = fit_discovery_homogeneous(np.arange(11), np.zeros(10, int), t, curve, clock="crawl")
    >>> round(fit.alpha, 4), round(fit.coverage, 4)
    (0.9, 0.4)

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees, Common Crawl Foundation, 2026.
    """
    return _fit_discovery("homogeneous", clock, times=times, start=start, end=end, ratio=ratio)


def fit_discovery_core_shell(
    times: npt.ArrayLike, start: npt.ArrayLike, end: npt.ArrayLike, ratio: npt.ArrayLike, *, clock: Clock
) -> CurveFit:
    """Fit the discovery curve of the core-shell urn to windows of crawls.

    Parameters and errors are the same as for `fit_discovery_homogeneous`.

    Returns
    -------
    FitResult
        Estimates ``kappa``, ``core_share``, ``alpha`` and ``coverage``.

    Examples
    --------
    >>> t = np.arange(1, 25)
    >>> curve = CoreShellUrn(kappa=0.4, alpha=0.8, coverage=0.5).discovery_curve(t)
    >>> fit = fit_discovery_core_shell(np.arange(25), np.zeros(24, int), t, curve, clock="crawl")
    >>> round(fit.kappa, 2)
    0.4

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees, Common Crawl Foundation, 2026.
    """
    return _fit_discovery("core_shell", clock, times=times, start=start, end=end, ratio=ratio)


def invert_discovery_tail(t: npt.ArrayLike, ratio: npt.ArrayLike) -> CurveFit:
    """Invert the asymptote of the mean discovery curve: the homogeneous urn.

    A straight line ν∞ t + I through the last half of the window lengths (rounded up) gives ρ∞ = 1 - ν∞ and
    τ_h = (I - 1)/ρ∞, which `urn_from_tail` inverts.

    Parameters
    ----------
    t
        Crawls after the first, shape (points,). Window lengths of one crawl are left out.
    ratio
        Mean over the windows of distinct elements divided by those of the first crawl, shape (points,).

    Returns
    -------
    FitResult
        Estimates ``alpha`` and ``coverage``, on the clock ``crawl``.

    Raises
    ------
    ValueError
        When a value is not finite.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Urn
    >>> t = np.arange(1, 41)
    >>> fit = invert_discovery_tail(t, Urn(alpha=0.8, coverage=0.5).discovery_curve(t))
    >>> round(fit.alpha, 3), round(fit.coverage, 3)
    (0.8, 0.5)

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees, Common Crawl Foundation, 2026.
    """
    lengths, curve = _curve_in_order(t, ratio)
    half = slice((len(lengths) - 1) // 2 + 1, None)
    points = Points(FitKind("discovery_tail", "homogeneous", "exact", "crawl"), lengths[half], curve[half])
    if (unfitted := points.unfitted) is not None:
        return unfitted
    nu_inf, intercept = fit_line(points.abscissa, points.observed)
    fitted = intercept + nu_inf * points.abscissa
    rho_inf = 1 - nu_inf
    if abs(rho_inf) < _NOTHING_RECAPTURED:
        reasons = (Reason(ReasonCode.NOTHING_RECAPTURED),)
        return points.fitted(fitted, {}, status=Status.NOT_IDENTIFIED, reasons=reasons)

    def invert(line: FloatArray) -> FloatArray:
        rho = 1 - line[..., 0]
        return np.stack(urn_from_tail(rho, (line[..., 1] - 1) / rho), axis=-1)

    line = np.array([nu_inf, intercept])
    alpha, coverage = invert(line).tolist()
    return fit_from_line(points, fitted, alpha, coverage, jacobian(invert, line).T @ line_response(points.abscissa))


def fit_discovery_increments(t: npt.ArrayLike, ratio: npt.ArrayLike) -> CurveFit:
    """Fit the new fraction U(t) - U(t-1), t ≥ 1, of the core-shell urn: a consistency check only.

    An increment needs the curve at both t and t - 1.

    Parameters
    ----------
    t, ratio
        As in `invert_discovery_tail`.

    Returns
    -------
    FitResult
        Estimates ``kappa``, ``core_share``, ``alpha`` and ``coverage``, on the clock ``crawl``.

    Raises
    ------
    ValueError
        When a value is not finite.

    Examples
    --------
    >>> t = np.arange(1, 25)
    >>> fit = fit_discovery_increments(t, CoreShellUrn(kappa=0.4, alpha=0.8, coverage=0.5).discovery_curve(t))
    >>> round(fit.kappa, 2)
    0.4

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees, Common Crawl Foundation, 2026, for the urn.
    """
    lengths, curve = _curve_in_order(t, ratio)
    consecutive = np.diff(lengths) == 1
    points = Points(
        FitKind("discovery_increments", "core_shell", "exact", "crawl"),
        lengths[1:][consecutive],
        np.diff(curve)[consecutive],
    )
    if (unfitted := points.unfitted) is not None:
        return unfitted

    def increments(parameters: FloatArray) -> FloatArray:
        return CoreShellUrn(*columns(parameters)).new_fraction(points.abscissa)

    return fit_curve(points, increments, 1.0, search_curve(points, increments, 1.0), shares=_shares)


def _fit_discovery(
    model: Model,
    clock: Clock,
    *,
    times: npt.ArrayLike,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    ratio: npt.ArrayLike,
) -> CurveFit:
    calendar, observed = finite(times=times, ratio=ratio)
    first, last = np.asarray(start, dtype=np.intp), np.asarray(end, dtype=np.intp)
    keep = last > first
    first, last, observed = first[keep], last[keep], observed[keep]
    points = Points(FitKind("discovery_curve", model, "exact", clock), calendar[last] - calendar[first], observed)
    if (unfitted := points.unfitted) is not None:
        return unfitted
    unit = float(points.abscissa[points.abscissa > 0].min())
    # One row of times per start crawl; past the last crawl time stands still, and no window reaches there.
    rows, row = np.unique(first, return_inverse=True)
    crawls = np.minimum(rows[:, None] + np.arange((last - first).max() + 1), len(calendar) - 1)
    grid = calendar[crawls] / unit

    def curve(parameters: FloatArray) -> FloatArray:
        return URNS[model](*columns(parameters)).discovery_curve_at(grid)[..., row, last - first]

    is_even = bool((np.diff(calendar) == unit).all())
    near = fit_discovery_batch(last - first, observed[None], model=model) if is_even and model == "core_shell" else None
    return fit_curve(points, curve, unit, search_curve(points, curve, unit, near=near), shares=_shares)


def _shares(kappa: FloatArray, coverage: FloatArray) -> tuple[FloatArray, FloatArray]:
    return kappa, core_share_from_kappa(kappa, coverage)


def _curve_in_order(t: npt.ArrayLike, ratio: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Order the mean curve by t, with U(0)/M = 1 at its head."""
    lengths, curve = finite(t=t, ratio=ratio)
    order = np.argsort(lengths)
    order = order[lengths[order] > 0]
    return np.append(0.0, lengths[order]), np.append(1.0, curve[order])
