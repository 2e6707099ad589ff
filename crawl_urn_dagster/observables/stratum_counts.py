"""Capture-history counts by stratum, from all presence partitions each time.

Here: the stratum of each key over the crawls, and counting by passes over ranges of keys. Not here: the stratum of a
value (`strata`), or counts without strata, for which histories are kept (`histories`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.observables.history_arrays import (
    BITS,
    captured,
    combine,
    count_by_history,
    history,
    sum_by_history,
)
from crawl_urn_dagster.observables.keys import first_key
from crawl_urn_dagster.observables.presence import common_sample, read_keys_and_strata
from crawl_urn_dagster.progress import Progress
from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.observables.strata import StratumSettings
    from crawl_urn_dagster.urn.data.histories import IntArray

# Of a pass: keys and codes as they were read and as they are sorted, their order, histories before and after sorting.
_BYTES_PER_ROW = 96


def count_by_stratum(
    partitions: Sequence[Partition],
    stratum: StratumSettings,
    *,
    memory_bytes: int = 2**32,
    report: Callable[[str], object] | None = None,
) -> dict[str, CaptureHistoryCounts]:
    """Count how many elements of each stratum have each history.

    Parameters
    ----------
    partitions
        At least one; one per crawl, in time order.
    stratum
        What the partitions' strata are of, and which of an element's strata counts.
    memory_bytes
        Bound on what is worked on at once.
    report
        Takes lines of progress.

    Returns
    -------
    Counts by stratum, in the order of strata, of those that have any element; together, every element once. Multiples
    of the sampling factor when the partitions are samples.

    Raises
    ------
    ValueError
        When the partitions are of other strata, too many, samples of different sizes, or one is replaced meanwhile.
    """
    one_in = common_sample(partitions)
    for partition in partitions:
        if partition.stratum != stratum.partitioned_by:
            raise ValueError(
                f"{partition.path} has strata by {partition.stratum or 'nothing'}, expected {stratum.partitioned_by}: "
                "ingest the crawl again"
            )
    strata = stratum.in_order({label for partition in partitions for label in partition.strata})
    position = [np.array([strata.index(label) for label in one.strata], dtype=np.uint64) for one in partitions]
    n_words = 1 + (len(partitions) - 1) // BITS
    alone = np.hstack([history([slot], n_words) for slot in range(len(partitions))])
    rows = sum(partition.rows for partition in partitions)
    parts = 1 + rows * _BYTES_PER_ROW // memory_bytes
    progress = Progress("counting histories by stratum", rows, report) if report else None
    counts = []
    for part in range(parts):
        low, high = first_key(part, parts * one_in), first_key(part + 1, parts * one_in) - 1
        read = [read_keys_and_strata(partition, low, high) for partition in partitions]
        crawls = [keys for keys, _ in read]
        found = [of_crawl[codes] for of_crawl, (_, codes) in zip(position, read, strict=True)]
        keys, words = combine(crawls, alone)
        # The stratum is one word more of the history.
        word = _stratum_of(keys, crawls, found, best=stratum.take == "best")
        counts.append(count_by_history(np.vstack([words, word])))
        if progress:
            progress.advance(sum(map(len, crawls)))
    if progress:
        progress.finish()
    counted = sum_by_history(counts)
    seen = captured(counted.words[:-1], range(len(partitions)))
    return {
        strata[number]: CaptureHistoryCounts(seen[inside], counted.elements[inside] * one_in)
        for number in np.unique(counted.words[-1])
        for inside in [counted.words[-1] == number]
    }


def _stratum_of(
    keys: IntArray, crawls: Sequence[IntArray], strata: Sequence[npt.NDArray[np.uint64]], *, best: bool
) -> npt.NDArray[np.uint64]:
    """Stratum of each key: that of the first of the crawls that has it, or the lowest of all.

    Parameters
    ----------
    keys
        All keys of the crawls, ascending.
    crawls, strata
        The keys of each crawl, and the stratum of each.
    """
    stratum = np.full(len(keys), np.iinfo(np.uint64).max, dtype=np.uint64)
    for of_crawl, found in zip(reversed(crawls), reversed(strata), strict=True):
        at = np.searchsorted(keys, of_crawl)
        stratum[at] = np.minimum(stratum[at], found) if best else found
    return stratum
