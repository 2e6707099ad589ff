"""Test the Cormack-Jolly-Seber model by the four contingency-table tests of release-recapture data, as R2ucare does.

Does not measure effect sizes; see `dependence`. A core alone fails TEST3.SR and TEST2.CT, because it is heterogeneity.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.distributions import chi2_tail, chi2_upper_quantile
from crawl_urn_dagster.urn.goodness_of_fit.dependence import count_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray, IntArray

# Below this many expected elements in a cell, columns are pooled, and a 2 x 2 table is tested exactly.
_SMALLEST_EXPECTED = 2.0
# R2ucare sums statistics that it has rounded; published sums need the same.
_DECIMALS = 3


class Component(NamedTuple):
    """One test; arrays of shape (n_tables,).

    Attributes
    ----------
    crawls
        Crawl of each table, from 0.
    statistics
        χ² of each table, to three decimals; 0 if not tested.
    degrees
        Degrees of freedom of each table; 0 if not tested.
    p_values
        Probability of a larger χ², or that of the exact test; NaN if not tested.
    is_exact
        Whether Fisher's exact test was made, whose probability the χ² reproduces.
    signed
        Signed root of each statistic, to three decimals. TEST3.SR: above 0 if new elements return less often
        (transients). TEST2.CT: below 0 if captured elements are captured by the next crawl more often than missed
        ones, above 0 if less often (avoidance). NaN for TEST3.SM and TEST2.CL.
    x2, df
        Sum of the statistics, and degrees of freedom of the sum. Those of TEST3.SR count every table, as in R2ucare.
    z
        Sum of the signed roots over the root of the number of tested tables, a standard normal variable under the
        model; NaN for TEST3.SM and TEST2.CL, and if not tested.
    """

    crawls: IntArray
    statistics: FloatArray
    degrees: IntArray
    p_values: FloatArray
    is_exact: BoolArray
    signed: FloatArray
    x2: float
    df: int
    z: float

    @property
    def p_value(self) -> float:
        """Probability of a larger sum; 1 without degrees of freedom."""
        return _p_value(self.x2, self.df)

    @property
    def is_tested(self) -> bool:
        """Whether a table was tested."""
        return bool(self.degrees.any())


@dataclass(frozen=True, eq=False)
class ReleaseRecapture:
    """Results of the four tests.

    Attributes
    ----------
    transience
        TEST3.SR of each crawl: captured before or new, and captured again or never.
    next_capture
        TEST3.SM: of the elements captured again, captured before or new, and by which crawl next.
    trap_dependence
        TEST2.CT: missed or captured, and next captured by the next crawl or later.
    later_capture
        TEST2.CL: missed or captured, and by which crawl next, of those that the next crawl missed.
    """

    transience: Component
    next_capture: Component
    trap_dependence: Component
    later_capture: Component

    @property
    def components(self) -> tuple[Component, ...]:
        """The four tests."""
        return self.transience, self.next_capture, self.trap_dependence, self.later_capture

    @property
    def x2(self) -> float:
        """Sum of χ²."""
        return round(sum(component.x2 for component in self.components), _DECIMALS)

    @property
    def df(self) -> int:
        """Sum of degrees of freedom."""
        return sum(component.df for component in self.components)

    @property
    def p_value(self) -> float:
        """Probability of a larger sum; 1 without degrees of freedom."""
        return _p_value(self.x2, self.df)

    @property
    def c_hat(self) -> float:
        """Variance inflation factor ĉ = χ²/df; NaN if not tested."""
        return pooled_c_hat([self])

    @property
    def is_tested(self) -> bool:
        """Whether a table of a test was tested."""
        return any(component.is_tested for component in self.components)


def release_recapture_tests(counts: CaptureHistoryCounts) -> ReleaseRecapture:
    """Make the four tests with the tables, pooling and degrees of freedom of R2ucare.

    Columns of TEST3.SM and TEST2.CL are pooled until each cell has 2 expected elements. A 2 x 2 table with fewer is
    tested by Fisher's exact test, and contributes the χ² of one degree of freedom with the same probability.

    Parameters
    ----------
    counts
        Elements of each capture history.

    Returns
    -------
    ReleaseRecapture
        The tests of each crawl and their sums.

    References
    ----------
    Burnham, K. P., Anderson, D. R., White, G. C., Brownie, C. and Pollock, K. H. (1987). Design and analysis methods
    for fish survival experiments based on release-recapture. American Fisheries Society Monograph 5.

    Gimenez, O., Lebreton, J.-D., Choquet, R. and Pradel, R. (2018). R2ucare: an R package to perform goodness-of-fit
    tests for capture-recapture models. Methods in Ecology and Evolution 9, 1749-1754.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import simulate
    >>> urn = simulate(times=range(6), core=0, shell=2_000, alpha=0.8, coverage=0.4, seed=1)
    >>> tests = release_recapture_tests(urn.counts())
    >>> tests.df, tests.p_value > 0.01
    (16, True)
    """
    n_crawls, tables = counts.n_crawls, count_tables(counts)
    recaptures, new = counts.recaptures().astype(np.float64), _first_recaptures(counts)
    passed = recaptures.cumsum(axis=0) - recaptures
    next_capture = [np.stack([recaptures[i] - new[i], new[i]])[:, i + 1 :] for i in range(1, n_crawls - 1)]
    later_capture = [np.stack([passed[i], recaptures[i]])[:, i + 2 :] for i in range(1, n_crawls - 3)]
    transience = _component(tables.transience, is_signed=True)
    return ReleaseRecapture(
        transience._replace(df=max(n_crawls - 2, 0)),
        _component([_pool_columns(table) for table in next_capture]),
        _component(tables.trap_dependence, is_signed=True),
        _component([_pool_columns(table) for table in later_capture]),
    )


def pooled_c_hat(groups: Iterable[ReleaseRecapture]) -> float:
    """Return ĉ of groups that were tested apart, Σ χ²/Σ df; NaN if none was tested."""
    tested = [group for group in groups if group.is_tested]
    return sum(group.x2 for group in tested) / sum(group.df for group in tested) if tested else np.nan


def _first_recaptures(counts: CaptureHistoryCounts) -> FloatArray:
    """Count the elements first captured by crawl i and next by crawl j, shape (n_crawls, n_crawls)."""
    again = counts.seen.sum(axis=1) > 1
    seen, elements = counts.seen[again], counts.elements[again]
    table = np.zeros((counts.n_crawls, counts.n_crawls))
    first, second = (np.argmax(seen.cumsum(axis=1) == captures, axis=1) for captures in (1, 2))
    np.add.at(table, (first, second), elements)
    return table


def _component(tables: Sequence[FloatArray] | FloatArray, *, is_signed: bool = False) -> Component:
    """Test the independence of each table, of crawls 1, 2 and so on."""
    results = [_independence(np.asarray(table)) for table in tables]
    statistics, degrees, p_values = (np.array([result[k] for result in results], dtype=np.float64) for k in range(3))
    n_tested = int(np.count_nonzero(degrees))
    signed = np.full(len(results), np.nan)
    if is_signed:
        signs = [np.sign(table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]) for table in tables]
        signed = np.round(np.array(signs, dtype=np.float64) * np.sqrt(statistics), _DECIMALS)
    return Component(
        1 + np.arange(len(results)),
        statistics,
        degrees.astype(np.int64),
        p_values,
        np.array([result[3] for result in results], dtype=np.bool_),
        signed,
        round(float(statistics.sum()), _DECIMALS),
        int(degrees.sum()),
        float(signed.sum() / np.sqrt(n_tested)) if n_tested else np.nan,
    )


def _independence(table: FloatArray) -> tuple[float, int, float, bool]:
    """Return χ², degrees of freedom, probability and whether the test is exact."""
    table = table[np.ix_(table.any(axis=1), table.any(axis=0))]
    degrees = max(table.shape[0] - 1, 0) * max(table.shape[1] - 1, 0)
    if not degrees:
        return 0.0, 0, np.nan, False
    expected = _expected(table)
    is_exact = bool((expected < _SMALLEST_EXPECTED).any())
    if is_exact:
        from scipy.stats import fisher_exact  # imported here, because it takes half a second

        p_value = min(float(fisher_exact(table.astype(np.int64))[1]), 1.0)
        statistic = float(chi2_upper_quantile(p_value, degrees))
    else:
        statistic = float(((table - expected) ** 2 / expected).sum())
        p_value = float(chi2_tail(statistic, degrees))
    return round(statistic, _DECIMALS), degrees, p_value, is_exact


def _pool_columns(table: FloatArray) -> FloatArray:
    """Add the last column to its neighbour until each cell has 2 expected elements or two columns are left.

    After a step that leaves the last column larger than the first one, pooling continues from the other end.
    """
    if not table.any():
        return table
    # Pooling keeps the sums of rows, so the smaller row decides whether a column has too few expected elements.
    smaller, total = table.sum(axis=1).min(), table.sum()

    def is_small(column: float) -> bool:
        return bool(smaller * column / total < _SMALLEST_EXPECTED)

    columns, sums, is_reversed = deque(table.T), deque(table.sum(axis=0).tolist()), False
    n_small = sum(map(is_small, sums))
    while len(columns) > 2 and n_small:
        take, put = (deque.popleft, deque.appendleft) if is_reversed else (deque.pop, deque.append)
        last, before = take(sums), take(sums)
        put(columns, take(columns) + take(columns))
        put(sums, before + last)
        n_small += is_small(before + last) - is_small(last) - is_small(before)
        first, last = (sums[-1], sums[0]) if is_reversed else (sums[0], sums[-1])
        if first < last:
            is_reversed = not is_reversed
    return np.column_stack(list(columns)[::-1] if is_reversed else list(columns))


def _expected(table: FloatArray) -> FloatArray:
    return np.asarray(np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum())


def _p_value(statistic: float, degrees: int) -> float:
    return float(chi2_tail(statistic, degrees)) if degrees else 1.0
