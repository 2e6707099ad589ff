"""Define the asset `report`, which writes the report of a collection as HTML and Markdown.

Does not write the text of the report; see the package `report`.
"""

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.figures import CATALOGUE, PARAMETER_FIGURES, figure_labels
from crawl_urn_dagster.observables.schema import ELEMENT_LISTS
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT, asset_key, asset_spec, assets_of
from crawl_urn_dagster.orchestration.assets.figures import figure_names, figure_tables
from crawl_urn_dagster.orchestration.assets.ground_truth import GROUND_TRUTH_TABLES
from crawl_urn_dagster.orchestration.assets.source import TABLES_WITH_CRAWLS
from crawl_urn_dagster.orchestration.assets.strata import stratum_tables_of
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.sources import SimulatedSource, TablesSource

if TYPE_CHECKING:
    from pathlib import Path

    from crawl_urn_dagster.report import Page

_ALWAYS = (
    *("crawls", "quantities", "classes", "population", "adequacy_tests", "candidate_models", "parameters"),
    *("operator_terms", "diagnosis", "model_comparison", "revisit_regimes", "parameter_history", "window_lengths"),
    *("drift", "forecast", "last_crawl", "planning", "equal_budget"),
)


def report_asset(collection: Collection, home: CollectionHome) -> dg.AssetsDefinition:
    """Define the report; it does not wait for figures of parameters, which a blocking check may skip."""
    names = figure_names(collection)
    observed = [name for name in names if not CATALOGUE[name].has_parameters]
    tables = [*_ALWAYS, *collection.fitted_observables]
    tables += ["first_returns"] if collection.has_discovery_curve else []
    if collection.has_histories:
        tables += ["capture_recapture", "comparators", "element_scores", *(one.name for one in ELEMENT_LISTS)]
    tables += stratum_tables_of(collection)
    tables += ["cross_archive"] if collection.cross_archive else []
    tables += list(GROUND_TRUTH_TABLES) if collection.ground_truth else []
    tables += ["truth"] if isinstance(collection.source, SimulatedSource) else []
    tables += ["publications"] if isinstance(collection.source, TablesSource) and collection.source.is_revised else []
    drawn = [table for name in names for table in figure_tables(collection, name)]
    read = list(dict.fromkeys([*tables, *drawn]))
    spec = asset_spec(
        collection,
        home,
        "report",
        kinds={"markdown", "html"},
        deps=[*read, *observed],
        description="Report in HTML and Markdown: verdict, quotable numbers, drift, tables and figures.",
    )

    # Figures come first among the steps that may start: the report reads those that are drawn, and draws the others.
    @assets_of(collection, "report", [spec], op_tags={"dagster/priority": "-1"})
    def report(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.estimates.assessment.reading import read_assessment, state_assessment
        from crawl_urn_dagster.estimates.strata import stratum_sizes
        from crawl_urn_dagster.figures.files import remove_figure
        from crawl_urn_dagster.observables.quality import broken_rules
        from crawl_urn_dagster.observables.tables import read_strata
        from crawl_urn_dagster.report import Content, report_page
        from crawl_urn_dagster.report.pictures import pictures_of
        from crawl_urn_dagster.sources import InputFile, fingerprint

        frames = home.observables.read_all([*read, *TABLES_WITH_CRAWLS])
        if collection.stratum:
            frames["strata"] = stratum_sizes(read_strata(home.observables))
        assessment = read_assessment(frames)
        if not assessment.has_numbers:
            # The blocking check skips these figures, so those on disk are of an earlier update.
            for name in PARAMETER_FIGURES:
                remove_figure(home.figures / name)
        broken = broken_rules(
            frames["crawls"], frames.get("containment"), frames.get("discovery_curve"), collection.source.relative_error
        )
        pictures = pictures_of(
            names if assessment.has_numbers else observed, frames, figure_labels(collection), home.report.parent
        )
        read_at = _read_at(context.instance, collection)
        content = Content(collection, frames, broken_rules=broken, pictures=pictures, read_at=read_at)
        paths = write_page(report_page(content), home.report)
        inputs = tuple(InputFile(*row) for row in frames["inputs"].itertuples(index=False))
        return dg.MaterializeResult(
            metadata={
                "in_words": dg.MetadataValue.md(state_assessment(assessment)),
                **paths,
                FINGERPRINT: fingerprint(inputs),
            }
        )

    return report


def _read_at(instance: dg.DagsterInstance, collection: Collection) -> datetime | None:
    """Return when the source was last read; the time of writing would change every report."""
    read = "presence" if collection.has_histories else "crawls"
    event = instance.get_latest_materialization_event(asset_key(collection, read))
    return None if event is None else datetime.fromtimestamp(event.timestamp, tz=timezone.utc)


def write_page(page: "Page", stem: "Path") -> "dict[str, dg.MetadataValue]":
    """Write a page as HTML and Markdown, each atomically, and return the paths as metadata."""
    from crawl_urn_dagster.atomic import replacing
    from crawl_urn_dagster.report import to_html, to_markdown

    written: dict[str, dg.MetadataValue] = {}
    for suffix, text in (("html", to_html(page)), ("md", to_markdown(page))):
        path = stem.with_suffix(f".{suffix}")
        with replacing(path) as file:
            file.write_text(text, encoding="utf-8")
        written[suffix] = dg.MetadataValue.path(str(path))
    return written
