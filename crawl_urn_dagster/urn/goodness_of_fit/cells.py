"""Compare the elements of each (first capture, last capture, captures) cell with their expectation under a model.

Does not fit models; see `open_population` and `state_space`, whose expectations can be compared alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.distributions import chi2_tail
from crawl_urn_dagster.urn.data.histories import count_cells
from crawl_urn_dagster.urn.data.thinning import is_long

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray, IntArray
    from crawl_urn_dagster.urn.open_population.classes import PopulationClass

_SMALLEST_EXPECTED = 5.0
_C_HAT_OF_FAILURE = 3.0
_P_OF_FAILURE = 1e-4
_MISPLACED_OF_FAILURE = 0.02
_N_WORST = 10
# Cells of a long collection by first capture.
_MOST_BINS = 40


class WorstCells(NamedTuple):
    """Cells that contribute most to X², worst first; arrays of shape (n_cells,).

    Attributes
    ----------
    first, last, captures
        Cell; for pooled cells, the one of them with most expected elements.
    pooled
        Number of cells that were pooled.
    observed, expected
        Elements.
    """

    first: IntArray
    last: IntArray
    captures: IntArray
    pooled: IntArray
    observed: FloatArray
    expected: FloatArray


@dataclass(frozen=True, eq=False)
class CellComparison:
    """Result of the omnibus test over the cells.

    Attributes
    ----------
    x2, df, c_hat, p_value
        X², degrees of freedom, X²/df and the probability of a larger X²; NaN if not tested, except `df`.
    misplaced
        D = Σ|O-E|/2n, the share of elements that the model puts in another cell than they are in.
    misplaced_excess
        The part of D that sampling does not explain, √(D² - (Σ√(2E/π)/2n)²). It does not grow with n.
    worst
        At most ten cells that contribute most to X².
    excess_by_crawl
        Sum of the contributions to X² minus 1 over cells whose first or last capture is the crawl, shape (n_crawls,).
    """

    x2: float
    df: int
    c_hat: float
    p_value: float
    misplaced: float
    misplaced_excess: float
    worst: WorstCells
    excess_by_crawl: FloatArray

    @property
    def is_tested(self) -> bool:
        """Whether at least one degree of freedom was left."""
        return self.df > 0

    @property
    def has_failed(self) -> bool:
        """Whether ĉ exceeds 3, or p is below 1e-4 and more than 2 % of elements are misplaced beyond sampling."""
        return self.c_hat > _C_HAT_OF_FAILURE or (
            self.p_value < _P_OF_FAILURE and self.misplaced_excess > _MISPLACED_OF_FAILURE
        )


def cell_width(n_crawls: int) -> int:
    """Return how many crawls, and numbers of captures, a cell covers: 1, or more in a long collection.

    Examples
    --------
    >>> cell_width(100), cell_width(365)
    (1, 10)
    """
    return -(-n_crawls // _MOST_BINS) if is_long(n_crawls) else 1


def expected_cells(classes: Sequence[PopulationClass]) -> FloatArray:
    """Compute the expected elements of each cell, if each class draws every crawl independently.

    Parameters
    ----------
    classes
        Classes of the population, at least one.

    Returns
    -------
    ndarray
        Expected elements by first capture, last capture and captures, shape (n_crawls, n_crawls, n_crawls + 1). In a
        long collection a cell covers several of each; see `cell_width`.

    Examples
    --------
    >>> from crawl_urn_dagster.urn.open_population.classes import PopulationClass
    >>> core = PopulationClass("core", np.full(3, 100.0), np.ones(2), np.ones(3))
    >>> float(expected_cells([core])[0, 2, 3])
    100.0
    """
    n_crawls = len(classes[0].coverage)
    width = cell_width(n_crawls)
    by_first, n_bins = np.arange(n_crawls) // width, (n_crawls - 1) // width + 1
    total = np.zeros((n_bins, n_bins, n_crawls + 1))
    for group in classes:
        # Expected elements by first capture and captures, that are alive at the crawl.
        alive = np.zeros((n_bins, n_crawls + 1))
        new = group.eligible * group.never_before * group.coverage
        for crawl, coverage in enumerate(group.coverage):
            captured = np.zeros_like(alive)
            captured[:, 1:] = alive[:, :-1] * coverage
            captured[by_first[crawl], 1] += new[crawl]
            total[:, by_first[crawl]] += captured * group.never_again[crawl]
            if crawl < n_crawls - 1:
                alive = (alive * (1 - coverage) + captured) * group.survival[crawl]
    return total if width == 1 else np.add.reduceat(total, np.arange(0, n_crawls + 1, width), axis=2)


def observed_cells(counts: CaptureHistoryCounts) -> FloatArray:
    """Count the elements of each cell, shape (n_crawls, n_crawls, n_crawls + 1); see `expected_cells`."""
    n_crawls, cells = counts.n_crawls, count_cells(counts)
    width = cell_width(n_crawls)
    n_bins = (n_crawls - 1) // width + 1
    table = np.zeros((n_bins, n_bins, n_crawls // width + 1))
    np.add.at(table, (cells.first // width, cells.last // width, cells.captures // width), cells.elements)
    return table


def compare_cells(
    observed: FloatArray, expected: FloatArray, n_parameters: int = 0, *, n_crawls: int | None = None
) -> CellComparison:
    """Test whether cells hold the expected elements.

    Cells of fewer than 5 expected elements are pooled with each other, neighbours first.

    Parameters
    ----------
    observed, expected
        Elements by first capture, last capture and captures, shape (n_crawls, n_crawls, n_crawls + 1).
    n_parameters
        Number of parameters that were estimated from the observed elements, the total included.
    n_crawls
        Number of crawls; None: as many as cells by first capture.

    Returns
    -------
    CellComparison
        The result; not tested if no degree of freedom is left.

    Examples
    --------
    >>> cells = np.zeros((1, 1, 2))
    >>> cells[0, 0, 1] = 100.0
    >>> compare_cells(cells, cells).c_hat
    0.0
    """
    reachable = np.flatnonzero((expected > 0) | (observed > 0))
    flat = expected.ravel()[reachable]
    pool, size = _pools(flat)
    o, e = (
        np.bincount(pool, weights=cells, minlength=size).astype(np.float64)
        for cells in (observed.ravel()[reachable], flat)
    )
    contributions = np.divide((o - e) ** 2, e, out=np.zeros(size), where=e > 0)
    x2, df = float(contributions.sum()), size - n_parameters
    if df < 1 or not observed.any():
        x2, df = np.nan, 0
    first, last, captures = np.unravel_index(reachable[_largest_cells(flat, pool, size)], expected.shape)
    worst = np.argsort(-contributions, kind="stable")[:_N_WORST]
    pooled = np.bincount(pool[flat > 0], minlength=size)
    excess: FloatArray = np.zeros(expected.shape[0])
    excess += np.bincount(first, weights=contributions - 1, minlength=expected.shape[0])
    excess += np.bincount(last, weights=(contributions - 1) * (first < last), minlength=expected.shape[0])
    width = 1 if n_crawls is None else cell_width(n_crawls)
    excess = np.repeat(excess / width, width)[:n_crawls]
    misplaced, by_sampling = _misplaced(o, e) if df else (np.nan, np.nan)
    return CellComparison(
        x2,
        df,
        x2 / df if df else np.nan,
        float(chi2_tail(x2, df)) if df else np.nan,
        misplaced,
        float(np.sqrt(np.maximum(misplaced**2 - by_sampling**2, 0.0))),
        WorstCells(
            first[worst] * width, last[worst] * width, captures[worst] * width, pooled[worst], o[worst], e[worst]
        ),
        excess,
    )


def _misplaced(observed: FloatArray, expected: FloatArray) -> tuple[float, float]:
    """Return Σ|O-E|/2n, and its expectation if the model is right."""
    n = float(observed.sum())
    return float(abs(observed - expected).sum()) / (2 * n), float(np.sqrt(2 * expected / np.pi).sum()) / (2 * n)


def _pools(expected: FloatArray) -> tuple[IntArray, int]:
    """Return the pool of each cell, and the number of pools: with at least 5 expected elements each, if all have."""
    is_small = expected < _SMALLEST_EXPECTED
    small = expected[is_small]
    # Runs of cells below 5 that end where the running total passes a multiple of 10 hold more than 5.
    run = np.floor(small.cumsum() / (2 * _SMALLEST_EXPECTED)).astype(np.int64)
    runs, run = np.unique(run, return_inverse=True)
    n_large, n_runs = int(np.count_nonzero(~is_small)), runs.size
    if n_runs and small[run == n_runs - 1].sum() < _SMALLEST_EXPECTED and n_runs + n_large > 1:
        n_runs -= 1
    pool = np.empty(expected.size, dtype=np.int64)
    pool[~is_small] = n_runs + np.argsort(np.argsort(expected[~is_small], kind="stable"), kind="stable")
    # An incomplete last run joins the run before it or, without one, the smallest of the other cells.
    pool[is_small] = np.minimum(run, max(n_runs - 1, 0))
    return pool, n_runs + n_large


def _largest_cells(expected: FloatArray, pool: IntArray, size: int) -> IntArray:
    """Return the cell of each pool with most expected elements, shape (size,)."""
    order = np.lexsort((expected, pool))
    return np.asarray(order[np.searchsorted(pool[order], np.arange(size), side="right") - 1])
