"""Report section on the paper's reading: the urn that is fitted to the curves, and how it depends on the window.

Does not state what may be quoted; see `summary`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.assessment.reading import ASSUMPTIONS
from crawl_urn_dagster.formatting import format_number
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Section
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell, format_estimate, state_estimate
from crawl_urn_dagster.urn import UNREPORTED_STATUSES
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR
from crawl_urn_dagster.urn.data.thinning import LONGEST_COMPLETE, is_long

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

TITLE = "The paper's reading of the curves"
# Ratio of longest to shortest gap above which gaps are uneven, and factor of improvement above which the report
# recommends the per-year fit.
_UNEVEN, _IMPROVEMENT = 2, 2
_CLOSER_PER_YEAR = "The fit per year is closer, because gaps are uneven; *Details* state it."
_CLOCK_STAYS = (
    "The headline stays on the configured clock, `crawl`. Parameter history, drift and plans have its unit. A clock "
    "that each update selects by the data would change it between updates. If such gaps are usual, set `clock: year`."
)
_QUOTED_WITHOUT_CLOCK = " The numbers that may be quoted come from capture histories and do not depend on the clock."
_THINNED = (
    f"The collection has more than {LONGEST_COMPLETE} crawls. Its fits use sums over blocks of pairs, selected pairs "
    "and windows, and at most 33 rolling windows, because pairs grow with the square of the crawls. Tables of "
    "observables are complete."
)
_NEWBORN = f"These intervals hold if {ASSUMPTIONS['newborn_coverage']}, which no test can check."


def curves_section(content: Content) -> Section:
    """Return the selected fit of the curves with its status, and what follows from it if it may be used."""
    headline = content.headline
    withheld = content.withheld_reason
    answer = (
        "The urn of the paper, fitted to containment and the discovery curve. Selected fit: "
        f"{escape(headline.fit_name)}; status **{headline.status}**. "
    )
    is_unquoted = withheld is not None and headline.is_reported
    answer += "Its parameters are not quoted." if is_unquoted else content.escape(headline.sentence)
    blocks: list[Block] = [content.escape(headline.sentence)] if is_unquoted else []
    blocks += [*filter(None, [_window_dependence(content)]), *_window_lengths(content)]
    if withheld:
        blocks.append("Nothing else on this page is concluded from this fit.")
    else:
        follows = (_population(content) or _completeness(content), _lifetime(content), _core_measures(content))
        blocks += filter(None, (*follows, _biased_intervals(content)))
        uneven = _uneven_gaps(content)
        answer += f" {_CLOSER_PER_YEAR}" if uneven else ""
        stays = _CLOCK_STAYS + (_QUOTED_WITHOUT_CLOCK if content.collection.has_histories else "")
        blocks += [uneven, stays] if uneven else []
    if is_long(len(content.frames["crawls"])):
        blocks.append(_THINNED)
    pictures = content.figures("parameters_over_time") if len(content.frames["parameter_history"]) else []
    return Section(TITLE, [*blocks, _definitions(content), *pictures], answer)


def _window_dependence(content: Content) -> str | None:
    """State how κ differs between windows and the whole period; None if it does not, or if no window was fitted."""
    history = content.frames["parameter_history"]
    history = history[history["headline"].astype(bool) & history["stratum"].isna()]
    rows: list[Row] = [*history.to_dict("records"), content.fit]
    fits = [row for row in rows if row["status"] not in UNREPORTED_STATUSES and not pd.isna(row["kappa_low"])]
    if not fits:
        return None
    least, most = min(fits, key=lambda row: row["kappa_high"]), max(fits, key=lambda row: row["kappa_low"])
    if least["kappa_high"] >= most["kappa_low"]:
        return None
    stated = " and ".join(
        f"{format_estimate(row, 'kappa')} for {escape(row['first_crawl'])} to {escape(row['last_crawl'])}"
        for row in (least, most)
    )
    return (
        f"**κ depends on the window**: it is {stated} (95 % confidence intervals). A permanent core in a population "
        "of constant size has the same κ in all windows."
    )


def _window_lengths(content: Content) -> list[Block]:
    """Return κ of the first crawls, ever more of them, next to the stable share of a model with memory."""
    lengths = content.frames["window_lengths"]
    is_reported = ~lengths["status"].isin(UNREPORTED_STATUSES)
    if is_reported.sum() < 2:
        return []
    rows = lengths.to_dict("records")
    shown = {
        "κ of the urn": [format_estimate(row, "kappa") for row in rows],
        "core share of a crawl": [format_estimate(row, "core_share", share=True) for row in rows],
        "stable share of a crawl": [format_estimate(row, "stable_share", share=True) for row in rows],
    }
    frame = pd.DataFrame({"crawls": lengths["window_crawls"], "until": lengths["last_crawl"], **shown})
    if lengths["stable_share"].isna().all():
        frame = frame.drop(columns="stable share of a crawl")
        text = (
            "The first crawls, ever more of them, by the joint core–shell fit. The parameters of one urn do not change."
        )
    else:
        text = (
            "The first crawls, ever more of them. The joint core–shell fit gives κ and core share, which change "
            f"with the length of the window. The stable share comes from model {escape(content.assessment.model)}, "
            "refitted to the same crawls."
        )
    caption, formatted = "Core of the first crawls, by their number", list(frame.columns[2:])
    return [text, captioned_table(caption, frame, formatted=formatted, source="window_lengths")]


def _completeness(content: Content) -> str | None:
    """State the captured share of the urn; None if it is unknown or the headline states it."""
    shares = content.crawl_shares
    if shares is None or not content.has_core or not content.headline.is_identified or pd.isna(shares["crawl_size"]):
        return None
    eligible = f"of the eligible {content.noun}s"
    return f"One crawl captures {state_estimate(shares, 'crawl_size', eligible, share=True)}. {_NEWBORN}"


def _population(content: Content) -> str | None:
    """State the number of eligible elements and the size of the core; None if the captured share is unknown."""
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
        return f"{text}. {_NEWBORN}"
    core = {f"core{end}": size * content.fit[f"core_share{end}"] for end in ("", "_low", "_high")}
    part = "core" if content.headline.is_core_permanent else "longest-lived part"
    return f"{text}, of which the {part} has {state_estimate(core, 'core')}. {_NEWBORN}"


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
    """Compare the per-year fit if gaps are uneven and it has smaller residuals or a narrower interval."""
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
        f"{state_estimate(at_gap, 'alpha', share=True)} per mean gap; {' and '.join(gains)}."
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
    """Define urn, core and shell, and state what the model assumes."""
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
        f"The eligible {noun}s form the *urn*. {core}The model assumes that each crawl captures the same share of the "
        f"{part} ({coverage}, c) and that the same share of the {part} is still eligible at {later} (survival, α). New "
        f"{noun}s replace those that leave, so the urn keeps its size."
    )
