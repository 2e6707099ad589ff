"""Report section on data quality: cadence, violated rules, counting error, findings and revisions.

Does not test the rules; see `observables.quality`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.observables.publications import revisions
from crawl_urn_dagster.observables.quality import IN_CALENDAR, SECONDS_PER_DAY, long_gaps
from crawl_urn_dagster.observables.revisions import FIRST_CONTENT
from crawl_urn_dagster.report.blocks import Block, Section
from crawl_urn_dagster.report.markdown import captioned_table, format_cell

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.report.content import Content

_ROWS_SHOWN, _REVISIONS_SHOWN = 5, 20
_DATE_SOURCES = {
    "table": "the source's table",
    "calendar": "the calendar",
    "label": "the labels of crawls",
    "iso_week": "the weeks in the labels",
    "first_capture": "the first capture of a crawl",
}


def data_quality_section(content: Content) -> Section:
    """Return cadence, violated rules, counting error, findings and revisions."""
    blocks = [*_cadence(content), _counting(content), *_findings(content), *_revisions(content)]
    rules = _violations(content)
    # A rule that rows violate is shown before any number that follows from them.
    if content.violated_rules:
        return Section("Data quality", [*rules, *blocks])
    return Section("Data quality", [*blocks, *rules[1:]], str(rules[0]))


def _cadence(content: Content) -> list[Block]:
    crawls, expected = content.crawls, content.collection.automation.expect_every_days
    if len(crawls) == 1:
        return ["The collection has one crawl, so its cadence is unknown."]
    if len(crawls) == 2 and not expected:
        return [f"The two crawls are {format_cell(content.mean_gap_days)} days apart; one gap does not show a cadence."]
    days = crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY
    usual = expected or float(days.median())
    if not usual:
        return ["Most crawls start at the same time as the one before, so the cadence is unknown."]
    shortest, longest, typical = (format_cell(float(value)) for value in (days.min(), days.max(), usual))
    origin = "the configured gap" if expected else "the median"
    text = f"Crawls are {shortest} to {longest} days apart; {origin} is {typical} days."
    gaps = long_gaps(crawls, usual)
    if gaps.empty:
        return [f"{text} No crawl is missing from that cadence."]
    text = (
        f"{text} **At that cadence, {format_cell(int(gaps['room_for'].sum()))} more crawls would fit** into "
        f"{count_noun(len(gaps), 'gap')}. Fits on clock `year` account for long gaps; fits on clock `crawl` count each "
        "gap as one crawl."
    )
    longest_first = gaps.sort_values("days", ascending=False)
    return [text, captioned_table("Long gaps between crawls", longest_first, max_rows=_ROWS_SHOWN, source="crawls")]


def _violations(content: Content) -> list[Block]:
    """Return rows that violate a rule before any number that follows from them, and crawls missing in the calendar."""
    blocks: list[Block] = []
    for rule, rows in content.violated_rules.items():
        text = f"**Violated rule: {rule}.** {count_noun(len(rows), 'row')}; the most extreme:"
        blocks += [text, captioned_table(f"Rows that violate the rule: {rule}", rows.head(_ROWS_SHOWN))]
    blocks = blocks or ["The dates that are known and all unions and intersections satisfy the consistency rules."]
    undated = content.broken_rules.get(IN_CALENDAR)
    if undated is not None:
        crawls = count_noun(len(undated), "crawl")
        text = f"**The calendar lacks {crawls}**; the week in the label is used as the date instead:"
        blocks += [text, captioned_table("Crawls that the calendar lacks", undated.head(_ROWS_SHOWN))]
    return blocks


def _counting(content: Content) -> str:
    collection, noun = content.collection, content.noun
    sentences = []
    if collection.source.relative_error:
        sentences.append(
            "Counts are estimates from sketches, each with a standard error of "
            f"{100 * collection.source.relative_error:.2g} %; an overlap is computed from three counts."
        )
    if collection.sample_one_in > 1:
        sentences.append(
            f"Counts are estimates from a sample of one {noun} in {collection.sample_one_in}; every crawl has the same "
            "sample."
        )
    sentences = sentences or [f"Every {noun} was counted; no sketch or sample was used."]
    dated = content.crawls["dated_by"].value_counts()
    origins = ", ".join(f"{_DATE_SOURCES[str(origin)]} ({n})" for origin, n in dated.items())
    return f"{' '.join(sentences)} Dates come from {origins}."


def _findings(content: Content) -> list[Block]:
    """Return what was found while reading the source; findings of nothing are left out."""
    if "findings" not in content.frames:  # crawls in memory
        return []
    found = content.frames["findings"]
    found = found[~found["found"].isin(["0", "none"])]
    if found.empty:
        return []
    first = dict(zip(found["finding"], found["found"], strict=True))
    malformed = (
        f"**{int(first['lines_malformed']):,} of {int(first['lines']):,} lines are malformed and were skipped.**"
        if "lines_malformed" in first
        else ""
    )
    shown = found.assign(finding=found["finding"].str.replace("_", " "))[["finding", "found"]]
    table = captioned_table("Findings while reading the source", shown, source="findings")
    return [malformed, table] if malformed else [table]


def _revisions(content: Content) -> list[Block]:
    if "revisions" not in content.frames:  # crawls in memory
        return []
    found = content.frames["revisions"]
    blocks: list[Block] = []
    if len(found):
        blocks += [
            f"The last update of the source changed {count_noun(len(found), 'earlier count')}:",
            captioned_table("Changed counts", found, max_rows=_ROWS_SHOWN, source="revisions"),
        ]
    elif FIRST_CONTENT in set(content.frames["findings"]["finding"]):
        blocks.append("The source was read for the first time, so its counts cannot be compared with earlier ones.")
    else:
        blocks.append("The last update of the source changed no earlier count.")
    if "publications" in content.frames:
        blocks += revised_counts(content.frames["publications"])
    return blocks


def revised_counts(publications: pd.DataFrame) -> list[Block]:
    """Return a paragraph and a table of the counts that changed since they were first published.

    Parameters
    ----------
    publications
        Table `publications`.
    """
    found = revisions(publications)
    if found.empty:
        return ["No count has been revised since it was first read."]
    last = found["first_read_at"].iloc[0]
    text = (
        f"{count_noun(len(found), 'count')} were revised since they were first read, "
        f"{(found['first_read_at'] == last).sum()} of them at the last revision on {last:%Y-%m-%d}. This page uses the "
        "counts as published now."
    )
    caption = "Latest revisions, by relative change"
    return [text, captioned_table(caption, found, max_rows=_REVISIONS_SHOWN, source="publications")]
