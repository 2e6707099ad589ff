"""First screen of the report: the questions of an operator, each with one answer.

Does not compute numbers, and states no quantity that the verdict does not report; the sections below have the evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.last_crawl import state_last_crawl
from crawl_urn_dagster.report.markdown import (
    captioned_table,
    escape,
    format_cell,
    format_estimate,
    format_quantity,
)
from crawl_urn_dagster.report.planning import compare_budgets
from crawl_urn_dagster.report.strata import worst_stratum

if TYPE_CHECKING:
    from crawl_urn_dagster.report.blocks import Table
    from crawl_urn_dagster.report.content import Content

_NOT_REPORTED = "Not reported: see the verdict."


def answers_table(content: Content) -> Table:
    """Return the questions and their answers as a table.

    Parameters
    ----------
    content
        Tables and figures of the collection.
    """
    answers = {
        "Did the last crawl stand out?": _last_crawl(content),
        "How much is out there, and in one crawl?": _population(content),
        "What is lost between crawls?": _losses(content),
        "More often, or more each time?": compare_budgets(content),
        "Which part is covered worst?": worst_stratum(content),
    }
    given = {question: answer for question, answer in answers.items() if answer is not None}
    frame = pd.DataFrame({"question": list(given), "answer": list(given.values())})
    return captioned_table("Answers", frame, formatted=["answer"])


def _last_crawl(content: Content) -> str:
    """State which quantities of the last crawl are not as expected, or that none is."""
    table = content.frames["last_crawl"]
    unexpected = state_last_crawl(table)
    if unexpected is not None:
        return f"**Yes.** {content.escape(unexpected)}"
    tested = table[table["verdict"] == "expected"]
    if tested.empty:
        return "Not tested: too few earlier crawls."
    row = tested.iloc[0].to_dict()
    if row["quantity"] != "crawl_size":
        return "No."
    expected = {f"expected{end}": row[f"expected{end}"] for end in ("", "_low", "_high")}
    size = f"{format_cell(round(row['value']))} {content.noun}s"
    return f"No. {size}; {format_estimate(expected, 'expected')} were expected."


def _population(content: Content) -> str:
    quantities = _quantities(content)
    if not {"completeness", "population"} <= quantities.keys():
        if "completeness" in quantities:
            return f"One crawl holds {quantities['completeness']} of the known eligible {content.noun}s."
        return _NOT_REPORTED
    text = (
        f"{quantities['population']} known eligible {content.noun}s{_as_of(content)}; a crawl holds "
        f"**{quantities['completeness']}** of them."
    )
    return f"{text} {quantities['core_share']} of it is permanent core." if "core_share" in quantities else text


def _as_of(content: Content) -> str:
    """Name the crawl that a population describes, unless it is the last."""
    assessed = content.last_assessed
    return "" if assessed is None or assessed == content.labels[-1] else f" at {escape(assessed)}"


def _losses(content: Content) -> str:
    """Split the elements of the last crawl but one that the last does not contain into gone and missed."""
    lost = _lost(content)
    if lost is None:
        return "Unknown: the last two crawls were not compared."
    before, missing = lost
    noun = content.noun
    text = (
        f"{format_cell(missing)} of {format_cell(before)} {noun}s ({100 * missing / before:.3g} %) are not in the last "
        "crawl"
    )
    rows = content.frames["quantities"].set_index("quantity")
    gone = rows.loc["gone"].to_dict() if "gone" in rows.index else None
    # Rates before a change of scope do not describe what came after it.
    is_described = content.last_assessed in content.labels[-2:]
    if not is_described or gone is None or pd.isna(gone["value"]) or pd.isna(gone["value_low"]):
        return f"{text}; whether they are gone or were missed is not reported."
    shares = {end: min(before * float(gone[f"value{end}"]), missing) for end in ("", "_low", "_high")}
    parts = {f"gone{end}": round(value) for end, value in shares.items()}
    if not parts["gone_high"]:
        return f"{text}: at mean-gap rates, none is gone, and all were missed."
    rest = {"": "", "_low": "_high", "_high": "_low"}
    parts |= {f"missed{end}": round(missing - shares[other]) for end, other in rest.items()}
    left, missed = (format_estimate(parts, name) for name in ("gone", "missed"))
    return f"{text}: at mean-gap rates, {left} gone, {missed} missed."


def _lost(content: Content) -> tuple[int, int] | None:
    """Return the size of the last crawl but one, and how many of it the last crawl lacks."""
    pairs, labels = content.frames.get("containment"), content.labels
    if pairs is None or len(labels) < 2:
        return None
    found = pairs[(pairs["crawl_i"] == labels[-2]) & (pairs["crawl_j"] == labels[-1])].dropna(
        subset=["size_i", "intersection"]
    )
    if found.empty:
        return None
    size, shared = (round(float(found[name].iloc[0])) for name in ("size_i", "intersection"))
    return (size, size - shared) if size > 0 else None


def _quantities(content: Content) -> dict[str, str]:
    """Return the quantities that may be quoted, with their intervals."""
    rows = content.frames["quantities"]
    shown = rows[rows["value"].notna()].to_dict("records")
    return {str(row["quantity"]): format_quantity(row) for row in shown}
