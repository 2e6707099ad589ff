"""Index of all collections: verdict, last crawl, and how the parameters developed.

Does not compare the collections with each other; see `comparison`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.assessment.result import QUANTITY_LABELS
from crawl_urn_dagster.estimates.assessment.verdicts import Quotable
from crawl_urn_dagster.estimates.last_crawl import QUANTITY_NAMES, unexpected
from crawl_urn_dagster.formatting import UNKNOWN, count_noun
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Page, Section
from crawl_urn_dagster.report.charts import PARAMETER_NAMES, reported_windows
from crawl_urn_dagster.report.comparison import COMPARED_TABLES
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell, format_estimate, format_quantity
from crawl_urn_dagster.report.pages import ICONS
from crawl_urn_dagster.report.sparklines import sparkline
from crawl_urn_dagster.report.summary import LEVELS, dated_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.report.comparison import Compared

#: Tables that the dashboard reads from each collection; it shows a dash for what follows from a missing one.
DASHBOARD_TABLES = (*COMPARED_TABLES, "population", "last_crawl", "parameter_history")
_QUANTITIES = ("completeness", "population")


def dashboard_page(listed: Sequence[Compared], *, comparison: str | None = None) -> Page:
    """Return the index of collections.

    Parameters
    ----------
    listed
        The collections; those that have not run are named only.
    comparison
        Address of the comparison page; None: no page is linked.
    """
    complete = [one for one in listed if one.has_run]
    quotable = [one.content.verdict.quotable for one in complete]
    counts = [f"{quotable.count(level)} {level.value}" for level in Quotable if level in quotable]
    quoted = f" Numbers may be quoted: {'; '.join(counts)}." if counts else ""
    lead: list[Block] = [f"{count_noun(len(listed), 'collection')}.{quoted}"]
    missing = ", ".join(escape(one.collection.name) for one in listed if not one.has_run)
    if missing:
        lead.append(f"Not run yet: {missing}.")
    if comparison is not None:
        lead.append(f"[Comparison of the collections]({comparison})")
    if not complete:
        return Page("Collections", lead, [])
    state = pd.DataFrame([_state(one) for one in complete])
    history = pd.DataFrame([_history(one) for one in complete])
    sections = [
        Section("State", [captioned_table("State of each collection", state, formatted=list(state.columns))]),
        Section(
            "History",
            [_explanation(), captioned_table("History of each collection", history, formatted=list(history.columns))],
        ),
    ]
    return Page("Collections", lead, sections)


def _explanation() -> str:
    names = "; ".join(f"{SYMBOLS[name]} is the {title}" for name, title in PARAMETER_NAMES.items())
    return (
        "The curves of completeness and population are over crawls, those of the parameters over rolling windows of "
        "crawls, each on its own scale. Bands are 95 % confidence intervals, and the number is the last value. A dash "
        f"means that the quantity is not reported. {names}."
    )


def _state(one: Compared) -> dict[str, str]:
    """Return the row of a collection with its verdict, its last crawl and its quoted numbers."""
    content, verdict = one.content, one.content.verdict
    last = content.crawls.iloc[-1]
    size = "" if pd.isna(last["elements"]) else f", {format_cell(int(last['elements']))} {content.noun}s"
    return {
        "collection": _link(one),
        "numbers may be quoted": f"{ICONS[LEVELS[verdict.quotable]]} {verdict.quotable.value} ({escape(verdict.name)})",
        "crawls": format_cell(len(content.crawls)),
        "last crawl": f"{dated_label(last)}{size}",
        "stood out": _stood_out(one),
        **_quoted(one),
    }


def _link(one: Compared) -> str:
    name = escape(one.collection.name)
    return name if one.report is None else f"[{name}]({one.report})"


def _stood_out(one: Compared) -> str:
    """Name the quantities of the last crawl that were not as expected."""
    tested = one.frames.get("last_crawl", pd.DataFrame({"verdict": []}))
    if (tested["verdict"] == "not_tested").all():
        return "not tested"
    names = [QUANTITY_NAMES[name] for name in unexpected(tested)["quantity"]]
    return f"**yes**: {escape(one.content.adapt(', '.join(names)))}" if names else "no"


def _quoted(one: Compared) -> dict[str, str]:
    rows = {row["quantity"]: row for row in one.frames["quantities"].to_dict("records")}
    return {QUANTITY_LABELS[name][0]: format_quantity(rows[name]) if name in rows else UNKNOWN for name in _QUANTITIES}


def _history(one: Compared) -> dict[str, str]:
    """Return the row of a collection with its curves; a dash for what may not be quoted."""
    population = one.frames.get("population", pd.DataFrame())
    row = {"collection": _link(one)}
    for name in _QUANTITIES:
        title = QUANTITY_LABELS[name][0]
        row[title] = _curve(population, name, title, "crawl", share=name == "completeness")
    windows = population.iloc[:0]
    if one.content.withheld_reason is None and "parameter_history" in one.frames:
        windows = reported_windows(one.frames["parameter_history"], one.content.crawls)
    for name, symbol in SYMBOLS.items():
        row[symbol] = _curve(windows, name, PARAMETER_NAMES[name], "window", share=True) if len(windows) else UNKNOWN
    return row


def _curve(rows: pd.DataFrame, name: str, title: str, unit: str, *, share: bool) -> str:
    """Return the last value of a quantity and its curve."""
    if rows.empty or rows[name].isna().all():
        return UNKNOWN
    known = rows[rows[name].notna()].to_dict("records")
    first, last = (format_estimate({**row, "status": None}, name, share=share) for row in (known[0], known[-1]))
    alt = f"{title} from {first} to {last} in {count_noun(len(known), unit)}"
    curve = sparkline(*(rows[f"{name}{end}"].astype("float64").tolist() for end in ("", "_low", "_high")), alt=alt)
    return f"{last.partition(' (')[0]} {curve}"
