"""Draw the parameters over time and the control charts that monitor them.

Does not draw fits of all crawls (`fitted`) or capture-recapture estimates of single crawls (`diagnostics`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.fits import joint_core_shell
from crawl_urn_dagster.figures.axes import date_axis, message_figure
from crawl_urn_dagster.figures.labels import crawl_range, describe_fit, element_unit, has_point_estimate, rows_of_fit
from crawl_urn_dagster.figures.style import Colour, in_style, new_figure, plain_text, tint
from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.schema import CONTROL_CHART, SYMBOLS
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl_urn_dagster.urn.data.histories import FloatArray

_PANELS = {
    "kappa": (Colour.JOINT, "core fraction\nof the urn, κ"),
    "core_share": (Colour.JOINT, "core share\nof a crawl, μ"),
    "alpha": (Colour.CONTAINMENT, "shell\nsurvival, α"),
    "coverage": (Colour.DISCOVERY, "shell\ncoverage, c"),
}
_CHARTS = {
    "core": (Colour.JOINT, "core fraction\nof the urn, κ"),
    "survival": (Colour.CONTAINMENT, "shell survival\nsince the last\ncrawl, α"),
    "coverage": (Colour.DISCOVERY, "shell\ncoverage, c"),
    "completeness": (Colour.JOINT, "crawl\ncompleteness"),
    "population": (Colour.CONTAINMENT, "known eligible"),
}
_SHARES = ("core", "survival", "coverage", "completeness")
_AVERAGE = ("average", "average_low", "average_high")
_MIN_RANGE = 0.01  # of an axis of a chart whose points are all equal
_MOST_REACH = 2.0  # ranges of the points by which control limits may widen an axis at each end


@in_style
def parameters_over_time(history: pd.DataFrame, drift: pd.DataFrame, crawls: pd.DataFrame, *, title: str) -> Figure:
    """Draw the joint fit of every rolling window, at its last crawl, with 95 % confidence intervals and drift."""
    rows = _reported(history).merge(crawls[["crawl", "years"]], left_on="last_crawl", right_on="crawl")
    heading = "parameters in rolling windows of crawls"
    if rows.empty:
        return message_figure(title, heading, "no rolling window has a reported fit")
    figure = new_figure(
        height=5.4,
        title=title,
        heading=f"{heading}\n{crawl_range(crawls)}; joint core–shell fit, drawn at the last crawl of each window; "
        "hollow: with a warning; no point: not identified",
    )
    all_axes = figure.subplots(4, 1, sharex=True)
    for axes, (name, (colour, label)) in zip(all_axes, _PANELS.items(), strict=True):
        values = rows[name].where(has_point_estimate(rows, name)).to_numpy(dtype=np.float64)
        interval = [rows[f"{name}_{end}"].to_numpy(dtype=np.float64) for end in ("low", "high")]
        axes.fill_between(rows["years"], *interval, color=tint(colour), linewidth=0, alpha=0.5)
        axes.plot(rows["years"], values, "o-", color=colour, markersize=2.5)
        has_warning = (rows["status"] != "ok").to_numpy()
        axes.plot(
            *(rows["years"][has_warning], values[has_warning], "o"), color=colour, markersize=4, markerfacecolor="white"
        )
        axes.set_ylabel(label)
        _mark_drift(axes, drift, crawls, name)
    date_axis(all_axes[-1], crawls)
    return figure


def parameters_over_time_caption(history: pd.DataFrame, drift: pd.DataFrame, crawls: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    rows = _reported(history)
    windows = rows.to_dict("records")
    hollow = " Hollow: a fit with a warning." if rows["status"].isin(["at_bound"]).any() else ""
    no_point = " No point: not identified." if rows["status"].isin(NO_POINT_ESTIMATE_STATUSES).any() else ""
    dotted = " Dotted: the first crawl of a change." if drift["since_crawl"].notna().any() else ""
    marks = f"Bands and parentheses: 95 % confidence intervals.{hollow}{no_point}{dotted}"
    summary = _drift_summary(drift)
    if not windows:
        found = "No rolling window has a reported fit."
        return f"{found} {summary}", found
    named = {"First window": windows[0], "last window": windows[-1]} if len(windows) > 1 else {"The window": windows[0]}
    ends = [f"{name}, to {plain_text(row['last_crawl'])}: {describe_fit(row)}" for name, row in named.items()]
    starts, stops = (pd.Index(crawls["crawl"]).get_indexer(rows[end]) for end in ("first_crawl", "last_crawl"))
    length = int(stops[0] - starts[0]) + 1
    overlapping = "overlapping " if (np.diff(starts) < length).any() else ""
    counts = f"{count_noun(len(rows), f'{overlapping}window')} of {count_noun(length, 'crawl')}"
    alt = f"Four curves over time, of κ, μ, α and c, each with a band of confidence intervals. {summary}"
    return f"{crawl_range(crawls)}; {counts}. {'; '.join(ends)}. {summary} {marks}", alt


@in_style
def control_charts(
    chart: pd.DataFrame,
    drift: pd.DataFrame,
    crawls: pd.DataFrame,
    *,
    title: str,
    population: pd.DataFrame | None = None,
) -> Figure:
    """Draw the per-crawl estimates of every chart, and their moving averages with control limits.

    Before the end of the reference period, completeness and population of its crawls are drawn, if they are known.
    """
    heading = "control charts"
    if chart.empty:
        untested = f"not tested: {_untested_reason(drift)}"
        chart = _reference_so_far(population)
        if chart.empty:
            return message_figure(title, heading, untested)
        explained = f"{plain_text(untested, at_most=200)}; hollow: reference period so far"
    else:
        explained = (
            "points: estimate of each crawl, hollow in the reference period; line: moving average; "
            "grey: control limits of the moving average"
        )
    drawn = [name for name in _CHARTS if name in set(chart["chart"])]
    figure = new_figure(height=1.1 + 1.3 * len(drawn), title=title, heading=f"{heading}\n{explained}")
    all_axes = np.atleast_1d(figure.subplots(len(drawn), 1, sharex=True))
    for axes, name in zip(all_axes, drawn, strict=True):
        _draw_chart(axes, name, chart[chart["chart"] == name].merge(crawls[["crawl", "years"]], on="crawl"))
    figure.align_ylabels(all_axes)
    date_axis(all_axes[-1], crawls)
    return figure


def _untested_reason(drift: pd.DataFrame) -> str:
    return str(next(iter(drift["reason"].dropna()), "no model may be quoted"))


def _reference_so_far(population: pd.DataFrame | None) -> pd.DataFrame:
    """Return rows of table `control_chart` with completeness and population of the crawls so far, without averages."""
    columns = list(CONTROL_CHART.column_names)
    if population is None or population.empty:
        return pd.DataFrame(columns=columns)
    parts = [
        pd.DataFrame({"chart": name, "crawl": population["crawl"], "value": population[name].astype("float64")})
        for name in ("completeness", "population")
    ]
    return pd.concat(parts, ignore_index=True).assign(phase="reference").reindex(columns=columns)


def _draw_chart(axes: Axes, name: str, rows: pd.DataFrame) -> None:
    """Draw the points, moving average and control limits of one chart; marks at the edge are values beyond it."""
    colour, label = _CHARTS[name]
    divisor = 1.0
    if name == "population":
        divisor, unit = element_unit(float(rows["value"].max()))
        label = f"{label}\n{unit}"
    scaled = {column: rows[column].to_numpy(dtype=np.float64) / divisor for column in ("value", *_AVERAGE)}
    years, is_monitored = rows["years"].to_numpy(), (rows["phase"] == "monitored").to_numpy()
    bottom, top = _frame(scaled, is_share=name in _SHARES)
    value, average = scaled["value"], scaled["average"]
    hollow: dict[str, Any] = {
        "color": Colour.MISSING,
        "markersize": 3,
        "markerfacecolor": "white",
        "markeredgewidth": 0.8,
    }
    axes.plot(years[~is_monitored], value[~is_monitored], "o", **hollow)
    axes.plot(years[is_monitored], value[is_monitored], "o", color=tint(colour), markersize=2.5)
    low, high = (scaled[end][is_monitored] for end in ("average_low", "average_high"))
    axes.fill_between(years[is_monitored], low, high, color=Colour.MISSING, alpha=0.25, linewidth=0)
    axes.plot(years[is_monitored], average[is_monitored], "-", color=colour)
    is_alarm = is_monitored & _is_true(rows["alarm"]).to_numpy(dtype=bool)
    axes.plot(years[is_alarm], average[is_alarm], "x", color="black", label="alarm")
    if is_alarm.any():
        axes.legend(loc="best")
    for edge, beyond, marker in ((bottom, value < bottom, "v"), (top, value > top, "^")):
        if beyond.any():
            axes.plot(
                years[beyond], np.full(beyond.sum(), edge), marker, color=tint(colour), markersize=4, clip_on=False
            )
    axes.set_ylabel(label)
    if bottom < top:
        axes.set_ylim(bottom, top)


def _frame(scaled: Mapping[str, FloatArray], *, is_share: bool) -> tuple[float, float]:
    """Return the ends of an axis with all points, and with control limits that are not far beyond the points.

    An axis of shares ends at 0 and 1, although the estimate of one crawl may be beyond. Equal if no value is known.
    """
    shown = np.concatenate([scaled["value"], scaled["average"]])
    known = shown[np.isfinite(shown)]
    if not known.size:
        return 0.0, 0.0
    reach = _MOST_REACH * max(np.ptp(known), _MIN_RANGE)
    bottom = max(known.min() - reach, np.nanmin([known.min(), *scaled["average_low"]]))
    top = min(known.max() + reach, np.nanmax([known.max(), *scaled["average_high"]]))
    margin = 0.05 * max(top - bottom, _MIN_RANGE)
    bottom, top = float(bottom - margin), float(top + margin)
    return (max(bottom, 0.0), min(top, 1.0)) if is_share else (bottom, top)


def control_charts_caption(
    chart: pd.DataFrame, drift: pd.DataFrame, crawls: pd.DataFrame, *, population: pd.DataFrame | None = None
) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    if chart.empty:
        found = "Drift could not be tested"
        if _reference_so_far(population).empty:
            return f"{found}, so nothing is drawn.", f"{found}, so nothing is drawn."
        text = f"{crawl_range(crawls)}. {found}: {_untested_reason(drift)}. Hollow points: the reference period so far."
        return text, f"Completeness and population of each crawl over time. {found}."
    reference, monitored = (
        count_noun(chart.loc[chart["phase"] == phase, "crawl"].nunique(), "crawl")
        for phase in ("reference", "monitored")
    )
    alarms = chart.loc[_is_true(chart["alarm"]), "chart"].value_counts()
    counts = ", ".join(f"{name}, {count_noun(n, 'crawl')}" for name, n in alarms.items())
    found = f"{f'Alarms: {counts}' if counts else 'No alarm was raised'}. {_drift_summary(drift)}"
    shares = chart.loc[chart["chart"].isin(_SHARES), "value"].astype("float64")
    is_beyond = ((shares < 0) | (shares > 1)).any()
    triangles = "Triangles: estimates of a crawl below 0 or above 1. " if is_beyond else ""
    text = (
        f"{crawl_range(crawls)}. Hollow points: reference period, {reference}; filled: monitoring period, {monitored}. "
        "Lines: moving average. Grey band: control limits of the moving average (limits far beyond the points extend "
        f"beyond the axes). {triangles}"
        f"{'Crosses: alarms. ' if counts else ''}The nominal false-alarm rate is 2 % per 24 crawls, of core, survival "
        f"and coverage together, and of completeness and population each. {found}"
    )
    drawn = [name for name in _CHARTS if name in set(chart["chart"])]
    return text, f"Control charts over time, of {', '.join(drawn)}. {found}"


def _reported(history: pd.DataFrame) -> pd.DataFrame:
    """Return the reported joint core–shell fits of all elements, one row per window."""
    rows = rows_of_fit(history, joint_core_shell.DEFINITION)
    return rows[~rows["status"].isin(UNREPORTED_STATUSES)]


def _is_true(column: pd.Series) -> pd.Series:
    """Return a nullable boolean column with unknown values as false."""
    return column.astype("boolean").fillna(value=False)


def _drift_summary(drift: pd.DataFrame) -> str:
    rows = drift[drift["parameter"].isin(list(SYMBOLS))]
    if rows["drifted"].isna().all():
        return "Drift could not be tested."
    attributed = rows[_is_true(rows["attributed"])]
    if attributed.empty and _is_true(rows["drifted"]).any():
        return "An alarm was raised, but it is not attributed to a parameter."
    if attributed.empty:
        untested = [SYMBOLS[name] for name in rows.loc[rows["drifted"].isna(), "parameter"]]
        return "No drift was found" + (f"; {', '.join(untested)} could not be tested." if untested else ".")
    changes = zip(attributed["parameter"], attributed["since_crawl"], strict=True)
    return f"Drift: {', '.join(f'{SYMBOLS[name]} since {plain_text(since)}' for name, since in changes)}."


def _mark_drift(axes: Axes, drift: pd.DataFrame, crawls: pd.DataFrame, name: str) -> None:
    """Mark the first crawl of a change that is attributed to the parameter."""
    attributed = drift[(drift["parameter"] == name) & _is_true(drift["attributed"])]
    since = crawls[crawls["crawl"].isin(attributed["since_crawl"].dropna())]
    for years, crawl in zip(since["years"], since["crawl"], strict=True):
        axes.axvline(years, color="black", linewidth=0.8, linestyle=":", label=f"drift since {plain_text(crawl)}")
        axes.legend(loc="best")
