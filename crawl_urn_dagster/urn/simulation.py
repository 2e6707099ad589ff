"""Simulate the urn element by element, without averaging.

Does not compute expectations (see `model`) and does not name the elements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.arguments import gaps_between, require_fraction, require_whole_numbers
from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, IntArray

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

    n_bytes, padded_bytes = (n_crawls + 7) // 8, _padded_bytes(n_crawls)
    alive = np.zeros((shell, padded_bytes), dtype=np.uint8)
    words = alive.view(np.uint64)  # the same memory, for faster row operations
    every_crawl = np.zeros(padded_bytes, dtype=np.uint8)
    every_crawl[:n_bytes] = np.packbits(np.ones(n_crawls, dtype=np.uint8))
    histories = [np.tile(every_crawl.view(np.uint64), (core, 1))]
    for crawl in range(n_crawls):
        alive[:, crawl // 8] |= (rng.random(shell) < sampled_at[crawl]) * _bit(crawl)
        if crawl < n_crawls - 1:
            replaced = np.flatnonzero(rng.random(shell) >= survival[crawl])
            histories.append(_captured(words[replaced]))
            words[replaced] = 0
    packed = np.concatenate([*histories, _captured(words)]).view(np.uint8)
    return SimulatedHistories(packed[:, :n_bytes], n_crawls)


def _padded_bytes(n_crawls: int) -> int:
    """Return the number of bytes of whole 64-bit words that have a bit for each crawl."""
    return (n_crawls + 63) // 64 * 8


def _bit(crawl: int) -> np.uint8:
    return np.uint8(0x80 >> crawl % 8)


def _captured(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return words[words.any(axis=1)]


def simulate_revisit_delay(
    *, delays: npt.ArrayLike, elements: int, alpha: float, coverage: npt.ArrayLike, revisit_coverage: float, seed: int
) -> SimulatedHistories:
    """Simulate an urn with a revisit delay, element by element, from its steady state on.

    Parameters
    ----------
    delays
        Delay at each crawl, in crawls, whole numbers of at least 0; shape (crawls,).
    elements
        Elements in the urn at any one time.
    alpha, revisit_coverage
        As in `RevisitDelayUrn`.
    coverage
        As in `RevisitDelayUrn`; a scalar, or one per crawl.
    seed
        Equal seeds give equal histories.

    Raises
    ------
    ValueError
        When a number is out of range.

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
    never = delay.max() + 1
    since = np.full(elements, never)
    seen = np.zeros((elements, delay.size), dtype=np.bool_)
    left = []
    for crawl in np.maximum(np.arange(-_BURN_IN, delay.size), -1):
        fetched = rng.random(elements) < np.where(
            since <= delay[max(crawl, 0)], revisit_coverage, chance[max(crawl, 0)]
        )
        since = np.where(fetched, 1, since + 1)
        replaced = rng.random(elements) >= alpha
        since[replaced] = never
        if crawl >= 0:
            seen[:, crawl] = fetched
            left.append(np.packbits(seen[replaced], axis=1))
            seen[replaced] = False
    packed = np.concatenate([*left, np.packbits(seen, axis=1)])
    return SimulatedHistories(packed[packed.any(axis=1)], delay.size)
