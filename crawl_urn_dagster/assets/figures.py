"""The figures of a collection, as PNG and SVG files.

Here: which figures a collection gets, from which tables, and where they are saved. Not here: drawing (`figures`).

Figures of observables are made for every collection; figures of parameters depend on asset `headline`, so that its
blocking check holds them back.
"""

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.assets.estimates import fitted_observables, read_fitted_observables
from crawl_urn_dagster.collection import Collection
from crawl_urn_dagster.sources import SimulatedSource
from crawl_urn_dagster.specs import asset_spec, assets_of, home_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crawl_urn_dagster.observables.database import ObservablesFile

Draw = Callable[["ObservablesFile"], "Figure"]

PARAMETER_FIGURES = ("fates_of_an_element", "homogeneous_fits", "core_shell_fits")


def observable_figures(collection: Collection) -> list[str]:
    """Names of the figures that need no fit."""
    names = ["discovery_heat_map", "discovery_curves_by_start"] if collection.has_discovery_curve else []
    return names + (["containment_by_lag"] if collection.has_containment else [])


def figure_assets(collection: Collection) -> list[dg.AssetsDefinition]:
    """One asset per figure."""
    observables = fitted_observables(collection)
    figures = []
    if collection.has_discovery_curve:
        figures += [
            _figure(
                collection,
                "discovery_heat_map",
                ["crawls", "discovery_curve"],
                "Distinct elements U(s, T) by crawl date and window.",
                _draw_discovery_heat_map(collection),
            ),
            _figure(
                collection,
                "discovery_curves_by_start",
                ["crawls", "discovery_curve"],
                "Normalised discovery curves by elapsed years, one line per start crawl.",
                _draw_discovery_curves(collection),
            ),
        ]
    if collection.has_containment:
        figures.append(
            _figure(
                collection,
                "containment_by_lag",
                ["crawls", "containment"],
                "Containment of every pair of crawls by lag.",
                _draw_containment(collection),
            )
        )
    with_truth = ["truth"] if isinstance(collection.source, SimulatedSource) else []
    fitted = ["headline", "crawls", *observables, *with_truth]
    return [
        *figures,
        _figure(
            collection,
            "fates_of_an_element",
            ["headline"],
            "The fates of an element per round under the headline fit.",
            _draw_fates(collection),
        ),
        _figure(
            collection,
            "homogeneous_fits",
            fitted,
            "The homogeneous urn fitted to each observable.",
            _draw_fits(collection, "homogeneous_fits"),
        ),
        _figure(
            collection,
            "core_shell_fits",
            fitted,
            "The core and shell urn fitted to each observable.",
            _draw_fits(collection, "core_shell_fits"),
        ),
    ]


def _figure(collection: Collection, name: str, deps: list[str], description: str, draw: Draw) -> dg.AssetsDefinition:
    spec = asset_spec(collection, name, kinds={"matplotlib"}, deps=deps, description=description)

    @assets_of(collection, name, [spec])
    def figure(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        from crawl_urn_dagster.figures import preview_png, save_figure

        home = home_of(context, collection)
        drawn = draw(home.observables)
        png, svg = save_figure(drawn, home.figures / name)
        preview = base64.b64encode(preview_png(drawn)).decode("ascii")
        return dg.MaterializeResult(
            metadata={
                "preview": dg.MetadataValue.md(f"![{description}](data:image/png;base64,{preview})"),
                "png": dg.MetadataValue.path(str(png)),
                "svg": dg.MetadataValue.path(str(svg)),
            }
        )

    return figure


def _title(collection: Collection) -> str:
    return f"{collection.name} ({collection.granularity})"


def _draw_discovery_heat_map(collection: Collection) -> Draw:
    def draw(file: "ObservablesFile") -> "Figure":
        from crawl_urn_dagster.figures import discovery_heat_map

        return discovery_heat_map(file.read("crawls"), file.read("discovery_curve"), title=_title(collection))

    return draw


def _draw_discovery_curves(collection: Collection) -> Draw:
    def draw(file: "ObservablesFile") -> "Figure":
        from crawl_urn_dagster.figures import discovery_curves_by_start

        return discovery_curves_by_start(file.read("crawls"), file.read("discovery_curve"), title=_title(collection))

    return draw


def _draw_containment(collection: Collection) -> Draw:
    def draw(file: "ObservablesFile") -> "Figure":
        from crawl_urn_dagster.figures import containment_by_lag

        return containment_by_lag(file.read("crawls"), file.read("containment"), title=_title(collection))

    return draw


def _draw_fates(collection: Collection) -> Draw:
    def draw(file: "ObservablesFile") -> "Figure":
        from crawl_urn_dagster.figures import fates_of_an_element

        return fates_of_an_element(file.read("parameters"), title=_title(collection))

    return draw


def _draw_fits(collection: Collection, name: str) -> Draw:
    def draw(file: "ObservablesFile") -> "Figure":
        from crawl_urn_dagster import figures

        containment, discovery_curve = read_fitted_observables(collection, file)
        function: Callable[..., Figure] = getattr(figures, name)
        return function(
            file.read("parameters"),
            file.read("crawls"),
            containment=containment,
            discovery_curve=discovery_curve,
            truth=file.read("truth") if isinstance(collection.source, SimulatedSource) else None,
            title=_title(collection),
            clock=collection.clock,
        )

    return draw
