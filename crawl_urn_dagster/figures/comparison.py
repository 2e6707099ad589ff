"""Figure of the parameters of several collections, side by side.

Here: a line per collection. Not here: which fits are compared (`report.comparison`), or strata of one collection
(`strata`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.figures.labels import is_said
from crawl_urn_dagster.figures.style import JOINT_COLOUR, in_style, line_height, new_figure, panels, plain_text
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import WITHHELD

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_REST_HEIGHT = 1.3  # inches: title and axis
_LABEL_CHARACTERS = 24


@in_style
def parameters_by_collection(parameters: pd.DataFrame) -> Figure:
    """Draw κ, μ, α and c with their 95 % limits: a panel each, a line per collection.

    Filled: a fit that is ok without reserve; hollow: with a reservation. A status that is not ok stands below the name.
    Of a fit that is withheld only that is shown; a parameter that is not identified, or that the fit does not have, has
    no marker.

    Parameters
    ----------
    parameters
        Rows of the table of the contract, one per collection, whose name stands as the stratum; on one clock.
    """
    rows = parameters.reset_index(drop=True)
    figure = new_figure(
        height=_REST_HEIGHT + 2.3 * line_height() * len(rows),
        title="all collections",
        heading=f"parameters per {rows['clock'].iloc[0]}\nbars: 95 % limits; hollow: with a reservation; none: not "
        "identified",
    )
    shown = rows[~rows["status"].isin(WITHHELD)]
    drawn = panels(figure, len(SYMBOLS), sharey=True)
    for axes, (name, symbol) in zip(drawn, SYMBOLS.items(), strict=True):
        known, limited = shown[is_said(shown, name)], shown[shown[f"{name}_low"].notna()]
        axes.hlines(limited.index, limited[f"{name}_low"], limited[f"{name}_high"], color=JOINT_COLOUR, linewidth=1.2)
        is_ok = (known["status"] == "ok") & known["reason"].isna()
        for some, face in ((known[is_ok], JOINT_COLOUR), (known[~is_ok], "white")):
            axes.plot(some[name], some.index, "o", color=JOINT_COLOUR, markersize=4.5, markerfacecolor=face)
        axes.set_xlabel(symbol)
        axes.set_xlim(-0.03, 1.03)
    drawn[0].set_yticks(
        np.arange(len(rows)), [_label(*row) for row in zip(rows["stratum"], rows["status"], strict=True)]
    )
    drawn[0].set_ylim(len(rows) - 0.5, -0.5)
    return figure


def _label(collection: str, status: str) -> str:
    name = plain_text(collection, at_most=_LABEL_CHARACTERS)
    return name if status == "ok" else f"{name}\n{status}"
