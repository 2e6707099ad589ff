"""The headline's urn in an operator's terms, what comes next, and what other plans would bring.

Here: the dictionary of quantities with unit, interval and what moves them, forecast and planning. Not here: computing
any of them (`estimates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.formatting import NOT_IDENTIFIED, UNKNOWN, count_noun, replace_element_noun
from crawl_urn_dagster.report.blocks import Block, Folded, Section
from crawl_urn_dagster.report.markdown import escape, estimate, number, table, with_limits
from crawl_urn_dagster.urn import UNSAID
from crawl_urn_dagster.urn.monitoring.planning import SEEN_WELL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_FIT = ["projection", "model", "form", "clock", "component"]
#: Columns of table `planning` that are shown, and their titles.
_PLANNED = {
    "crawl_size": "share of the urn in a crawl",
    "crawls_to_seen": "crawls until 90 % of the shell was seen",
    "seen_at_last": "share of the shell seen in the long run",
    "nu_inf": "new share of a crawl",
    "hidden_time": "hidden time in the shell, days",
    "cost_per_new": "fetches per new {noun}",
}
_CADENCES = {0.5: "half the gap", 1: "the present gap", 2: "twice the gap"}
_PER_CRAWL = ["crawl_size", "new_elements", "returning_elements"]


def share_in_a_crawl(content: Content) -> str | None:
    """Say which share of all that is eligible a crawl holds; None where it is not known, or the headline says it."""
    shares, headline = _shares(content), content.headline
    if shares is None or "core_share" not in headline.estimates or not headline.is_identified:
        return None
    if pd.isna(shares["crawl_size"]):
        return None
    return f"One crawl holds {estimate(shares, 'crawl_size', share=True)} of all that the crawler could have fetched."


def share_of_eligible(content: Content) -> str | None:
    """Say which share of the urn a crawl holds, and so how large urn and core are, or that it is not identified.

    None where no table has it.
    """
    shares, noun = _shares(content), content.noun
    size = content.crawls["elements"].astype("Float64").mean()
    if not content.headline.is_identified:
        return (
            f"How many {noun}s are eligible, and for how long, is not said: it would follow from numbers that are not "
            "identified."
        )
    if shares is None or pd.isna(shares["crawl_size"]) or pd.isna(size):
        return None
    eligible = {
        "eligible": size / shares["crawl_size"],
        "eligible_low": size / shares["crawl_size_high"],
        "eligible_high": size / shares["crawl_size_low"],
    }
    said = (
        f"**A crawl of the mean size, {number(round(size))} {noun}s, holds "
        f"{estimate(shares, 'crawl_size', share=True)} of what is eligible at its time, so that "
        f"{estimate(eligible, 'eligible')} are eligible"
    )
    if "core_share" not in content.headline.estimates:
        return f"{said}.**"
    fit = headline_fit(content)
    core = {f"core{end}": size * fit[f"core_share{end}"] for end in ("", "_low", "_high")}
    return f"{said}, {estimate(core, 'core')} of them the core.**"


def eligible_for(content: Content) -> str | None:
    """Say how long an element stays eligible; None where that is not known. The headline is not withheld."""
    terms, gap, noun = _terms(content), content.mean_gap_days, content.noun
    headline = content.headline
    if headline.all_core or not headline.is_identified or pd.isna(terms["life_expectancy"]):
        return None
    which = f"{noun[:1].upper()}{noun[1:]}s{' of the shell' if 'core_share' in content.headline.estimates else ''}"
    left = estimate(terms, "life_expectancy")
    if terms["unit"] == "crawls":
        days = {name: gap * value for name, value in terms.items() if name.startswith("life_expectancy")}
        said = f"{which} will be eligible at {left} further crawls** on average, not counting the present one"
        said += f", or for {estimate(days, 'life_expectancy')} days at the present cadence" if gap > 0 else ""
    else:
        said = f"{which} will be eligible for another {left} years** on average, to the last crawl that can have them"
    return f"**{said}."


def dictionary(content: Content) -> Section:
    """Every quantity with its unit, interval and what moves it."""
    headline = content.headline
    title = "In an operator's terms"
    if headline.withheld:
        reason = escape(replace_element_noun(headline.reason or "", content.noun))
        return Section(title, [f"Withheld ({headline.status}): {reason}. What can be told without an urn is below."])
    if headline.all_core:
        return Section(title, ["All is core: nothing comes and goes, and there are no terms of what would."])
    frame = pd.DataFrame(
        _rows(content), columns=["quantity", "value (95 % interval)", "unit", "what it says", "what moves it"]
    )
    unit = _terms(content)["unit"]
    span = (
        f"Crawls are {content.mean_gap_days:.0f} days apart on average. "
        if unit == "crawls" and len(content.crawls) > 1
        else ""
    )
    core = " They are those of the shell; the core never leaves." if "core_share" in headline.estimates else ""
    notes = (
        f"{span}Times are whole {'crawls' if unit == 'crawls' else 'rounds'} still to come after the present one: life "
        f"expectancy is the sum of sampled and hidden time.{core} Status of all: **{headline.status}**."
    )
    return Section(
        title,
        [notes, table(frame, written=["value (95 % interval)"]), *content.shown("fates_of_an_element")],
    )


def _rows(content: Content) -> list[tuple[str, str, str, str, str]]:
    """Rows of the dictionary; those that the fit does not have are left out."""
    noun, clock, terms = content.noun, content.headline.clock, _terms(content)
    fit, shares, unit = headline_fit(content), _shares(content), str(terms["unit"])
    later = "by the next crawl" if clock == "crawl" else "within a year"

    def follows(row: Row | None, name: str, *, share: bool = False) -> str:
        if row is None or content.headline.is_identified:
            return UNKNOWN if row is None else estimate(row, name, share=share)
        return NOT_IDENTIFIED

    churn = {
        "status": fit["status"],
        "churn": 1 - fit["alpha"],
        "churn_low": 1 - fit["alpha_high"],
        "churn_high": 1 - fit["alpha_low"],
    }
    has_core = "core_share" in content.headline.estimates
    part = "shell" if has_core else "urn"
    rows = [
        (
            "share of the urn in one crawl",
            follows(shares, "crawl_size", share=True),
            "of the urn",
            f"how much of what could be fetched one crawl has{', core included' if has_core else ''}",
            "more fetches per crawl raise it; more newborns or a wider scope lower it",
        ),
        (
            "core fraction of a crawl, μ",
            estimate(fit, "core_share", share=True),
            "of one crawl",
            f"{noun}s that were there every time",
            "seeds and lists fetched every time raise it; wider sampling of the rest lowers it",
        ),
        (
            "core fraction of the urn, κ",
            estimate(fit, "kappa", share=True),
            "of the urn",
            "the same core against all that could be fetched, not against one crawl",
            "as μ, but sampling more of the rest leaves it as it is",
        ),
        (
            "coverage, c",
            estimate(fit, "coverage", share=True),
            f"of the {part}, per crawl",
            "chance of being in a crawl while eligible",
            "crawl budget, politeness limits, and how seeds are drawn",
        ),
        (
            "churn, 1 − α",
            estimate(churn, "churn", share=True),
            f"of the {part}, per {clock}",
            f"{noun}s that stop being eligible {later}, and are replaced",
            "scope and blocking rules, dead links, frontier limits; not coverage",
        ),
        (
            "unique rate",
            follows(shares, "nu_inf", share=True),
            "of one crawl",
            "long-run share of a crawl that no crawl held before",
            "churn raises it; a core, or coverage of all that stays, lowers it",
        ),
        (
            "life expectancy",
            follows(terms, "life_expectancy"),
            unit,
            f"how long {noun}s of the {part} stay eligible after the present crawl (not how long they exist)",
            "churn alone",
        ),
        (
            "sampled time",
            follows(terms, "sampled_time"),
            unit,
            "the part of it in which they are fetched",
            "coverage lengthens it",
        ),
        (
            "hidden time",
            follows(terms, "hidden_time"),
            unit,
            "the part of it in which they are eligible and missed",
            "coverage shortens it",
        ),
        (
            "resolve time (hiding time)",
            follows(terms, "hiding_time"),
            unit,
            f"how long {noun}s not seen yet stay unseen, until they are seen or gone",
            "coverage and churn both shorten it",
        ),
    ]
    return [row for row in rows if row[1] != UNKNOWN]


def headline_fit(content: Content) -> dict[str, Any]:
    """Last row of the headline in table `parameters`: the shell, or the one urn."""
    parameters = content.frames["parameters"]
    own = parameters[parameters["stratum"].isna() & parameters["headline"].astype(bool)]
    return dict(own.iloc[-1])


def yearly_fit(content: Content) -> dict[str, Any] | None:
    """Row of the same kind of fit as the headline on the clock of years; None where there is none that may be shown."""
    parameters, kind = content.frames["parameters"], pd.Series(headline_fit(content) | {"clock": "year"})[_FIT]
    same = parameters["stratum"].isna() & (parameters[_FIT] == kind).all(axis=1)
    rows = parameters[same & ~parameters["status"].isin(UNSAID)]
    return dict(rows.iloc[-1]) if len(rows) else None


def _terms(content: Content) -> dict[str, Any]:
    """Row of table `operator_terms` that belongs to the headline."""
    fit, terms = headline_fit(content), content.frames["operator_terms"]
    same = terms["stratum"].isna() & (terms[_FIT] == pd.Series(fit)[_FIT]).all(axis=1)
    return dict(terms[same].iloc[0])


def _shares(content: Content) -> dict[str, Any] | None:
    """Share of the eligible in a crawl (crawl_size) and unique rate (nu_inf) of the whole urn, with limits.

    Of a single urn they are its coverage and its own unique rate; of core and shell they are in table `planning`, which
    is of the joint fit only.
    """
    fit, planning = headline_fit(content), content.frames["planning"]
    if fit["model"] == "homogeneous":
        terms = _terms(content)
        suffixes = ("", "_low", "_high")
        return {f"crawl_size{end}": fit[f"coverage{end}"] for end in suffixes} | {
            f"nu_inf{end}": terms[f"nu_inf{end}"] for end in suffixes
        }
    now = planning[planning["current"].astype(bool)]
    return dict(now.iloc[0]) if fit["projection"] == "joint" and len(now) else None


def next_crawls(content: Content) -> Section:
    """Show what the crawls to come will bring."""
    forecast, noun = content.frames["forecast"], content.noun
    latest = forecast[forecast["origin_crawl"] == forecast["origin_crawl"].iloc[-1]]
    reasons = latest["reason"].dropna()
    if len(reasons):
        return Section("What the next crawls will bring", [f"Not forecast: {escape(reasons.iloc[0])}"])
    told = latest[latest["quantity"].isin(_PER_CRAWL)]
    if told.empty:
        return Section("What the next crawls will bring", _next_overlap(content, latest))
    written = with_limits(told, ["value"])
    shown = written.pivot_table(
        index=["crawls_ahead", "expected_at"], columns="quantity", values="value", aggfunc="first"
    )
    next_one = written[written["crawls_ahead"] == 1].set_index("quantity")["value"]
    titles = {"crawl_size": f"{noun}s in it", "new_elements": "of them new", "returning_elements": "seen before"}
    since = told["start_crawl"].dropna().iloc[0]
    sentence = (
        f"The next crawl, expected about {number(told['expected_at'].min())}, will hold about {next_one['crawl_size']} "
        f"{noun}s: about {next_one['new_elements']} new and about {next_one['returning_elements']} seen before. In "
        "brackets: 95 % prediction intervals, by which each number is rounded, so that parts need not add up. "
        f"New are those that no crawl since {escape(since)} held. No urn has to fit for this."
    )
    frame = shown.reset_index()[["crawls_ahead", "expected_at", *titles]].rename(columns=titles)
    labels = content.crawls["crawl"].tolist()
    ago = len(labels) - 1 - labels.index(forecast["origin_crawl"].iloc[0])
    earlier = f", with what was forecast {count_noun(ago, 'crawl')} ago" if ago else ""
    rest = f"Windows and overlaps that are forecast, too, are in table `forecast`{earlier}."
    ends, between = frame.iloc[[0, -1]], frame.iloc[1:-1]
    more = Folded("The crawls between", [table(between, written=list(titles.values()))])
    return Section(
        "What the next crawls will bring",
        [sentence, table(ends, written=list(titles.values())), more, rest, *content.shown("forecast_fan")],
    )


def _next_overlap(content: Content, latest: pd.DataFrame) -> list[Block]:
    last = latest["origin_crawl"].iloc[-1]
    rows = latest[(latest["quantity"] == "overlap") & (latest["start_crawl"] == last)]
    frame = with_limits(rows, ["value"])[["crawls_ahead", "expected_at", "value"]]
    frame = frame.rename(columns={"value": f"{content.noun}s shared with {last}"})
    return [
        f"The source gives no unions, so that only overlaps with earlier crawls can be forecast: here those with "
        f"{escape(last)}, with 95 % prediction intervals; others are in table `forecast`.",
        table(frame, written=list(frame.columns[2:])),
    ]


def plans(content: Content) -> Section | None:
    """Show what crawls of another coverage or cadence would bring; None where nothing is planned."""
    planning = content.frames["planning"]
    now = planning[planning["current"].astype(bool)]
    if content.headline.withheld or now.empty:
        return None
    if now["status"].iloc[0] == "not_identified":
        said = "Not planned: the joint fit of core and shell, which plans are made from, is not_identified."
        return Section("Other coverages and cadences", [said])
    days = content.mean_gap_days / now["gap"].iloc[0]
    names = [name for name in planning.columns if name.startswith("hidden_time")]
    shown = with_limits(planning.assign(**{name: days * planning[name] for name in names}), list(_PLANNED))
    shown["crawls_to_seen"] = [_crawls_to_seen(row) for row in planning.to_dict("records")]
    shown["coverage"] = [
        f"{coverage:.2g}{' (now)' if present else ''}"
        for coverage, present in zip(planning["coverage"], planning["current"].astype(bool), strict=True)
    ]
    titles = {name: title.format(noun=content.noun) for name, title in _PLANNED.items()}

    def at(gap: float) -> str:
        rows = shown.loc[planning["gap"] == gap, ["coverage", *_PLANNED]]
        return table(rows.rename(columns=titles), written=["coverage", *titles.values()])

    gaps = {gap / now["gap"].iloc[0]: gap for gap in sorted(planning["gap"].unique())}
    note = (
        "What crawls of another coverage of the shell, at another gap between crawls, would bring if the urn stays as "
        f"it is. Below at the present gap, {content.mean_gap_days:.0f} days on average; folded at half and twice of "
        "it, where crawls are those at the new gap. Of the joint fit of core and shell, whose status is "
        f"**{now['status'].iloc[0]}**; in brackets 95 % intervals, of the fit alone, coverage and gap being chosen."
    )
    folded = [Folded(f"At {_CADENCES[cadence]}", [at(gap)]) for cadence, gap in gaps.items() if cadence != 1]
    return Section(
        "Other coverages and cadences",
        [
            note,
            at(gaps[1]),
            _to_see_well(planning, gaps),
            _twice_as_large(content, now),
            *folded,
            *content.shown("planning_curves"),
        ],
    )


def _crawls_to_seen(row: Row) -> str:
    """Write a whole number of crawls with its limits, infinity in words."""
    value, low, high = (
        "never" if np.isinf(row[f"crawls_to_seen{end}"]) else number(row[f"crawls_to_seen{end}"])
        for end in ("", "_low", "_high")
    )
    return value if value == low == high == "never" else f"{value} ({low} to {high})"


def _to_see_well(planning: pd.DataFrame, gaps: Mapping[float, float]) -> str:
    """Say which coverage is enough, at each gap and as it is now, also at the limit of its interval."""
    sure = planning[np.isfinite(planning["crawls_to_seen_high"].astype(float))]
    least = {cadence: sure.loc[sure["gap"] == gap, "coverage"].min() for cadence, gap in sorted(gaps.items())}
    enough = [
        f"{coverage:.2g} at {_CADENCES[cadence]}"
        for cadence, coverage in sorted(least.items(), key=lambda one: one[0] != 1)
        if np.isfinite(coverage)
    ]
    now = dict(planning[planning["current"].astype(bool)].iloc[0])
    present = f"as now, after {_crawls_to_seen(now)} crawls" if np.isfinite(now["crawls_to_seen"]) else "never as now"
    which = f"coverage {', '.join(enough)}" if enough else "no coverage up to 0.9"
    return (
        f"To see {100 * SEEN_WELL:g} % of the shell for sure: {which}; {present}. For sure means at both ends of the "
        "interval: neither is *never*. A smaller coverage may do."
    )


def _twice_as_large(content: Content, now: pd.DataFrame) -> str:
    """Say what a crawl of twice the present size would be, or how large one can be at most."""
    size = content.crawls["elements"].astype("Float64").mean()
    held, coverage = float(now["crawl_size"].iloc[0]), float(now["coverage"].iloc[0])
    if pd.isna(size):
        return f"A crawl can be {1 / held:.2g} times the present size, and then holds the whole urn."
    doubled, urn = f"{number(round(2 * size))} {content.noun}s", number(round(size / held))
    if 2 * held >= 1:
        return (
            f"A crawl of twice the present mean size, {doubled}, is more than the urn holds, about {urn}: "
            f"{1 / held:.2g} times the present size is the most that a crawl can be, at coverage 1."
        )
    # κ + (1 - κ) c is the share that is held.
    needed = 1 - (1 - 2 * held) * (1 - coverage) / (1 - held)
    return f"A crawl of twice the present mean size, {doubled}, has coverage {needed:.2g} of the shell: see its row."
