"""Hold the raw counts of a collection: sizes, pairwise intersections and unions of windows.

Does not compute expectations; see `data_points`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.data.arguments import gaps_between

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray


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

    def __post_init__(self) -> None:
        gaps_between(self.times)
        if not self.times[-1] > self.times[0]:
            raise ValueError("all crawls are at the same time; expected times that advance")
        table = (*self.sizes.shape, len(self.times))
        if not self.sizes.shape[-1:] == self.times.shape or {self.intersections.shape, self.unions.shape} != {table}:
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

    def select(self, rows: slice | npt.NDArray[np.intp]) -> Counts:
        """Select replicates on the first leading axis."""
        return replace(self, sizes=self.sizes[rows], intersections=self.intersections[rows], unions=self.unions[rows])

    def window(self, first: int, end: int) -> Counts:
        """Select the crawls from `first` to before `end`; times start at 0."""
        part = slice(first, end)
        return replace(
            self,
            times=self.times[part] - self.times[first],
            sizes=self.sizes[..., part],
            intersections=self.intersections[..., part, part],
            unions=self.unions[..., part, part],
        )

    def repeated(self, n: int) -> Counts:
        """Repeat the counts n times on a new leading axis, without copying them."""
        sizes, intersections, unions = (
            np.broadcast_to(values, (n, *values.shape)) for values in (self.sizes, self.intersections, self.unions)
        )
        return replace(self, sizes=sizes, intersections=intersections, unions=unions)
