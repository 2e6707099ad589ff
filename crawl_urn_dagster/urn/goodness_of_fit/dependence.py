"""Measure trap dependence and transience as log odds ratios, minus those that fitted classes of a population expect.

Does not test a Cormack-Jolly-Seber model (see `release_recapture`) and does not fit classes (see `open_population`).

A core makes captured elements return more often than missed ones, so a test of independence always fails on crawls.
The difference from the expected log odds ratio is 0 if the classes are right, and does not grow with the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.histories import count_cells
from crawl_urn_dagster.urn.data.normal_intervals import DETECTABLE_STANDARD_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray, IntArray
    from crawl_urn_dagster.urn.open_population.classes import PopulationClass

_SMALLEST_FAILURE = float(np.log(1.10))
_STANDARD_ERRORS = 4.0
# Anscombe's correction of each cell: an empty cell has a finite log odds, and the bias of all log odds is small.
_CONTINUITY = 0.5
# Tables of neighbouring crawls are added up to this many expected elements in every cell. With fewer, the log odds of
# observed tables, and more so their mean by observed variances, are biased: in long lists of few elements by more than
# the smallest failure.
_FEWEST_EXPECTED = 20.0


class DependenceTables(NamedTuple):
    """Elements, or expected elements, in the 2 x 2 tables of every crawl.

    Attributes
    ----------
    trap_dependence
        Elements captured before and after crawl i = 1 .. T - 3: missed or captured by i (rows; all captured elements,
        as in TEST2.CT) and next captured by i + 1 or later (columns). Shape (max(T - 3, 0), 2, 2).
    transience
        Elements captured by crawl i = 1 .. T - 2: captured before or new (rows) and captured again or never
        (columns), as in TEST3.SR. Shape (max(T - 2, 0), 2, 2).
    """

    trap_dependence: FloatArray
    transience: FloatArray


@dataclass(frozen=True, eq=False)
class DependenceEffect:
    """Pooled difference between observed and expected log odds ratios.

    Attributes
    ----------
    effect
        Weighted mean of the differences; NaN if no table can be used. Trap dependence: above 0 if captured elements
        are captured by the next crawl more often than expected (absence in runs), below 0 if less often (avoidance).
        Transience: below 0 if new elements return less often than expected.
    se
        Standard error of the effect, multiplied by the square root of the dispersion if that exceeds 1.
    dispersion
        Q/df of the differences about their mean; 1 with fewer than two tables.
    crawls
        Crawls whose tables were used, shape (n_tables,); of tables that were added up, the first.
    differences, standard_errors
        Difference and standard error of each table, shape (n_tables,).
    """

    effect: float
    se: float
    dispersion: float
    crawls: IntArray
    differences: FloatArray
    standard_errors: FloatArray

    @property
    def is_tested(self) -> bool:
        """Whether at least one table could be used."""
        return bool(self.crawls.size)

    @property
    def has_failed(self) -> bool:
        """Whether the effect exceeds log 1.10 and 4 standard errors."""
        return abs(self.effect) > max(_SMALLEST_FAILURE, _STANDARD_ERRORS * self.se)

    def smallest_detectable(self, c_hat: float = 1.0) -> float:
        """Return the effect that is detected with probability 0.8, 2.8 se √ĉ; infinite if nothing was tested."""
        return DETECTABLE_STANDARD_ERRORS * self.se * float(np.sqrt(max(1.0, c_hat))) if self.is_tested else np.inf


class Dependence(NamedTuple):
    """Effects of trap dependence and transience."""

    trap_dependence: DependenceEffect
    transience: DependenceEffect


def count_tables(counts: CaptureHistoryCounts) -> DependenceTables:
    """Count the elements of the tables.

    Parameters
    ----------
    counts
        Elements of each capture history.

    Returns
    -------
    DependenceTables
        The observed tables.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import CaptureHistoryCounts
    >>> counts = CaptureHistoryCounts(np.array([[1, 1, 1, 0], [1, 0, 0, 1]], dtype=bool), np.array([5, 7]))
    >>> count_tables(counts).trap_dependence
    array([[[0., 7.],
            [5., 0.]]])
    """
    n_crawls = counts.n_crawls
    spans, lost = (_count_spans(some) for some in (counts, counts.lost_alone()))
    recaptures = counts.recaptures().astype(np.float64)
    new, only, lost_new = spans.sum(axis=1), np.diagonal(spans), np.diagonal(lost)
    old, old_never, lost_old = recaptures.sum(axis=0), spans.sum(axis=0) - only, lost.sum(axis=0) - lost_new
    # A count of elements that are never captured again excludes elements that were removed after their capture.
    transience = _stack(old - old_never, old_never - lost_old, new - only, only - lost_new)[1 : max(n_crawls - 1, 1)]

    crawl = np.arange(1, n_crawls - 2)
    passed = recaptures.cumsum(axis=0)[crawl - 1]
    released, column = recaptures[crawl], np.arange(n_crawls)
    at_next, later = (column == crawl[:, None] + 1), (column > crawl[:, None] + 1)
    trap_dependence = _stack(
        *((row * columns).sum(axis=1) for row in (passed, released) for columns in (at_next, later))
    )
    return DependenceTables(trap_dependence, transience)


def _count_spans(counts: CaptureHistoryCounts) -> FloatArray:
    """Count elements by first and last capture, shape (n_crawls, n_crawls)."""
    cells = count_cells(counts)
    spans = np.zeros((counts.n_crawls, counts.n_crawls))
    np.add.at(spans, (cells.first, cells.last), cells.elements)
    return spans


def expected_tables(classes: Sequence[PopulationClass]) -> DependenceTables:
    """Compute the expected elements of the tables, if each class draws every crawl independently.

    Parameters
    ----------
    classes
        Classes of the population, at least one.

    Returns
    -------
    DependenceTables
        The expected tables.
    """
    n_crawls = len(classes[0].coverage)
    crawl, inner = np.arange(1, n_crawls - 2), np.arange(1, n_crawls - 1)
    trap_dependence, transience = np.zeros((crawl.size, 2, 2)), np.zeros((inner.size, 2, 2))
    for group in classes:
        known, never = 1 - group.never_before, group.never_again
        captured = group.eligible * group.coverage
        missed_known = group.eligible * known * (1 - group.coverage)
        at_next = group.survival * group.coverage[1:]
        later = 1 - never[:-1] - at_next
        trap_dependence += _stack(
            *(row[crawl] * column[crawl] for row in (missed_known, captured) for column in (at_next, later))
        )
        transience += _stack(
            *(
                captured[inner] * row[inner] * column[inner]
                for row in (known, 1 - known)
                for column in (1 - never, never)
            )
        )
    return DependenceTables(trap_dependence, transience)


def dependence_effects(observed: DependenceTables, expected: DependenceTables) -> Dependence:
    """Pool the differences between observed and expected log odds ratios over crawls.

    Tables of neighbouring crawls are added up until the model expects 20 elements in every cell. A table is left out if
    the model expects an empty cell, or if no element was observed in one of its rows or columns.

    Parameters
    ----------
    observed, expected
        Observed and expected tables of the same crawls.

    Returns
    -------
    Dependence
        The effects, weighted by the inverse variances of the observed log odds ratios.

    Examples
    --------
    >>> observed = DependenceTables(np.array([[[30.0, 10.0], [60.0, 20.0]]]), np.zeros((2, 2, 2)))
    >>> effects = dependence_effects(observed, observed)
    >>> round(effects.trap_dependence.se, 2), effects.transience.is_tested
    (0.44, False)
    """
    return Dependence(*(_pool(*tables) for tables in zip(observed, expected, strict=True)))


def _pool(observed: FloatArray, expected: FloatArray) -> DependenceEffect:
    starts = _starts_of_large_tables(expected)
    if starts.size:
        observed, expected = (np.add.reduceat(tables, starts, axis=0) for tables in (observed, expected))
    usable = (
        (expected > 0).all(axis=(1, 2))
        & (observed.sum(axis=1) > 0).all(axis=1)
        & (observed.sum(axis=2) > 0).all(axis=1)
    )
    corrected = observed[usable] + _CONTINUITY
    differences = _log_odds_ratio(corrected) - _log_odds_ratio(expected[usable])
    variances = (1 / corrected).sum(axis=(1, 2))
    crawls = 1 + starts[usable]
    if not crawls.size:
        return DependenceEffect(np.nan, np.nan, 1.0, crawls, differences, variances)
    weights = 1 / variances
    effect = float(weights @ differences / weights.sum())
    degrees = crawls.size - 1
    dispersion = float(weights @ (differences - effect) ** 2) / degrees if degrees else 1.0
    se = float(np.sqrt(max(1.0, dispersion) / weights.sum()))
    return DependenceEffect(effect, se, dispersion, crawls, differences, np.sqrt(variances))


def _starts_of_large_tables(expected: FloatArray) -> IntArray:
    """Return the first table of each group of neighbours whose sum is large enough; 0 if no sum is."""
    starts, total = [0] * bool(len(expected)), np.zeros((2, 2))
    for position, table in enumerate(expected):
        total = total + table
        if total.min() >= _FEWEST_EXPECTED:
            starts.append(position + 1)
            total = np.zeros((2, 2))
    # The tables after the last sum that is large enough are added to it.
    return np.array(starts[:-1] if len(starts) > 1 else starts, dtype=np.int64)


def _log_odds_ratio(tables: FloatArray) -> FloatArray:
    """Return the log odds of the first column in the second row, minus those in the first row, shape (n_tables,)."""
    log = np.log(tables)
    return np.asarray(log[:, 1, 0] - log[:, 1, 1] - log[:, 0, 0] + log[:, 0, 1])


def _stack(
    top_left: FloatArray, top_right: FloatArray, bottom_left: FloatArray, bottom_right: FloatArray
) -> FloatArray:
    """Return the 2 x 2 tables of the cells, shape (n_tables, 2, 2)."""
    return np.stack([top_left, top_right, bottom_left, bottom_right], axis=-1).reshape(-1, 2, 2)
