"""Define the asset that compares the collections of one home folder.

Does not write the text (`report.comparison`) or decide when it is rematerialised (`home_pages`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.assets.home_pages import home_page_asset, read_collections
from crawl_urn_dagster.orchestration.assets.report import write_page
from crawl_urn_dagster.orchestration.resources import CollectionHome

if TYPE_CHECKING:
    from crawl_urn_dagster.report import Picture
    from crawl_urn_dagster.report.comparison import Compared

#: Name of the comparison page in the home folder, without suffix.
COMPARISON_FILE = "comparison"
_FIGURES = ("completeness_by_crawl", "parameters_over_time")


def comparison_asset(collections: Sequence[Collection], home: str) -> dg.AssetsDefinition:
    """Define the asset that writes the comparison; the name of the first collection makes its key unique."""
    description = "The collections side by side, per year: HTML and Markdown in the home folder."
    return home_page_asset(COMPARISON_FILE, collections, home, write_comparison, description)


def write_comparison(collections: Sequence[Collection], homes: Sequence[CollectionHome]) -> dict[str, Any]:
    """Write the comparison next to the folders of the collections, and return its paths as metadata."""
    from crawl_urn_dagster.report.comparison import COMPARED_TABLES, comparison_page

    compared = read_collections(collections, homes, COMPARED_TABLES, figures=_FIGURES)
    page = comparison_page(compared, _picture(compared))
    return dict(write_page(page, homes[0].path.parent / COMPARISON_FILE))


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
