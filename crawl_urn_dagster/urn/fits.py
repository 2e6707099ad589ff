"""The paper's fits: least squares of the two urns to averaged or pairwise observables.

Here: the fit of each projection, and the judgement whether its numbers mean anything. Not here: the curves
themselves (`model`), the search (`bounded`), whether any urn can hold (`violation`), or intervals.

Fits are unweighted. On the clock ``crawl`` the points are the mean curve, one per lag or window length; on the
clock ``year`` every pair of crawls and every window is a point of its own, with its own gaps. Parameters are
bounded by 0 and 1, and a least-squares fit is the best of 12 starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.bounded import minimise, minimise_holding
from crawl_urn_dagster.urn.model import (
    CoreShellUrn,
    FloatArray,
    Form,
    Urn,
    core_share_from_kappa,
    kappa_from_core_share,
    urn_from_tail,
)

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.bounded import Curve, Optimum
    from crawl_urn_dagster.urn.histories import IntArray

Clock = Literal["crawl", "year"]
Model = Literal["homogeneous", "core_shell"]

#: Statuses of a fit, in order of precedence. No fit returns ``model_violation``; see `violation`.
STATUSES = ("model_violation", "too_few_points", "not_converged", "at_bound", "not_identified", "ok")

_PARAMETERS = {"homogeneous": ("alpha", "coverage"), "core_shell": ("kappa", "alpha", "coverage")}
_STARTS = {
    "homogeneous": tuple(product((0.2, 0.5, 0.8, 0.97), (0.1, 0.4, 0.8))),
    "core_shell": tuple(product((0.1, 0.5), (0.3, 0.7, 0.95), (0.2, 0.7))),
}
_AT_BOUND = {
    ("kappa", 0): "the homogeneous urn suffices",
    ("kappa", 1): "all elements belong to the core",
    ("alpha", 0): "nothing survives from one crawl to the next",
    ("alpha", 1): "nothing leaves the {part} within the window",
    ("coverage", 0): "a crawl samples a vanishing part of the {part}",
    ("coverage", 1): "every crawl samples the whole {part}",
}
# Kappa is not identified when it can move so far while no fitted point moves farther than this.
_KAPPA_MOVE = 0.1
_FITTED_MOVE = 0.01
# A tail this close to one new crawl per crawl says nothing about what is seen again.
_NOTHING_SEEN_AGAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted urn.

    Attributes
    ----------
    projection
        What was fitted: ``containment``, ``discovery_curve``, ``discovery_tail`` or ``discovery_increments``.
    model
        ``homogeneous`` or ``core_shell``.
    form
        ``exact`` or ``paper``; see `CoreShellUrn.containment`.
    clock
        Unit of time of ``alpha``: ``crawl`` or ``year``.
    kappa, core_share
        Core's share of the urn and of one crawl; None for the homogeneous urn. In the paper's form of
        containment both are the printed κ.
    alpha, coverage
        Survival and coverage of the urn, or of the shell. They are in [0, 1], except that an inversion or
        regression of status ``not_identified`` gives its values as they came out.
    residual_rms
        Root mean square of the residuals, in the unit of ``observed``.
    n_points
        Number of fitted points.
    status
        One of `STATUSES`.
    reason
        Why the status is not ``ok``, as a sentence; None when it is.
    abscissa
        Lags, or times from the first to the last crawl of a window, in units of the clock; shape (points,).
    observed
        Containment, or distinct elements over the size of the start crawl; shape (points,).
    fitted
        The model's values; shape (points,).

    Notes
    -----
    Parameters and ``residual_rms`` are None, and ``fitted`` is NaN, when nothing could be estimated.
    """

    projection: str
    model: Model
    form: Form
    clock: Clock
    kappa: float | None
    core_share: float | None
    alpha: float | None
    coverage: float | None
    residual_rms: float | None
    n_points: int
    status: str
    reason: str | None
    abscissa: FloatArray
    observed: FloatArray
    fitted: FloatArray

    @property
    def residuals(self) -> FloatArray:
        """Observed less fitted, shape (points,)."""
        return self.observed - self.fitted


def mean_by(lag: npt.ArrayLike, values: npt.ArrayLike) -> tuple[FloatArray, FloatArray, IntArray]:
    """Mean of the values of each lag: the mean curve that the clock ``crawl`` fits.

    Returns
    -------
    The distinct lags in increasing order, the mean of each, and how many values it is of.
    """
    lags, index, counts = np.unique(np.asarray(lag, dtype=np.float64), return_inverse=True, return_counts=True)
    return lags, np.bincount(index, weights=np.asarray(values, dtype=np.float64)) / counts, counts


def fit_containment_log_linear(lag: npt.ArrayLike, containment: npt.ArrayLike, *, clock: Clock) -> Fit:
    """Regress log g on d: the homogeneous urn, log g(d) = log c + d log α.

    Parameters
    ----------
    lag, containment
        Shape (points,), in units of the clock and of a crawl. Points of lag 0, and those whose containment is
        not above 0, are left out.
    clock
        What the lags count.

    Raises
    ------
    ValueError
        When a value is not finite, as in every fit.
    """
    d, g = _finite(lag=lag, containment=containment)
    keep = (d > 0) & (g > 0)
    points = _points("containment", "homogeneous", "exact", clock, d[keep], g[keep])
    if points.status == "too_few_points":
        return points
    slope, intercept = _line(points.abscissa, np.log(points.observed))
    fitted = np.exp(intercept + slope * points.abscissa)
    return _inverted(points, fitted, float(np.exp(slope)), float(np.exp(intercept)))


def fit_containment_core_shell(
    lag: npt.ArrayLike, containment: npt.ArrayLike, *, form: Form, clock: Clock
) -> Fit:
    """Fit floor + (1 - floor) c α^d to containment; the floor is μ in the exact form, κ in the paper's.

    The two forms draw the same curves; the exact κ is mapped back from μ. Lag 0 is left out. Parameters are
    those of `fit_containment_log_linear`.
    """
    d, g = _finite(lag=lag, containment=containment)
    points = _points("containment", "core_shell", form, clock, d[d > 0], g[d > 0])
    if points.status == "too_few_points":
        return points
    unit = float(points.abscissa.min())

    def curve(parameters: FloatArray) -> FloatArray:
        return _urn(parameters).containment(points.abscissa / unit, form="paper")

    fit = _least_squares(points, curve, unit)

    return replace(fit, core_share=fit.kappa) if form == "paper" else replace(fit, core_share=fit.kappa)


def fit_discovery_homogeneous(
    times: npt.ArrayLike, start: npt.ArrayLike, end: npt.ArrayLike, ratio: npt.ArrayLike, *, clock: Clock
) -> Fit:
    """Fit the discovery curve of the homogeneous urn to windows of crawls.

    Parameters
    ----------
    times
        Times of the crawls, shape (crawls,), in units of the clock, not decreasing. For the mean curve of the
        clock ``crawl`` they are 0, 1, … and every window starts at 0.
    start, end
        Index into ``times`` of a window's first and last crawl, shape (windows,). Windows of one crawl are left
        out.
    ratio
        Distinct elements of the window over those of its first crawl, shape (windows,).
    clock
        What the times count.
    """
    return _fit_discovery("homogeneous", times, start, end, ratio, clock)


def fit_discovery_core_shell(
    times: npt.ArrayLike, start: npt.ArrayLike, end: npt.ArrayLike, ratio: npt.ArrayLike, *, clock: Clock
) -> Fit:
    """Fit the discovery curve of core and shell; parameters are those of `fit_discovery_homogeneous`."""
    return _fit_discovery("core_shell", times, start, end, ratio, clock)
