"""Define the assets `forecast` and `planning`.

Does not compute them; see `estimates.forecast`.
"""

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, home_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED, read_fitted_observables


def forecast_assets(collection: Collection) -> list[dg.AssetsDefinition]:
    """Return the assets on future crawls."""
    observables = ["crawls", *collection.fitted_observables]
    histories = ["capture_history_counts"] if collection.has_histories else []
    forecast_spec = asset_spec(
        collection, "forecast", kinds=FITTED, deps=["crawls", "quantities", *histories, *collection.fitted_observables]
    )
    planning_spec = asset_spec(
        collection, "planning", kinds=FITTED, deps=["parameters", "diagnosis", "quantities", "classes", *observables]
    )

    @assets_of(collection, "forecast", [forecast_spec])
    def forecast(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.forecast import forecast_table
        from crawl_urn_dagster.observables.tables import read_capture_histories

        file = home_of(context, collection).observables
        table = forecast_table(
            file.read("crawls"),
            *read_fitted_observables(collection, file),
            quantities=file.read("quantities"),
            histories=read_capture_histories(file) if collection.has_histories else None,
        )
        file.replace({"forecast": table})
        return table_result(collection, "forecast", table)

    @assets_of(collection, "planning", [planning_spec])
    def planning(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.assessment.reading import curves_withheld_reason
        from crawl_urn_dagster.estimates.diagnosis import read_verdict
        from crawl_urn_dagster.estimates.forecast import planning_table, unplanned_reason
        from crawl_urn_dagster.estimates.headline import read_headline

        file = home_of(context, collection).observables
        headline, verdict = read_headline(file.read("parameters")), read_verdict(file.read("diagnosis"))
        quantities = file.read("quantities")
        table = planning_table(
            file.read("crawls"),
            *read_fitted_observables(collection, file),
            clock=collection.clock,
            error=collection.counting_error,
            reported=curves_withheld_reason(headline, verdict) is None,
            quantities=quantities,
            classes=file.read("classes"),
        )
        file.replace({"planning": table})
        reason = unplanned_reason(quantities)
        return table_result(collection, "planning", table, **({} if reason is None else {"reason": reason}))

    return [forecast, planning]
