"""Comparison of several collections on the clock `year`, and reasons why they may not be comparable.

Does not report on a single collection; see `report_page`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.estimates.assessment.result import QUANTITY_LABELS
from crawl_urn_dagster.formatting import NOT_IDENTIFIED, UNKNOWN
from crawl_urn_dagster.observables.schema import ASSESSMENT_TABLES, PARAMETERS, SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Folded, Page, Picture, Section
from crawl_urn_dagster.report.content import Content, churn, rows_of_fit
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell, format_estimate, format_quantity
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, ReasonCode
from crawl_urn_dagster.urn.results.reasons import split_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.config.collection import Collection

#: Tables that the comparison needs from each collection.
COMPARED_TABLES = ("crawls", "parameters", "operator_terms", *ASSESSMENT_TABLES)
# Ratio of mean gaps, or of spans, above which quantities that depend on them are not comparable.
_SIMILAR = 1.5
_QUANTITIES = ("completeness", "population", "growth", "survival", "kappa", "core_share")
_SHARES = {
    "core_share": "core share of a crawl, μ",
    "kappa": "core fraction of the urn, κ",
    "coverage": "shell coverage, c",
    "alpha": "shell survival over a year, α",
    "churn": "shell churn in a year, 1 − α",
}
_TERMS = {
    "life_expectancy": "residual lifetime, years",
    "hidden_time": "missed time, years",
    "hiding_time": "time to resolution, years",
    "nu_inf": "shell unique rate, per crawl",
}


@dataclass(frozen=True)
class Compared:
    """A collection of the comparison.

    Parameters
    ----------
    collection
        Configuration of the collection.
    frames
        Those of its `COMPARED_TABLES` that exist, by name.
    report
        Address of its report; None: it has no report.
    pictures
        Figures of its history.
    """

    collection: Collection
    frames: Mapping[str, pd.DataFrame]
    report: str | None = None
    pictures: Sequence[Picture] = ()

    @property
    def has_run(self) -> bool:
        """Whether all tables exist."""
        return set(COMPARED_TABLES) <= self.frames.keys()

    @cached_property
    def content(self) -> Content:
        """The tables as the content of a report."""
        return Content(self.collection, self.frames, broken_rules={})

    @cached_property
    def fit(self) -> dict[str, Any] | None:
        """Row of table `parameters` of the selected fit on the clock `year`, with its churn; None if it was not fitted.

        If nothing is concluded from the headline, the row has its status and reason, and no estimates.
        """
        headline = self.content.fit
        rows = rows_of_fit(self.frames["parameters"], {**headline, "clock": "year"})
        if rows.empty:
            return None
        row = dict(rows.iloc[-1])
        if self.content.withheld_reason:
            row |= {name: headline[name] for name in ("status", "reason", "reason_code")}
            row |= {f"{name}{end}": nan for name in SYMBOLS for end in ("", "_low", "_high")}
        if ReasonCode.ALL_CORE in split_codes(row["reason_code"]):
            row |= {f"{name}{end}": nan for name in ("alpha", "coverage") for end in ("", "_low", "_high")}
        return row | churn(row)

    @cached_property
    def terms(self) -> dict[str, Any] | None:
        """Row of table `operator_terms` that belongs to `fit`, with its status."""
        all_core = self.fit is not None and ReasonCode.ALL_CORE in split_codes(self.fit["reason_code"])
        if self.fit is None or all_core or self.content.withheld_reason:
            return None
        return {**rows_of_fit(self.frames["operator_terms"], self.fit).iloc[0], "status": self.fit["status"]}


def comparison_page(compared: Sequence[Compared], picture: Picture | None = None) -> Page:
    """Return the comparison of collections.

    Parameters
    ----------
    compared
        The collections; those that have not run are named only.
    picture
        Figure of the compared parameters.
    """
    title = "Comparison of collections"
    complete = [one for one in compared if one.has_run]
    missing = ", ".join(escape(one.collection.name) for one in compared if not one.has_run)
    lead: list[Block] = [
        "The table shows the verdict on each collection and the numbers that may be quoted. Below them are parameters "
        "of the curves per year, so different cadences are comparable: the selected fit, refitted on clock "
        "`year`. A collection whose tests refute this fit has none of them. Intervals are 95 % confidence intervals. "
        "If the fit has no core, the shell is the whole urn. A dash means that the quantity is not reported or not in "
        "the model.",
    ]
    if missing:
        lead.append(f"Not run yet: {missing}.")
    if not complete:
        return Page(title, lead, [])
    table = captioned_table(
        "Quantities by collection", _table(complete), formatted=[one.collection.name for one in complete]
    )
    sections = [
        Section("Side by side", [table, *([picture] if picture else []), *_reasons(complete)]),
        Section("Comparability", ["\n".join(f"- {line}" for line in _differences(complete))]),
        *_histories(complete),
    ]
    return Page(title, lead, sections)


def compared_parameters(compared: Sequence[Compared]) -> pd.DataFrame:
    """Return the compared rows of table `parameters`, with the name of the collection as their stratum.

    Parameters
    ----------
    compared
        Collections that have run.
    """
    rows = [{**one.fit, "stratum": one.collection.name, "headline": True} for one in compared if one.fit]
    return pd.DataFrame(rows, columns=list(PARAMETERS.column_names))


def _table(complete: Sequence[Compared]) -> pd.DataFrame:
    """Return one row per quantity and one column per collection."""
    columns = {}
    for one in complete:
        content, fit = one.content, one.fit
        first, last = (format_cell(content.crawls["started_at"].iloc[position]) for position in (0, -1))
        column = {
            "report": UNKNOWN if one.report is None else f"[report]({one.report})",
            "elements": content.noun + "s",
            "crawls": f"{len(content.crawls)}, {first} to {last}",
            "days between crawls": format_cell(content.mean_gap_days),
            "numbers may be quoted": content.verdict.quotable.value,
            "verdict": content.verdict.name,
            "model": escape(content.assessment.model or "none"),
            **_quantities(content),
            "fit of the curves": "none on this clock" if fit is None else f"{fit['model']}, {fit['projection']}",
            "status": UNKNOWN if fit is None else str(fit["status"]),
        }
        for name, title in _SHARES.items():
            column[title] = UNKNOWN if fit is None else format_estimate(fit, name, share=True)
        for name, title in _TERMS.items():
            column[title] = _term(one, name)
        columns[one.collection.name] = column
    return pd.DataFrame(columns).rename_axis("quantity").reset_index()


def _histories(complete: Sequence[Compared]) -> list[Section]:
    """Return the figures of each collection, folded."""
    folded = [Folded(one.collection.name, one.pictures) for one in complete if one.pictures]
    return [Section("Over time", folded)] if folded else []


def _quantities(content: Content) -> dict[str, str]:
    """Return the quantities that may be quoted, formatted, by title."""
    rows = {row["quantity"]: row for row in content.frames["quantities"].to_dict("records")}
    return {QUANTITY_LABELS[name][0]: format_quantity(rows[name]) if name in rows else UNKNOWN for name in _QUANTITIES}


def _term(one: Compared, name: str) -> str:
    """Format a quantity that follows from the fit; if the fit is not identified, it is not either."""
    if one.terms is None:
        return UNKNOWN
    if one.terms["status"] in NO_POINT_ESTIMATE_STATUSES and one.terms["status"] not in UNREPORTED_STATUSES:
        return NOT_IDENTIFIED
    return format_estimate(one.terms, name, share=name == "nu_inf")


def _reasons(complete: Sequence[Compared]) -> list[Block]:
    """Return the reasons of the fits' statuses as a list."""
    lines = [
        f"- {escape(one.collection.name)} is {one.fit['status']}: {escape(one.fit['reason'])}"
        for one in complete
        if one.fit and isinstance(one.fit["reason"], str)
    ]
    return ["\n".join(lines)] if lines else []


def _differences(complete: Sequence[Compared]) -> list[str]:
    """Return the known differences that limit the comparison."""
    lines = [
        "Every quantity describes the population that a crawler keeps eligible, not the web. Two crawlers of the same "
        "web differ by their scope, seeds and budget."
    ]
    nouns = {one.content.noun for one in complete}
    if len(nouns) > 1:
        lines.append(
            f"Granularities differ ({', '.join(sorted(nouns))}): a host remains while its URLs are replaced, so the "
            "coarser granularity has the larger core and survival for that reason alone."
        )
    gaps = {one.collection.name: one.content.mean_gap_days for one in complete if len(one.content.crawls) > 1}
    if gaps and max(gaps.values()) > _SIMILAR * min(gaps.values()):
        shown = ", ".join(f"{escape(name)} {gap:.0f} days" for name, gap in gaps.items())
        lines.append(
            f"Cadences differ ({shown}): coverage, μ and unique rate describe one crawl and depend on its length and "
            "gap, also on clock `year`. Times cannot be resolved below one gap. Only survival, churn and κ do not "
            "depend on the cadence."
        )
    spans = {one.collection.name: one.content.crawls["years"].iloc[-1] for one in complete}
    if max(spans.values()) > _SIMILAR * min(spans.values()):
        shown = ", ".join(f"{escape(name)} {span:.1f} years" for name, span in spans.items())
        lines.append(f"Spans differ ({shown}): elements that live longer than a span look like core in it.")
    if len({(one.fit["model"], one.fit["projection"]) for one in complete if one.fit}) > 1:
        lines.append(
            "Fits differ in model or observable: without a core, α and c describe all elements; with a core, only the "
            "shell. A joint fit uses more data than a fit to one observable."
        )
    if len({(one.collection.source.relative_error > 0, one.collection.sample_one_in > 1) for one in complete}) > 1:
        lines.append("Counting differs: some collections were counted, others are estimates from sketches or samples.")
    return lines
