"""Hold the raw counts of a collection: sizes, pairwise intersections and unions of windows.

Does not compute expectations; see `data_points`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.urn.data.arguments import gaps_between

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HeldPairs:
    """The pairs and windows whose counts are held, where matrices of all of them would be too large.

    Attributes
    ----------
    overlaps, unions
        Whether the intersection, or the union, of crawls i to j is held, shape (n_crawls, n_crawls), above the
        diagonal. Values are in the order of these matrices, row by row.
    """

    overlaps: BoolArray
    unions: BoolArray

    @cached_property
    def positions(self) -> tuple[IntArray, IntArray]:
        """Positions of the intersections and of the unions among the held values, -1 if not held."""
        first, second = (
            np.where(held, np.cumsum(held).reshape(held.shape) - 1, -1) for held in (self.overlaps, self.unions)
        )
        return first, second


@dataclass(frozen=True, eq=False)
class Counts:
    """Raw counts of a collection, or of many replicates of it on leading axes.

    Parameters
    ----------
    times
        Times of the crawls, shape (n_crawls,), in units of the clock, not decreasing.
    sizes
        Elements M_t of each crawl, shape (..., n_crawls), above 0.
    intersections
        Elements in both of crawls i < j, shape (..., n_crawls, n_crawls); NaN where not published. Only entries above
        the diagonal are read. Sketched intersections may be negative.
    unions
        Distinct elements U(i..j) of the window from crawl i to crawl j, shape (..., n_crawls, n_crawls); NaN where not
        published. Only entries above the diagonal are read. The unions of all windows and the m-array determine each
        other; see `recaptures_from_unions`.
    relative_error
        Standard error of a sketched size or union, as a fraction of it, in [0, 1); 0 for exact counts. An intersection
        is then taken to be M_i + M_j minus a union.
    one_in
        Inverse k of the sampling fraction 1/k, at least 1. Counts are k times the counts of the sample; 1 for all
        elements.
    held
        Pairs and windows whose counts are held, as replicates of long collections have them. ``intersections`` and
        ``unions`` then have shape (..., n_held) each. None: all.
    of_points
        Counts of the points of the joint fit that the counts are replicates for, shape (..., n_points); None if they
        follow from the other counts.
    of_lags
        Means by lag of `means_by_lag`, shape (..., 2, n_crawls); None if they follow from the other counts.

    Raises
    ------
    ValueError
        If shapes do not match, times do not advance, a size is not above 0, or `relative_error` or `one_in` is out of
        range.

    Examples
    --------
    >>> import numpy as np
    >>> shared = np.array([[100.0, 60, 40], [0, 100, 60], [0, 0, 100]])
    >>> unions = np.array([[100.0, 140, 170], [0, 100, 140], [0, 0, 100]])
    >>> counts = Counts(np.array([0.0, 1, 3]), np.diagonal(shared), shared, unions)
    >>> counts.mean_gap
    1.5
    """

    times: FloatArray
    sizes: FloatArray
    intersections: FloatArray
    unions: FloatArray
    relative_error: float = 0.0
    one_in: float = 1.0
    held: HeldPairs | None = None
    of_points: FloatArray | None = None
    of_lags: FloatArray | None = None

    def __post_init__(self) -> None:
        gaps_between(self.times)
        if not self.times[-1] > self.times[0]:
            raise ValueError("all crawls are at the same time; expected times that advance")
        table = (*self.sizes.shape, len(self.times))
        expected = [table, table]
        if self.held is not None:
            expected = [(*table[:-2], np.count_nonzero(held)) for held in (self.held.overlaps, self.held.unions)]
        if not self.sizes.shape[-1:] == self.times.shape or [self.intersections.shape, self.unions.shape] != expected:
            raise ValueError(
                f"times, sizes, intersections and unions have shapes {self.times.shape}, {self.sizes.shape}, "
                f"{self.intersections.shape} and {self.unions.shape}; "
                "expected (crawls,), (..., crawls) and twice (..., crawls, crawls)"
            )
        known = np.isfinite(self.sizes) & (self.sizes > 0)
        if not known.all():
            at = tuple(np.argwhere(~known)[0])
            raise ValueError(f"the size of crawl {at[-1]} is {self.sizes[at]}; expected a number above 0")
        if not 0 <= self.relative_error < 1:
            raise ValueError(f"relative_error is {self.relative_error}; expected a fraction from 0 to below 1")
        if not self.one_in >= 1:
            raise ValueError(f"one_in is {self.one_in}; expected 1 for all elements, or k for one element in k")

    @property
    def mean_gap(self) -> float:
        """Mean time between consecutive crawls, in units of the clock."""
        return float(self.times[-1] - self.times[0]) / (len(self.times) - 1)

    @property
    def in_mean_gaps(self) -> FloatArray:
        """Times in units of the mean gap, shape (n_crawls,)."""
        return self.times / self.mean_gap

    def overlaps_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the intersections of crawls i < j, shape (..., *i.shape); NaN where not known."""
        if self.held is None:
            return self.intersections[..., i, j]
        return _values_at(self.intersections, self.held.positions[0][i, j])

    def unions_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the distinct elements of crawls i to j, i < j, shape (..., *i.shape); NaN where not known."""
        if self.held is None:
            return self.unions[..., i, j]
        return _values_at(self.unions, self.held.positions[1][i, j])

    def select(self, rows: slice | npt.NDArray[np.intp]) -> Counts:
        """Select replicates on the first leading axis."""
        return replace(
            self,
            sizes=self.sizes[rows],
            intersections=self.intersections[rows],
            unions=self.unions[rows],
            of_points=None if self.of_points is None else self.of_points[rows],
            of_lags=None if self.of_lags is None else self.of_lags[rows],
        )

    def hold(self, held: HeldPairs, of_points: FloatArray) -> Counts:
        """Hold a part of the counts only, the counts of the points of a fit, and the means by lag."""
        intersections, unions = self.intersections[..., held.overlaps], self.unions[..., held.unions]
        return replace(
            self,
            intersections=intersections,
            unions=unions,
            held=held,
            of_points=of_points,
            of_lags=self.means_by_lag(),
        )

    def means_by_lag(self) -> FloatArray:
        """Return means of containment and of U(i..j)/M_i over the known pairs of each lag, shape (..., 2, n_crawls).

        NaN where no pair of a lag is known, and at lag 0.
        """
        if self.of_lags is not None:
            return self.of_lags
        means = [_means_by_lag(table / self.sizes[..., :, None]) for table in (self.intersections, self.unions)]
        return np.stack(means, axis=-2)

    def window(self, first: int, end: int) -> Counts:
        """Select the crawls from `first` to before `end`; times start at 0.

        Counts of points are kept from the first crawl on, because the points of a fit to the first crawls are.
        """
        part = slice(first, end)
        held, tables = None, (self.intersections, self.unions)
        if self.held is None:
            intersections, unions = (table[..., part, part] for table in tables)
        else:
            held = HeldPairs(self.held.overlaps[part, part], self.held.unions[part, part])
            intersections, unions = (
                table[..., position[part, part][inside]]
                for table, position, inside in zip(
                    tables, self.held.positions, (held.overlaps, held.unions), strict=True
                )
            )
        return replace(
            self,
            times=self.times[part] - self.times[first],
            sizes=self.sizes[..., part],
            intersections=intersections,
            unions=unions,
            held=held,
            of_points=None if first else self.of_points,
            of_lags=None,
        )

    def repeated(self, n: int) -> Counts:
        """Repeat the counts n times on a new leading axis, without copying them."""
        sizes, intersections, unions = (
            np.broadcast_to(values, (n, *values.shape)) for values in (self.sizes, self.intersections, self.unions)
        )
        of_points = None if self.of_points is None else np.broadcast_to(self.of_points, (n, *self.of_points.shape))
        return replace(self, sizes=sizes, intersections=intersections, unions=unions, of_points=of_points)


def _means_by_lag(values: FloatArray) -> FloatArray:
    """Return the mean of the known values above the diagonal by lag, shape (..., n), from shape (..., n, n)."""
    n = values.shape[-1]
    known = np.isfinite(values) & np.triu(np.ones((n, n), dtype=bool), 1)

    def summed(table: npt.NDArray[Any]) -> FloatArray:
        # Rows that are one longer than twice the crawls begin at the diagonal.
        flat = np.zeros((*table.shape[:-2], n * (2 * n + 1)))
        flat[..., : 2 * n * n].reshape(*table.shape[:-1], 2 * n)[..., :n] = table
        return np.asarray(flat.reshape(*table.shape[:-1], 2 * n + 1)[..., :n].sum(axis=-2))

    sums, pairs = summed(np.where(known, values, 0.0)), summed(known)
    return np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)


def _values_at(values: FloatArray, position: IntArray) -> FloatArray:
    return np.where(position >= 0, values[..., position], np.nan)
