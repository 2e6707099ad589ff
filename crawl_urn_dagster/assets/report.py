"""The page of a collection.

Here: asset `report`. Not here: what the page says (`report`).
"""

from pathlib import Path

import dagster as dg

from crawl_urn_dagster.assets.estimates import fitted_observables, read_fitted_observables
from crawl_urn_dagster.assets.figures import PARAMETER_FIGURES, observable_figures
from crawl_urn_dagster.collection import Collection
from crawl_urn_dagster.sources import SimulatedSource
from crawl_urn_dagster.specs import FINGERPRINT, asset_spec, assets_of, home_of


def report_asset(collection: Collection) -> dg.AssetsDefinition:
    """Asset that writes the page; it does not wait for the figures of parameters, which may be withheld."""
    observed = observable_figures(collection)
    tables = ["crawls", "parameters", "operator_terms", "drift"]
    tables += ["first_returns"] if collection.has_discovery_curve else []
    tables += ["truth"] if isinstance(collection.source, SimulatedSource) else []
    spec = asset_spec(
        collection,
        "report",
        kinds={"markdown"},
        deps=[*tables, *fitted_observables(collection), *observed],
        description="The page of the collection: the headline in words, why anything is withheld, tables, figures.",
    )

    @assets_of(collection, "report", [spec])
    def report(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.atomic import replacing
        from crawl_urn_dagster.estimates.headline import read_headline
        from crawl_urn_dagster.observables.quality import broken_rules
        from crawl_urn_dagster.report import render_report
        from crawl_urn_dagster.sources import InputFile, fingerprint

        home = home_of(context, collection)
        frames = {name: home.observables.read(name) for name in [*tables, "inputs"]}
        headline = read_headline(frames["parameters"])
        if headline.withheld:
            _remove_figures(home.figures)
        figures = [*observed, *([] if headline.withheld else PARAMETER_FIGURES)]
        observables = read_fitted_observables(collection, home.observables)
        broken = broken_rules(frames["crawls"], *observables, collection.source.relative_error)
        text = render_report(
            collection.name, collection.granularity, headline, frames, broken_rules=broken, figures=figures
        )
        with replacing(home.report) as page:
            page.write_text(text, encoding="utf-8")
        inputs = tuple(InputFile(*row) for row in frames["inputs"].itertuples(index=False))
        return dg.MaterializeResult(
            metadata={
                "in_words": dg.MetadataValue.md(headline.sentence),
                "path": dg.MetadataValue.path(str(home.report)),
                FINGERPRINT: fingerprint(inputs),
            }
        )

    return report


def _remove_figures(folder: Path) -> None:
    """Remove earlier figures of parameters: they would show numbers that are now withheld."""
    for name in PARAMETER_FIGURES:
        for suffix in (".png", ".svg"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
