"""The paper's fits: least squares of the two urns to averaged or pairwise observables.

Here: the fit of each projection. Not here: the curves themselves (`model`), the search (`bounded`), what tells whether
its numbers mean anything (`status`) and whether any urn can hold (`violation`), or intervals.

Fits are unweighted. On the clock ``crawl`` the points are the mean curve, one per lag or window length; on
the clock ``year`` every pair of crawls and every window is a point of its own, with its own gaps. Parameters
are bounded by 0 and 1, and a least-squares fit is the best of 12 starts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.curves.conversions import core_share_from_kappa, kappa_from_core_share, urn_from_tail
from crawl_urn_dagster.urn.curves.model import CoreShellUrn, Form, Urn
from crawl_urn_dagster.urn.fits.status import AT_BOUND, Alternative, at_bound, describe_openness, judge_search, too_few
from crawl_urn_dagster.urn.optimise.bounded_least_squares import hold_elsewhere, minimise, response
from crawl_urn_dagster.urn.optimise.differences import jacobian

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray
    from crawl_urn_dagster.urn.optimise.bounded_least_squares import Curve, Optimum

Clock = Literal["crawl", "year"]
Model = Literal["homogeneous", "core_shell"]

#: What a fit estimates, in the order of `Fit.response`.
ESTIMATES = CoreShellUrn.ESTIMATES

_URNS: dict[Model, type[Urn] | type[CoreShellUrn]] = {"homogeneous": Urn, "core_shell": CoreShellUrn}
#: Parameters to search from.
STARTS: dict[Model, tuple[tuple[float, ...], ...]] = {
    "homogeneous": tuple(product((0.2, 0.5, 0.8, 0.97), (0.1, 0.4, 0.8))),
    "core_shell": tuple(product((0.1, 0.5), (0.3, 0.7, 0.95), (0.2, 0.7))),
}
# A tail this close to one new crawl per crawl says nothing about what is seen again.
_NOTHING_SEEN_AGAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted urn.

    Attributes
    ----------
    projection
        What was fitted: ``joint`` (see `joint.JointFit`), ``containment``, ``discovery_curve``, ``discovery_tail`` or
        ``discovery_increments``.
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
        One of `status.STATUSES`.
    reason
        Why the status is not ``ok``, as a sentence; None when it is.
    abscissa
        Lags, or times from the first to the last crawl of a window, in units of the clock; shape (points,).
    observed
        Containment, or distinct elements over the size of the start crawl; shape (points,).
    fitted
        The model's values; shape (points,).
    response
        Derivative of `ESTIMATES` by each observed point, shape (4, points); NaN of an estimate that is None or at a
        bound, and where the estimate is no function of the points. What the points' error makes of the estimates.

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
    response: FloatArray

    @property
    def estimates(self) -> dict[str, float | None]:
        """Estimates by name, in the order of `response`."""
        return {name: getattr(self, name) for name in ESTIMATES}

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
    points = _points("containment", "homogeneous", "exact", clock, abscissa=d[keep], observed=g[keep])
    if points.status == "too_few_points":
        return points
    slope, intercept = _line(points.abscissa, np.log(points.observed))
    fitted = np.exp(intercept + slope * points.abscissa)
    alpha, coverage = float(np.exp(slope)), float(np.exp(intercept))
    by_line = _line_response(points.abscissa) / points.observed
    return _inverted(points, fitted, alpha, coverage, np.array([[alpha, 0], [0, coverage]]) @ by_line)


def fit_containment_core_shell(lag: npt.ArrayLike, containment: npt.ArrayLike, *, form: Form, clock: Clock) -> Fit:
    """Fit floor + (1 - floor) c α^d to containment; the floor is μ in the exact form, κ in the paper's.

    The two forms draw the same curves; the exact κ is mapped back from μ. Lag 0 is left out. Parameters are
    those of `fit_containment_log_linear`.
    """
    d, g = _finite(lag=lag, containment=containment)
    points = _points("containment", "core_shell", form, clock, abscissa=d[d > 0], observed=g[d > 0])
    if points.status == "too_few_points":
        return points
    unit = float(points.abscissa.min())

    def curve(parameters: FloatArray) -> FloatArray:
        return CoreShellUrn(*_columns(parameters)).containment(points.abscissa / unit, form="paper")

    return _least_squares(points, curve, unit)


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
        Index into ``times`` of a window's first and last crawl, shape (windows,). Windows of one crawl are
        left out.
    ratio
        Distinct elements of the window over those of its first crawl, shape (windows,).
    clock
        What the times count.
    """
    return _fit_discovery("homogeneous", clock, times=times, start=start, end=end, ratio=ratio)


def fit_discovery_core_shell(
    times: npt.ArrayLike, start: npt.ArrayLike, end: npt.ArrayLike, ratio: npt.ArrayLike, *, clock: Clock
) -> Fit:
    """Fit the discovery curve of core and shell; parameters are those of `fit_discovery_homogeneous`."""
    return _fit_discovery("core_shell", clock, times=times, start=start, end=end, ratio=ratio)


def invert_discovery_tail(t: npt.ArrayLike, ratio: npt.ArrayLike) -> Fit:
    """Invert the asymptote of the mean discovery curve: the homogeneous urn.

    A straight line ν∞ t + I through the last half of the window lengths (rounded up) gives ρ∞ = 1 - ν∞ and
    τ_h = (I - 1)/ρ∞, which `urn_from_tail` inverts.

    Parameters
    ----------
    t
        Crawls after the first, shape (points,). Window lengths of one crawl are left out.
    ratio
        Mean of the windows' distinct elements over those of their first crawl, shape (points,).
    """
    lengths, curve = _curve_in_order(t, ratio)
    half = slice((len(lengths) - 1) // 2 + 1, None)
    points = _points("discovery_tail", "homogeneous", "exact", "crawl", abscissa=lengths[half], observed=curve[half])
    if points.status == "too_few_points":
        return points
    nu_inf, intercept = _line(points.abscissa, points.observed)
    fitted = intercept + nu_inf * points.abscissa
    rho_inf = 1 - nu_inf
    if abs(rho_inf) < _NOTHING_SEEN_AGAIN:
        reason = "The tail rises by a whole crawl per crawl: nothing is seen again, whatever the coverage."
        return replace(_estimated(points, fitted, None, None), status="not_identified", reason=reason)

    def invert(line: FloatArray) -> FloatArray:
        rho = 1 - line[..., 0]
        return np.stack(urn_from_tail(rho, (line[..., 1] - 1) / rho), axis=-1)

    line = np.array([nu_inf, intercept])
    alpha, coverage = invert(line).tolist()
    return _inverted(points, fitted, alpha, coverage, jacobian(invert, line).T @ _line_response(points.abscissa))


def fit_discovery_increments(t: npt.ArrayLike, ratio: npt.ArrayLike) -> Fit:
    """Fit the new fraction U(t) - U(t-1), t ≥ 1, of core and shell: a check of consistency only.

    Parameters are those of `invert_discovery_tail`; an increment needs the curve at both t and t - 1.
    """
    lengths, curve = _curve_in_order(t, ratio)
    consecutive = np.diff(lengths) == 1
    points = _points(
        "discovery_increments",
        "core_shell",
        "exact",
        "crawl",
        abscissa=lengths[1:][consecutive],
        observed=np.diff(curve)[consecutive],
    )
    if points.status == "too_few_points":
        return points
    return _least_squares(
        points, lambda parameters: CoreShellUrn(*_columns(parameters)).new_fraction(points.abscissa), unit=1.0
    )


def _fit_discovery(
    model: Model,
    clock: Clock,
    *,
    times: npt.ArrayLike,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    ratio: npt.ArrayLike,
) -> Fit:
    calendar, observed = _finite(times=times, ratio=ratio)
    first, last = np.asarray(start, dtype=np.intp), np.asarray(end, dtype=np.intp)
    keep = last > first
    first, last, observed = first[keep], last[keep], observed[keep]
    points = _points(
        "discovery_curve", model, "exact", clock, abscissa=calendar[last] - calendar[first], observed=observed
    )
    if points.status == "too_few_points":
        return points
    unit = float(points.abscissa[points.abscissa > 0].min())
    # One row of times per start crawl; past the last crawl time stands still, and no window reaches there.
    rows, row = np.unique(first, return_inverse=True)
    crawls = np.minimum(rows[:, None] + np.arange((last - first).max() + 1), len(calendar) - 1)
    grid = calendar[crawls] / unit

    def curve(parameters: FloatArray) -> FloatArray:
        return _URNS[model](*_columns(parameters)).discovery_curve_at(grid)[..., row, last - first]

    return _least_squares(points, curve, unit)


def _finite(**named: npt.ArrayLike) -> list[FloatArray]:
    arrays = [np.asarray(values, dtype=np.float64) for values in named.values()]
    for name, values in zip(named, arrays, strict=True):
        if not np.isfinite(values).all():
            index = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"{name} {index} is {values[index]}; expected finite numbers: leave unknown points out")
    return arrays


def _curve_in_order(t: npt.ArrayLike, ratio: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Order the mean curve by t, with U(0)/M = 1 at its head."""
    lengths, curve = _finite(t=t, ratio=ratio)
    order = np.argsort(lengths)
    order = order[lengths[order] > 0]
    return np.append(0.0, lengths[order]), np.append(1.0, curve[order])


def _columns(parameters: FloatArray) -> list[FloatArray]:
    """Parameters of shape (..., parameters) as arrays that broadcast against a last axis of points."""
    return list(np.moveaxis(parameters, -1, 0)[..., None])


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    slope, intercept = np.polyfit(x, y, 1)
    return float(slope), float(intercept)


def no_fit(projection: str, model: Model, clock: Clock, reason: str) -> Fit:
    """Fit of the exact form that has no points, and nothing estimated; the reason says why."""
    empty = np.empty(0)
    return replace(_points(projection, model, "exact", clock, abscissa=empty, observed=empty), reason=reason)


def _points(
    projection: str, model: Model, form: Form, clock: Clock, *, abscissa: FloatArray, observed: FloatArray
) -> Fit:
    """Fit in which nothing is estimated yet: of status ``too_few_points``, or ``ok`` and to be completed."""
    n_parameters, distinct = len(fields(_URNS[model])), len(np.unique(abscissa))
    enough = distinct > n_parameters
    reason = too_few(f"Different lags of pairs or lengths of windows: {distinct}", n_parameters)
    return Fit(
        projection=projection,
        model=model,
        form=form,
        clock=clock,
        kappa=None,
        core_share=None,
        alpha=None,
        coverage=None,
        residual_rms=None,
        n_points=len(abscissa),
        status="ok" if enough else "too_few_points",
        reason=None if enough else reason,
        abscissa=abscissa,
        observed=observed,
        fitted=np.full(len(abscissa), np.nan),
        response=np.full((len(ESTIMATES), len(abscissa)), np.nan),
    )


def _estimated(points: Fit, fitted: FloatArray, alpha: float | None, coverage: float | None) -> Fit:
    rms = float(np.sqrt(np.mean((points.observed - fitted) ** 2)))
    return replace(points, alpha=alpha, coverage=coverage, fitted=fitted, residual_rms=rms)


def _line_response(x: FloatArray) -> FloatArray:
    """Find the derivative of slope and intercept of a line by each point, shape (2, points)."""
    return np.asarray(np.linalg.pinv(np.stack([x, np.ones_like(x)], axis=1)))


def _inverted(points: Fit, fitted: FloatArray, alpha: float, coverage: float, response: FloatArray) -> Fit:
    """Complete a fit that is an inversion of a line; the response is that of alpha and coverage."""
    fit = _estimated(points, fitted, alpha, coverage)
    fit = replace(fit, response=np.concatenate([fit.response[:2], response]))
    if 0 < alpha < 1 and 0 < coverage < 1:
        return fit
    reason = f"The line gives alpha {alpha:.4g} and coverage {coverage:.4g}; an urn's lie between 0 and 1."
    return replace(fit, status="not_identified", reason=reason)


def _least_squares(points: Fit, curve: Curve, unit: float) -> Fit:
    """Complete a fit by least squares of a curve whose alpha is the survival over a unit of time.

    In the unit of the smallest lag or gap survival is neither close to 0 nor flat, whatever the clock counts.
    """
    optimum = minimise(curve, points.observed, STARTS[points.model])

    def estimates(parameters: FloatArray) -> FloatArray:
        *share, alpha, coverage = np.moveaxis(parameters, -1, 0)
        shares = _shares(points, share[0], coverage) if share else np.full((2, *alpha.shape), np.nan)
        return np.stack([*shares, alpha ** (1 / unit), coverage], axis=-1)

    kappa, core_share, alpha, coverage = estimates(optimum.parameters).tolist()
    fit = _estimated(points, optimum.fitted, alpha, coverage)
    if points.model == "core_shell":
        fit = replace(fit, kappa=kappa, core_share=core_share)
    status, reason = _judge(fit, curve, optimum, unit)
    return replace(fit, status=status, reason=reason, response=response(curve, optimum, estimates))


def _shares(points: Fit, share: FloatArray, coverage: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Core's shares of the urn and of a crawl, from the fitted one: the floor of containment, else κ."""
    if points.projection != "containment":
        return share, core_share_from_kappa(share, coverage)
    return share if points.form == "paper" else kappa_from_core_share(share, coverage), share


def _judge(fit: Fit, curve: Curve, optimum: Optimum, unit: float) -> tuple[str, str | None]:
    """Status of a least-squares fit, and the reasons; kappa may be open in a fit at a bound too."""
    part = "urn" if fit.model == "homogeneous" else "shell"
    names = [field.name for field in fields(_URNS[fit.model])]
    bounds = [
        at_bound(names[index], bound, AT_BOUND[names[index], bound].format(part=part))
        for index, bound in enumerate(optimum.parameters)
        if not optimum.free[index]
    ]
    may_be_open = optimum.converged and fit.model == "core_shell" and optimum.free[0]
    openness = _openness(fit, curve, optimum, unit) if may_be_open else None
    return judge_search(bounds, openness, converged=optimum.converged)


def _openness(fit: Fit, curve: Curve, optimum: Optimum, unit: float) -> str | None:
    """Say which parameter of a core-shell fit can move while the fitted points hardly do, if one can."""
    names = ["the floor" if fit.projection == "containment" else "kappa", "alpha", "coverage"]

    def on_clock(parameters: FloatArray) -> dict[str, float]:
        share, alpha, coverage = parameters.tolist()
        return dict(zip(names, (share, alpha ** (1 / unit), coverage), strict=True))

    return describe_openness(
        f"The fit of {fit.projection} leaves",
        on_clock(optimum.parameters),
        optimum.fitted,
        (
            Alternative(names[index], on_clock(other.parameters), other.fitted)
            for index, other in hold_elsewhere(curve, fit.observed, optimum, (0, 2, 1))
        ),
        misses=float(np.sqrt(np.mean(fit.residuals**2))),
    )
