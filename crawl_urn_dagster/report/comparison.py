"""Several collections side by side, on the clock of years, so that cadences compare.

Here: which quantities are compared, and what makes a comparison unfair. Not here: the report of one collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.formatting import NOT_IDENTIFIED, UNKNOWN
from crawl_urn_dagster.observables.schema import PARAMETERS, SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Page, Picture, Section
from crawl_urn_dagster.report.content import Content
from crawl_urn_dagster.report.markdown import escape, estimate, number, table
from crawl_urn_dagster.urn import UNSAID, WITHHELD
from crawl_urn_dagster.urn.fits.status import is_all_core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.report.markdown import Row

#: Tables that are read of each collection.
COMPARED_TABLES = ("crawls", "parameters", "operator_terms", "diagnosis")
_KIND = ["projection", "model", "form"]
# Mean gaps that differ by more make a share of one crawl another thing in each.
_SAME_CADENCE = 1.5
_SHARES = {
    "core_share": "core fraction of a crawl, μ",
    "kappa": "core fraction of the eligible, κ",
    "coverage": "coverage of a crawl, c (without the core)",
    "alpha": "survival over a year, α (without the core)",
    "churn": "churn in a year, 1 − α (without the core)",
}
_TERMS = {
    "life_expectancy": "life expectancy, years",
    "hidden_time": "hidden time, years",
    "hiding_time": "resolve time, years",
    "nu_inf": "unique rate of the part without the core, per crawl",
}


@dataclass(frozen=True)
class Compared:
    """A collection and those of its tables that there are, of `COMPARED_TABLES`."""

    collection: Collection
    frames: Mapping[str, pd.DataFrame]

    @property
    def is_made(self) -> bool:
        """Whether the collection has been run."""
        return set(COMPARED_TABLES) <= self.frames.keys()

    def content(self) -> Content:
        """Give what its report reads its headline from."""
        return Content(self.collection, self.frames, broken_rules={})

    def yearly(self) -> dict[str, Any] | None:
        """Row of `parameters`, of the shell or the one urn, of the headline's kind of fit on the clock of years.

        None where there is no such fit.
        """
        parameters = self.frames["parameters"]
        whole = parameters[parameters["stratum"].isna()]
        headline = whole[whole["headline"].astype(bool)].iloc[-1]
        same = (whole[_KIND] == headline[_KIND]).all(axis=1) & (whole["clock"] == "year")
        rows = whole[same]
        if rows.empty:
            return None
        row = dict(rows.iloc[-1])
        if headline["status"] in WITHHELD:
            row |= {"status": headline["status"], "reason": headline["reason"]}
        if is_all_core(row["reason"]):
            row |= {f"{name}{end}": nan for name in ("alpha", "coverage") for end in ("", "_low", "_high")}
        return row | {
            "churn": 1 - row["alpha"],
            "churn_low": 1 - row["alpha_high"],
            "churn_high": 1 - row["alpha_low"],
        }

    def terms(self) -> dict[str, Any] | None:
        """Row of `operator_terms` that belongs to `yearly`."""
        fit, terms = self.yearly(), self.frames["operator_terms"]
        if fit is None or is_all_core(fit["reason"]):
            return None
        same = terms["stratum"].isna() & (terms["clock"] == "year") & (terms["component"] == fit["component"])
        for name in _KIND:
            same &= terms[name] == fit[name]
        return {**terms[same].iloc[0], "status": fit["status"]}


def comparison_page(compared: Sequence[Compared], picture: Picture | None = None) -> Page:
    """Comparison of collections, of which some may not have been run."""
    made, absent = [one for one in compared if one.is_made], [one for one in compared if not one.is_made]
    lead: list[Block] = [
        "The same quantities of each collection, per year, so that cadences compare: of each the kind of fit that "
        "speaks for it, on the clock of years, with 95 % intervals in brackets and its status. What is withheld is "
        "not shown.",
    ]
    if absent:
        names = ", ".join(escape(one.collection.name) for one in absent)
        lead.append(f"Not run yet, and so left out: {names}.")
    if not made:
        return Page("Comparison of collections", lead, [])
    side_by_side = table(_table(made), written=[one.collection.name for one in made])
    sections = [
        Section("Side by side", [side_by_side, *([picture] if picture else []), *_reasons(made)]),
        Section("What makes the comparison unfair", ["\n".join(f"- {line}" for line in _unfair(made))]),
    ]
    return Page("Comparison of collections", lead, sections)


def compared_parameters(compared: Sequence[Compared]) -> pd.DataFrame:
    """Rows of table `parameters` that are compared, with the collection's name as their stratum."""
    rows = [{**fit, "stratum": one.collection.name, "headline": True} for one in compared if (fit := one.yearly())]
    return pd.DataFrame(rows, columns=list(PARAMETERS.column_names))


def _table(made: Sequence[Compared]) -> pd.DataFrame:
    """One row per quantity, one column per collection."""
    columns = {}
    for one in made:
        content = one.content()
        crawls, fit, terms = content.crawls, one.yearly(), one.terms()
        first, last = (number(crawls["started_at"].iloc[position]) for position in (0, -1))
        column = {
            "elements are": content.noun + "s",
            "crawls": f"{len(crawls)}, {first} to {last}",
            "days between crawls": number(content.mean_gap_days) if len(crawls) > 1 else UNKNOWN,
            "fit": "none on this clock" if fit is None else f"{fit['model']}, {fit['projection']}",
            "status": UNKNOWN if fit is None else str(fit["status"]),
            "can it be believed?": content.verdict.name,
        }
        for name, title in _SHARES.items():
            column[title] = UNKNOWN if fit is None else estimate(fit, name, share=True)
        for name, title in _TERMS.items():
            column[title] = UNKNOWN if terms is None else _following(terms, name)
        columns[one.collection.name] = column
    return pd.DataFrame(columns).rename_axis("quantity").reset_index()


def _following(terms: Row, name: str) -> str:
    """Write what follows from a fit, which is not said where that is not identified."""
    is_open = terms["status"] in UNSAID and terms["status"] not in WITHHELD
    return NOT_IDENTIFIED if is_open else estimate(terms, name, share=name == "nu_inf")


def _reasons(made: Sequence[Compared]) -> list[Block]:
    """Why a status is not ok."""
    lines = [
        f"- {escape(one.collection.name)} is {fit['status']}: {escape(fit['reason'])}"
        for one in made
        if (fit := one.yearly()) and isinstance(fit["reason"], str)
    ]
    return ["\n".join(lines)] if lines else []


def _unfair(made: Sequence[Compared]) -> list[str]:
    """List what is not the same in all that are compared."""
    lines = [
        "Every quantity is of what that crawler keeps eligible, not of the web: two crawlers of one web differ by "
        "their scope, seeds and budget."
    ]
    kinds = {one.content().noun for one in made}
    if len(kinds) > 1:
        lines.append(
            f"Granularities differ ({', '.join(sorted(kinds))}): a host stays while its URLs come and go, so that the "
            "coarser has the larger core and survival for no other reason."
        )
    gaps = {one.collection.name: one.content().mean_gap_days for one in made if len(one.frames["crawls"]) > 1}
    if gaps and max(gaps.values()) > _SAME_CADENCE * min(gaps.values()):
        shown = ", ".join(f"{escape(name)} {gap:.0f} days" for name, gap in gaps.items())
        lines.append(
            f"Cadences differ ({shown}): coverage, μ and unique rate are of one crawl and depend on its length and "
            "gap, also on the clock of years; times are resolved no finer than a gap; only survival, churn and κ are "
            "free of it."
        )
    spans = {one.collection.name: one.frames["crawls"]["years"].iloc[-1] for one in made}
    if max(spans.values()) > _SAME_CADENCE * min(spans.values()):
        shown = ", ".join(f"{escape(name)} {span:.1f} years" for name, span in spans.items())
        lines.append(f"Spans differ ({shown}): what lives longer than a span looks like a core in it.")
    fits = [fit for one in made if (fit := one.yearly())]
    if len({(fit["model"], fit["projection"]) for fit in fits}) > 1:
        lines.append(
            f"Fits differ in urn or observable: without a core, {SYMBOLS['alpha']} and {SYMBOLS['coverage']} are of "
            "all elements; with one, of the rest alone. A joint fit uses more than a fit of one observable."
        )
    if len({(one.collection.source.relative_error > 0, one.collection.sample_one_in > 1) for one in made}) > 1:
        lines.append("Counting differs: some were counted, others are estimates of sketches or samples.")
    return lines
