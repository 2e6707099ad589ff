"""Choose the pairs, windows and blocks of pairs that fits of long collections use.

T crawls have T²/2 pairs and as many windows. Up to `LONGEST_COMPLETE` crawls, fits have a point for each. In a longer
collection the number of points grows with T: the joint fit adds up the counts of neighbouring pairs in blocks, small
ones at short lags and larger ones at long lags, and fits to single pairs and windows use an even selection of them.
Fits to means by lag use the means over all pairs.

Does not thin observables, which stay complete; see `observables`.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import BoolArray, IntArray

#: Number of crawls up to which fits use all pairs and windows.
LONGEST_COMPLETE = 100
# Largest number of single pairs, and of single windows, that fits of longer collections use.
_MOST_PAIRS = 8_000
# Number of start crawls from which some are left out, because a fit follows the windows of each.
_MANY_STARTS = 120
_MOST_WINDOWS = 32
# Lag of the nearest pairs that are counted in blocks, in sides of a block. With it, intervals of joint fits of 80
# crawls move by less than a tenth of their width.
_SIDES_APART = 12


def is_long(n_crawls: int) -> bool:
    """Whether a collection is too long for fits of all its pairs and windows."""
    return n_crawls > LONGEST_COMPLETE


def kept_windows(n_crawls: int) -> BoolArray:
    """Return whether fits to single windows use a window, by first and last crawl, shape (n_crawls, n_crawls).

    Of a long collection they use one in k windows of each lag and of each last crawl, and at most 239 first crawls. All
    lags and last crawls therefore keep their weight.

    Examples
    --------
    >>> int(kept_windows(100).sum()), int(kept_windows(1_000).sum()) < 8_000
    (5050, True)
    """
    # If k is odd, the windows with (first + 2 lag) mod k = 0 are as many of each first crawl, last crawl and lag.
    apart = max(n_crawls // _MANY_STARTS, 1) if is_long(n_crawls) else 1
    one_in = -(-(n_crawls**2) // (2 * _MOST_PAIRS)) | 1 if is_long(n_crawls) else 1
    start = np.arange(n_crawls)[:, None]
    lag = np.arange(n_crawls) - start
    every = -(-one_in // apart) | 1
    while gcd(every, 2 * apart - 1) > 1:  # some last crawls would have no window
        every += 2
    return np.asarray((start % apart == 0) & ((start // apart + 2 * lag) % every == 0) & (lag >= 0))


def kept_pairs(n_crawls: int) -> BoolArray:
    """Return whether fits to single pairs use a pair, by first and last crawl, shape (n_crawls, n_crawls).

    These are the pairs of `kept_windows`, without the diagonal.
    """
    return np.asarray(np.triu(kept_windows(n_crawls), 1))


def window_starts(n_crawls: int, window_crawls: int, step_crawls: int) -> list[int]:
    """Return the first crawls of the rolling windows that are fitted.

    In a long collection the step is doubled until at most 32 windows are left, so a window that was fitted stays one
    when crawls are added, or is dropped. The latest window is always fitted.

    Examples
    --------
    >>> window_starts(29, 24, 2)
    [0, 2, 4]
    >>> window_starts(230, 24, 1)[:3], window_starts(230, 24, 1)[-2:]
    ([0, 8, 16], [200, 206])
    """
    latest, step = n_crawls - window_crawls, step_crawls
    if not is_long(n_crawls) or latest < 0:
        return list(range(0, latest + 1, step))
    while latest // step >= _MOST_WINDOWS:
        step *= 2
    return sorted({*range(0, latest + 1, step), latest})


def blocks_of_pairs(known: BoolArray) -> IntArray:
    """Partition known pairs into square blocks whose side is at most a twelfth of their lag.

    Parameters
    ----------
    known
        Whether a pair i < j is known, shape (n_crawls, n_crawls). A block with an unknown pair is divided.

    Returns
    -------
    ndarray
        First earlier crawl, first later crawl and side of each block, shape (3, n_blocks).

    Examples
    --------
    >>> i, j, m = blocks_of_pairs(np.triu(np.ones((200, 200), dtype=bool), 1))
    >>> int((m**2).sum()), len(m) < 6_000
    (19900, True)
    """
    n = len(known)
    size = 1 << max((n // _SIDES_APART).bit_length() - 1, 0)
    a, b = np.triu_indices(-(-n // size))
    found = []
    while size >= 1:
        inside = n // size
        complete = known[: inside * size, : inside * size].reshape(inside, size, inside, size).all(axis=(1, 3))
        is_whole = (b < inside) & (a < b) & ((b - a >= _SIDES_APART) | (size == 1))
        is_whole[is_whole] = complete[a[is_whole], b[is_whole]]
        found.append(np.stack([a[is_whole] * size, b[is_whole] * size, np.full(is_whole.sum(), size)]))
        a, b = a[~is_whole], b[~is_whole]
        a = np.concatenate([2 * a, 2 * a, 2 * a + 1, 2 * a + 1])
        b = np.concatenate([2 * b, 2 * b + 1, 2 * b, 2 * b + 1])
        is_pair = a <= b
        a, b, size = a[is_pair], b[is_pair], size // 2
    return np.concatenate(found[::-1], axis=1)
