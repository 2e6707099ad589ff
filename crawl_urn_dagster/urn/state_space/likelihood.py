"""Compute the likelihood of a mixture of state-space classes from capture histories, with its exact gradient.

Does not search for its maximum; see `fitting`.

Given its class, a history is a chain of first returns and a tail without a capture. With equal gaps the numbers of
gaps of each length and the length of the tail are therefore sufficient, besides the first capture. With uneven gaps
the pairs of consecutive captures are. A class k expects A_k(f) first captures at crawl f, μ_k λ^f times the share of
its captures that no earlier crawl of the window made. The *conditional* likelihood takes the first captures as given,
and needs no assumption about how many elements enter when. The *full* one assumes Poisson births, and contains λ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from crawl_urn_dagster.urn.data.histories import first_and_last
from crawl_urn_dagster.urn.state_space.recursions import (
    ClassParameters,
    Values,
    first_returns,
    first_returns_by_lag,
    never_again,
)

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray, IntArray

_STEP = 1e-20
_TINY = 1e-300
# Free parameters of a class by its kind, each a position in `ClassParameters`.
FREE: dict[str, tuple[int, ...]] = {
    "core": (),
    "sure": (0,),
    "permanent": (2, 3),
    "shell": (0, 1),
    "markov": (0, 2, 3),
    "hidden": (0, 1, 2, 3),
}
_FIXED = (1.0, 1.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Observations:
    """Sufficient statistic of capture histories.

    Attributes
    ----------
    n_crawls
        Number of crawls.
    gaps
        Gaps between crawls in units of their mean, shape (n_crawls - 1,), or None if all are equal.
    terms
        Returns and tails of each row, sparse, shape (rows, (starts + 1) * n_crawls): number of returns from start s
        after j crawls in column ``s * n_crawls + j``, and in the last n_crawls columns 1 for the tail of j crawls.
        With equal gaps there is one start.
    first
        Crawl of the first capture, shape (rows,).
    elements
        Elements of each row, shape (rows,).
    row
        Row of each history that has a capture, shape (histories,).
    """

    n_crawls: int
    gaps: FloatArray | None
    terms: csr_array
    first: IntArray
    elements: FloatArray
    row: IntArray

    @property
    def n_elements(self) -> float:
        """Elements captured at least once."""
        return float(self.elements.sum())

    def with_equal_gaps(self) -> Observations:
        """Return the statistic as if all gaps were equal."""
        if self.gaps is None:
            return self
        n, terms = self.n_crawls, self.terms.tocoo()
        start, lag = np.divmod(terms.col, n)
        columns = lag + n * (start == n)
        equal = csr_array((terms.data, (terms.row, columns)), shape=(len(self.first), 2 * n))
        return replace(self, gaps=None, terms=equal)


def observe(histories: CaptureHistoryCounts, gaps: FloatArray | None = None) -> Observations:
    """Reduce histories to the sufficient statistic.

    Parameters
    ----------
    histories
        Elements of each capture history. Histories without a capture or without elements are left out.
    gaps
        Gaps between crawls in units of their mean, shape (n_crawls - 1,); equal gaps if None.

    Returns
    -------
    Observations
        Statistic of the histories.
    """
    captured = np.flatnonzero(histories.seen.any(axis=1) & (histories.elements > 0))
    seen, elements = histories.seen[captured], histories.elements[captured].astype(np.float64)
    n, starts = histories.n_crawls, 1 if gaps is None else histories.n_crawls
    history, crawl = np.nonzero(seen)
    is_return = history[1:] == history[:-1]
    start, lag = crawl[:-1][is_return], np.diff(crawl)[is_return]
    first, last = first_and_last(seen)
    start_index = (0 if gaps is None else start) * n + lag
    tail_index = starts * n + n - 1 - last
    rows = np.concatenate([history[:-1][is_return], np.arange(len(first))])
    columns = np.concatenate([start_index, tail_index])
    # Rows with the same terms and first capture are merged; a sum of random 64-bit numbers identifies them.
    keys = np.random.default_rng(0).integers(0, 2**63, (starts + 2) * n, dtype=np.uint64)
    key = keys[(starts + 1) * n + first]
    np.add.at(key, rows, keys[columns])
    _, example, row = np.unique(key, return_index=True, return_inverse=True)
    shape = (len(first), (starts + 1) * n)
    terms = csr_array((np.ones(rows.size), (rows, columns)), shape=shape)[example]
    merged = np.bincount(row, weights=elements, minlength=len(example)).astype(np.float64)
    return Observations(n, gaps, terms, first[example].astype(np.int64), merged, row)


class Layout(NamedTuple):
    """Order of the parameters: free probabilities of each class, K - 1 log ratios of shares, log growth if free.

    Attributes
    ----------
    kinds
        Kind of each class, keys of `FREE`.
    grows
        Whether the growth is free.
    """

    kinds: tuple[str, ...]
    grows: bool = False

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return sum(len(FREE[kind]) for kind in self.kinds) + len(self.kinds) - 1 + self.grows

    def positions(self, k: int) -> tuple[tuple[int, int], ...]:
        """Return, for each free probability of class k, its position in `ClassParameters` and among the parameters."""
        before = sum(len(FREE[kind]) for kind in self.kinds[:k])
        return tuple((field, before + number) for number, field in enumerate(FREE[self.kinds[k]]))


class ClassTables(NamedTuple):
    """Parameters of all classes, and logs of their expectations with derivatives.

    The second axis holds the value, then the derivatives with respect to the logits of the four parameters and to the
    log growth.

    Attributes
    ----------
    parameters
        Probabilities per mean gap, shape (classes,).
    terms
        Logs of first returns and of tails, in the order of the columns of `Observations.terms`, shape (classes, 6,
        columns).
    first
        Log of the share of captures at a crawl that no earlier crawl made, shape (classes, 6, n_crawls).
    """

    parameters: ClassParameters
    terms: FloatArray
    first: FloatArray


def class_parameters(
    layout: Layout, logits: list[FloatArray], log_growth: float, *, is_per_gap: bool
) -> tuple[ClassParameters, Values]:
    """Return the probabilities of all classes, shape (classes, 6), and the growth, shape (6,), with complex steps.

    If the gaps are uneven, the parameters of the state are its availability and memory, in place of departure and
    reactivation, so the memory is at least 0.
    """
    points = np.zeros((len(layout.kinds), 4))
    is_free = np.zeros((len(layout.kinds), 4), dtype=np.bool_)
    for k, kind in enumerate(layout.kinds):
        points[k, FREE[kind]], is_free[k, FREE[kind]] = logits[k], True
    steps = np.concatenate([np.zeros((1, 5)), np.eye(5)]) * (1j * _STEP)
    moved = np.where(is_free[:, None], _expit(points[:, None] + steps[:, :4]), _FIXED)
    growth = np.exp(log_growth + steps[:, 4])
    survival, coverage, departure, reactivation = np.moveaxis(moved, -1, 0)
    if log_growth < 0:
        # Births cannot be negative: a class survives at most as well as the population.
        survival = survival * growth
    if is_per_gap:
        availability, memory, has_state = departure, reactivation, is_free[:, None, 2]
        departure = np.where(has_state, (1 - availability) * (1 - memory), departure)
        reactivation = np.where(has_state, availability * (1 - memory), reactivation)
    return ClassParameters(survival, coverage, departure, reactivation), growth


def class_tables(layout: Layout, logits: list[FloatArray], log_growth: float, data: Observations) -> ClassTables:
    """Compute the expectations of all classes and their derivatives with respect to logits and the log growth."""
    n, gaps = data.n_crawls, data.gaps
    parameters, growth = class_parameters(layout, logits, log_growth, is_per_gap=gaps is not None)
    backwards = parameters._replace(survival=parameters.survival / growth)
    if gaps is None:
        course = first_returns(parameters.with_last_axes(1), n - 1)
        log_first, never = _log_and_slopes(course.first), course.never
        # Without growth the crawls look the same backwards.
        is_alike = log_growth == 0 and not layout.grows
        behind = never if is_alike else first_returns(backwards.with_last_axes(1), n - 1).never
    else:
        over_gaps = parameters.with_last_axes(1).over_gap(gaps)
        log_first = _uneven_returns(over_gaps)
        both = zip(over_gaps, backwards.with_last_axes(1).over_gap(gaps[::-1]), strict=True)
        both_ways = ClassParameters(*(np.stack(np.broadcast_arrays(*values)) for values in both))
        never, behind = never_again(both_ways)[0][..., ::-1]
    values = ClassParameters(*(value[:, 0].real for value in parameters))
    return ClassTables(values, np.concatenate([log_first, _log_and_slopes(never)], axis=-1), _log_and_slopes(behind))


def _uneven_returns(parameters: ClassParameters) -> FloatArray:
    """Return logs of first returns and their derivatives, shape (classes, 6, n²): from each start after each lag.

    Columns of crawls after the last one are 0.
    """
    shape = np.broadcast_shapes(*(value.shape for value in parameters))
    n = shape[-1] + 1
    logs = np.zeros((*shape[:-1], n, n))
    logs[:, 0, :, 0] = np.log(_TINY)
    for lag, returned in enumerate(first_returns_by_lag(parameters), start=1):
        logs[..., : n - lag, lag] = _log_and_slopes(np.moveaxis(returned, 0, -1))
    return logs.reshape(*shape[:-1], n * n)


class Evaluation(NamedTuple):
    """Log-likelihood, its gradient, and class probabilities of each row, shape (rows, classes)."""

    value: float
    gradient: FloatArray
    posterior: FloatArray


class Likelihood:
    """Log-likelihood of observations under a layout of classes.

    Parameters
    ----------
    data
        Sufficient statistic.
    layout
        Classes and whether the growth is free.
    is_full
        Whether the dates of first captures are part of the likelihood.
    """

    def __init__(self, data: Observations, layout: Layout, *, is_full: bool = False) -> None:
        self.data, self.layout, self.is_full = data, layout, is_full
        ends = np.cumsum([0, *(len(FREE[kind]) for kind in layout.kinds)]).tolist()
        self._slices = [slice(low, high) for low, high in pairwise(ends)]
        self._transposed = data.terms.T.tocsr()
        self._times = np.append(0.0, np.cumsum(np.ones(data.n_crawls - 1) if data.gaps is None else data.gaps))

    def split(self, point: FloatArray) -> tuple[list[FloatArray], FloatArray, float]:
        """Return the logits of each class, the log shares and the log growth of a point."""
        ratios = np.zeros(len(self._slices))
        ratios[1:] = point[self._slices[-1].stop :][: len(ratios) - 1]
        log_growth = float(point[-1]) if self.layout.grows else 0.0
        return [point[at] for at in self._slices], ratios - np.logaddexp.reduce(ratios), log_growth

    def tables(self, point: FloatArray) -> ClassTables:
        """Return the expectations of the classes at a point."""
        logits, _, log_growth = self.split(point)
        return class_tables(self.layout, logits, log_growth, self.data)

    def probabilities(self, point: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the probabilities of each class per mean gap, shape (classes, 4), shares and growth at a point."""
        logits, log_shares, log_growth = self.split(point)
        is_per_gap = self.data.gaps is not None
        values, _ = class_parameters(self.layout, logits, log_growth, is_per_gap=is_per_gap)
        return np.array(values)[:, :, 0].real.T, np.exp(log_shares), float(np.exp(log_growth))

    def first_captures(self, point: FloatArray) -> FloatArray:
        """Return log A_k(f), shape (classes, n_crawls)."""
        return self._log_first(self.tables(point), point)

    def __call__(self, point: FloatArray) -> Evaluation:
        """Evaluate the likelihood at a point, shape (n_parameters,)."""
        data, tables = self.data, self.tables(point)
        log_first = self._log_first(tables, point)
        joint = (data.terms @ tables.terms[:, 0].T).T + log_first[:, data.first]
        top = joint.max(axis=0, initial=-np.inf)
        parts = np.exp(joint - top)
        total = parts.sum(axis=0)
        posterior = parts / total
        weighted = posterior * data.elements
        captured = np.array([np.bincount(data.first, weights=w, minlength=data.n_crawls) for w in weighted])
        normaliser, expected = self._normaliser(log_first, captured.sum(axis=0))
        # Derivatives with respect to log A_k(f), and to the logs of returns and tails.
        first_slopes, term_slopes = captured - expected, (self._transposed @ weighted.T).T
        slopes = (tables.terms @ term_slopes[..., None] + tables.first @ first_slopes[..., None])[..., 0]
        by_class = first_slopes.sum(axis=1)
        shares = np.exp(self.split(point)[1])
        gradient = [slopes[k, 1 + np.array(FREE[kind], dtype=int)] for k, kind in enumerate(self.layout.kinds)]
        gradient.append((by_class - shares * by_class.sum())[1:])
        if self.layout.grows:
            gradient.append(np.atleast_1d(slopes[:, 5].sum() + first_slopes.sum(axis=0) @ self._times))
        value = float(data.elements @ (top + np.log(total))) - normaliser
        return Evaluation(value, np.concatenate(gradient), posterior.T)

    def scores(self, point: FloatArray) -> FloatArray:
        """Return the gradient of the log-likelihood of one element of each row, shape (rows, n_parameters)."""
        data, tables, posterior = self.data, self.tables(point), self(point).posterior
        weights = self.first_capture_weights(point)

        def centred(value: FloatArray, mean: FloatArray) -> FloatArray:
            """Subtract from a value of each row its mean given the crawl of the first capture, or over all crawls."""
            return value - (np.full_like(mean, mean.sum()) if self.is_full else mean)[data.first]

        columns, shares = [], [centred(posterior[:, k], weights[k]) for k in range(len(weights))]
        growth_slopes = np.zeros(len(data.first))
        for k, kind in enumerate(self.layout.kinds):
            for step in [*(1 + position for position in FREE[kind]), *([5] if self.layout.grows else [])]:
                slope = tables.first[k, step] + (self._times if step == 5 else 0)
                values = posterior[:, k] * (data.terms @ tables.terms[k, step] + slope[data.first])
                score = centred(values, weights[k] * slope)
                if step == 5:
                    growth_slopes += score
                else:
                    columns.append(score)
        return np.array([*columns, *shares[1:], *([growth_slopes] if self.layout.grows else [])]).T

    def first_capture_weights(self, point: FloatArray) -> FloatArray:
        """Return the shares of the classes in the first captures of each crawl, or of all, shape (classes, crawls)."""
        log_first = self.first_captures(point)
        total = np.logaddexp.reduce(log_first, axis=None if self.is_full else 0)
        return np.asarray(np.exp(log_first - total))

    def _log_first(self, tables: ClassTables, point: FloatArray) -> FloatArray:
        _, log_shares, log_growth = self.split(point)
        return np.asarray(tables.first[:, 0] + log_shares[:, None] + log_growth * self._times)

    def _normaliser(self, log_first: FloatArray, captured: FloatArray) -> tuple[float, FloatArray]:
        """Return the log probability of the first captures, and the elements of each class expected among them."""
        if self.is_full:
            total = np.logaddexp.reduce(log_first, axis=None)
            return float(captured.sum() * total), captured.sum() * np.exp(log_first - total)
        by_crawl = np.logaddexp.reduce(log_first, axis=0)
        return float(captured @ by_crawl), captured * np.exp(log_first - by_crawl)


def _expit(values: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-values)))


def _log_and_slopes(values: Values) -> FloatArray:
    """Return the log of values, and its derivatives in place of the complex steps on the second axis."""
    # The small number keeps the logarithm of an impossible event finite.
    result = values.imag / (values.real + _TINY) / _STEP
    result[:, 0] = np.log(values[:, 0].real + _TINY)
    return np.asarray(result)
