"""Draw a figure of the containment of every pair of crawls as a matrix, in the style of the package."""

import pandas as pd
from matplotlib.figure import Figure

from crawl_urn_dagster.figures.style import in_style, new_figure


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


def containment_matrix_caption(containment: pd.DataFrame) -> tuple[str, str]:
    """Return the caption after its first sentence, and the alternative text."""
    found = f"From {containment['containment'].min():.2f} to {containment['containment'].max():.2f}."
    return found, f"A triangle of coloured cells. {found}"
