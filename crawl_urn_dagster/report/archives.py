"""Report section on other archives of the same web: overlap, coverage, bounds, and missing crawls.

Does not estimate; see `estimates.cross_archive`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.cross_archive import coverage_pairs, latest_match
from crawl_urn_dagster.formatting import UNKNOWN, count_noun
from crawl_urn_dagster.report.blocks import Block, Folded, Section, Table
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell, format_estimate

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_ROWS_SHOWN = 10
_ONLY = "Elements that only one list has, by stratum"
_VERDICTS = {
    "ok": "The lists are near independent, so the estimates are reported.",
    "dependent": "**The lists depend on each other.** No estimate of the population is reported, only its bound and "
    "its range over odds ratios.",
    "dependence_unknown": "**Nothing shows that the lists are independent.** No estimate of the population is "
    "reported, only its bound and its range over odds ratios.",
    "one_crawler": "**The lists come from one crawler.** Two crawls of one crawler are not two lists, because they "
    "miss the same elements: their overlap overstates coverage.",
    "too_few_points": "**The lists have no element in common.** Check that they have the same kind of elements.",
}


def archives_section(content: Content) -> Section | None:
    """Return the section; None if the collection is not compared with other archives."""
    if "cross_archive" not in content.frames:
        return None
    frame = content.frames["cross_archive"]
    rows = latest_match(frame)
    blocks: list[Block] = []
    if rows.empty:
        blocks.append("No crawl of another archive matches a crawl of this collection within the days allowed.")
    else:
        population = rows[(rows["quantity"] == "population") & rows["sensitivity_low"].notna()]
        matches = frame.loc[frame["quantity"] == "elements", "match"].nunique()
        text = f"{count_noun(matches, 'match', 'matches')} of crawls; the tables show {escape(rows['match'].iloc[0])}."
        blocks += [text, *(_VERDICTS[status] for status in population["status"].tail(1))]
        blocks += [_coverage(rows), *content.figures("archive_overlap")]
        blocks += [Folded("Overlap and population", [_numbers(rows)])]
        blocks += _strata(frame, rows)
    return Section("Other archives of the same web", [*blocks, *_agreement(frame), *_missing(frame)])


def _coverage(rows: pd.DataFrame) -> Table:
    """Return the table of the coverage of each list and of the union."""
    coverage = rows[rows["quantity"] == "coverage"]
    shown = []
    for lists, some in coverage.groupby("lists", sort=False):
        by = {row["estimator"]: row for row in some.to_dict("records")}
        ranged = next((row for row in by.values() if pd.notna(row["sensitivity_low"])), None)
        reported = [row for name, row in by.items() if name in {"petersen", "loglinear"}]
        shown.append(
            {
                "lists": escape(lists),
                "register": _share(by.get("frame")),
                "estimate": _share(reported[0] if reported else None),
                "at most": _share(by.get("bound")),
                "over odds ratios": UNKNOWN if ranged is None else _range(ranged),
                "own crawls": _share(by.get("urn")),
            }
        )
    columns = ["lists", "register", "estimate", "at most", "over odds ratios", "own crawls"]
    table = pd.DataFrame(shown, columns=columns)
    empty = [name for name in columns[1:] if (table[name] == UNKNOWN).all()]
    return captioned_table("Coverage of each list and of their union", table.drop(columns=empty), formatted=columns)


def _numbers(rows: pd.DataFrame) -> Table:
    numbers = rows[~rows["quantity"].isin(["coverage"])]
    shown = pd.DataFrame(
        {
            "lists": numbers["lists"],
            "quantity": numbers["quantity"],
            "estimator": numbers["estimator"],
            "model": numbers["model"],
            "estimate": [format_estimate(row, "estimate") for row in numbers.to_dict("records")],
            "over odds ratios": [
                f"{format_cell(row['sensitivity_low'])} to {format_cell(row['sensitivity_high'])}"
                if pd.notna(row["sensitivity_low"])
                else UNKNOWN
                for row in numbers.to_dict("records")
            ],
            "status": numbers["status"],
            "reason": numbers["reason"],
        }
    )
    return captioned_table("Overlap of the lists, and population", shown, formatted=["estimate", "over odds ratios"])


def _strata(frame: pd.DataFrame, rows: pd.DataFrame) -> list[Block]:
    """Return what each list has that the others lack, by stratum."""
    match_rows = frame[(frame["match"] == rows["match"].iloc[0]) & frame["stratum"].notna()]
    counts = match_rows[match_rows["quantity"].isin(["elements", "only"])]
    if counts.empty:
        return []
    table = counts.pivot_table(index="stratum", columns=["lists", "quantity"], values="estimate", sort=False)
    table.columns = [f"{lists}, {quantity}" for lists, quantity in table.columns]
    return [Folded(_ONLY, [captioned_table(_ONLY, table.reset_index())])]


def _agreement(frame: pd.DataFrame) -> list[Block]:
    """Return how often the counted coverage is inside the interval that the collection's own crawls give."""
    pairs = coverage_pairs(frame)
    blocks: list[Block] = []
    for name, some in pairs.groupby("lists", sort=False):
        inside = int((some["status"] == "ok").sum())
        difference = float((some["estimate"] - some["counted"]).median())
        blocks.append(
            f"{escape(name)}: the coverage counted in the register is inside the 95 % confidence interval of the "
            f"collection's own crawls in {inside} of {count_noun(len(some), 'match', 'matches')}. Their own "
            f"completeness is {abs(100 * difference):.1f} percentage points {'above' if difference >= 0 else 'below'} "
            "it in the median."
        )
    if blocks:
        blocks.append(
            "A register holds elements that are no longer eligible, and the completeness counts only elements that "
            "were captured at least once. Both make the completeness larger."
        )
    return blocks


def _missing(frame: pd.DataFrame) -> list[Block]:
    """Return crawls that are missing entirely, and gaps in the calendars."""
    rows = frame[frame["quantity"].isin(["missing_crawl", "calendar_gap"])]
    if rows.empty:
        return []
    shown = rows[["lists", "crawls", "quantity", "estimate", "days_apart"]].rename(
        columns={"estimate": "crawls missing"}
    )
    return [
        captioned_table(
            "Crawls that are missing entirely, and gaps into which crawls would fit",
            shown,
            max_rows=_ROWS_SHOWN,
            source="cross_archive",
        ),
    ]


def _share(row: Row | None) -> str:
    if row is None or pd.isna(row["estimate"]):
        return UNKNOWN
    return format_estimate({**row, "status": None}, "estimate", share=True)


def _range(row: Row) -> str:
    return f"{100 * row['sensitivity_low']:.0f} to {100 * row['sensitivity_high']:.0f} %"
