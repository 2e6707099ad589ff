"""Figure of what becomes of an element in one round, by the fit that speaks for the collection.

Here: the bars of core and shell, or of the one urn, and their labels. Not here: the choice of that fit, or
the rates' formulas (`urn`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.labels import (
    LIMITS_NOTE,
    MODEL_NAMES,
    estimates,
    fit_in_words,
    fit_name,
    glossary,
    has_urn,
    status_note,
)
from crawl_urn_dagster.figures.style import (
    CONTAINMENT_COLOUR,
    DISCOVERY_COLOUR,
    JOINT_COLOUR,
    elements,
    in_style,
    is_narrow,
    line_height,
    new_figure,
    panels,
    plain_text,
    tint,
)
from crawl_urn_dagster.formatting import format_share
from crawl_urn_dagster.urn import UNSAID, WITHHELD, Urn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row

_BARS_HEIGHT = 2.4  # inches
_AXES_WIDTH = 4.0  # bars are one wide
_COLOURS = {"joint": JOINT_COLOUR, "containment": CONTAINMENT_COLOUR}
_LEAST_SHARE = 1e-5  # of the urn: a fit at a bound is not quite there
_FATES = ("survives and is sampled", "survives and is missed", "is replaced")
_FORMULAS = ("α c", "α (1 − c)", "1 − α")  # none of the core, whose α and c are 1
_HATCHES = ("", "", "////")
_LABEL_HEIGHTS = (0.15, 0.5, 0.85)  # fixed, so that labels of thin parts never meet


@in_style
def fates_of_an_element(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Fates of an element over one round: survives and is sampled, survives and is missed, is replaced.

    One bar for the homogeneous urn; core and shell side by side. The colour is that of the projection that
    was fitted. When the headline fit is withheld, not identified or no urn, the figure says so instead.

    Parameters
    ----------
    parameters
        Table of the contract; the headline rows of all elements are shown.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    rows = _headline(parameters)
    bars = _drawn(rows)
    notes = _notes(rows)
    rows_of_bars = len(bars) if is_narrow() else min(len(bars), 1)
    figure = new_figure(
        height=line_height() * (4 + notes.count("\n")) + _BARS_HEIGHT * rows_of_bars,
        title=title,
        heading=_heading(rows),
    )
    if bars:
        for axes, row in zip(panels(figure, len(bars)), bars, strict=True):
            _draw_bar(axes, row)
    figure.supxlabel(notes, x=0.01, horizontalalignment="left")
    return figure


def fates_of_an_element_caption(parameters: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    rows = _headline(parameters)
    if not rows:
        found = "No fit speaks for the collection."
        return found, found
    fit = rows[-1]  # of the shell, or of the one urn
    speaks = f"{MODEL_NAMES[fit['model']].capitalize()}, {fit_name(fit)}: {fit_in_words(fit)}."
    if fit["status"] in UNSAID:
        return speaks, speaks
    fates = []
    for row in _drawn(rows):
        sampled, missed, replaced = (format_share(float(share)) for share in Urn(row["alpha"], row["coverage"]).fates())
        fates.append(
            f"of the {row['component']}'s {elements()} {sampled} survive and are sampled, {missed} survive and are "
            f"missed, and {replaced} are replaced"
        )
    found = f"Per {fit['clock']}, {'; '.join(fates)}."
    text = (
        f"{found} {speaks} Symbols: {glossary(has_core=not pd.isna(fit['kappa']), clock=fit['clock'])}. Full: sampled; "
        f"light: missed; hatched: replaced. {LIMITS_NOTE}".replace("\n", " ")
    )
    return text, f"A bar from 0 to 1 for each part of the urn. {found}"


def _headline(parameters: pd.DataFrame) -> list[Row]:
    """Rows of the fit that speaks for all elements."""
    return parameters[parameters["headline"].astype(bool) & parameters["stratum"].isna()].to_dict("records")


def _drawn(rows: Sequence[Row]) -> list[Row]:
    """Rows that have a bar; a part that is nothing of the urn has none."""
    return [row for row in rows if row["status"] not in UNSAID and has_urn(row) and not row["share"] < _LEAST_SHARE]


def _heading(rows: Sequence[Row]) -> str:
    if not rows:
        return f"fates of {elements()}"
    fit = rows[0]
    crawls = " to ".join(plain_text(fit[end], at_most=30) for end in ("first_crawl", "last_crawl"))
    return f"fates of {elements()} per {fit['clock']}\n{MODEL_NAMES[fit['model']]}, {fit_name(fit)}; {crawls}"


def _notes(rows: Sequence[Row]) -> str:
    """Say what the parameters are and mean, or why there are none."""
    if not rows:
        return "no fit speaks for the collection"
    fit = rows[-1]  # of the shell, or of the one urn
    if fit["status"] in WITHHELD:
        return f"withheld: {status_note(fit)}"
    if fit["status"] in UNSAID:
        return status_note(fit)
    meaning = glossary(has_core=not pd.isna(fit["kappa"]), clock=fit["clock"])
    lines = (estimates(fit) or "no estimate", meaning, status_note(fit))
    return "\n".join(line for line in lines if line)


def _draw_bar(axes: Axes, row: Row) -> None:
    """Draw the fates of a component as a bar from 0 to 1 with a label beside each part."""
    fates = Urn(row["alpha"], row["coverage"]).fates()
    tops = np.cumsum(np.array(fates))
    color = _COLOURS.get(row["projection"], DISCOVERY_COLOUR)
    fills = (color, tint(color), "white")
    formulas = [f"\n{formula}" for formula in _FORMULAS] if row["component"] != "core" else [""] * len(_FATES)
    names = [f"{fate}{formula}" for fate, formula in zip(_FATES, formulas, strict=True)]
    for name, share, top, fill, hatch, height in zip(names, fates, tops, fills, _HATCHES, _LABEL_HEIGHTS, strict=True):
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
            f"{name} = {format_share(share)}",
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
    axes.set_ylabel(f"fraction of the {row['component']}'s {elements()}")
    share = "" if row["component"] == "urn" or pd.isna(row["share"]) else f", {format_share(row['share'])} of the urn"
    axes.set_title(f"{row['component']}{share}")
