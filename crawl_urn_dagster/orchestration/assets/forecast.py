"""Define the assets `forecast`, `last_crawl`, `planning` and `equal_budget`.

Does not compute them; see `estimates.forecast`, `estimates.last_crawl` and `estimates.planning`.
"""

from collections.abc import Iterator

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED, read_estimated_collection
from crawl_urn_dagster.orchestration.resources import CollectionHome


def forecast_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets on future crawls."""
    observables = ["crawls", *collection.fitted_observables]
    observables += ["capture_history_counts"] if collection.has_histories else []
    forecast_reads = ["quantities", "adequacy_tests", "population"]
    forecast_specs = [
        asset_spec(collection, home, name, kinds=FITTED, deps=[*observables, *forecast_reads])
        for name in ("forecast", "last_crawl")
    ]
    planning_reads = ["parameters", *ASSESSMENT_TABLES, "classes"]
    planning_specs = [
        asset_spec(collection, home, name, kinds=FITTED, deps=[*observables, *planning_reads])
        for name in ("planning", "equal_budget")
    ]

    @assets_of(collection, "forecast", forecast_specs)
    def forecast() -> Iterator[dg.MaterializeResult[None]]:
        tables = read_estimated_collection(collection, home.observables, forecast_reads).forecast()
        home.observables.replace(tables)
        for name, one in tables.items():
            yield table_result(collection, name, one)

    @assets_of(collection, "planning", planning_specs)
    def planning() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.planning import unplanned_reason

        fitted = read_estimated_collection(collection, home.observables, planning_reads)
        tables = fitted.planning()
        home.observables.replace(tables)
        reason = unplanned_reason(fitted.tables["quantities"])
        for name, table in tables.items():
            yield table_result(collection, name, table, **({} if reason is None else {"reason": reason}))

    return [forecast, planning]
