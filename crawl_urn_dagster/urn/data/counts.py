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
        Times of the crawls, shape (crawls,), in units of the clock, not decreasing.
    sizes
        M_t, shape (..., crawls), above 0.
    intersections
        Elements in both of crawls i < j, shape (..., crawls, crawls); NaN where not published. Only what is above
        the diagonal is read. Sketched ones may be negative.
    unions
        U(i..j), distinct elements in crawls i < j and those between, of the same shape; likewise. All windows are the
        same data as the m-array; see `recaptures_from_unions`.
    relative_error
        One standard error of a sketched size or union, as a fraction of it, in [0, 1); 0 for exact counts.
        Intersections are taken to be M_i + M_j less a union.
    one_in
        Counts are this number times those of a sample of one element in so many, at least 1; 1 for all elements.

    Raises
    ------
    ValueError
        When shapes do not fit, times do not advance, a size is not above 0, or an error or number is out of range.
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
        """Mean time between neighbouring crawls, in units of the clock."""
        return float(self.times[-1] - self.times[0]) / (len(self.times) - 1)

    @property
    def in_mean_gaps(self) -> FloatArray:
        """Times in units of the mean gap, shape (crawls,)."""
        return self.times / self.mean_gap

    def select(self, rows: slice | npt.NDArray[np.intp]) -> Counts:
        """Select problems on the first leading axis."""
        return replace(self, sizes=self.sizes[rows], intersections=self.intersections[rows], unions=self.unions[rows])

    def repeated(self, n: int) -> Counts:
        """Repeat the counts n times on a new leading axis, without copying them."""
        sizes, intersections, unions = (
            np.broadcast_to(values, (n, *values.shape)) for values in (self.sizes, self.intersections, self.unions)
        )
        return replace(self, sizes=sizes, intersections=intersections, unions=unions)
