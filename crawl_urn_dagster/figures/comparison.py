"""Draw the parameters of several collections side by side.

Does not select the fits to compare (`report.comparison`) or draw the strata of a collection (`strata`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.figures.strata import draw_parameter, label_rows
from crawl_urn_dagster.figures.style import in_style, line_height, new_figure, panels
from crawl_urn_dagster.observables.schema import SYMBOLS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MARGIN_HEIGHT = 1.3  # inches for title and axis


@in_style
def parameters_by_collection(parameters: pd.DataFrame) -> Figure:
    """Draw κ, μ, α and c with 95 % confidence intervals: one panel per parameter, one line per collection.

    A fit of status ok without a reason has a filled marker, other fits a hollow one. A status other than ok is written
    below the name. A fit that is not reported, or a parameter that is not identified or that the fit does not have, has
    no marker.

    Parameters
    ----------
    parameters
        Rows of table `parameters`, one per collection, with its name as the stratum and all on one clock.
    """
    rows = parameters.reset_index(drop=True)
    figure = new_figure(
        height=_MARGIN_HEIGHT + 2.3 * line_height() * len(rows),
        title="all collections",
        heading=f"parameters per {rows['clock'].iloc[0]}\nbars: 95 % confidence intervals; hollow: with a warning; no "
        "marker: not identified",
    )
    drawn = panels(figure, len(SYMBOLS), sharey=True)
    for axes, name in zip(drawn, SYMBOLS, strict=True):
        draw_parameter(axes, rows, name)
    label_rows(drawn[0], rows)
    return figure
