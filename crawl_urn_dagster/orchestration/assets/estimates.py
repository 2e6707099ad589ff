"""Define the assets `parameters` and the tables of the same step, `headline`, and the capture-recapture tables.

Does not fit models (`urn`), select fits or build tables (`estimates`), or check fits (`checks`).
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES
from crawl_urn_dagster.orchestration.asset_keys import (
    asset_spec,
    assets_of,
    column_lineage,
    numeric_metadata,
    table_result,
)
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.estimates.estimated_collection import EstimatedCollection
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


def read_estimated_collection(
    collection: Collection, file: "ObservablesFile", names: Iterable[str], *, present: Iterable[str] = ()
) -> "EstimatedCollection":
    """Read the observables of a collection and tables of its fit; its histories are read when a table needs them.

    Parameters
    ----------
    collection, file
        The collection, and the file of its tables.
    names
        Tables of the fit to read.
    present
        Tables to read if they have been written.
    """
    from crawl_urn_dagster.estimates.estimated_collection import EstimatedCollection
    from crawl_urn_dagster.observables.tables import read_capture_histories

    return EstimatedCollection(
        file.read_present(present) | file.read_all(["crawls", *collection.fitted_observables, *names]),
        lambda: read_capture_histories(file) if collection.has_histories else None,
        collection.clock,
        collection.counting_error,
    )


def estimate_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets of the fits, their diagnosis, and the headline."""
    assets = [_inference(collection, home), _headline(collection, home)]
    return [*assets, _capture_recapture(collection, home)] if collection.has_histories else assets


def _inference(collection: Collection, home: CollectionHome) -> dg.AssetsDefinition:
    histories = ["capture_history_counts"] if collection.has_histories else []
    stratum = ["stratum_verdicts"] if collection.stratum else []
    deps = ["crawls", *histories, *collection.fitted_observables]
    specs = [
        asset_spec(collection, home, name, kinds=FITTED, deps=deps)
        for name in ("parameters", "operator_terms", *INFERENCE_TABLES, *stratum)
    ]

    @assets_of(collection, "parameters", specs)
    def parameters(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.assessment.reading import read_assessment, state_assessment
        from crawl_urn_dagster.estimates.collection_data import CollectionData
        from crawl_urn_dagster.estimates.estimation import estimate
        from crawl_urn_dagster.estimates.strata import stack, stratum_tables
        from crawl_urn_dagster.observables.tables import read_capture_histories, read_strata

        file = home.observables
        crawls = file.read("crawls")
        data = CollectionData(
            crawls,
            *read_fitted_observables(collection, file),
            collection.counting_error,
            read_capture_histories(file) if collection.has_histories else None,
            collection.fits,
        )
        tables = dict(estimate(data, clock=collection.clock, report=context.log.info).tables)
        fits = tables["parameters"].drop_duplicates(["projection", "model", "form", "clock", "first_crawl"])
        strata = read_strata(file) if collection.stratum else {}
        by_stratum = stratum_tables(crawls, strata, collection.counting_error, collection.clock, collection.fits)
        tables |= {name: stack([tables[name], *by_stratum[name]]) for name in ("parameters", "operator_terms")}
        tables |= {name: stack(by_stratum[name]) for name in stratum}
        file.replace(tables)
        for fit in fits.to_dict("records"):
            context.log.info(f"{fit['projection']}, {fit['model']}, {fit['form']}, {fit['clock']}: {fit['status']}")
        counts = {"fits": len(fits), "fits_ok": int((fits["status"] == "ok").sum())}
        counts |= {"strata": len(strata)} if strata else {}
        assessment = read_assessment(tables)
        verdict = assessment.verdict
        metadata: dict[str, dict[str, Any]] = {
            "quantities": {"in_words": dg.MetadataValue.md(state_assessment(assessment))},
            "parameters": counts,
            "operator_terms": counts,
            "diagnosis": {"verdict": verdict.name.value, "meaning": dg.MetadataValue.md(verdict.meaning)},
        }
        for name, table in tables.items():
            yield table_result(collection, name, table, **metadata.get(name, {}))

    return parameters


def _capture_recapture(collection: Collection, home: CollectionHome) -> dg.AssetsDefinition:
    specs = [
        asset_spec(collection, home, name, kinds=FITTED, deps=["crawls", "capture_history_counts"])
        for name in ("capture_recapture", "per_crawl", "comparators")
    ]

    @assets_of(collection, "capture_recapture", specs)
    def capture_recapture() -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
        from crawl_urn_dagster.observables.tables import read_capture_histories

        file = home.observables
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


def _headline(collection: Collection, home: CollectionHome) -> dg.AssetsDefinition:
    headline_spec = asset_spec(
        collection,
        home,
        "headline",
        kinds={"duckdb"},
        deps=["parameters", "last_crawl", *ASSESSMENT_TABLES],
        description="The numbers that may be quoted for the collection, in the metadata, and the paper's reading of "
        "the curves: a view of the headline rows of `parameters`.",
    )

    @assets_of(collection, "headline", [headline_spec])
    def headline() -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.assessment.reading import (
            curves_withheld_reason,
            read_assessment,
            state_assessment,
        )
        from crawl_urn_dagster.estimates.headline import read_headline
        from crawl_urn_dagster.estimates.last_crawl import state_last_crawl
        from crawl_urn_dagster.observables.tables import create_headline_view

        file = home.observables
        create_headline_view(file)
        curves, assessment = read_headline(file.read("parameters")), read_assessment(file.read_all(ASSESSMENT_TABLES))
        verdict = assessment.verdict
        is_used = curves_withheld_reason(curves, verdict) is None
        shell_parameters = {"alpha", "coverage"} & curves.estimates.keys() if is_used else set[str]()
        values: dict[str, float | None] = {name: curves.estimates[name] for name in shell_parameters}
        values |= {name: one.value for name, one in assessment.quantities.items()}
        intervals = {name: curves.intervals[name] for name in shell_parameters & curves.intervals.keys()}
        intervals |= assessment.intervals
        known = file.read_present(["last_crawl"]).get("last_crawl")
        last_crawl = None if known is None else state_last_crawl(known)
        return dg.MaterializeResult(
            metadata={
                **({} if last_crawl is None else {"last_crawl": last_crawl}),
                **column_lineage(collection, "headline"),
                "verdict": verdict.name.value,
                "quotable": verdict.quotable.value,
                "model": assessment.model or "none",
                "fit": curves.fit_name,
                "status": curves.status.value,
                "in_words": dg.MetadataValue.md(state_assessment(assessment)),
                **numeric_metadata(**values),
                **numeric_metadata(**{f"{name}_low": low for name, (low, _) in intervals.items()}),
                **numeric_metadata(**{f"{name}_high": high for name, (_, high) in intervals.items()}),
            }
        )

    return headline
