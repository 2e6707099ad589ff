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
    from collections.abc import Iterator

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
    return _expected(_nodes(factors, int(blocks.m.max(initial=1))), _positions(blocks, factors.earlier.shape[-1]))


def count_slopes(factors: Factors, slopes: Factors, blocks: BlockPairs) -> FloatArray:
    """Differentiate `expect_counts`, shape (..., n, n_blocks), given derivatives of the factors (..., n, n_crawls)."""
    longest, at = int(blocks.m.max(initial=1)), _positions(blocks, factors.earlier.shape[-1])
    expected = _expected(_nodes(factors, longest), at)
    first, later = _relative_slopes(factors, slopes, longest)
    return np.asarray(expected[..., None, :] * (first[..., at[0]] + later[..., at[1]]))


def _positions(blocks: BlockPairs, n_crawls: int) -> tuple[IntArray, IntArray]:
    """Return the nodes of each block: those of one crawl are first, then those of two, and so on."""
    sizes = 1 << np.arange(int(blocks.m.max(initial=1)).bit_length())
    before = np.append(0, (n_crawls // sizes).cumsum())[np.log2(blocks.m).astype(np.int64)]
    return before + blocks.i // blocks.m, before + blocks.j // blocks.m


def _expected(nodes: tuple[FloatArray, FloatArray], at: tuple[IntArray, IntArray]) -> FloatArray:
    return np.asarray(np.exp(nodes[0][..., at[0]] + nodes[1][..., at[1]]))


def _nodes(factors: Factors, longest: int) -> tuple[FloatArray, FloatArray]:
    """Return log A - p and log B + s of all nodes, shape (..., n_nodes)."""
    levels = list(_levels(factors, None, longest))
    with np.errstate(divide="ignore"):
        return (
            np.concatenate([np.log(one.earlier) - one.leaving for one in levels], axis=-1),
            np.concatenate([np.log(one.later) + one.arriving for one in levels], axis=-1),
        )


def _relative_slopes(factors: Factors, slopes: Factors, longest: int) -> tuple[FloatArray, FloatArray]:
    """Differentiate `_nodes`, shape (..., n, n_nodes); a factor of 0 has slope 0."""
    lifted = Factors(*(values[..., None, :] for values in factors))
    first, later = [], []
    for one, by in zip(_levels(lifted, None, longest), _levels(lifted, slopes, longest), strict=True):
        first.append(by.earlier / np.where(one.earlier > 0, one.earlier, 1.0) - by.leaving)
        later.append(by.later / np.where(one.later > 0, one.later, 1.0) + by.arriving)
    return np.concatenate(first, axis=-1), np.concatenate(later, axis=-1)


def _levels(factors: Factors, slopes: Factors | None, longest: int) -> Iterator[Factors]:
    """Yield A, B, p of the last and s of the first crawl of the nodes of 1, 2, 4, … crawls, or their derivatives."""
    a, b, leaving, arriving = factors
    by_a, by_b = (a, b) if slopes is None else (slopes.earlier, slopes.later)
    potentials, n, size = slopes or factors, a.shape[-1], 1
    while True:
        ends = np.arange(1, n // size + 1) * size
        yield Factors(by_a, by_b, potentials.leaving[..., ends - 1], potentials.arriving[..., ends - size])
        if size >= longest:
            return
        pairs = n // (2 * size)
        left, right = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        middle, end = (2 * np.arange(pairs) + 1) * size, (2 * np.arange(pairs) + 2) * size
        # From the last crawl of the left node to the last of the right, and from the first crawl to the first.
        out = np.exp(leaving[..., end - 1] - leaving[..., middle - 1])
        into = np.exp(arriving[..., middle] - arriving[..., middle - size])
        if slopes is not None:
            by_out = slopes.leaving[..., end - 1] - slopes.leaving[..., middle - 1]
            by_into = slopes.arriving[..., middle] - slopes.arriving[..., middle - size]
            by_a = (by_a[..., left] + a[..., left] * by_out) * out + by_a[..., right]
            by_b = by_b[..., left] + (by_b[..., right] + b[..., right] * by_into) * into
        a, b = a[..., left] * out + a[..., right], b[..., left] + b[..., right] * into
        if slopes is None:
            by_a, by_b = a, b
        size *= 2
