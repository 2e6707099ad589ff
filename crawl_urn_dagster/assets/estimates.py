"""From observable tables to fitted parameters.

Here: assets `parameters`, `headline`, `operator_terms`, `drift`. Not here: fits (`urn`), their choice and tables
(`estimates`), or the judgement of a fit (`checks`).
"""

from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.collection import Collection
from crawl_urn_dagster.specs import asset_spec, assets_of, home_of, numbers

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.observables.database import ObservablesFile

_FITTED = {"scipy", "duckdb"}


def fitted_observables(collection: Collection) -> list[str]:
    """Names of the observable tables that the collection's fits use."""
    names = ["containment"] if collection.has_containment else []
    return names + (["discovery_curve"] if collection.has_discovery_curve else [])


def read_fitted_observables(
    collection: Collection, file: "ObservablesFile"
) -> "tuple[pd.DataFrame | None, pd.DataFrame | None]":
    """Tables `containment` and `discovery_curve`, each None where the source cannot give it."""
    return (
        file.read("containment") if collection.has_containment else None,
        file.read("discovery_curve") if collection.has_discovery_curve else None,
    )


def estimate_assets(collection: Collection) -> list[dg.AssetsDefinition]:
    """Assets from observable tables to parameters, their headline, operator terms and drift."""
    return [
        _parameters(collection),
        _headline(collection),
        _operator_terms(collection),
        _drift(collection),
    ]


def _parameters(collection: Collection) -> dg.AssetsDefinition:
    parameters_spec = asset_spec(
        collection, "parameters", kinds=_FITTED, deps=["crawls", *fitted_observables(collection)]
    )

    @assets_of(collection, "parameters", [parameters_spec])
    def parameters(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.fitting import fit_all
        from crawl_urn_dagster.estimates.headline import choose_headline
        from crawl_urn_dagster.estimates.tables import parameters_table

        file = home_of(context, collection).observables
        crawls = file.read("crawls")
        fits = fit_all(crawls, *read_fitted_observables(collection, file))
        headline = choose_headline(fits, clock=collection.clock)
        table = parameters_table(fits, headline, crawls)
        file.replace({"parameters": table})
        for fit in fits:
            context.log.info(f"{fit.projection}, {fit.model}, {fit.form}, {fit.clock}: {fit.status}")
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": len(table),
                "fits": len(fits),
                "fits_ok": sum(fit.status == "ok" for fit in fits),
            }
        )

    return parameters


def _headline(collection: Collection) -> dg.AssetsDefinition:
    headline_spec = asset_spec(
        collection,
        "headline",
        kinds={"duckdb"},
        deps=["parameters"],
        description="The fit that speaks for the collection: a view of the headline rows of `parameters`.",
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
                "fit": found.fit_name,
                "status": found.status,
                "in_words": dg.MetadataValue.md(found.sentence),
                **numbers(
                    kappa=found.kappa,
                    core_share=found.core_share,
                    alpha=found.alpha,
                    coverage=found.coverage,
                ),
            }
        )

    return headline


def _operator_terms(collection: Collection) -> dg.AssetsDefinition:
    terms_spec = asset_spec(collection, "operator_terms", kinds={"duckdb"}, deps=["crawls", "parameters"])

    @assets_of(collection, "operator_terms", [terms_spec])
    def operator_terms(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.tables import operator_terms_table

        file = home_of(context, collection).observables
        table = operator_terms_table(file.read("parameters"), file.read("crawls"))
        file.replace({"operator_terms": table})
        return dg.MaterializeResult(metadata={"dagster/row_count": len(table)})

    return operator_terms


def _drift(collection: Collection) -> dg.AssetsDefinition:
    drift_spec = asset_spec(
        collection, "drift", kinds=_FITTED, deps=["crawls", "parameters", *fitted_observables(collection)]
    )

    @assets_of(collection, "drift", [drift_spec])
    def drift(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.drift import drift_table
        from crawl_urn_dagster.estimates.headline import read_headline

        file = home_of(context, collection).observables
        found = read_headline(file.read("parameters"))
        table = drift_table(
            file.read("crawls"),
            *read_fitted_observables(collection, file),
            clock=collection.clock,
            window_crawls=collection.drift.window_crawls,
            threshold=collection.drift.threshold,
            withheld_reason=f"{found.status}: {found.reason}" if found.withheld else None,
        )
        file.replace({"drift": table})
        return dg.MaterializeResult(metadata={"dagster/row_count": len(table)})

    return drift
