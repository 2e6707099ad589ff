"""Define the assets `parameter_history`, `window_lengths`, `drift` and `control_chart`.

Does not compute them (`parameter_history`, `window_lengths` and `drift` of `estimates`) or report drift (`checks`).
"""

from collections.abc import Iterator

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED, read_fitted_observables, read_without_set_aside
from crawl_urn_dagster.orchestration.resources import CollectionHome


def drift_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets that track the parameters over time."""
    return [_history(collection, home), _drift(collection, home)]


def _history(collection: Collection, home: CollectionHome) -> dg.AssetsDefinition:
    observed = ["crawls", *collection.fitted_observables]
    histories = ["capture_history_counts"] if collection.has_histories else []
    specs = [
        asset_spec(collection, home, "parameter_history", kinds=FITTED, deps=observed),
        asset_spec(collection, home, "window_lengths", kinds=FITTED, deps=[*observed, "quantities", *histories]),
    ]

    @assets_of(collection, "parameter_history", specs)
    def parameter_history() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.parameter_history import parameter_history_table
        from crawl_urn_dagster.estimates.window_lengths import window_lengths_table
        from crawl_urn_dagster.observables.tables import read_capture_histories

        file = home.observables
        present = file.read_present(["parameter_history", "window_lengths"])
        known, quantities = present.get("parameter_history"), file.read("quantities")
        tables = file.read("crawls"), *read_fitted_observables(collection, file)
        table = parameter_history_table(
            *tables,
            known,
            clock=collection.clock,
            error=collection.counting_error,
            window_crawls=collection.drift.window_crawls,
            step_crawls=collection.drift.step_crawls,
            own_fits=collection.fits,
        )
        lengths = window_lengths_table(
            *tables,
            present.get("window_lengths"),
            histories=read_capture_histories(file) if collection.has_histories else None,
            model=str(quantities["model"].iloc[0]) if len(quantities) else None,
            error=collection.counting_error,
        )
        file.replace({"parameter_history": table, "window_lengths": lengths})
        windows = table["inputs_sha256"].unique()
        fitted = len(windows) if known is None else len(set(windows) - set(known["inputs_sha256"]))
        yield table_result(collection, "parameter_history", table, windows=len(windows), windows_fitted=fitted)
        yield table_result(collection, "window_lengths", lengths)

    return parameter_history


def _drift(collection: Collection, home: CollectionHome) -> dg.AssetsDefinition:
    histories = ["capture_history_counts"] if collection.has_histories else []
    specs = [
        asset_spec(
            collection,
            home,
            name,
            kinds=FITTED,
            deps=[
                *("crawls", "parameters", *ASSESSMENT_TABLES, "population", *histories),
                *collection.fitted_observables,
            ],
        )
        for name in ("drift", "control_chart")
    ]

    @assets_of(collection, "drift", specs)
    def drift() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.assessment.reading import read_assessment, refitted_curves_withheld_reason
        from crawl_urn_dagster.estimates.drift import drift_tables
        from crawl_urn_dagster.estimates.headline import read_headline

        file = home.observables
        headline = read_headline(file.read("parameters"))
        assessed = {name: file.read(name) for name in ASSESSMENT_TABLES}
        tables = drift_tables(
            file.read("crawls"),
            *read_fitted_observables(collection, file),
            clock=collection.clock,
            error=collection.counting_error,
            window_crawls=collection.drift.window_crawls,
            reference_from=collection.drift.reference_from,
            unreported_reason=refitted_curves_withheld_reason(headline, read_assessment(assessed)),
            population=file.read("population"),
            **read_without_set_aside(collection, file),
        )
        file.replace(tables)
        for name, table in tables.items():
            yield table_result(collection, name, table)

    return drift
