"""Figures of the parameters over time, and of the control charts that watch them.

Here: rolling fits with their limits, charts with their limits, and marks of drift. Not here: fits of all crawls
(`fitted`), or estimates of single crawls by capture-recapture (`judged`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.axes import date_axis, figure_of_nothing
from crawl_urn_dagster.figures.labels import LIMITS_NOTE, fit_in_words, is_said, span
from crawl_urn_dagster.figures.style import (
    CONTAINMENT_COLOUR,
    DISCOVERY_COLOUR,
    JOINT_COLOUR,
    MISSING_COLOUR,
    in_style,
    new_figure,
    plain_text,
    tint,
)
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import UNSAID, WITHHELD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.urn.data.histories import FloatArray

_PANELS = {
    "kappa": (JOINT_COLOUR, "core, κ"),
    "core_share": (JOINT_COLOUR, "core in a crawl, μ"),
    "alpha": (CONTAINMENT_COLOUR, "survival, α"),
    "coverage": (DISCOVERY_COLOUR, "coverage, c"),
}
_CHARTS = {
    "core": (JOINT_COLOUR, "κ of each crawl"),
    "survival": (CONTAINMENT_COLOUR, "α of the gap before it"),
    "coverage": (DISCOVERY_COLOUR, "c of each crawl"),
}
_LEAST_REACH = 0.01  # of an axis of charts whose points are all the same


@in_style
def parameters_over_time(history: pd.DataFrame, drift: pd.DataFrame, crawls: pd.DataFrame, *, title: str) -> Figure:
    """Draw the joint fit of every rolling window, at its last crawl, with 95 % limits and marks of drift.

    Parameters
    ----------
    history, drift, crawls
        Tables `parameter_history`, `drift` and `crawls`.
    title
        The collection, for example ``us_gov_hosts (host)``.
    """
    rows = _shown(history).merge(crawls[["crawl", "years"]], left_on="last_crawl", right_on="crawl")
    heading = "parameters in rolling windows of crawls"
    if rows.empty:
        return figure_of_nothing(title, heading, "no window has a fit that may be shown")
    figure = new_figure(
        height=5.4,
        title=title,
        heading=f"{heading}\n{span(crawls)}; joint fit of core and shell, drawn at the "
        "last crawl of each window; hollow: with a reservation; without a point: not identified",
    )
    all_axes = figure.subplots(4, 1, sharex=True)
    for axes, (name, (colour, label)) in zip(all_axes, _PANELS.items(), strict=True):
        values = rows[name].where(is_said(rows, name)).to_numpy(dtype=np.float64)
        limits = [rows[f"{name}_{end}"].to_numpy(dtype=np.float64) for end in ("low", "high")]
        axes.fill_between(rows["years"], *limits, color=tint(colour), linewidth=0, alpha=0.5)
        axes.plot(rows["years"], values, "o-", color=colour, markersize=2.5)
        unsure = (rows["status"] != "ok").to_numpy()
        axes.plot(rows["years"][unsure], values[unsure], "o", color=colour, markersize=4, markerfacecolor="white")
        axes.set_ylabel(label)
        _mark_drift(axes, drift, crawls, name)
    date_axis(all_axes[-1], crawls)
    return figure


def parameters_over_time_caption(history: pd.DataFrame, drift: pd.DataFrame, crawls: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    rows = _shown(history)
    windows = rows.to_dict("records")
    hollow = " Hollow: a fit with a reservation." if rows["status"].isin(["at_bound"]).any() else ""
    pointless = " Without a point: not identified." if rows["status"].isin(UNSAID).any() else ""
    dotted = " Dotted: the crawl with which the change began." if drift["since_crawl"].notna().any() else ""
    marks = f"Bands: 95 % limits.{hollow}{pointless}{dotted} {LIMITS_NOTE}"
    moved = _moved_in_words(drift)
    if not windows:
        found = "No window of crawls has a fit that may be shown, so that no number is given."
        return f"{found} {moved}", found
    named = {"First window": windows[0], "last window": windows[-1]} if len(windows) > 1 else {"The window": windows[0]}
    ends = [f"{name}, to {plain_text(row['last_crawl'])}: {fit_in_words(row)}" for name, row in named.items()]
    starts, stops = (pd.Index(crawls["crawl"]).get_indexer(rows[end]) for end in ("first_crawl", "last_crawl"))
    length = int(stops[0] - starts[0]) + 1
    overlapping = "overlapping " if (np.diff(starts) < length).any() else ""
    counting = (
        f"{count_noun(len(rows), f'{overlapping}window')} of {count_noun(length, 'crawl')}, among {span(crawls)}."
    )
    alt = f"Four curves over time, of κ, μ, α and c, each with a band of limits. {moved}"
    return f"{counting} {'; '.join(ends)}. {moved} {marks}", alt


@in_style
def control_charts(chart: pd.DataFrame, drift: pd.DataFrame, crawls: pd.DataFrame, *, title: str) -> Figure:
    """Draw what each crawl says of core, survival and coverage, and its moving average with the limits of no change.

    Parameters
    ----------
    chart, drift, crawls
        Tables `control_chart`, `drift` and `crawls`.
    title
        The collection.
    """
    if chart.empty:
        reasons = drift["reason"].dropna()
        words = f"not judged: {reasons.iloc[0]}" if len(reasons) else "not judged"
        return figure_of_nothing(title, "control charts", words)
    figure = new_figure(
        height=5.0,
        title=title,
        heading="control charts\npoints: each crawl by itself, hollow in the reference; line: moving average since; "
        "grey: limits of the line, not of the points",
    )
    all_axes = figure.subplots(3, 1, sharex=True)
    for axes, (name, (colour, label)) in zip(all_axes, _CHARTS.items(), strict=True):
        rows = chart[chart["chart"] == name].merge(crawls[["crawl", "years"]], on="crawl")
        reference = rows[rows["phase"] == "reference"]
        monitored = rows[rows["phase"] == "monitored"]
        style = {"color": MISSING_COLOUR, "markersize": 3, "markerfacecolor": "white", "markeredgewidth": 0.8}
        axes.plot(reference["years"], reference["value"], "o", **style)
        axes.plot(monitored["years"], monitored["value"], "o", color=tint(colour), markersize=2.5)
        low, average, high = (
            monitored[column].to_numpy(dtype=np.float64) for column in ("average_low", "average", "average_high")
        )
        axes.fill_between(monitored["years"], low, high, color=MISSING_COLOUR, alpha=0.25, linewidth=0)
        axes.plot(monitored["years"], average, "-", color=colour)
        beyond = monitored["alarm"].astype("boolean").fillna(value=False).to_numpy(dtype=bool)
        axes.plot(monitored["years"][beyond], average[beyond], "x", color="black", label="beyond the limits")
        if beyond.any():
            axes.legend(loc="best")
        axes.set_ylabel(label)
        _frame_points(axes, np.concatenate([rows["value"], average]), low, high)
    date_axis(all_axes[-1], crawls)
    return figure


def _frame_points(axes: Axes, shown: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """Let limits that are much wider than what they are limits of leave the frame."""
    known = shown[np.isfinite(shown)]
    if not known.size:
        return
    reach = max(np.ptp(known), _LEAST_REACH)
    bottom = max(known.min() - reach, np.nanmin([known.min(), *low]))
    top = min(known.max() + reach, np.nanmax([known.max(), *high]))
    margin = 0.05 * max(top - bottom, _LEAST_REACH)
    axes.set_ylim(bottom - margin, top + margin)


def control_charts_caption(chart: pd.DataFrame, drift: pd.DataFrame, crawls: pd.DataFrame) -> tuple[str, str]:
    """Give the caption and the alternative text."""
    if chart.empty:
        found = "Drift could not be judged, so that nothing is drawn."
        return found, found
    phases = [chart.loc[chart["phase"] == phase, "crawl"].nunique() for phase in ("reference", "monitored")]
    alarms = chart[chart["alarm"].astype("boolean").fillna(value=False)]
    beyond = (
        "Beyond the limits: "
        + ", ".join(f"{name}, {count_noun(n, 'crawl')}" for name, n in alarms["chart"].value_counts().items())
        if len(alarms)
        else "No average is beyond its limits"
    )
    moved = _moved_in_words(drift)
    text = (
        f"{span(crawls)}: {count_noun(phases[0], 'crawl')} of the reference (hollow) and "
        f"{count_noun(phases[1], 'crawl')} since (full), each by itself. Lines: moving average since the reference; "
        "grey, which may leave the frame: limits of the line, not of the points; when nothing changes, any of the "
        "three passes them in 2 % of runs of 24 crawls"
        f"{'; crosses: beyond them' if len(alarms) else ''}. {beyond}. {moved}"
    )
    return text, f"Three control charts over time, of core, survival and coverage. {beyond}. {moved}"


def _shown(history: pd.DataFrame) -> pd.DataFrame:
    """Joint fits of core and shell of all elements that may be shown, one row per window."""
    rows = history[(history["projection"] == "joint") & (history["model"] == "core_shell")]
    return rows[(rows["component"] == "shell") & ~rows["status"].isin(WITHHELD)]


def _moved_in_words(drift: pd.DataFrame) -> str:
    judged = drift[drift["parameter"].isin(list(SYMBOLS))]
    if judged.empty or judged["drifted"].isna().all():
        return "Drift could not be judged."
    moved = judged[judged["attributed"].astype("boolean").fillna(value=False)]
    if moved.empty and judged["drifted"].astype("boolean").any():
        return "There is an alarm that no parameter explains."
    if moved.empty:
        open_ones = [SYMBOLS[name] for name in judged.loc[judged["drifted"].isna(), "parameter"]]
        return "No drift was found" + (f"; {', '.join(open_ones)} could not be judged." if open_ones else ".")
    names = ", ".join(
        f"{SYMBOLS[row['parameter']]} since {plain_text(row['since_crawl'])}" for row in moved.to_dict("records")
    )
    return f"Moved: {names}."


def _mark_drift(axes: Axes, drift: pd.DataFrame, crawls: pd.DataFrame, name: str) -> None:
    """Mark the crawl with which a change that is attributed to the parameter began."""
    moved = drift[(drift["parameter"] == name) & drift["attributed"].astype("boolean").fillna(value=False)]
    since = crawls[crawls["crawl"].isin(moved["since_crawl"].dropna())]
    for years, crawl in zip(since["years"], since["crawl"], strict=True):
        axes.axvline(years, color="black", linewidth=0.8, linestyle=":", label=f"moved since {plain_text(crawl)}")
        axes.legend(loc="best")
