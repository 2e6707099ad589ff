"""Define the observable tables of a collection with presence lists.

These are `capture_history_counts`, `discovery_curve`, `containment`, `m_array` and `first_returns`. Does not count
(`observables`) or read sources that publish counts (`assets.source`).
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    from pathlib import Path

    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.urn import CaptureHistoryCounts

_FROM_HISTORIES = ("discovery_curve", "containment", "m_array", "first_returns")


def observable_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets of the observables; none if the source publishes the tables itself."""
    if not collection.has_histories:
        return []
    counts_spec = asset_spec(
        collection,
        home,
        "capture_history_counts",
        kinds={collection.engine.type, "duckdb"},
        deps=["presence", "crawls"],
    )

    @assets_of(collection, "capture_history_counts", [counts_spec])
    def capture_history_counts() -> dg.MaterializeResult[None]:
        import pandas as pd

        from crawl_urn_dagster.observables.tables import capture_history_counts_table

        partitions = home.presence.read_all(home.observables.read("crawls")["crawl"])
        by_stratum = _count_by_stratum(collection, partitions, home.histories)
        elements = sum(counts.distinct_elements for counts in by_stratum.values())
        if not elements:
            raise ValueError(
                f"no crawl of {collection.name} has an element in a sample of one in {collection.sample_one_in}: check "
                "the lists, or choose a smaller sample_one_in"
            )
        table = pd.concat([capture_history_counts_table(counts, stratum) for stratum, counts in by_stratum.items()])
        home.observables.replace({"capture_history_counts": table})
        return table_result(
            collection,
            "capture_history_counts",
            table,
            distinct_elements=elements,
            engine=collection.engine.type,
            **({"strata": len(by_stratum)} if collection.stratum else {}),
        )

    specs = [
        asset_spec(collection, home, name, kinds={"duckdb"}, deps=["crawls", "capture_history_counts"])
        for name in _FROM_HISTORIES
    ]

    @assets_of(collection, "observables", specs)
    def observables() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.observables.tables import read_capture_histories, tables_from_histories

        file = home.observables
        frames = tables_from_histories(file.read("crawls"), read_capture_histories(file), collection.counting_error)
        file.replace(frames)
        for name in _FROM_HISTORIES:
            yield table_result(collection, name, frames[name])

    return [capture_history_counts, observables]


def _count_by_stratum(
    collection: Collection, partitions: "list[Partition]", state: "Path"
) -> "Mapping[str | None, CaptureHistoryCounts]":
    """Count histories by stratum; the key None is the whole collection if it has no strata."""
    from crawl_urn_dagster.observables.losses import with_losses
    from crawl_urn_dagster.observables.stratum_counts import count_by_stratum

    report, memory = dg.get_dagster_logger().info, collection.memory_bytes
    if collection.stratum is None:
        counts = collection.engine.count_histories(partitions, state=state, memory_bytes=memory, report=report)
        return with_losses(partitions, {None: counts})
    by_stratum = count_by_stratum(partitions, collection.stratum, memory_bytes=memory, report=report)
    return dict(with_losses(partitions, by_stratum, collection.stratum).items())
