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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.capture_recapture.recaptures import never_seen_again

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray, HistoryCells

#: Real numbers, or complex ones whose imaginary parts carry derivatives.
Values: TypeAlias = npt.NDArray[Any]

STEP = 1e-20
TINY = 1e-300
_LARGEST_LOGIT = 700.0
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
    kappa
        Core fraction of the urn.
    share, alpha, logit_coverage
        Share of the elements outside the core, survival per mean gap and logit of coverage, by shell.
    """

    kappa: Values
    share: Values
    alpha: Values
    logit_coverage: Values


class Score(NamedTuple):
    """Log-likelihood, its gradient, and its information as the outer product of the scores (BHHH)."""

    value: float
    gradient: FloatArray
    information: FloatArray


def log_likelihood(data: Histories, point: FloatArray, offsets: FloatArray) -> float:
    """Return the log-likelihood of the cells for logit parameters."""
    return float(data.cells.elements @ log_probabilities(data, point[None], offsets)[0])


def score(data: Histories, point: FloatArray, offsets: FloatArray) -> Score:
    """Return log-likelihood and derivatives by complex steps, exact to rounding because everything is analytic."""
    values = log_probabilities(data, point + 1j * STEP * np.eye(point.size), offsets)
    slopes = values.imag / STEP
    weighted = slopes * data.cells.elements
    return Score(float(data.cells.elements @ values[0].real), weighted.sum(axis=1), weighted @ slopes.T)


def log_probabilities(data: Histories, points: Values, offsets: FloatArray) -> Values:
    """Return the log of each cell's share of the captured elements, shape (points, cells), for logit parameters."""
    cells, n = data.cells, offsets.size
    kappa, share, alpha, logit_coverage = classes_of(points)
    in_every_crawl = (cells.first == 0) & (cells.last == n - 1) & (cells.captures == n)
    expected, captured = kappa[:, None] * in_every_crawl, kappa
    for shell in range(share.shape[1]):
        coverage = expit(logit_coverage[:, shell, None] + offsets)
        shell_expected, shell_captured = shell_expectations(data, alpha[:, shell], coverage)
        weight = (1 - kappa) * share[:, shell]
        expected = expected + weight[:, None] * shell_expected
        captured = captured + weight * shell_captured
    return np.asarray(np.log(expected + TINY) - np.log(captured)[:, None])


def shell_expectations(data: Histories, alpha: Values, coverage: Values) -> tuple[Values, Values]:
    """Return elements of each cell, shape (points, cells), and elements captured at all, per element of the shell.

    Parameters have shape (points,) and (points, crawls). ``between[:, f, j]`` is the probability of j captures
    between crawl f and crawl t.
    """
    (first, last, captures, _), n = data.cells, coverage.shape[1]
    survival = alpha[:, None] ** data.gaps
    never_again = never_seen_again(survival, coverage[:, 1:])
    # The same recursion backwards in time.
    unseen = never_seen_again(survival[:, ::-1], coverage[:, -2::-1])[:, ::-1]
    between = np.zeros((*coverage.shape, n), dtype=coverage.dtype)
    between[:, 0, 0] = 1
    middle = np.ones((coverage.shape[0], last.size), dtype=coverage.dtype)
    ends = np.searchsorted(last, np.arange(n + 1))
    for t in range(1, n):
        # Values read here for elements captured once, which have no captures between, are not used.
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
    values, shells = expit(point), n - 2 * n_shells
    first = values[..., 1:2] if n_shells == 2 else np.ones_like(values[..., :1])
    return Classes(
        kappa=values[..., 0] if has_core else np.zeros_like(values[..., 0]),
        share=np.concatenate([first, 1 - first], axis=-1) if n_shells == 2 else first,
        alpha=values[..., shells::2],
        logit_coverage=point[..., shells + 1 :: 2],
    )


def quantities(points: Values, offsets: FloatArray) -> Values:
    """Return κ, μ, then shares, survivals and mean coverages of the shells, on the last axis, for logit parameters."""
    kappa, share, alpha, logit_coverage = classes_of(points)
    coverage = expit(logit_coverage[:, None] + offsets[:, None])
    core_share = kappa[:, None] / (kappa[:, None] + (1 - kappa[:, None]) * (coverage * share[:, None]).sum(axis=-1))
    parts = [kappa[:, None], core_share.mean(axis=1)[:, None], share, alpha, coverage.mean(axis=1)]
    return np.concatenate(parts, axis=1)


def expit(values: Values) -> Values:
    """Return the inverse of logit, also of complex numbers; very negative ones are raised so that exp is finite."""
    within = np.maximum(values.real, -_LARGEST_LOGIT) - values.real
    return np.asarray(1 / (1 + np.exp(-(values + within))))
