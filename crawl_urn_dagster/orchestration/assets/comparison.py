"""Define the asset that compares the collections of one home folder, and when it is rematerialised.

No job of a collection contains it, so no run waits for it; it reads the latest tables of each collection. Does not
write the text; see `report.comparison`.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_key, code_reference
from crawl_urn_dagster.orchestration.assets.report import write_page
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    from crawl_urn_dagster.report import Picture
    from crawl_urn_dagster.report.comparison import Compared

# A collection name cannot start with an underscore.
_PREFIX = "_comparison"
#: Name of the comparison page in the home folder, without suffix.
COMPARISON_FILE = "comparison"
_FIGURES = ("completeness_by_crawl", "parameters_over_time")


def comparison_asset(collections: Sequence[Collection], home: str) -> dg.AssetsDefinition:
    """Define the asset that writes the comparison; the name of the first collection makes its key unique."""
    first = collections[0].name

    @dg.asset(
        key=dg.AssetKey([_PREFIX, first]),
        deps=[asset_key(one, "report") for one in collections],
        description="The collections side by side, per year: HTML and Markdown in the home folder.",
        group_name=COMPARISON_FILE,
        kinds={"markdown", "html"},
        metadata=code_reference(comparison_asset),
        automation_condition=when_reported(),
    )
    def comparison() -> dg.MaterializeResult[None]:
        homes = [CollectionHome(home, one.name) for one in collections]
        return dg.MaterializeResult(metadata=write_comparison(collections, homes))

    return comparison


def page_sensor(asset: dg.AssetsDefinition) -> dg.AutomationConditionSensorDefinition:
    """Define the sensor, on by default, that materialises a page of all collections after a report was materialised."""
    return dg.AutomationConditionSensorDefinition(
        "_".join(asset.key.path), target=[asset], default_status=dg.DefaultSensorStatus.RUNNING
    )


def when_reported() -> dg.AutomationCondition[Any]:
    """Return the condition that a report is newer than the page and no run of either is in progress."""
    condition = dg.AutomationCondition
    since = condition.newly_requested() | condition.newly_updated()
    return condition.any_deps_updated().since(since) & ~condition.any_deps_in_progress() & ~condition.in_progress()


def write_comparison(collections: Sequence[Collection], homes: Sequence[CollectionHome]) -> dict[str, Any]:
    """Write the comparison next to the folders of the collections, and return its paths as metadata."""
    from crawl_urn_dagster.report.comparison import COMPARED_TABLES, comparison_page

    compared = read_collections(collections, homes, COMPARED_TABLES, figures=_FIGURES)
    page = comparison_page(compared, _picture(compared))
    return dict(write_page(page, homes[0].path.parent / COMPARISON_FILE))


def read_collections(
    collections: Sequence[Collection],
    homes: Sequence[CollectionHome],
    tables: Sequence[str],
    *,
    figures: Sequence[str] = (),
) -> "list[Compared]":
    """Read what a page of all collections shows of each: existing tables and figures, and the address of its report."""
    from crawl_urn_dagster.report.comparison import Compared

    return [
        Compared(
            one,
            home.observables.read_present(tables),
            f"{one.name}/{home.report.name}.html" if home.report.with_suffix(".html").exists() else None,
            [picture for name in figures if (picture := _saved_picture(home, name)) is not None],
        )
        for one, home in zip(collections, homes, strict=True)
    ]


def _saved_picture(home: CollectionHome, name: str) -> "Picture | None":
    """Read a figure with its caption; None if it was not drawn."""
    from crawl_urn_dagster.report import Picture

    try:
        texts = json.loads((home.figures / f"{name}.json").read_text(encoding="utf-8"))
        png = (home.figures / f"{name}.png").read_bytes()
    except FileNotFoundError:
        return None
    path = f"{home.collection}/{home.figures.name}/{name}.png"
    return Picture(path, png, texts["caption"], texts["alt"])


def _picture(compared: "Sequence[Compared]") -> "Picture | None":
    """Draw the compared parameters; return None if no collection has any."""
    from crawl_urn_dagster.figures.comparison import parameters_by_collection
    from crawl_urn_dagster.figures.files import render_png
    from crawl_urn_dagster.report import Picture
    from crawl_urn_dagster.report.comparison import compared_parameters

    rows = compared_parameters([one for one in compared if one.has_run])
    if rows.empty:
        return None
    alt = f"Four panels, for κ, μ, α and c, with a line for each of {len(rows)} collections: values of the table above."
    caption = (
        "Values of the table above with 95 % confidence intervals. Filled marker: status ok. Hollow marker: another "
        "status, shown below the name. Without a marker: not part of the model, or not reported."
    )
    return Picture(None, render_png(parameters_by_collection(rows)), caption, alt)
