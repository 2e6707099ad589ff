"""Report section on drift: whether a parameter changed since the reference period.

Does not test for changes; see `estimates.drift`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.population_drift import SCALES, SCOPE_BREAK
from crawl_urn_dagster.formatting import count_noun, format_number
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Block, Section, Table
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_estimates
from crawl_urn_dagster.urn.monitoring.control_charts import FALSE_ALARMS, HORIZON
from crawl_urn_dagster.urn.monitoring.regimes import FEWEST_FOR_A_CHANGE, LEVEL

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content

_PERIODS = (
    "The table compares the last period without a change with the period before it. p is the probability of a change "
    f"at least this large if nothing changes; a change is reported if 1 − p is at least {1 - LEVEL:g}."
)
#: Control chart of each parameter; the core share has none.
_CHARTS = {"kappa": "core", "alpha": "survival", "coverage": "coverage"}


def drift_section(content: Content) -> Section:
    """Return the parameters compared with their reference values."""
    pictures = content.figures("control_charts") if len(content.frames.get("control_chart", ())) else []
    answer, blocks = _drift_summary(content)
    return Section("Drift since the reference period", [*blocks, *pictures], answer)


def _population_changes(drift: pd.DataFrame) -> str:
    """State whether the scope changed, and whether population and completeness left their own trend."""
    sentences = []
    for row in drift.to_dict("records"):
        name, since = row["parameter"], escape(str(row["since_crawl"]))
        if isinstance(row["reason"], str):
            sentences.append(f"**{name.capitalize()} could not be tested for drift**: {escape(row['reason'])}.")
        elif name == SCOPE_BREAK:
            happened = "left permanently" if not row["difference"] < 0 else "were new"
            share = "" if pd.isna(row["difference"]) else f": {100 * abs(row['difference']):.0f} % more than usual "
            sentences.append(f"**The scope changed with {since}**{share}{happened if share else ''}.")
        elif row["drifted"]:
            first, last = (escape(str(row[end])) for end in ("since_first_crawl", "since_last_crawl"))
            cause = "" if row["attributed"] else ", as the change of scope explains"
            sentences.append(
                f"**{name.capitalize()} left its trend** with {since} (95 % CI {first} to {last}){cause}: "
                f"{format_number(row['value'])} at the last crawl, where the trend of the reference period gives "
                f"{format_number(row['reference_value'])}."
            )
        else:
            sentences.append(f"{name.capitalize()} follows its trend.")
    return " ".join(sentences)


def _drift_summary(content: Content) -> tuple[str, list[Block]]:
    """Return what changed, and the explanation and the table."""
    is_of_population = content.frames["drift"]["parameter"].isin([*SCALES, SCOPE_BREAK])
    drift = content.frames["drift"][~is_of_population]
    population = _population_changes(content.frames["drift"][is_of_population])
    changes, details = _urn_changes(content, drift)
    return " ".join(filter(None, (population, changes))), details


def _urn_changes(content: Content, drift: pd.DataFrame) -> tuple[str, list[Block]]:
    tested = drift[drift["reason"].isna()]
    has_charts = bool(tested["parameter"].isin(SYMBOLS).any())
    parts = [
        f"**{', '.join(map(_symbol_and_name, rows['parameter'])) if has_charts else 'The parameters'} could not be "
        f"tested for drift**: {escape(reason)}."
        for reason, rows in drift.groupby("reason", sort=False)
    ]
    if tested.empty or len(content.crawls) == 1:
        return " ".join(parts), []
    drifted = bool(tested["drifted"].fillna(False).astype(bool).any())
    if drifted:
        parts += _changes(content, tested, has_charts=has_charts)
    elif has_charts:
        where = "core, survival or coverage" if len(tested) == len(drift) else "the other parameters"
        parts.append(f"**No drift was found in {where}.**")
    elif len(content.crawls) < FEWEST_FOR_A_CHANGE:
        parts.append(
            f"**Whether anything else changed cannot be tested with {count_noun(len(content.crawls), 'crawl')}**; at "
            f"least {FEWEST_FOR_A_CHANGE} are needed. The available values:"
        )
    else:
        further = "further " if content.assessment.scope_break is not None else ""
        parts.append(f"**No {further}change was found in first returns, revisit delay and crawl size.**")
        parts += _steady_growth(content)
    explained = []
    if has_charts:
        explained.append(_explain_charts(content, tested.iloc[0]))
    elif len(content.crawls) >= FEWEST_FOR_A_CHANGE:
        explained.append(_PERIODS)
    return " ".join(parts), [*explained, _drift_table(tested, drifted=drifted, has_charts=has_charts)]


def _steady_growth(content: Content) -> list[str]:
    """State that the population changes steadily, which differs from a change between periods."""
    growth = content.assessment.quantities.get("growth")
    if growth is None or growth.interval is None or growth.interval.low <= 0 <= growth.interval.high:
        return []
    direction = "grows" if growth.interval.low > 0 else "shrinks"
    return [f"The population of model {escape(content.assessment.model)} {direction} steadily all the same."]


def _changes(content: Content, tested: pd.DataFrame, *, has_charts: bool) -> list[str]:
    attributed = tested[tested["attributed"].fillna(False).astype(bool)]
    notes = [content.escape(note) for note in tested["note"].dropna().unique()]
    parts = [
        f"**Drift: {', '.join(map(_symbol_and_name, rows['parameter']))} changed** since {escape(crawl)}{_dated(rows)}."
        for crawl, rows in attributed.groupby("since_crawl", sort=False)
    ]
    parts += [f"**The urn itself changed**: {note}." for note in notes]
    if not parts:
        parts.append("**An alarm was raised**, but the change is not attributed to a parameter yet.")
    return [*parts, _alarm(tested)] if has_charts else parts


def _dated(rows: pd.DataFrame) -> str:
    """Return the confidence interval of the date of a change, in parentheses."""
    first, last = rows.iloc[0][["since_first_crawl", "since_last_crawl"]]
    return "" if pd.isna(first) else f" (95 % CI {escape(str(first))} to {escape(str(last))})"


def _alarm(tested: pd.DataFrame) -> str:
    charts = [
        f"{_CHARTS[row['parameter']]} ({format_number(row['statistic'])})"
        for row in tested[tested["parameter"].isin(_CHARTS)].to_dict("records")
        if row["statistic"] > row["threshold"]
    ]
    return (
        f"The alarm comes from {count_noun(len(charts), 'chart')}: {', '.join(charts)}. The charts of core, survival "
        "and coverage share one threshold, and one chart above it raises the alarm for all. Only the confidence "
        "interval of a parameter's difference decides whether the change is attributed to it, so the chart of an "
        "attributed parameter can be below the threshold, and the reverse."
    )


def _explain_charts(content: Content, row: pd.Series) -> str:
    labels = content.labels
    monitored = len(labels) - 1 - labels.index(row["reference_last_crawl"])
    recent = len(labels) - labels.index(row["value_first_crawl"])
    return (
        f"The reference period is {escape(row['reference_first_crawl'])} to {escape(row['reference_last_crawl'])}; it "
        "is fixed until the configuration names another. An alarm is raised when the moving average of a per-crawl "
        "estimate (core, survival or coverage) deviates by more than "
        f"{row['threshold']:.3g} standard deviations. The nominal false-alarm rate is {100 * FALSE_ALARMS:g} % per "
        f"{HORIZON} crawls; the monitoring period has {count_noun(monitored, 'crawl')} so far. After an alarm, the "
        "change is attributed to a parameter if the 99 % confidence interval of its difference excludes 0. *value* "
        f"describes the last {count_noun(recent, 'crawl')}, since {escape(row['value_first_crawl'])}, the most likely "
        "start of a change if there is one; this is not the last window of the figures. It is less precise if it "
        "describes few crawls. The fit assumes that the urn keeps its size until four or more later crawls, fitted "
        "alone, contradict this. Until then, if the urn shrinks or grows, the date may be right but the values are "
        "not. Intervals are 95 % confidence intervals."
    )


def _drift_table(tested: pd.DataFrame, *, drifted: bool, has_charts: bool) -> Table:
    columns = ["reference_value", "value", "difference"]
    statistic = "chart average, in standard deviations" if has_charts else "1 − p"
    titles = {"statistic": statistic, "threshold": "threshold", "attributed": "attributed", "since_crawl": "since"}
    shown = format_estimates(tested, columns).assign(parameter=tested["parameter"].map(_symbol_and_name))
    names = ["parameter", *columns, *(titles if drifted else ())]
    return captioned_table(
        "Values now and in the reference period", shown[names].rename(columns=titles), formatted=columns
    )


def _symbol_and_name(parameter: str) -> str:
    return f"{SYMBOLS[parameter]} ({parameter})" if parameter in SYMBOLS else parameter
