"""Find crawls that miss far more elements than the other crawls of a collection, such as truncated presence lists.

Does not measure what a crawl's removal does to estimates; the caller fits the collection with and without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logit as logit_of

from crawl_urn_dagster.urn.data.distributions import normal_quantile

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray, IntArray

# At most one crawl in eight is set aside: more of them are a property of the collection.
_ONE_IN = 8
# A share of fewer elements is too noisy to serve as evidence.
_FEWEST_ELEMENTS = 25
_SMALLEST_CORE_SHARE = 0.05
_TIMES_MEDIAN_CORE_SHARE = 5.0
_EDGE_CORE_SHARE = 0.5
_TIMES_NEXT_CORE_SHARE = 2.0
_TIMES_MEDIAN_BETWEEN_SHARE = 1.5
_ROBUST_STANDARD_DEVIATIONS = 6.0
_RISE_OF_BETWEEN_SHARE = 0.2
# Standard deviation of a normal distribution over its median absolute deviation.
_NORMAL_SCALE = 1 / float(normal_quantile(0.75))


class OutlyingCrawls(NamedTuple):
    """Crawls to set aside, and the shares that each crawl misses; arrays of shape (n_crawls,).

    Attributes
    ----------
    crawls
        Indices of the crawls to set aside, most outlying first.
    missed_of_ubiquitous
        Missed share of the elements that all other crawls captured; NaN with fewer than 25 of them. Crawls that were
        set aside before are not among the other crawls.
    missed_between
        Missed share of the elements that both neighbouring crawls captured; NaN with fewer than 25 of them, and for the
        first and the last crawl.
    is_tested
        Whether the collection has at least eight crawls and a crawl has a share.
    """

    crawls: tuple[int, ...]
    missed_of_ubiquitous: FloatArray
    missed_between: FloatArray
    is_tested: bool


def find_outlying_crawls(counts: CaptureHistoryCounts) -> OutlyingCrawls:
    """Find crawls to set aside, one at a time and at most one in eight.

    If the median crawl misses at most 5 % of the elements that all other crawls captured, a crawl is outlying if it
    misses more than 5 % of them, more than 5 times the median and more than twice the largest share of a crawl that is
    not outlying, and if it misses 1.5 times the median share of the elements that both neighbours captured. In other
    collections, which have no such core, it is outlying if it misses a share of the elements of both neighbours that
    exceeds the median by 0.2, and by 6 robust standard deviations on the logit scale. The first and the last crawl have
    no two neighbours: they are outlying if they miss more than half of the elements that all other crawls captured, and
    never in collections without such a core.

    Parameters
    ----------
    counts
        Elements of each capture history.

    Returns
    -------
    OutlyingCrawls
        The crawls, and the shares on which the choice rests.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import CaptureHistoryCounts
    >>> seen = np.ones((2, 8), dtype=bool)
    >>> seen[1, 3] = False
    >>> find_outlying_crawls(CaptureHistoryCounts(seen, np.array([30, 70]))).crawls
    (3,)
    """
    n_crawls, capacity = counts.n_crawls, counts.n_crawls // _ONE_IN
    core_share, between_share = np.full(n_crawls, np.nan), np.full(n_crawls, np.nan)
    kept, found = np.arange(n_crawls), list[int]()
    while len(kept):
        seen = counts.seen[:, kept]
        ubiquitous, between = _missed_of_ubiquitous(seen, counts.elements), _missed_between(seen, counts.elements)
        core_share[kept], between_share[kept] = ubiquitous.share, between.share
        measure, is_candidate = _candidates(ubiquitous, between)
        # More candidates than may still be set aside are the rule in this collection and no exception.
        if not 0 < is_candidate.sum() <= capacity - len(found):
            break
        worst = int(np.argmax(np.where(is_candidate, measure, -np.inf)))
        found.append(int(kept[worst]))
        kept = np.delete(kept, worst)
    is_tested = capacity > 0 and not (np.isnan(core_share).all() and np.isnan(between_share).all())
    return OutlyingCrawls(tuple(found), core_share, between_share, bool(is_tested))


class _Missed(NamedTuple):
    """Elements that a crawl missed, of those that it should contain; shape (n_crawls,)."""

    missed: FloatArray
    total: FloatArray

    @property
    def share(self) -> FloatArray:
        return np.where(self.total >= _FEWEST_ELEMENTS, self.missed / np.maximum(self.total, 1), np.nan)


def _missed_of_ubiquitous(seen: BoolArray, elements: IntArray) -> _Missed:
    times = seen.sum(axis=1)
    by_one = times == seen.shape[1] - 1
    missed = elements[by_one] @ ~seen[by_one]
    return _Missed(missed, missed + elements[times == seen.shape[1]].sum())


def _missed_between(seen: BoolArray, elements: IntArray) -> _Missed:
    missed, total = np.zeros(seen.shape[1]), np.zeros(seen.shape[1])
    both = seen[:, :-2] & seen[:, 2:]
    total[1:-1] = elements @ both
    missed[1:-1] = elements @ (both & ~seen[:, 1:-1])
    return _Missed(missed, total)


def _candidates(ubiquitous: _Missed, between: _Missed) -> tuple[FloatArray, BoolArray]:
    """Return the share by which crawls are ordered, and whether each crawl is outlying."""
    share, median = between.share, _median(between.share)
    q = ubiquitous.share
    if _median(q) <= _SMALLEST_CORE_SHARE:
        others = np.array([_median(np.delete(q, crawl)) for crawl in range(q.size)])
        outlying = (q > _SMALLEST_CORE_SHARE) & (q > _TIMES_MEDIAN_CORE_SHARE * others)
        # Elements that left or entered at the last gap explain a small part of what the first or last crawl misses.
        outlying &= (share > _TIMES_MEDIAN_BETWEEN_SHARE * median) | (np.isnan(share) & (q > _EDGE_CORE_SHARE))
        next_largest = np.max(q, initial=0.0, where=~outlying & ~np.isnan(q))
        return q, outlying & (q > _TIMES_NEXT_CORE_SHARE * next_largest)
    logit = logit_of((between.missed + 0.5) / (between.total + 1))
    logit[np.isnan(share)] = np.nan
    centre = _median(logit)
    scatter = _NORMAL_SCALE * _median(abs(logit - centre))
    # The scatter of crawls, robustly, and the sampling error of a share at the median.
    error = np.sqrt(scatter**2 + (2 + 2 * np.cosh(centre)) / np.maximum(between.total, 1))
    outlying = (logit - centre > _ROBUST_STANDARD_DEVIATIONS * error) & (share > median + _RISE_OF_BETWEEN_SHARE)
    return share, outlying


def _median(values: FloatArray) -> float:
    """Return the median of the known values; NaN without one."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else np.nan
