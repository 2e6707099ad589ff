"""Fit the homogeneous and the core-shell urn to containment.

Does not fit other observables; see `discovery` and `joint`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.curves.conversions import kappa_from_core_share
from crawl_urn_dagster.urn.curves.model import CoreShellUrn
from crawl_urn_dagster.urn.fits.batched import fit_containment_batch
from crawl_urn_dagster.urn.fits.least_squares import (
    Points,
    columns,
    finite,
    fit_curve,
    fit_from_line,
    fit_line,
    line_response,
    search_curve,
)
from crawl_urn_dagster.urn.results.result import FitKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.curves.model import Form
    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.fits.least_squares import CurveFit, SearchedCurve
    from crawl_urn_dagster.urn.optimise.bounded_least_squares import Curve
    from crawl_urn_dagster.urn.results.result import Clock


def fit_containment_log_linear(lag: npt.ArrayLike, containment: npt.ArrayLike, *, clock: Clock) -> CurveFit:
    """Regress log g on the lag d: the homogeneous urn, log g(d) = log c + d log α.

    Parameters
    ----------
    lag
        Lags in units of the clock, shape (points,). Points of lag 0 are left out.
    containment
        Containment, shape (points,). Points that are not above 0 are left out.
    clock
        Unit of the lags: ``crawl`` or ``year``.

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
    >>> lag = np.arange(1, 7)
    >>> fit = fit_containment_log_linear(lag, 0.5 * 0.9**lag, clock="crawl")
    >>> round(fit.alpha, 6), round(fit.coverage, 6)
    (0.9, 0.5)

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees, Common Crawl Foundation, 2026.
    """
    d, g = finite(lag=lag, containment=containment)
    keep = (d > 0) & (g > 0)
    points = Points(FitKind("containment", "homogeneous", "exact", clock), d[keep], g[keep])
    if (unfitted := points.unfitted) is not None:
        return unfitted
    slope, intercept = fit_line(points.abscissa, np.log(points.observed))
    fitted = np.exp(intercept + slope * points.abscissa)
    alpha, coverage = float(np.exp(slope)), float(np.exp(intercept))
    by_line = line_response(points.abscissa) / points.observed
    return fit_from_line(points, fitted, alpha, coverage, np.array([[alpha, 0], [0, coverage]]) @ by_line)


def fit_containment_core_shell(lag: npt.ArrayLike, containment: npt.ArrayLike, *, form: Form, clock: Clock) -> CurveFit:
    """Fit floor + (1 - floor) c α^d to containment; the floor is μ in the exact form, κ in the paper's form.

    The two forms draw the same curves; the exact form maps κ back from μ.

    Parameters
    ----------
    lag, containment, clock
        As in `fit_containment_log_linear`; lag 0 is left out.
    form
        ``exact`` or ``paper``; see `CoreShellUrn.containment`.

    Returns
    -------
    FitResult
        Estimates ``kappa``, ``core_share``, ``alpha`` and ``coverage``; in the paper's form the first two are both
        the printed κ.

    Raises
    ------
    ValueError
        When a value is not finite.

    Examples
    --------
    >>> lag = np.arange(1, 13)
    >>> g = CoreShellUrn(kappa=0.4, alpha=0.8, coverage=0.5).containment(lag)
    >>> fit = fit_containment_core_shell(lag, g, form="exact", clock="crawl")
    >>> {name: round(value, 3) for name, value in fit.estimates.items()}
    {'kappa': 0.4, 'core_share': 0.571, 'alpha': 0.8, 'coverage': 0.5}

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees, Common Crawl Foundation, 2026; the exact form is
    derived in docs/mathematics.md.
    """
    d, g = finite(lag=lag, containment=containment)
    points = Points(FitKind("containment", "core_shell", form, clock), d[d > 0], g[d > 0])
    if (unfitted := points.unfitted) is not None:
        return unfitted
    unit = float(points.abscissa.min())

    def shares(floor: FloatArray, coverage: FloatArray) -> tuple[FloatArray, FloatArray]:
        return floor if form == "paper" else kappa_from_core_share(floor, coverage), floor

    searched = _search_floor(points.abscissa.tobytes(), points.observed.tobytes())
    return fit_curve(points, _floor_curve(points.abscissa / unit), unit, searched, shares=shares)


@lru_cache(maxsize=4)
def _search_floor(lag: bytes, containment: bytes) -> SearchedCurve:
    """Search the optimum of the curve that both forms share; the next fit is often the other form's."""
    d, g = np.frombuffer(lag), np.frombuffer(containment)
    unit = float(d.min())
    near = fit_containment_batch(d, g[None], model="core_shell", form="paper")
    points = Points(FitKind("containment", "core_shell", "paper", "crawl"), d, g)
    return search_curve(points, _floor_curve(d / unit), unit, share_name="core_share", near=near)


def _floor_curve(lags: FloatArray) -> Curve:
    return lambda parameters: CoreShellUrn(*columns(parameters)).containment(lags, form="paper")
