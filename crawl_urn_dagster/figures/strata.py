"""Draw the parameters of each stratum next to the parameters of all elements.

Does not define strata or select their fits; see `sources` and `estimates.headline`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from crawl_urn_dagster.figures.axes import message_figure
from crawl_urn_dagster.figures.labels import INTERVAL_NOTE, explain_symbols, format_estimate, has_point_estimate
from crawl_urn_dagster.figures.style import Colour, elements, in_style, is_narrow, line_height, new_figure, plain_text
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import UNREPORTED_STATUSES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGIN_HEIGHT = 1.7  # inches for title, axis and legend
_LABEL_CHARACTERS = 24
# Factor of the rank from the middle of a band to the marks on both sides, so that they do not touch.
_BESIDE = 1.17
_POOLED_MARKER: dict[str, Any] = {
    "color": Colour.DISCOVERY,
    "marker": "s",
    "markersize": 4,
    "linestyle": "none",
    "zorder": 3,
}
_ALL_ELEMENTS: dict[str, Any] = {"color": Colour.MISSING, "linestyle": ":", "linewidth": 1}
_BAND = re.compile(r"(?P<low>\d+)(?:-(?P<high>\d+)|\+)")


@in_style
def parameters_by_stratum(parameters: pd.DataFrame, *, title: str) -> Figure:
    """Draw parameters with 95 % confidence intervals: one panel per parameter, one line per stratum.

    All elements are at the top. A fit of status ok without a reason has a filled marker. Other fits have a hollow
    marker and their status below the name of the stratum. A fit that is not reported, or a parameter that the fit does
    not have, has no marker.
    """
    rows = _headline_rows(parameters)
    clock = rows["clock"].iloc[0]
    n_rows, n_columns = (2, 2) if is_narrow() else (1, 4)
    figure = new_figure(
        height=n_rows * (0.3 + 2.3 * line_height() * len(rows)) + _MARGIN_HEIGHT,
        title=title,
        heading=f"parameters of {_count_strata(rows)}, per {clock}",
    )
    panels = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False)
    for axes, name in zip(panels.ravel(), SYMBOLS, strict=True):
        axes.axhline(0.5, color=Colour.MISSING, linewidth=0.7)
        draw_parameter(axes, rows, name)
    for axes in panels[:, 0]:
        label_rows(axes, rows)
    _add_key(figure, clock)
    return figure


@in_style
def rank_profile(parameters: pd.DataFrame, *, title: str, stratum_profile: pd.DataFrame | None = None) -> Figure:
    """Draw parameters of rank bands against the rank, on a logarithmic axis, with those of all elements as a line.

    Markers are as in `parameters_by_stratum`. Horizontal bars are the bands, the last of which has no upper end. With
    partially pooled values, these are squares to the right of the middle, and the others are to the left.
    """
    rows = _headline_rows(parameters)
    clock = rows["clock"].iloc[0]
    bands = _bands(rows)
    if bands.empty:
        return message_figure(title, f"parameters by rank, per {clock}", f"no captured {elements()} in any rank band")
    n_rows, n_columns = (4, 1) if is_narrow() else (2, 2)
    figure = new_figure(
        height=1.5 * n_rows + _MARGIN_HEIGHT,
        title=title,
        heading=f"parameters by rank, {_count_strata(rows)}, per {clock}",
    )
    panels = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False)
    reported = rows[~rows["status"].isin(UNREPORTED_STATUSES)]
    beside = 1 if stratum_profile is None else 1 / _BESIDE
    for axes, (name, symbol) in zip(panels.ravel(), SYMBOLS.items(), strict=True):
        _draw_bands(axes, reported, bands, name, beside=beside)
        if stratum_profile is not None:
            _draw_pooled(axes, stratum_profile[stratum_profile["parameter"] == name], rows, bands)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set(xlim=(bands["low"].min() / 1.2, bands["high"].max() * 1.2), ylim=(-0.03, 1.03), ylabel=symbol)
    for axes in panels[-1]:
        axes.set_xlabel("rank, 1 is best")
    _add_key(figure, clock, has_ranks=True, has_pooled=stratum_profile is not None)
    return figure


def parameters_by_stratum_caption(parameters: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    found = _describe_strata(parameters)
    text = (
        f"{found} One line per stratum, all {elements()} at the top. Bars: 95 % confidence intervals. Filled: status "
        "ok; hollow: with a warning, status below the name; no marker: not identified, not part of the model, or not "
        f"reported. {INTERVAL_NOTE}"
    )
    return text, f"Four panels, κ, μ, α and c, with one line per stratum. {found}"


def rank_profile_caption(parameters: pd.DataFrame, *, stratum_profile: pd.DataFrame | None = None) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    found = _describe_strata(parameters)
    pooled = "Squares: partially pooled with the other bands. " if stratum_profile is not None else ""
    text = (
        f"{found} Horizontal bars: rank bands, the last without an upper end; vertical bars: 95 % confidence "
        "intervals. Filled: status ok; hollow: with a warning; no marker: not identified, not part of the model, or "
        f"not reported; dotted: all {elements()}. {pooled}{INTERVAL_NOTE}"
    )
    return text, f"Four panels, κ, μ, α and c, by rank on a logarithmic axis. {found}"


def draw_parameter(axes: Axes, rows: pd.DataFrame, name: str) -> None:
    """Draw a parameter of each reported fit with its confidence interval, at the height of its index."""
    reported = rows[~rows["status"].isin(UNREPORTED_STATUSES)]
    known = reported[has_point_estimate(reported, name)]
    for is_filled in (True, False):
        some = known[_is_ok(known) == is_filled]
        axes.plot(some[name], some.index, **_marker(is_filled))
    limited = reported[reported[f"{name}_low"].notna()]
    axes.hlines(limited.index, limited[f"{name}_low"], limited[f"{name}_high"], color=Colour.JOINT, linewidth=1.2)
    axes.set(xlabel=SYMBOLS[name], xlim=(-0.03, 1.03))
    _state_if_empty(axes, limited.index.union(known.index))


def label_rows(axes: Axes, rows: pd.DataFrame) -> None:
    """Write the stratum of each row at the height of its index, with its status if that is not ok."""
    labels = []
    for stratum, status in zip(rows["stratum"], rows["status"], strict=True):
        name = f"all {elements()}" if pd.isna(stratum) else plain_text(stratum, at_most=_LABEL_CHARACTERS)
        labels.append(name if status == "ok" else f"{name}\n{status}")
    axes.set_yticks(np.arange(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)


def _state_if_empty(axes: Axes, drawn: pd.Index[Any]) -> None:
    """State in a panel without marks that no fit gives its parameter."""
    if drawn.empty:
        axes.text(0.5, 0.5, "no estimate", transform=axes.transAxes, ha="center", va="center", color=Colour.TRUTH)


def _draw_bands(axes: Axes, rows: pd.DataFrame, bands: pd.DataFrame, name: str, *, beside: float) -> None:
    """Draw a parameter of the reported fits against the rank; `beside` shifts marks from the middle of their band."""
    for value in rows.loc[rows["stratum"].isna() & has_point_estimate(rows, name), name]:
        axes.axhline(value, **_ALL_ELEMENTS)
    rows = rows.join(bands.assign(middle=beside * bands["middle"]), how="inner")
    limited = rows[rows[f"{name}_low"].notna()]
    axes.vlines(limited["middle"], limited[f"{name}_low"], limited[f"{name}_high"], color=Colour.JOINT, linewidth=1.2)
    known = rows[has_point_estimate(rows, name)]
    axes.hlines(known[name], known["low"], known["high"], color=Colour.JOINT, linewidth=0.8)
    for is_filled in (True, False):
        some = known[_is_ok(known) == is_filled]
        axes.plot(some["middle"], some[name], **_marker(is_filled))
    _state_if_empty(axes, limited.index.union(known.index))


def _draw_pooled(axes: Axes, profile: pd.DataFrame, rows: pd.DataFrame, bands: pd.DataFrame) -> None:
    """Draw the partially pooled values of a parameter to the right of the middle of each band."""
    known = rows[["stratum"]].join(bands, how="inner").merge(profile[profile["pooled"].notna()], on="stratum")
    at = known["middle"] * _BESIDE
    axes.vlines(at, known["pooled_low"], known["pooled_high"], color=Colour.DISCOVERY, linewidth=1.2)
    axes.plot(at, known["pooled"], **_POOLED_MARKER)


def _describe_strata(parameters: pd.DataFrame) -> str:
    """Describe the strata with the lowest and the highest survival, and count those that are not reported."""
    rows = _headline_rows(parameters)
    strata = rows[rows["stratum"].notna()]
    unreported = int(strata["status"].isin(UNREPORTED_STATUSES).sum())
    known = strata[_is_ok(strata)].sort_values("alpha").to_dict("records")
    ends = [
        f"in {plain_text(str(row['stratum']), at_most=_LABEL_CHARACTERS)}, {format_estimate(row, 'alpha')}, "
        f"{format_estimate(row, 'coverage')}"
        for row in (*known[:1], *known[1:][-1:])
    ]
    survival = f"Survival is lowest {'; it is highest '.join(ends)}." if ends else "No stratum has a fit of status ok."
    return f"{_count_strata(rows)}, of which {len(known)} are ok and {unreported} not reported. {survival}"


def _headline_rows(parameters: pd.DataFrame) -> pd.DataFrame:
    """Return headline rows, of the shell or of the homogeneous urn, for all elements and then for each stratum."""
    rows = parameters[parameters["headline"].astype(bool) & (parameters["component"] != "core")]
    return rows.sort_values("stratum", key=lambda stratum: stratum.notna(), kind="stable").reset_index(drop=True)


def _count_strata(rows: pd.DataFrame) -> str:
    return count_noun(int(rows["stratum"].notna().sum()), "stratum", "strata")


def _is_ok(rows: pd.DataFrame) -> pd.Series:
    return (rows["status"] == "ok") & rows["reason"].isna()


def _bands(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the lower and upper rank of the strata that are rank bands, and their middle on a logarithmic axis."""
    bands = {
        row: (int(found["low"]), int(found["high"] or 10 * int(found["low"])))
        for row, stratum in rows["stratum"].dropna().items()
        if (found := _BAND.fullmatch(stratum))
    }
    frame = pd.DataFrame.from_dict(bands, orient="index", columns=["low", "high"])
    return frame.assign(middle=np.sqrt(frame["low"] * frame["high"]))


def _marker(is_filled: bool) -> dict[str, Any]:
    return {
        "color": Colour.JOINT,
        "marker": "o",
        "markersize": 4.5,
        "markerfacecolor": Colour.JOINT if is_filled else "white",
        "linestyle": "none",
        "zorder": 3,
    }


def _add_key(figure: Figure, clock: str, *, has_ranks: bool = False, has_pooled: bool = False) -> None:
    symbols = f"{explain_symbols(has_core=True, clock=clock)}\nwithout κ and μ: homogeneous urn"
    labels = ((True, "ok"), (False, "with a warning, see the report"))
    handles = [Line2D([], [], **_marker(is_filled), label=label) for is_filled, label in labels]
    handles += [Line2D([], [], **_POOLED_MARKER, label="partially pooled")] if has_pooled else []
    handles += [Line2D([], [], **_ALL_ELEMENTS, label=f"all {elements()}")] if has_ranks else []
    figure.legend(
        handles=handles,
        loc="outside lower left",
        title="" if is_narrow() else symbols,
        alignment="left",
        ncols=1 if is_narrow() else len(handles),
    )
