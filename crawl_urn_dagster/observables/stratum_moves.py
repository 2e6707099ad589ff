"""Count the elements that move between strata from one crawl to the next.

Does not assign strata to elements for estimates, which never change (`stratum_counts`), or fit moves (`urn.curves`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.observables.keys import first_key
from crawl_urn_dagster.observables.presence import common_sample, read_keys_and_strata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.observables.strata import StratumSettings
    from crawl_urn_dagster.urn.data.histories import IntArray

# Memory of a part: keys and codes of two crawls, their positions, and the combined codes.
_BYTES_PER_ROW = 64


def count_stratum_moves(
    partitions: Sequence[Partition], stratum: StratumSettings, *, memory_bytes: int = 2**32
) -> tuple[list[str], IntArray]:
    """Count the elements of each consecutive pair of crawls by their stratum in both.

    Parameters
    ----------
    partitions
        At least one; one per crawl, in time order.
    stratum
        Definition of the partitions' strata.
    memory_bytes
        Bound on the memory of the keys that are processed at once.

    Returns
    -------
    The strata in order, and counts of shape (crawls - 1, strata + 1, strata + 1), from the stratum of the second axis
    to the position in the third. The last position is *not captured*. If the partitions are samples, these are the
    sampled counts times ``one_in``.
    """
    one_in = common_sample(partitions)
    strata = stratum.in_order({label for partition in partitions for label in partition.strata})
    position = [np.array([strata.index(label) for label in one.strata], dtype=np.int64) for one in partitions]
    n = len(strata) + 1
    moves = np.zeros((len(partitions) - 1, n, n), dtype=np.int64)
    parts = 1 + 2 * max(one.rows for one in partitions) * _BYTES_PER_ROW // memory_bytes
    for part in range(parts):
        low, high = first_key(part, parts * one_in), first_key(part + 1, parts * one_in) - 1
        keys, codes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        for pair, (partition, positions) in enumerate(zip(partitions, position, strict=True), start=-1):
            next_keys, found = read_keys_and_strata(partition, low, high)
            next_codes = positions[found]
            if pair >= 0:
                moves[pair] += _count(keys, codes, next_keys, next_codes, n)
            keys, codes = next_keys, next_codes
    return strata, moves * one_in


def _count(keys: IntArray, codes: IntArray, next_keys: IntArray, next_codes: IntArray, n: int) -> IntArray:
    """Count the elements of two crawls by their codes; both lists of keys are ascending."""
    _, here, there = np.intersect1d(keys, next_keys, assume_unique=True, return_indices=True)
    both = np.bincount(codes[here] * n + next_codes[there], minlength=n * n).reshape(n, n)
    both[:, -1] += np.bincount(codes, minlength=n) - both.sum(axis=1)
    both[-1, :-1] += (np.bincount(next_codes, minlength=n) - both.sum(axis=0))[:-1]
    return both
