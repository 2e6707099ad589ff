"""Error of what was counted in a sample or estimated by sketches: 95 % limits of counts and of shares.

Here: the error of counting alone. Not here: how much crawls and urns vary (intervals of parameters).

Sketches of one hash function err alike as far as their elements are the same: the relative errors of two counts are
correlated by the Jaccard coefficient of the two sets, which is the probability that a register of both holds the same
element. So the error of a set and of a part of it largely cancels in a difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.histories import FloatArray
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

Limits = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class CountingError:
    """How numbers of elements were counted.

    Parameters
    ----------
    relative
        Of sketches: one standard error of a count as a fraction of it, in [0, 1); 0: not sketched.
    one_in
        Of a coordinated hash sample: each element was kept with probability ``1 / one_in``, the same ones in every
        crawl, and counts were multiplied by ``one_in``; 1: not sampled.
    """

    relative: float = 0.0
    one_in: int = 1

    def count_interval(self, counts: npt.ArrayLike) -> Limits:
        """Limits of numbers of elements; for a sample the score interval of a binomial with known probability.

        Parameters
        ----------
        counts
            Numbers of elements, any shape.
        """
        counts = np.asarray(counts, dtype=np.float64)
        kept = counts / self.one_in
        spread = NORMAL_QUANTILE**2 * (1 - 1 / self.one_in)
        middle = kept + spread / 2
        half = np.sqrt(middle**2 - kept**2)
        sketched = NORMAL_QUANTILE * self.relative * counts
        return self.one_in * (middle - half) - sketched, self.one_in * (middle + half) + sketched

    def containment_interval(self, intersection: npt.ArrayLike, size: npt.ArrayLike, other: npt.ArrayLike) -> Limits:
        """Limits of the share of one crawl that another has, too.

        For a sample the Wilson interval with the correction for a finite population: of the elements that were kept,
        those in both crawls are hypergeometric. For sketches an intersection is the two sizes less the union, and
        carries the error of all three: however small it is, its error is of the order of the union's.

        Parameters
        ----------
        intersection, size, other
            Elements in both crawls, in the one whose share it is, and in the other; shapes that broadcast. Where the
            size is 0 or NaN the limits are NaN.
        """
        both, whole, other = (np.asarray(value, dtype=np.float64) for value in (intersection, size, other))
        low, high = self._of_shares(both, whole)
        union = whole + other - both
        known = (whole > 0) & (union > 0)
        unknown = np.full_like(low, np.nan)
        # In sizes of the crawl: 1 + b - u, of which b and u are ratios of counts.
        b, u = (
            np.divide(other, whole, out=unknown.copy(), where=known),
            np.divide(union, whole, out=unknown, where=known),
        )
        alike = np.clip((1 + b - u) / u, 0, 1)
        of_b, of_u, of_both = 2 * (1 - alike), 2 * (1 - 1 / u), b / u - alike - 1 / u + 1
        variance = np.maximum(b**2 * of_b + u**2 * of_u - 2 * b * u * of_both, 0)
        sketched = NORMAL_QUANTILE * self.relative * np.sqrt(variance)
        return low - sketched, high + sketched

    def ratio_interval(self, union: npt.ArrayLike, size: npt.ArrayLike) -> Limits:
        """Limits of the size of a union in sizes of one of its crawls.

        Parameters
        ----------
        union, size
            Elements in the union, and in the crawl; shapes that broadcast. Where the size is 0 or NaN the limits are
            NaN.
        """
        union, size = np.asarray(union, dtype=np.float64), np.asarray(size, dtype=np.float64)
        low, high = self._of_shares(size, union)
        share = np.divide(size, union, out=np.full_like(low, np.nan), where=union > 0)
        ratio = np.divide(union, size, out=np.full_like(low, np.nan), where=size > 0)
        different = 1 - np.clip(np.divide(size, union, out=np.full_like(low, np.nan), where=union > 0), 0, 1)
        sketched = 1 + NORMAL_QUANTILE * self.relative * np.sqrt(2 * different)
        # Factors of the ratio: 1 where there is no error, so that the limits are the ratio itself.
        down = np.divide(share, high, out=np.ones_like(low), where=high > 0)
        up = np.divide(share, low, out=np.full_like(low, np.inf), where=low > 0)
        return ratio * np.minimum(down, 1) / sketched, ratio * np.maximum(up, 1) * sketched

    def _of_shares(self, part: FloatArray, whole: FloatArray) -> Limits:
        """Wilson's interval of a share, from a sample without replacement."""
        share = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)
        # The inverse of the effective sample size; 0 when all were counted.
        sampled = np.divide(self.one_in - 1, whole, out=np.full_like(share, np.nan), where=whole > 0)
        spread = NORMAL_QUANTILE**2 * sampled
        middle = share + spread / 2
        half = np.sqrt(np.maximum(share * (1 - share) * spread + spread**2 / 4, 0))
        return (middle - half) / (1 + spread), (middle + half) / (1 + spread)
