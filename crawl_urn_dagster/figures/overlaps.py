"""Draw the overlap of all pairs of crawls, and what each crawl lost of the crawl before it.

Does not draw fits or means over pairs; see `fitted` and `observed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import PercentFormatter

from crawl_urn_dagster.figures.axes import date_axis, message_figure
from crawl_urn_dagster.figures.labels import crawl_range, named_crawls, with_interval
from crawl_urn_dagster.figures.style import Colour, elements, in_style, is_narrow, new_figure, plain_text, tint
from crawl_urn_dagster.formatting import count_noun, format_share

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.figures.labels import Row
    from crawl_urn_dagster.urn.data.histories import FloatArray

_MOST_NUMBERED = 12  # crawls; numbers in smaller cells would overlap
_MOST_NUMBERED_NARROW = 6
_NO_OVERLAP = "The overlap of all pairs of crawls is unknown, so nothing is drawn."
_NO_LOSSES = "No two consecutive crawls were compared, so nothing is drawn."
_GAP_WIDTH = 0.8  # of the smallest gap between crawls


@in_style
def overlap_matrix(crawls: pd.DataFrame, containment: pd.DataFrame, *, title: str) -> Figure:
    """Draw the Jaccard similarity of every pair of crawls as a matrix, with numbers in a short collection."""
    cells = _similarities(crawls, containment)
    heading = f"overlap of all pairs of crawls\n{crawl_range(crawls)}"
    if not np.isfinite(cells).any():
        return message_figure(title, heading, _NO_OVERLAP)
    figure = new_figure(height=3 if is_narrow() else 4.6, title=title, heading=heading)
    axes = figure.subplots()
    edges = np.arange(len(crawls) + 1) - 0.5
    mesh = axes.pcolormesh(edges, edges, np.ma.masked_invalid(100 * cells), cmap="viridis", rasterized=True)
    if len(crawls) <= (_MOST_NUMBERED_NARROW if is_narrow() else _MOST_NUMBERED):
        _number_cells(axes, 100 * cells)
    _, _, note = named_crawls(crawls, at_most=1)
    for axis, at_most in ((axes.xaxis, 2 if is_narrow() else 4), (axes.yaxis, 8)):
        ticks, labels, _ = named_crawls(crawls, at_most=at_most)
        axis.set_ticks(ticks, labels)
    axes.invert_yaxis()
    axes.set(xlabel=f"earlier crawl, i{note}", ylabel="later crawl, j", aspect="auto" if is_narrow() else "equal")
    figure.colorbar(mesh, label=f"{elements()} in both crawls,\n% of those in either", pad=0.02)
    return figure


def overlap_matrix_caption(crawls: pd.DataFrame, containment: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    cells = _similarities(crawls, containment)
    if not np.isfinite(cells).any():
        return _NO_OVERLAP, _NO_OVERLAP
    labels = [plain_text(label) for label in crawls["crawl"]]

    def pair(flat: int) -> str:
        later, earlier = np.unravel_index(flat, cells.shape)
        return f"{100 * cells[later, earlier]:.1f} % ({labels[earlier]} and {labels[later]})"

    found = f"The overlap ranges from {pair(int(np.nanargmin(cells)))} to {pair(int(np.nanargmax(cells)))}."
    text = (
        f"{crawl_range(crawls)}. {found} Overlap: {elements()} in both crawls, in per cent of those in either (Jaccard "
        "similarity). One column per earlier crawl, one row per later crawl; lighter: more overlap. A light block: "
        "crawls that are alike; a dark row or column: one crawl unlike all others."
    )
    return text, f"Triangular heat map of the overlap of all pairs of crawls. {found}"


def _similarities(crawls: pd.DataFrame, containment: pd.DataFrame) -> FloatArray:
    """Return the Jaccard similarities, shape (later crawl, earlier crawl); NaN if unknown."""
    index = dict(zip(crawls["crawl"], range(len(crawls)), strict=True))
    # |i ∪ j|/|i ∩ j| = |i|/|i ∩ j| + |j|/|i ∩ j| - 1 needs no sizes; an overlap of 0 gives 0.
    shares = containment[["containment", "containment_reverse"]].to_numpy(dtype=np.float64)
    with np.errstate(divide="ignore"):
        similarity = 1 / ((1 / np.clip(shares, 0, 1)).sum(axis=1) - 1)
    cells = np.full((len(crawls), len(crawls)), np.nan)
    cells[containment["crawl_j"].map(index), containment["crawl_i"].map(index)] = similarity
    return cells


def _number_cells(axes: Axes, cells: FloatArray) -> None:
    middle = (np.nanmin(cells) + np.nanmax(cells)) / 2
    for later, earlier in np.argwhere(np.isfinite(cells)):
        value = cells[later, earlier]
        colour = "white" if value <= middle else "black"
        axes.text(
            earlier, later, f"{value:.0f}", color=colour, horizontalalignment="center", verticalalignment="center"
        )


@in_style
def losses_by_crawl(
    containment: pd.DataFrame, crawls: pd.DataFrame, quantities: pd.DataFrame, population: pd.DataFrame, *, title: str
) -> Figure:
    """Draw the share of each crawl that the next one lacks: gone and only missed, if the rate of loss may be quoted."""
    rows = _losses(containment, crawls, quantities, population)
    heading = f"what each crawl lacks of the crawl before it\n{crawl_range(crawls)}"
    if rows.empty:
        return message_figure(title, heading, _NO_LOSSES)
    figure = new_figure(height=3.2, title=title, heading=heading)
    axes = figure.subplots()
    gaps = np.diff(crawls["years"].to_numpy())
    width = _GAP_WIDTH * (gaps[gaps > 0].min() if (gaps > 0).any() else 1.0)
    is_split = rows["gone"].notna()
    split, whole = rows[is_split], rows[~is_split]
    if len(split):
        axes.bar(split["years"], split["gone"], width, color=Colour.CONTAINMENT, label="gone, at the mean rate")
        axes.bar(
            *(split["years"], split["lost"] - split["gone"], width),
            bottom=split["gone"],
            color=tint(Colour.DISCOVERY),
            label="still eligible, but missed",
        )
        ends = np.abs(split[["gone_low", "gone_high"]].to_numpy().T - split["gone"].to_numpy())
        axes.errorbar(split["years"], split["gone"], yerr=ends, fmt="none", ecolor="black", elinewidth=0.8)
    if len(whole):
        style: dict[str, Any] = {"color": "white", "edgecolor": Colour.MISSING, "hatch": "////", "linewidth": 0.5}
        axes.bar(whole["years"], whole["lost"], width, label="gone or missed, not reported which", **style)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    axes.set(ylabel="share of the crawl before it", ylim=(0, None))
    date_axis(axes, crawls)
    figure.legend(loc="outside lower left", ncols=1 if is_narrow() else 3)
    return figure


def losses_by_crawl_caption(
    containment: pd.DataFrame, crawls: pd.DataFrame, quantities: pd.DataFrame, population: pd.DataFrame
) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    rows = _losses(containment, crawls, quantities, population)
    if rows.empty:
        return _NO_LOSSES, _NO_LOSSES
    records = rows.to_dict("records")
    last, worst = records[-1], max(records, key=lambda row: row["lost"])
    found = (
        f"{plain_text(last['crawl'])} lacks {100 * last['lost']:.1f} % of the crawl before it; the most is "
        f"{100 * worst['lost']:.1f} %, at {plain_text(worst['crawl'])}."
    )
    gone = _gone(quantities)
    if gone is None:
        split = f"How many {elements()} are gone and how many were only missed is not reported."
    else:
        split = (
            f"On average {with_interval(gone, 'value', format_share)} of a crawl is gone by the next; the others are "
            "missed. Black bars: 95 % confidence intervals of that mean rate, which is the same for all pairs."
        )
    hatched = " Hatched: not split, because the rate does not describe the crawl." if _is_partly_split(rows) else ""
    text = f"{crawl_range(crawls)}; {count_noun(len(rows), 'pair')} of consecutive crawls. {found} {split}{hatched}"
    return text, f"Stacked bars over time, of the share of a crawl that the next one lacks. {found}"


def _is_partly_split(rows: pd.DataFrame) -> bool:
    return bool(rows["gone"].notna().any() and rows["gone"].isna().any())


def _gone(quantities: pd.DataFrame) -> Row | None:
    """Return the share of a crawl that is gone by the next, as a row of `quantities`; None if not reported."""
    rows = quantities[quantities["quantity"].eq("gone")].dropna(subset=["value", "value_low"])
    return None if rows.empty else rows.to_dict("records")[0]


def _losses(
    containment: pd.DataFrame, crawls: pd.DataFrame, quantities: pd.DataFrame, population: pd.DataFrame
) -> pd.DataFrame:
    """Return the shares that each crawl lost of the crawl before it, by the date of the later one.

    Only losses of crawls that the selected model describes are split into gone and missed.
    """
    pairs = containment[containment["lag_crawls"] == 1].dropna(subset="containment")
    rows = pairs.merge(crawls[["crawl", "years"]], left_on="crawl_j", right_on="crawl").sort_values("years")
    rows = rows.assign(lost=1 - rows["containment"].astype(np.float64))
    gone, is_described = _gone(quantities), rows["crawl_i"].isin(population["crawl"])
    for end in ("", "_low", "_high"):
        limited = rows["lost"].clip(0, None if gone is None else float(gone[f"value{end}"]))
        rows[f"gone{end}"] = limited.where(is_described & (gone is not None))
    return rows[["crawl", "years", "lost", "gone", "gone_low", "gone_high"]]
