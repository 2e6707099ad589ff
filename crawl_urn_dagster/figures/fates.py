"""Draw the fates of 100 elements according to the selected fit: captured, missed or replaced.

Does not select the fit or compute the fates; see `estimates.headline` and `urn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
    plain_text,
    shade,
    tint,
)
from crawl_urn_dagster.formatting import format_share
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, Urn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row

_BAR_HEIGHT = 2.4  # inches
_AXES_WIDTH = 6.0  # in widths of the bar
_AXES_WIDTH_NARROW = 3.6
_MIN_SHARE = 1e-5  # of the urn; an estimate at a bound differs from the bound by less
_FATES = ("captured again", "still eligible, but missed", "replaced by new ones")
_FORMULAS = ("α c", "α (1 − c)", "1 − α")
_HATCHES = ("", "", "////")
_OF = 100  # elements


class _Part(NamedTuple):
    """Elements with the same fate, out of 100: their part of the bar, and its label without the number."""

    elements: float
    shown: str  # rounded; all parts sum to 100
    label: str
    formula: str
    fill: Any
    hatch: str


@in_style
def fates_of_an_element(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Draw how many of 100 elements survive and are captured, survive and are missed, or are replaced.

    They are eligible elements, core and shell; if the fit has no core fraction of the urn, elements of the shell. The
    colour shows the observable that was fitted. If the selected fit is not reported, is not identified or has invalid
    parameters, the figure states this instead.
    """
    rows = _headline_rows(parameters)
    drawn = _drawn_rows(rows)
    notes = _notes(rows)
    figure = new_figure(
        height=line_height() * (4 + notes.count("\n")) + (_BAR_HEIGHT if drawn else 0),
        title=title,
        heading=_heading(rows),
    )
    if drawn:
        _draw_bar(figure.subplots(), drawn)
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
    drawn = _drawn_rows(rows)
    if fit["status"] in NO_POINT_ESTIMATE_STATUSES or not drawn:
        return selected, selected
    fates = [f"{part.shown} {part.label}" for part in _parts(drawn)]
    found = f"Of {_OF} {_population_noun(drawn)}, {_later(fit)}: {'; '.join(fates)}."
    marks = "Darkest: core; s" if drawn[0]["component"] == "core" else "S"
    text = (
        f"{found} {selected} Symbols: {explain_symbols(has_core=not pd.isna(fit['kappa']), clock=fit['clock'])}. "
        f"{marks}olid: captured; light: missed; hatched: replaced. {INTERVAL_NOTE}".replace("\n", " ")
    )
    return text, f"One bar of {_OF} elements in parts. {found}"


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
    what = f"what becomes of {_OF} {_population_noun(_drawn_rows(rows))}, {_later(fit)}"
    return f"{what}\n{model_name(fit['model'])}, {fit_name(fit)}; {crawls}"


def _notes(rows: Sequence[Row]) -> str:
    """Return the parameters and their meaning, or the reason why they are not reported."""
    if not rows:
        return "no fit is selected for the collection"
    fit = rows[-1]  # of the shell, or of the homogeneous urn
    if fit["status"] in NO_POINT_ESTIMATE_STATUSES:
        return f"not reported: {status_note(fit)}" if fit["status"] in UNREPORTED_STATUSES else status_note(fit)
    symbols = explain_symbols(has_core=not pd.isna(fit["kappa"]), clock=fit["clock"])
    return "\n".join(filter(None, (format_estimates(fit) or "no estimate", symbols, status_note(fit))))


def _later(fit: Row) -> str:
    return "by the next crawl" if fit["clock"] == "crawl" else "in a crawl one year later"


def _has_core_fraction(rows: Sequence[Row]) -> bool:
    return all(not pd.isna(row["share"]) for row in rows)


def _population_noun(rows: Sequence[Row]) -> str:
    return f"eligible {elements()}" if _has_core_fraction(rows) else f"shell {elements()}"


def _parts(rows: Sequence[Row]) -> list[_Part]:
    """Return the fates of 100 elements from the bottom of the bar up."""
    shown = rows if _has_core_fraction(rows) else [row for row in rows if row["component"] != "core"]
    color = projection_look(shown[-1]["projection"]).color
    parts: list[tuple[float, str, str, Any, str]] = []
    for row in shown:
        share: float = 1.0 if pd.isna(row["share"]) else float(row["share"])
        if row["component"] == "core":
            parts.append((share, "core, captured by every crawl", "κ", shade(color), ""))
            continue
        shell_factor = "(1 − κ) " if row["component"] == "shell" and share < 1 else ""
        fills = (color, tint(color), "white")
        for fate, label, formula, fill, hatch in zip(
            Urn(row["alpha"], row["coverage"]).fates(), _FATES, _FORMULAS, fills, _HATCHES, strict=True
        ):
            grouped = f"({formula})" if shell_factor and formula == _FORMULAS[2] else formula
            parts.append((share * float(fate), label, f"{shell_factor}{grouped}", fill, hatch))
    counts = _rounded([_OF * part[0] for part in parts])
    return [_Part(_OF * part[0], count, *part[1:]) for part, count in zip(parts, counts, strict=True)]


def _rounded(values: Sequence[float]) -> list[str]:
    """Round numbers that sum to a whole number to whole numbers with the same sum."""
    whole = np.floor(np.array(values) + 1e-9)
    largest_remainders = np.argsort(whole - values)[: round(sum(values) - whole.sum())]
    whole[largest_remainders] += 1
    return [
        "fewer than 1" if not count and value > _OF * _MIN_SHARE else f"{count:.0f}"
        for count, value in zip(whole, values, strict=True)
    ]


def _draw_bar(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the fates of 100 elements as a bar with a label next to each part."""
    parts = _parts(rows)
    color = projection_look(rows[-1]["projection"]).color
    counts = np.array([part.elements for part in parts])
    tops = np.cumsum(counts)
    style: dict[str, Any] = {
        "facecolor": [part.fill for part in parts],
        "edgecolor": color,
        "hatch": [part.hatch for part in parts],
        "linestyle": "-" if rows[-1]["status"] == "ok" else "--",
    }
    axes.bar([0] * len(parts), counts, width=1, bottom=tops - counts, align="edge", **style)
    # Evenly spaced, so labels of thin parts do not overlap.
    heights = (np.arange(len(parts)) + 0.5) * _OF / len(parts)
    for part, top, height in zip(parts, tops, heights, strict=True):
        axes.annotate(
            f"{part.shown} {part.label}" + (f"\n{part.formula} = {format_share(part.elements / _OF)}"),
            xy=(1, top - part.elements / 2),
            xytext=(1.3, height),
            verticalalignment="center",
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7, "relpos": (0, 0.5), "shrinkB": 0},
        )
    width = _AXES_WIDTH_NARROW if is_narrow() else _AXES_WIDTH
    axes.set(xlim=(-0.05, width), ylim=(0, 1.02 * _OF), xticks=[], ylabel=_population_noun(rows))
    axes.spines["bottom"].set_visible(False)
