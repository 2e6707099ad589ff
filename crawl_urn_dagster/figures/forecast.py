"""Figures of what the next crawls will bring, and of what other coverages would.

Here: the discovery curve with its forecast, the forecast of a year of crawls ago beside what came, and planning curves.
Not here: computing any of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.axes import crawl_ticks, figure_of_nothing
from crawl_urn_dagster.figures.labels import LIMITS_NOTE, scaled_unit, with_limits
from crawl_urn_dagster.figures.style import (
    CONTAINMENT_COLOUR,
    DISCOVERY_COLOUR,
    JOINT_COLOUR,
    MISSING_COLOUR,
    elements,
    in_style,
    is_narrow,
    new_figure,
    panels,
    plain_text,
    tint,
)
from crawl_urn_dagster.formatting import count_noun, format_count, format_share
from crawl_urn_dagster.urn import UNSAID
from crawl_urn_dagster.urn.monitoring.planning import SEEN_WELL, seen_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CADENCES = ("half the gap", "the present gap", "twice the gap")
_COLOURS = (CONTAINMENT_COLOUR, JOINT_COLOUR, DISCOVERY_COLOUR)
_CRAWLS_PLANNED = 24
_OPEN = "The joint fit of core and shell is not_identified, no numbers"
_LABEL_HEIGHT = 0.05  # of the axes: labels of curves that are closer would meet


@in_style
def forecast_fan(forecast: pd.DataFrame, crawls: pd.DataFrame, discovery_curve: pd.DataFrame, *, title: str) -> Figure:
    """Draw new elements by crawl, and distinct elements of windows: what came, and what was and is forecast.

    The windows are those from the first crawl on; where these are not known, those of the greatest length that is.

    Parameters
    ----------
    forecast, crawls, discovery_curve
        Tables of the contract.
    title
        The collection.
    """
    heading = "forecast of the next 12 crawls"
    known = forecast.dropna(subset="value")
    if known.empty:
        return figure_of_nothing(title, heading, str(forecast["reason"].iloc[0]))
    figure = new_figure(
        height=5.2 if is_narrow() else 3.6,
        title=title,
        heading=f"{heading}\nbands: 95 % prediction intervals; the earlier one knew nothing of what came since",
    )
    left, right = panels(figure, 2)
    origins = _farthest_apart(forecast)
    index = pd.Index(crawls["crawl"])
    curve = discovery_curve.assign(end=index.get_indexer(discovery_curve["end_crawl"]))
    looks = ((CONTAINMENT_COLOUR, "--"), (JOINT_COLOUR, "-"))[-len(origins) :]
    for origin, look in zip(origins, looks, strict=True):
        at = int(index.get_indexer([origin])[0])
        rows = known[known["origin_crawl"] == origin]
        _fan(left, at, rows[rows["quantity"] == "new_elements"], look, origin)
        windows = _one_kind_of_window(rows[rows["quantity"] == "distinct_elements"])
        _fan(right, at, windows, look, origin)
        came = _same_windows(curve, windows)
        right.plot(came["end"], came["distinct_elements"], ".", color="black", markersize=3)
    new = _new_elements(crawls, discovery_curve)
    left.plot(new.index, new, ".", color="black", markersize=3)
    for axes, name in ((left, "new in a crawl"), (right, "distinct in a window")):
        axes.set_ylim(bottom=0)
        divisor, unit = scaled_unit(axes.get_ylim()[1])
        axes.yaxis.set_major_formatter(partial(_in_units, divisor=divisor))
        axes.set_xlabel("crawls since the first")
        crawl_ticks(axes)
        axes.set_ylabel(f"{name}, {unit}")
    right.legend(loc="upper left")
    return figure


def forecast_fan_caption(
    forecast: pd.DataFrame, crawls: pd.DataFrame, discovery_curve: pd.DataFrame
) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    rows = forecast.dropna(subset="value")
    rows = rows[rows["quantity"] == "new_elements"]
    latest = rows[rows["origin_crawl"] == crawls["crawl"].iloc[-1]].sort_values("crawls_ahead")
    if latest.empty:
        found = "There is no forecast, so that no number is given."
        return found, found
    ends = [(row, with_limits(row, "value", format_count)) for row in latest.iloc[[0, -1]].to_dict("records")]
    found = (
        f"The next crawl, expected on {ends[0][0]['expected_at']:%Y-%m-%d}, is to bring {ends[0][1]} {elements()} that "
        f"no crawl has seen, the {ends[1][0]['crawls_ahead']}th from now {ends[1][1]}."
    )
    earlier = rows[rows["origin_crawl"].isin(_farthest_apart(forecast)[:-1])]
    at = pd.Index(crawls["crawl"]).get_indexer(earlier["origin_crawl"]) + earlier["crawls_ahead"].astype(int)
    came = _new_elements(crawls, discovery_curve).reindex(at).to_numpy()
    within = (came >= earlier["value_low"].to_numpy()) & (came <= earlier["value_high"].to_numpy())
    known = int(np.isfinite(came).sum())
    kept = (
        f" Of {count_noun(known, 'crawl')} since the earlier forecast, {within.sum()} "
        f"{'was' if within.sum() == 1 else 'were'} within its interval."
        if known
        else ""
    )
    text = (
        f"{found}{kept} Bands, and brackets: 95 % prediction intervals, from what the same forecast missed by in the "
        "past; so many crawls ahead that happened only a few times, so that edges of bands are jagged. Lines: "
        f"forecasts, named after the last crawl that they knew of; points: what came. Left, new {elements()} of each "
        f"crawl; right, distinct {elements()} of windows."
    )
    return text, f"New {elements()} by crawl and distinct {elements()} of windows, with fans ahead. {found}{kept}"


def _farthest_apart(forecast: pd.DataFrame) -> list[str]:
    """Origins that are drawn: the earliest, of which most has come since, and the latest."""
    origins = list(dict.fromkeys(forecast["origin_crawl"]))
    return [*origins[:1], *origins[1:][-1:]]


def _new_elements(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> pd.Series:
    """Elements that no earlier crawl saw, by index of the crawl; none where a window from the first is not known."""
    index = pd.Index(crawls["crawl"])
    whole_windows = discovery_curve[discovery_curve["start_crawl"] == index[0]].sort_values("window_crawls")
    new = whole_windows["distinct_elements"].astype(float).diff()
    new.index = pd.Index(whole_windows["window_crawls"] - 1)
    is_whole = bool((np.diff(new.index) == 1).all())
    known: pd.Series = new.iloc[1:] if is_whole else new.iloc[:0]
    return known


@in_style
def planning_curves(planning: pd.DataFrame, parameters: pd.DataFrame, *, title: str) -> Figure:
    """Draw what crawls of another coverage or cadence would see, how soon, and at which cost.

    Parameters
    ----------
    planning, parameters
        Tables of the contract.
    title
        The collection.
    """
    now = planning[planning["current"].astype(bool)]
    heading = "planning of the shell, the part that comes and goes"
    if now.empty:
        return figure_of_nothing(title, heading, "no urn to plan with")
    if now["status"].iloc[0] in UNSAID:
        return figure_of_nothing(title, heading, _OPEN)
    figure = new_figure(
        height=6.6 if is_narrow() else 3.4,
        title=title,
        heading=f"{heading}\nleft: a line per coverage, the present one thick; others: a line "
        "per gap between crawls; cross: as it is now",
    )
    seen, cost, hidden = panels(figure, 3)
    gaps = sorted(planning["gap"].unique())
    for gap, colour, dashes, name in zip(gaps, _COLOURS, ("--", "-", ":"), _CADENCES, strict=False):
        rows = planning[planning["gap"] == gap].sort_values("coverage")
        for axes, column in ((cost, "cost_per_new"), (hidden, "seen_at_last")):
            axes.fill_between(
                *(rows["coverage"], rows[f"{column}_low"], rows[f"{column}_high"]),
                color=tint(colour),
                alpha=0.5,
                linewidth=0,
            )
            axes.plot(rows["coverage"], rows[column], color=colour, linestyle=dashes, label=name)
    cost.plot(now["coverage"], now["cost_per_new"], "kx")
    hidden.plot(now["coverage"], now["seen_at_last"], "kx")
    _draw_seen(seen, now.iloc[0], parameters, planning)
    hidden.legend(loc="lower right")
    seen.set_xlabel("crawls")
    crawl_ticks(seen)
    seen.set_ylabel("share of the shell\nthat was seen")
    for axes in (cost, hidden):
        axes.set_xlabel("coverage, c")
    cost.set_ylabel(f"{elements()} fetched per new one")
    hidden.set_ylabel("share of the shell\nseen in the long run")
    return figure


def planning_curves_caption(planning: pd.DataFrame, _parameters: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    now = planning[planning["current"].astype(bool)].to_dict("records")
    if not now or now[0]["status"] in UNSAID:
        found = f"{_OPEN}." if now else "There is no urn to plan with, so that no number is given."
        return found, found
    found = (
        f"Now, at a coverage of {format_share(now[0]['coverage'])}, a crawl fetches "
        f"{with_limits(now[0], 'cost_per_new')} {elements()} for each new one, and in the long run has seen "
        f"{with_limits(now[0], 'seen_at_last')} of the "
        "shell as it then is."
    )
    text = (
        f"{found} {LIMITS_NOTE} Share of the shell seen after so many crawls, at the present gap, a line per coverage "
        f"with the present one thick, dotted {100 * SEEN_WELL:g} %; then over coverage, {elements()} fetched per new "
        "one, and the share of the shell seen in the long run, with bands of 95 % limits, dashed at half the present "
        "gap between crawls, full at the present one, dotted at twice it. Crosses: as it is now."
    )
    return (
        text,
        f"Three panels: what is seen over time, what new {elements()} cost, and what is seen in the long run. {found}",
    )


def _in_units(value: float, _position: int, *, divisor: float) -> str:
    return f"{value / divisor:g}"


def _one_kind_of_window(distinct: pd.DataFrame) -> pd.DataFrame:
    """Windows from the earliest crawl that all crawls to come are told from; else those of the greatest length."""
    ahead = distinct["crawls_ahead"].max()
    to_the_end = distinct[(distinct["crawls_ahead"] == ahead) & distinct["start_crawl"].notna()]
    if len(to_the_end):
        start = to_the_end.sort_values("window_crawls")["start_crawl"].iloc[-1]
        from_start: pd.DataFrame = distinct[distinct["start_crawl"] == start]
        return from_start
    longest: pd.DataFrame = distinct[distinct["window_crawls"] == distinct["window_crawls"].max()]
    return longest


def _same_windows(curve: pd.DataFrame, windows: pd.DataFrame) -> pd.DataFrame:
    """Observed windows of the kind of some that are forecast."""
    if len(windows["start_crawl"].unique()) == 1:
        return curve[curve["start_crawl"].isin(windows["start_crawl"])]
    return curve[curve["window_crawls"].isin(windows["window_crawls"])]


def _fan(axes: Axes, at: int, rows: pd.DataFrame, look: tuple[str, str], origin: str) -> None:
    colour, dashes = look
    x = at + rows["crawls_ahead"]
    if len(rows) == 1:  # neither a line nor a band is to be seen of one point
        axes.vlines(x, rows["value_low"], rows["value_high"], color=tint(colour))
    axes.fill_between(x, rows["value_low"], rows["value_high"], color=tint(colour), alpha=0.5, linewidth=0)
    marker = "o" if len(rows) == 1 else ""
    label = f"from {plain_text(origin)}"
    axes.plot(x, rows["value"], color=colour, linestyle=dashes, marker=marker, markersize=4, label=label)


def _draw_seen(axes: Axes, now: pd.Series, parameters: pd.DataFrame, planning: pd.DataFrame) -> None:
    """Draw the share of the shell that n crawls have seen, at the present gap, for coverages from low to high."""
    fit = parameters[
        (parameters["projection"] == "joint")
        & (parameters["model"] == "core_shell")
        & (parameters["clock"] == now["clock"])
        & (parameters["component"] == "shell")
        & parameters["stratum"].isna()
    ].iloc[0]
    crawls = np.arange(1, _CRAWLS_PLANNED + 1)
    labelled: list[float] = []
    present_first = sorted(
        planning.loc[planning["gap"] == now["gap"], "coverage"], key=lambda c: (c != now["coverage"], c)
    )
    for coverage in present_first:
        present = coverage == now["coverage"]
        share = seen_share(0.0, fit["alpha"], coverage, crawls, gap=float(now["gap"]))
        axes.plot(crawls, share, color=JOINT_COLOUR if present else MISSING_COLOUR, linewidth=1.4 if present else 0.6)
        if all(abs(coverage - other) > _LABEL_HEIGHT for other in labelled):
            # At the first crawl they are the farthest apart.
            axes.annotate(f"{coverage:.2g} ", (1, coverage), horizontalalignment="right", verticalalignment="center")
            labelled.append(coverage)
    axes.plot([1, _CRAWLS_PLANNED], [SEEN_WELL, SEEN_WELL], color="black", linestyle=":", linewidth=0.8)
    axes.set_xlim(left=-3)
    axes.set_ylim(0, 1)
