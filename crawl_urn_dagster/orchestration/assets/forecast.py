"""Define the assets `forecast`, `last_crawl`, `planning` and `equal_budget`.

Does not compute them; see `estimates.forecast`, `estimates.last_crawl` and `estimates.planning`.
"""

from collections.abc import Iterator

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED, read_fitted_observables, read_without_set_aside
from crawl_urn_dagster.orchestration.resources import CollectionHome


def forecast_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets on future crawls."""
    observables = ["crawls", *collection.fitted_observables]
    histories = ["capture_history_counts"] if collection.has_histories else []
    forecast_spec, last_crawl_spec = (
        asset_spec(
            collection,
            home,
            name,
            kinds=FITTED,
            deps=["crawls", "quantities", "adequacy_tests", *used, *histories, *collection.fitted_observables],
        )
        for name, used in (("forecast", []), ("last_crawl", ["population"]))
    )
    planning_deps = ["parameters", *ASSESSMENT_TABLES, "classes", *observables, *histories]
    planning_specs = [
        asset_spec(collection, home, name, kinds=FITTED, deps=planning_deps) for name in ("planning", "equal_budget")
    ]

    @assets_of(collection, "forecast", [forecast_spec, last_crawl_spec])
    def forecast() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.forecast import forecast_table
        from crawl_urn_dagster.estimates.last_crawl import last_crawl_table
        from crawl_urn_dagster.observables.tables import read_capture_histories

        file = home.observables
        observed = file.read("crawls"), *read_fitted_observables(collection, file)
        histories = read_capture_histories(file) if collection.has_histories else None
        tests = file.read("adequacy_tests")
        table = forecast_table(*observed, quantities=file.read("quantities"), histories=histories, tests=tests)
        tables = {
            "forecast": table,
            "last_crawl": last_crawl_table(
                *observed, forecast=table, population=file.read("population"), histories=histories, tests=tests
            ),
        }
        file.replace(tables)
        for name, one in tables.items():
            yield table_result(collection, name, one)

    @assets_of(collection, "planning", planning_specs)
    def planning() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.assessment.reading import read_assessment, refitted_curves_withheld_reason
        from crawl_urn_dagster.estimates.headline import read_headline
        from crawl_urn_dagster.estimates.planning import planning_tables, unplanned_reason

        file = home.observables
        headline = read_headline(file.read("parameters"))
        assessed = {name: file.read(name) for name in ASSESSMENT_TABLES}
        quantities = assessed["quantities"]
        tables = planning_tables(
            file.read("crawls"),
            *read_fitted_observables(collection, file),
            clock=collection.clock,
            error=collection.counting_error,
            reported=refitted_curves_withheld_reason(headline, read_assessment(assessed)) is None,
            quantities=quantities,
            classes=file.read("classes"),
            **read_without_set_aside(collection, file),
        )
        file.replace(tables)
        reason = unplanned_reason(quantities)
        for name, table in tables.items():
            yield table_result(collection, name, table, **({} if reason is None else {"reason": reason}))

    return [forecast, planning]
