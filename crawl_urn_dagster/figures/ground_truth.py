"""Draw eligible elements and coverage by rolling window, next to the operator's counters.

Does not compare them; see `estimates.ground_truth`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.estimates.ground_truth import reported_comparison
from crawl_urn_dagster.figures.axes import date_axis, message_figure
from crawl_urn_dagster.figures.labels import element_unit
from crawl_urn_dagster.figures.style import Colour, elements, in_style, is_narrow, new_figure, panels, plain_text
from crawl_urn_dagster.formatting import count_noun

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EMPTY = "No fit implies a number of eligible elements, so there is nothing to hold against the operator's counters."
_HEADING = "estimates and the operator's counters, at the last crawl of each window"


@in_style
def ground_truth_by_window(
    ground_truth_comparison: pd.DataFrame, parameters: pd.DataFrame, crawls: pd.DataFrame, *, title: str
) -> Figure:
    """Draw the estimates with their 95 % confidence intervals, and the counters as dashes."""
    rows = reported_comparison(ground_truth_comparison, parameters)
    if rows.empty:
        return message_figure(title, _HEADING, _EMPTY)
    figure = new_figure(height=4.6 if is_narrow() else 2.7, title=title, heading=_HEADING)
    left, right = panels(figure, 2)
    dated = rows.merge(crawls[["crawl", "years"]], left_on="last_crawl", right_on="crawl").sort_values("years")
    sizes = dated[dated["quantity"] == "urn_size"]
    divisor, unit = element_unit(np.nanmax(sizes[["estimate", "counted"]].to_numpy(dtype=np.float64)))
    _draw(left, sizes, divisor)
    _draw(right, dated[dated["quantity"] == "coverage"], 1.0)
    left.set(ylabel=f"{unit}, eligible", ylim=(0, None))
    right.set(ylabel="coverage", ylim=(0, None))
    for axes in (left, right):
        date_axis(axes, crawls)
    left.legend(loc="lower left")
    return figure


def ground_truth_by_window_caption(
    ground_truth_comparison: pd.DataFrame,
    parameters: pd.DataFrame,
    crawls: pd.DataFrame,  # noqa: ARG001 - as drawn
) -> tuple[str, str]:
    """Return the caption and the alternative text."""
    rows = reported_comparison(ground_truth_comparison, parameters)
    if rows.empty:
        return _EMPTY, "A message instead of a drawing: nothing can be compared with the operator's counters."
    sizes = rows[(rows["quantity"] == "urn_size") & rows["counted"].notna()]
    last = rows.iloc[-1]
    inside = int((sizes["verdict"] == "inside").sum())
    found = (
        f"Fit of {plain_text(last['projection'])}, model {plain_text(last['model'])}. The counter is inside the "
        f"interval in {inside} of {count_noun(len(sizes), 'comparison')}"
        f"{f', and the estimate is {sizes.ratio.median():.2f} of it in the median' if len(sizes) else ''}."
    )
    text = (
        f"Left: eligible {elements()}; right: share of them that a crawl captures. {found} Points: estimates with 95 % "
        "confidence intervals; hollow: of a fit whose status is not ok. Dashes: the operator's counter."
    )
    return text, f"Points with intervals, and dashes for the operator's counters, over time. {found}"


def _draw(axes: Axes, rows: pd.DataFrame, divisor: float) -> None:
    """Draw one quantity; an end of an interval that is not finite is left out."""
    years = rows["years"].to_numpy()
    value, low, high, counted = (
        rows[name].to_numpy(dtype=np.float64) / divisor
        for name in ("estimate", "estimate_low", "estimate_high", "counted")
    )
    known = np.isfinite(low) & np.isfinite(high)
    axes.vlines(years[known], low[known], high[known], color=Colour.DISCOVERY, linewidth=0.8)
    counter: dict[str, Any] = {"color": Colour.TRUTH, "marker": "_", "markersize": 8, "linestyle": "none"}
    axes.plot(years, counted, label="operator's counter", **counter)
    is_ok = rows["status"].to_numpy() == "ok"
    style: dict[str, Any] = {"color": Colour.DISCOVERY, "marker": "o", "markersize": 3, "linestyle": "none"}
    axes.plot(years[is_ok], value[is_ok], label="estimate", **style)
    axes.plot(years[~is_ok], value[~is_ok], markerfacecolor="white", **style)
