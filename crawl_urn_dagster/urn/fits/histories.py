"""Fit urns with a core and up to two shells to whole capture histories by maximum likelihood.

Does not fit curves (see `mean_curves`), nor compare models (see `goodness_of_fit.model_comparison`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import logit

from crawl_urn_dagster.urn.data.arguments import gaps_between
from crawl_urn_dagster.urn.data.histories import count_cells
from crawl_urn_dagster.urn.data.normal_intervals import logit_interval
from crawl_urn_dagster.urn.fits.histories_likelihood import (
    STEP,
    TINY,
    Histories,
    Score,
    classes_of,
    expit,
    log_likelihood,
    log_ways,
    quantities,
    score,
)
from crawl_urn_dagster.urn.fits.identification import search_status
from crawl_urn_dagster.urn.optimise.bounded_least_squares import PARAMETER_MOVE
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode, at_bound, too_few
from crawl_urn_dagster.urn.results.result import FitKind, FitResult, Interval, Status

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray
    from crawl_urn_dagster.urn.results.result import Clock

HistoriesModel = Literal["homogeneous", "core_shell", "core_two_shells"]
CoverageOverTime = Literal["constant", "varying"]

# kappa, share of the first shell, then survival per mean gap and coverage of each shell.
_STARTS: dict[HistoriesModel, tuple[tuple[float, ...], ...]] = {
    "homogeneous": ((0.9, 0.5),),
    "core_shell": ((0.3, 0.8, 0.5), (0.05, 0.95, 0.5)),
    "core_two_shells": (
        (0.3, 0.5, 0.95, 0.7, 0.8, 0.4),
        (0.3, 0.5, 0.95, 0.4, 0.8, 0.7),
        (0.1, 0.2, 0.98, 0.6, 0.7, 0.5),
    ),
}
_NAMES: dict[HistoriesModel, tuple[str, ...]] = {
    "homogeneous": ("alpha", "coverage"),
    "core_shell": ("kappa", "alpha", "coverage"),
    "core_two_shells": ("kappa", "share", "alpha_1", "coverage_1", "alpha_2", "coverage_2"),
}
# A replacement is a death and a birth, two of the terms of a likelihood that takes elements for independent. The
# variance of a sum of two dependent terms is at most twice the sum of their variances.
_DEATHS_ARE_BIRTHS = 2.0
# Slopes of the log-likelihood, per unit of a logit, at which a search ends: from a start, and from the best of them.
_SLOPE_OF_A_START = 1.0
_SLOPE = 0.01
_ITERATIONS_OF_A_START = 50
_ITERATIONS = 300
# In units of log-likelihood: the largest loss at a bound that counts as none, and the largest gain that a search that
# has converged may still miss.
_NEGLIGIBLE = 0.01
_LOGIT_OF_BOUND = 40.0
_LARGEST_OFFSET = 10.0
_OFFSETS_SETTLED = 1e-6
_ROUNDS = 30
_RIDGE = 1e-12
# Step of a logit that differentiates the gradient.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class LikelihoodDetails:
    """Likelihood, sample size and offsets of a maximum-likelihood fit.

    Attributes
    ----------
    log_likelihood
        Log-likelihood of the cells, given the number of captured elements; None when nothing could be estimated.
    n_parameters
        Free parameters, of which the offsets are one fewer than the crawls.
    n_elements
        Captured elements, the sample size.
    offsets
        Offsets of logit coverage, shape (crawls,), mean 0; zero when coverage is constant.
    is_identified
        Whether every interval ends within 0.1 of its estimate.
    """

    log_likelihood: float | None
    n_parameters: int
    n_elements: int
    offsets: FloatArray
    is_identified: bool

    @property
    def n_points(self) -> int:
        """Captured elements, as in column ``n_points``."""
        return self.n_elements

    @property
    def residual_rms(self) -> None:
        """None: a likelihood has no residuals."""
        return


HistoriesFit: TypeAlias = FitResult[LikelihoodDetails]


def fit_histories(
    counts: CaptureHistoryCounts,
    times: npt.ArrayLike,
    *,
    model: HistoriesModel,
    over_time: CoverageOverTime = "varying",
    clock: Clock = "crawl",
) -> HistoriesFit:
    """Fit an urn to capture histories.

    Intervals are from the information matrix, on the logit scale and given the offsets, with twice the variance: each
    replacement is both a death and a birth, so elements of an urn are not independent. They cover at least 95 %, and
    more for κ, μ and shares. They express sampling error under the model; misfit and variation of survival are not
    included.

    Parameters
    ----------
    counts
        Capture-history counts.
    times
        Times of the crawls, shape (crawls,), not decreasing; ``alpha`` is survival per their unit.
    model
        ``homogeneous``, ``core_shell`` or ``core_two_shells``.
    over_time
        ``varying``: coverage has offsets by crawl. ``constant``: it has none; if it does vary, the estimates are off
        by several standard errors in large collections.
    clock
        Unit of the times.

    Returns
    -------
    FitResult
        Estimates ``kappa`` and ``core_share`` (with a core), and ``alpha`` and ``coverage``, a mean over the crawls.
        Two shells have ``share_1`` (share of the elements outside the core), ``alpha_1`` and ``coverage_1``, and the
        same names with 2; the longer-lived shell is the first. The details are `LikelihoodDetails`.

    Raises
    ------
    ValueError
        When times decrease, are all the same, or are not one per crawl.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import simulate
    >>> times = np.arange(10.0)
    >>> counts = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> fit = fit_histories(counts, times, model="core_shell")
    >>> abs(fit.kappa - 0.4) < 0.02
    True

    References
    ----------
    Berndt, Hall, Hall and Hausman, Estimation and inference in nonlinear structural models, Annals of Economic and
    Social Measurement, 1974; the likelihood is derived in `histories_likelihood`.
    """
    gaps = gaps_between(times)
    if gaps.size and not gaps.any():
        raise ValueError("all crawls have the same time; expected times at which elements can have come and gone")
    if gaps.shape != (counts.n_crawls - 1,):
        raise ValueError(f"there are {gaps.size + 1} times and {counts.n_crawls} crawls; expected one time per crawl")
    cells = count_cells(counts)
    n_parameters = len(_STARTS[model][0]) + (counts.n_crawls - 1 if over_time == "varying" else 0)
    n_elements, kind = int(cells.elements.sum()), FitKind("histories", model, "exact", clock)
    if cells.elements.size <= n_parameters:
        details = LikelihoodDetails(None, n_parameters, n_elements, np.zeros(counts.n_crawls), is_identified=False)
        reason = too_few(ReasonCode.TOO_FEW_CELLS, cells.elements.size, n_parameters)
        return FitResult(kind=kind, estimates={}, status=Status.TOO_FEW_POINTS, details=details, reasons=(reason,))
    unit = float(gaps.mean())
    sizes = np.array([counts.elements[here].sum() for here in counts.seen.T], dtype=float)
    data = Histories(cells, gaps / unit, sizes)
    point, offsets, settled = _maximise(data, model, over_time)
    point, held = _on_bounds(data, point, offsets)
    found = score(data, point, offsets)
    estimates, intervals, gain = _estimated(model, found, point, held, offsets=offsets, unit=unit)
    converged = settled and bool(gain <= _NEGLIGIBLE)
    bounds = [
        at_bound(name, float(value > 0)) for name, value in zip(np.array(_NAMES[model])[held], point[held], strict=True)
    ]
    wide = _wide_intervals(estimates, intervals)
    status, reasons = search_status(bounds, wide, converged=converged, search="maximum-likelihood")
    return FitResult(
        kind=kind,
        estimates=estimates,
        status=status,
        details=LikelihoodDetails(
            found.value + float(cells.elements @ log_ways(cells, offsets)),
            n_parameters,
            n_elements,
            offsets,
            converged and not wide,
        ),
        intervals=intervals,
        reasons=reasons,
    )


def _maximise(
    data: Histories, model: HistoriesModel, over_time: CoverageOverTime
) -> tuple[FloatArray, FloatArray, bool]:
    """Search from the best start, with shells in order, then alternate offsets and parameters until both settle.

    Where a model misfits, the alternation alone can take hundreds of rounds, so it is accelerated (Anderson).
    """
    offsets = np.zeros(data.sizes.size)
    ends = [_search(data, logit(start), offsets, is_start=True) for start in _STARTS[model]]
    leader = max(ends, key=lambda end: log_likelihood(data, end, offsets))
    point = _search(data, _in_order(leader), offsets)
    if over_time == "constant":
        return point, offsets, True
    begun: list[FloatArray] = []
    ended: list[FloatArray] = []
    for _ in range(_ROUNDS):
        before, offsets = offsets, _offsets_from_sizes(data, point, offsets)
        found = _search(data, point, offsets)
        if abs(offsets - before).max() < _OFFSETS_SETTLED:
            return found, offsets, True
        # Offsets at their bound move in jumps, which cannot be extrapolated.
        n_kept = point.size if abs(offsets).max() < 0.9 * _LARGEST_OFFSET else 0
        begun, ended = [*begun, point][-n_kept - 1 :], [*ended, found][-n_kept - 1 :]
        point = _extrapolate(np.array(begun), np.array(ended))
    return point, offsets, False


def _extrapolate(begun: FloatArray, ended: FloatArray) -> FloatArray:
    """Return where rounds that moved parameters from `begun` to `ended`, shape (rounds, n), would settle.

    No parameter is moved by more than one logit beyond the end of the last round.
    """
    moved = ended - begun
    share, *_ = np.linalg.lstsq(np.diff(moved, axis=0).T, moved[-1], rcond=1e-9)
    further = -share @ np.diff(ended, axis=0)
    return np.asarray(ended[-1] + further / max(1.0, abs(further).max(initial=0.0)))


def _search(data: Histories, start: FloatArray, offsets: FloatArray, *, is_start: bool = False) -> FloatArray:
    """Climb to a maximum over logit parameters, in a trust region.

    From a start, curvature is the information (BHHH), which comes with every gradient and follows the ridges that a
    core and shells have. Near a maximum it is the second derivative, because the information of a model that misfits is
    several times the curvature, and the search would take a hundred small steps.
    """
    elements = float(data.cells.elements.sum())

    @lru_cache(maxsize=1)
    def scored(point: bytes) -> Score:
        return score(data, np.frombuffer(point), offsets)

    def loss(point: FloatArray) -> float:
        return -scored(point.tobytes()).value / elements

    def slope(point: FloatArray) -> FloatArray:
        return -scored(point.tobytes()).gradient / elements

    def curvature(point: FloatArray) -> FloatArray:
        here = scored(point.tobytes())
        found = here.information if is_start else _second_derivative(data, point, offsets, here.gradient)
        # Where the likelihood is flat, curvature without a ridge would give an infinite step.
        return found / elements + _RIDGE * np.eye(point.size)

    slope_at_end, iterations = (_SLOPE_OF_A_START, _ITERATIONS_OF_A_START) if is_start else (_SLOPE, _ITERATIONS)
    found = minimize(
        loss,
        start,
        jac=slope,
        hess=curvature,
        method="trust-exact",
        options={"gtol": slope_at_end / elements, "maxiter": iterations},
    )
    return np.asarray(found.x)


def _second_derivative(data: Histories, point: FloatArray, offsets: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return minus the second derivative of the log-likelihood, by differences of its exact gradient."""
    moved = np.array([score(data, point + step, offsets).gradient for step in _STEP * np.eye(point.size)])
    found = (gradient - moved) / _STEP
    return np.asarray((found + found.T) / 2)


def _in_order(point: FloatArray) -> FloatArray:
    """Put the longer-lived shell first."""
    if point.size != 6 or point[2] >= point[4]:
        return point
    return np.array([point[0], -point[1], point[4], point[5], point[2], point[3]])


def _on_bounds(data: Histories, point: FloatArray, offsets: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Move parameters onto a bound if the likelihood there is hardly smaller; also return which were moved."""
    held = np.zeros(point.size, dtype=bool)
    best = log_likelihood(data, point, offsets)
    for index in range(point.size):
        moved = point.copy()
        moved[index] = np.copysign(_LOGIT_OF_BOUND, point[index])
        if log_likelihood(data, moved, offsets) > best - _NEGLIGIBLE:
            point, held[index] = moved, True
    return point, held


def _offsets_from_sizes(data: Histories, point: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return offsets, of mean 0, at which expected sizes are proportional to the observed, by Newton's method.

    No offset makes a crawl as small as the core or as large as the urn, so offsets are clipped.
    """
    classes = classes_of(point)
    for _ in range(_ROUNDS):
        coverage = expit(classes.logit_coverage + offsets[:, None])
        size = classes.kappa + classes.outside * coverage @ classes.share
        slope = classes.outside * (coverage * (1 - coverage)) @ classes.share
        step = (data.sizes * size.sum() / data.sizes.sum() - size) / np.maximum(slope, TINY)
        offsets = np.clip(offsets + np.clip(step, -1, 1), -_LARGEST_OFFSET, _LARGEST_OFFSET)
        offsets = offsets - offsets.mean()
    return offsets


def _estimated(
    model: HistoriesModel, found: Score, point: FloatArray, held: BoolArray, *, offsets: FloatArray, unit: float
) -> tuple[dict[str, float], dict[str, Interval], float]:
    """Return estimates and intervals at the end of a search, and what a step could still gain.

    The step moves no parameter by much more than one logit.
    """
    free = ~held
    information = found.information[np.ix_(free, free)]
    # The ridge gives a direction without information an interval of the whole range. No parameter may have any.
    inverse = np.linalg.inv(information + _RIDGE * max(np.trace(information), 1.0) * np.eye(len(information)))
    gain = found.gradient[free] @ np.linalg.solve(information + np.eye(len(information)), found.gradient[free]) / 2
    values = quantities(np.vstack([point, point + 1j * STEP * np.eye(point.size)[free]]), offsets)
    n_shells = (values.shape[-1] - 2) // 3
    suffixes = [f"_{k}" for k in range(1, n_shells + 1)] if n_shells > 1 else [""]
    names = ["kappa", "core_share", *(f"{name}{k}" for name in ("share", "alpha", "coverage") for k in suffixes)]
    estimates, intervals = {}, {}
    for name, value, slope in zip(names, values[0].real, values[1:].imag.T / STEP, strict=True):
        if (model == "homogeneous" and name in {"kappa", "core_share"}) or name == "share":
            continue
        power = 1 / unit if name.startswith("alpha") else 1.0
        estimates[name] = float(value) ** power
        variance = _DEATHS_ARE_BIRTHS * float(slope @ inverse @ slope)
        interval = _interval(float(value), variance, may_be_zero=name in {"kappa", "core_share"})
        if interval is not None:
            intervals[name] = Interval(*(end**power for end in interval))
    return estimates, intervals, float(gain)


def _wide_intervals(estimates: dict[str, float], intervals: dict[str, Interval]) -> list[Reason]:
    """Return a reason for each parameter whose interval reaches farther than `PARAMETER_MOVE` from its estimate."""
    return [
        Reason(ReasonCode.WIDE_INTERVAL, {"parameter": name, "low": low, "high": high})
        for name, (low, high) in intervals.items()
        if max(estimates[name] - low, high - estimates[name]) > PARAMETER_MOVE
    ]


def _interval(value: float, variance: float, *, may_be_zero: bool) -> Interval | None:
    """Return the interval on the logit scale; None for a parameter that is held."""
    if variance <= 0 or not 0 < value < 1:
        return None
    low, high = logit_interval(np.array(value), np.sqrt(variance), may_be_zero)
    return Interval(float(low), float(high))
