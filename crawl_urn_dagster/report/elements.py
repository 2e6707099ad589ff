"""Report section on single elements: the lists to act on, with their expected yield, and how well they are predicted.

Does not select elements; see `estimates.elements`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.elements.assessment import read_prediction_assessment
from crawl_urn_dagster.estimates.elements.list_summary import (
    USES,
    YIELDS,
    ListSummary,
    state_calibration,
    state_returns,
    summarise_lists,
)
from crawl_urn_dagster.formatting import UNKNOWN, count_noun
from crawl_urn_dagster.report.blocks import Block, Callout, Folded, Section, Table
from crawl_urn_dagster.report.markdown import captioned_table, escape, format_cell
from crawl_urn_dagster.urn import Status

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content

_ROWS = 10
_FOLDED = tuple(name for name in USES if name != "reseed")
_NAMED = 3
_LEAST_SHOWN = 0.005
_FACTS = {"last_crawl": "last crawl", "captures": "captures", "absent_crawls": "crawls absent"}
_CHANCES = {
    "p_eligible": "P(eligible)",
    "p_captured_within_6": "P(captured within 6 crawls)",
    "p_expected": "P(captured by the last crawl)",
}
# Probability that is shown besides the state and the coming captures.
_SHOWN = {"lost_in_last_crawl": ("p_expected", "p_captured_within_6")}


def elements_section(content: Content) -> Section | None:
    """Return the section; None if the collection has no capture histories."""
    if "element_scores" not in content.frames:
        return None
    scores = content.frames["element_scores"]
    assessment = read_prediction_assessment(scores)
    blocks: list[Block] = []
    if assessment.reason is not None:
        is_qualified = assessment.status is Status.QUALIFIED
        blocks.append(Callout("warning" if is_qualified else "bad", content.escape(assessment.reason.sentence)))
    if len(content.frames["reseed"]):
        blocks.append(_rows(content, "reseed"))
    blocks += _lists(content)
    tests = [text for text in (state_calibration(scores), state_returns(scores)) if text is not None]
    blocks += [content.escape(text) for text in tests]
    blocks += content.figures("element_reliability")
    blocks += [Folded(f"{name}: first rows", [_rows(content, name)]) for name in _FOLDED if len(content.frames[name])]
    if not content.collection.keep_elements:
        blocks.append(
            f"The {content.noun}s have keys and no names, because `keep_elements` is off. `crawl-urn elements --list` "
            "shows the state of the elements in a list."
        )
    return Section("Which elements", blocks, _answer(content))


def _answer(content: Content) -> str:
    """Answer which elements to seed again, and how sure that is."""
    reseed, noun = content.frames["reseed"], content.noun
    summary = summarise_lists(content.frames)["reseed"]
    if summary.reason is not None:
        return f"No {noun} is proposed to be seeded again. {content.escape(summary.reason)}"
    rows = reseed.head(_ROWS)
    chances = rows["p_eligible"]
    text = (
        f"Seed again: {_counted(summary, noun)} that the last crawl missed, of which "
        f"**{format_cell(round(summary.expected_yield))}** are expected to be eligible. The first {len(rows)}"
    )
    if rows["element"].notna().all():
        named = ", ".join(escape(one) for one in rows["element"].head(_NAMED))
        text += f" ({named}{', …' if len(rows) > _NAMED else ''})"
    soon = rows["p_captured_within_6"]
    status = read_prediction_assessment(content.frames["element_scores"]).status
    doubt = " The probability of being eligible depends on the model." if status is Status.QUALIFIED else ""
    return (
        f"{text} are eligible with a probability of {_range(chances)} each, and are captured within 6 crawls with a "
        f"probability of {_range(soon)}.{doubt}"
    )


def _counted(summary: ListSummary, noun: str) -> str:
    """Return the number of elements of a list, and that it is the first part of a longer one."""
    if summary.rows == summary.qualifying:
        return count_noun(summary.rows, noun)
    return f"the first {summary.rows:,} of {summary.qualifying:,} {noun}s"


def _range(values: pd.Series[float]) -> str:
    low, high = (f"{value:.2f}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _chance(value: float) -> str:
    """Return a probability with two decimals, the precision that the tests of the predictions support."""
    return "< 0.01" if value < _LEAST_SHOWN else f"{value:.2f}"


def _lists(content: Content) -> list[Block]:
    """Return the table of the lists."""
    summaries = summarise_lists(content.frames)
    rows = [
        {
            "list": f"`{name}`",
            "use": USES[name],
            f"{content.noun}s": summary.counted,
            "expected": UNKNOWN if summary.reason else format_cell(summary.expected_yield),
            "of them": content.escape(summary.reason or YIELDS[name]),
        }
        for name, summary in summaries.items()
    ]
    counted = [f"{content.noun}s", "expected"]
    table = captioned_table("Lists to act on", pd.DataFrame(rows), formatted=["list", *counted, "of them"])
    note = "Each list is a table, and `export/<list>.csv`."
    if any(summary.rows < summary.qualifying for summary in summaries.values()):
        note += " Setting `elements.list_rows` ends a list early; the table above has the number that qualify."
    return [table, note]


def _rows(content: Content, name: str) -> Table:
    """Return the first rows of a list."""
    table = content.frames[name]
    named = "element" if table["element"].notna().any() else "key"
    chances = _SHOWN.get(name, ("p_eligible", "p_captured_within_6"))
    columns = {named: content.noun if named == "element" else "key", **_FACTS}
    columns |= {column: _CHANCES[column] for column in chances}
    shown = table[list(columns)].rename(columns=columns)
    if named == "key":
        shown["key"] = shown["key"].astype(str)
    titles = [_CHANCES[column] for column in chances]
    shown = shown.assign(**{title: [_chance(value) for value in shown[title]] for title in titles})
    first = f", the most probably eligible {content.noun}s first" if name == "reseed" else ""
    return captioned_table(f"{name}: {USES[name]}{first}", shown, max_rows=_ROWS, source=name)
