"""Define one asset per figure of a collection; two steps draw them.

Every collection has the figures of its observables. Figures of parameters depend on the asset `headline`, so its
blocking check can skip them. Does not draw figures or write captions; see the package `figures`.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.figures import CATALOGUE, drawable, figure_labels
from crawl_urn_dagster.figures.catalogue import own_figure
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.orchestration.asset_keys import PartErrors, asset_name, asset_spec, assets_of
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.processes import call_each
from crawl_urn_dagster.sources import SimulatedSource

if TYPE_CHECKING:
    from crawl_urn_dagster.figures.files import DrawnFiles


def figure_names(collection: Collection) -> list[str]:
    """Return the names of the figures of a collection, including figures of parameters and of other packages.

    Raises
    ------
    ValueError
        If the collection lacks a table of a figure of another package.
    """
    available = {name for name in TABLES if _has_table(collection, name)}
    names = drawable(
        available,
        strata=collection.stratum is not None,
        ranks=collection.stratum is not None and collection.stratum.bands is not None,
    )
    own = [own_figure(entry_point) for entry_point in collection.figures]
    for name in own:
        missing = [table for table in CATALOGUE[name].tables if table not in available]
        if missing:
            raise ValueError(
                f"{collection.name}, figures: {name} needs table {missing[0]}, which the collection does not have; "
                "remove the figure"
            )
    return [*names, *own]


def figure_assets(collection: Collection, home: CollectionHome) -> list[dg.AssetsDefinition]:
    """Return the assets of the figures in two steps: those of observables, and those of parameters."""
    names = figure_names(collection)
    return [
        _figures(collection, home, "figures", [name for name in names if not CATALOGUE[name].has_parameters]),
        _figures(collection, home, "parameter_figures", [name for name in names if CATALOGUE[name].has_parameters]),
    ]


def figure_tables(collection: Collection, name: str) -> list[str]:
    """Return the names of the tables that a figure of a collection is drawn from."""
    entry = CATALOGUE[name]
    return [*entry.tables, *(table for table in entry.optional_tables if _has_table(collection, table))]


def _has_table(collection: Collection, name: str) -> bool:
    available = {
        "containment": collection.has_containment,
        "discovery_curve": collection.has_discovery_curve,
        "per_crawl": collection.has_histories,
        "population": collection.has_histories,
        "element_calibration": collection.has_histories,
        "cross_archive": collection.cross_archive is not None,
        "ground_truth_comparison": collection.ground_truth is not None,
        "stratum_profile": collection.stratum is not None,
        "rank_changes": collection.stratum is not None and collection.stratum.bands is not None,
        "complete": False,  # written after the figures
        "truth": isinstance(collection.source, SimulatedSource),
    }
    return available.get(name, True)


def _figures(collection: Collection, home: CollectionHome, step: str, names: Sequence[str]) -> dg.AssetsDefinition:
    specs = [
        asset_spec(
            collection,
            home,
            name,
            kinds={"matplotlib"},
            deps=[*(["headline"] if CATALOGUE[name].has_parameters else []), *figure_tables(collection, name)],
            description=CATALOGUE[name].shows,
        )
        for name in names
    ]

    @assets_of(collection, step, specs, can_subset=True)
    def figures(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        from crawl_urn_dagster.figures.files import draw_files

        keys = sorted(context.selected_asset_keys)
        chosen = [asset_name(collection, key) for key in keys]
        options = figure_labels(collection), home.figures, collection.figures
        arguments = [(name, home.observables.read_all(figure_tables(collection, name)), *options) for name in chosen]
        errors = PartErrors()
        for key, name, drawn in zip(keys, chosen, call_each(draw_files, arguments), strict=True):
            with errors.keep(name):
                yield dg.MaterializeResult(asset_key=key, metadata=_metadata(name, drawn))
        errors.raise_kept()

    return figures


def _metadata(name: str, drawn: "DrawnFiles | Exception") -> dict[str, dg.MetadataValue]:
    """Return the files of a figure, a preview and its caption as metadata, or raise the error of drawing it."""
    if isinstance(drawn, Exception):
        raise drawn
    preview = base64.b64encode(drawn.preview).decode("ascii")
    return {
        "preview": dg.MetadataValue.md(f"![{name}](data:image/png;base64,{preview})"),
        "caption": dg.MetadataValue.text(drawn.caption.text),
        "alt": dg.MetadataValue.text(drawn.caption.alt),
        **{path.name.removeprefix(f"{name}."): dg.MetadataValue.path(str(path)) for path in drawn.paths},
    }
