"""Add a figure of the containment of every pair of crawls as a matrix, in the style of the package."""

import dagster as dg
import pandas as pd
from matplotlib.figure import Figure

from crawl_urn_dagster.figures import Caption
from crawl_urn_dagster.figures.files import save_figure
from crawl_urn_dagster.figures.style import in_style, new_figure, page_columns


@in_style
def containment_matrix(containment: pd.DataFrame, *, title: str) -> Figure:
    """Draw the containment of each crawl in each later crawl.

    Parameters
    ----------
    containment
        Table of the contract.
    title
        Name of the collection.
    """
    figure = new_figure(height=5, title=title, heading="containment of every pair of crawls")
    matrix = containment.pivot_table(index="crawl_i", columns="crawl_j", values="containment", sort=False)
    axes = figure.subplots()
    image = axes.imshow(matrix, vmin=0, vmax=1, aspect="auto")
    axes.set(xlabel="in the later crawl", ylabel="of the earlier crawl")
    axes.set_xticks(range(len(matrix.columns)), matrix.columns, rotation=90)
    axes.set_yticks(range(len(matrix.index)), matrix.index)
    figure.colorbar(image, label="containment")
    return figure


def containment_matrix_asset(name: str) -> dg.AssetsDefinition:
    """Return the asset that draws the figure of a collection after its table `containment`."""

    @dg.asset(
        key=[name, "containment_matrix"],
        deps=[[name, "containment"]],
        group_name=name,
        required_resource_keys={f"{name}_home"},
        pool=f"{name}_duckdb",
    )
    def matrix(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        home = getattr(context.resources, f"{name}_home")
        containment = home.observables.read("containment")
        wide = containment_matrix(containment, title=name)
        with page_columns(1):
            narrow = containment_matrix(containment, title=name)
        found = f"From {containment['containment'].min():.2f} to {containment['containment'].max():.2f}."
        caption = Caption(f"{name}: containment", f"Share of each crawl that each later crawl contains. {found}", found)
        paths = save_figure(wide, narrow, home.figures / "containment_matrix", caption)
        return dg.MaterializeResult(metadata={"png": dg.MetadataValue.path(str(paths[0]))})

    return matrix
