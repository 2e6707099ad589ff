"""Sum expected counts over blocks of pairs of crawls, exactly and without visiting the pairs.

Does not choose the blocks (see `data.thinning`) or define the counts (see `expectations`).

An expected overlap or recapture of crawls u < v is a_u b_v exp(s_v - p_u): a factor of each crawl, and potentials of
the first and of the later crawl. The sum over a block of u from i to i + m - 1 and v from j to j + m - 1, with
j ≥ i + m, is therefore A B exp(s_j - p_(i+m-1)), where A = Σ a_u exp(p_(i+m-1) - p_u) and B = Σ b_v exp(s_v - s_j).
The sums of two neighbours give those of the crawls of both, so the sums of all nodes of 1, 2, 4, … crawls take 2 T
operations for T crawls, and a block takes one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray


class BlockPairs(NamedTuple):
    """Blocks of pairs of crawls: u from i to i + m - 1 and v from j to j + m - 1; arrays of shape (n_blocks,).

    Attributes
    ----------
    i, j
        First of the earlier and of the later crawls, multiples of m.
    m
        Number of earlier, and of later crawls, a power of 2.
    """

    i: IntArray
    j: IntArray
    m: IntArray


class Factors(NamedTuple):
    """Factors and potentials of the crawls, shape (..., n_crawls), as in the module; or derivatives of them.

    Attributes
    ----------
    earlier, later
        Factors a and b.
    leaving, arriving
        Potentials p and s.
    """

    earlier: FloatArray
    later: FloatArray
    leaving: FloatArray
    arriving: FloatArray


def sum_counts(table: FloatArray, blocks: BlockPairs) -> FloatArray:
    """Return the sum of a table of pairs, shape (..., n_crawls, n_crawls), over each block, shape (..., n_blocks).

    A sum is NaN if one of its pairs is.

    Examples
    --------
    >>> one = np.array([2])
    >>> float(sum_counts(np.arange(16.0).reshape(4, 4), BlockPairs(0 * one, one, one))[0])
    18.0
    """
    i, j, m = blocks
    sums = np.empty((*table.shape[:-2], len(m)))
    for size in np.unique(m):
        here = np.flatnonzero(m == size)
        n = table.shape[-1] // size
        tiled = table[..., : n * size, : n * size].reshape(*table.shape[:-2], n, size, n, size).sum(axis=(-3, -1))
        sums[..., here] = tiled[..., i[here] // size, j[here] // size]
    return sums


def expect_counts(factors: Factors, blocks: BlockPairs) -> FloatArray:
    """Return the expected count of each block, shape (..., n_blocks)."""
    nodes = _nodes(factors, blocks, None)
    return nodes.earlier * nodes.later * nodes.link


def count_slopes(factors: Factors, slopes: Factors, blocks: BlockPairs) -> FloatArray:
    """Differentiate `expect_counts`, shape (..., n, n_blocks), given derivatives of the factors (..., n, n_crawls)."""
    lifted = Factors(*(values[..., None, :] for values in factors))
    nodes, by = _nodes(lifted, blocks, None), _nodes(lifted, blocks, slopes)
    slope = by.earlier * nodes.later + nodes.earlier * by.later + nodes.earlier * nodes.later * by.link
    return np.asarray(slope * nodes.link)


class _Nodes(NamedTuple):
    """A, B and exp(s_j - p_(i+m-1)) of each block, or derivatives of A, of B and of the exponent."""

    earlier: FloatArray
    later: FloatArray
    link: FloatArray


def _nodes(factors: Factors, blocks: BlockPairs, slopes: Factors | None) -> _Nodes:
    i, j, m = blocks
    shape = (slopes or factors).earlier.shape[:-1]
    earlier, later = np.empty((2, *shape, len(m)))
    a, b, leaving, arriving = factors
    by_a, by_b = (None, None) if slopes is None else (slopes.earlier, slopes.later)
    n, size = a.shape[-1], 1
    while True:
        here = np.flatnonzero(m == size)
        found = (a, b) if by_a is None or by_b is None else (by_a, by_b)
        earlier[..., here], later[..., here] = found[0][..., i[here] // size], found[1][..., j[here] // size]
        if size >= m.max(initial=1):
            break
        pairs = n // (2 * size)
        left, right = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        middle, end = (2 * np.arange(pairs) + 1) * size, (2 * np.arange(pairs) + 2) * size
        # From the last crawl of the left node to that of the right, and from the first crawl to the first.
        out = np.exp(leaving[..., end - 1] - leaving[..., middle - 1])
        into = np.exp(arriving[..., middle] - arriving[..., middle - size])
        if slopes is not None and by_a is not None and by_b is not None:
            by_out = slopes.leaving[..., end - 1] - slopes.leaving[..., middle - 1]
            by_into = slopes.arriving[..., middle] - slopes.arriving[..., middle - size]
            by_a = (by_a[..., left] + a[..., left] * by_out) * out + by_a[..., right]
            by_b = by_b[..., left] + (by_b[..., right] + b[..., right] * by_into) * into
        a, b = a[..., left] * out + a[..., right], b[..., left] + b[..., right] * into
        size *= 2
    potentials = slopes or factors
    link = potentials.arriving[..., j] - potentials.leaving[..., i + m - 1]
    return _Nodes(earlier, later, link if slopes is not None else np.exp(link))
