"""Compute the likelihood of a mixture of state-space classes from capture histories, with its exact gradient.

Does not search for its maximum; see `fitting`.

Given its class, a history is a chain of first returns and a tail without a capture. With equal gaps the numbers of
gaps of each length and the length of the tail are therefore sufficient, besides the first capture. With uneven gaps
the pairs of consecutive captures are. A class k expects A_k(f) first captures at crawl f, μ_k λ^f times the share of
its captures that no earlier crawl of the window made. The *conditional* likelihood takes the first captures as given,
and needs no assumption about how many elements enter when. The *full* one is that of Poisson births, and contains λ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from crawl_urn_dagster.urn.state_space.recursions import ClassParameters, Values, first_returns

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
        Gaps between crawls in units of their mean, shape (n_crawls - 1,); one value if all are equal.
    terms
        Returns and tails of each row, sparse, shape (rows, 2 * starts * n_crawls): number of returns from start s
        after j crawls in column ``s * n_crawls + j``, and in the second half 1 for the tail from start s of j crawls.
        With equal gaps there is one start.
    first
        Crawl of the first capture, shape (rows,).
    elements
        Elements of each row, shape (rows,).
    row
        Row of each history that has a capture, shape (histories,).
    """

    n_crawls: int
    gaps: FloatArray
    terms: csr_array
    first: IntArray
    elements: FloatArray
    row: IntArray

    @property
    def n_elements(self) -> float:
        """Elements captured at least once."""
        return float(self.elements.sum())


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
    captured = histories.seen.any(axis=1) & (histories.elements > 0)
    seen, elements = histories.seen[captured], histories.elements[captured].astype(np.float64)
    n, starts = histories.n_crawls, 1 if gaps is None else histories.n_crawls
    history, crawl = np.nonzero(seen)
    is_return = history[1:] == history[:-1]
    start, lag = crawl[:-1][is_return], np.diff(crawl)[is_return]
    first, last = seen.argmax(axis=1), n - 1 - seen[:, ::-1].argmax(axis=1)
    of_start = (start if starts > 1 else 0) * n + lag
    of_tail = starts * n + (last if starts > 1 else 0) * n + n - 1 - last
    rows = np.concatenate([history[:-1][is_return], np.arange(len(first))])
    columns = np.concatenate([of_start, of_tail]) if rows.size else rows
    # Rows with the same terms and first capture are merged; a sum of random 64-bit numbers identifies them.
    keys = np.random.default_rng(0).integers(0, 2**63, 2 * starts * n + n, dtype=np.uint64)
    key = keys[2 * starts * n + first] if len(first) else first.astype(np.uint64)
    np.add.at(key, rows, keys[columns])
    _, example, row = np.unique(key, return_index=True, return_inverse=True)
    shape = (len(first), 2 * starts * n)
    terms = csr_array((np.ones(rows.size), (rows, columns)), shape=shape)[example]
    merged = np.bincount(row, weights=elements, minlength=len(example))
    kept = np.ones(1) if gaps is None else np.asarray(gaps, dtype=np.float64)
    return Observations(n, kept, terms, first[example], merged, row)


class Layout(NamedTuple):
    """Order of the parameters: free probabilities of each class, K - 1 log ratios of shares, log growth if free.

    Attributes
    ----------
    kinds
        Kind of each class, keys of `FREE`.
    grows
        Whether the growth is free.
    is_per_gap
        Whether gaps are uneven. The parameters of the state are then its availability and memory, in place of
        departure and reactivation, so that the memory is at least 0.
    """

    kinds: tuple[str, ...]
    grows: bool = False
    is_per_gap: bool = False

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.n_probabilities + len(self.kinds) - 1 + self.grows

    @property
    def n_probabilities(self) -> int:
        """Number of free probabilities."""
        return sum(len(FREE[kind]) for kind in self.kinds)


class ClassTables(NamedTuple):
    """Parameters of a class, and logs of its expectations, each with complex steps on the first axis.

    Attributes
    ----------
    parameters
        Probabilities per mean gap, shape (1 + free,).
    terms
        Logs of first returns and of tails, in the order of the columns of `Observations.terms`.
    first
        Log of the share of captures at a crawl that no earlier crawl made, shape (1 + free, n_crawls).
    """

    parameters: ClassParameters
    terms: Values
    first: Values


def class_tables(kind: str, logits: FloatArray, log_growth: float, data: Observations) -> ClassTables:
    """Compute the expectations of one class and their derivatives with respect to its logits and the log growth."""
    free = FREE[kind]
    steps = np.concatenate([np.zeros((1, len(free) + 1)), np.eye(len(free) + 1)]) * (1j * _STEP)
    moved = _expit(np.append(logits, 0.0) + steps)[:, :-1]
    growth = np.exp(log_growth + steps[:, -1])
    values = [np.full(len(steps), value, dtype=complex) for value in _FIXED]
    for position, column in zip(free, moved.T, strict=True):
        values[position] = column
    if log_growth < 0:
        # Births cannot be negative: a class survives at most as well as the population.
        values[0] = values[0] * growth
    is_uneven = data.gaps.size > 1
    if is_uneven and kind in {"markov", "hidden", "permanent"}:
        availability, memory = values[2], values[3]
        values[2], values[3] = (1 - availability) * (1 - memory), availability * (1 - memory)
    parameters = ClassParameters(*values)
    backwards = parameters._replace(survival=parameters.survival / growth)
    n = data.n_crawls
    ahead = _course(parameters, data.gaps if is_uneven else None, n)
    behind = _course(backwards, data.gaps[::-1] if is_uneven else None, n)[1]
    # Start s of the reversed crawls is crawl n - 1 - s, with as many crawls before it as steps remain.
    behind = behind[:, np.arange(n)[::-1], np.arange(n)] if is_uneven else behind[:, 0]
    parts = [_log(part).reshape(len(steps), -1) for part in ahead]
    return ClassTables(parameters, np.concatenate(parts, axis=1), _log(behind))


def _course(parameters: ClassParameters, gaps: FloatArray | None, n: int) -> tuple[Values, Values]:
    """Return first returns and probabilities of no return from each start, shape (steps, starts, n)."""
    if gaps is None:
        course = first_returns(parameters.with_last_axes(2), n - 1)
    else:
        # Crawls after the last one do not exist; their columns are never read.
        from_start = np.append(gaps, np.ones(n))[np.arange(n)[:, None] + np.arange(max(n - 1, 1))]
        course = first_returns(parameters.with_last_axes(2).over_gap(from_start), n - 1)
    return course.first, course.never


class Evaluation(NamedTuple):
    """Log-likelihood, its gradient, class probabilities of each row, and the tables of each class."""

    value: float
    gradient: FloatArray
    posterior: FloatArray
    tables: tuple[ClassTables, ...]


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
        self._transposed = data.terms.T.tocsr()
        self._times = np.append(0.0, np.cumsum(np.broadcast_to(data.gaps, data.n_crawls - 1)))

    def split(self, point: FloatArray) -> tuple[list[FloatArray], FloatArray, float]:
        """Return the logits of each class, the log shares and the log growth of a point."""
        sizes = [len(FREE[kind]) for kind in self.layout.kinds]
        *logits, rest = np.split(point, np.cumsum(sizes))
        ratios = np.append(0.0, rest[: len(sizes) - 1])
        return logits, ratios - np.logaddexp.reduce(ratios), float(rest[-1]) if self.layout.grows else 0.0

    def first_captures(self, point: FloatArray) -> FloatArray:
        """Return log A_k(f), shape (classes, n_crawls)."""
        logits, log_shares, log_growth = self.split(point)
        tables = self._tables(logits, log_growth)
        return self._log_first(tables, log_shares, log_growth)

    def probabilities(self, point: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the probabilities of each class per mean gap, shape (classes, 4), shares and growth at a point."""
        logits, log_shares, log_growth = self.split(point)
        values = [[value[0].real for value in table.parameters] for table in self._tables(logits, log_growth)]
        return np.array(values), np.exp(log_shares), float(np.exp(log_growth))

    def __call__(self, point: FloatArray) -> Evaluation:
        """Evaluate the likelihood at a point, shape (n_parameters,)."""
        logits, log_shares, log_growth = self.split(point)
        data, tables = self.data, self._tables(logits, log_growth)
        log_first = self._log_first(tables, log_shares, log_growth)
        joint = data.terms @ np.array([table.terms[0].real for table in tables]).T + log_first[:, data.first].T
        total = np.logaddexp.reduce(joint, axis=1)
        posterior = np.exp(joint - total[:, None])
        weighted = posterior * data.elements[:, None]
        captured = np.array([np.bincount(data.first, weights=w, minlength=data.n_crawls) for w in weighted.T])
        normaliser, expected = self._normaliser(log_first, captured.sum(axis=0))
        # Derivatives with respect to log A_k(f), and to the logs of returns and tails.
        of_first, of_terms = captured - expected, self._transposed @ weighted
        slopes = [
            (table.terms[1:].imag @ of_terms[:, k] + table.first[1:].imag @ of_first[k]) / _STEP
            for k, table in enumerate(tables)
        ]
        by_class = of_first.sum(axis=1)
        parts = [slope[:-1] for slope in slopes] + [(by_class - np.exp(log_shares) * by_class.sum())[1:]]
        if self.layout.grows:
            parts.append(np.atleast_1d(sum(slope[-1] for slope in slopes) + of_first.sum(axis=0) @ self._times))
        return Evaluation(float(data.elements @ total) - normaliser, np.concatenate(parts), posterior, tables)

    def _tables(self, logits: list[FloatArray], log_growth: float) -> tuple[ClassTables, ...]:
        kinds = zip(self.layout.kinds, logits, strict=True)
        return tuple(class_tables(kind, values, log_growth, self.data) for kind, values in kinds)

    def _log_first(self, tables: tuple[ClassTables, ...], log_shares: FloatArray, log_growth: float) -> FloatArray:
        never_before = np.array([table.first[0].real for table in tables])
        return np.asarray(never_before + log_shares[:, None] + log_growth * self._times)

    def _normaliser(self, log_first: FloatArray, captured: FloatArray) -> tuple[float, FloatArray]:
        """Return the log probability of the first captures, and the elements of each class expected among them."""
        if self.is_full:
            total = np.logaddexp.reduce(log_first, axis=None)
            return float(captured.sum() * total), captured.sum() * np.exp(log_first - total)
        by_crawl = np.logaddexp.reduce(log_first, axis=0)
        return float(captured @ by_crawl), captured * np.exp(log_first - by_crawl)


def _expit(values: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-values)))


def _log(values: Values) -> Values:
    # Near 1 - 1e-16 the real part of a complex logarithm is exact; the small number keeps log 0 finite.
    return np.asarray(np.log(values + _TINY))
