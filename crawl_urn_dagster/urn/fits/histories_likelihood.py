"""Compute the likelihood of urns with a core and up to two shells, from whole capture histories.

Does not search for its maximum; see `histories`.

With coverage constant in time an element's history has the likelihood of its *cell*, (first capture, last capture,
number of captures): the cells are sufficient for any number of classes, and W crawls have at most (W³ + 5W)/6 of them,
whatever the number of elements. With coverage that varies by crawl they are not sufficient, but their likelihood is
still exact: the number of captures between the first and the last is then Poisson-binomial. So coverage is c_kt in
logit c_kt = logit c_k + o_t, with offsets o_t of mean 0 common to the shells, chosen so that expected crawl sizes are
proportional to the observed ones.

Per element of a class that has always existed, with survival s_t over the gap after crawl t, a cell (f, l, n) expects

    c_f ν_f · Π s · P(n - 2 captures between f and l) c_l · χ_l   (c_f ν_f χ_f when f = l),

with the fraction never seen before f, ν_t = 1 - s_(t-1) (1 - ν_(t-1) (1 - c_(t-1))), and the probability χ_l of no
capture after l, χ_t = 1 - s_t (1 - χ_(t+1) (1 - c_(t+1))), both 1 at their end. A core adds its elements to one cell.

P(j captures between f and l) is e_j exp(j logit c_k) Π (1 - c_kt) over f < t < l, where e_j is the elementary symmetric
polynomial of the exp(o_t), which depends on the offsets only. A search with given offsets leaves it out, because it
takes W³ steps; `log_ways` adds it to a log-likelihood.

Every 1 - x is computed from the logit of x, so it adds no rounding error: where x rounds to 1, a difference
would leave the derivative without the value that it is divided by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit as real_expit

from crawl_urn_dagster.urn.capture_recapture.recaptures import not_captured_after

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray, HistoryCells

#: Real numbers, or complex ones whose imaginary parts carry derivatives.
Values: TypeAlias = npt.NDArray[Any]

STEP = 1e-20
TINY = 1e-300
# Whether a model has a core, and its number of shells, by the number of its parameters.
_LAYOUTS = {2: (False, 1), 3: (True, 1), 6: (True, 2)}


class Histories(NamedTuple):
    """The data of a fit: cells, gaps in units of their mean, and sizes of the crawls."""

    cells: HistoryCells
    gaps: FloatArray
    sizes: FloatArray


class Classes(NamedTuple):
    """The classes of an urn, shape (...) and (..., shells).

    Attributes
    ----------
    kappa, outside
        Core fraction of the urn, and 1 minus it.
    share, logit_alpha, logit_coverage
        Share of the elements outside the core, logit of survival per mean gap and logit of coverage, by shell.
    """

    kappa: Values
    outside: Values
    share: Values
    logit_alpha: Values
    logit_coverage: Values


class Score(NamedTuple):
    """Log-likelihood, its gradient, and its information as the outer product of the scores (BHHH)."""

    value: float
    gradient: FloatArray
    information: FloatArray


def log_likelihood(data: Histories, point: FloatArray, offsets: FloatArray) -> float:
    """Return the log-likelihood of the cells for logit parameters, without `log_ways`."""
    return float(data.cells.elements @ log_probabilities(data, point[None], offsets)[0])


def score(data: Histories, point: FloatArray, offsets: FloatArray) -> Score:
    """Return `log_likelihood` and derivatives by complex steps, exact to rounding because everything is analytic."""
    values = log_probabilities(data, point + 1j * STEP * np.eye(point.size), offsets)
    slopes = values.imag / STEP
    weighted = slopes * data.cells.elements
    return Score(float(data.cells.elements @ values[0].real), weighted.sum(axis=1), weighted @ slopes.T)


def log_probabilities(data: Histories, points: Values, offsets: FloatArray) -> Values:
    """Return the log of each cell's share of the captured elements, shape (points, cells), without `log_ways`."""
    cells, n = data.cells, offsets.size
    classes = classes_of(points)
    logs, captured = [], classes.kappa
    for shell in range(classes.share.shape[1]):
        # Most points carry a derivative by a parameter of the core or of another shell.
        own = np.stack([classes.logit_alpha[:, shell], classes.logit_coverage[:, shell]], axis=-1)
        distinct, point = np.unique(own, axis=0, return_inverse=True)
        found = log_shell_expectations(data, distinct[:, 0], distinct[:, 1], offsets)
        log_expected, shell_captured = (values[point.ravel()] for values in found)
        weight = classes.outside * classes.share[:, shell]
        logs.append(np.log(weight + TINY)[:, None] + log_expected)
        captured = captured + weight * shell_captured
    largest = np.maximum.reduce([log.real for log in logs])
    in_every_crawl = np.flatnonzero((cells.first == 0) & (cells.last == n - 1) & (cells.captures == n))
    core = classes.kappa[:, None] + np.zeros_like(in_every_crawl)
    largest[:, in_every_crawl] = np.maximum(largest[:, in_every_crawl], np.log(core.real + TINY))
    expected = sum(np.exp(log - largest) for log in logs)
    expected[:, in_every_crawl] += core * np.exp(-largest[:, in_every_crawl])
    return np.asarray(largest + np.log(expected + TINY) - np.log(captured + TINY)[:, None])


def log_shell_expectations(
    data: Histories, logit_alpha: Values, logit_coverage: Values, offsets: FloatArray
) -> tuple[Values, Values]:
    """Return log elements of each cell, without `log_ways`, and elements captured at all, per element of the shell.

    Parameters have shape (points,), and results (points, cells) and (points,).
    """
    first, last, captures, _ = data.cells
    log_alpha, by_crawl = _log_expit(logit_alpha)[:, None], logit_coverage[:, None] + offsets
    alive, dead = np.exp(log_alpha * data.gaps), -np.expm1(log_alpha * data.gaps)
    caught, missed = expit(by_crawl), expit(-by_crawl)
    never_again = not_captured_after(dead, alive * missed[:, 1:])
    # The same recursion backwards in time.
    unseen = not_captured_after(dead[:, ::-1], alive[:, ::-1] * missed[:, -2::-1])[:, ::-1]
    log_caught, passed = _log_expit(by_crawl), log_alpha * np.append(0.0, data.gaps.cumsum())
    log_missed = _log_expit(-by_crawl).cumsum(axis=1)
    start, end = log_caught + np.log(unseen + TINY), np.log(never_again + TINY)
    before = np.concatenate([np.zeros_like(log_missed[:, :1]), log_missed[:, :-1]], axis=1)
    again = (start - log_missed - passed)[:, first] + (end + log_caught + before + passed)[:, last]
    again = again + logit_coverage[:, None] * (captures - 2) + _run_offsets(data.cells, offsets)
    return np.where(first == last, (start + end)[:, first], again), (caught * unseen).sum(axis=1)


def _run_offsets(cells: HistoryCells, offsets: FloatArray) -> FloatArray:
    """Return the sum of the offsets between first and last capture where no crawl between missed, 0 elsewhere."""
    total = np.append(0.0, offsets.cumsum())
    is_run = (cells.captures == cells.last - cells.first + 1) & (cells.captures > 1)
    return np.where(is_run, total[cells.last] - total[np.minimum(cells.first + 1, cells.last)], 0.0)


def log_ways(cells: HistoryCells, offsets: FloatArray) -> FloatArray:
    """Return log e_j of each cell, shape (cells,): what its captures between others contribute whatever the class.

    Cells without a choice of these captures have 0.
    """
    first, last, captures, _ = cells
    caught, missed = expit(offsets), expit(-offsets)
    log_missed = np.append(0.0, np.log(missed).cumsum())
    chance = _captured_between(cells, caught, missed)
    between = log_missed[last] - log_missed[np.minimum(first + 1, last)]
    is_choice = (captures > 2) & (captures < last - first + 1)
    return np.where(is_choice, np.log(chance + TINY) - between, 0.0)


def _captured_between(cells: HistoryCells, caught: FloatArray, missed: FloatArray) -> FloatArray:
    """Return the probability of each cell's captures between its first and last crawl, while eligible, shape (cells,).

    ``between[f, j]`` is the probability of j captures between crawl f and crawl t.
    """
    (first, last, captures, _), n = cells, caught.size
    between, chance = np.zeros((n, n)), np.ones(last.size)
    between[0, 0] = 1
    ends = np.searchsorted(last, np.arange(n + 1))
    for t in range(1, n):
        # Values read here for elements captured once, which have no captures between, are not used.
        here = slice(ends[t], ends[t + 1])
        chance[here] = between[first[here], captures[here] - 2]
        captured = caught[t] * between[:t, :t]
        between[:t, : t + 1] *= missed[t]
        between[:t, 1 : t + 1] += captured
        between[t, 0] = 1
    return chance


def classes_of(point: Values) -> Classes:
    """Return the classes of logit parameters, shape (..., parameters).

    Parameters are kappa (if there is a core), the share of the first shell (if there are two), then survival and
    coverage of each shell.

    Raises
    ------
    ValueError
        When no model has that number of parameters.
    """
    n = point.shape[-1]
    if n not in _LAYOUTS:
        raise ValueError(f"there are {n} parameters; expected one of {', '.join(map(str, _LAYOUTS))}")
    has_core, n_shells = _LAYOUTS[n]
    shells, kappa, both = n - 2 * n_shells, point[..., 0], np.stack([point[..., 1], -point[..., 1]], axis=-1)
    return Classes(
        kappa=expit(kappa) if has_core else np.zeros_like(kappa),
        outside=expit(-kappa) if has_core else np.ones_like(kappa),
        share=expit(both) if n_shells == 2 else np.ones_like(point[..., :1]),
        logit_alpha=point[..., shells::2],
        logit_coverage=point[..., shells + 1 :: 2],
    )


def quantities(points: Values, offsets: FloatArray) -> Values:
    """Return κ, μ, then shares, survivals and mean coverages of the shells, on the last axis, for logit parameters."""
    kappa, outside, share, logit_alpha, logit_coverage = classes_of(points)
    coverage = expit(logit_coverage[:, None] + offsets[:, None])
    core_share = kappa[:, None] / (kappa[:, None] + outside[:, None] * (coverage * share[:, None]).sum(axis=-1) + TINY)
    parts = [kappa[:, None], core_share.mean(axis=1)[:, None], share, expit(logit_alpha), coverage.mean(axis=1)]
    return np.concatenate(parts, axis=1)


def expit(values: Values) -> Values:
    """Return the inverse of logit, also of complex numbers that carry derivatives."""
    found = real_expit(values.real)
    return _with_slope(values, found, found * real_expit(-values.real))


def _log_expit(values: Values) -> Values:
    """Return the logarithm of `expit`."""
    return _with_slope(values, -np.logaddexp(0, -values.real), real_expit(-values.real))


def _with_slope(values: Values, found: FloatArray, slope: FloatArray) -> Values:
    """Return the values of a function, with its slope applied to the derivatives that its arguments carry."""
    return found + 1j * slope * values.imag if np.iscomplexobj(values) else found
