"""The raw counts of a collection, and the points that a joint fit makes of them.

Here: overlaps of pairs, recaptures from windows, their expectation and its variance. Not here: what is expected of a
class of elements (`expectations`), or the fit (`joint`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.curves.expectations import table_of_pairs
from crawl_urn_dagster.urn.data.histories import recaptures_from_unions, unions_from_recaptures, window_sums

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.curves.expectations import ClassSlopes, ElementClass
    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray

_KINDS = ("overlap", "recapture", "window")


@dataclass(frozen=True, eq=False)
class Points:
    """Which points the published counts give; the methods return overlaps, then recaptures, then windows.

    Attributes
    ----------
    overlaps
        Crawls i and j, shape (overlaps,) each, of m_ij.
    recaptures
        Of r_ij from four windows; at lag 1, where r_ij is m_ij, only those whose overlap is not published.
    windows
        First and last crawl of windows that give no recaptures, because one of the other three is not published. Their
        count is all recaptures within, sum of M less U(i..j).
    """

    overlaps: tuple[IntArray, IntArray]
    recaptures: tuple[IntArray, IntArray]
    windows: tuple[IntArray, IntArray]

    @classmethod
    def from_counts(cls, counts: Counts) -> Points:
        """Points of counts without leading axes."""
        overlap, window = np.triu(np.isfinite(counts.intersections), 1), np.triu(np.isfinite(counts.unions), 1)
        window &= ~(overlap & np.eye(len(window), k=1, dtype=bool))
        # Windows of one crawl and of none are known.
        known = np.isfinite(counts.unions) | np.tri(len(window), dtype=bool)
        recapture = np.zeros_like(window)
        recapture[:-1, 1:] = window[:-1, 1:] & known[:-1, :-1] & known[1:, 1:] & known[1:, :-1]
        return cls(_crawls(overlap), _crawls(recapture), _crawls(window & ~recapture))

    @property
    def kind(self) -> npt.NDArray[np.str_]:
        """``overlap``, ``recapture`` or ``window``, shape (points,)."""
        return np.repeat(_KINDS, [len(first) for first, _ in self._all])

    @property
    def i(self) -> IntArray:
        """First crawl of each point, shape (points,)."""
        return np.concatenate([first for first, _ in self._all])

    @property
    def j(self) -> IntArray:
        """Last crawl of each point, shape (points,)."""
        return np.concatenate([last for _, last in self._all])

    @property
    def _all(self) -> tuple[tuple[IntArray, IntArray], ...]:
        return self.overlaps, self.recaptures, self.windows

    def count(self, counts: Counts) -> FloatArray:
        """Each point's count as observed, shape (..., points)."""
        (a, b), (i, j), (first, last) = self._all
        unions = np.where(np.eye(len(counts.times), dtype=bool), counts.sizes[..., None], counts.unions)
        recaptures = recaptures_from_unions(unions)[..., i, j]
        within = window_sums(counts.sizes)[..., first, last] - unions[..., first, last]
        return np.concatenate([counts.intersections[..., a, b], recaptures, within], axis=-1)

    def expect(self, core: FloatArray, shell: ElementClass) -> FloatArray:
        """Each point's expected count, shape (..., points), of a core of K elements, shape (...), and a shell."""
        (a, b), (i, j), (first, last) = self._all
        parts = [
            core[..., None] + shell.intersections(a, b),
            core[..., None] * (j - i == 1) + shell.recaptures(i, j),
        ]
        if first.size:
            shells = window_sums(shell.size * shell.coverage) - shell.unions()
            parts.append(core[..., None] * (last - first) + shells[..., first, last])
        return np.concatenate(parts, axis=-1)

    def slopes(self, core: FloatArray, shell: ElementClass, of_shell: ClassSlopes) -> FloatArray:
        """Differentiate `expect`, shape (..., n, points), the core's derivatives being of shape (..., n)."""
        (a, b), (i, j), (first, last) = self._all
        parts = [
            core[..., None] + shell.slopes_of_intersections(of_shell, a, b),
            core[..., None] * (j - i == 1) + shell.slopes_of_recaptures(of_shell, i, j),
        ]
        if first.size:
            n = shell.size.shape[-1]
            crawls = np.triu_indices(n, k=1)
            recaptures = table_of_pairs(shell.slopes_of_recaptures(of_shell, *crawls), *crawls, n)
            within = -unions_from_recaptures(np.zeros(recaptures.shape[:-1]), recaptures)
            parts.append(core[..., None] * (last - first) + within[..., first, last])
        return np.concatenate(parts, axis=-1)

    def variance(self, counts: Counts, core: FloatArray, shell: ElementClass) -> FloatArray:
        """Variance of each point's count that the weights are one over, shape (..., points).

        A count of a sample of one in k elements is Poisson, so k times it has k times the expected count; it is known
        to no better than one element of the sample, so another k² keep rare counts from weighing without limit. To
        it comes the error of the sketches that the count is a sum of, which err alike as far as their elements are the
        same (see `counting_error`); of sums of sizes only that of the union.
        """
        k = counts.one_in
        variance = k * (self.expect(core, shell) + k)
        if counts.relative_error == 0:
            return variance
        (a, b), (i, j), (first, last) = self._all
        unions = np.triu(core[..., None, None] + shell.unions())
        size = counts.sizes
        both = core[..., None] + shell.intersections(a, b)
        squares = [
            _squared_error(size[..., a] + size[..., b] - both, size[..., a], size[..., b]),
            _squared_error(unions[..., i, j], unions[..., i, j - 1], unions[..., i + 1, j])
            - unions[..., i + 1, j - 1] ** 2,
            unions[..., first, last] ** 2,
        ]
        return np.asarray(variance + counts.relative_error**2 * np.maximum(np.concatenate(squares, axis=-1), 0))


def _squared_error(union: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """Variance of the intersection of two sets, as their sizes less their union, over the squared relative error.

    The covariance of a set and a part of it is the square of the part; that of the two is their product times their
    Jaccard coefficient. When less is taken off that is a part of all three, its square goes off, too.
    """
    return union**2 - one**2 - other**2 + 2 * one * other * (one + other - union) / union


def _crawls(table: BoolArray) -> tuple[IntArray, IntArray]:
    i, j = np.nonzero(table)
    return i.astype(np.int64), j.astype(np.int64)
