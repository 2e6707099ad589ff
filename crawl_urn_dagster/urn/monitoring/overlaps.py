"""Compute the overlaps of crawls that the monitoring of drift reads, and their variance.

Shared by `control_charts` and `attribution`; the joint fit has its own data points (see `data_points`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.curves.expectations import table_of_pairs

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray


def overlaps(counts: Counts) -> FloatArray:
    """Return the overlaps of crawls t and i, shape (..., n_crawls, n_crawls), symmetric, NaN where unknown.

    Overlaps of consecutive crawls that are not published follow from the union of the two.
    """
    n = len(counts.times)
    i, j = np.triu_indices(n, k=1)
    upper = table_of_pairs(overlaps_of(counts, i, j), i, j, n)
    return np.asarray(upper + upper.swapaxes(-1, -2))


def overlaps_of(counts: Counts, i: IntArray, j: IntArray) -> FloatArray:
    """Return the overlaps of crawls i < j, shape (..., n_pairs), as in `overlaps`."""
    given, near = counts.overlaps_of(i, j), np.flatnonzero(j == i + 1)
    neighbours = counts.sizes[..., i[near]] + counts.sizes[..., j[near]] - counts.unions_of(i[near], j[near])
    given[..., near] = np.where(np.isfinite(given[..., near]), given[..., near], neighbours)
    return given


def overlap_variance(counts: Counts, expected: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return the variance of overlaps in counting, given their expectations, shape (..., n_pairs).

    See `Points.variance`.
    """
    k, one, other = counts.one_in, counts.sizes[..., i], counts.sizes[..., j]
    squares = one**2 + other**2 + (one + other - expected) ** 2
    return np.asarray(k * (expected + k) + counts.relative_error**2 * squares)
