"""Capture-history counts as arrays, and every observable that follows from them.

Here: the algebra from counts to overlaps, recaptures, unions, frequencies and cells, and between recaptures and
unions. Not here: reading presence lists or tables (`observables`), or any model of how histories arise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
#: Counts, or what is expected of them.
Numbers = TypeVar("Numbers", IntArray, FloatArray)

# Histories worked on at once: their captures as numbers stay in the processor's cache.
_CHUNK = 8_192


@dataclass(frozen=True, eq=False)
class CaptureHistoryCounts:
    """How many elements have each presence pattern over the crawls: the sufficient statistic.

    Parameters
    ----------
    seen
        Shape (histories, crawls), oldest crawl first; True where an element was captured.
    elements
        Shape (histories,), elements with that history, each at least 0.

    Raises
    ------
    ValueError
        When the shapes do not fit or a count is negative.
    """

    seen: BoolArray
    elements: IntArray

    def __post_init__(self) -> None:
        if self.seen.ndim != 2 or self.elements.shape != self.seen.shape[:1]:
            raise ValueError(
                f"seen has shape {self.seen.shape} and elements {self.elements.shape}; "
                "expected (histories, crawls) and (histories,)"
            )
        if self.elements.size and self.elements.min() < 0:
            raise ValueError(f"a history has {self.elements.min()} elements; counts are at least 0")

    def divided_by(self, one_in: int) -> CaptureHistoryCounts:
        """Return what was counted, of counts that are multiples of one element in so many."""
        return CaptureHistoryCounts(self.seen, self.elements // one_in)

    @property
    def n_crawls(self) -> int:
        """Number of crawls."""
        return int(self.seen.shape[1])

    @property
    def distinct_elements(self) -> int:
        """Elements captured at least once."""
        return int(self.elements[self.seen.any(axis=1)].sum())

    @property
    def in_all(self) -> int:
        """Elements captured in every crawl."""
        return int(self.elements[self.seen.all(axis=1)].sum())

    def intersections(self) -> IntArray:
        """Elements captured in both of two crawls, shape (crawls, crawls); the diagonal holds the sizes.

        Sums are exact up to 2^53 elements: products are in float32 where a chunk has fewer than 2^24.
        """
        total = np.zeros((self.n_crawls, self.n_crawls))
        for low in range(0, len(self.elements), _CHUNK):
            elements = self.elements[low : low + _CHUNK, None]
            seen: npt.NDArray[Any] = self.seen[low : low + _CHUNK].astype("f4" if elements.sum() < 2**24 else "f8")
            total += seen.T @ (seen * elements.astype(seen.dtype))
        return np.rint(total).astype(np.int64)

    def recaptures(self) -> IntArray:
        """Elements captured in i and *next* captured in j, shape (crawls, crawls), zero unless i < j.

        Row i with the never recaptured, ``sizes[i] - recaptures[i].sum()``, is a row of the m-array. Sums are in
        float64, exact up to 2^53 elements.
        """
        n = self.n_crawls
        total = np.zeros(n * n)
        for low in range(0, len(self.elements), _CHUNK):
            history, crawl = np.divmod(np.flatnonzero(self.seen[low : low + _CHUNK]), n)
            again = history[1:] == history[:-1]
            pair = (crawl[:-1] * n + crawl[1:])[again]
            elements = self.elements[low : low + _CHUNK][history[1:][again]]
            total += np.bincount(pair, weights=elements, minlength=n * n)
        return np.rint(total).astype(np.int64).reshape(n, n)

    def unions(self) -> IntArray:
        """Distinct elements in crawls i to j, both included; see `unions_from_recaptures`."""
        return unions_from_recaptures(np.diagonal(self.intersections()), self.recaptures())

    def capture_frequencies(self) -> IntArray:
        """f_k, elements captured in exactly k crawls, shape (crawls + 1,); f_0 is 0."""
        times = self.seen.sum(axis=1)
        counts = np.bincount(times, weights=self.elements, minlength=self.n_crawls + 1)
        counts[0] = 0
        return np.rint(counts).astype(np.int64)


class HistoryCells(NamedTuple):
    """Elements by first capture, last capture and times captured, in order of the last; arrays of shape (cells,).

    Attributes
    ----------
    first, last
        Index of the crawl.
    captures
        Crawls that hold the element, at least 1.
    elements
        Elements of the cell, above 0.
    """

    first: IntArray
    last: IntArray
    captures: IntArray
    elements: IntArray


def count_cells(counts: CaptureHistoryCounts) -> HistoryCells:
    """Count elements by first capture, last capture and times captured; those never captured are left out."""
    n = counts.n_crawls
    captured = counts.seen.any(axis=1) & (counts.elements > 0)
    seen, elements = counts.seen[captured], counts.elements[captured]
    first, last = seen.argmax(axis=1), n - 1 - seen[:, ::-1].argmax(axis=1)
    code, cell = np.unique((last * n + first) * (n + 1) + seen.sum(axis=1), return_inverse=True)
    pair, captures = np.divmod(code, n + 1)
    last, first = np.divmod(pair, n)
    totals = np.rint(np.bincount(cell, weights=elements, minlength=code.size)).astype(np.int64)
    return HistoryCells(first, last, captures, totals)


def window_sums(sizes: Numbers) -> Numbers:
    """Sum of the sizes of crawls i to j, shape (..., crawls, crawls), for i <= j."""
    total = sizes.cumsum(axis=-1)
    windows: Numbers = total[..., None, :] - total[..., :, None] + sizes[..., :, None]
    return windows


def unions_from_recaptures(sizes: Numbers, recaptures: Numbers) -> Numbers:
    """Distinct elements of every window, ``U(i..j) = sum M - sum r``.

    Parameters
    ----------
    sizes
        M_t, shape (..., crawls).
    recaptures
        r_ij, captured in i and next captured in j, shape (..., crawls, crawls), zero unless i < j.

    Returns
    -------
    Array of shape (..., crawls, crawls): ``U(i..j)`` for i <= j, 0 below the diagonal; whole numbers of whole numbers.
    """
    # Sum of r over i <= a < b <= j: from the bottom row up, then along each row.
    within = recaptures[..., ::-1, :].cumsum(axis=-2)[..., ::-1, :].cumsum(axis=-1)
    return np.triu(window_sums(sizes) - within)


def recaptures_from_unions(unions: FloatArray) -> FloatArray:
    """Invert `unions_from_recaptures`; NaN where one of the four windows is missing (NaN).

    ``r_ij = -[U(i..j) - U(i..j-1) - U(i+1..j) + U(i+1..j-1)]`` with ``U`` of no crawl 0. From sketched unions
    the result carries the error of all four and may be negative.

    Parameters
    ----------
    unions
        Shape (..., crawls, crawls); entry [i, j] with i <= j is U(i..j); what is below the diagonal is not read.
    """
    n = unions.shape[-1]
    padded = np.zeros((*unions.shape[:-2], n + 1, n + 1))
    padded[..., :n, 1:] = np.where(np.tri(n, k=-1, dtype=bool), 0.0, unions)
    result = -(padded[..., :-1, 1:] - padded[..., :-1, :-1] - padded[..., 1:, 1:] + padded[..., 1:, :-1])
    result[..., np.tri(n, dtype=bool)] = 0.0
    return np.asarray(result)
