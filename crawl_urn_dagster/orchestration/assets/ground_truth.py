"""Define the assets that hold a collection against the operator's own counters.

Does not read the counters (`sources`) or compare them (`estimates.ground_truth`, `estimates.counter_changes`).
"""

from collections.abc import Iterator

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.sources import CounterSource

#: Tables that a collection with counters has.
GROUND_TRUTH_TABLES = ("ground_truth", "ground_truth_comparison", "counter_changes")
_READ = ("crawls", "parameters", "parameter_history", "drift", "adequacy_tests", "last_crawl")


def ground_truth_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets of a collection that is compared with counters."""
    return [] if collection.ground_truth is None else [_ground_truth(collection, home, collection.ground_truth)]


def _ground_truth(collection: Collection, home: CollectionHome, counters: CounterSource) -> dg.AssetsDefinition:
    read = [*_READ, *(["discovery_curve"] if collection.has_discovery_curve else [])]
    read += ["population"] if collection.has_histories else []
    specs = [asset_spec(collection, home, name, kinds=FITTED, deps=read) for name in GROUND_TRUTH_TABLES]

    @assets_of(collection, "ground_truth", specs)
    def ground_truth() -> Iterator[dg.MaterializeResult[None]]:
        import pandas as pd

        from crawl_urn_dagster.estimates.counter_changes import counter_changes_table, found_at
        from crawl_urn_dagster.estimates.ground_truth import comparison_table, delay_history, ground_truth_table

        tables = home.observables.read_all(read)
        crawls = tables["crawls"]
        counted = ground_truth_table(
            counters.read_counters(home.files), crawls, population=counters.population, new=counters.new
        )
        fits = [tables["parameters"], tables["parameter_history"]]
        if not collection.has_histories and collection.has_discovery_curve:
            fits.append(
                delay_history(
                    crawls,
                    tables["discovery_curve"],
                    error=collection.counting_error,
                    window_crawls=collection.drift.window_crawls,
                    step_crawls=collection.drift.step_crawls,
                )
            )
        found = found_at(crawls["crawl"].tolist(), tables["drift"], tables["adequacy_tests"], tables["last_crawl"])
        every_fit = pd.concat([table.astype(object) for table in fits if len(table)], ignore_index=True)
        results = {
            "ground_truth": counted,
            "ground_truth_comparison": comparison_table(counted, crawls, every_fit, tables.get("population")),
            "counter_changes": counter_changes_table(counted, found, divide_by=counters.divide_by),
        }
        home.observables.replace(results)
        for name, table in results.items():
            yield table_result(collection, name, table)

    return ground_truth
