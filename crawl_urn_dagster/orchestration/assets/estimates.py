"""Define the assets `parameters` and the tables of the same step, `headline`, and the capture-recapture tables.

Does not fit models (`urn`), select fits or build tables (`estimates`), or check fits (`checks`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import (
    asset_spec,
    assets_of,
    column_lineage,
    home_of,
    numeric_metadata,
    table_result,
)

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.observables.database import ObservablesFile

#: Kinds of the assets that fits compute.
FITTED = {"scipy", "duckdb"}
#: Tables that the same step writes as `parameters` and `operator_terms`.
INFERENCE_TABLES = (
    "quantities",
    "classes",
    "population",
    "adequacy_tests",
    "candidate_models",
    "diagnosis",
    "model_comparison",
    "revisit_regimes",
    "kappa_profile",
)


def read_fitted_observables(
    collection: Collection, file: "ObservablesFile"
) -> "tuple[pd.DataFrame | None, pd.DataFrame | None]":
    """Read the tables `containment` and `discovery_curve`, each None if the source does not provide it."""
    return (
        file.read("containment") if collection.has_containment else None,
        file.read("discovery_curve") if collection.has_discovery_curve else None,
    )


def estimate_assets(collection: Collection) -> list[dg.AssetsDefinition]:
    """Return the assets of the fits, their diagnosis, and the headline."""
    assets = [_inference(collection), _headline(collection)]
    return [*assets, _capture_recapture(collection)] if collection.has_histories else assets


def _inference(collection: Collection) -> dg.AssetsDefinition:
    histories = ["capture_history_counts"] if collection.has_histories else []
    deps = ["crawls", *histories, *collection.fitted_observables]
    specs = [
        asset_spec(collection, name, kinds=FITTED, deps=deps)
        for name in ("parameters", "operator_terms", *INFERENCE_TABLES)
    ]

    @assets_of(collection, "parameters", specs)
    def parameters(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.collection_data import CollectionData
        from crawl_urn_dagster.estimates.diagnosis import read_verdict
        from crawl_urn_dagster.estimates.estimation import estimate
        from crawl_urn_dagster.estimates.strata import stack, stratum_tables
        from crawl_urn_dagster.observables.tables import read_capture_histories, read_strata

        file = home_of(context, collection).observables
        crawls = file.read("crawls")
        data = CollectionData(
            crawls,
            *read_fitted_observables(collection, file),
            collection.counting_error,
            read_capture_histories(file) if collection.has_histories else None,
        )
        tables = dict(estimate(data, clock=collection.clock, report=context.log.info).tables)
        fits = tables["parameters"].drop_duplicates(["projection", "model", "form", "clock", "first_crawl"])
        strata = read_strata(file) if collection.stratum else {}
        strata_tables = stratum_tables(crawls, strata, collection.counting_error, collection.clock)
        tables |= {name: stack([tables[name], *some]) for name, some in strata_tables.items()}
        file.replace(tables)
        for fit in fits.to_dict("records"):
            context.log.info(f"{fit['projection']}, {fit['model']}, {fit['form']}, {fit['clock']}: {fit['status']}")
        counts = {"fits": len(fits), "fits_ok": int((fits["status"] == "ok").sum())}
        counts |= {"strata": len(strata)} if strata else {}
        verdict = read_verdict(tables["diagnosis"])
        metadata: dict[str, dict[str, Any]] = {
            "parameters": counts,
            "operator_terms": counts,
            "diagnosis": {"verdict": verdict.name.value, "meaning": dg.MetadataValue.md(verdict.meaning)},
        }
        for name, table in tables.items():
            yield table_result(collection, name, table, **metadata.get(name, {}))

    return parameters


def _capture_recapture(collection: Collection) -> dg.AssetsDefinition:
    specs = [
        asset_spec(collection, name, kinds=FITTED, deps=["crawls", "capture_history_counts"])
        for name in ("capture_recapture", "per_crawl", "comparators")
    ]

    @assets_of(collection, "capture_recapture", specs)
    def capture_recapture(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
        from crawl_urn_dagster.observables.tables import read_capture_histories

        file = home_of(context, collection).observables
        tables = capture_recapture_tables(
            file.read("crawls"),
            read_capture_histories(file),
            clock=collection.clock,
            one_in=collection.sample_one_in,
        )
        file.replace(tables)
        for name, table in tables.items():
            yield table_result(collection, name, table)

    return capture_recapture


def _headline(collection: Collection) -> dg.AssetsDefinition:
    headline_spec = asset_spec(
        collection,
        "headline",
        kinds={"duckdb"},
        deps=["parameters"],
        description="The selected fit of the collection: a view of the headline rows of `parameters`.",
        columns_of="parameters",
    )

    @assets_of(collection, "headline", [headline_spec])
    def headline(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.headline import read_headline
        from crawl_urn_dagster.observables.tables import create_headline_view

        file = home_of(context, collection).observables
        create_headline_view(file)
        found = read_headline(file.read("parameters"))
        return dg.MaterializeResult(
            metadata={
                **column_lineage(collection, "headline"),
                "fit": found.fit_name,
                "status": found.status.value,
                "in_words": dg.MetadataValue.md(found.sentence),
                **numeric_metadata(**found.estimates),
                **numeric_metadata(**{f"{name}_low": low for name, (low, _) in found.intervals.items()}),
                **numeric_metadata(**{f"{name}_high": high for name, (_, high) in found.intervals.items()}),
            }
        )

    return headline
