"""Capture-history counts as arrays, and every observable that follows from them.

Here: the algebra from counts to overlaps, recaptures, unions and frequencies, and between recaptures and
unions. Not here: reading presence lists or tables (`observables`), or any model of how histories arise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# Rows unpacked to float64 at once: bounds memory at 65,536 x crawls x 8 bytes.
_CHUNK = 65_536


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

    @property
    def n_crawls(self) -> int:
        """Number of crawls."""
        return int(self.seen.shape[1])

    @property
    def distinct_elements(self) -> int:
        """Elements captured at least once."""
        return int(self.elements[self.seen.any(axis=1)].sum())

    def intersections(self) -> IntArray:
        """Elements captured in both of two crawls, shape (crawls, crawls); the diagonal holds the sizes.

        Products are summed in float64, exact up to 2^53 elements.
        """
        total = np.zeros((self.n_crawls, self.n_crawls))
        for low in range(0, len(self.elements), _CHUNK):
            seen = self.seen[low : low + _CHUNK].astype(np.float64)
            total += seen.T @ (seen * self.elements[low : low + _CHUNK, None])
        return np.rint(total).astype(np.int64)

    def recaptures(self) -> IntArray:
        """Elements captured in i and *next* captured in j, shape (crawls, crawls), zero unless i < j.

        Row i with the never recaptured, ``sizes[i] - recaptures[i].sum()``, is a row of the m-array.
        """
        n = self.n_crawls
        result = np.zeros((n, n), dtype=np.int64)
        next_seen = np.full(len(self.elements), n)
        for i in range(n - 1, -1, -1):
            here = self.seen[:, i]
            counts = np.bincount(next_seen[here], weights=self.elements[here], minlength=n + 1)
            result[i] = np.rint(counts[:n])
            next_seen[here] = i
        return result

    def unions(self) -> IntArray:
        """Distinct elements in crawls i to j, both included; see `unions_from_recaptures`."""
        return unions_from_recaptures(np.diagonal(self.intersections()), self.recaptures())

    def capture_frequencies(self) -> IntArray:
        """f_k, elements captured in exactly k crawls, shape (crawls + 1,); f_0 is 0."""
        times = self.seen.sum(axis=1)
        counts = np.bincount(times, weights=self.elements, minlength=self.n_crawls + 1)
        counts[0] = 0
        return np.rint(counts).astype(np.int64)


def unions_from_recaptures(sizes: npt.ArrayLike, recaptures: npt.ArrayLike) -> IntArray:
    """Distinct elements of every window, ``U(i..j) = sum M - sum r``.

    Parameters
    ----------
    sizes
        M_t, shape (crawls,).
    recaptures
        r_ij, captured in i and next captured in j, shape (crawls, crawls), zero unless i < j.

    Returns
    -------
    Array of shape (crawls, crawls): ``U(i..j)`` for i <= j, 0 below the diagonal.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    r = np.asarray(recaptures, dtype=np.int64)
    cumulative = np.concatenate([[0], np.cumsum(sizes)])
    totals = cumulative[None, 1:] - cumulative[:-1, None]
    # Sum of r over i <= a < b <= j: from the bottom row up, then along each row.
    inner = np.cumsum(np.cumsum(r[::-1], axis=0)[::-1], axis=1)
    return np.asarray(np.triu(totals - inner))


def recaptures_from_unions(unions: FloatArray) -> FloatArray:
    """Invert `unions_from_recaptures`; NaN where one of the four windows is missing (NaN).

    ``r_ij = -[U(i..j) - U(i..j-1) - U(i+1..j) + U(i+1..j-1)]`` with ``U`` of no crawl 0. From sketched unions
    the result carries the error of all four and may be negative.

    Parameters
    ----------
    unions
        Shape (crawls, crawls); entry [i, j] with i <= j is U(i..j); what is below the diagonal is not read.
    """
    n = len(unions)
    upper = np.where(np.tri(n, k=-1, dtype=bool), 0.0, unions)
    padded = np.zeros((n + 1, n + 1))
    padded[:n, 1:] = upper
    result = -(padded[:-1, 1:] - padded[:-1, :-1] - padded[1:, 1:] + padded[1:, :-1])
    result[np.tri(n, dtype=bool)] = 0.0
    return np.asarray(result)
