"""Compute the overlaps of crawls that the monitoring of drift reads, and their variance.

Shared by `control_charts` and `attribution`; the joint fit has its own data points (see `data_points`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import FloatArray


def overlaps(counts: Counts) -> FloatArray:
    """Return the overlaps of crawls t and i, shape (..., n_crawls, n_crawls), symmetric, NaN where unknown.

    Overlaps of consecutive crawls that are not published follow from the union of the two.
    """
    n = np.arange(len(counts.times) - 1)
    upper = np.triu(counts.intersections, 1)
    neighbours = counts.sizes[..., :-1] + counts.sizes[..., 1:] - counts.unions[..., n, n + 1]
    given = upper[..., n, n + 1]
    upper[..., n, n + 1] = np.where(np.isfinite(given), given, neighbours)
    return np.asarray(upper + upper.swapaxes(-1, -2))


def overlap_variance(counts: Counts, expected: FloatArray) -> FloatArray:
    """Return the variance of overlaps (..., t, i) in counting, given their expectations; see `Points.variance`."""
    k, sizes = counts.one_in, counts.sizes
    either = sizes[..., :, None] + sizes[..., None, :] - expected
    squares = sizes[..., :, None] ** 2 + sizes[..., None, :] ** 2 + either**2
    return np.asarray(k * (expected + k) + counts.relative_error**2 * squares)
