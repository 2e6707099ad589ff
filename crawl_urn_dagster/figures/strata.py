"""Figures of the parameters of each stratum beside those of all elements.

Here: a line per stratum, bands of ranks over the rank, and how the status of a stratum is marked. Not here: the choice
of the fit that speaks for a stratum, or what strata are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from crawl_urn_dagster.figures.axes import figure_of_nothing
from crawl_urn_dagster.figures.labels import LIMITS_NOTE, estimate, glossary, is_said
from crawl_urn_dagster.figures.style import (
    JOINT_COLOUR,
    MISSING_COLOUR,
    elements,
    in_style,
    is_narrow,
    line_height,
    new_figure,
    plain_text,
)
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import WITHHELD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row

_REST_HEIGHT = 1.7  # inches: title, axis and legend
_LABEL_CHARACTERS = 24
_BAND = re.compile(r"(?P<low>\d+)(?:-(?P<high>\d+)|\+)")


@in_style
def parameters_by_stratum(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Parameters with their 95 % limits: a panel each, a line per stratum, all {elements()} on top.

    A fit that is ok without reserve has a filled marker; another has a hollow one and its status beside the stratum's
    name; of one that is withheld only the status is shown. A parameter that the fit does not have has no marker.

    Parameters
    ----------
    parameters
        Table of the contract; the headline rows of the collection and of its strata are shown.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    spoken = _spoken(parameters)
    clock = spoken["clock"].iloc[0]
    n_rows, n_columns = (2, 2) if is_narrow() else (1, 4)
    figure = new_figure(
        height=n_rows * (0.3 + 2.3 * line_height() * len(spoken)) + _REST_HEIGHT,
        title=title,
        heading=f"parameters of {_counted_strata(spoken)}, per {clock}",
    )
    is_shown = ~spoken["status"].isin(WITHHELD)
    panels = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False)
    for axes, (parameter, symbol) in zip(panels.ravel(), SYMBOLS.items(), strict=True):
        _draw(axes, spoken[is_shown], parameter, _is_ok(spoken))
        axes.set_xlabel(symbol)
        axes.set_xlim(-0.03, 1.03)
    for first in panels[:, 0]:
        first.set_yticks(np.arange(len(spoken)), [_label(row) for row in spoken.to_dict("records")])
        first.set_ylim(len(spoken) - 0.5, -0.5)
    _add_key(figure, clock)
    return figure


@in_style
def rank_profile(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Parameters of bands of ranks against the rank, on a logarithmic axis, with those of all elements as a line.

    Markers and what is withheld are as in `parameters_by_stratum`; horizontal bars are the bands, the last of which is
    open.

    Parameters
    ----------
    parameters
        Table of the contract; the headline rows of the collection and of its bands are shown.
    title
        The collection.
    """
    spoken = _spoken(parameters)
    clock = spoken["clock"].iloc[0]
    bands = _bands(spoken)
    if bands.empty:
        return figure_of_nothing(title, f"parameters by rank, per {clock}", f"No {elements()} of a band was captured.")
    n_rows, n_columns = (4, 1) if is_narrow() else (2, 2)
    figure = new_figure(
        height=1.5 * n_rows + _REST_HEIGHT,
        title=title,
        heading=f"parameters by rank, {_counted_strata(spoken)}, per {clock}\nhorizontal: the band, the last is open; "
        f"vertical: 95 % limits; dotted: all {elements()}",
    )
    panels = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False)
    everyone = spoken[spoken["stratum"].isna() & ~spoken["status"].isin(WITHHELD)]
    rows = spoken.join(bands, how="inner")
    rows = rows[~rows["status"].isin(WITHHELD)]
    for axes, (parameter, symbol) in zip(panels.ravel(), SYMBOLS.items(), strict=True):
        for value in everyone.loc[is_said(everyone, parameter), parameter]:
            axes.axhline(value, color=MISSING_COLOUR, linestyle=":", linewidth=1)
        axes.vlines(
            rows["middle"], rows[f"{parameter}_low"], rows[f"{parameter}_high"], color=JOINT_COLOUR, linewidth=1.2
        )
        known = rows[is_said(rows, parameter)]
        axes.hlines(known[parameter], known["low"], known["high"], color=JOINT_COLOUR, linewidth=0.8)
        for filled in (True, False):
            some = known[_is_ok(known) == filled]
            axes.plot(some["middle"], some[parameter], **_marker(filled=filled))
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(bands["low"].min() / 1.2, bands["high"].max() * 1.2)
        axes.set_ylim(-0.03, 1.03)
        axes.set_ylabel(symbol)
    for axes in panels[-1]:
        axes.set_xlabel("rank, 1 is best")
    _add_key(figure, clock)
    return figure


def parameters_by_stratum_caption(parameters: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    found = _found(parameters)
    text = (
        f"{found} A line per stratum, all {elements()} on top; bars: 95 % limits; filled: ok; hollow: with a "
        "reservation, whose status stands below the name; without a marker: not identified, not part of the urn, or "
        f"withheld. {LIMITS_NOTE}"
    )
    return text, f"Four panels, κ, μ, α and c, with a line per stratum. {found}"


def rank_profile_caption(parameters: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    found = _found(parameters)
    text = (
        f"{found} Horizontal bars: the bands of ranks, the last of which is open; vertical bars: 95 % limits; filled: "
        "ok; hollow: with a reservation; without a marker: not identified, not part of the urn, or withheld; dotted: "
        f"all {elements()}. {LIMITS_NOTE}"
    )
    return text, f"Four panels, κ, μ, α and c, over the rank on a logarithmic axis. {found}"


def _found(parameters: pd.DataFrame) -> str:
    """Say which strata have the least and the greatest survival, and how many say nothing."""
    spoken = _spoken(parameters)
    strata = spoken[spoken["stratum"].notna()]
    withheld = int(strata["status"].isin(WITHHELD).sum())
    known = strata[_is_ok(strata)].sort_values("alpha").to_dict("records")
    ends = [
        ", ".join((_name(row), estimate(row, "alpha"), estimate(row, "coverage")))
        for row in (*known[:1], *known[1:][-1:])
    ]
    between = (
        f"Survival is lowest in {'; it is highest in '.join(ends)}." if ends else "No stratum has a fit that is ok."
    )
    return f"{_counted_strata(spoken)}, of which {len(known)} are ok and {withheld} withheld. {between}"


def _spoken(parameters: pd.DataFrame) -> pd.DataFrame:
    """Headline rows, of the shell or of the one urn: of all elements first, then of each stratum."""
    spoken = parameters[parameters["headline"].astype(bool) & (parameters["component"] != "core")]
    return spoken.sort_values("stratum", key=lambda stratum: stratum.notna(), kind="stable").reset_index(drop=True)


def _counted_strata(spoken: pd.DataFrame) -> str:
    return count_noun(int(spoken["stratum"].notna().sum()), "stratum", "strata")


def _is_ok(rows: pd.DataFrame) -> pd.Series:
    return (rows["status"] == "ok") & rows["reason"].isna()


def _bands(spoken: pd.DataFrame) -> pd.DataFrame:
    """Lower and upper rank of the strata that are bands of ranks, and the middle of both on a logarithmic axis."""
    bands = {
        row: (int(found["low"]), int(found["high"] or 10 * int(found["low"])))
        for row, stratum in spoken["stratum"].dropna().items()
        if (found := _BAND.fullmatch(stratum))
    }
    frame = pd.DataFrame.from_dict(bands, orient="index", columns=["low", "high"])
    return frame.assign(middle=np.sqrt(frame["low"] * frame["high"]))


def _draw(axes: Axes, rows: pd.DataFrame, name: str, is_ok: pd.Series) -> None:
    """Draw one parameter of the strata, which are at the positions of their rows."""
    axes.axhline(0.5, color=MISSING_COLOUR, linewidth=0.7)
    known = rows[is_said(rows, name)]
    for filled in (True, False):
        some = known[is_ok[known.index] == filled]
        axes.plot(some[name], some.index, **_marker(filled=filled))
    limited = rows[rows[f"{name}_low"].notna()]
    axes.hlines(limited.index, limited[f"{name}_low"], limited[f"{name}_high"], color=JOINT_COLOUR, linewidth=1.2)


def _marker(*, filled: bool) -> dict[str, Any]:
    return {
        "color": JOINT_COLOUR,
        "marker": "o",
        "markersize": 4.5,
        "markerfacecolor": JOINT_COLOUR if filled else "white",
        "linestyle": "none",
        "zorder": 3,
    }


def _add_key(figure: Figure, clock: str) -> None:
    figure.legend(
        handles=[_key(filled=True, label="ok"), _key(filled=False, label="with a reservation, see the report")],
        loc="outside lower left",
        title="" if is_narrow() else f"{glossary(has_core=True, clock=clock)}\nwithout κ and μ: one urn without a core",
        alignment="left",
        ncols=1 if is_narrow() else 2,
    )


def _key(*, filled: bool, label: str) -> Line2D:
    return Line2D([], [], **_marker(filled=filled), label=label)


def _name(row: Row) -> str:
    return plain_text(str(row["stratum"]), at_most=_LABEL_CHARACTERS)


def _label(row: Row) -> str:
    name: str = f"all {elements()}" if pd.isna(row["stratum"]) else _name(row)
    return name if row["status"] == "ok" else f"{name}\n{row['status']}"
