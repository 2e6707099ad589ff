"""Report section on the operator's own counters: agreement with estimates, and counters that moved.

Does not compare them; see `estimates.ground_truth` and `estimates.counter_changes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.ground_truth import reported_comparison
from crawl_urn_dagster.formatting import UNKNOWN, count_noun, format_number
from crawl_urn_dagster.report.blocks import Block, Section
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell, format_estimate

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from crawl_urn_dagster.report.content import Content

_ROWS_SHOWN = 12
_NAMES = {"urn_size": "eligible elements", "coverage": "coverage", "new_share": "share of new elements"}


def ground_truth_section(content: Content) -> Section | None:
    """Return the section; None if the collection has no counters of its operator."""
    if "ground_truth_comparison" not in content.frames:
        return None
    rows = reported_comparison(content.frames["ground_truth_comparison"], content.frames["parameters"])
    blocks: list[Block] = [*_table(content, rows), *content.figures("ground_truth_by_window")]
    return Section(
        "The operator's own counters",
        [*blocks, *_changes(content.frames["counter_changes"])],
        f"{content.adapt(_answer(rows))} {_moved_together(content.frames['counter_changes'])}",
    )


def _answer(rows: pd.DataFrame) -> str:
    sizes = rows[(rows["quantity"] == "urn_size") & rows["counted"].notna() & rows["estimate"].notna()]
    if sizes.empty:
        return "No estimate can be compared with the operator's count of eligible elements."
    inside = int((sizes["verdict"] == "inside").sum())
    return (
        f"The operator's count of eligible elements is inside the 95 % confidence interval in {inside} of "
        f"{count_noun(len(sizes), 'comparison')}. The estimate divided by the count is "
        f"{sizes['ratio'].median():.2f} in the median ({sizes['ratio'].min():.2f} to {sizes['ratio'].max():.2f})."
    )


def _moved_together(changes: pd.DataFrame) -> str:
    """Name the counters that moved when drift or an outlying crawl was found."""
    rows = changes[changes["found"].notna()]
    if rows.empty:
        return "No counter moved at the same time as a drift or an outlying crawl."
    parts = []
    for (crawl, found), some in rows.groupby(["crawl", "found"], sort=False):
        counters = ", ".join(
            f"{escape(_counter_name(row))} ({100 * np.expm1(row['change']):+.0f} %)" for row in some.to_dict("records")
        )
        parts.append(f"At {escape(str(crawl))} ({escape(str(found))}) moved at the same time: {counters}.")
    return " ".join(parts)


def _table(content: Content, rows: pd.DataFrame) -> list[Block]:
    last = rows.tail(_ROWS_SHOWN).to_dict("records")
    if not last:
        return []
    shown = pd.DataFrame(
        {
            "crawls": [f"{row['first_crawl']} to {row['last_crawl']}" for row in last],
            "fit": [f"{row['projection']} {row['model']}" for row in last],
            "quantity": [content.adapt(_NAMES[row["quantity"]]) for row in last],
            "estimate": [
                format_estimate({**row, "status": None}, "estimate", share=row["unit"] == "fraction") for row in last
            ],
            "counted": [_format_counter(row["counted"], row["unit"]) for row in last],
            "counter": [row["verdict"] for row in last],
            "status": [row["status"] for row in last],
        }
    )
    return [captioned_table("Estimates and the operator's own counters", shown, formatted=["estimate", "counted"])]


def _format_counter(value: float, unit: str) -> str:
    if pd.isna(value):
        return UNKNOWN
    return f"{100 * value:.1f} %" if unit == "fraction" else format_cell(float(value))


def _counter_name(row: Mapping[Hashable, Any]) -> str:
    return row["quantity"] if pd.isna(row["divided_by"]) else f"{row['quantity']} / {row['divided_by']}"


def _changes(changes: pd.DataFrame) -> list[Block]:
    if changes.empty:
        return ["No counter moved beyond its own scatter."]
    latest = changes.iloc[::-1]
    shown = latest[["crawl", "quantity", "previous", "value", "statistic", "found"]].assign(
        quantity=[_counter_name(row) for row in latest.to_dict("records")],
        statistic=[format_number(value) for value in latest["statistic"]],
    )
    return [
        captioned_table(
            "Counters that moved beyond the scatter of their earlier changes, latest first",
            shown,
            max_rows=_ROWS_SHOWN,
            source="counter_changes",
            formatted=["statistic"],
        ),
        "*statistic* is in standard deviations. A counter that moved at the same time need not be the cause.",
    ]
