"""Count the elements that were not released after their capture, by capture history, from presence partitions.

Does not count histories (`kept_histories`, `stratum_counts`) or estimate anything (`urn.capture_recapture`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.presence import common_sample, read_keys, read_lost_keys
from crawl_urn_dagster.observables.stratum_counts import read_element_strata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.observables.strata import StratumSettings
    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, IntArray

_Stratum = TypeVar("_Stratum", str, str | None)


def with_losses(
    partitions: Sequence[Partition],
    counts: Mapping[_Stratum, CaptureHistoryCounts],
    stratum: StratumSettings | None = None,
) -> dict[_Stratum, CaptureHistoryCounts]:
    """Return the counts of each stratum with the elements that were lost; unchanged if the lists mark none.

    Parameters
    ----------
    partitions
        Partitions that were counted, in time order.
    counts
        Capture-history counts by stratum; the key None is the whole collection.
    stratum
        Definition of the strata; None without strata.

    Raises
    ------
    ValueError
        If a later crawl captures an element that was lost.
    """
    lost = [read_lost_keys(partition) for partition in partitions]
    keys = np.unique(np.concatenate(lost))
    if not keys.size:
        return dict(counts)
    seen = np.array([_contains(read_keys(one, int(keys[0]), int(keys[-1])), keys) for one in partitions]).T
    _check_not_captured_again(partitions, lost, keys, seen)
    labels = None if stratum is None else read_element_strata(partitions, stratum, keys)
    one_in = common_sample(partitions)
    return {
        name: replace(of, lost=one_in * _lost_by_history(of, seen if labels is None else seen[labels == name]))
        for name, of in counts.items()
    }


def _contains(sorted_keys: IntArray, keys: IntArray) -> BoolArray:
    return np.isin(keys, sorted_keys, assume_unique=True)


def _check_not_captured_again(
    partitions: Sequence[Partition], lost: Sequence[IntArray], keys: IntArray, seen: BoolArray
) -> None:
    for crawl, (partition, lost_keys) in enumerate(zip(partitions, lost, strict=True)):
        again = seen[np.searchsorted(keys, lost_keys), crawl + 1 :]
        if again.any():
            later = partitions[crawl + 1 + int(again.any(axis=0).argmax())].crawl
            raise ValueError(
                f"{count_noun(int(again.any(axis=1).sum()), 'element')} marked as lost at {partition.crawl}: captured "
                f"again, first at {later}; expected no capture after a loss: correct the column 'lost'"
            )


def _lost_by_history(counts: CaptureHistoryCounts, seen: BoolArray) -> IntArray:
    """Count lost elements by the histories of counts."""
    row = {history.tobytes(): number for number, history in enumerate(np.packbits(counts.seen, axis=1))}
    rows = [row[history.tobytes()] for history in np.packbits(seen, axis=1)]
    return np.bincount(np.array(rows, dtype=np.intp), minlength=len(counts.elements))
