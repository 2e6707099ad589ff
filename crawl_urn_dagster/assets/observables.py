"""From presence to the observable tables.

Here: assets `capture_history_counts`, `discovery_curve`, `containment`, `m_array`, `first_returns` of a collection
that has presence lists. Not here: the counting itself (`observables`), or sources that publish counts
(`assets.source`).
"""

from collections.abc import Iterator

import dagster as dg

from crawl_urn_dagster.collection import Collection
from crawl_urn_dagster.specs import asset_key, asset_spec, assets_of, home_of

_FROM_HISTORIES = ("discovery_curve", "containment", "m_array", "first_returns")


def observable_assets(collection: Collection) -> list[dg.AssetsDefinition]:
    """Assets from presence to observable tables; none where the source publishes the tables itself."""
    if not collection.has_histories:
        return []
    counts_spec = asset_spec(collection, "capture_history_counts", kinds={"duckdb"}, deps=["presence", "crawls"])

    @assets_of(collection, "capture_history_counts", [counts_spec])
    def capture_history_counts(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.observables.tables import count_capture_histories, read_capture_histories

        home = home_of(context, collection)
        count_capture_histories(home.observables, home.presence)
        counts = read_capture_histories(home.observables)
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": len(counts.elements),
                "distinct_elements": counts.distinct_elements,
            }
        )

    specs = [
        asset_spec(collection, name, kinds={"duckdb"}, deps=["crawls", "capture_history_counts"])
        for name in _FROM_HISTORIES
    ]

    @assets_of(collection, "observables", specs)
    def observables(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.observables.tables import read_capture_histories, tables_from_histories

        file = home_of(context, collection).observables
        frames = tables_from_histories(file.read("crawls"), read_capture_histories(file))
        file.replace(frames)
        for name in _FROM_HISTORIES:
            yield dg.MaterializeResult(
                asset_key=asset_key(collection, name), metadata={"dagster/row_count": len(frames[name])}
            )

    return [capture_history_counts, observables]
