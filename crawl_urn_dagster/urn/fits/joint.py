"""The joint fit: one urn to all raw counts of pairs and windows, given the sizes of the crawls.

Here: the weighted least squares of many problems at once, the judgement of a fit, and the profile of κ. Not here: the
counts and the points they give (`points`), the search (`levenberg_marquardt`), what is expected of an urn
(`expectations`), intervals (`bootstrap`), or whether the fit holds (`adequacy`).

Free are κ, α and the coverage c of the largest crawl, which has M elements; the homogeneous urn has κ = 0. With
N = M / (κ + (1 - κ) c) the core has K = κ N elements and the shell S = (1 - κ) N, and the coverage of each crawl
follows from its size, c_t = (M_t - K)/S. Each point is weighted with one over the variance of the count that is
*expected*, found by iteration: weights from observed counts favour those that came out small by chance, which
biases κ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.curves.data_points import Points
from crawl_urn_dagster.urn.curves.expectations import ClassSlopes, ElementClass
from crawl_urn_dagster.urn.fits.curves import ESTIMATES, Clock, Fit, Model
from crawl_urn_dagster.urn.fits.status import (
    AT_BOUND,
    Alternative,
    at_bound,
    describe_openness,
    judge_search,
    too_few,
)
from crawl_urn_dagster.urn.optimise.bounded_least_squares import moves
from crawl_urn_dagster.urn.optimise.levenberg_marquardt import Optima, minimise_all

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

_NAMES = ("kappa", "alpha", "coverage")
_BOUND_REASONS = AT_BOUND | {("coverage", 1): "the largest crawl samples the whole {part}"}
# Short of 0 and 1 where counts would be 0/0 or a logarithm infinite.
_BOUNDS = np.array([0.0, 1e-12, 1e-6]), np.array([1 - 1e-6, 1.0, 1.0])
_ON_BOUND = 2e-6
#: Which of κ, α and c a model leaves free.
FREE: dict[Model, BoolArray] = {
    "homogeneous": np.array([False, True, True]),
    "core_shell": np.array([True, True, True]),
}
_STARTS: dict[Model, FloatArray] = {
    "homogeneous": np.array(list(product((0.0,), (0.2, 0.5, 0.8, 0.97), (0.1, 0.4, 0.8)))),
    "core_shell": np.array(list(product((0.1, 0.5), (0.3, 0.7, 0.95), (0.3, 0.9)))),
}
# Mean square of standardised residuals up to which they are mostly the errors that the counts are known to have.
_MOSTLY_ERRORS = 2.0
# Where no urn fits, weights can swing from one round to the next; after the first rounds they are means of all since.
_REWEIGHTINGS, _UNDAMPED = 60, 3
_STEADY = 1e-5
# Of the starts of a profile, those that are searched from.
_PROMISING = 2


@dataclass(frozen=True, eq=False)
class JointFit(Fit):
    """A joint fit, with the same attributes as every `Fit` and these more.

    ``projection`` is ``joint``, ``coverage`` and ``core_share`` are means over the crawls of c_t and of K/M_t, and
    ``abscissa``, ``observed`` and ``fitted`` are each point's time from first to last crawl and its count, observed
    and expected, over the mean size of a crawl.

    Attributes
    ----------
    counts, points
        What was fitted.
    parameters
        κ (0 for the homogeneous urn), α over the mean gap between crawls, and c of the largest crawl, shape (3,); NaN
        when nothing could be estimated.
    variance
        Variance of each point's count, in elements squared, that the weights are one over; shape (points,).
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


class Solutions(NamedTuple):
    """Joint fits of many problems.

    Attributes
    ----------
    parameters, variance
        As in `JointFit`, shape (problems, 3) and (problems, points).
    converged
        Whether search and weights settled, shape (problems,).
    """

    parameters: FloatArray
    variance: FloatArray
    converged: BoolArray


class KappaProfile(NamedTuple):
    """Best fit of the other parameters at each κ; arrays of shape (kappas,).

    Attributes
    ----------
    kappa, core_share, alpha, coverage
        The fit, as of `JointFit`; the last two are free. α is per unit of the clock. The core's share is NaN where the
        core is larger than a crawl.
    residual_rms
        Root mean square of the residuals, over the mean size of a crawl.
    standardised_rms
        Root mean square of the residuals over their standard deviations, by the weights of the best fit of all: what
        is least at the best κ.
    """

    kappa: FloatArray
    core_share: FloatArray
    alpha: FloatArray
    coverage: FloatArray
    residual_rms: FloatArray
    standardised_rms: FloatArray


def fit_joint(counts: Counts, *, model: Model, clock: Clock) -> JointFit:
    """Fit an urn to all raw counts at once.

    Parameters
    ----------
    counts
        Counts without leading axes.
    model
        ``core_shell`` (κ, α and c are free) or ``homogeneous`` (κ is 0).
    clock
        What the times count.
    """
    points, free = Points.from_counts(counts), FREE[model]
    lags = points.j - points.i
    distinct = len(set(zip(points.kind.tolist(), lags.tolist(), strict=True)))
    elapsed = counts.times[points.j] - counts.times[points.i]
    mean_size = counts.sizes.mean()
    nothing = JointFit(
        projection="joint",
        model=model,
        form="exact",
        clock=clock,
        kappa=None,
        core_share=None,
        alpha=None,
        coverage=None,
        residual_rms=None,
        n_points=len(lags),
        status="too_few_points",
        reason=too_few(f"Different lags of pairs and lengths of windows: {distinct}", int(free.sum())),
        abscissa=elapsed,
        observed=points.count(counts) / mean_size,
        fitted=np.full(len(lags), np.nan),
        response=np.full((len(ESTIMATES), len(lags)), np.nan),
        counts=counts,
        points=points,
        parameters=np.full(len(free), np.nan),
        variance=np.full(len(lags), np.nan),
    )
    if distinct <= free.sum():
        return nothing
    found = _best(points, counts, model)
    parameters = found.parameters[0]
    core, shell = urn_of(counts.in_mean_gaps, counts.sizes, parameters)
    fitted = points.expect(core, shell) / mean_size
    kappa, alpha, _ = parameters.tolist()
    fit = replace(
        nothing,
        kappa=kappa if free[0] else None,
        core_share=float((core / counts.sizes).mean()) if free[0] else None,
        alpha=float(alpha ** (1 / counts.mean_gap)),
        coverage=float(shell.coverage.mean()),
        residual_rms=float(np.sqrt(np.mean((nothing.observed - fitted) ** 2))),
        fitted=fitted,
        parameters=parameters,
        variance=found.variance[0],
    )
    status, reason = _judge(fit, converged=bool(found.converged[0]))
    return replace(fit, status=status, reason=reason)


def urn_of(times: FloatArray, sizes: FloatArray, parameters: FloatArray) -> tuple[FloatArray, ElementClass]:
    """Core K, shape (...), and shell that parameters (..., 3) make of crawls of these sizes (..., crawls).

    Times, shape (crawls,), are in mean gaps, so that α is neither close to 0 nor flat whatever the clock counts. A
    crawl smaller than the core has the coverage 0.
    """
    kappa, alpha, coverage = np.moveaxis(parameters, -1, 0)
    elements = sizes.max(axis=-1) / (kappa + (1 - kappa) * coverage)
    core, size = kappa * elements, ((1 - kappa) * elements)[..., None]
    coverages = np.clip((sizes - core[..., None]) / size, 0, 1)
    return core, ElementClass(times, np.broadcast_to(size, coverages.shape), coverages, alpha)


def urn_slopes(
    times: FloatArray, sizes: FloatArray, parameters: FloatArray
) -> tuple[FloatArray, ElementClass, ClassSlopes]:
    """Differentiate `urn_of` by κ, α and c: derivatives of the core, shape (..., 3), the shell, and its derivatives."""
    kappa, alpha, coverage = np.moveaxis(parameters, -1, 0)
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
    of_shell = ClassSlopes(size, coverages, np.stack([none, 1 / alpha, none], axis=-1))
    return core, shell, of_shell


def fit_replicates(points: Points, counts: Counts, start: FloatArray, free: BoolArray) -> Solutions:
    """Fit counts with one leading axis, each problem from its start and first weighted by what is expected there.

    Parameters
    ----------
    start, free
        Shape (problems, 3): parameters as in `Solutions`, and which of them may move.
    """
    parameters, moved, settled = start.copy(), np.full(len(start), np.inf), np.zeros(len(start), dtype=bool)
    variance = points.variance(counts, *urn_of(counts.in_mean_gaps, counts.sizes, parameters))
    for reweighted in range(_REWEIGHTINGS):
        rows = np.flatnonzero(moved >= _STEADY)
        if not rows.size:
            break
        some = counts.select(rows)
        found = _search(points, some, 1 / variance[rows], parameters[rows], free)
        moved[rows] = abs(found.parameters - parameters[rows]).max(axis=-1)
        parameters[rows], settled[rows] = found.parameters, found.settled
        expected = points.variance(some, *urn_of(counts.in_mean_gaps, some.sizes, found.parameters))
        share = 1 / max(1, reweighted - _UNDAMPED)
        variance[rows] = variance[rows] ** (1 - share) * expected**share
    return Solutions(parameters, variance, settled & (moved < _STEADY))


def profile_kappa(counts: Counts, kappa: npt.ArrayLike) -> KappaProfile:
    """Fit α and c at each κ of a grid, with the weights of the best fit of all.

    Without unions it is the profile of containment alone, which has a floor to see κ by; without intersections
    that of the discovery curve alone, which leaves it on a ridge.

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
        residual_rms=np.sqrt((residuals**2).mean(axis=-1)) / counts.sizes.mean(),
        standardised_rms=np.sqrt(cost.min(axis=1) / len(points.kind)),
    )


def _best(points: Points, counts: Counts, model: Model) -> Solutions:
    """Fit one problem: the best of several starts unweighted, then weighted."""
    starts, free = _STARTS[model], FREE[model]
    unweighted = np.ones((1, len(points.kind)))
    first = _search(points, counts.repeated(len(starts)), unweighted, starts, free)
    leader = first.parameters[[int(first.cost.argmin())]]
    return fit_replicates(points, counts.repeated(1), leader, free[None])


def _search(points: Points, counts: Counts, weights: FloatArray, start: FloatArray, free: BoolArray) -> Optima:
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
    )


def _judge(fit: JointFit, *, converged: bool) -> tuple[str, str | None]:
    """Status of a fit and the reasons; a fit at a bound may leave another parameter open."""
    free = FREE[fit.model].copy()
    nearest = np.rint(fit.parameters)
    part = "urn" if fit.model == "homogeneous" else "shell"
    bounds = []
    for index in np.flatnonzero(free & (abs(fit.parameters - nearest) <= _ON_BOUND)):
        free[index] = False
        name, bound = _NAMES[index], int(nearest[index])
        bounds.append(at_bound(name, bound, _BOUND_REASONS[name, bound].format(part=part)))
    return judge_search(bounds, _openness(fit, free) if converged else None, converged=converged)


def _openness(fit: JointFit, free: BoolArray) -> str | None:
    """Say which parameter can move while the fitted points hardly do, the one with which they do so least first.

    The fit's misses count only where they are not mostly the error of the counts.
    """
    held = [
        (index, value)
        for index in np.flatnonzero(free)
        for value in moves(fit.parameters[index], _BOUNDS[0][index], _BOUNDS[1][index])
    ]
    if not held:
        return None
    start, moving = np.tile(fit.parameters, (len(held), 1)), np.tile(free, (len(held), 1))
    for row, (index, value) in enumerate(held):
        start[row, index], moving[row, index] = value, False
    others = _search(fit.points, fit.counts.repeated(len(held)), 1 / fit.variance, start, moving).parameters
    mean_size = fit.counts.sizes.mean()
    fitted = fit.points.expect(*urn_of(fit.counts.in_mean_gaps, fit.counts.sizes, others)) / mean_size
    errors = np.mean(fit.residuals**2 / fit.variance) * mean_size**2

    def on_clock(parameters: FloatArray) -> dict[str, float]:
        # As the fit gives them: the coverage is the mean of the crawls, where the search has that of the largest.
        coverage = urn_of(fit.counts.in_mean_gaps, fit.counts.sizes, parameters)[1].coverage.mean()
        values = parameters[0], parameters[1] ** (1 / fit.counts.mean_gap), coverage
        by_name = dict(zip(_NAMES, map(float, values), strict=True))
        return {_NAMES[index]: by_name[_NAMES[index]] for index in np.flatnonzero(FREE[fit.model])}

    return describe_openness(
        "The joint fit leaves",
        on_clock(fit.parameters),
        fit.fitted,
        (
            Alternative(_NAMES[held[row][0]], on_clock(others[row]), fitted[row])
            for row in abs(fitted - fit.fitted).max(axis=-1).argsort(kind="stable")
        ),
        misses=float(np.sqrt(np.mean(fit.residuals**2))) if errors > _MOSTLY_ERRORS else 0.0,
    )
