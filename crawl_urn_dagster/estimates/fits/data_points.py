"""Return the points that fits of averaged or pairwise observables use, of a collection and of its replicates.

Does not fit them; see `urn.fits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.urn.data.thinning import is_long, kept_pairs, kept_windows
from crawl_urn_dagster.urn.fits.least_squares import mean_by

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.urn import Counts

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IndexArray = npt.NDArray[np.intp]


def containment_points(data: CollectionData, clock: str) -> tuple[FloatArray, FloatArray]:
    """Return lags and containments: on clock ``crawl`` the mean over all pairs of a lag, on ``year`` every pair."""
    known = _known_pairs(data, clock)
    values = known["containment"].to_numpy(dtype=np.float64)
    if clock == "year":
        return known["lag_years"].to_numpy(dtype=np.float64), values
    lag, mean, _ = mean_by(known["lag_crawls"].to_numpy(dtype=np.float64), values)
    return lag, mean


def containment_replicates(data: CollectionData, clock: str, counts: Counts) -> tuple[FloatArray, FloatArray]:
    """Return containments of each replicate at `containment_points`, shape (replicates, points), and the observed."""
    known = _known_pairs(data, clock)
    index = pd.Index(data.crawls["crawl"])
    first, last = index.get_indexer(known["crawl_i"]), index.get_indexer(known["crawl_j"])
    observed = known["containment"].to_numpy(dtype=np.float64)
    if clock == "year":
        return counts.overlaps_of(first, last) / counts.sizes[:, first], observed
    lag, mean, _ = mean_by((last - first).astype(np.float64), observed)
    return counts.means_by_lag()[:, 0, lag.astype(np.intp)], mean


def discovery_points(data: CollectionData, clock: str) -> tuple[FloatArray, IndexArray, IndexArray, FloatArray]:
    """Return times of crawls, and start, end and ratio of windows.

    On clock ``crawl`` they are the mean over all starts of U(s, T)/U(s, 0), as windows of equal gaps; on clock ``year``
    every window with its own gaps.
    """
    known = _known_windows(data, clock)
    ratio = known["ratio"].to_numpy(dtype=np.float64)
    if clock == "year":
        index = pd.Index(data.crawls["crawl"])
        start, end = index.get_indexer(known["start_crawl"]), index.get_indexer(known["end_crawl"])
        return data.crawls["years"].to_numpy(dtype=np.float64), start, end, ratio
    t, mean, _ = mean_by(known["window_crawls"].to_numpy(dtype=np.float64) - 1, ratio)
    end = t.astype(np.intp)
    return np.arange(end.max(initial=0) + 1.0), np.zeros_like(end), end, mean


def discovery_replicates(data: CollectionData, clock: str, counts: Counts) -> tuple[FloatArray, IndexArray]:
    """Return ratios of each replicate at `discovery_points`, shape (replicates, points), and crawls after the first.

    Windows of one crawl are left out.
    """
    known = _known_windows(data, clock)
    known = known[known["window_crawls"] > 1]
    index = pd.Index(data.crawls["crawl"])
    first, last = index.get_indexer(known["start_crawl"]), index.get_indexer(known["end_crawl"])
    if clock == "year":
        return counts.unions_of(first, last) / counts.sizes[:, first], last - first
    lags = np.unique(last - first)
    return counts.means_by_lag()[:, 1, lags], lags


def _known_pairs(data: CollectionData, clock: str) -> pd.DataFrame:
    table = _table(data.containment)
    known: pd.DataFrame = table[table["containment"].notna()]
    return _used(data, known, ("crawl_i", "crawl_j"), kept_pairs) if clock == "year" else known


def _known_windows(data: CollectionData, clock: str) -> pd.DataFrame:
    table = _table(data.discovery_curve)
    known: pd.DataFrame = table[table["ratio"].notna()]
    return _used(data, known, ("start_crawl", "end_crawl"), kept_windows) if clock == "year" else known


def _used(
    data: CollectionData, known: pd.DataFrame, ends: tuple[str, str], kept: Callable[[int], BoolArray]
) -> pd.DataFrame:
    """Return the rows that fits use: all, or a part of them in a long collection."""
    if not is_long(len(data.crawls)):
        return known
    index = pd.Index(data.crawls["crawl"])
    first, last = (index.get_indexer(known[end]) for end in ends)
    used: pd.DataFrame = known[kept(len(index))[first, last]]
    return used


def _table(table: pd.DataFrame | None) -> pd.DataFrame:
    """Return a table that a fit's definition says it needs.

    Raises
    ------
    ValueError
        When the collection has no such table.
    """
    if table is None:
        raise ValueError("the collection lacks an observable table that this fit needs")
    return table
