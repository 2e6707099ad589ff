"""Compute 95 % confidence intervals of counts and shares that come from a sample or from sketches.

Covers the error of counting only; variation between crawls enters the intervals of parameters (see `bootstrap`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.histories import FloatArray
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

Ends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class CountingError:
    """Error of counts of elements, by the way they were counted.

    Parameters
    ----------
    relative
        Standard error of a sketched count as a fraction of the count, in [0, 1); 0 if not sketched.
    one_in
        Inverse k of the sampling fraction 1/k of a coordinated hash sample, at least 1; 1 if not sampled. Each element
        was kept with probability 1/k, the same elements in every crawl, and counts were multiplied by k.

    Notes
    -----
    Sketches made with one hash function have correlated errors: the relative errors of two counts are correlated by
    the Jaccard coefficient of the two sets, which is the probability that a register of both holds the same element.
    The errors of a set and of its subset therefore largely cancel in a difference.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the American
    Statistical Association 22, 209-212.

    Examples
    --------
    >>> low, high = CountingError(one_in=100).count_interval(50_000)
    >>> round(float(low)), round(float(high))
    (45825, 54555)
    """

    relative: float = 0.0
    one_in: int = 1

    def count_interval(self, counts: npt.ArrayLike) -> Ends:
        """Return the confidence intervals of numbers of elements.

        For a sample, this is the score interval of a binomial count with known probability.

        Parameters
        ----------
        counts
            Numbers of elements, any shape.

        Returns
        -------
        low, high : ndarray
            Ends of the intervals, in the shape of `counts`.
        """
        counts = np.asarray(counts, dtype=np.float64)
        kept = counts / self.one_in
        spread = NORMAL_QUANTILE**2 * (1 - 1 / self.one_in)
        middle = kept + spread / 2
        half = np.sqrt(middle**2 - kept**2)
        sketched = NORMAL_QUANTILE * self.relative * counts
        return self.one_in * (middle - half) - sketched, self.one_in * (middle + half) + sketched

    def containment_interval(self, intersection: npt.ArrayLike, size: npt.ArrayLike, other: npt.ArrayLike) -> Ends:
        """Return the confidence intervals of containment, the share of one crawl that another crawl contains.

        For a sample, this is the Wilson interval with the finite-population correction: among the elements kept, the
        number in both crawls is hypergeometric. For sketches, an intersection is the sum of the two sizes minus the
        union and carries the error of all three. Its error is of the order of the error of the union, however small
        the intersection is.

        Parameters
        ----------
        intersection, size, other
            Elements in both crawls, in the first crawl and in the other crawl; shapes that broadcast.

        Returns
        -------
        low, high : ndarray
            Ends of the intervals; NaN where `size` is 0 or NaN.
        """
        both, whole, other = (np.asarray(value, dtype=np.float64) for value in (intersection, size, other))
        low, high = self._share_interval(both, whole)
        union = whole + other - both
        known = (whole > 0) & (union > 0)
        # In units of the first crawl's size, the containment is 1 + b - u, where b and u are ratios of counts.
        b, u = (np.divide(value, whole, out=np.full_like(low, np.nan), where=known) for value in (other, union))
        jaccard = np.clip((1 + b - u) / u, 0, 1)
        variance_b, variance_u, covariance = 2 * (1 - jaccard), 2 * (1 - 1 / u), b / u - jaccard - 1 / u + 1
        variance = np.maximum(b**2 * variance_b + u**2 * variance_u - 2 * b * u * covariance, 0)
        sketched = NORMAL_QUANTILE * self.relative * np.sqrt(variance)
        return low - sketched, high + sketched

    def ratio_interval(self, union: npt.ArrayLike, size: npt.ArrayLike) -> Ends:
        """Return the confidence intervals of the size of a union divided by the size of one of its crawls.

        Parameters
        ----------
        union, size
            Elements in the union and in the crawl; shapes that broadcast.

        Returns
        -------
        low, high : ndarray
            Ends of the intervals; NaN where `size` is 0 or NaN.
        """
        union, size = np.asarray(union, dtype=np.float64), np.asarray(size, dtype=np.float64)
        low, high = self._share_interval(size, union)
        share = np.divide(size, union, out=np.full_like(low, np.nan), where=union > 0)
        ratio = np.divide(union, size, out=np.full_like(low, np.nan), where=size > 0)
        sketched = 1 + NORMAL_QUANTILE * self.relative * np.sqrt(2 * (1 - np.clip(share, 0, 1)))
        # Factors of the ratio. Both are 1 without error, so the interval is then the ratio itself.
        down = np.divide(share, high, out=np.ones_like(low), where=high > 0)
        up = np.divide(share, low, out=np.full_like(low, np.inf), where=low > 0)
        return ratio * np.minimum(down, 1) / sketched, ratio * np.maximum(up, 1) * sketched

    def _share_interval(self, part: FloatArray, whole: FloatArray) -> Ends:
        """Return Wilson's interval of a share, from a sample without replacement."""
        share = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)
        # The inverse of the effective sample size, 0 if all elements were counted.
        sampled = np.divide(self.one_in - 1, whole, out=np.full_like(share, np.nan), where=whole > 0)
        spread = NORMAL_QUANTILE**2 * sampled
        middle = share + spread / 2
        half = np.sqrt(np.maximum(share * (1 - share) * spread + spread**2 / 4, 0))
        return (middle - half) / (1 + spread), (middle + half) / (1 + spread)
