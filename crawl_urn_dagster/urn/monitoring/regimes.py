"""Find where first returns or crawl sizes change along a sequence of crawls.

Does not fit an urn; see `urn.fits.mean_curves` for the urn with a revisit delay.
"""

from __future__ import annotations

from itertools import count
from math import factorial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.block_means import BLOCK, block_mean

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray

_PERMUTATIONS = 999
#: Probability that a sequence without a change shows one.
LEVEL = 0.01
#: With fewer start crawls no order of their blocks is rare enough, so no change can be found.
FEWEST_FOR_A_CHANGE = BLOCK * next(blocks for blocks in count(1) if LEVEL * factorial(blocks) >= 1)
_LAGS = 3
# Half the 95 % quantile of the likelihood ratio of the date of a change, 7.35, which exceeds that of a parameter, 3.84.
_DATE_95 = 3.68


class Regime(NamedTuple):
    """A window of start crawls over which first returns do not change.

    Attributes
    ----------
    first, last
        Index of its first and last start crawl.
    delay
        Revisit delay in crawls: one less than the lag at which most elements return; 0 for no delay.
    fraction, fraction_se
        Mean first-return fractions h(1), h(2), h(3) and their standard errors, NaN for fewer than 8 start crawls.
    p_value
        p-value of the change that separates it from the previous regime; None for the first.
    first_low, first_high
        95 % confidence interval of `first`; None for the first regime.
    """

    first: int
    last: int
    delay: int
    fraction: tuple[float, ...]
    fraction_se: tuple[float, ...]
    p_value: float | None
    first_low: int | None = None
    first_high: int | None = None


class Level(NamedTuple):
    """A part of a series over which its mean does not change.

    Attributes
    ----------
    first, last
        Index of its first and last value.
    mean, se
        Mean and its standard error, NaN for fewer than 8 values.
    p_value
        p-value of the change that separates it from the previous part; None for the first.
    first_low, first_high
        95 % confidence interval of `first`; None for the first part.
    """

    first: int
    last: int
    mean: float
    se: float
    p_value: float | None
    first_low: int | None = None
    first_high: int | None = None


def find_regimes(sizes: npt.ArrayLike, recaptures: npt.ArrayLike, *, seed: int = 0) -> list[Regime]:
    """Divide start crawls where first-return fractions change, and return the revisit delay of each part.

    Binary segmentation of h(1), h(2), h(3) by start crawl. A window is split where the two means explain most of the
    variance, averaged over the lags, into parts of at least 4 start crawls. The split is a change if fewer than 1 % of
    permutations of the window's blocks of 4 have a split that explains as much. If nothing changes, all orders of the
    blocks are equally likely, while fractions of neighbouring start crawls, which share crawls and errors of the same
    unions, may be dependent. The test therefore needs no variance, and 1 % of such sequences give a false alarm. At
    least five blocks are needed.

    Parameters
    ----------
    sizes
        Elements M_t of each crawl, shape (n_crawls,).
    recaptures
        Elements r_ij captured by crawl i and next captured by crawl j, shape (n_crawls, n_crawls); NaN where unknown.
        See `recaptures_from_unions`.
    seed
        Seed of the permutations.

    Returns
    -------
    list of Regime
        In order of time; empty when no start crawl has all three lags known.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import simulate_revisit_delay
    >>> counts = simulate_revisit_delay(
    ...     delays=[0] * 24 + [1] * 24, elements=5_000, alpha=0.9, coverage=0.5, revisit_coverage=0.02, seed=1
    ... ).counts()
    >>> regimes = find_regimes(counts.intersections().diagonal(), counts.recaptures())
    >>> [regime.delay for regime in regimes]
    [0, 1]

    References
    ----------
    Vostrikova, Detecting "disorder" in multidimensional random processes, Soviet Mathematics Doklady 24, 1981.
    """
    size, counts = np.asarray(sizes, dtype=np.float64), np.asarray(recaptures, dtype=np.float64)
    starts = np.arange(max(size.size - _LAGS, 0))
    lags = np.arange(1, _LAGS + 1)
    fractions = counts[starts[:, None], starts[:, None] + lags] / np.where(size > 0, size, np.nan)[starts, None]
    known = np.flatnonzero(np.isfinite(fractions).all(axis=1))
    regimes = []
    for segment in _segments(fractions[known], np.random.default_rng(seed)):
        if segment.end > segment.low:
            starts = known[segment.low : segment.end]
            regime = _regime(fractions[starts], starts, segment.p_value)
            if segment.dated is not None:
                low, high = (int(known[at]) for at in segment.dated)
                regime = regime._replace(first_low=low, first_high=high)
            regimes.append(regime)
    return regimes


def find_levels(values: npt.ArrayLike, *, seed: int = 0) -> list[Level]:
    """Divide a series where its mean changes, by the test of `find_regimes`.

    Parameters
    ----------
    values
        Shape (n,), in order of time.
    seed
        Seed of the permutations.

    Examples
    --------
    >>> series = np.repeat([1.0, 2.0], 24) + 0.01 * np.sin(np.arange(48))
    >>> [level.first for level in find_levels(series)]
    [0, 24]
    """
    series = np.asarray(values, dtype=np.float64)
    segments = _segments(series[:, None], np.random.default_rng(seed))
    return [
        Level(one.low, one.end - 1, *block_mean(series[one.low : one.end]), one.p_value, *(one.dated or (None, None)))
        for one in segments
        if one.end > one.low
    ]


class _Segment(NamedTuple):
    """Rows `low` to `end` of a sequence; p-value of the change at `low`, and the first and last row it may be at."""

    low: int
    end: int
    p_value: float | None = None
    dated: tuple[int, int] | None = None

    def shifted(self, rows: int) -> _Segment:
        dated = None if self.dated is None else (self.dated[0] + rows, self.dated[1] + rows)
        return _Segment(self.low + rows, self.end + rows, self.p_value, dated)


def _segments(values: FloatArray, rng: np.random.Generator) -> list[_Segment]:
    """Return the segments in order."""
    n = len(values)
    n_blocks = n // BLOCK
    if n_blocks < 2:
        return [_Segment(0, n)]
    lengths = np.array([len(block) for block in np.array_split(np.arange(n), n_blocks)])
    orders = np.array([np.arange(n_blocks), *(rng.permutation(n_blocks) for _ in range(_PERMUTATIONS))])
    explained = _explained(values, _rows_in_order(lengths, orders))
    best = explained.max(axis=1)
    # Orders that repeat the observed one explain as much, except for rounding.
    p_value = float(np.mean(best >= best[0] * (1 - 1e-12)))
    if p_value > LEVEL:
        return [_Segment(0, n)]
    split = int(explained[0].argmax()) + BLOCK
    before = _segments(values[:split], rng)
    first, *rest = _segments(values[split:], rng)
    dated = _date_interval(values, split - BLOCK)
    after = [first.shifted(split)._replace(p_value=p_value, dated=dated), *(one.shifted(split) for one in rest)]
    return before + after


def _date_interval(values: FloatArray, best: int) -> tuple[int, int]:
    """Return the first and last row at which the second of two means may start: a 95 % confidence interval.

    The residuals of two means that start there have a log-likelihood within 3.68 of the largest, if they are normal and
    independent. Lags share crawls, so only the one whose two means explain most is used.

    References
    ----------
    Hansen, Sample splitting and threshold estimation, Econometrica 68, 2000, table I.
    """
    n, order = len(values), np.arange(len(values))[None, :]
    explained = max((_explained(lag[:, None], order)[0] for lag in values.T), key=lambda shares: float(shares[best]))
    loss = n / 2 * np.log(np.maximum(1 - explained, np.finfo(float).tiny))
    likely = np.append(np.flatnonzero(loss <= loss.min() + _DATE_95), best) + BLOCK
    return int(likely.min()), int(likely.max())


def _rows_in_order(lengths: IntArray, orders: IntArray) -> IntArray:
    """Return the rows of reordered blocks, shape (n_orders, n_rows), from orders of shape (n_orders, n_blocks)."""
    sizes, starts = lengths[orders], (lengths.cumsum() - lengths)[orders]
    shifts = starts - (sizes.cumsum(axis=1) - sizes)
    rows = np.repeat(shifts.ravel(), sizes.ravel()).reshape(len(orders), -1)
    return np.asarray(rows + np.arange(rows.shape[1]))


def _explained(values: FloatArray, rows: IntArray) -> FloatArray:
    """Return the share of variance that two means explain, averaged over the lags, by split.

    From values of shape (n_starts, n_lags) in orders of shape (n_orders, n_starts) to shape (n_orders, n_splits). Split
    k has BLOCK + k starts before it.
    """
    n, n_lags = values.shape
    before = np.arange(BLOCK, n - BLOCK + 1)
    weight = n / (before * (n - before))
    centred = values - values.mean(axis=0)
    explained = np.zeros((len(rows), len(before)))
    for at_lag, total in zip(centred.T, (centred**2).sum(axis=0), strict=True):
        if total > 0:
            explained += at_lag[rows].cumsum(axis=1)[:, BLOCK - 1 : n - BLOCK] ** 2 * weight / total
    return np.asarray(explained / n_lags)


def _regime(fractions: FloatArray, starts: IntArray, p_value: float | None) -> Regime:
    means, errors = zip(*(block_mean(at_lag) for at_lag in fractions.T), strict=True)
    return Regime(int(starts[0]), int(starts[-1]), int(np.argmax(means)), means, errors, p_value)
