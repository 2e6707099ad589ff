"""Draw the observables: the discovery curve as a heat map and by start crawl, and containment by lag.

Does not draw fits (`fitted`, `fates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import MaxNLocator

from crawl_urn_dagster.figures.labels import (
    INTERVAL_NOTE,
    crawl_range,
    element_unit,
    has_interval,
    named_crawls,
    with_interval,
)
from crawl_urn_dagster.figures.style import (
    CLOUD_POINT,
    Colour,
    elements,
    in_style,
    is_narrow,
    new_figure,
    plain_text,
    points,
)
from crawl_urn_dagster.formatting import count_noun, format_count, format_share

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.figure import Figure

_MAX_TICKED_LENGTHS = 16
_LIGHTEST, _DARKEST = 0.78, 0.0  # grey levels of the oldest and the newest start crawl


@in_style
def discovery_heat_map(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, *, title: str) -> Figure:
    """Draw U(s, T), the distinct elements by start crawl and window length, as a heat map.

    A window that is missing from the table is hatched. A window that would end after the last crawl is blank.
    """
    n = len(crawls)
    longest = int(discovery_curve["window_crawls"].max())
    cells = _cells(crawls, discovery_curve, longest)
    divisor, unit = element_unit(np.nanmax(cells))
    figure = new_figure(
        height=float(np.clip(2.4 + 0.06 * longest, 3, 3.4 if is_narrow() else 5)),
        title=title,
        heading=f"distinct {elements()} per window of crawls, U(s, T)\n{crawl_range(crawls)}; blank: future windows",
    )
    axes = figure.subplots()
    edges = np.arange(n + 1) - 0.5
    lengths = np.arange(longest + 1) + 0.5
    mesh = axes.pcolormesh(edges, lengths, np.ma.masked_invalid(cells / divisor), cmap="viridis", rasterized=True)
    possible = _possible(n, longest)
    if np.isfinite(cells).sum() < possible.sum():
        missing = axes.fill_between(
            edges,
            0.5,
            np.append(possible, possible[-1]) + 0.5,
            step="post",
            facecolor="none",
            edgecolor=Colour.MISSING,
            linewidth=0,
            hatch="/////",
            zorder=0,
        )
        figure.legend([missing], ["window not in the table"], loc="outside lower right")
    ticks, labels, note = named_crawls(crawls, at_most=3 if is_narrow() else 6)
    axes.set_xticks(ticks, labels)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if longest <= _MAX_TICKED_LENGTHS:
        axes.set_yticks(np.unique(discovery_curve["window_crawls"]))
    axes.set(xlabel=f"start crawl, s{note}", ylabel="window length, T + 1 (crawls)")
    figure.colorbar(mesh, label=f"U(s, T) ({unit})", pad=0.02)
    return figure


def discovery_heat_map_caption(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    longest = discovery_curve.nlargest(1, "window_crawls").to_dict("records")[0]
    found = (
        f"The {count_noun(longest['window_crawls'], 'crawl')} from {plain_text(longest['start_crawl'])} to "
        f"{plain_text(longest['end_crawl'])} contain "
        f"{with_interval(longest, 'distinct_elements', format_count)} distinct {elements()}."
    )
    possible = _possible(len(crawls), int(discovery_curve["window_crawls"].max())).sum()
    is_missing = discovery_curve["distinct_elements"].notna().sum() < possible
    hatched = "; hatched: windows missing from the table" if is_missing else ""
    text = (
        f"{crawl_range(crawls)}. {found}{_interval_note(longest, 'distinct_elements')} One column per start crawl, one "
        f"row per window length; lighter: more {elements()}. Blank: windows that end after the last crawl{hatched}."
    )
    return text, f"Heat map that becomes lighter with window length. {found}"


def _possible(n: int, longest: int) -> npt.NDArray[np.intp]:
    """Count the windows of up to the longest length that start at each of n crawls and end by the last."""
    return np.minimum(n - np.arange(n), longest)


def _cells(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, longest: int) -> npt.NDArray[np.float64]:
    """Return U(s, T), shape (longest, n_crawls), by window length and start crawl; NaN if missing from the table."""
    index = dict(zip(crawls["crawl"], crawls["crawl_index"], strict=True))
    cells = np.full((longest, len(crawls)), np.nan)
    start = [index[crawl] for crawl in discovery_curve["start_crawl"]]
    cells[discovery_curve["window_crawls"] - 1, start] = discovery_curve["distinct_elements"]
    return cells


def _interval_note(row: dict[Any, Any], name: str) -> str:
    """Explain the parentheses of a value; exact counts have no interval."""
    return f" {INTERVAL_NOTE}" if has_interval(row, name) else ""


@in_style
def discovery_curves_by_start(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, *, title: str) -> Figure:
    """Draw U(s, T)/U(s, 0) against elapsed years, one line per start crawl, the newest darkest."""
    curves = dict(list(discovery_curve.dropna(subset="ratio").groupby("start_crawl")))
    starts = crawls[crawls["crawl"].isin(curves)]
    greys = [str(grey) for grey in np.linspace(_LIGHTEST, _DARKEST, len(starts))]
    figure = new_figure(
        height=3.2 if is_narrow() else 3.8,
        title=title,
        heading=f"discovery curves by start crawl\n{crawl_range(crawls)}; one point per window",
    )
    axes = figure.subplots()
    for crawl, grey in zip(starts["crawl"], greys, strict=True):
        curve = curves[crawl].sort_values("window_crawls")
        axes.plot(curve["elapsed_years"], curve["ratio"], color=grey, linewidth=0.9, marker=".", markersize=3)
    axes.set(
        xlabel="time from first to last crawl of the window (years)",
        ylabel=f"distinct {elements()} / size of start crawl,\nU(s, T)/U(s, 0)",
    )
    if starts.empty:
        return figure
    ticks, labels, note = named_crawls(starts, at_most=8)
    key = figure.colorbar(
        ScalarMappable(BoundaryNorm(np.arange(len(starts) + 1) - 0.5, len(starts)), ListedColormap(greys)),
        ax=axes,
        label=f"start crawl, s{note}",
        pad=0.02,
    )
    key.set_ticks(list(ticks), labels=labels)
    key.minorticks_off()
    return figure


def discovery_curves_by_start_caption(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    known = discovery_curve.dropna(subset="ratio")
    if known.empty:
        found = "The sizes of the start crawls are unknown, so nothing is drawn."
        return found, found
    longest = known.nlargest(1, "window_crawls").to_dict("records")[0]
    found = (
        f"The crawls from {plain_text(longest['start_crawl'])} to {plain_text(longest['end_crawl'])} contain "
        f"{with_interval(longest, 'ratio')} times as many distinct {elements()} as the first of them."
    )
    marks = "One point per window; darker lines: later start crawls."
    text = f"{crawl_range(crawls)}. {found}{_interval_note(longest, 'ratio')} {marks}"
    return text, f"Rising curves over elapsed years, one per start crawl. {found}"


@in_style
def containment_by_lag(crawls: pd.DataFrame, containment: pd.DataFrame, *, title: str) -> Figure:
    """Draw the containment of every pair of crawls by lag in years, with means over the pairs of a lag in crawls.

    Negative containments, of sketched intersections, are drawn unchanged.
    """
    known = containment.dropna(subset="containment")
    means = known.groupby("lag_crawls")[["lag_years", "containment"]].mean()
    figure = new_figure(
        height=3.2 if is_narrow() else 3.6, title=title, heading=f"containment by lag\n{crawl_range(crawls)}"
    )
    axes = figure.subplots()
    axes.plot(
        known["lag_years"],
        known["containment"],
        **points(Colour.CONTAINMENT, marker="o", size=CLOUD_POINT),
        label=f"one pair of crawls ({count_noun(len(known), 'pair')})",
    )
    axes.plot(
        means["lag_years"],
        means["containment"],
        color=Colour.CONTAINMENT,
        marker="D",
        markersize=4,
        markerfacecolor="white",
        linewidth=1,
        label=f"mean over the pairs of the same lag in crawls ({count_noun(len(means), 'lag')})",
    )
    axes.set_xlim(left=0)
    axes.set(xlabel="lag (years)", ylabel="containment: share of the earlier crawl\nin the later, |i ∩ j|/|i|")
    figure.legend(loc="outside lower left", ncols=1 if is_narrow() else 2)
    return figure


def containment_by_lag_caption(crawls: pd.DataFrame, containment: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    by_lag = containment.dropna(subset="containment").groupby("lag_crawls")["containment"]
    spread = by_lag.agg(["mean", "min", "max", "size"]).reset_index().to_dict("records")
    ends = [
        f"{format_share(row['mean'])} at lag {row['lag_crawls']} ({count_noun(row['size'], 'pair')}"
        + (f", range {format_share(row['min'])} to {format_share(row['max'])})" if row["size"] > 1 else ")")
        for row in (*spread[:1], *spread[1:][-1:])
    ]
    found = f"Mean containment is {' and '.join(ends)}." if ends else "The containment of all pairs is unknown."
    text = f"{crawl_range(crawls)}. {found} Small points: pairs of crawls; diamonds: means over the pairs of a lag."
    return text, f"Pairs of crawls as points by lag in years, with a curve of means. {found}"
