"""A figure of one's own: containment of every pair as a matrix, in the style of the others."""

import dagster as dg
import pandas as pd
from matplotlib.figure import Figure

from crawl_urn_dagster.figures import Caption
from crawl_urn_dagster.figures.files import save_figure
from crawl_urn_dagster.figures.style import in_style, new_figure, page_columns


@in_style
def containment_matrix(containment: pd.DataFrame, *, title: str) -> Figure:
    """Draw which part of each crawl is in each later one.

    Parameters
    ----------
    containment
        Table of the contract.
    title
        The collection.
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
    """Asset of a collection of that name, made after its table `containment`."""

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
        caption = Caption(f"{name}: containment", f"Part of each crawl that is in each later one. {found}", found)
        paths = save_figure(wide, narrow, home.figures / "containment_matrix", caption)
        return dg.MaterializeResult(metadata={"png": dg.MetadataValue.path(str(paths[0]))})

    return matrix
