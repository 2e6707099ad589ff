"""Report sections on the latest crawl compared with the crawls before it, and on the forecast of the next crawls.

Does not compute forecasts or comparisons; see `estimates.forecast` and `estimates.last_crawl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.last_crawl import QUANTITY_NAMES, RELEVANT_FACTOR
from crawl_urn_dagster.formatting import count_noun, format_number
from crawl_urn_dagster.report.blocks import Block, Folded, Section
from crawl_urn_dagster.report.charts import crawl_counts
from crawl_urn_dagster.report.markdown import (
    captioned_table,
    escape,
    format_cell,
    format_estimate,
    format_estimates,
    state_estimate,
)
from crawl_urn_dagster.report.summary import dated_label
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content

_RESULTS = {"expected": "as expected", "below": "below its interval", "above": "above its interval"}
#: Quantities of a single future crawl.
_PER_CRAWL = ("crawl_size", "new_elements", "returning_elements")


def latest_crawl_section(content: Content) -> Section:
    """Return the latest crawl compared with what the crawls before it let expect."""
    crawls = content.crawls
    text = f"The latest crawl is {dated_label(crawls.iloc[-1])}"
    if len(crawls) > 1:
        days = round((crawls["years"].iloc[-1] - crawls["years"].iloc[-2]) * DAYS_PER_YEAR)
        text += f", {format_cell(days)} days after the previous crawl, {dated_label(crawls.iloc[-2])}"
    chart = crawl_counts(content.frames, content.noun)
    compared, *table = _compare_latest_crawl(content)
    return Section("Latest crawl", [f"{text}. {compared}", *table, *([chart] if chart else [])])


def _compare_latest_crawl(content: Content) -> list[Block]:
    tested = content.frames["last_crawl"]
    tested = tested[tested["verdict"] != "not_tested"]
    if tested.empty:
        return ["It is not compared with the crawls before it, because there are too few of them."]
    rows = []
    for row in tested.to_dict("records"):
        is_share = row["unit"] == "fraction"
        observed = f"{format_number(100 * row['value'])} %" if is_share else format_cell(round(row["value"]))
        name = QUANTITY_NAMES[row["quantity"]].replace("elements", f"{content.noun}s")
        rows.append((name, _RESULTS[row["verdict"]], observed, format_estimate(row, "expected", share=is_share)))
    frame = pd.DataFrame(rows, columns=["quantity", "result", "observed", "expected"])
    text = (
        "The table compares it with 95 % prediction intervals from the crawls before it. A quantity stands out if it, "
        f"or the odds of a share, is outside its interval by a factor of more than {RELEVANT_FACTOR:g}. About 1 in 20 "
        "values falls outside an interval by chance."
    )
    caption = "The latest crawl and its 95 % prediction intervals"
    return [text, captioned_table(caption, frame, formatted=["observed", "expected"])]


def _define_new(content: Content, since: pd.Series) -> str:
    known = since.dropna()
    return f" New {content.noun}s are those that no crawl since {escape(known.iloc[0])} captured." if len(known) else ""


def _name_left_out(content: Content) -> str:
    """Name the crawls that were set aside, which the forecast does not use."""
    set_aside = content.assessment.set_aside
    if not set_aside:
        return ""
    differ = "it differs" if len(set_aside) == 1 else "they differ"
    return f" It leaves out {' and '.join(map(escape, set_aside))}, because {differ} from all other crawls."


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
        f"{_name_left_out(content)}"
    )
    titles = {"crawl_size": f"{noun}s", "new_elements": "new", "returning_elements": "captured before"}
    frame = format_estimates(rows, ["value"]).pivot_table(
        index=["crawls_ahead", "expected_at"], columns="quantity", values="value", aggfunc="first"
    )
    frame = frame.reset_index()[["crawls_ahead", "expected_at", *titles]].rename(columns=titles)
    ends, between = (
        captioned_table(f"Forecast of {name}, with 95 % prediction intervals", part, formatted=list(titles.values()))
        for name, part in (
            ("the next and the last crawl", frame.iloc[[0, -1]]),
            ("the crawls between", frame.iloc[1:-1]),
        )
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
        captioned_table("Forecast overlaps", frame.rename(columns={"value": title}), formatted=[title]),
    ]
