"""Hold capture-history counts as arrays and compute every observable that follows from them.

Neither reads presence lists or tables (see `observables`) nor models how histories arise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
#: Counts, or their expectations.
Numbers = TypeVar("Numbers", IntArray, FloatArray)

# Number of histories processed at once: their captures as numbers fit the processor's cache.
_CHUNK = 8_192


@dataclass(frozen=True, eq=False)
class CaptureHistoryCounts:
    """Number of elements of each capture history: the sufficient statistic of the model.

    Parameters
    ----------
    seen
        Whether the elements of a history were captured by a crawl, shape (n_histories, n_crawls), oldest crawl first.
    elements
        Elements with that history, shape (n_histories,), each at least 0.
    lost
        How many of them were not released after their last capture, so no later crawl can capture them, shape
        (n_histories,); none if None.

    Raises
    ------
    ValueError
        If the shapes do not match, a count is negative, or more elements are lost than have the history.

    Examples
    --------
    >>> import numpy as np
    >>> counts = CaptureHistoryCounts(np.array([[1, 0, 1], [0, 1, 1]], dtype=bool), np.array([5, 7]))
    >>> counts.distinct_elements
    12
    >>> counts.intersections()
    array([[ 5,  0,  5],
           [ 0,  7,  7],
           [ 5,  7, 12]])
    >>> counts.recaptures()
    array([[0, 0, 5],
           [0, 0, 7],
           [0, 0, 0]])
    """

    seen: BoolArray
    elements: IntArray
    lost: IntArray | None = None

    def __post_init__(self) -> None:
        if self.seen.ndim != 2 or self.elements.shape != self.seen.shape[:1]:
            raise ValueError(
                f"seen has shape {self.seen.shape} and elements {self.elements.shape}; "
                "expected (histories, crawls) and (histories,)"
            )
        if self.elements.size and self.elements.min() < 0:
            raise ValueError(f"a history has {self.elements.min()} elements; counts are at least 0")
        if self.lost is not None and (
            self.lost.shape != self.elements.shape or ((self.lost < 0) | (self.lost > self.elements)).any()
        ):
            raise ValueError("lost does not fit the elements; expected from 0 to all of the elements of each history")

    def divided_by(self, one_in: int) -> CaptureHistoryCounts:
        """Return the counts of the sample itself, given counts that were multiplied by `one_in`."""
        return CaptureHistoryCounts(
            self.seen, self.elements // one_in, None if self.lost is None else self.lost // one_in
        )

    def select_crawls(self, crawls: Sequence[int]) -> CaptureHistoryCounts:
        """Return the counts of some crawls only, in the given order, of the elements that they captured.

        Examples
        --------
        >>> import numpy as np
        >>> counts = CaptureHistoryCounts(np.array([[1, 0, 1], [1, 1, 1], [0, 1, 0]], dtype=bool), np.array([5, 7, 2]))
        >>> counts.select_crawls([0, 2]).elements
        array([12])
        """
        order = list(crawls)
        seen = self.seen[:, order]
        is_captured = seen.any(axis=1)
        # The kept crawls do not show a loss at a crawl that is left out.
        lost = 0 if self.lost is None else np.where(self._last() == self._last(order), self.lost, 0)[is_captured]
        seen, elements = seen[is_captured], self.elements[is_captured]
        _, first, group = np.unique(np.packbits(seen, axis=1), axis=0, return_index=True, return_inverse=True)
        summed = np.zeros((2, len(first)), dtype=np.int64)
        np.add.at(summed[0], group.ravel(), elements)
        np.add.at(summed[1], group.ravel(), lost)
        return CaptureHistoryCounts(seen[first], summed[0], None if self.lost is None else summed[1])

    def _last(self, crawls: Sequence[int] | None = None) -> IntArray:
        """Return the crawl of the last capture by any, or by some crawls; -1 without one."""
        numbers = np.arange(self.n_crawls) if crawls is None else np.array(crawls, dtype=np.int64)
        return np.where(self.seen[:, numbers], numbers, -1).max(axis=1, initial=-1)

    def lost_alone(self) -> CaptureHistoryCounts:
        """Return the counts of the elements that were lost."""
        return CaptureHistoryCounts(self.seen, np.zeros_like(self.elements) if self.lost is None else self.lost)

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
        """Elements captured by every crawl."""
        return int(self.elements[self.seen.all(axis=1)].sum())

    def intersections(self) -> IntArray:
        """Count the elements captured by both of two crawls, shape (n_crawls, n_crawls); sizes on the diagonal.

        Sums are exact up to 2^53 elements. Products are in float32 where a chunk has fewer than 2^24 elements.
        """
        total = np.zeros((self.n_crawls, self.n_crawls))
        for low in range(0, len(self.elements), _CHUNK):
            elements = self.elements[low : low + _CHUNK, None]
            seen: npt.NDArray[Any] = self.seen[low : low + _CHUNK].astype("f4" if elements.sum() < 2**24 else "f8")
            total += seen.T @ (seen * elements.astype(seen.dtype))
        return np.rint(total).astype(np.int64)

    def recaptures(self) -> IntArray:
        """Count the elements captured by crawl i and *next* captured by crawl j, 0 unless i < j.

        Shape (n_crawls, n_crawls). Row i with the never recaptured, ``sizes[i] - recaptures[i].sum()``, is a row of
        the m-array. Sums are in float64, exact up to 2^53 elements.
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

    def losses(self) -> IntArray:
        """Count the elements that were not released after their capture by a crawl, shape (n_crawls,)."""
        total = np.zeros(self.n_crawls, dtype=np.int64)
        if self.lost is not None:
            captured = self.seen.any(axis=1)
            np.add.at(total, self._last()[captured], self.lost[captured])
        return total

    def unions(self) -> IntArray:
        """Count the distinct elements of crawls i to j, both included; see `unions_from_recaptures`."""
        return unions_from_recaptures(np.diagonal(self.intersections()), self.recaptures())

    def capture_frequencies(self) -> IntArray:
        """Count the elements f_k captured by exactly k crawls, shape (n_crawls + 1,); f_0 is 0."""
        times = self.seen.sum(axis=1)
        counts = np.bincount(times, weights=self.elements, minlength=self.n_crawls + 1)
        counts[0] = 0
        return np.rint(counts).astype(np.int64)


class HistoryCells(NamedTuple):
    """Elements by first capture, last capture and number of captures, ordered by the last capture.

    All arrays have shape (n_cells,).

    Attributes
    ----------
    first, last
        Index of the crawl of the first and of the last capture.
    captures
        Number of captures, at least 1.
    elements
        Elements of the cell, above 0.
    """

    first: IntArray
    last: IntArray
    captures: IntArray
    elements: IntArray


def first_and_last(seen: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the crawl of the first and of the last capture of each history; histories without a capture have none.

    Parameters
    ----------
    seen
        Whether each history has a capture at each crawl, shape (histories, n_crawls).

    Examples
    --------
    >>> first, last = first_and_last(np.array([[0, 1, 1, 0]], dtype=bool))
    >>> first.tolist(), last.tolist()
    ([1], [2])
    """
    return seen.argmax(axis=1), seen.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)


def count_cells(counts: CaptureHistoryCounts) -> HistoryCells:
    """Count elements by first capture, last capture and number of captures.

    Elements that were never captured are left out.

    Parameters
    ----------
    counts
        Elements of each capture history.

    Returns
    -------
    HistoryCells
        The non-empty cells.

    Examples
    --------
    >>> import numpy as np
    >>> counts = CaptureHistoryCounts(np.array([[1, 0, 1], [0, 1, 1]], dtype=bool), np.array([5, 7]))
    >>> count_cells(counts).elements
    array([5, 7])
    """
    n = counts.n_crawls
    captured = counts.seen.any(axis=1) & (counts.elements > 0)
    seen, elements = counts.seen[captured], counts.elements[captured]
    first, last = first_and_last(seen)
    code, cell = np.unique((last * n + first) * (n + 1) + seen.sum(axis=1), return_inverse=True)
    pair, captures = np.divmod(code, n + 1)
    last, first = np.divmod(pair, n)
    totals = np.rint(np.bincount(cell, weights=elements, minlength=code.size)).astype(np.int64)
    return HistoryCells(first, last, captures, totals)


def window_sums(sizes: Numbers) -> Numbers:
    """Sum the sizes of crawls i to j, shape (..., n_crawls, n_crawls), for i <= j."""
    total = sizes.cumsum(axis=-1)
    windows: Numbers = total[..., None, :] - total[..., :, None] + sizes[..., :, None]
    return windows


def unions_from_recaptures(sizes: Numbers, recaptures: Numbers) -> Numbers:
    """Compute the distinct elements of every window, ``U(i..j) = sum M - sum r``.

    Parameters
    ----------
    sizes
        Elements M_t of each crawl, shape (..., n_crawls).
    recaptures
        Elements r_ij captured by crawl i and next captured by crawl j, shape (..., n_crawls, n_crawls), 0 unless
        i < j.

    Returns
    -------
    ndarray
        U(i..j) for i <= j and 0 below the diagonal, shape (..., n_crawls, n_crawls); integers if the input is.

    Examples
    --------
    >>> import numpy as np
    >>> unions_from_recaptures(np.array([5, 7]), np.array([[0, 4], [0, 0]]))
    array([[5, 8],
           [0, 7]])
    """
    # Sum of r over i <= a < b <= j: from the bottom row up, then along each row.
    within = recaptures[..., ::-1, :].cumsum(axis=-2)[..., ::-1, :].cumsum(axis=-1)
    return np.triu(window_sums(sizes) - within)


def recaptures_from_unions(unions: FloatArray) -> FloatArray:
    """Invert `unions_from_recaptures`.

    ``r_ij = -[U(i..j) - U(i..j-1) - U(i+1..j) + U(i+1..j-1)]``, where the union of no crawl is 0. Recaptures from
    sketched unions carry the error of all four unions and may be negative.

    Parameters
    ----------
    unions
        U(i..j) for i <= j, shape (..., n_crawls, n_crawls). Entries below the diagonal are not read.

    Returns
    -------
    ndarray
        Recaptures r_ij, shape (..., n_crawls, n_crawls); NaN where one of the four unions is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> recaptures_from_unions(np.array([[5.0, 8.0], [0.0, 7.0]]))
    array([[0., 4.],
           [0., 0.]])
    """
    n = unions.shape[-1]
    padded = np.zeros((*unions.shape[:-2], n + 1, n + 1))
    padded[..., :n, 1:] = np.where(np.tri(n, k=-1, dtype=bool), 0.0, unions)
    result = -(padded[..., :-1, 1:] - padded[..., :-1, :-1] - padded[..., 1:, 1:] + padded[..., 1:, :-1])
    result[..., np.tri(n, dtype=bool)] = 0.0
    return np.asarray(result)
