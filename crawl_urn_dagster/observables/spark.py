"""Capture-history counts on Spark, from the same partitions.

Here: the one query, and its session. Not here: configuration (`engines`), or the same counts on this machine
(`histories`).
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
    """Count how many elements have each history; arguments and result as of `histories.KeptHistories.count`.

    A session that is there is used and left; else one is made, and stopped at the end.

    Raises
    ------
    ValueError
        When the partitions are samples of different sizes.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    one_in = common_sample(partitions)
    words = [f"word{word}" for word in range(1 + (len(partitions) - 1) // BITS)]
    found = SparkSession.getActiveSession()
    builder = SparkSession.builder.master(master).appName("crawl_urn_dagster").config(map=dict(settings))
    session = found or builder.getOrCreate()
    try:
        crawls = [
            session.read.parquet(str(partition.path)).select(
                "key", *(f.lit(_bit(slot, word)).cast("long").alias(name) for word, name in enumerate(words))
            )
            for slot, partition in enumerate(partitions)
        ]
        histories = reduce(lambda some, more: some.unionAll(more), crawls).groupBy("key")
        counts = histories.agg(*(f.bit_or(name).alias(name) for name in words)).groupBy(*words).count()
        rows = np.array(counts.collect(), dtype=np.int64).reshape(-1, len(words) + 1)
    finally:
        if found is None:
            session.stop()
    history = np.ascontiguousarray(rows[:, :-1].T).view(np.uint64)
    return CaptureHistoryCounts(captured(history, range(len(partitions))), rows[:, -1] * one_in)


def _bit(slot: int, word: int) -> int:
    """One word of the history of an element that is in one crawl alone, as a signed number, which Spark's are."""
    if slot // BITS != word:
        return 0
    return int(np.uint64(1 << slot % BITS).astype(np.int64))
