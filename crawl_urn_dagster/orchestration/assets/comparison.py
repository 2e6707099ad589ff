"""The comparison of the collections of one home folder.

Here: its asset, when it is made anew, and its two files. Not here: what it says (`report.comparison`).

No run of a collection waits for it: it is in no collection's job, and reads what each last wrote.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import asset_key, code_reference, home_key
from crawl_urn_dagster.orchestration.assets.report import write_page

if TYPE_CHECKING:
    from crawl_urn_dagster.orchestration.resources import CollectionHome
    from crawl_urn_dagster.report import Picture
    from crawl_urn_dagster.report.comparison import Compared

# No collection can be named like this.
_PREFIX = "_comparison"
_FILE = "comparison"


def comparison_asset(collections: Sequence[Collection]) -> dg.AssetsDefinition:
    """Asset that writes the comparison; its key ends with the first collection, which is in no other comparison."""
    first = collections[0].name

    @dg.asset(
        key=dg.AssetKey([_PREFIX, first]),
        deps=[asset_key(one, "report") for one in collections],
        description="The collections side by side, per year: HTML and Markdown in the home folder.",
        group_name=_FILE,
        kinds={"markdown", "html"},
        metadata=code_reference(comparison_asset),
        required_resource_keys={home_key(one) for one in collections},
        automation_condition=_when_reported(),
    )
    def comparison(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        homes = [getattr(context.resources, home_key(one)) for one in collections]
        return dg.MaterializeResult(metadata=write_comparison(collections, homes))

    return comparison


def comparison_sensor(asset: dg.AssetsDefinition) -> dg.AutomationConditionSensorDefinition:
    """Sensor, on, that has the comparison made when a report was."""
    return dg.AutomationConditionSensorDefinition(
        "_".join(asset.key.path), target=[asset], default_status=dg.DefaultSensorStatus.RUNNING
    )


def _when_reported() -> dg.AutomationCondition[Any]:
    """Whether some report was made since the last comparison, and none is being made."""
    condition = dg.AutomationCondition
    since = condition.newly_requested() | condition.newly_updated()
    return condition.any_deps_updated().since(since) & ~condition.any_deps_in_progress() & ~condition.in_progress()


def write_comparison(collections: Sequence[Collection], homes: "Sequence[CollectionHome]") -> dict[str, Any]:
    """Write the comparison beside the folders of the collections; gives where it is, as metadata."""
    from crawl_urn_dagster.report.comparison import COMPARED_TABLES, Compared, comparison_page

    compared = [
        Compared(one, home.observables.read_present(COMPARED_TABLES))
        for one, home in zip(collections, homes, strict=True)
    ]
    page = comparison_page(compared, _picture(compared))
    return dict(write_page(page, homes[0].path.parent / _FILE))


def _picture(compared: "Sequence[Compared]") -> "Picture | None":
    """Draw the parameters that are compared; None where there are none."""
    from crawl_urn_dagster.figures.comparison import parameters_by_collection
    from crawl_urn_dagster.figures.files import render_png
    from crawl_urn_dagster.report import Picture
    from crawl_urn_dagster.report.comparison import compared_parameters

    rows = compared_parameters([one for one in compared if one.has_run])
    if rows.empty:
        return None
    alt = (
        f"Four panels, κ, μ, α and c, with a line for each of {len(rows)} collections: the numbers of the table above."
    )
    caption = (
        "The table above as a picture: bars are 95 % limits; filled: ok; hollow: with a reservation, whose status "
        "stands below the name; without a marker: not part of the urn, or withheld."
    )
    return Picture(None, render_png(parameters_by_collection(rows)), caption, alt)
