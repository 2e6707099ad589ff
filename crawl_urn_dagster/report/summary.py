"""Opening of the report, with the verdict and the answers, and the section with every number that may be quoted.

Does not show the evidence for the verdict (see `goodness_of_fit`) or the fit of the curves (see `curves`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pandas as pd

from crawl_urn_dagster.estimates.assessment.reading import ASSUMPTIONS
from crawl_urn_dagster.estimates.assessment.result import QUANTITY_LABELS
from crawl_urn_dagster.estimates.assessment.verdicts import Quotable
from crawl_urn_dagster.formatting import UNKNOWN, count_noun, format_share
from crawl_urn_dagster.report.answers import answers_table
from crawl_urn_dagster.report.blocks import Block, Callout, Section, Table
from crawl_urn_dagster.report.charts import completeness
from crawl_urn_dagster.report.markdown import (
    captioned_table,
    escape,
    format_cell,
    format_estimate,
    format_estimates,
    format_quantity,
)
from crawl_urn_dagster.sources import SimulatedSource

if TYPE_CHECKING:
    from crawl_urn_dagster.report.blocks import Block
    from crawl_urn_dagster.report.content import Content

_VALUE, _INNER = "value (95 % CI)", "95 % CI if the assumption holds"
_CLASS_COLUMNS = {
    "share_of_crawl": "share of a crawl",
    "share_of_living": "share of the known eligible elements",
    "mean_life": "mean life",
    "mean_run": "mean run",
    "mean_absence": "mean absence",
}
_LAST_CRAWLS = 3
_MAX_CRAWLS_NAMED = 5
#: Level of a callout for each answer to whether numbers may be quoted.
LEVELS: dict[Quotable, Literal["good", "warning", "bad"]] = {
    Quotable.YES: "good",
    Quotable.WITH_RESERVATION: "warning",
    Quotable.NO: "bad",
}


def lead(content: Content) -> list[Block]:
    """Return the verdict, the answers to the questions of an operator, one figure, and warnings."""
    verdict = content.verdict
    text = f"**Numbers may be quoted: {verdict.quotable.value} (`{verdict.name}`).** {content.escape(verdict.meaning)}"
    blocks: list[Block] = [Callout(LEVELS[verdict.quotable], text)]
    if isinstance(content.collection.source, SimulatedSource):
        source = content.collection.source
        truth = f"κ {source.kappa:g}, α {source.alpha:g}, c {source.coverage:g}, seed {source.seed}"
        blocks.insert(0, f"**Simulated data** ({truth}).")
    pictures = content.figures("completeness_by_crawl") if len(content.frames["population"]) else []
    return [*blocks, *_warnings(content), answers_table(content), *pictures]


def quantities_section(content: Content) -> Section:
    """Return the numbers that may be quoted, their basis, and definitions."""
    blocks: list[Block] = ["This page quotes no number of the population."]
    if content.assessment.has_numbers:
        blocks = [
            _quantities_table(content),
            *_really_new(content),
            *_assumptions(content),
            *_classes(content),
            *_last_crawls(content),
        ]
    return Section("Numbers that may be quoted", [*blocks, _definitions(content)], _answer(content))


def _answer(content: Content) -> str:
    """State how many quantities may be quoted, and their basis."""
    quoted = content.frames["quantities"]["value"].count()
    stated = f"{count_noun(quoted, 'quantity', 'quantities')} may be quoted." if quoted else "No number may be quoted."
    return f"{stated} {_basis(content)}"


def _quantities_table(content: Content) -> Table:
    rows = content.frames["quantities"].to_dict("records")
    frame = pd.DataFrame(
        {
            "quantity": [content.adapt(QUANTITY_LABELS[row["quantity"]][0]) for row in rows],
            _VALUE: [format_quantity(row) for row in rows],
            _INNER: [format_quantity(row, "inner") for row in rows],
        }
    )
    shown = frame if (frame[_INNER] != UNKNOWN).any() else frame.drop(columns=_INNER)
    return captioned_table("Numbers that may be quoted", shown, formatted=[_VALUE, _INNER])


def _really_new(content: Content) -> list[str]:
    """State the bounds of the newcomers that appeared since the previous crawl."""
    share = content.assessment.quantities.get("really_new")
    if share is None or share.value is None or share.interval is None:
        return []
    return [
        f"*Newcomers* are {content.noun}s that a crawl captures for the first time. At most all of them appeared since "
        f"the previous crawl, at least {format_share(share.interval.low)} according to the model. Earlier "
        "crawls missed the others."
    ]


def _assumptions(content: Content) -> list[str]:
    """State the assumption that no test can check, over which intervals of the table range."""
    codes = content.frames["quantities"]["assumption"].dropna().unique()
    return [
        f"No test can check whether {content.adapt(ASSUMPTIONS[code])}. The wider interval allows for this."
        for code in codes
    ]


def _classes(content: Content) -> list[Block]:
    classes = content.frames["classes"]
    if len(classes) < 2:
        return []
    rows = classes.to_dict("records")
    shown = pd.DataFrame({"class": classes["class"]}).assign(
        **{
            title: [format_estimate(row, name, share=name.startswith("share")) for row in rows]
            for name, title in _CLASS_COLUMNS.items()
        }
    )
    caption = f"Classes of model {content.assessment.model}; life, run and absence are numbers of crawls"
    return [captioned_table(caption, shown, formatted=list(_CLASS_COLUMNS.values()))]


def _last_crawls(content: Content) -> list[Block]:
    """Return population and completeness of the last crawls."""
    population = content.frames["population"]
    if population.empty:
        return []
    rows = population.tail(_LAST_CRAWLS)
    frame = pd.DataFrame(
        {
            "crawl": rows["crawl"],
            f"{content.noun}s": rows["elements"],
            f"known eligible {content.noun}s": format_estimates(rows, ["population"])["population"],
            "crawl completeness": [format_estimate(row, "completeness", share=True) for row in rows.to_dict("records")],
        }
    )
    table = captioned_table("Latest crawls", frame, formatted=list(frame.columns[2:]), source="population")
    return [table, completeness(content.frames)]


def _warnings(content: Content) -> list[str]:
    warnings = [_quarantine(content)] if len(content.frames.get("quarantine", ())) else []
    drift = content.frames["drift"]
    since = drift.loc[drift["drifted"].astype("boolean").fillna(False), "since_crawl"].dropna()
    if len(since) and content.assessment.has_numbers and content.assessment.scope_break is None:
        warnings.append(
            f"**A change began with {escape(since.iloc[0])}, but the numbers describe all crawls**, before and after "
            "it; see *Drift since the reference period*. To describe only the crawls since then, set `first_crawl` to "
            "this crawl in the configuration."
        )
    if content.violated_rules:
        rules = count_noun(len(content.violated_rules), "consistency rule")
        warnings.append(f"**The data violate {rules}**; see *Data quality*.")
    return warnings


def _quarantine(content: Content) -> str:
    """Name the crawls that are set aside, and the reason for the first of them."""
    rows = content.frames["quarantine"]
    labels = [escape(label) for label in rows["crawl"]]
    n_more = len(labels) - _MAX_CRAWLS_NAMED
    more = f" and {n_more} more" if n_more > 0 else ""
    which = f"{count_noun(len(labels), 'crawl')} cannot be read and {'is' if len(labels) == 1 else 'are'} set aside"
    return (
        f"**{which}: {', '.join(labels[:_MAX_CRAWLS_NAMED])}{more}.** No number on this page includes "
        f"{'it' if len(labels) == 1 else 'them'}. {escape(rows['reason'].iloc[0])}"
    )


def dated_label(crawl: pd.Series) -> str:
    """Return the label of a crawl, with its day unless the label is the day."""
    label, day = escape(crawl["crawl"]), format_cell(crawl["started_at"])
    return label if label == day else f"{label} ({day})"


def _basis(content: Content) -> str:
    crawls = content.crawls
    known = crawls["elements"].dropna()
    extremes = dict.fromkeys(format_cell(int(size)) for size in (known.min(), known.max())) if len(known) else ()
    each = " each" if len(crawls) > 1 else ""
    sizes = f" of {' to '.join(extremes)} {content.noun}s{each}" if extremes else ""
    period = dated_label(crawls.iloc[0])
    if len(crawls) > 1:
        period += f" to {dated_label(crawls.iloc[-1])}, {content.mean_gap_days:.0f} days apart on average"
    assessed = content.frames["population"]["crawl"]
    described = (
        f" The numbers describe {count_noun(len(assessed), 'crawl')} of them, {escape(assessed.iloc[0])} to "
        f"{escape(assessed.iloc[-1])}."
        if 0 < len(assessed) < len(crawls)
        else ""
    )
    return (
        f"Basis: {count_noun(len(crawls), 'crawl')}{sizes}, {period}.{described} Selected model: "
        f"{escape(content.assessment.model or 'none')}."
    )


def _definitions(content: Content) -> str:
    """Define eligible, known eligible and crawl completeness."""
    noun = content.noun
    return (
        f"*Eligible* {noun}s are those that the crawler could have fetched at the time of a crawl, given its scope and "
        f"reach, whether or not it did. An ineligible {noun} may still exist, and an existing {noun} need not be "
        f"eligible: the numbers do not show how long {noun}s exist. *Known eligible* {noun}s are eligible and were "
        f"captured at least once so far; *crawl completeness* is the share of them that one crawl captures."
    )
