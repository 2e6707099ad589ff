"""Maximum likelihood of urns with a core and up to two shells, from whole capture histories.

Here: counts by first capture, last capture and number of captures, their likelihood, the fits and their intervals.
Not here: least squares of curves (`fits`, `shells`), or the choice between models (`comparison`).

With coverage constant in time an element's history has the likelihood of its *cell*, (first seen, last seen, times
seen): the cells are sufficient for any number of classes, and W crawls have at most (W³ + 5W)/6 of them, however many
elements there are. With coverage that varies by crawl they are not sufficient, but their likelihood is exact all the
same: what lies between first and last capture is then a Poisson-binomial number. So coverage is c_kt in
logit c_kt = logit c_k + o_t, with offsets o_t of mean 0 common to the shells, and the offsets are those at which
expected crawl sizes are in proportion to the observed ones.

Per element of a class that has always lived, with survival s_t over the gap after crawl t, a cell (f, l, n) expects

    c_f ν_f · Π s · P(n - 2 captures between f and l) c_l · χ_l   (c_f ν_f χ_f when f = l),

with the fraction never seen before f, ν_t = 1 - s_(t-1) (1 - ν_(t-1) (1 - c_(t-1))), and the chance χ_l not to be seen
after l, χ_t = 1 - s_t (1 - χ_(t+1) (1 - c_(t+1))), both 1 at their end. A core adds its elements to one cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logit

from crawl_urn_dagster.urn.capture_recapture.recaptures import never_seen_again
from crawl_urn_dagster.urn.data.arguments import gaps_between
from crawl_urn_dagster.urn.data.histories import HistoryCells, count_cells
from crawl_urn_dagster.urn.data.normal_intervals import logit_interval
from crawl_urn_dagster.urn.fits.status import at_bound, judge_search, too_few
from crawl_urn_dagster.urn.optimise.bounded_least_squares import PARAMETER_MOVE

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray

HistoriesModel = Literal["homogeneous", "core_shell", "core_two_shells"]
CoverageOverTime = Literal["constant", "varying"]
#: Real numbers, or complex ones whose imaginary parts carry derivatives.
Values: TypeAlias = npt.NDArray[Any]

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
_STEP = 1e-20
_TINY = 1e-300
_RIDGE = 1e-12
# Slopes of the log-likelihood, per unit of a logit, at which a search ends: from a start, and from the best of them.
_SLOPE_OF_A_START = 1.0
_SLOPE = 0.01
_ITERATIONS_OF_A_START = 50
_ITERATIONS = 300
# In units of log-likelihood: what a bound may cost, and what a search that has ended may leave.
_HARDLY_LESS = 0.01
_LOGIT_OF_BOUND = 40.0
_LARGEST_OFFSET = 10.0
_LARGEST_LOGIT = 700.0
_OFFSETS_SETTLED = 1e-6
_ROUNDS = 30


class Estimate(NamedTuple):
    """An estimate in [0, 1] and the limits of its 95 % interval, None for what is at a bound or not estimated."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class HistoriesFit:
    """An urn fitted to capture histories by maximum likelihood.

    Attributes
    ----------
    projection
        ``histories``.
    model
        ``homogeneous``, ``core_shell`` or ``core_two_shells``.
    kappa, core_share
        Core's share of the urn, and mean over the crawls of its share of one; None for the homogeneous urn.
    share
        Each shell's share of the elements outside the core.
    alpha, coverage
        Each shell's survival per unit of ``times``, and its mean coverage over the crawls. The longer-lived shell
        comes first.
    offsets
        Of logit coverage, shape (crawls,), mean 0; zero when coverage is constant.
    log_likelihood
        Of the cells, given how many elements were captured.
    n_parameters
        Free parameters, of which the offsets are one fewer than the crawls.
    n_elements
        Elements captured, the size of the sample.
    status, reason
        As in `fits.Fit`.
    identified
        Whether no interval reaches farther than 0.1 from its estimate.

    Notes
    -----
    Estimates are None when there are too few cells. Intervals are by the information matrix, on the logit scale and
    given the offsets, with twice the variance: as each replacement is both a death and a birth, the elements of an urn
    are not independent. They cover at least 95 %, and more for κ, μ and shares. They say what so many elements leave
    uncertain if the model holds, which soon is very little: that it does not, or that survival varies, is not in them.
    """

    projection: str
    model: HistoriesModel
    kappa: Estimate | None
    core_share: Estimate | None
    share: tuple[Estimate, ...] | None
    alpha: tuple[Estimate, ...] | None
    coverage: tuple[Estimate, ...] | None
    offsets: FloatArray
    log_likelihood: float | None
    n_parameters: int
    n_elements: int
    status: str
    reason: str | None
    identified: bool


class _Histories(NamedTuple):
    """What a fit is given: cells, gaps in units of their mean, and sizes of the crawls."""

    cells: HistoryCells
    gaps: FloatArray
    sizes: FloatArray


class _Classes(NamedTuple):
    """Core's share of the urn, and of each shell its share of the rest, survival per mean gap, logit coverage.

    Shape (...) and (..., shells).
    """

    kappa: Values
    share: Values
    alpha: Values
    logit_coverage: Values


class _Score(NamedTuple):
    """Log-likelihood, its gradient, and its information as the outer product of the scores (BHHH)."""

    value: float
    gradient: FloatArray
    information: FloatArray


def fit_histories(
    counts: CaptureHistoryCounts,
    times: npt.ArrayLike,
    *,
    model: HistoriesModel,
    over_time: CoverageOverTime = "varying",
) -> HistoriesFit:
    """Fit an urn to capture histories.

    Parameters
    ----------
    counts
        Capture-history counts.
    times
        Times of the crawls, shape (crawls,), not decreasing; ``alpha`` is survival per their unit.
    model
        ``homogeneous``, ``core_shell`` or ``core_two_shells``.
    over_time
        ``varying``: coverage has offsets by crawl. ``constant``: it has none, and where it does vary the estimates
        are off, by several of their standard errors when there are many elements.

    Raises
    ------
    ValueError
        When times decrease, are all the same, or are not one per crawl.
    """
    gaps = gaps_between(times)
    if gaps.size and not gaps.any():
        raise ValueError("all crawls have the same time; expected times at which elements can have come and gone")
    if gaps.shape != (counts.n_crawls - 1,):
        raise ValueError(f"there are {gaps.size + 1} times and {counts.n_crawls} crawls; expected one time per crawl")
    cells = count_cells(counts)
    n_parameters = len(_STARTS[model][0]) + (counts.n_crawls - 1 if over_time == "varying" else 0)
    fit = HistoriesFit(
        projection="histories",
        model=model,
        kappa=None,
        core_share=None,
        share=None,
        alpha=None,
        coverage=None,
        offsets=np.zeros(counts.n_crawls),
        log_likelihood=None,
        n_parameters=n_parameters,
        n_elements=int(cells.elements.sum()),
        status="too_few_points",
        reason=too_few(f"There are {cells.elements.size} cells", n_parameters),
        identified=False,
    )
    if cells.elements.size <= n_parameters:
        return fit
    unit = float(gaps.mean())
    data = _Histories(
        cells, gaps / unit, np.array([counts.elements[here].sum() for here in counts.seen.T], dtype=float)
    )
    point, offsets, settled = _maximise(data, model, over_time)
    point, held = _on_bounds(data, point, offsets)
    return _described(replace(fit, offsets=offsets), _score(data, point, offsets), point, held, unit, settled=settled)


def _maximise(
    data: _Histories, model: HistoriesModel, over_time: CoverageOverTime
) -> tuple[FloatArray, FloatArray, bool]:
    """Best of the starts, with shells in order; then offsets and parameters in turn until the offsets stand still."""
    offsets = np.zeros(data.sizes.size)
    ends = [_search(data, logit(start), offsets, _SLOPE_OF_A_START, _ITERATIONS_OF_A_START) for start in _STARTS[model]]
    leader = max(ends, key=lambda end: _log_likelihood(data, end, offsets))
    point = _search(data, _in_order(leader), offsets)
    if over_time == "constant":
        return point, offsets, True
    for _ in range(_ROUNDS):
        before, offsets = offsets, _offsets_from_sizes(data, point, offsets)
        point = _search(data, point, offsets)
        if abs(offsets - before).max() < _OFFSETS_SETTLED:
            return point, offsets, True
    return point, offsets, False


def _search(
    data: _Histories,
    start: FloatArray,
    offsets: FloatArray,
    slope_at_end: float = _SLOPE,
    iterations: int | None = None,
) -> FloatArray:
    """Climb to a maximum over logit parameters, in a trust region, with the information for curvature (BHHH).

    The information comes with every gradient, and leads along the ridges that a core and shells have: there the search
    of `maximum_likelihood`, which does not use it, takes three times as long, and can end lower.
    """
    elements = float(data.cells.elements.sum())

    @lru_cache(maxsize=1)
    def score(point: bytes) -> _Score:
        return _score(data, np.frombuffer(point), offsets)

    def loss(point: FloatArray) -> float:
        return -score(point.tobytes()).value / elements

    def slope(point: FloatArray) -> FloatArray:
        return -score(point.tobytes()).gradient / elements

    def curvature(point: FloatArray) -> FloatArray:
        return score(point.tobytes()).information / elements

    found = minimize(
        loss,
        start,
        jac=slope,
        hess=curvature,
        method="trust-exact",
        options={"gtol": slope_at_end / elements, "maxiter": iterations or _ITERATIONS},
    )
    return np.asarray(found.x)


def _in_order(point: FloatArray) -> FloatArray:
    """Put the longer-lived shell first."""
    if point.size != 6 or point[2] >= point[4]:
        return point
    return np.array([point[0], -point[1], point[4], point[5], point[2], point[3]])


def _on_bounds(data: _Histories, point: FloatArray, offsets: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Move parameters onto a bound where the likelihood there is hardly less, and say which were moved."""
    held = np.zeros(point.size, dtype=bool)
    best = _log_likelihood(data, point, offsets)
    for index in range(point.size):
        moved = point.copy()
        moved[index] = np.copysign(_LOGIT_OF_BOUND, point[index])
        if _log_likelihood(data, moved, offsets) > best - _HARDLY_LESS:
            point, held[index] = moved, True
    return point, held


def _offsets_from_sizes(data: _Histories, point: FloatArray, offsets: FloatArray) -> FloatArray:
    """Offsets, of mean 0, at which expected sizes are in proportion to the observed, by Newton's method.

    No offset makes a crawl as small as the core or as large as the urn: there they stop at the limit.
    """
    classes = _classes(point)
    for _ in range(_ROUNDS):
        coverage = _expit(classes.logit_coverage + offsets[:, None])
        size = classes.kappa + (1 - classes.kappa) * coverage @ classes.share
        slope = (1 - classes.kappa) * (coverage * (1 - coverage)) @ classes.share
        step = (data.sizes * size.sum() / data.sizes.sum() - size) / np.maximum(slope, _TINY)
        offsets = np.clip(offsets + np.clip(step, -1, 1), -_LARGEST_OFFSET, _LARGEST_OFFSET)
        offsets = offsets - offsets.mean()
    return offsets


def _log_likelihood(data: _Histories, point: FloatArray, offsets: FloatArray) -> float:
    return float(data.cells.elements @ _log_probabilities(data, point[None], offsets)[0])


def _score(data: _Histories, point: FloatArray, offsets: FloatArray) -> _Score:
    """Differentiate by complex steps, which are exact to rounding: everything is analytic."""
    values = _log_probabilities(data, point + 1j * _STEP * np.eye(point.size), offsets)
    slopes = values.imag / _STEP
    weighted = slopes * data.cells.elements
    return _Score(float(data.cells.elements @ values[0].real), weighted.sum(axis=1), weighted @ slopes.T)


def _log_probabilities(data: _Histories, points: Values, offsets: FloatArray) -> Values:
    """Log of each cell's share of the captured elements, shape (points, cells), for logit parameters."""
    cells, n = data.cells, offsets.size
    kappa, share, alpha, logit_coverage = _classes(points)
    of_core = (cells.first == 0) & (cells.last == n - 1) & (cells.captures == n)
    expected, captured = kappa[:, None] * of_core, kappa
    for shell in range(share.shape[1]):
        coverage = _expit(logit_coverage[:, shell, None] + offsets)
        of_shell, captured_of_shell = _shell_expectations(data, alpha[:, shell], coverage)
        weight = (1 - kappa) * share[:, shell]
        expected = expected + weight[:, None] * of_shell
        captured = captured + weight * captured_of_shell
    return np.asarray(np.log(expected + _TINY) - np.log(captured)[:, None])


def _shell_expectations(data: _Histories, alpha: Values, coverage: Values) -> tuple[Values, Values]:
    """Elements of each cell, shape (points, cells), and elements captured at all, per element of the shell.

    Parameters have shape (points,) and (points, crawls). ``between[:, f, j]`` is the chance of j captures between
    crawl f and crawl t.
    """
    (first, last, captures, _), n = data.cells, coverage.shape[1]
    survival = alpha[:, None] ** data.gaps
    never_again = never_seen_again(survival, coverage[:, 1:])
    # The same back in time.
    unseen = never_seen_again(survival[:, ::-1], coverage[:, -2::-1])[:, ::-1]
    between = np.zeros((*coverage.shape, n), dtype=coverage.dtype)
    between[:, 0, 0] = 1
    middle = np.ones((coverage.shape[0], last.size), dtype=coverage.dtype)
    ends = np.searchsorted(last, np.arange(n + 1))
    for t in range(1, n):
        # What this reads for elements captured once, of whom nothing is between, is not used.
        here = slice(ends[t], ends[t + 1])
        middle[:, here] = between[:, first[here], captures[here] - 2] * coverage[:, t, None]
        caught = coverage[:, t, None, None] * between[:, :t, : t + 1]
        between[:, :t, : t + 1] -= caught
        between[:, :t, 1 : t + 1] += caught[..., :-1]
        between[:, t, 0] = 1
    single = first == last
    time = np.append(0.0, data.gaps.cumsum())
    alive = alpha[:, None] ** (time[last] - time[first])
    expected = coverage[:, first] * unseen[:, first] * never_again[:, last] * np.where(single, 1, alive * middle)
    return expected, (coverage * unseen).sum(axis=1)


def _classes(point: Values) -> _Classes:
    """Classes of logit parameters, shape (..., parameters): kappa but for one of 2, share for 6, then the shells."""
    values, n = _expit(point), point.shape[-1]
    first = values[..., 1:2] if n == 6 else np.ones_like(values[..., :1])
    return _Classes(
        kappa=np.zeros_like(values[..., 0]) if n == 2 else values[..., 0],
        share=np.concatenate([first, 1 - first], axis=-1) if n == 6 else first,
        alpha=values[..., 2::2] if n == 6 else values[..., n - 2 : n - 1],
        logit_coverage=point[..., 3::2] if n == 6 else point[..., n - 1 :],
    )


def _described(
    fit: HistoriesFit, score: _Score, point: FloatArray, held: BoolArray, unit: float, *, settled: bool
) -> HistoriesFit:
    """Complete a fit from where the search ended."""
    free = ~held
    information = score.information[np.ix_(free, free)]
    # The ridge gives a direction without information an interval of the whole range.
    inverse = np.linalg.inv(information + _RIDGE * np.trace(information) * np.eye(len(information)))
    # What a step could gain that moves no parameter by much more than a logit.
    gain = score.gradient[free] @ np.linalg.solve(information + np.eye(len(information)), score.gradient[free]) / 2
    values = _quantities(point + 1j * _STEP * np.eye(point.size)[free], fit.offsets)
    kappa, core_share, *of_shells = (
        _estimate(float(value[0].real), _DEATHS_ARE_BIRTHS * float(slope @ inverse @ slope))
        for value, slope in zip(values.T, values.imag.T / _STEP, strict=True)
    )
    n_shells = len(of_shells) // 3
    share, per_gap, coverage = (tuple(of_shells[k * n_shells : (k + 1) * n_shells]) for k in range(3))
    has_core = fit.model != "homogeneous"
    fit = replace(
        fit,
        kappa=kappa if has_core else None,
        core_share=core_share if has_core else None,
        share=share,
        alpha=tuple(_over_unit(shell, unit) for shell in per_gap),
        coverage=coverage,
        log_likelihood=score.value,
    )
    converged = settled and bool(gain <= _HARDLY_LESS)
    bounds = [
        at_bound(name, float(value > 0))
        for name, value in zip(np.array(_NAMES[fit.model])[held], point[held], strict=True)
    ]
    wide = " ".join(_wide_intervals(fit))
    status, reason = judge_search(bounds, wide, converged=converged, sought="largest likelihood")
    return replace(fit, status=status, reason=reason, identified=converged and not wide)


def _over_unit(per_gap: Estimate, unit: float) -> Estimate:
    """Survival per unit of time, from survival over a gap of so many units."""
    value, *limits = per_gap
    low, high = (None if limit is None else limit ** (1 / unit) for limit in limits)
    return Estimate(value ** (1 / unit), low, high)


def _wide_intervals(fit: HistoriesFit) -> list[str]:
    """Sentences on the parameters that may be as far from their estimates as is not identified in `status`."""
    estimates = {"kappa": fit.kappa, "core_share": fit.core_share}
    for name in ("share", "alpha", "coverage"):
        estimates |= {f"{name}_{k}": estimate for k, estimate in enumerate(getattr(fit, name), start=1)}
    return [
        f"The histories leave {name} open, from {low:.3f} to {high:.3f}."
        for name, (value, low, high) in ((name, estimate) for name, estimate in estimates.items() if estimate)
        if low is not None and high is not None and max(value - low, high - value) > PARAMETER_MOVE
    ]


def _quantities(points: Values, offsets: FloatArray) -> Values:
    """κ, μ, then shares, survivals and mean coverages of the shells, on the last axis, for logit parameters."""
    kappa, share, alpha, logit_coverage = _classes(points)
    coverage = _expit(logit_coverage[:, None] + offsets[:, None])
    of_core = kappa[:, None] / (kappa[:, None] + (1 - kappa[:, None]) * (coverage * share[:, None]).sum(axis=-1))
    parts = [kappa[:, None], of_core.mean(axis=1)[:, None], share, alpha, coverage.mean(axis=1)]
    return np.concatenate(parts, axis=1)


def _estimate(value: float, variance: float) -> Estimate:
    """Interval on the logit scale; none for what is held."""
    if variance == 0 or not 0 < value < 1:
        return Estimate(value, None, None)
    low, high = logit_interval(np.array(value), np.sqrt(variance))
    return Estimate(value, float(low), float(high))


def _expit(values: Values) -> Values:
    """Inverse of logit, of complex numbers too; of one whose exponential is no number, that of the largest that is."""
    within = np.maximum(values.real, -_LARGEST_LOGIT) - values.real
    return np.asarray(1 / (1 + np.exp(-(values + within))))
