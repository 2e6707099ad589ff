"""Figure of what becomes of an element in one round, by the fit that speaks for the collection.

Here: the bars of core and shell, or of the one urn, and their labels. Not here: the choice of that fit, or
the rates' formulas (`urn`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.labels import (
    MODEL_NAMES,
    estimates,
    fit_name,
    glossary,
    has_urn,
    number,
    status_note,
)
from crawl_urn_dagster.figures.style import (
    CONTAINMENT_COLOUR,
    DISCOVERY_COLOUR,
    LINE,
    in_style,
    new_figure,
    plain_text,
    tint,
)
from crawl_urn_dagster.urn import WITHHELD, Urn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row

_BARS_HEIGHT = 2.4  # inches
_AXES_WIDTH = 4.0  # bars are one wide
_FATES = ("survives and is sampled\nα c", "survives and is missed\nα (1 − c)", "is replaced\n1 − α")
_HATCHES = ("", "", "////")
_LABEL_HEIGHTS = (0.15, 0.5, 0.85)  # fixed, so that labels of thin parts never meet


@in_style
def fates_of_an_element(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Fates of an element over one round: survives and is sampled, survives and is missed, is replaced.

    One bar for the homogeneous urn; core and shell side by side. The colour is that of the projection that
    was fitted. When the headline fit is withheld or gave no urn, the figure says so instead.

    Parameters
    ----------
    parameters
        Table of the contract; the headline rows of all elements are shown.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    rows = parameters[parameters["headline"].astype(bool) & parameters["stratum"].isna()].to_dict("records")
    bars = [row for row in rows if row["status"] not in WITHHELD and has_urn(row)]
    notes = _notes(rows)
    figure = new_figure(
        height=LINE * (4 + notes.count("\n")) + (_BARS_HEIGHT if bars else 0),
        title=title,
        heading=_heading(rows),
    )
    for column, row in enumerate(bars):
        _draw_bar(figure.add_subplot(1, len(bars), column + 1), row)
    figure.supxlabel(notes, x=0.01, horizontalalignment="left")
    return figure


def _heading(rows: Sequence[Row]) -> str:
    if not rows:
        return "fates of an element"
    fit = rows[0]
    crawls = " to ".join(plain_text(fit[end], at_most=30) for end in ("first_crawl", "last_crawl"))
    return f"fates of an element per {fit['clock']}\n{MODEL_NAMES[fit['model']]}, {fit_name(fit)}; {crawls}"


def _notes(rows: Sequence[Row]) -> str:
    """Say what the parameters are and mean, or why there are none."""
    if not rows:
        return "no fit speaks for the collection"
    fit = rows[-1]  # of the shell, or of the one urn
    if fit["status"] in WITHHELD:
        return f"withheld: {status_note(fit)}"
    meaning = glossary(has_core=not pd.isna(fit["kappa"]), clock=fit["clock"])
    lines = (estimates(fit) or "no estimate", meaning, status_note(fit))
    return "\n".join(line for line in lines if line)


def _draw_bar(axes: Axes, row: Row) -> None:
    """Draw the fates of a component as a bar from 0 to 1 with a label beside each part."""
    fates = Urn(row["alpha"], row["coverage"]).fates()
    tops = np.cumsum(np.array(fates))
    color = CONTAINMENT_COLOUR if row["projection"] == "containment" else DISCOVERY_COLOUR
    fills = (color, tint(color), "white")
    for name, share, top, fill, hatch, height in zip(_FATES, fates, tops, fills, _HATCHES, _LABEL_HEIGHTS, strict=True):
        axes.bar(
            0,
            share,
            width=1,
            bottom=top - share,
            align="edge",
            facecolor=fill,
            edgecolor=color,
            hatch=hatch,
            linestyle="-" if row["status"] == "ok" else "--",
        )
        axes.annotate(
            f"{name} = {number(share)}",
            xy=(1, top - share / 2),
            xytext=(1.3, height),
            verticalalignment="center",
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.7,
                "relpos": (0, 0.5),
                "shrinkB": 0,
            },
        )
    axes.set_xlim(-0.05, _AXES_WIDTH)
    axes.set_ylim(0, 1.02)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.set_ylabel(f"fraction of the {row['component']}'s elements")
    share = "" if row["component"] == "urn" or pd.isna(row["share"]) else f", {number(row['share'])} of the urn"
    axes.set_title(f"{row['component']}{share}")
