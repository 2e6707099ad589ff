"""Hold the observable tables of a collection, a window or a stratum for the fits.

Does not fit anything; see `fits` and `fitting`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.observables.tables import overlaps_matrix, unions_matrix
from crawl_urn_dagster.urn.data.counting_error import CountingError
from crawl_urn_dagster.urn.data.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt
    import pandas as pd

    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock

    FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CollectionData:
    """The data that fits may use.

    Attributes
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    error
        How the elements were counted.
    histories
        Capture-history counts of the same crawls, multiplied if of a sample; None where the source has none.
    own_fits
        Entry points of the fits of other packages that the collection names.
    """

    crawls: pd.DataFrame
    containment: pd.DataFrame | None
    discovery_curve: pd.DataFrame | None
    error: CountingError = field(default_factory=CountingError)
    histories: CaptureHistoryCounts | None = None
    own_fits: Collection[str] = ()
    _counts: dict[Clock, Counts | None] = field(default_factory=dict, repr=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the data in another process, which does not know the fits of other packages yet."""
        from crawl_urn_dagster.estimates.fits import register_entry_points

        self.__dict__.update(state)
        register_entry_points(self.own_fits)

    @property
    def observables(self) -> Collection[str]:
        """Names of the observable tables that the source has."""
        known = {"containment": self.containment, "discovery_curve": self.discovery_curve}
        return {name for name, table in known.items() if table is not None}

    @property
    def labels(self) -> list[str]:
        """Crawls in order of time."""
        return list(self.crawls["crawl"])

    @property
    def in_all(self) -> int | None:
        """Elements in every crawl; None without histories."""
        return None if self.histories is None else self.histories.in_all

    @property
    def counted_histories(self) -> CaptureHistoryCounts | None:
        """Histories of the elements that were counted; None without histories, elements or a second crawl."""
        if self.histories is None or len(self.crawls) < 2 or not self.histories.distinct_elements:
            return None
        return self.histories.divided_by(self.error.one_in)

    def times(self, clock: Clock) -> FloatArray:
        """Return crawl start times relative to the first crawl, in units of `clock`, shape (crawls,)."""
        return times_of(self.crawls, clock)

    def counts(self, clock: Clock) -> Counts | None:
        """Return the raw counts, NaN where the tables have none; None when the size of a crawl is not known."""
        if clock not in self._counts:
            self._counts[clock] = self._raw_counts(clock)
        return self._counts[clock]

    def _raw_counts(self, clock: Clock) -> Counts | None:
        n = len(self.crawls)
        nothing = np.full((n, n), np.nan)
        unions = nothing if self.discovery_curve is None else unions_matrix(self.crawls, self.discovery_curve)
        intersections = nothing if self.containment is None else overlaps_matrix(self.crawls, self.containment)
        sizes = self.crawls["elements"].to_numpy(dtype=np.float64, na_value=np.nan)
        sizes = np.where(np.isnan(sizes), np.diagonal(unions), sizes)
        if n < 2 or not (sizes > 0).all():
            return None
        return Counts(
            self.times(clock),
            sizes,
            intersections,
            unions,
            relative_error=self.error.relative,
            one_in=self.error.one_in,
        )


def times_of(crawls: pd.DataFrame, clock: Clock) -> FloatArray:
    """Return crawl start times relative to the first crawl, in units of `clock`, from table `crawls`."""
    return crawls["years"].to_numpy() if clock == "year" else np.arange(float(len(crawls)))
