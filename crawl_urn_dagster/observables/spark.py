"""Count capture histories on Spark from presence partitions.

Does not configure the engine (`engines`); `kept_histories` computes the same counts on one machine.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.observables.history_arrays import BITS, captured
from crawl_urn_dagster.observables.presence import common_sample
from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.observables.presence import Partition


def count_histories(partitions: Sequence[Partition], master: str, settings: Mapping[str, str]) -> CaptureHistoryCounts:
    """Count the elements with each capture history; see `kept_histories.KeptHistories.count`.

    Uses an active session if there is one, and otherwise creates one and stops it at the end.

    Parameters
    ----------
    partitions
        At least one; one per crawl, in time order.
    master, settings
        See `engines.SparkEngine`.

    Raises
    ------
    ValueError
        If the partitions have different sampling fractions.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    one_in = common_sample(partitions)
    words = [f"word{word}" for word in range(1 + (len(partitions) - 1) // BITS)]
    active = SparkSession.getActiveSession()
    builder = SparkSession.builder.master(master).appName("crawl_urn_dagster").config(map=dict(settings))
    session = active or builder.getOrCreate()
    try:
        crawls = [
            session.read.parquet(str(partition.path)).select(
                "key", *(f.lit(_bit(slot, word)).cast("long").alias(name) for word, name in enumerate(words))
            )
            for slot, partition in enumerate(partitions)
        ]
        histories = reduce(lambda left, right: left.unionAll(right), crawls).groupBy("key")
        counts = histories.agg(*(f.bit_or(name).alias(name) for name in words)).groupBy(*words).count()
        rows = np.array(counts.collect(), dtype=np.int64).reshape(-1, len(words) + 1)
    finally:
        if active is None:
            session.stop()
    history = np.ascontiguousarray(rows[:, :-1].T).view(np.uint64)
    return CaptureHistoryCounts(captured(history, range(len(partitions))), rows[:, -1] * one_in)


def _bit(slot: int, word: int) -> int:
    """Return one word of the history of an element in one crawl alone, signed because Spark has no unsigned type."""
    if slot // BITS != word:
        return 0
    return int(np.uint64(1 << slot % BITS).astype(np.int64))
