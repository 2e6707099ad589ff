"""Count capture histories by stratum, from all presence partitions in every run.

Does not assign values to strata (`strata`); counts without strata use kept histories instead (`kept_histories`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.observables.history_arrays import (
    BITS,
    captured,
    combine,
    count_by_history,
    single_captures,
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

# Memory of a pass: keys and codes as read and as sorted, their order, and histories before and after sorting.
_BYTES_PER_ROW = 96


def count_by_stratum(
    partitions: Sequence[Partition],
    stratum: StratumSettings,
    *,
    memory_bytes: int = 2**32,
    report: Callable[[str], object] | None = None,
) -> dict[str, CaptureHistoryCounts]:
    """Count the elements of each stratum with each capture history.

    Parameters
    ----------
    partitions
        At least one; one per crawl, in time order.
    stratum
        Definition of the partitions' strata, and the rule for elements with several strata.
    memory_bytes
        Bound on the memory of the keys that are processed at once.
    report
        Receives lines of progress.

    Returns
    -------
    Counts of the non-empty strata, in order; every element is in exactly one stratum. If the partitions are samples,
    these are the sampled counts times ``one_in``.

    Raises
    ------
    ValueError
        If the partitions have other strata, too many strata or different sampling fractions, or one is replaced
        meanwhile.
    """
    one_in = common_sample(partitions)
    _check_strata(partitions, stratum)
    strata = stratum.in_order({label for partition in partitions for label in partition.strata})
    position = [np.array([strata.index(label) for label in one.strata], dtype=np.uint64) for one in partitions]
    alone = single_captures(range(len(partitions)), n_words=1 + (len(partitions) - 1) // BITS)
    rows = sum(one.rows for one in partitions)
    parts = 1 + rows * _BYTES_PER_ROW // memory_bytes
    progress = Progress("counting histories by stratum", rows, report) if report else None
    counts = []
    for part in range(parts):
        low, high = first_key(part, parts * one_in), first_key(part + 1, parts * one_in) - 1
        crawls, codes = zip(*(read_keys_and_strata(partition, low, high) for partition in partitions), strict=True)
        code_strata = [positions[found] for positions, found in zip(position, codes, strict=True)]
        keys, words = combine(crawls, alone)
        # The stratum becomes an extra word of the history, so both are counted in one pass.
        word = _element_strata(keys, crawls, code_strata, best=stratum.take == "best")
        counts.append(count_by_history(np.vstack([words, word])))
        if progress:
            progress.advance(sum(map(len, crawls)))
    if progress:
        progress.finish()
    totals = sum_by_history(counts)
    seen = captured(totals.words[:-1], range(len(partitions)))
    return {
        strata[number]: CaptureHistoryCounts(seen[inside], totals.elements[inside] * one_in)
        for number in np.unique(totals.words[-1])
        for inside in [totals.words[-1] == number]
    }


def read_element_strata(
    partitions: Sequence[Partition], stratum: StratumSettings, keys: IntArray
) -> npt.NDArray[np.str_]:
    """Return the label of the stratum of some keys, ascending, each in at least one partition."""
    strata = stratum.in_order({label for partition in partitions for label in partition.strata})
    crawls, codes = [], []
    for partition in partitions:
        position = np.array([strata.index(label) for label in partition.strata], dtype=np.uint64)
        crawl_keys, found = read_keys_and_strata(partition, int(keys[0]), int(keys[-1]))
        is_wanted = np.isin(crawl_keys, keys, assume_unique=True)
        crawls.append(crawl_keys[is_wanted])
        codes.append(position[found[is_wanted]])
    return np.array(strata)[_element_strata(keys, crawls, codes, best=stratum.take == "best").astype(np.intp)]


def _check_strata(partitions: Sequence[Partition], stratum: StratumSettings) -> None:
    for partition in partitions:
        if partition.stratum != stratum.partitioned_by:
            raise ValueError(
                f"{partition.path} has strata by {partition.stratum or 'nothing'}, expected {stratum.partitioned_by}: "
                "ingest the crawl again"
            )


def _element_strata(
    keys: IntArray, crawls: Sequence[IntArray], strata: Sequence[npt.NDArray[np.uint64]], *, best: bool
) -> npt.NDArray[np.uint64]:
    """Return the stratum of each key: in the first crawl that contains it or, if `best`, the lowest over all crawls.

    Parameters
    ----------
    keys
        All keys of the crawls, ascending.
    crawls, strata
        Keys of each crawl and their strata.
    """
    stratum = np.full(len(keys), np.iinfo(np.uint64).max, dtype=np.uint64)
    for crawl_keys, crawl_strata in zip(reversed(crawls), reversed(strata), strict=True):
        rows = np.searchsorted(keys, crawl_keys)
        stratum[rows] = np.minimum(stratum[rows], crawl_strata) if best else crawl_strata
    return stratum
