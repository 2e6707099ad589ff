"""Report section on planning: expected effects of other coverages and gaps between crawls.

Does not compute them; see `estimates.planning`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.assessment.reading import refitted_curves_withheld_reason
from crawl_urn_dagster.estimates.planning import CHANGING_CORE_SHELLS
from crawl_urn_dagster.report.blocks import Block, Folded, Section, Table
from crawl_urn_dagster.report.markdown import captioned_table, format_cell, format_estimate, format_estimates
from crawl_urn_dagster.urn import Status
from crawl_urn_dagster.urn.monitoring.planning import SEEN_WELL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

#: Columns of table `planning` that are shown, with their titles.
_TITLES = {
    "crawl_size": "captured share of the urn",
    "crawls_to_seen": "crawls until 90 % of the shell was captured",
    "seen_at_last": "long-run captured share of the shell",
    "nu_inf": "unique rate",
    "hidden_time": "missed time in the shell, days",
    "cost_per_new": "fetches per new {noun}",
}
_GAPS = {0.5: "half the gap", 1: "the present gap", 2: "twice the gap"}


def planning_section(content: Content) -> Section | None:
    """Return the effects of other coverages and gaps; None if table `planning` has no rows."""
    planning, title = content.frames["planning"], "Planning: other coverages and gaps"
    current = planning[planning["current"].astype(bool)]
    is_changing = content.assessment.model in CHANGING_CORE_SHELLS
    withheld = refitted_curves_withheld_reason(content.headline, content.assessment)
    if current.empty or (withheld and not is_changing):
        return None
    now = dict(current.iloc[0])
    if now["status"] == "not_identified":
        return Section(title, ["Not planned: the joint core–shell fit is not identified."])
    shown = _planning_table(content, now)
    gaps = {gap / now["gap"]: gap for gap in sorted(planning["gap"].unique())}

    def table_at(ratio: float) -> Table:
        rows = shown[planning["gap"] == gaps[ratio]]
        caption = f"Effects of other shell coverages at {_GAPS[ratio]}"
        return captioned_table(caption, rows, formatted=list(rows.columns))

    note = (
        "Expected effects of other shell coverages and gaps between crawls if the urn does not change. The next table "
        f"is for the present gap, {content.mean_gap_days:.0f} days on average. The folded tables are for half and "
        f"twice this gap, and count crawls at the new gap. Basis: {_basis(content)}, status "
        f"**{now['status']}**. The 95 % confidence intervals reflect the fit only, because coverage and gap are chosen."
    )
    sentences = [_sufficient_coverage(planning, gaps), _doubled_crawl(content, now)]
    folded = [Folded(f"At {_GAPS[ratio]}", [table_at(ratio)]) for ratio in gaps if ratio != 1]
    sizes = (
        f"Crawls may exceed the known eligible {content.noun}s, because they also capture {content.noun}s that no "
        "earlier crawl captured. A plan is not possible if its crawls would miss the core or exceed the urn."
    )
    budget: list[Block] = [_budget_table(content), sizes] if len(content.frames["equal_budget"]) else []
    blocks: list[Block] = [*budget, note, table_at(1), *sentences, *folded, *content.figures("planning_curves")]
    return Section(title, blocks, compare_budgets(content))


def compare_budgets(content: Content) -> str:
    """Recommend the gap that finds most new elements for the same number of fetches a year, or state that none does.

    Parameters
    ----------
    content
        Tables of the collection.
    """
    plans = content.frames["equal_budget"]
    if plans.empty or (plans["status"] == Status.NOT_IDENTIFIED).any():
        return "Not planned: plans need a quotable model of one core and one shell."
    plans = plans.dropna(subset="coverage").sort_values("new_change", ascending=False)
    others = [dict(row) for row in plans[~plans["current"].astype(bool)].to_dict("records")]
    if not others:
        return "No other gap is possible with as many fetches a year: crawls would miss the core or exceed the urn."
    best = others[0]
    advice = {"more": "Larger crawls, less often", "fewer": "Keep the present plan", "": "No plan is better"}
    advice |= {"more": "Smaller crawls, more often"} if best["cadence"] < 1 else {}
    return (
        f"**{advice[_direction(best)]}.** For equal fetches, {_plan(content, best)}, newcomers included, find "
        f"{_change(best)} new {content.noun}s a year."
    )


def _plan(content: Content, row: Row) -> str:
    """Name the size of the crawls of a plan, if it is known, and their gap."""
    size = "crawls" if pd.isna(content.mean_size) else format_cell(_rounded(content.mean_size * row["cadence"]))
    noun = "" if size == "crawls" else f" {content.noun}s"
    return f"{size}{noun} every {content.mean_gap_days * row['cadence']:.0f} days"


def _direction(row: Row) -> str:
    """Return whether a plan finds more or fewer new elements than the present one; empty if its interval includes 0."""
    ends = [row[f"new_change{end}"] for end in ("", "_low", "_high")]
    return "more" if min(ends[:2]) > 0 else "fewer" if max(ends[0], ends[2]) < 0 else ""


def _change(row: Row) -> str:
    """Return the relative change of new elements with its interval, as words."""
    direction = _direction(row)
    if not direction:
        return "about as many"
    value, low, high = (abs(row[f"new_change{end}"]) for end in ("", "_low", "_high"))
    change = {"change": value, "change_low": min(low, high), "change_high": max(low, high)}
    return f"{format_estimate(change, 'change', share=True)} {direction}"


def _budget_table(content: Content) -> Table:
    """Return all plans of equal fetches, with those that are not possible."""
    plans = content.frames["equal_budget"].sort_values("gap").to_dict("records")
    rows = [
        {
            "gap, days": f"{content.mean_gap_days * row['cadence']:.0f}{' (now)' if row['current'] else ''}",
            f"{content.noun}s in a crawl": format_cell(_rounded(content.mean_size * row["cadence"])),
            f"new {content.noun}s a year": _new_elements(row),
        }
        for row in plans
    ]
    frame = pd.DataFrame(rows)
    frame = frame.drop(columns=f"{content.noun}s in a crawl") if pd.isna(content.mean_size) else frame
    return captioned_table("Plans with as many fetches a year as now", frame, formatted=list(frame.columns))


def _new_elements(row: Row) -> str:
    if row["current"]:
        return "as now"
    return "not possible" if pd.isna(row["coverage"]) else _change(row)


def _rounded(number: float) -> int | None:
    """Round a planned number of elements to three digits; None if it is unknown."""
    return None if pd.isna(number) else int(float(f"{number:.3g}"))


def _basis(content: Content) -> str:
    """Name the model that the plans are of; if its size changes, plans keep the size of the assessed period."""
    model = content.assessment.model
    return f"selected model {model}, at constant size" if model in CHANGING_CORE_SHELLS else "joint core–shell fit"


def _planning_table(content: Content, now: Row) -> pd.DataFrame:
    """Return table `planning` with formatted numbers and titles, and times in days."""
    planning = content.frames["planning"]
    days = content.mean_gap_days / now["gap"]
    times = {name: days * planning[name] for name in planning.columns if name.startswith("hidden_time")}
    shown = format_estimates(planning.assign(**times), list(_TITLES))
    shown["crawls_to_seen"] = [_crawls_to_seen(row) for row in planning.to_dict("records")]
    shown["coverage"] = [
        f"{row['coverage']:.2g}{' (now)' if row['current'] else ''}" for row in planning.to_dict("records")
    ]
    titles = {name: title.format(noun=content.noun) for name, title in _TITLES.items()}
    return shown[["coverage", *titles]].rename(columns=titles)


def _crawls_to_seen(row: Row) -> str:
    """Format a whole number of crawls with its interval; infinity is "never"."""
    value, low, high = (
        "never" if np.isinf(row[f"crawls_to_seen{end}"]) else format_cell(row[f"crawls_to_seen{end}"])
        for end in ("", "_low", "_high")
    )
    return value if value == low == high == "never" else f"{value} ({low} to {high})"


def _sufficient_coverage(planning: pd.DataFrame, gaps: Mapping[float, float]) -> str:
    """State the least coverage at each gap for which even the upper end of the interval is finite."""
    finite = planning[np.isfinite(planning["crawls_to_seen_high"].astype(float))]
    least = {ratio: finite.loc[finite["gap"] == gap, "coverage"].min() for ratio, gap in sorted(gaps.items())}
    present_first = sorted(least.items(), key=lambda item: item[0] != 1)
    enough = [f"{coverage:.2g} at {_GAPS[ratio]}" for ratio, coverage in present_first if np.isfinite(coverage)]
    now = dict(planning[planning["current"].astype(bool)].iloc[0])
    captured = f"{100 * SEEN_WELL:g} % of the shell"
    sentence = (
        f"To capture {captured} at both ends of the confidence interval, use a coverage of "
        f"{' or '.join(filter(None, (', '.join(enough[:-1]), enough[-1])))}. A lower coverage may be sufficient."
        if enough
        else f"No coverage up to 0.9 captures {captured} at both ends of the confidence interval."
    )
    reached = np.isfinite(now["crawls_to_seen"])
    when = f"reach it after {_crawls_to_seen(now)} crawls" if reached else "never reach it"
    return f"{sentence} The present settings {when}."


def _doubled_crawl(content: Content, now: Row) -> str:
    """State the coverage of a crawl of twice the present size, or the largest possible crawl."""
    size, completeness, coverage = content.mean_size, float(now["crawl_size"]), float(now["coverage"])
    largest = f"{1 / completeness:.2g} times the present size"
    if pd.isna(size):
        return f"A crawl can have at most {largest}; it then captures the whole urn."
    doubled = f"A crawl of twice the present mean size ({format_cell(round(2 * size))} {content.noun}s)"
    if 2 * completeness >= 1:
        urn = f"{format_cell(round(size / completeness))} {content.noun}s"
        return f"{doubled} would exceed the urn of about {urn}. At coverage 1, a crawl has {largest}."
    # Crawl completeness is κ + (1 - κ) c.
    needed = 1 - (1 - 2 * completeness) * (1 - coverage) / (1 - completeness)
    return f"{doubled} has a shell coverage of {needed:.2g}; see the row of that coverage."
