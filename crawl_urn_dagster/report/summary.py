"""Opening of the report: verdict, headline, basis and definitions; then whether the estimates are reliable.

Does not show the evidence for the verdict; see `goodness_of_fit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.formatting import count_noun, format_number
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Section
from crawl_urn_dagster.report.markdown import escape, format_cell, state_estimate
from crawl_urn_dagster.sources import SimulatedSource
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content

_RELIABILITY = {
    "sound": "Reliable",
    "not_identified": "Provisional",
    "too_short": "Provisional",
    "misfit": "Use with caution",
    "core_not_permanent": "Use with caution",
    "uneven_shell": "Use with caution",
}
# Ratio of longest to shortest gap above which gaps are uneven, and factor of improvement above which the report
# recommends the per-year fit.
_UNEVEN, _IMPROVEMENT = 2, 2


def lead(content: Content) -> list[Block]:
    """Return verdict and headline, their basis, what follows for the number of elements, and definitions."""
    headline = content.headline
    shares = [_completeness(content), content.adapt(headline.sentence)]
    quoted = escape(" ".join(filter(None, shares)))
    blocks: list[Block] = [f"> **{_label(content)} (`{content.verdict.name}`).** {_comparisons(content)} {quoted}"]
    if isinstance(content.collection.source, SimulatedSource):
        source = content.collection.source
        truth = f"κ {source.kappa:g}, α {source.alpha:g}, c {source.coverage:g}, seed {source.seed}"
        blocks.insert(0, f"**Simulated data, not a real crawl** ({truth}).")
    blocks.append(_basis(content))
    if not headline.is_reported:
        blocks.append("This page reports no parameter estimates.")
    else:
        follows = (_population(content), _lifetime(content), _core_measures(content), _uneven_gaps(content))
        blocks += filter(None, (*follows, _biased_intervals(content)))
    return [*blocks, _definitions(content)]


def reliability_section(content: Content) -> Section:
    """Return whether the estimates are reliable, why, and what to do."""
    headline, verdict = content.headline, content.verdict
    blocks: list[Block] = [f"**{_label(content)}** (`{verdict.name}`). {content.escape(verdict.meaning)}"]
    if not headline.is_reported:
        blocks.append(f"Parameters are not reported. Reason: {content.escape(headline.reason)}.")
    blocks.append(f"{_comparisons(content)} See *Goodness of fit*.")
    drift = content.frames["drift"]
    since = drift.loc[drift["drifted"].fillna(False).astype(bool), "since_crawl"].dropna()
    if len(since) and headline.is_reported:
        blocks.append(
            f"**A change began with {escape(since.iloc[0])}, but the estimates describe all crawls**, before and after "
            "it; see *Drift since the reference period*. To describe only the crawls since then, set `first_crawl` to "
            "this crawl in the configuration."
        )
    if content.violated_rules:
        rules = count_noun(len(content.violated_rules), "consistency rule")
        blocks.append(f"**The data violate {rules}**; see *Data quality*.")
    return Section("Reliability", blocks)


def dated_label(crawl: pd.Series) -> str:
    """Return the label of a crawl, with its day unless the label is the day."""
    label, day = escape(crawl["crawl"]), format_cell(crawl["started_at"])
    return label if label == day else f"{label} ({day})"


def _label(content: Content) -> str:
    return "No estimates reported" if not content.headline.is_reported else _RELIABILITY[content.verdict.name]


def _comparisons(content: Content) -> str:
    tests = content.frames["diagnosis"]
    verdicts = tests.loc[tests["test"] != "collection", "verdict"]
    untested, failed = int((verdicts == "not_tested").sum()), int((verdicts == "fails").sum())
    if untested == len(verdicts):
        return "Goodness of fit could not be tested."
    rest = f"; {untested} could not be tested" if untested else ""
    return f"Goodness of fit: {failed} of {count_noun(len(verdicts) - untested, 'comparison')} failed{rest}."


def _completeness(content: Content) -> str | None:
    """State crawl completeness; None if it is unknown or the headline states it."""
    shares = content.crawl_shares
    if shares is None or not content.has_core or not content.headline.is_identified or pd.isna(shares["crawl_size"]):
        return None
    eligible = f"of the eligible {content.noun}s"
    return f"One crawl captures {state_estimate(shares, 'crawl_size', eligible, share=True)}."


def _basis(content: Content) -> str:
    crawls, headline = content.crawls, content.headline
    known = crawls["elements"].dropna()
    extremes = dict.fromkeys(format_cell(int(size)) for size in (known.min(), known.max())) if len(known) else ()
    sizes = f" of {' to '.join(extremes)} {content.noun}s each" if extremes else ""
    gap = f", {content.mean_gap_days:.0f} days apart on average" if len(crawls) > 1 else ""
    numbers = f"parameters with 95 % confidence intervals: {escape(headline.numbers)}"
    return (
        f"Basis: {count_noun(len(crawls), 'crawl')}{sizes}, {dated_label(crawls.iloc[0])} to "
        f"{dated_label(crawls.iloc[-1])}{gap}. Selected fit: {escape(headline.fit_name)}; status "
        f"**{headline.status}**; {'parameters are not reported' if not headline.is_reported else numbers}."
    )


def _population(content: Content) -> str | None:
    """State the number of eligible elements and the size of the core; None if no table has crawl completeness."""
    shares, noun, size = content.crawl_shares, content.noun, content.mean_size
    if not content.headline.is_identified:
        return (
            "The eligible population and the residual lifetime are not reported because the parameters are not "
            "identified."
        )
    if shares is None or pd.isna(shares["crawl_size"]) or pd.isna(size):
        return None
    eligible = {
        "eligible": size / shares["crawl_size"],
        "eligible_low": size / shares["crawl_size_high"],
        "eligible_high": size / shares["crawl_size_low"],
    }
    captured = state_estimate(shares, "crawl_size", f"of the eligible {noun}s", share=True)
    text = (
        f"A crawl of mean size ({format_cell(round(size))} {noun}s) captures {captured}. This implies "
        f"{state_estimate(eligible, 'eligible', f'eligible {noun}s')}"
    )
    if not content.has_core:
        return f"{text}."
    core = {f"core{end}": size * content.fit[f"core_share{end}"] for end in ("", "_low", "_high")}
    part = "core" if content.headline.is_core_permanent else "longest-lived part"
    return f"{text}, of which the {part} has {state_estimate(core, 'core')}."


def _lifetime(content: Content) -> str | None:
    """State the mean residual lifetime; None if it is unknown."""
    terms, gap, noun = content.terms, content.mean_gap_days, content.noun
    if content.headline.is_all_core or not content.headline.is_identified or pd.isna(terms["life_expectancy"]):
        return None
    subject = f"Shell {noun}s" if content.has_core else f"{noun[:1].upper()}{noun[1:]}s"
    left = state_estimate(terms, "life_expectancy", terms["unit"])
    if terms["unit"] != "crawls":
        return f"{subject} stay eligible for another {left} on average, until the last crawl that can capture them."
    text = f"{subject} stay eligible for another {left} on average, not counting the present crawl."
    if not gap > 0:
        return text
    days = {name: gap * value for name, value in terms.items() if name.startswith("life_expectancy")}
    return f"{text} At the present cadence that is {state_estimate(days, 'life_expectancy', 'days')}."


def _core_measures(content: Content) -> str | None:
    """Distinguish the two measures of the core."""
    headline = content.headline
    if not content.has_core or headline.is_all_core:
        return None
    text = (
        "κ and μ both measure the core: κ as a fraction of the urn, μ as a share of one crawl. In the model μ is at "
        "least κ."
    )
    widths = {
        name: (headline.intervals[name].high - headline.intervals[name].low) / headline.estimates[name]
        for name in ("kappa", "core_share")
        if name in headline.intervals and headline.estimates[name] > 0
    }
    if not headline.is_identified or len(widths) < 2:
        return text
    precise = SYMBOLS[min(widths, key=widths.__getitem__)]
    return f"{text} Here {precise} is estimated more precisely (narrower relative interval)."


def _uneven_gaps(content: Content) -> str | None:
    """Recommend the per-year fit if gaps are uneven and it has smaller residuals or a narrower interval."""
    fit, yearly = content.fit, content.yearly_fit
    gaps = content.crawls["years"].diff().dropna()
    if yearly is None or fit["clock"] == "year" or not gaps.max() > _UNEVEN * gaps.min():
        return None
    at_gap = {name: yearly[name] ** gaps.mean() for name in ("alpha", "alpha_low", "alpha_high")}
    closer = fit["residual_rms"] / yearly["residual_rms"]
    narrower = (fit["alpha_high"] - fit["alpha_low"]) / (at_gap["alpha_high"] - at_gap["alpha_low"])
    gains = [f"its residuals are {closer:.2g} times smaller"] if closer > _IMPROVEMENT else []
    gains += [f"its interval is {narrower:.2g} times narrower"] if narrower > _IMPROVEMENT else []
    if not gains:
        return None
    shortest, longest = (format_number(round(DAYS_PER_YEAR * gap)) for gap in (gaps.min(), gaps.max()))
    return (
        f"**Crawls are {shortest} to {longest} days apart, but the per-crawl fit assumes equal gaps.** The per-year "
        f"fit gives a survival of {state_estimate(yearly, 'alpha', share=True)} per year, or "
        f"{state_estimate(at_gap, 'alpha', share=True)} per mean gap; {' and '.join(gains)}. Set `clock: year` in the "
        "configuration to make it the headline."
    )


def _biased_intervals(content: Content) -> str | None:
    """Name the estimates outside their own intervals."""
    headline = content.headline
    names = [
        SYMBOLS[name] for name, (low, high) in headline.intervals.items() if not low <= headline.estimates[name] <= high
    ]
    if not names or not headline.is_identified:
        return None
    return (
        f"**The interval for {' and '.join(names)} does not contain the estimate** because only the interval is "
        "corrected for bias. Use the interval."
    )


def _definitions(content: Content) -> str:
    """Define eligible, urn, core and shell, and state what the model assumes."""
    headline, noun = content.headline, content.noun
    core, part = "", "urn"
    if not headline.is_reported or content.has_core:
        part = "shell"
        core = (
            f"The *core* consists of the {noun}s that every crawl captures"
            if content.headline.is_core_permanent
            else f"The *core* is the longest-lived part of the urn, but not permanent: its {noun}s leave or are missed "
            "at times"
        )
        core += f"; all other {noun}s form the *shell*. "
    later = "the next crawl" if headline.kind.clock == "crawl" else "a year later"
    coverage = "shell coverage" if part == "shell" else "coverage"
    return (
        f"*Eligible* {noun}s are those that the crawler could have fetched at the time of a crawl, given its scope and "
        f"reach, whether or not it did. Together they form the *urn*. {core}The model assumes that each crawl captures "
        f"the same share of the {part} ({coverage}, c) and that the same share of the {part} is still eligible at "
        f"{later} (survival, α). New {noun}s replace those that leave, so the urn keeps its size. An ineligible {noun} "
        f"may still exist, and an existing {noun} need not be eligible: the estimates do not show how long {noun}s "
        "exist."
    )
