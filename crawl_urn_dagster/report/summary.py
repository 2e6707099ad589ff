"""The first page: the headline in plain words, whether to believe it, and what the last crawl changed.

Here: what an operator reads every month. Not here: what it follows from (the other sections).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.headline import NO_CORE
from crawl_urn_dagster.formatting import count_noun, replace_element_noun
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Section
from crawl_urn_dagster.report.markdown import escape, estimate, number, table, with_limits
from crawl_urn_dagster.report.operator_terms import (
    eligible_for,
    headline_fit,
    share_in_a_crawl,
    share_of_eligible,
    yearly_fit,
)
from crawl_urn_dagster.sources import SimulatedSource
from crawl_urn_dagster.urn import DAYS_PER_YEAR
from crawl_urn_dagster.urn.curves.revisit import FEWEST_FOR_A_CHANGE, LEVEL
from crawl_urn_dagster.urn.monitoring.control_charts import FALSE_ALARMS, HORIZON
from crawl_urn_dagster.urn.monitoring.forecast import FEWEST

if TYPE_CHECKING:
    from crawl_urn_dagster.estimates.headline import Headline
    from crawl_urn_dagster.report.content import Content
    from crawl_urn_dagster.report.markdown import Row

_BELIEVE = {
    "sound": "Yes",
    "not_identified": "In part",
    "too_short": "Not yet",
    "not_fitted": "No",
    "no_urn": "No",
    "misfit": "With caution",
    "core_not_permanent": "With caution",
    "uneven_shell": "With caution",
}
# Gaps differ much when the longest is so many times the shortest; a fit is much closer or surer when so many times.
_UNEVEN, _MUCH = 2, 2
_OF_RUNS = (
    "The last run of crawls without a change is compared with the one before it. p is the chance of a change as large "
    f"when nothing changes; there is a change when 1 − p is at least {1 - LEVEL:g}."
)
#: Which chart watches a parameter: the core share has none of its own.
_CHARTS = {"kappa": "core", "alpha": "survival", "coverage": "coverage"}
_QUANTITIES = {
    "crawl_size": "in the crawl",
    "new_elements": "new",
    "returning_elements": "seen before",
    "distinct_elements": "distinct since {start_crawl}",
    "overlap": "shared with {start_crawl}",
}


def lead(content: Content) -> list[Block]:
    """Give the headline, what its words mean, and what it says of elements."""
    crawls, headline, noun = content.crawls, content.headline, content.noun
    first, last = crawls.iloc[0], crawls.iloc[-1]
    sizes = crawls["elements"].dropna()
    span = " to ".join(dict.fromkeys(number(int(size)) for size in (sizes.min(), sizes.max()))) if len(sizes) else ""
    of_size = f", of {span} {noun}s each" if span else ""
    of_all = share_in_a_crawl(content)
    words = f"{of_all} {headline.sentence}" if of_all else headline.sentence
    blocks: list[Block] = [f"> **{escape(replace_element_noun(words, noun))}**", _definitions(content)]
    if isinstance(content.collection.source, SimulatedSource):
        source = content.collection.source
        truth = f"κ {source.kappa:g}, α {source.alpha:g}, c {source.coverage:g}, seed {source.seed}"
        blocks.insert(0, f"**Simulated data, not a real crawl** ({truth}).")
    if headline.withheld:
        blocks.append("Of what is withheld no number is on this page.")
    else:
        blocks += filter(None, [share_of_eligible(content), eligible_for(content)])
        blocks += [*_of_the_core(headline), *_uneven(content), *_outside(headline)]
    return [
        *blocks,
        f"{count_noun(len(crawls), 'crawl')}{of_size}, from {_dated(first)} to {_dated(last)}{_cadence(content)}.",
        f"The fit: {escape(headline.fit_name)}. Its status is **{headline.status}**, its parameters are "
        f"{escape(headline.numbers)}.",
    ]


def _of_the_core(headline: Headline) -> list[Block]:
    """Tell the two sizes of the core apart."""
    if "core_share" not in headline.estimates or headline.all_core:
        return []
    said = (
        "κ and μ are both the size of the core: κ is its share of the urn, μ its share of one crawl. As the urn has "
        "it, the core is in every crawl and the rest is not, so μ is the larger"
    )
    widths = {
        name: (headline.limits[name].high - headline.limits[name].low) / headline.estimates[name]
        for name in ("kappa", "core_share")
        if name in headline.limits and headline.estimates[name] > 0
    }
    if headline.is_identified and len(widths) > 1:
        surer = SYMBOLS[min(widths, key=widths.__getitem__)]
        said += f"; {surer} is the surer of the two: its interval is the narrower beside its value"
    return [f"{said}."]


def _definitions(content: Content) -> str:
    """Say what eligible, urn, core and shell are, and what it means that one urn holds."""
    headline, noun = content.headline, content.noun
    parts = ""
    whole = "it"
    if headline.withheld or "core_share" in headline.estimates:
        whole = "the shell"
        core = "the part that lives longest" if NO_CORE in (headline.reason or "") else "what is in every crawl"
        parts = f"The *core* is {core}; the *shell* is the rest, which comes and goes. "
    later = "the next crawl" if headline.clock == "crawl" else "a year later"
    return (
        f"*Eligible* are the {noun}s that the crawler could have fetched at the time of a crawl, whether it did or "
        f"not: those within its scope and reach. All of them are the *urn*. {parts}That one urn holds means: each "
        f"crawl samples the same share of {whole} (coverage, c), and until {later} the same share of {whole} stays "
        "eligible (survival, α), as many new ones replacing the others, so that the urn keeps its size. What stops "
        "being eligible need not be gone from the web, and what exists need not be eligible: nothing here says how "
        "long anything exists."
    )


def _uneven(content: Content) -> list[Block]:
    """Say what the fit per year gives, where gaps differ much and it is the closer or the surer."""
    fit, yearly = headline_fit(content), yearly_fit(content)
    gaps = content.crawls["years"].diff().dropna()
    if yearly is None or fit["clock"] == "year" or not gaps.max() > _UNEVEN * gaps.min():
        return []
    names = ("alpha", "alpha_low", "alpha_high")
    at_gap = {name: yearly[name] ** gaps.mean() for name in names}
    closer = fit["residual_rms"] / yearly["residual_rms"]
    surer = (fit["alpha_high"] - fit["alpha_low"]) / (at_gap["alpha_high"] - at_gap["alpha_low"])
    if not max(closer, surer) > _MUCH:
        return []
    days = [number(round(DAYS_PER_YEAR * gap)) for gap in (gaps.min(), gaps.max())]
    gained = [f"residuals are {closer:.2g} times smaller"] if closer > _MUCH else []
    gained += [f"the interval is {surer:.2g} times narrower"] if surer > _MUCH else []
    return [
        f"**Crawls are {' to '.join(days)} days apart, and a fit per crawl takes all gaps for equal: per year survival "
        f"is {estimate(yearly, 'alpha', share=True)}, which is {estimate(at_gap, 'alpha', share=True)} per mean gap** "
        f"({' and '.join(gained)}). `clock: year` in the configuration makes that fit the headline."
    ]


def _outside(headline: Headline) -> list[Block]:
    """Explain limits that do not hold their number."""
    names = [
        SYMBOLS[name] for name, (low, high) in headline.limits.items() if not low <= headline.estimates[name] <= high
    ]
    if not names or not headline.is_identified:
        return []
    return [
        f"**The interval of {' and '.join(names)} does not hold its number**: intervals are corrected for what the "
        "fit is off by in simulated crawls like these, numbers are not. Go by the interval."
    ]


def _cadence(content: Content) -> str:
    return f", {content.mean_gap_days:.0f} days apart on average" if len(content.crawls) > 1 else ""


def _dated(crawl: pd.Series) -> str:
    """Label of a crawl, with the day where that is not the label."""
    label, day = escape(crawl["crawl"]), number(crawl["started_at"])
    return label if label == day else f"{label} ({day})"


def believing(content: Content) -> Section:
    """Whether the numbers can be believed, why, and what to do."""
    headline, verdict = content.headline, content.verdict
    tests = content.frames["diagnosis"]
    verdicts = tests.loc[tests["test"] != "collection", "verdict"]
    untested, failed = int((verdicts == "not_tested").sum()), int((verdicts == "fails").sum())
    made = len(verdicts) - untested
    rest = f"; {untested} more could not be tested" if untested else ""
    meaning = escape(replace_element_noun(verdict.meaning, content.noun))
    blocks: list[Block] = [f"**{_BELIEVE[verdict.name]}** (`{verdict.name}`). {meaning}"]
    if headline.withheld:
        blocks.append(
            f"Why parameters are withheld: {escape(replace_element_noun(headline.reason or '', content.noun))}."
        )
    blocks.append(
        f"Of {count_noun(made, 'test')} of whether one urn holds, {failed} failed{rest}: see *Whether the model fits*."
        if made
        else "No test of whether one urn holds could be made."
    )
    drift = content.frames["drift"]
    since = drift.loc[drift["drifted"].fillna(False).astype(bool), "since_crawl"].dropna()
    if len(since) and not headline.withheld:
        blocks.append(
            f"**Something changed with {escape(since.iloc[0])}, and the numbers are of all crawls together**, before "
            "and since: see *Has anything drifted since the reference?*. With `first_crawl` set to it in the "
            "configuration they are of what holds now."
        )
    if content.impossible:
        blocks.append(
            f"**Broken: {count_noun(len(content.impossible), 'rule')} of what can be true**: see *Data quality*."
        )
    return Section("Can it be believed?", blocks)


def last_crawl(content: Content) -> Section:
    """Show what the last crawl brought against its forecast."""
    crawls = content.crawls
    said = f"The last crawl is {_dated(crawls.iloc[-1])}"
    if len(crawls) > 1:
        days = (crawls["years"].iloc[-1] - crawls["years"].iloc[-2]) * DAYS_PER_YEAR
        said += f", {number(round(days))} days after the one before it, {_dated(crawls.iloc[-2])}"
    return Section("What the last crawl brought", [f"{said}. {_against_forecast(content)}"])


def _against_forecast(content: Content) -> str:
    told = _told_of_last(content)
    if told.empty:
        few = f": a forecast needs {FEWEST} crawls before it" if len(content.crawls) <= FEWEST else ""
        return f"Nothing that is known of it was forecast{few}."
    rows = []
    for row in told.to_dict("records"):
        came = _came(content, row)
        name = _QUANTITIES[row["quantity"]].format(start_crawl=row["start_crawl"])
        rows.append((name, _beside(came, row), number(round(came)), estimate(row, "value")))
    frame = pd.DataFrame(rows, columns=[f"{content.noun}s", "so it is", "came", "forecast"])
    since = told.loc[told["quantity"] == "new_elements", "start_crawl"]
    new = f" New are {content.noun}s that no crawl since {escape(since.iloc[0])} held." if len(since) else ""
    return (
        "What came, beside what the crawls before it let expect, with 95 % prediction intervals; chance alone puts one "
        f"number in 20 outside.{new}\n\n{table(frame, written=['came', 'forecast'])}"
    )


def _beside(came: float, told: Row) -> str:
    """Say where a number is beside its forecast, and by how much."""
    within = told["value_low"] <= came <= told["value_high"]
    off = round(100 * (came / told["value"] - 1)) if told["value"] else 0
    by = f" ({abs(off)} % {'above' if off > 0 else 'below'})" if off else ""
    return ("within the interval" if within else "outside the interval") + by


def _told_of_last(content: Content) -> pd.DataFrame:
    """Rows of table `forecast` that told what is known of the last crawl from all before it.

    Its size, new and returning elements; where these are not known the longest window that is, and without windows the
    overlap with the crawl before it.
    """
    forecast, labels = content.frames["forecast"], content.crawls["crawl"].tolist()
    if len(labels) == 1:
        return forecast.iloc[:0]
    told = forecast[(forecast["origin_crawl"] == labels[-2]) & forecast["value"].notna()]
    told = told[np.array([not np.isnan(_came(content, row)) for row in told.to_dict("records")], dtype=bool)]
    of_crawl: pd.DataFrame = told[told["quantity"].isin(["crawl_size", "new_elements", "returning_elements"])]
    if "new_elements" in set(of_crawl["quantity"]):
        return of_crawl
    windows = told[told["quantity"] == "distinct_elements"].sort_values("window_crawls").tail(1)
    shared = told[(told["quantity"] == "overlap") & (told["start_crawl"] == labels[-2])]
    known: pd.DataFrame = pd.concat([of_crawl, windows if len(windows) else shared])
    return known


def _came(content: Content, row: Row) -> float:
    """Look up the number of the last crawl that a row of the forecast told; NaN where it was not observed."""
    labels = content.crawls["crawl"].tolist()
    if row["quantity"] == "overlap":
        pairs = content.frames["containment"]
        found = pairs[(pairs["crawl_i"] == row["start_crawl"]) & (pairs["crawl_j"] == labels[-1])]["intersection"]
        return float(found.iloc[0]) if len(found) else np.nan
    size = content.crawls["elements"].astype("Float64").iloc[-1]
    if row["quantity"] == "crawl_size":
        return np.nan if pd.isna(size) else float(size)
    curve = content.frames["discovery_curve"]
    windows = curve[curve["start_crawl"] == row["start_crawl"]].set_index("end_crawl")["distinct_elements"]
    if row["quantity"] == "distinct_elements":
        return float(windows.get(labels[-1], np.nan))
    if pd.isna(size) or not {labels[-2], labels[-1]} <= set(windows.index):
        return np.nan
    new = float(windows[labels[-1]] - windows[labels[-2]])
    return new if row["quantity"] == "new_elements" else float(size) - new


def drift(content: Content) -> Section:
    """Show parameters against their reference."""
    drawn = {"control_charts": "control_chart", "parameters_over_time": "parameter_history"}
    shown = content.shown(*(figure for figure, source in drawn.items() if len(content.frames.get(source, ()))))
    return Section("Has anything drifted since the reference?", [*_moved(content), *shown])


def _moved(content: Content) -> list[Block]:
    """Say what moved before the numbers; of parameters that are withheld why, and what observables say instead."""
    drift = content.frames["drift"]
    judged = drift[drift["reason"].isna()]
    of_charts = bool(judged["parameter"].isin(SYMBOLS).any())
    parts = [
        f"**{', '.join(map(_named, rows['parameter'])) if of_charts else 'Parameters'} could not be judged against a "
        f"reference**: {escape(reason)}."
        for reason, rows in drift.groupby("reason", sort=False)
    ]
    if judged.empty or len(content.crawls) == 1:
        return [" ".join(parts)]
    moved = judged[judged["attributed"].fillna(False).astype(bool)]
    drifted = bool(judged["drifted"].fillna(False).astype(bool).any())
    if drifted:
        parts += [
            f"**Yes: {', '.join(_named(name) for name in rows['parameter'])} changed** since {escape(crawl)}."
            for crawl, rows in moved.groupby("since_crawl", sort=False)
        ]
        notes = [escape(replace_element_noun(note, content.noun)) for note in judged["note"].dropna().unique()]
        parts += [f"**The urn itself changed**: {note}." for note in notes]
        if not len(moved) and not notes:
            parts.append("**There is an alarm**, and no parameter yet that it can be attributed to.")
        if of_charts:
            parts.append(_alarm(judged))
    elif of_charts:
        whole = len(judged) == len(drift)
        parts.append("**No: neither core, survival nor coverage moved.**" if whole else "**No: nothing else moved.**")
    elif len(content.crawls) < FEWEST_FOR_A_CHANGE:
        parts.append(
            f"**From {count_noun(len(content.crawls), 'crawl')} it cannot be told** whether anything else changed: "
            f"that needs {FEWEST_FOR_A_CHANGE}. What there is:"
        )
    else:
        parts.append("**No change** in what can be told without an urn.")
    if of_charts:
        parts.append(_of_charts(content, judged.iloc[0]))
    elif len(content.crawls) >= FEWEST_FOR_A_CHANGE:
        parts.append(_OF_RUNS)
    columns = ["reference_value", "value", "difference"]
    shown = with_limits(judged, columns).assign(parameter=[_named(name) for name in judged["parameter"]])
    statistic = "average of its chart, in standard deviations" if of_charts else "1 − p"
    titles = {"statistic": statistic, "threshold": "limit", "attributed": "moved", "since_crawl": "since"}
    judgement = titles if drifted else {}
    return [" ".join(parts), table(shown[["parameter", *columns, *judgement]].rename(columns=titles), written=columns)]


def _alarm(judged: pd.DataFrame) -> str:
    """Say which charts gave the alarm, and that what moved is told by something else."""
    beyond = [
        f"{_CHARTS[row['parameter']]} ({number(row['statistic'])})"
        for row in judged[judged["parameter"].isin(_CHARTS)].to_dict("records")
        if row["statistic"] > row["threshold"]
    ]
    return (
        f"The alarm is of {count_noun(len(beyond), 'chart')}: {', '.join(beyond)}. The charts of core, survival and "
        "coverage share one limit, and one beyond it gives the alarm for all. Which parameter moved is told by its "
        "interval alone, so that one may be named whose own chart is within the limit, and one not whose chart is "
        "beyond it."
    )


def _of_charts(content: Content, row: pd.Series) -> str:
    """Say what is compared, and how surely."""
    labels = content.crawls["crawl"].tolist()
    since = len(labels) - 1 - labels.index(row["reference_last_crawl"])
    of_value = len(labels) - labels.index(row["value_first_crawl"])
    return (
        f"The reference is {escape(row['reference_first_crawl'])} to {escape(row['reference_last_crawl'])}; it stays "
        "until another is named in the configuration. An alarm is a moving average of what each crawl says by itself, "
        f"of core, survival or coverage, that is more than {row['threshold']:.3g} standard deviations off; if nothing "
        f"changes that happens in {100 * FALSE_ALARMS:g} % of runs of {HORIZON} crawls; there were "
        f"{count_noun(since, 'crawl')} since. A parameter is named, after an alarm, when the 99 % interval of its "
        "difference leaves out 0. *value* is not the last window of the figures: it is of the last "
        f"{count_noun(of_value, 'crawl')}, since {escape(row['value_first_crawl'])}, where a change, if there is one, "
        "most likely began; of fewer crawls it is less sure. The urn is taken to keep its size, until four crawls "
        "or more since, fitted alone, contradict it: before, where it shrinks or grows, the date may be right and the "
        "values are not. In brackets: 95 % intervals."
    )


def _named(parameter: str) -> str:
    return f"{SYMBOLS[parameter]} ({parameter})" if parameter in SYMBOLS else parameter
