"""Simulate the urn element by element, without averaging.

Does not compute expectations (see `model`) and does not name the elements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.arguments import gaps_between, require_fraction, require_whole_numbers
from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, IntArray

ByteArray = npt.NDArray[np.uint8]

# Crawls after which a simulated urn has forgotten that nothing had been captured before.
_BURN_IN = 60


@dataclass(frozen=True, eq=False)
class SimulatedHistories:
    """Capture histories of all elements that were captured at least once.

    Attributes
    ----------
    packed
        One bit per crawl in the order of `numpy.packbits`, oldest crawl first, shape (n_elements, n_bytes). The row is
        the number of the element; the core comes first.
    n_crawls
        Number of crawls.
    """

    packed: ByteArray
    n_crawls: int

    def counts(self) -> CaptureHistoryCounts:
        """Count the elements of each capture history."""
        n_elements, n_bytes = self.packed.shape
        padded = np.zeros((n_elements, _padded_bytes(self.n_crawls)), dtype=np.uint8)
        padded[:, :n_bytes] = self.packed
        words = padded.view(np.uint64)
        words = words[np.lexsort(words.T)]
        is_first = np.ones(n_elements, dtype=np.bool_)
        is_first[1:] = (words[1:] != words[:-1]).any(axis=1)
        first = np.flatnonzero(is_first)
        seen = np.unpackbits(words[first].view(np.uint8), axis=1, count=self.n_crawls).astype(np.bool_)
        return CaptureHistoryCounts(seen, np.diff(np.append(first, n_elements)))

    def captured(self, crawl: int) -> IntArray:
        """Return the numbers of the elements that a crawl captured, in ascending order."""
        return np.flatnonzero(self.packed[:, crawl // 8] & _bit(crawl))


def simulate(
    *,
    times: npt.ArrayLike,
    core: int,
    shell: int,
    alpha: npt.ArrayLike,
    coverage: npt.ArrayLike,
    seed: int,
) -> SimulatedHistories:
    """Capture part of an urn at every crawl and replace part of its shell after it.

    Crawl t captures each element of the shell independently with probability c_t. The element then survives the gap δ
    to the next crawl with probability α^δ, or else is replaced by a new element.

    Parameters
    ----------
    times
        Times of the crawls, shape (n_crawls,), not decreasing.
    core
        Elements that every crawl captures, at least 0; 0 gives the homogeneous urn.
    shell
        Eligible elements of the shell at any time, at least 0.
    alpha
        Survival of the shell per unit of `times`, in [0, 1]; a scalar, or one value per gap.
    coverage
        Fraction of the shell that a crawl captures, in [0, 1]; a scalar, or one value per crawl.
    seed
        Seed of the random numbers. Equal seeds give equal histories.

    Returns
    -------
    SimulatedHistories
        Capture histories of the elements that were captured.

    Raises
    ------
    ValueError
        If the times decrease or a number is outside its range.

    Examples
    --------
    >>> histories = simulate(times=[0, 1, 2], core=2, shell=3, alpha=1, coverage=1, seed=1)
    >>> histories.counts().intersections()
    array([[5, 5, 5],
           [5, 5, 5],
           [5, 5, 5]])
    """
    gaps = gaps_between(times)
    if min(core, shell) < 0:
        raise ValueError(f"core is {core} and shell {shell}; expected numbers of elements of at least 0")
    require_fraction("alpha", alpha)
    require_fraction("coverage", coverage)
    n_crawls = gaps.size + 1
    survival = np.broadcast_to(alpha, gaps.shape) ** gaps
    sampled_at = np.broadcast_to(coverage, n_crawls)
    rng = np.random.default_rng(seed)

    recorder = _Recorder(shell, n_crawls)
    for crawl in range(n_crawls):
        recorder.capture(rng.random(shell) < sampled_at[crawl], crawl)
        if crawl < n_crawls - 1:
            recorder.replace(np.flatnonzero(rng.random(shell) >= survival[crawl]))
    in_every_crawl = np.tile(np.packbits(np.ones(n_crawls, dtype=np.uint8)), (core, 1))
    return SimulatedHistories(np.concatenate([in_every_crawl, recorder.packed()]), n_crawls)


def simulate_revisit_delay(
    *, delays: npt.ArrayLike, elements: int, alpha: float, coverage: npt.ArrayLike, revisit_coverage: float, seed: int
) -> SimulatedHistories:
    """Simulate an urn with a revisit delay, element by element, from its steady state on.

    Parameters
    ----------
    delays
        Revisit delay at each crawl, in crawls, whole numbers of at least 0, shape (n_crawls,).
    elements
        Eligible elements at any time.
    alpha, revisit_coverage
        Survival, and coverage of recently captured elements, in [0, 1]; see `RevisitDelayUrn`.
    coverage
        Coverage of the other elements, in [0, 1]; a scalar, or one value per crawl.
    seed
        Seed of the random numbers. Equal seeds give equal histories.

    Returns
    -------
    SimulatedHistories
        Capture histories of the elements that were captured.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> histories = simulate_revisit_delay(
    ...     delays=[1, 1, 1], elements=1_000, alpha=1.0, coverage=0.5, revisit_coverage=0.0, seed=1
    ... )
    >>> int(histories.counts().intersections()[0, 1])
    0
    """
    delay = require_whole_numbers("delay", delays, least=0)
    require_fraction("alpha", alpha)
    require_fraction("coverage", coverage)
    require_fraction("revisit_coverage", revisit_coverage)
    chance = np.broadcast_to(np.asarray(coverage, dtype=np.float64), delay.shape)
    rng = np.random.default_rng(seed)
    never = int(delay.max()) + 1
    since = np.full(elements, never, dtype=np.int32)  # crawls since the last capture
    recorder = _Recorder(elements, delay.size)
    for crawl in np.maximum(np.arange(-_BURN_IN, delay.size), -1):
        is_recent = since <= delay[max(crawl, 0)]
        captured = rng.random(elements) < np.where(is_recent, revisit_coverage, chance[max(crawl, 0)])
        since += 1
        since[captured] = 1
        replaced = np.flatnonzero(rng.random(elements) >= alpha)
        since[replaced] = never
        if crawl >= 0:
            recorder.capture(captured, crawl)
            recorder.replace(replaced)
    return SimulatedHistories(recorder.packed(), delay.size)


class _Recorder:
    """Capture histories of the eligible elements, and of those that were replaced, in 64-bit words."""

    def __init__(self, elements: int, n_crawls: int) -> None:
        self._n_bytes = (n_crawls + 7) // 8
        self._bits = np.zeros((elements, _padded_bytes(n_crawls)), dtype=np.uint8)
        self._words = self._bits.view(np.uint64)  # the same memory, for faster row operations
        self._replaced: list[npt.NDArray[np.uint64]] = []

    def capture(self, captured: BoolArray, crawl: int) -> None:
        """Record which eligible elements a crawl captured, shape (elements,)."""
        self._bits[:, crawl // 8] |= captured * _bit(crawl)

    def replace(self, elements: IntArray) -> None:
        """Replace elements, given by their numbers, by new ones."""
        words = self._words[elements]
        self._replaced.append(words[words.any(axis=1)])
        self._words[elements] = 0

    def packed(self) -> ByteArray:
        """Return the histories of all elements that were captured; see `SimulatedHistories`."""
        remaining = self._words[self._words.any(axis=1)]
        return np.concatenate([*self._replaced, remaining]).view(np.uint8)[:, : self._n_bytes]


def _padded_bytes(n_crawls: int) -> int:
    """Return the number of bytes of whole 64-bit words that have a bit for each crawl."""
    return (n_crawls + 63) // 64 * 8


def _bit(crawl: int) -> np.uint8:
    return np.uint8(0x80 >> crawl % 8)
