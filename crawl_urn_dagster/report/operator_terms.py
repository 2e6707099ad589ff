"""Report section on the quantities for operators, each with its unit, interval and what moves it.

Does not compute them; see `estimates.tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.formatting import NOT_IDENTIFIED, UNKNOWN
from crawl_urn_dagster.report.blocks import Section
from crawl_urn_dagster.report.content import churn
from crawl_urn_dagster.report.markdown import captioned_table, format_estimate, format_quantity

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_TITLE = "Quantities for operators"
_VALUE = "value (95 % CI)"
_CHURN, _LIFETIME = "churn, 1 − α", "residual lifetime"


def operator_terms_section(content: Content) -> Section:
    """Return every quantity with its unit, interval, meaning and what moves it."""
    headline = content.headline
    if content.withheld_reason:
        reason = content.escape(content.withheld_reason)
        return Section(_TITLE, [f"Not reported ({reason}). See *Results without the urn model*."])
    if headline.is_all_core:
        return Section(
            _TITLE, ["The whole collection is core: nothing is replaced, so these quantities are undefined."]
        )
    rows = [row for row in _rows(content) if row[1] != UNKNOWN]
    frame = pd.DataFrame(rows, columns=["quantity", _VALUE, "unit", "meaning", "what moves it"])
    in_crawls = content.terms["unit"] == "crawls"
    span = f"Crawls are {content.mean_gap_days:.0f} days apart on average. " if in_crawls else ""
    shell = f" of shell {content.noun}s; the core never leaves" if content.has_core else ""
    notes = (
        f"{span}The times are mean times{shell}. They count whole "
        f"{'crawls' if in_crawls else 'gaps between crawls, in years,'} after the present crawl. The residual lifetime "
        f"is the sum of captured and missed time. Status of the fit: **{headline.status}**."
    )
    table = captioned_table("Quantities for operators, with 95 % confidence intervals", frame, formatted=[_VALUE])
    return Section(
        _TITLE, [notes, table, *content.figures("fates_of_an_element", "losses_by_crawl")], _answer(content, rows)
    )


def _answer(content: Content, rows: list[tuple[str, str, str, str, str]]) -> str:
    """State churn and the residual lifetime."""
    shown = {name: f"{value} {unit}" for name, value, unit, *_ in rows}
    part = "shell" if content.has_core else "urn"
    stated = [f"Churn is {shown[_CHURN]}"] if _CHURN in shown else []
    if _LIFETIME in shown:
        stated.append(f"{content.noun}s of the {part} stay eligible for another {shown[_LIFETIME]}")
    return f"{'; '.join(stated)}." if stated else "The fit gives no churn."


def _rows(content: Content) -> list[tuple[str, str, str, str, str]]:
    """Return quantity, value, unit, meaning and influences of each quantity."""
    return [*_share_rows(content), *_time_rows(content)]


def _share_rows(content: Content) -> list[tuple[str, str, str, str, str]]:
    noun, fit, clock, shares = content.noun, content.fit, content.headline.kind.clock, content.crawl_shares
    part, prefix = ("shell", "shell ") if content.has_core else ("urn", "")
    later = "by the next crawl" if clock == "crawl" else "within a year"
    permanent = f"{noun}s that every crawl captures" if content.headline.is_core_permanent else f"longest-lived {noun}s"
    return [
        (
            "captured share of the urn",
            _derived(content, shares, "crawl_size", share=True),
            "of the urn",
            f"share of the eligible {noun}s that one crawl captures{', core included' if content.has_core else ''}",
            "more fetches per crawl raise it; more new elements or a wider scope lower it",
        ),
        (
            "core share of a crawl, μ",
            _quoted(content, "core_share"),
            "of one crawl",
            permanent,
            "seeds and lists that are always fetched raise it; a higher shell coverage lowers it",
        ),
        (
            "core fraction of the urn, κ",
            _quoted(content, "kappa"),
            "of the urn",
            "the same core as a fraction of the eligible population",
            "like μ, but shell coverage does not change it",
        ),
        (
            f"{prefix}coverage, c",
            format_estimate(fit, "coverage", share=True),
            f"of the {part}, per crawl",
            f"probability that one crawl captures an eligible {noun}{' of the shell' if content.has_core else ''}",
            "crawl budget, politeness limits, and how seeds are drawn",
        ),
        (
            _CHURN,
            format_estimate(churn(fit), "churn", share=True),
            f"of the {part}, per {clock}",
            f"{noun}s that stop being eligible {later} and are replaced",
            "scope and blocking rules, dead links, frontier limits; not coverage",
        ),
        (
            "unique rate",
            _derived(content, shares, "nu_inf", share=True),
            "of one crawl",
            f"long-run share of a crawl that no earlier crawl captured{', core included' if content.has_core else ''}",
            "churn raises it; a core lowers it, and so does coverage of elements that stay eligible",
        ),
    ]


def _time_rows(content: Content) -> list[tuple[str, str, str, str, str]]:
    noun, terms, unit = content.noun, content.terms, str(content.terms["unit"])
    part = "shell" if content.has_core else "urn"
    rows = (
        (
            _LIFETIME,
            "life_expectancy",
            f"time for which {noun}s of the {part} stay eligible after the present crawl (not how long they exist)",
            "churn only",
        ),
        (
            "half-life",
            "half_life",
            f"time after which half of the {noun}s of the {part} are no longer eligible",
            "churn only",
        ),
        ("captured time", "sampled_time", "part of it in which crawls capture them", "coverage lengthens it"),
        ("missed time", "hidden_time", "part of it in which crawls miss them", "coverage shortens it"),
        (
            "time to resolution",
            "hiding_time",
            f"time for which {noun}s not captured yet stay uncaptured, until a crawl captures them or they leave",
            "coverage and churn both shorten it",
        ),
    )
    return [(title, _derived(content, terms, name), unit, meaning, moved) for title, name, meaning, moved in rows]


def _quoted(content: Content, name: str) -> str:
    """Format the core as it may be quoted; as fitted to the curves if the assessment has no such quantity."""
    quoted = content.frames["quantities"].set_index("quantity")
    if name in quoted.index:
        return format_quantity(quoted.loc[name].to_dict())
    return format_estimate(content.fit, name, share=True)


def _derived(content: Content, row: Row | None, name: str, *, share: bool = False) -> str:
    """Format a quantity that follows from the parameters; if these are not identified, it is not either."""
    if row is None:
        return UNKNOWN
    return format_estimate(row, name, share=share) if content.headline.is_identified else NOT_IDENTIFIED
