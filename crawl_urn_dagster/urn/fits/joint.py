"""Fit one urn to all raw counts of pairs and windows at once, given the sizes of the crawls.

Does not compute intervals (see `uncertainty.bootstrap`), nor test the fit (see `goodness_of_fit.adequacy`).

Free are κ, α and the coverage c of the largest crawl, which has M elements; the homogeneous urn has κ = 0. With
N = M / (κ + (1 - κ) c) the core has K = κ N elements and the shell S = (1 - κ) N, and the coverage of each crawl
follows from its size, c_t = (M_t - K)/S. Each point is weighted by one divided by the variance of the count that the
fit *expects*, found by iteration: weights from observed counts favour those that came out small by chance, which
biases κ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from crawl_urn_dagster.urn.curves.data_points import Points
from crawl_urn_dagster.urn.curves.expectations import ClassSlopes, ElementClass
from crawl_urn_dagster.urn.fits.identification import Alternative, explain_non_identification, search_status
from crawl_urn_dagster.urn.fits.least_squares import ESTIMATES
from crawl_urn_dagster.urn.optimise.bounded_least_squares import moves
from crawl_urn_dagster.urn.optimise.levenberg_marquardt import Optima, minimise_all
from crawl_urn_dagster.urn.results.reasons import ReasonCode, at_bound, too_few
from crawl_urn_dagster.urn.results.result import FitKind, FitResult, LeastSquaresDetails, Status

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.results.reasons import Reason

_NAMES = ("kappa", "alpha", "coverage")
# Just inside 0 and 1, where counts would be 0/0 or a logarithm infinite.
_BOUNDS = np.array([0.0, 1e-12, 1e-6]), np.array([1 - 1e-6, 1.0, 1.0])
_ON_BOUND = 2e-6
#: Which of κ, α and c a model leaves free.
FREE: dict[str, BoolArray] = {
    "homogeneous": np.array([False, True, True]),
    "core_shell": np.array([True, True, True]),
}
_STARTS: dict[str, FloatArray] = {
    "homogeneous": np.array(list(product((0.0,), (0.2, 0.5, 0.8, 0.97), (0.1, 0.4, 0.8)))),
    "core_shell": np.array(list(product((0.1, 0.5), (0.3, 0.7, 0.95), (0.3, 0.9)))),
}
# Mean square of standardised residuals up to which they are mostly the known errors of the counts.
_MOSTLY_ERRORS = 2.0
# If the model does not fit, parameters and weights can oscillate between iterations. When the parameters turn back,
# the new weights get half the share in a geometric mean with the weights before.
_REWEIGHTINGS = 60
# Weights do not settle if so many iterations do not halve the step of the parameters.
_ITERATIONS_TO_HALVE = 10
_STEADY = 1e-5
# Step at which a search ends that the next weights continue: this share of the change by the last weights, within these
# limits.
_SHARE_OF_CHANGE, _NEGLIGIBLE, _ROUGH = 0.1, 1e-6, 1e-3
# Number of starts of a profile that are searched from.
_PROMISING = 2


@dataclass(frozen=True, eq=False)
class JointDetails(LeastSquaresDetails):
    """Counts, parameters and weights of a joint fit.

    The estimates ``coverage`` and ``core_share`` are means over the crawls of c_t and of K/M_t. ``abscissa``,
    ``observed`` and ``fitted`` are each point's time from first to last crawl and its count, observed and expected,
    divided by the mean size of a crawl. In a long collection a point is the mean over a block of pairs.

    Attributes
    ----------
    counts, points
        Fitted counts, and the pairs and windows that are its points.
    parameters
        κ (0 for the homogeneous urn), α over the mean gap between crawls, and c of the largest crawl, shape (3,); NaN
        when nothing could be estimated.
    variance
        Variance of each point's count, in elements squared; weights are one divided by it; shape (points,).
    """

    counts: Counts
    points: Points
    parameters: FloatArray
    variance: FloatArray

    @property
    def urn(self) -> tuple[FloatArray, ElementClass]:
        """Core K, shape (), and shell, with times in mean gaps."""
        return urn_of(self.counts.in_mean_gaps, self.counts.sizes, self.parameters)

    @property
    def coverage_sd(self) -> float:
        """Standard deviation of c_t over the crawls, sampling noise included."""
        _, shell = self.urn
        return float(np.std(shell.coverage, ddof=1))


JointFit: TypeAlias = FitResult[JointDetails]


class Solutions(NamedTuple):
    """Solutions of the joint fit of many problems.

    Attributes
    ----------
    parameters, variance
        As in `JointDetails`, shape (problems, 3) and (problems, points).
    converged
        Whether search and weights converged, shape (problems,).
    """

    parameters: FloatArray
    variance: FloatArray
    converged: BoolArray


class KappaProfile(NamedTuple):
    """Best fit of the other parameters at each κ; arrays of shape (kappas,).

    Attributes
    ----------
    kappa, core_share, alpha, coverage
        The fit, as in `fit_joint`; the last two are free. α is per unit of the clock. The core share is NaN where the
        core is larger than a crawl.
    residual_rms
        Root mean square of the residuals, divided by the mean size of a crawl.
    standardised_rms
        Root mean square of the residuals divided by their standard deviations, with the weights of the best fit; it
        is smallest at the best κ.
    """

    kappa: FloatArray
    core_share: FloatArray
    alpha: FloatArray
    coverage: FloatArray
    residual_rms: FloatArray
    standardised_rms: FloatArray


def fit_joint(counts: Counts, *, model: str, clock: str) -> JointFit:
    """Fit an urn to all raw counts at once.

    Parameters
    ----------
    counts
        Counts without leading axes.
    model
        ``core_shell`` (κ, α and c are free) or ``homogeneous`` (κ = 0).
    clock
        Unit of the times: ``crawl`` or ``year``.

    Returns
    -------
    FitResult
        Estimates ``kappa`` and ``core_share`` (core-shell urn only), ``alpha`` and ``coverage``; its details are
        `JointDetails`.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Counts, simulate
    >>> times = np.arange(12.0)
    >>> histories = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> intersections, unions = histories.intersections().astype(float), histories.unions().astype(float)
    >>> counts = Counts(times, intersections.diagonal(), intersections, unions)
    >>> fit = fit_joint(counts, model="core_shell", clock="crawl")
    >>> abs(fit.kappa - 0.4) < 0.02
    True

    References
    ----------
    Paris, Çelikkanat and Foppiano, Measuring What the Crawler Sees, Common Crawl Foundation, 2026, for the urn; the
    joint fit is derived in docs/mathematics.md.
    """
    points, free = Points.from_counts(counts), FREE[model]
    lags = points.j - points.i
    distinct = len(set(zip(points.kind.tolist(), lags.tolist(), strict=True)))
    elapsed = counts.times[points.j] - counts.times[points.i]
    in_crawls = counts.sizes.mean() * points.pairs
    details = JointDetails(
        abscissa=elapsed,
        observed=points.count(counts) / in_crawls,
        fitted=np.full(len(lags), np.nan),
        response=np.full((len(ESTIMATES), len(lags)), np.nan),
        response_names=ESTIMATES,
        counts=counts,
        points=points,
        parameters=np.full(len(free), np.nan),
        variance=np.full(len(lags), np.nan),
    )
    kind = FitKind("joint", model, "exact", clock)
    if distinct <= free.sum():
        reason = too_few(ReasonCode.TOO_FEW_LAGS, distinct, int(free.sum()))
        return FitResult(kind=kind, estimates={}, status=Status.TOO_FEW_POINTS, details=details, reasons=(reason,))
    found = _best(points, counts, model)
    parameters = found.parameters[0]
    core, shell = urn_of(counts.in_mean_gaps, counts.sizes, parameters)
    kappa, alpha, _ = parameters.tolist()
    estimates = {"kappa": kappa, "core_share": float((core / counts.sizes).mean())} if free[0] else {}
    estimates |= {"alpha": float(alpha ** (1 / counts.mean_gap)), "coverage": float(shell.coverage.mean())}
    details = replace(
        details, fitted=points.expect(core, shell) / in_crawls, parameters=parameters, variance=found.variance[0]
    )
    status, reasons = _status(model, details, converged=bool(found.converged[0]))
    return FitResult(kind=kind, estimates=estimates, status=status, details=details, reasons=reasons)


def urn_of(times: FloatArray, sizes: FloatArray, parameters: FloatArray) -> tuple[FloatArray, ElementClass]:
    """Return core K, shape (...), and shell for parameters (..., 3) and crawl sizes (..., crawls).

    Times, shape (crawls,), are in mean gaps. This keeps α away from 0 and sensitive to the data on every clock. A crawl
    smaller than the core has the coverage 0.
    """
    kappa, alpha, coverage = parameters[..., 0], parameters[..., 1], parameters[..., 2]
    elements = sizes.max(axis=-1) / (kappa + (1 - kappa) * coverage)
    core, size = kappa * elements, ((1 - kappa) * elements)[..., None]
    coverages = np.clip((sizes - core[..., None]) / size, 0, 1)
    return core, ElementClass(times, np.broadcast_to(size, coverages.shape), coverages, alpha)


def urn_slopes(
    times: FloatArray, sizes: FloatArray, parameters: FloatArray
) -> tuple[FloatArray, ElementClass, ClassSlopes]:
    """Differentiate `urn_of` by κ, α and c: derivatives of the core, shape (..., 3), the shell, and its derivatives."""
    kappa, alpha, coverage = parameters[..., 0], parameters[..., 1], parameters[..., 2]
    _, shell = urn_of(times, sizes, parameters)
    per_element = kappa + (1 - kappa) * coverage
    elements, none = sizes.max(axis=-1) / per_element, np.zeros_like(kappa)
    by_parameters = -(elements / per_element)[..., None] * np.stack([1 - coverage, none, 1 - kappa], axis=-1)
    moved = np.stack([elements, none, none], axis=-1)
    core = kappa[..., None] * by_parameters + moved
    size = ((1 - kappa)[..., None] * by_parameters - moved)[..., None]
    # A crawl smaller than the core keeps the coverage 0.
    sampled = (shell.coverage > 0)[..., None, :]
    held = core[..., None] + shell.coverage[..., None, :] * size
    coverages = np.where(sampled, -held / shell.size[..., None, :], 0.0)
    return core, shell, ClassSlopes(size, coverages, np.stack([none, 1 / alpha, none], axis=-1))


def fit_replicates(
    points: Points, counts: Counts, start: FloatArray, free: BoolArray, *, roughest: float = _ROUGH
) -> Solutions:
    """Fit counts with one leading axis, each problem from its start, first weighted by the counts expected there.

    Parameters
    ----------
    start, free
        Shape (problems, 3): parameters as in `Solutions`, and which of them may move.
    roughest
        Largest step at which a search ends while the weights still change.
    """
    parameters, moved, settled = start.copy(), np.full(len(start), np.inf), np.zeros(len(start), dtype=bool)
    variance = points.variance(counts, *urn_of(counts.in_mean_gaps, counts.sizes, parameters))
    steps: list[FloatArray] = []
    share, direction = np.ones((len(start), 1)), np.zeros_like(start)
    for _ in range(_REWEIGHTINGS):
        before = steps[-1 - _ITERATIONS_TO_HALVE] if len(steps) > _ITERATIONS_TO_HALVE else np.inf
        rows = np.flatnonzero((moved >= _STEADY) & (moved <= before / 2))
        if not rows.size:
            break
        some = counts.select(rows)
        negligible = np.clip(_SHARE_OF_CHANGE * moved[rows], _NEGLIGIBLE, roughest)
        found = _search(points, some, 1 / variance[rows], parameters[rows], free, negligible=negligible)
        step = found.parameters - parameters[rows]
        share[rows] *= np.where((step * direction[rows]).sum(axis=-1, keepdims=True) < 0, 0.5, 1)
        moved[rows], direction[rows] = abs(step).max(axis=-1), step
        parameters[rows], settled[rows] = found.parameters, found.settled
        expected = points.variance(some, *urn_of(counts.in_mean_gaps, some.sizes, found.parameters))
        variance[rows] = variance[rows] ** (1 - share[rows]) * expected ** share[rows]
        steps.append(moved.copy())
    return Solutions(parameters, variance, settled & (moved < _STEADY))


def profile_kappa(counts: Counts, kappa: npt.ArrayLike) -> KappaProfile:
    """Fit α and c at each κ of a grid, with the weights of the best fit.

    Without unions it is the profile of containment alone, whose floor identifies κ; without intersections it is the
    profile of the discovery curve alone, which hardly identifies κ.

    Parameters
    ----------
    counts
        Counts without leading axes.
    kappa
        Shape (kappas,), each from 0 to below 1.

    Raises
    ------
    ValueError
        When a κ is outside [0, 1).
    """
    grid = np.asarray(kappa, dtype=np.float64)
    if not ((grid >= 0) & (grid < 1)).all():
        raise ValueError(f"kappa is {grid[~((grid >= 0) & (grid < 1))][0]}; expected numbers from 0 to below 1")
    points = Points.from_counts(counts)
    counts = replace(counts, of_points=points.count(counts))
    best = _best(points, counts, "core_shell")
    others = np.concatenate([best.parameters[:, 1:], _STARTS["core_shell"][:6, 1:]])
    start = np.stack([np.column_stack([np.full(len(others), value), others]) for value in grid])
    misses = points.expect(*urn_of(counts.in_mean_gaps, counts.sizes, start)) - points.count(counts)
    promising = (misses**2 / best.variance).sum(axis=-1).argsort(axis=1)[:, :_PROMISING]
    start = np.take_along_axis(start, promising[..., None], axis=1)
    found = _search(
        points,
        counts.repeated(start.shape[0] * start.shape[1]),
        1 / best.variance,
        start.reshape(-1, 3),
        FREE["homogeneous"],
    )
    cost = found.cost.reshape(start.shape[:2])
    chosen = found.parameters.reshape(start.shape)[np.arange(len(grid)), cost.argmin(axis=1)]
    core, shell = urn_of(counts.in_mean_gaps, counts.sizes, chosen)
    residuals = points.expect(core, shell) - points.count(counts)
    core_share = (core[:, None] / counts.sizes).mean(axis=-1)
    return KappaProfile(
        kappa=grid,
        core_share=np.where(core_share <= 1, core_share, np.nan),
        alpha=chosen[:, 1] ** (1 / counts.mean_gap),
        coverage=shell.coverage.mean(axis=-1),
        residual_rms=np.sqrt(((residuals / points.pairs) ** 2).mean(axis=-1)) / counts.sizes.mean(),
        standardised_rms=np.sqrt(cost.min(axis=1) / len(points.kind)),
    )


def _best(points: Points, counts: Counts, model: str) -> Solutions:
    """Fit one problem: the best of several unweighted starts, then weighted."""
    starts, free = _STARTS[model], FREE[model]
    # The points of the starts are counted once.
    counts = replace(counts, of_points=points.count(counts))
    unweighted = np.ones((1, len(points.kind)))
    first = _search(points, counts.repeated(len(starts)), unweighted, starts, free, only_best=True)
    leader = first.parameters[[int(first.cost.argmin())]]
    return fit_replicates(points, counts.repeated(1), leader, free[None], roughest=_NEGLIGIBLE)


def _search(
    points: Points,
    counts: Counts,
    weights: FloatArray,
    start: FloatArray,
    free: BoolArray,
    **options: Any,
) -> Optima:
    """Search with weights that broadcast over the problems."""
    observed, times = points.count(counts), counts.in_mean_gaps

    def curves(parameters: FloatArray, rows: npt.NDArray[np.intp]) -> FloatArray:
        return points.expect(*urn_of(times, counts.sizes[rows], parameters))

    return minimise_all(
        curves,
        observed,
        np.broadcast_to(weights, observed.shape),
        start=start,
        free=np.broadcast_to(free, start.shape),
        bounds=_BOUNDS,
        slopes=lambda parameters, rows: points.slopes(*urn_slopes(times, counts.sizes[rows], parameters)),
        **options,
    )


def _status(model: str, details: JointDetails, *, converged: bool) -> tuple[Status, tuple[Reason, ...]]:
    """Return the status of a fit and the reasons; a fit at a bound may leave another parameter unidentified."""
    free = FREE[model].copy()
    nearest = np.rint(details.parameters)
    part = "urn" if model == "homogeneous" else "shell"
    bounds = []
    for index in np.flatnonzero(free & (abs(details.parameters - nearest) <= _ON_BOUND)):
        free[index] = False
        bounds.append(at_bound(_NAMES[index], nearest[index], part=part, crawl="the largest crawl"))
    unidentified = _non_identification(details, free) if converged else ()
    return search_status(bounds, unidentified, converged=converged)


def _non_identification(details: JointDetails, free: BoolArray) -> tuple[Reason, ...]:
    """Return why a parameter is not identified, the one that moves the fitted points least first.

    The residuals count only where they are not mostly the error of the counts.
    """
    counts, points = details.counts, details.points
    held = [
        (index, value)
        for index in np.flatnonzero(free)
        for value in moves(details.parameters[index], _BOUNDS[0][index], _BOUNDS[1][index])
    ]
    if not held:
        return ()
    start, moving = np.tile(details.parameters, (len(held), 1)), np.tile(free, (len(held), 1))
    for row, (index, value) in enumerate(held):
        start[row, index], moving[row, index] = value, False
    others = _search(points, counts.repeated(len(held)), 1 / details.variance, start, moving).parameters
    in_crawls = counts.sizes.mean() * points.pairs
    fitted = points.expect(*urn_of(counts.in_mean_gaps, counts.sizes, others)) / in_crawls
    errors = np.mean((details.residuals * in_crawls) ** 2 / details.variance)
    return explain_non_identification(
        "joint",
        details.fitted,
        (
            Alternative(_NAMES[held[row][0]], fitted[row])
            for row in abs(fitted - details.fitted).max(axis=-1).argsort(kind="stable")
        ),
        residual_rms=float(np.sqrt(np.mean(details.residuals**2))) if errors > _MOSTLY_ERRORS else 0.0,
    )
