"""Figures of the observables alone: no model, no fit.

Here: the discovery curve as a heat map and as curves by start crawl, and containment by lag. Not here:
anything fitted (`fitted`, `fates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import MaxNLocator

from crawl_urn_dagster.figures.labels import (
    dates,
    is_long,
    limits_note,
    scaled_unit,
    span,
    with_limits,
)
from crawl_urn_dagster.figures.style import (
    CLOUD_POINT,
    CONTAINMENT_COLOUR,
    MISSING_COLOUR,
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

_LENGTHS_TICKED_SINGLY = 16
_LIGHTEST, _DARKEST = 0.78, 0.0  # grey levels of the oldest and the newest start


@in_style
def discovery_heat_map(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, *, title: str) -> Figure:
    """Heat map of U(s, T), distinct elements by start crawl and length of the window.

    A window that could exist and is not in the table is hatched; one that would end after the last crawl is
    blank.

    Parameters
    ----------
    crawls, discovery_curve
        Tables of the contract; `discovery_curve` has at least one row.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    n = len(crawls)
    longest = int(discovery_curve["window_crawls"].max())
    cells = _cells(crawls, discovery_curve, longest)
    unit, unit_name = scaled_unit(np.nanmax(cells))
    figure = new_figure(
        height=float(np.clip(2.4 + 0.06 * longest, 3, 3.4 if is_narrow() else 5)),
        title=title,
        heading=f"distinct {elements()} in a window of crawls, U(s, T)\n{span(crawls)}; blank: not yet over",
    )
    axes = figure.subplots()
    edges = np.arange(n + 1) - 0.5
    mesh = axes.pcolormesh(
        edges,
        np.arange(longest + 1) + 0.5,
        np.ma.masked_invalid(cells / unit),
        cmap="viridis",
        rasterized=True,
    )
    possible = _possible(n, longest)
    if np.isfinite(cells).sum() < possible.sum():
        missing = axes.fill_between(
            edges,
            0.5,
            np.append(possible, possible[-1]) + 0.5,
            step="post",
            facecolor="none",
            edgecolor=MISSING_COLOUR,
            linewidth=0,
            hatch="/////",
            zorder=0,
        )
        figure.legend([missing], ["window not in the table"], loc="outside lower right")
    ticks, labels, of_ticks = _crawl_ticks(crawls, at_most=3 if is_narrow() else 6)
    axes.set_xticks(ticks, labels)
    lengths = np.unique(discovery_curve["window_crawls"])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if longest <= _LENGTHS_TICKED_SINGLY:
        axes.set_yticks(lengths)
    axes.set_xlabel(f"start of the window, s (a column per crawl){of_ticks}")
    axes.set_ylabel("length of the window, T + 1 (crawls)")
    figure.colorbar(mesh, label=f"U(s, T) ({unit_name})", pad=0.02)
    return figure


def discovery_heat_map_caption(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    longest = discovery_curve.nlargest(1, "window_crawls").to_dict("records")[0]
    found = (
        f"The {count_noun(longest['window_crawls'], 'crawl')} from {plain_text(longest['start_crawl'])} to "
        f"{plain_text(longest['end_crawl'])} hold {with_limits(longest, 'distinct_elements', format_count)} distinct "
        f"{elements()}."
    )
    possible = _possible(len(crawls), int(discovery_curve["window_crawls"].max())).sum()
    is_missing = discovery_curve["distinct_elements"].notna().sum() < possible
    hatched = "; hatched: windows that are not known" if is_missing else ""
    text = (
        f"{span(crawls)}. {found}{limits_note(found)} A column per start crawl, a row per length of the window; the "
        f"lighter, the more. Blank: windows that are not yet over{hatched}."
    )
    return text, f"Heat map that grows lighter with the length of the window. {found}"


def _possible(n: int, longest: int) -> npt.NDArray[np.intp]:
    """Count the windows that start at each of n crawls and can be known."""
    return np.minimum(n - np.arange(n), longest)


def _cells(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, longest: int) -> npt.NDArray[np.float64]:
    """U(s, T), shape (window length from 1, start crawl); NaN where the table has no window."""
    index = dict(zip(crawls["crawl"], crawls["crawl_index"], strict=True))
    cells = np.full((longest, len(crawls)), np.nan)
    start = [index[crawl] for crawl in discovery_curve["start_crawl"]]
    cells[discovery_curve["window_crawls"] - 1, start] = discovery_curve["distinct_elements"]
    return cells


def _crawl_ticks(crawls: pd.DataFrame, *, at_most: int) -> tuple[npt.NDArray[np.intp], list[str], str]:
    """Choose crawls to be named along an axis on which they are evenly spaced, by their positions.

    Over a long calendar the first crawls of years, of which the calendar's first is one only when it was in January;
    else crawls that are evenly spread. With their labels, and what is to be said of them.
    """
    positions = np.arange(len(crawls))
    years, written, said = crawls["started_at"].dt.year, dates(crawls), ""
    if is_long(crawls):
        is_first = (years != years.shift()).to_numpy() & ((positions > 0) | (crawls["started_at"].dt.month == 1))
        positions, written, said = positions[is_first], list(years.astype(str)), "\nticks: the first of a year"
    ticks = positions[:: max(-(-len(positions) // at_most), 1)]
    return ticks, [written[tick] for tick in ticks], said


@in_style
def discovery_curves_by_start(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, *, title: str) -> Figure:
    """Discovery curves U(s, T)/U(s, 0) against elapsed years, one line per start crawl, the newest darkest.

    Parameters
    ----------
    crawls, discovery_curve
        Tables of the contract; `discovery_curve` has at least one row.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    curves = dict(list(discovery_curve.dropna(subset="ratio").groupby("start_crawl")))
    starts = crawls[crawls["crawl"].isin(curves)]
    greys = [str(grey) for grey in np.linspace(_LIGHTEST, _DARKEST, len(starts))]
    figure = new_figure(
        height=3.2 if is_narrow() else 3.8,
        title=title,
        heading=f"discovery curves by start crawl\n{span(crawls)}; a point per window",
    )
    axes = figure.subplots()
    for crawl, grey in zip(starts["crawl"], greys, strict=True):
        curve = curves[crawl].sort_values("window_crawls")
        axes.plot(curve["elapsed_years"], curve["ratio"], color=grey, linewidth=0.9, marker=".", markersize=3)
    axes.set_xlabel("time from first to last crawl of the window (years)")
    axes.set_ylabel(f"distinct {elements()} over the size\nof the start crawl, U(s, T)/U(s, 0)")
    if starts.empty:
        return figure
    ticks, labels, of_ticks = _crawl_ticks(starts, at_most=8)
    key = figure.colorbar(
        ScalarMappable(BoundaryNorm(np.arange(len(starts) + 1) - 0.5, len(starts)), ListedColormap(greys)),
        ax=axes,
        label=f"start crawl, s{of_ticks}",
        pad=0.02,
    )
    key.set_ticks(list(ticks), labels=labels)
    key.minorticks_off()
    return figure


def discovery_curves_by_start_caption(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    known = discovery_curve.dropna(subset="ratio")
    if known.empty:
        found = "The size of no start crawl is known, so that nothing is drawn."
        return found, found
    longest = known.nlargest(1, "window_crawls").to_dict("records")[0]
    found = (
        f"From {plain_text(longest['start_crawl'])} to {plain_text(longest['end_crawl'])} the distinct {elements()} "
        f"grow to {with_limits(longest, 'ratio')} times those of the start crawl."
    )
    marks = "A point per window; the newer the start crawl, the darker its line."
    text = f"{span(crawls)}. {found}{limits_note(found)} {marks}"
    return text, f"Rising curves over elapsed years, one per start crawl. {found}"


@in_style
def containment_by_lag(crawls: pd.DataFrame, containment: pd.DataFrame, *, title: str) -> Figure:
    """Containment of every pair of crawls against lag, with the mean over the pairs of a lag in crawls.

    Parameters
    ----------
    crawls, containment
        Tables of the contract. Negative containments (of sketched intersections) are shown as they are.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    known = containment.dropna(subset="containment")
    means = known.groupby("lag_crawls")[["lag_years", "containment"]].mean()
    figure = new_figure(height=3.2 if is_narrow() else 3.6, title=title, heading=f"containment by lag\n{span(crawls)}")
    axes = figure.subplots()
    axes.plot(
        known["lag_years"],
        known["containment"],
        **points(CONTAINMENT_COLOUR, marker="o", size=CLOUD_POINT),
        label=f"one pair of crawls ({count_noun(len(known), 'pair')})",
    )
    axes.plot(
        means["lag_years"],
        means["containment"],
        color=CONTAINMENT_COLOUR,
        marker="D",
        markersize=4,
        markerfacecolor="white",
        linewidth=1,
        label=f"mean over the pairs of the same lag in crawls ({count_noun(len(means), 'lag')})",
    )
    axes.set_xlim(left=0)
    axes.set_xlabel("lag (years)")
    axes.set_ylabel("containment: share of the earlier crawl\nthat is in the later, |i ∩ j|/|i|")
    figure.legend(loc="outside lower left", ncols=1 if is_narrow() else 2)
    return figure


def containment_by_lag_caption(crawls: pd.DataFrame, containment: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    by_lag = containment.dropna(subset="containment").groupby("lag_crawls")["containment"]
    spread = by_lag.agg(["mean", "min", "max", "size"]).reset_index().to_dict("records")
    ends = [
        f"{format_share(row['mean'])} at a lag of {count_noun(row['lag_crawls'], 'crawl')} "
        f"({count_noun(row['size'], 'pair')}, {format_share(row['min'])} to {format_share(row['max'])})"
        for row in (*spread[:1], *spread[1:][-1:])
    ]
    found = (
        f"On average the later crawl holds of the earlier one {', and '.join(ends)}." if ends else "No pair is known."
    )
    text = (
        f"{span(crawls)}. {found} In brackets: over how many pairs, and from the lowest to the highest of them. Small: "
        "one pair of crawls; diamonds: mean over the pairs of a lag."
    )
    return text, f"A cloud of pairs of crawls over the lag in years, with a curve of means. {found}"
