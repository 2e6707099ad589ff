"""Draw the forecast of the next crawls, the outcome of an earlier forecast, and planning curves.

Does not compute forecasts or plans; see `estimates.forecast`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.fits import joint_core_shell
from crawl_urn_dagster.estimates.set_aside import crawls_set_aside
from crawl_urn_dagster.figures.axes import crawl_ticks, date_axis, message_figure
from crawl_urn_dagster.figures.labels import element_unit, rows_of_fit, with_interval
from crawl_urn_dagster.figures.style import Colour, elements, in_style, is_narrow, new_figure, panels, plain_text, tint
from crawl_urn_dagster.formatting import count_noun, format_count, format_share
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, Status
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR
from crawl_urn_dagster.urn.monitoring.planning import SEEN_WELL, seen_share

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colour, dashes and label of the gaps between crawls, from the shortest.
_CADENCES = (
    (Colour.CONTAINMENT, "--", "half the gap"),
    (Colour.JOINT, "-", "the present gap"),
    (Colour.DISCOVERY, ":", "twice the gap"),
)
_CRAWLS_PLANNED = 24
_CRAWLS_SHOWN = 60  # observed; with more, the next 12 would be a small part of the axis
_LABEL_HEIGHT = 0.05  # of the axes; labels of closer curves would overlap


@in_style
def forecast_fan(
    forecast: pd.DataFrame,
    crawls: pd.DataFrame,
    discovery_curve: pd.DataFrame,
    *,
    title: str,
    adequacy_tests: pd.DataFrame | None = None,
) -> Figure:
    """Draw observed and forecast counts: new elements per crawl, and distinct elements per window.

    The windows start at the first crawl. If their counts are unknown, the windows have the greatest known length.
    """
    heading = "forecast of the next 12 crawls"
    known = forecast.dropna(subset="value")
    if known.empty:
        return message_figure(title, heading, str(forecast["reason"].iloc[0]))
    figure = new_figure(
        height=5.4 if is_narrow() else 3.6,
        title=title,
        heading=f"{heading}\nbands: 95 % prediction intervals; the earlier forecast does not use later crawls",
    )
    left, right = panels(figure, 2)
    origins = _drawn_origins(forecast)
    index = pd.Index(crawls["crawl"])
    curve = discovery_curve.assign(end=index.get_indexer(discovery_curve["end_crawl"]))
    looks = ((Colour.CONTAINMENT, "--"), (Colour.JOINT, "-"))[-len(origins) :]
    first_shown = max(len(crawls) - _CRAWLS_SHOWN, 0)
    years = crawls["years"].to_numpy()
    for origin, look in zip(origins, looks, strict=True):
        rows = known[known["origin_crawl"] == origin]
        rows = rows.assign(years=_forecast_years(rows, crawls, adequacy_tests))
        _draw_fan(left, rows[rows["quantity"] == "new_elements"], look, origin)
        windows = _drawn_windows(rows[rows["quantity"] == "distinct_elements"])
        _draw_fan(right, windows, look, origin)
        observed = _observed_windows(curve[curve["end"] >= first_shown], windows)
        right.plot(years[observed["end"]], observed["distinct_elements"], ".", color="black", markersize=3)
    new = _new_elements(crawls, discovery_curve)
    new = new[new.index >= first_shown]
    left.plot(years[new.index], new, ".", color="black", markersize=3, label="observed")
    dates = [crawls["started_at"].iloc[0], *known["expected_at"], *crawls["started_at"]]
    for axes, name in ((left, "new per crawl"), (right, "distinct per window")):
        if axes is left or not first_shown:
            axes.set_ylim(bottom=0)
        divisor, unit = element_unit(axes.get_ylim()[1])
        axes.yaxis.set_major_formatter(partial(_in_units, divisor=divisor))
        date_axis(axes, pd.DataFrame({"started_at": [dates[0], max(dates)]}), at_most=4)
        axes.set_ylabel(f"{name}\n({unit})")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=1 if is_narrow() else 3)
    return figure


def forecast_fan_caption(
    forecast: pd.DataFrame,
    crawls: pd.DataFrame,
    discovery_curve: pd.DataFrame,
    *,
    adequacy_tests: pd.DataFrame | None = None,
) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    rows = forecast.dropna(subset="value")
    rows = rows[rows["quantity"] == "new_elements"]
    latest = rows[rows["origin_crawl"] == _drawn_origins(forecast)[-1]].sort_values("crawls_ahead")
    if latest.empty:
        found = "The next crawls could not be forecast."
        return found, found
    first, last = latest.iloc[[0, -1]].to_dict("records")
    found = (
        f"The next crawl, expected on {first['expected_at']:%Y-%m-%d}, is forecast to contain "
        f"{with_interval(first, 'value', format_count)} {elements()} that no earlier crawl contains; the "
        f"{last['crawls_ahead']}th from now, {with_interval(last, 'value', format_count)}."
    )
    earlier = rows[rows["origin_crawl"].isin(_drawn_origins(forecast)[:-1])]
    at = _crawl_indices(earlier, crawls, adequacy_tests)
    observed = _new_elements(crawls, discovery_curve).reindex(at).to_numpy()
    within = (observed >= earlier["value_low"].to_numpy()) & (observed <= earlier["value_high"].to_numpy())
    n_known = int(np.isfinite(observed).sum())
    if n_known:
        found += (
            f" Of {count_noun(n_known, 'crawl')} since the earlier forecast, {within.sum()} fell within its prediction "
            "interval."
        )
    cut = f" Only the last {_CRAWLS_SHOWN} crawls are shown." if len(crawls) > _CRAWLS_SHOWN else ""
    text = (
        f"{found} Bands and parentheses: 95 % prediction intervals. They come from past forecast errors at the same "
        "horizon. Few such errors exist, so the edges are uneven. Lines: forecasts, labelled with the last crawl they "
        f"use; points: observed counts. First panel: {elements()} of a crawl that no earlier one contains; second "
        f"panel: distinct {elements()} of a window, at its last crawl.{cut}"
    )
    return text, f"New {elements()} per crawl and distinct {elements()} per window, with forecasts. {found}"


def _drawn_origins(forecast: pd.DataFrame) -> list[str]:
    """Return the earliest origin, with the most later observations, and the latest."""
    origins = list(dict.fromkeys(forecast["origin_crawl"]))
    return [*origins[:1], *origins[1:][-1:]]


def _crawl_indices(
    rows: pd.DataFrame, crawls: pd.DataFrame, adequacy_tests: pd.DataFrame | None
) -> npt.NDArray[np.intp]:
    """Return the index of the crawl that each row forecasts; crawls that were set aside are not forecast."""
    kept = np.flatnonzero(~crawls["crawl"].isin(crawls_set_aside(adequacy_tests)))
    to_come = len(crawls) + np.arange(max(rows["crawls_ahead"], default=0))
    origins = pd.Index(crawls["crawl"].iloc[kept]).get_indexer(rows["origin_crawl"])
    return np.asarray(np.append(kept, to_come)[origins + rows["crawls_ahead"].to_numpy(dtype=np.intp)])


def _new_elements(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> pd.Series:
    """Return the count of elements in no earlier crawl, by crawl index; empty if a window from the first is unknown."""
    index = pd.Index(crawls["crawl"])
    from_first = discovery_curve[discovery_curve["start_crawl"].eq(index[0])].sort_values("window_crawls")
    new = from_first["distinct_elements"].astype(float).diff()
    new.index = pd.Index(from_first["window_crawls"] - 1)
    return new.iloc[1:] if (np.diff(new.index) == 1).all() else new.iloc[:0]


def _in_units(value: float, _position: int, *, divisor: float) -> str:
    return f"{value / divisor:g}"


def _drawn_windows(distinct: pd.DataFrame) -> pd.DataFrame:
    """Return forecast windows from the earliest start with a forecast at every horizon, or else the longest ones."""
    ahead = distinct["crawls_ahead"].max()
    to_the_end = distinct[(distinct["crawls_ahead"] == ahead) & distinct["start_crawl"].notna()]
    if len(to_the_end):
        start = to_the_end.sort_values("window_crawls")["start_crawl"].iloc[-1]
        return distinct[distinct["start_crawl"].eq(start)]
    return distinct[distinct["window_crawls"].eq(distinct["window_crawls"].max())]


def _observed_windows(curve: pd.DataFrame, windows: pd.DataFrame) -> pd.DataFrame:
    """Return the observed windows with the start, or else the length, of forecast windows."""
    if len(windows["start_crawl"].unique()) == 1:
        return curve[curve["start_crawl"].isin(windows["start_crawl"])]
    return curve[curve["window_crawls"].isin(windows["window_crawls"])]


def _forecast_years(rows: pd.DataFrame, crawls: pd.DataFrame, adequacy_tests: pd.DataFrame | None) -> pd.Series:
    """Return the years since the first crawl of forecast crawls: when they started, or are expected to."""
    years = (rows["expected_at"] - crawls["started_at"].iloc[0]) / pd.Timedelta(days=DAYS_PER_YEAR)
    started = crawls["years"].reset_index(drop=True).reindex(_crawl_indices(rows, crawls, adequacy_tests))
    at: pd.Series = years.where(started.isna().to_numpy(), started.to_numpy())
    return at


def _draw_fan(axes: Axes, rows: pd.DataFrame, look: tuple[str, str], origin: str) -> None:
    colour, dashes = look
    x = rows["years"]
    if len(rows) == 1:  # a line and a band of one point would be invisible
        axes.vlines(x, rows["value_low"], rows["value_high"], color=tint(colour))
    axes.fill_between(x, rows["value_low"], rows["value_high"], color=tint(colour), alpha=0.5, linewidth=0)
    marker = "o" if len(rows) == 1 else ""
    label = f"forecast from {plain_text(origin, at_most=30)}"
    axes.plot(x, rows["value"], color=colour, linestyle=dashes, marker=marker, markersize=4, label=label)


@in_style
def planning_curves(planning: pd.DataFrame, parameters: pd.DataFrame, *, title: str) -> Figure:
    """Draw the share of the shell that crawls of another coverage or cadence would capture, how soon, and the cost."""
    now = planning[planning["current"].astype(bool)]
    heading = "planning: captured share of the shell, and cost"
    reason = _not_reported(now)
    if reason:
        return message_figure(title, heading, reason)
    figure = new_figure(
        height=6.6 if is_narrow() else 3.4,
        title=title,
        heading=f"{heading}\nleft: a line per coverage, the present one thick; others: a line "
        "per gap between crawls; cross: present settings",
    )
    captured, cost, long_run = panels(figure, 3)
    for gap, (colour, dashes, name) in zip(sorted(planning["gap"].unique()), _CADENCES, strict=False):
        rows = planning[planning["gap"] == gap].sort_values("coverage")
        for axes, column in ((cost, "cost_per_new"), (long_run, "seen_at_last")):
            band = (rows["coverage"], rows[f"{column}_low"], rows[f"{column}_high"])
            axes.fill_between(*band, color=tint(colour), alpha=0.5, linewidth=0)
            axes.plot(rows["coverage"], rows[column], color=colour, linestyle=dashes, label=name)
    _draw_captured(captured, now.iloc[0], parameters, planning)
    for axes, column in ((cost, "cost_per_new"), (long_run, "seen_at_last")):
        axes.plot(now["coverage"], now[column], "kx")
        axes.set_xlabel("shell coverage, c")
    long_run.legend(loc="lower right")
    cost.set_ylabel(f"{elements()} fetched per new one")
    long_run.set_ylabel("captured share of the shell\nin the long run")
    return figure


def planning_curves_caption(planning: pd.DataFrame, _parameters: pd.DataFrame) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    now = planning[planning["current"].astype(bool)]
    reason = _not_reported(now)
    if reason:
        found = f"{reason[0].upper()}{reason[1:]}."
        return found, found
    row = now.to_dict("records")[0]
    found = (
        f"At the present shell coverage of {format_share(row['coverage'])}, a crawl fetches "
        f"{with_interval(row, 'cost_per_new')} {elements()} for each new one. In the long run, "
        f"{with_interval(row, 'seen_at_last')} of the eligible shell has been captured at least once."
    )
    text = (
        f"{found} First panel: share of the shell captured by a number of crawls at the present gap, with a line per "
        f"coverage (thick: the present one; dotted: {100 * SEEN_WELL:g} %). Second and third panels, by coverage: "
        f"{elements()} fetched per new one, and share of the shell captured in the long run. Dashed: half the present "
        "gap; solid: the present gap; dotted: twice the gap. Crosses: present settings. Bands and parentheses: 95 % "
        "confidence intervals."
    )
    return text, f"Three panels: share of the shell captured over time and in the long run, and cost. {found}"


def _not_reported(now: pd.DataFrame) -> str:
    """Return the reason why no plan is reported; empty if one is."""
    if now.empty:
        return "no joint core–shell fit to plan with"
    status = now["status"].iloc[0]
    return f"not reported: the joint core–shell fit has status {status}" if status in NO_POINT_ESTIMATE_STATUSES else ""


def _draw_captured(axes: Axes, now: pd.Series, parameters: pd.DataFrame, planning: pd.DataFrame) -> None:
    """Draw the share of the shell that n crawls capture at the present gap, for each coverage."""
    fits = rows_of_fit(parameters, joint_core_shell.DEFINITION)
    fit = fits[fits["clock"] == now["clock"]].iloc[0]
    # Plans of another model than the joint fit have its survival in σ = c / (1 - α^gap (1 - c)).
    new_share = (1 - now["coverage"] / now["seen_at_last"]) / (1 - now["coverage"])
    alpha = fit["alpha"] if fit["status"] != Status.REFUTED else new_share ** (1 / float(now["gap"]))
    crawls = np.arange(1, _CRAWLS_PLANNED + 1)
    labelled: list[float] = []
    present_first = sorted(
        planning.loc[planning["gap"] == now["gap"], "coverage"], key=lambda c: (c != now["coverage"], c)
    )
    for coverage in present_first:
        is_present = coverage == now["coverage"]
        share = seen_share(0.0, alpha, coverage, crawls, gap=float(now["gap"]))
        colour, width = (Colour.JOINT, 1.4) if is_present else (Colour.MISSING, 0.6)
        axes.plot(crawls, share, color=colour, linewidth=width)
        if all(abs(coverage - other) > _LABEL_HEIGHT for other in labelled):
            # The curves are farthest apart at the first crawl.
            axes.annotate(f"{coverage:.2g} ", (1, coverage), horizontalalignment="right", verticalalignment="center")
            labelled.append(coverage)
    axes.plot([1, _CRAWLS_PLANNED], [SEEN_WELL, SEEN_WELL], color="black", linestyle=":", linewidth=0.8)
    axes.set_xlim(left=-3)
    axes.set(ylim=(0, 1), xlabel="crawls after the start", ylabel="captured share\nof the shell")
    crawl_ticks(axes)
