"""Draw the fates of elements according to the selected fit: captured, missed or replaced.

Does not select the fit or compute the fates; see `estimates.headline` and `urn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.fitted import projection_look
from crawl_urn_dagster.figures.labels import (
    INTERVAL_NOTE,
    describe_fit,
    explain_symbols,
    fit_name,
    format_estimates,
    has_valid_parameters,
    model_name,
    status_note,
)
from crawl_urn_dagster.figures.style import (
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
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, Urn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row

_BARS_HEIGHT = 2.4  # inches
_AXES_WIDTH = 4.0  # in widths of a bar
_MIN_SHARE = 1e-5  # of the urn; an estimate at a bound differs from the bound by less
_FATES = ("survives and is captured", "survives and is missed", "is replaced")
_FORMULAS = ("\nα c", "\nα (1 − c)", "\n1 − α")  # not for the core, whose α and c are 1
_HATCHES = ("", "", "////")
_LABEL_HEIGHTS = (0.15, 0.5, 0.85)  # fixed, so labels of thin parts do not overlap


@in_style
def fates_of_an_element(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Draw the fractions of elements that survive and are captured, survive and are missed, or are replaced.

    The homogeneous urn has one bar, the core–shell urn two. The colour shows the observable that was fitted. If the
    selected fit is not reported, is not identified or has invalid parameters, the figure states this instead.
    """
    rows = _headline_rows(parameters)
    bars = _drawn_rows(rows)
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
    """Return the caption and the alternative text."""
    rows = _headline_rows(parameters)
    if not rows:
        found = "No fit is selected for the collection."
        return found, found
    fit = rows[-1]  # of the shell, or of the homogeneous urn
    selected = f"Selected fit: {model_name(fit['model'])}, {fit_name(fit)}; {describe_fit(fit)}."
    if fit["status"] in NO_POINT_ESTIMATE_STATUSES:
        return selected, selected
    fates = []
    for row in _drawn_rows(rows):
        captured, missed, replaced = (format_share(float(part)) for part in Urn(row["alpha"], row["coverage"]).fates())
        fates.append(
            f"{captured} of the {row['component']} {elements()} survive and are captured, {missed} survive and are "
            f"missed, and {replaced} are replaced"
        )
    found = f"Per {fit['clock']}, {'; '.join(fates)}."
    text = (
        f"{found} {selected} Symbols: {explain_symbols(has_core=not pd.isna(fit['kappa']), clock=fit['clock'])}. "
        f"Solid: captured; light: missed; hatched: replaced. {INTERVAL_NOTE}".replace("\n", " ")
    )
    return text, f"A bar from 0 to 1 for each component of the urn. {found}"


def _headline_rows(parameters: pd.DataFrame) -> list[Row]:
    """Return the rows of the selected fit of all elements."""
    return parameters[parameters["headline"].astype(bool) & parameters["stratum"].isna()].to_dict("records")


def _drawn_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have a bar; a component without elements has none."""
    return [
        row
        for row in rows
        if row["status"] not in NO_POINT_ESTIMATE_STATUSES
        and has_valid_parameters(row)
        and not row["share"] < _MIN_SHARE
    ]


def _heading(rows: Sequence[Row]) -> str:
    if not rows:
        return f"fates of {elements()}"
    fit = rows[0]
    crawls = " to ".join(plain_text(fit[end], at_most=30) for end in ("first_crawl", "last_crawl"))
    return f"fates of {elements()} per {fit['clock']}\n{model_name(fit['model'])}, {fit_name(fit)}; {crawls}"


def _notes(rows: Sequence[Row]) -> str:
    """Return the parameters and their meaning, or the reason why they are not reported."""
    if not rows:
        return "no fit is selected for the collection"
    fit = rows[-1]  # of the shell, or of the homogeneous urn
    if fit["status"] in NO_POINT_ESTIMATE_STATUSES:
        return f"not reported: {status_note(fit)}" if fit["status"] in UNREPORTED_STATUSES else status_note(fit)
    symbols = explain_symbols(has_core=not pd.isna(fit["kappa"]), clock=fit["clock"])
    return "\n".join(filter(None, (format_estimates(fit) or "no estimate", symbols, status_note(fit))))


def _draw_bar(axes: Axes, row: Row) -> None:
    """Draw the fates of a component as a bar from 0 to 1 with a label next to each part."""
    color = projection_look(row["projection"]).color
    fills = (color, tint(color), "white")
    formulas = ("", "", "") if row["component"] == "core" else _FORMULAS
    fates = np.array(Urn(row["alpha"], row["coverage"]).fates())
    tops = np.cumsum(fates)
    dashes = "-" if row["status"] == "ok" else "--"
    style: dict[str, Any] = {"facecolor": fills, "edgecolor": color, "hatch": _HATCHES, "linestyle": dashes}
    axes.bar([0, 0, 0], fates, width=1, bottom=tops - fates, align="edge", **style)
    for fate, formula, share, top, height in zip(_FATES, formulas, fates, tops, _LABEL_HEIGHTS, strict=True):
        axes.annotate(
            f"{fate}{formula} = {format_share(share)}",
            xy=(1, top - share / 2),
            xytext=(1.3, height),
            verticalalignment="center",
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7, "relpos": (0, 0.5), "shrinkB": 0},
        )
    axes.set(
        xlim=(-0.05, _AXES_WIDTH), ylim=(0, 1.02), xticks=[], ylabel=f"fraction of {row['component']} {elements()}"
    )
    axes.spines["bottom"].set_visible(False)
    share = "" if row["component"] == "urn" or pd.isna(row["share"]) else f", {format_share(row['share'])} of the urn"
    axes.set_title(f"{row['component']}{share}")
