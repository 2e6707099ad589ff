"""Draw the overlap of archives, and the coverage of each that it implies.

Does not match or count crawls; see `estimates.cross_archive`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from crawl_urn_dagster.estimates.cross_archive import latest_match
from crawl_urn_dagster.estimates.cross_archive_rows import JOINED_BY
from crawl_urn_dagster.figures.axes import crawl_ticks, message_figure
from crawl_urn_dagster.figures.style import (
    Colour,
    elements,
    in_style,
    is_narrow,
    line_height,
    new_figure,
    panels,
    plain_text,
    tint,
)
from crawl_urn_dagster.formatting import count_noun, format_percent, format_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL_CHARACTERS = 22
_HEADING = "overlap and coverage of archives"
_EMPTY = "no crawls of the archives match"
_DARK = 0.5  # shares above this have a light cell in viridis


@in_style
def archive_overlap(cross_archive: pd.DataFrame, *, title: str) -> Figure:
    """Draw the latest match: the share of each list that is on each other list, and the coverage of each list.

    Coverage is a bar over the configured odds ratios. A filled circle is the coverage counted in a register, a hollow
    one an estimate that may be reported, and a diamond the completeness from the collection's own crawls.
    """
    rows = latest_match(cross_archive)
    if rows.empty:
        return message_figure(title, _HEADING, _EMPTY)
    names = _lists(rows)
    figure = new_figure(
        height=1.9 + (2 if is_narrow() else 1) * (0.4 + 2.4 * line_height() * (len(names) + 1)),
        title=title,
        heading=f"{_HEADING}, {plain_text(str(rows['match'].iloc[0]), at_most=40)}",
    )
    matrix, coverage = panels(figure, 2)
    if len(names) > 1:
        _draw_matrix(matrix, rows, names)
    else:
        _draw_history(matrix, cross_archive)
    _draw_coverage(coverage, rows, names)
    handles = [
        Patch(color=tint(Colour.JOINT), label="odds ratios of the settings"),
        Line2D([], [], **_marker("o", Colour.JOINT), label="register"),
        Line2D([], [], **_marker("o", "white"), label="estimate"),
        Line2D([], [], **_marker("D", Colour.DISCOVERY), label="own crawls"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=2 if is_narrow() else 4)
    return figure


def archive_overlap_caption(cross_archive: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    rows = latest_match(cross_archive)
    if rows.empty:
        return f"No crawls of the archives match, so nothing is drawn: their {elements()} cannot be compared.", (
            "A message instead of a drawing: no crawls of the archives match."
        )
    names = _lists(rows)
    found = f"{count_noun(len(names), 'list')} of crawl {plain_text(str(rows['match'].iloc[0]), at_most=40)}."
    by_frame = _values(rows, "frame")
    coverages = "; ".join(f"{plain_text(name, at_most=30)} {format_share(by_frame[name])}" for name in by_frame)
    left = (
        f"share of the {elements()} of the row's list that are on the column's list; last column: on no other list"
        if len(names) > 1
        else "coverage counted in the register at each of its crawls; crosses: crawls that the list lacks"
    )
    register = f"counted in a register{coverages and f' ({coverages})'}"
    text = (
        f"{found} Left: {left}. Right: coverage of each list and of their union. Bars: range over the configured "
        f"odds ratios of two lists, with the sampling error. Filled circle: {register}; "
        "hollow circle: estimate, only if the lists are near independent; diamond: completeness from the collection's "
        "own crawls, with its 95 % confidence interval."
    )
    return text, (
        f"{'A matrix of overlaps' if len(names) > 1 else 'Counted coverage over time'}, and the coverage of each list "
        f"as ranges and points. {found}"
    )


def _lists(rows: pd.DataFrame) -> list[str]:
    return rows.loc[rows["quantity"] == "elements", "lists"].tolist()


def _values(rows: pd.DataFrame, estimator: str) -> dict[str, float]:
    """Return the coverage of each list, and of the union, by an estimator."""
    known = rows[(rows["quantity"] == "coverage") & (rows["estimator"] == estimator) & rows["estimate"].notna()]
    return dict(zip(known["lists"], known["estimate"].astype(float), strict=True))


def _draw_matrix(axes: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    """Draw the shares of each list on the others and on no other."""
    of = {quantity: some.set_index("lists")["estimate"] for quantity, some in rows.groupby("quantity")}
    shares = np.full((len(names), len(names) + 1), np.nan)
    for i, row in enumerate(names):
        size = float(of["elements"][row])
        for j, column in enumerate(names):
            pair = JOINED_BY.join([row, column] if i < j else [column, row])
            shares[i, j] = np.nan if i == j or not size else float(of["overlap"][pair]) / size
        shares[i, -1] = float(of["only"][row]) / size if size else np.nan
    axes.imshow(np.ma.masked_invalid(shares), vmin=0, vmax=1, cmap="viridis", aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        if np.isfinite(share):
            colour = "black" if share > _DARK else "white"
            text = format_percent(100 * share)
            axes.text(j, i, text, color=colour, horizontalalignment="center", verticalalignment="center")
    shown = [plain_text(name, at_most=_LABEL_CHARACTERS) for name in names]
    axes.set_yticks(range(len(names)), shown)
    axes.set_xticks(range(len(names) + 1), [*(str(i + 1) for i in range(len(names))), "none"])
    axes.set_xlabel("% of the row's list on list number")


def _draw_history(axes: Axes, cross_archive: pd.DataFrame) -> None:
    """Draw the coverage that the register shows at every match; crosses at 0 are missing crawls."""
    rows = cross_archive[cross_archive["stratum"].isna()]
    is_counted = (rows["quantity"] == "coverage") & (rows["estimator"] == "frame")
    shown = rows[is_counted | (rows["quantity"] == "missing_crawl")].reset_index(drop=True)
    coverages = shown[shown["quantity"] == "coverage"]
    axes.plot(coverages.index, coverages["estimate"], **{**_marker("o", Colour.JOINT), "markersize": 2.5})
    missing = shown.index[shown["quantity"] == "missing_crawl"]
    axes.plot(missing, [0] * len(missing), **{**_marker("x", Colour.TRUTH), "clip_on": False})
    axes.set(xlabel="crawl of the register", ylabel="counted coverage", ylim=(0, 1.03))
    crawl_ticks(axes)


def _draw_coverage(axes: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    """Draw the coverage of each list and of the union: range over odds ratios, register, estimate, own crawls."""
    shown = [*names, JOINED_BY.join(names)] if len(names) > 1 else names
    coverage = rows[rows["quantity"] == "coverage"]
    heights = {name: position for position, name in enumerate(shown)}
    ranged = coverage[coverage["sensitivity_low"].notna()]
    for row in ranged.to_dict("records"):
        width = row["sensitivity_high"] - row["sensitivity_low"]
        axes.barh(heights[row["lists"]], width, left=row["sensitivity_low"], height=0.5, color=tint(Colour.JOINT))
    styles = {"frame": ("o", Colour.JOINT), "urn": ("D", Colour.DISCOVERY)}
    for row in coverage[coverage["estimate"].notna() & (coverage["estimator"] != "bound")].to_dict("records"):
        marker, face = styles.get(row["estimator"], ("o", "white"))
        height = heights[row["lists"]] + (0.2 if row["estimator"] == "urn" else 0)
        if pd.notna(row["estimate_low"]):
            colour = Colour.DISCOVERY if row["estimator"] == "urn" else Colour.JOINT
            axes.hlines(height, row["estimate_low"], row["estimate_high"], color=colour, linewidth=1.2)
        axes.plot(row["estimate"], height, **_marker(marker, face))
    labels = [plain_text(name, at_most=_LABEL_CHARACTERS) for name in names]
    axes.set_yticks(range(len(shown)), [*labels, "union"][: len(shown)])
    axes.set(xlim=(-0.03, 1.03), ylim=(len(shown) - 0.5, -0.5), xlabel="coverage")


def _marker(marker: str, face: str) -> dict[str, Any]:
    edge = Colour.JOINT if face == "white" else face
    return {
        "color": edge,
        "marker": marker,
        "markersize": 4.5,
        "markerfacecolor": face,
        "linestyle": "none",
        "zorder": 3,
    }
