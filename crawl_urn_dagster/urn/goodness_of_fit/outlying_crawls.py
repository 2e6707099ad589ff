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
_TIMES_NEXT_CORE_SHARE = 2.0
_TIMES_MEDIAN_BETWEEN_SHARE = 1.5
_ROBUST_STANDARD_DEVIATIONS = 6.0
_RISE_OF_BETWEEN_SHARE = 0.2
# If a collection grows or shrinks, the share of its first or last crawl is less than this above that of the next crawl.
_RISE_OF_EDGE_SHARE = 0.1
# Shares below this are alike: their logits would vary by single elements.
_SMALLEST_NEAR_SHARE = 0.05
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
    exceeds the median by 0.2, and by 6 robust standard deviations on the logit scale, on which shares below 0.05 count
    as 0.05.

    The first and the last crawl have no two neighbours. In all collections, the last one is outlying if it misses a
    share of the elements of the previous two crawls that exceeds the median of this share over all crawls by as much,
    and the share of the crawl before it by 0.1. For the first one, the next two crawls take the place of the previous
    two.

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
        shares = _Shares.of(counts.seen[:, kept], counts.elements)
        core_share[kept], between_share[kept] = shares.ubiquitous.share, shares.between.share
        measure, is_candidate = shares.candidates()
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

    def exceeds_others(self) -> BoolArray:
        """Return which crawls miss a far larger share than the median crawl; shape (n_crawls,)."""
        share = self.share
        logit = logit_of(np.maximum((self.missed + 0.5) / (self.total + 1), _SMALLEST_NEAR_SHARE))
        logit[np.isnan(share)] = np.nan
        centre = _median(logit)
        scatter = _NORMAL_SCALE * _median(abs(logit - centre))
        # The scatter of crawls, robustly, and the sampling error of a share at the median.
        error = np.sqrt(scatter**2 + (2 + 2 * np.cosh(centre)) / np.maximum(self.total, 1))
        is_far = logit - centre > _ROBUST_STANDARD_DEVIATIONS * error
        return np.asarray(is_far & (share > _median(share) + _RISE_OF_BETWEEN_SHARE))


class _Shares(NamedTuple):
    """Elements that each crawl missed, of those of all other crawls and of those of two crawls near it."""

    ubiquitous: _Missed
    between: _Missed
    after: _Missed
    before: _Missed

    @classmethod
    def of(cls, seen: BoolArray, elements: IntArray) -> _Shares:
        """Count the missed elements; ``after`` are the next two crawls, ``before`` the previous two."""
        near = (_missed_near(seen, elements, crawls) for crawls in ((-1, 1), (1, 2), (-2, -1)))
        return cls(_missed_of_ubiquitous(seen, elements), *near)

    def candidates(self) -> tuple[FloatArray, BoolArray]:
        """Return the share by which crawls are ordered, and whether each crawl is outlying."""
        q, share = self.ubiquitous.share, self.between.share
        if _median(q) <= _SMALLEST_CORE_SHARE:
            others = np.array([_median(np.delete(q, crawl)) for crawl in range(q.size)])
            outlying = (q > _SMALLEST_CORE_SHARE) & (q > _TIMES_MEDIAN_CORE_SHARE * others)
            outlying &= share > _TIMES_MEDIAN_BETWEEN_SHARE * _median(share)
            next_largest = np.max(q, initial=0.0, where=~outlying & ~np.isnan(q))
            outlying &= q > _TIMES_NEXT_CORE_SHARE * next_largest
        else:
            outlying = self.between.exceeds_others()
        for edge, next_to_it, missed in ((0, 1, self.after), (-1, -2, self.before)):
            near = missed.share
            if near.size > 1:
                share[edge] = near[edge]
                is_worst = near[edge] > np.nan_to_num(near[next_to_it]) + _RISE_OF_EDGE_SHARE
                outlying[edge] = missed.exceeds_others()[edge] & is_worst
        return share, outlying


def _missed_of_ubiquitous(seen: BoolArray, elements: IntArray) -> _Missed:
    times = seen.sum(axis=1)
    by_one = times == seen.shape[1] - 1
    missed = elements[by_one] @ ~seen[by_one]
    return _Missed(missed, missed + elements[times == seen.shape[1]].sum())


def _missed_near(seen: BoolArray, elements: IntArray, crawls: tuple[int, int]) -> _Missed:
    """Count what each crawl missed of the elements that two crawls at given offsets captured."""
    n_crawls = seen.shape[1]
    missed, total = np.zeros(n_crawls), np.zeros(n_crawls)
    inner = np.arange(max(0, -min(crawls)), n_crawls - max(0, *crawls))
    if inner.size:
        both = seen[:, inner + crawls[0]] & seen[:, inner + crawls[1]]
        total[inner] = elements @ both
        missed[inner] = elements @ (both & ~seen[:, inner])
    return _Missed(missed, total)


def _median(values: FloatArray) -> float:
    """Return the median of the known values; NaN without one."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else np.nan
