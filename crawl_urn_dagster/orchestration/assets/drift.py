"""Define the assets `parameter_history`, `window_lengths`, `drift` and `control_chart`.

Does not compute them (`parameter_history`, `window_lengths` and `drift` of `estimates`) or report drift (`checks`).
"""

from collections.abc import Iterator

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.asset_keys import asset_spec, assets_of, table_result
from crawl_urn_dagster.orchestration.assets.estimates import FITTED, read_estimated_collection
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
        file = home.observables
        fitted = read_estimated_collection(
            collection, file, ["quantities"], present=["parameter_history", "window_lengths"]
        )
        tables = fitted.by_window(
            window_crawls=collection.drift.window_crawls,
            step_crawls=collection.drift.step_crawls,
            own_fits=collection.fits,
        )
        file.replace(tables)
        windows = set(tables["parameter_history"]["inputs_sha256"])
        known = fitted.tables.get("parameter_history")
        new = windows if known is None else windows - set(known["inputs_sha256"])
        counts = {"windows": len(windows), "windows_fitted": len(new)}
        yield table_result(collection, "parameter_history", tables["parameter_history"], **counts)
        yield table_result(collection, "window_lengths", tables["window_lengths"])

    return parameter_history


def _drift(collection: Collection, home: CollectionHome) -> dg.AssetsDefinition:
    histories = ["capture_history_counts"] if collection.has_histories else []
    reads = ["parameters", *ASSESSMENT_TABLES, "population"]
    deps = ["crawls", *collection.fitted_observables, *histories, *reads]
    specs = [asset_spec(collection, home, name, kinds=FITTED, deps=deps) for name in ("drift", "control_chart")]

    @assets_of(collection, "drift", specs)
    def drift() -> Iterator[dg.MaterializeResult[None]]:
        tables = read_estimated_collection(collection, home.observables, reads).drift(
            window_crawls=collection.drift.window_crawls, reference_from=collection.drift.reference_from
        )
        home.observables.replace(tables)
        for name, table in tables.items():
            yield table_result(collection, name, table)

    return drift
