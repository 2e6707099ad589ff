"""Report sections on the latest crawl compared with its forecast, and on the forecast of the next crawls.

Does not compute forecasts; see `estimates.forecast`.
"""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.report.blocks import Block, Folded, Section
from crawl_urn_dagster.report.markdown import (
    escape,
    format_cell,
    format_estimate,
    format_estimates,
    markdown_table,
    state_estimate,
)
from crawl_urn_dagster.report.summary import dated_label
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR
from crawl_urn_dagster.urn.monitoring.forecast import FEWEST

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_QUANTITIES = {
    "crawl_size": "in the crawl",
    "new_elements": "new",
    "returning_elements": "captured before",
    "distinct_elements": "distinct since {start_crawl}",
    "overlap": "shared with {start_crawl}",
}
#: Quantities of a single future crawl.
_PER_CRAWL = ("crawl_size", "new_elements", "returning_elements")


def latest_crawl_section(content: Content) -> Section:
    """Return the latest crawl compared with its forecast."""
    crawls = content.crawls
    text = f"The latest crawl is {dated_label(crawls.iloc[-1])}"
    if len(crawls) > 1:
        days = round((crawls["years"].iloc[-1] - crawls["years"].iloc[-2]) * DAYS_PER_YEAR)
        text += f", {format_cell(days)} days after the previous crawl, {dated_label(crawls.iloc[-2])}"
    return Section("Latest crawl", [f"{text}. {_compare_latest_crawl(content)}"])


def _compare_latest_crawl(content: Content) -> str:
    forecasts = _forecasts_of_last_crawl(content)
    if forecasts.empty:
        needed = f": a forecast needs {FEWEST} earlier crawls" if len(content.crawls) <= FEWEST else ""
        return f"Its observed quantities were not forecast{needed}."
    rows = []
    for row in forecasts.to_dict("records"):
        observed = _observed_value(content, row)
        name = _QUANTITIES[row["quantity"]].format(start_crawl=row["start_crawl"])
        result = _compare_with_forecast(observed, row)
        rows.append((name, result, format_cell(round(observed)), format_estimate(row, "value")))
    frame = pd.DataFrame(rows, columns=[f"{content.noun}s", "result", "observed", "forecast"])
    since = forecasts.loc[forecasts["quantity"] == "new_elements", "start_crawl"]
    return (
        "The table compares the latest crawl with its forecast. About 1 in 20 values falls outside a 95 % prediction "
        f"interval by chance.{_define_new(content, since)}\n\n"
        f"{markdown_table(frame, formatted=['observed', 'forecast'])}"
    )


def _define_new(content: Content, since: pd.Series) -> str:
    known = since.dropna()
    return f" New {content.noun}s are those that no crawl since {escape(known.iloc[0])} captured." if len(known) else ""


def _compare_with_forecast(observed: float, row: Row) -> str:
    """State whether a value is inside its prediction interval, and its relative difference from the forecast."""
    is_inside = row["value_low"] <= observed <= row["value_high"]
    percent = round(100 * (observed / row["value"] - 1)) if row["value"] else 0
    difference = f" ({abs(percent)} % {'above' if percent > 0 else 'below'} the forecast)" if percent else ""
    return ("inside the interval" if is_inside else "outside the interval") + difference


def _forecasts_of_last_crawl(content: Content) -> pd.DataFrame:
    """Return the forecasts, made from all earlier crawls, of what was observed of the last crawl.

    These are its size, new and returning elements. If the latter are unknown, the longest observed window takes their
    place, or the overlap with the previous crawl if no window was observed.
    """
    forecast, labels = content.frames["forecast"], content.labels
    if len(labels) == 1:
        return forecast.iloc[:0]
    made = forecast[(forecast["origin_crawl"] == labels[-2]) & forecast["value"].notna()]
    is_observed = [not isnan(_observed_value(content, row)) for row in made.to_dict("records")]
    made = made[pd.Series(is_observed, index=made.index, dtype=bool)]
    per_crawl: pd.DataFrame = made[made["quantity"].isin(_PER_CRAWL)]
    if "new_elements" in set(per_crawl["quantity"]):
        return per_crawl
    windows = made[made["quantity"] == "distinct_elements"].sort_values("window_crawls").tail(1)
    overlap = made[(made["quantity"] == "overlap") & (made["start_crawl"] == labels[-2])]
    found: pd.DataFrame = pd.concat([per_crawl, windows if len(windows) else overlap])
    return found


def _observed_value(content: Content, row: Row) -> float:
    """Return the last crawl's value of a forecast quantity; NaN if it was not observed."""
    labels = content.labels
    if row["quantity"] == "overlap":
        pairs = content.frames["containment"]
        found = pairs[(pairs["crawl_i"] == row["start_crawl"]) & (pairs["crawl_j"] == labels[-1])]["intersection"]
        return float(found.iloc[0]) if len(found) else nan
    last_size = content.crawls["elements"].iloc[-1]
    size = nan if pd.isna(last_size) else float(last_size)
    if row["quantity"] == "crawl_size":
        return size
    curve = content.frames["discovery_curve"]
    windows = curve[curve["start_crawl"] == row["start_crawl"]].set_index("end_crawl")["distinct_elements"]
    if row["quantity"] == "distinct_elements":
        return float(windows.get(labels[-1], nan))
    if isnan(size) or not {labels[-2], labels[-1]} <= set(windows.index):
        return nan
    new = float(windows[labels[-1]] - windows[labels[-2]])
    return new if row["quantity"] == "new_elements" else size - new


def forecast_section(content: Content) -> Section:
    """Return the forecast of the next crawls."""
    forecast, title = content.frames["forecast"], "Forecast of the next crawls"
    latest = forecast[forecast["origin_crawl"] == forecast["origin_crawl"].iloc[-1]]
    reasons = latest["reason"].dropna()
    if len(reasons):
        return Section(title, [f"Not forecast: {escape(reasons.iloc[0])}"])
    per_crawl = latest[latest["quantity"].isin(_PER_CRAWL)]
    if per_crawl.empty:
        return Section(title, _overlap_forecast(content, latest))
    answer, blocks = _crawl_forecast(content, per_crawl)
    return Section(title, [*blocks, *content.figures("forecast_fan")], answer)


def _crawl_forecast(content: Content, rows: pd.DataFrame) -> tuple[str, list[Block]]:
    """Describe the next crawl; show a table of the nearest and farthest crawls with the others folded."""
    noun = content.noun
    next_crawl = {row["quantity"]: row for row in rows[rows["crawls_ahead"] == 1].to_dict("records")}
    size = state_estimate(next_crawl["crawl_size"], "value", f"{noun}s", interval="95 % prediction interval")
    new, returning = (format_estimate(next_crawl[name], "value") for name in ("new_elements", "returning_elements"))
    sentence = (
        f"The next crawl is expected about {format_cell(rows['expected_at'].min())} with about {size}: about {new} new "
        f"and about {returning} captured before. Each number is rounded by its own interval, so parts need not add up."
        f"{_define_new(content, rows['start_crawl'])} The forecast does not assume that the urn model fits."
    )
    titles = {"crawl_size": f"{noun}s", "new_elements": "new", "returning_elements": "captured before"}
    frame = format_estimates(rows, ["value"]).pivot_table(
        index=["crawls_ahead", "expected_at"], columns="quantity", values="value", aggfunc="first"
    )
    frame = frame.reset_index()[["crawls_ahead", "expected_at", *titles]].rename(columns=titles)
    ends, between = (
        markdown_table(part, formatted=list(titles.values())) for part in (frame.iloc[[0, -1]], frame.iloc[1:-1])
    )
    labels = content.labels
    age = len(labels) - 1 - labels.index(content.frames["forecast"]["origin_crawl"].iloc[0])
    earlier = f", and the forecast made {count_noun(age, 'crawl')} ago" if age else ""
    others = f"Table `forecast` also has forecasts of windows and overlaps{earlier}."
    return sentence, [ends, Folded("The crawls between", [between]), others]


def _overlap_forecast(content: Content, latest: pd.DataFrame) -> list[Block]:
    last = latest["origin_crawl"].iloc[-1]
    rows = latest[(latest["quantity"] == "overlap") & (latest["start_crawl"] == last)]
    frame = format_estimates(rows, ["value"])[["crawls_ahead", "expected_at", "value"]]
    title = f"{content.noun}s shared with {last}"
    return [
        "The source provides no unions of crawls, so only overlaps with earlier crawls can be forecast. The table "
        f"shows overlaps with {escape(last)}, with 95 % prediction intervals; table `forecast` has the others.",
        markdown_table(frame.rename(columns={"value": title}), formatted=[title]),
    ]
