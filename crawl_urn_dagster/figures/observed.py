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

from crawl_urn_dagster.figures.labels import counted, dates, scaled_unit, span
from crawl_urn_dagster.figures.style import (
    CLOUD_POINT,
    CONTAINMENT_COLOUR,
    MISSING_COLOUR,
    in_style,
    new_figure,
    points,
)

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
        height=float(np.clip(2.4 + 0.06 * longest, 3, 5)),
        title=title,
        heading=f"distinct elements in a window of crawls, U(s, T)\n{span(crawls)}; blank: not yet over",
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
    possible = np.minimum(n - np.arange(n), longest)
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
    ticks = _spread_positions(n, at_most=6)
    axes.set_xticks(ticks, np.array(dates(crawls))[ticks])
    lengths = np.unique(discovery_curve["window_crawls"])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if longest <= _LENGTHS_TICKED_SINGLY:
        axes.set_yticks(lengths)
    axes.set_xlabel("start of the window: start date of its first crawl, s (one column per crawl)")
    axes.set_ylabel("length of the window, T + 1 (crawls)")
    figure.colorbar(mesh, label=f"U(s, T) ({unit_name})", pad=0.02)
    return figure


def _cells(crawls: pd.DataFrame, discovery_curve: pd.DataFrame, longest: int) -> npt.NDArray[np.float64]:
    """U(s, T), shape (window length from 1, start crawl); NaN where the table has no window."""
    index = dict(zip(crawls["crawl"], crawls["crawl_index"], strict=True))
    cells = np.full((longest, len(crawls)), np.nan)
    start = [index[crawl] for crawl in discovery_curve["start_crawl"]]
    cells[discovery_curve["window_crawls"] - 1, start] = discovery_curve["distinct_elements"]
    return cells


def _spread_positions(n: int, *, at_most: int) -> npt.NDArray[np.intp]:
    """Choose evenly spread positions among 0 … n-1, from 0 on."""
    return np.arange(0, n, -(-n // at_most))


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
        height=3.8,
        title=title,
        heading=f"discovery curves by start crawl\n{span(crawls)}; a point per window",
    )
    axes = figure.subplots()
    for crawl, grey in zip(starts["crawl"], greys, strict=True):
        curve = curves[crawl].sort_values("window_crawls")
        axes.plot(curve["elapsed_years"], curve["ratio"], color=grey, linewidth=0.9, marker=".", markersize=3)
    axes.set_xlabel("time from the start of the first crawl to the start of the last (years)")
    axes.set_ylabel("distinct elements over the size\nof the start crawl, U(s, T)/U(s, 0)")
    if starts.empty:
        return figure
    key = figure.colorbar(
        ScalarMappable(BoundaryNorm(np.arange(len(starts) + 1) - 0.5, len(starts)), ListedColormap(greys)),
        ax=axes,
        label="start crawl, s (start date)",
        pad=0.02,
    )
    ticks = _spread_positions(len(starts), at_most=8)
    key.set_ticks(list(ticks), labels=list(np.array(dates(starts))[ticks]))
    key.minorticks_off()
    return figure


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
    figure = new_figure(height=3.6, title=title, heading=f"containment by lag\n{span(crawls)}")
    axes = figure.subplots()
    axes.plot(
        known["lag_years"],
        known["containment"],
        **points(CONTAINMENT_COLOUR, marker="o", size=CLOUD_POINT),
        label=f"one pair of crawls ({counted(len(known), 'pair')})",
    )
    axes.plot(
        means["lag_years"],
        means["containment"],
        color=CONTAINMENT_COLOUR,
        marker="D",
        markersize=4,
        markerfacecolor="white",
        linewidth=1,
        label=f"mean over the pairs of the same lag in crawls ({counted(len(means), 'lag')})",
    )
    axes.set_xlabel("lag (years)")
    axes.set_ylabel("containment: share of the earlier crawl\nthat is in the later, |i ∩ j|/|i|")
    figure.legend(loc="outside lower left", ncols=2)
    return figure
