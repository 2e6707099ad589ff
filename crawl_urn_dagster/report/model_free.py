"""What can be told without an urn, and how good the data are.

Here: first returns and revisit delays, capture-recapture, gaps in the cadence, broken rules, revisions and counting
error. Not here: what an urn makes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.formatting import count_noun, replace_element_noun
from crawl_urn_dagster.observables.publications import revisions
from crawl_urn_dagster.observables.quality import IN_CALENDAR, SECONDS_PER_DAY
from crawl_urn_dagster.observables.revisions import FIRST_CONTENT
from crawl_urn_dagster.report.blocks import Block, Folded, Section, unfolded_if
from crawl_urn_dagster.report.markdown import number, table, with_limits

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content

_WORST_SHOWN = 5
_DATED_BY = {
    "table": "the source's table",
    "calendar": "the calendar",
    "label": "the labels of crawls",
    "iso_week": "the weeks that labels name",
    "first_capture": "the first capture of a crawl",
}
_REVISIONS_SHOWN = 20
# A gap of so many usual gaps has room for one crawl more.
_LONG = 1.5


def without_urn(content: Content) -> Section | None:
    """First returns, and for how long the crawler avoids what it fetched."""
    frames = content.frames
    delayed = (frames["revisit_regimes"]["delay_crawls"] > 0).any()
    returned = frames.get("first_returns", pd.DataFrame())
    if returned.empty and not delayed:
        return None
    blocks: list[Block] = []
    if len(returned):
        columns = ["lag_crawls", "fraction", "fraction_se", "n_starts"]
        shown = table(returned[columns], at_most=6, where="first_returns")
        blocks += [
            "The mean fraction of a crawl that is next seen after so many crawls, with its standard error. Under any "
            "urn whose coverage is constant in time it does not rise with the lag.",
            *unfolded_if(content.headline.withheld, "First returns", [shown]),
        ]
    if delayed:
        columns = ["first_crawl", "last_crawl", "delay_crawls", "lag_crawls", "fraction", "p_value"]
        regimes = with_limits(frames["revisit_regimes"], ["fraction"])[columns]
        fits = frames["parameters"].loc[lambda rows: rows["model"] == "revisit_delay"]
        names = ["alpha", "coverage", "revisit_coverage"]
        of_fits = [*columns[:3], *names, "residual_rms", "n_points", "status", "reason"]
        blocks += [
            "**The crawler avoids what it has fetched.** Fractions first seen again after one, two and three crawls, "
            "over runs of start crawls in which they do not change; the delay is the number of crawls for which it "
            "does.",
            table(regimes, written=["fraction"], where="revisit_regimes"),
            "Fits of model `revisit_delay` allow for it, and give coverage and survival, but no core.",
            table(with_limits(fits, names)[of_fits], written=names, where="parameters"),
        ]
    return Section("What can be told without an urn", blocks)


def comparators(content: Content) -> Section | None:
    """Capture-recapture of the same histories, and estimators of closed populations with their bias."""
    if "comparators" not in content.frames:
        return None
    models, closed = content.frames["capture_recapture"], content.frames["comparators"]
    said = {
        name: [replace_element_noun(text, content.noun) if isinstance(text, str) else text for text in closed[name]]
        for name in ("target", "unit", "bias", "reason")
    }
    closed = closed.assign(**said)
    return Section(
        "Other estimators, for comparison",
        [
            Folded(
                "Models of capture-recapture",
                [
                    "The same histories, by maximum likelihood. core_and_shell is the urn of this page; the other "
                    "models have no core of their own, so that it is in their numbers.",
                    table(
                        with_limits(models, ["estimate"])[["model", "parameter", "estimate", "status", "reason"]],
                        written=["estimate"],
                    ),
                    *content.shown("survival_and_coverage_by_crawl"),
                ],
            ),
            Folded(
                "Estimators of closed populations",
                [
                    "None of them holds in an urn that turns over: each is shown with what it estimates there instead, "
                    f"N being the {content.noun}s that are eligible at a time, M those in a crawl, K those of the "
                    "core, D the crawls between the two that are compared, α and c survival and coverage of the rest, "
                    "c̄ = 1 − c, ν∞ the unique rate in the long run. Limits are those that the estimator claims.",
                    table(
                        with_limits(closed, ["estimate"])[
                            ["estimator", "target", "unit", "estimate", "bias", "status", "reason"]
                        ],
                        written=["estimate"],
                    ),
                ],
            ),
        ],
    )


def data_quality(content: Content) -> Section:
    """Gaps, impossible counts, counting error and revisions."""
    blocks: list[Block] = [_cadence(content), *_broken(content), _counting(content), *_noticed(content)]
    found = content.frames["revisions"]
    if len(found):
        blocks += [
            f"The source changed {len(found):,} counts of the past when its content last changed:",
            table(found, at_most=_WORST_SHOWN, where="revisions"),
        ]
    elif FIRST_CONTENT in set(content.frames["findings"]["finding"]):
        blocks.append("The source was read for the first time: there is nothing earlier to compare its counts with.")
    else:
        blocks.append("The source changed no count of the past when its content last changed.")
    if "publications" in content.frames:
        blocks.append(render_revisions(content.frames["publications"]))
    return Section("Data quality", blocks)


def long_gaps(crawls: pd.DataFrame, usual_days: float) -> pd.DataFrame:
    """Gaps between crawls of table `crawls` with room for more crawls at the usual gap.

    Returns
    -------
    ``after``, ``before`` (the crawls on either side), ``days``, ``room_for`` (crawls that would fit between).
    """
    days = crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY
    gaps = pd.DataFrame({"after": crawls["crawl"].shift(), "before": crawls["crawl"], "days": days})
    gaps["room_for"] = (days / usual_days).round() - 1
    long: pd.DataFrame = gaps[days > _LONG * usual_days].astype({"room_for": "Int64"})
    return long


def _cadence(content: Content) -> str:
    crawls, expected = content.crawls, content.collection.automation.expect_every_days
    if len(crawls) == 1:
        return "There is one crawl, so no cadence."
    if len(crawls) == 2 and not expected:
        return f"The two crawls are {number(content.mean_gap_days)} days apart; one gap tells no cadence."
    days = crawls["started_at"].diff().dt.total_seconds() / SECONDS_PER_DAY
    usual = expected or float(days.median())
    named = "configured" if expected else "the median"
    said = (
        f"Crawls are {number(float(days.min()))} to {number(float(days.max()))} days apart; {named} is {number(usual)}."
    )
    gaps = long_gaps(crawls, usual)
    if gaps.empty:
        return f"{said} No crawl is missing from that cadence."
    return (
        f"{said} **There is room for {number(int(gaps['room_for'].sum()))} more crawls at that cadence**, in "
        f"{len(gaps)} gaps. Fits on clock `year` allow for them, those on clock `crawl` count each gap as one "
        "crawl.\n\n" + table(gaps.sort_values("days", ascending=False), at_most=_WORST_SHOWN, where="crawls")
    )


def _broken(content: Content) -> list[Block]:
    """Show what cannot be true before any number that follows from it, and which crawls the calendar lacks."""
    blocks: list[Block] = []
    for rule, rows in content.impossible.items():
        blocks += [
            f"**Broken: {rule}.** Rows: {len(rows)}; the worst:",
            table(rows.head(_WORST_SHOWN)),
        ]
    blocks = blocks or ["Calendar, unions and intersections are all within what is possible."]
    undated = content.broken_rules.get(IN_CALENDAR)
    if undated is not None:
        blocks += [
            f"**The calendar lacks {count_noun(len(undated), 'crawl')}**, dated by the week that the label names "
            "instead:",
            table(undated.head(_WORST_SHOWN)),
        ]
    return blocks


def _counting(content: Content) -> str:
    collection, dated = content.collection, content.crawls["dated_by"].value_counts()
    said = []
    if collection.source.relative_error:
        said.append(
            f"Counts are estimates of sketches, with a standard error of {100 * collection.source.relative_error:.2g} "
            "% each; an overlap is a difference of three."
        )
    if collection.sample_one_in > 1:
        said.append(
            f"Counts are estimates from a sample of one {content.noun} in {collection.sample_one_in}, the same ones."
        )
    said = said or [f"Every {content.noun} was counted: no sketch and no sample."]
    return (
        " ".join(said) + " Dates are from " + ", ".join(f"{_DATED_BY[str(by)]} ({n})" for by, n in dated.items()) + "."
    )


def _noticed(content: Content) -> list[Block]:
    """Say what reading the source left out; of what there was none nothing is said."""
    found = content.frames["findings"]
    found = found[~found["found"].isin(["0", "none"])]
    if found.empty:
        return []
    first = dict(zip(found["finding"], found["found"], strict=True))
    malformed = (
        f"**Of {int(first['lines']):,} lines {int(first['lines_malformed']):,} are malformed, and left out.** "
        if "lines_malformed" in first
        else ""
    )
    shown = found.assign(finding=found["finding"].str.replace("_", " "))[["finding", "found"]]
    return [f"{malformed}Noticed while the source was read:", table(shown, where="findings")]


def render_revisions(publications: pd.DataFrame) -> str:
    """Paragraph and table of what moved since it was first published, from table `publications`."""
    found = revisions(publications)
    if found.empty:
        return "No count has been revised since it was first read."
    last = found["first_read_at"].iloc[0]
    return (
        f"{len(found)} counts were revised since they were first read, {(found['first_read_at'] == last).sum()} of "
        f"them when last something had moved, on {last:%Y-%m-%d}. Everything on this page follows from what is "
        "published now. The last revisions, by the relative change:\n\n"
        + table(found, at_most=_REVISIONS_SHOWN, where="publications")
    )
