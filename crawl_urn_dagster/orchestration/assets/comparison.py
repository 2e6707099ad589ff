"""Define the asset that compares the collections of one home folder, and when it is rematerialised.

No job of a collection contains it, so no run waits for it; it reads the latest tables of each collection. Does not
write the text; see `report.comparison`.
"""

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
_FILE = "comparison"


def comparison_asset(collections: Sequence[Collection], home: str) -> dg.AssetsDefinition:
    """Define the asset that writes the comparison; the name of the first collection makes its key unique."""
    first = collections[0].name

    @dg.asset(
        key=dg.AssetKey([_PREFIX, first]),
        deps=[asset_key(one, "report") for one in collections],
        description="The collections side by side, per year: HTML and Markdown in the home folder.",
        group_name=_FILE,
        kinds={"markdown", "html"},
        metadata=code_reference(comparison_asset),
        automation_condition=_when_reported(),
    )
    def comparison() -> dg.MaterializeResult[None]:
        homes = [CollectionHome(home, one.name) for one in collections]
        return dg.MaterializeResult(metadata=write_comparison(collections, homes))

    return comparison


def comparison_sensor(asset: dg.AssetsDefinition) -> dg.AutomationConditionSensorDefinition:
    """Define the sensor, on by default, that materialises the comparison after a report was materialised."""
    return dg.AutomationConditionSensorDefinition(
        "_".join(asset.key.path), target=[asset], default_status=dg.DefaultSensorStatus.RUNNING
    )


def _when_reported() -> dg.AutomationCondition[Any]:
    """Return the condition that a report is newer than the comparison and no run of either is in progress."""
    condition = dg.AutomationCondition
    since = condition.newly_requested() | condition.newly_updated()
    return condition.any_deps_updated().since(since) & ~condition.any_deps_in_progress() & ~condition.in_progress()


def write_comparison(collections: Sequence[Collection], homes: Sequence[CollectionHome]) -> dict[str, Any]:
    """Write the comparison next to the folders of the collections, and return its paths as metadata."""
    from crawl_urn_dagster.report.comparison import COMPARED_TABLES, Compared, comparison_page

    compared = [
        Compared(one, home.observables.read_present(COMPARED_TABLES))
        for one, home in zip(collections, homes, strict=True)
    ]
    page = comparison_page(compared, _picture(compared))
    return dict(write_page(page, homes[0].path.parent / _FILE))


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
