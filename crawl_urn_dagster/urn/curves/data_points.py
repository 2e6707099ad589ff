"""Derive data points of a joint fit from raw counts: overlaps, recaptures and windows, with their expectations.

Computes neither the expectations of a class of elements (see `expectations`) nor the fit (see `joint`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.curves.blocks import BlockPairs, count_slopes, expect_counts, sum_counts
from crawl_urn_dagster.urn.curves.expectations import table_of_pairs
from crawl_urn_dagster.urn.data.histories import recaptures_from_unions, unions_from_recaptures, window_sums
from crawl_urn_dagster.urn.data.thinning import blocks_of_pairs, is_long, kept_pairs

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.curves.expectations import ClassSlopes, ElementClass
    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray

_KINDS = ("overlap", "recapture", "window")


@dataclass(frozen=True, eq=False)
class Points:
    """Data points that the published counts give. In a long collection, a point is the sum over a block of pairs.

    Points are ordered as overlaps, then recaptures, then windows.

    Attributes
    ----------
    overlaps
        Crawls i and j of the intersections m_ij, shape (n_overlaps,) each.
    recaptures
        Crawls i and j of the recaptures r_ij that follow from four windows. At lag 1, where r_ij is m_ij, only pairs
        without a published overlap.
    windows
        First and last crawl of windows that give no recaptures because one of the other three windows is not
        published. Their count is the number of all recaptures within the window, the sum of M minus U(i..j).
    sides
        Crawls along each side of the blocks of overlaps and of recaptures, whose first pairs are above; shape
        (n_overlaps,) and (n_recaptures,). None: points are single pairs.
    """

    overlaps: tuple[IntArray, IntArray]
    recaptures: tuple[IntArray, IntArray]
    windows: tuple[IntArray, IntArray]
    sides: tuple[IntArray, IntArray] | None = None

    @classmethod
    def from_counts(cls, counts: Counts) -> Points:
        """Derive the points of counts without leading axes."""
        overlap, window = np.triu(np.isfinite(counts.intersections), 1), np.triu(np.isfinite(counts.unions), 1)
        window &= ~(overlap & np.eye(len(window), k=1, dtype=bool))
        # Windows of one crawl and of no crawl are always known.
        known = np.isfinite(counts.unions) | np.tri(len(window), dtype=bool)
        recapture = np.zeros_like(window)
        recapture[:-1, 1:] = window[:-1, 1:] & known[:-1, :-1] & known[1:, 1:] & known[1:, :-1]
        windows = window & ~recapture
        if not is_long(len(window)):
            return cls(_crawls(overlap), _crawls(recapture), _crawls(windows))
        (a, b, near), (i, j, side) = blocks_of_pairs(overlap), blocks_of_pairs(recapture)
        return cls((a, b), (i, j), _crawls(windows & kept_pairs(len(window))), (near, side))

    @property
    def kind(self) -> npt.NDArray[np.str_]:
        """Kind of each point, ``overlap``, ``recapture`` or ``window``, shape (n_points,)."""
        return np.repeat(_KINDS, [len(first) for first, _ in self._all])

    @property
    def i(self) -> IntArray:
        """First crawl of each point, shape (n_points,)."""
        return np.concatenate([first for first, _ in self._all])

    @property
    def j(self) -> IntArray:
        """Last crawl of each point, shape (n_points,)."""
        return np.concatenate([last for _, last in self._all])

    @property
    def pairs(self) -> IntArray:
        """Pairs that each point is the sum over, shape (n_points,)."""
        if self.sides is None:
            return np.ones(sum(len(first) for first, _ in self._all), dtype=np.int64)
        return np.concatenate([*(side**2 for side in self.sides), np.ones_like(self.windows[0])])

    @property
    def _blocks(self) -> tuple[BlockPairs, BlockPairs] | None:
        if self.sides is None:
            return None
        overlaps, recaptures = self.sides
        return BlockPairs(*self.overlaps, overlaps), BlockPairs(*self.recaptures, recaptures)

    @property
    def _all(self) -> tuple[tuple[IntArray, IntArray], ...]:
        return self.overlaps, self.recaptures, self.windows

    def count(self, counts: Counts) -> FloatArray:
        """Return the observed count of each point, shape (..., n_points)."""
        if counts.of_points is not None:
            return counts.of_points
        (a, b), (i, j), (first, last) = self._all
        unions = np.where(np.eye(len(counts.times), dtype=bool), counts.sizes[..., None], counts.unions)
        recaptures = recaptures_from_unions(unions)
        if self._blocks is None:
            parts = [counts.intersections[..., a, b], recaptures[..., i, j]]
        else:
            parts = [
                sum_counts(table, blocks)
                for table, blocks in zip((counts.intersections, recaptures), self._blocks, strict=True)
            ]
        within = window_sums(counts.sizes)[..., first, last] - unions[..., first, last]
        return np.concatenate([*parts, within], axis=-1)

    def expect(self, core: FloatArray, shell: ElementClass) -> FloatArray:
        """Return the expected count of each point, shape (..., n_points).

        Parameters
        ----------
        core
            Elements K of the core, shape (...).
        shell
            The shell, with the same leading axes.
        """
        (a, b), (i, j), (first, last) = self._all
        if self._blocks is None:
            shells = shell.intersections(a, b), shell.recaptures(i, j)
        else:
            factors = shell.overlap_factors(), shell.recapture_factors()
            shells = expect_counts(factors[0], self._blocks[0]), expect_counts(factors[1], self._blocks[1])
        parts = [
            core[..., None] * self.pairs[: len(a)] + shells[0],
            core[..., None] * (j - i == 1) + shells[1],
        ]
        if first.size:
            windows = window_sums(shell.size * shell.coverage) - shell.unions()
            parts.append(core[..., None] * (last - first) + windows[..., first, last])
        return np.concatenate(parts, axis=-1)

    def slopes(self, core: FloatArray, shell: ElementClass, shell_slopes: ClassSlopes) -> FloatArray:
        """Differentiate `expect`, shape (..., n, n_points), given the derivatives of the core, shape (..., n)."""
        (a, b), (i, j), (first, last) = self._all
        if self._blocks is None:
            shells = shell.intersection_slopes(shell_slopes, a, b), shell.recapture_slopes(shell_slopes, i, j)
        else:
            overlaps = shell.overlap_factors(), shell.overlap_factor_slopes(shell_slopes)
            recaptured = shell.recapture_factor_slopes(shell_slopes)
            shells = count_slopes(*overlaps, self._blocks[0]), count_slopes(*recaptured, self._blocks[1])
        parts = [
            core[..., None] * self.pairs[: len(a)] + shells[0],
            core[..., None] * (j - i == 1) + shells[1],
        ]
        if first.size:
            n = shell.size.shape[-1]
            crawls = np.triu_indices(n, k=1)
            recaptures = table_of_pairs(shell.recapture_slopes(shell_slopes, *crawls), *crawls, n)
            within = -unions_from_recaptures(np.zeros(recaptures.shape[:-1]), recaptures)
            parts.append(core[..., None] * (last - first) + within[..., first, last])
        return np.concatenate(parts, axis=-1)

    def variance(self, counts: Counts, core: FloatArray, shell: ElementClass) -> FloatArray:
        """Return the variance of each point's count, the inverse of its weight, shape (..., n_points).

        A count from a sample of one in k elements is Poisson, so k times it has k times the expected count as variance.
        It is known to no better than one element of the sample, so another k² limits the weight of rare counts.
        Sketched counts add the error of the sketches that the count is a sum of, with their correlation (see
        `CountingError`); for sums of sizes only the error of the union is added. The pairs of a block are taken to have
        the error of the first of them.
        """
        k = counts.one_in
        variance = k * (self.expect(core, shell) + k * self.pairs)
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
        sketched = self.pairs * np.maximum(np.concatenate(squares, axis=-1), 0)
        return np.asarray(variance + counts.relative_error**2 * sketched)


def _squared_error(union: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the variance of a sketched intersection divided by the squared relative error.

    The intersection is the sum of the two sizes minus the union. The covariance of a set and its subset is the square
    of the subset. The covariance of the two sets is their product times their Jaccard coefficient. If a part of all
    three sets is also subtracted, its square has to be subtracted from the result.
    """
    return union**2 - one**2 - other**2 + 2 * one * other * (one + other - union) / union


def _crawls(table: BoolArray) -> tuple[IntArray, IntArray]:
    i, j = np.nonzero(table)
    return i.astype(np.int64), j.astype(np.int64)
