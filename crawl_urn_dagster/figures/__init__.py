"""Draw and caption the figures of a collection from its tables.

Does not compute the tables; see `observables` and `estimates`.
"""

from crawl_urn_dagster.figures.catalogue import (
    CATALOGUE,
    PARAMETER_FIGURES,
    Caption,
    Entry,
    FigureLabels,
    caption,
    draw,
    drawable,
    figure_labels,
    inputs_digest,
)

__all__ = [
    "CATALOGUE",
    "PARAMETER_FIGURES",
    "Caption",
    "Entry",
    "FigureLabels",
    "caption",
    "draw",
    "drawable",
    "figure_labels",
    "inputs_digest",
]
