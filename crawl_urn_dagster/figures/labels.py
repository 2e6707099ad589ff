"""Numbers, units, dates and statuses as the words of a figure and its caption.

Here: how a value with its interval, a count, a date or the status of a fit is written. Not here: where it is
drawn, or the rest of a caption.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.figures.style import elements, is_narrow, line_characters, plain_text
from crawl_urn_dagster.formatting import count_noun, count_unit, format_interval, format_share
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import UNSAID, Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    #: A row of table `parameters` or `truth`.
    Row = dict[Any, Any]

MODEL_NAMES = {"homogeneous": "homogeneous urn", "core_shell": "core and shell"}
#: Fits by model and projection, in the order of a legend.
FIT_NAMES = {
    ("homogeneous", "joint"): "joint fit of all pairs and windows",
    ("homogeneous", "containment"): "log-linear fit of containment",
    ("homogeneous", "discovery_curve"): "fit of the discovery curve",
    ("homogeneous", "discovery_tail"): "straight line through the discovery curve's tail, inverted",
    ("core_shell", "joint"): "joint fit of all pairs and windows",
    ("core_shell", "containment"): "fit of containment",
    ("core_shell", "discovery_curve"): "fit of the discovery curve",
    ("core_shell", "discovery_increments"): "fit of the discovery increments (consistency check only)",
    ("simulation", "truth"): "truth of the simulation",
}
_FORMS = {"exact": ", exact form", "paper": ", paper form (its κ is μ)"}
_YEARS_WITHOUT_DAYS = 3
#: For the end of a caption whose numbers have limits.
LIMITS_NOTE = "In brackets: 95 % limits."


def has_urn(row: Row) -> bool:
    """Whether the parameters are those of an urn: an inverted tail can lie outside [0, 1], or be unknown."""
    return all(not pd.isna(row[name]) and 0 <= row[name] <= 1 for name in ("alpha", "coverage"))


def fit_name(row: Row) -> str:
    """Name the fit of a row of `parameters`, with its form where forms differ."""
    form = _FORMS[row["form"]] if row["model"] == "core_shell" else ""
    return FIT_NAMES[row["model"], row["projection"]] + form


def estimate(row: Row, name: str) -> str:
    """Write a parameter with its symbol, and its 95 % limits where both are known; empty when unknown."""
    if pd.isna(row.get(name)):
        return ""
    written = with_limits(row, name)
    if _limits(row, name).is_open:
        return f"{SYMBOLS[name]} not identified {written[written.index('(') :]}"
    return f"{SYMBOLS[name]} = {written}"


def is_said(rows: pd.DataFrame, name: str) -> pd.Series:
    """Whether rows of table `parameters` have a parameter that may be drawn as a point: it is known and identified."""
    is_open = [_limits(row, name).is_open for row in rows.to_dict("records")]
    return rows[name].notna() & ~rows["status"].isin(UNSAID) & ~np.array(is_open, dtype=bool)


def _limits(row: Row, name: str) -> Interval:
    limits = (row.get(f"{name}_{end}") for end in ("low", "high"))
    return Interval(*(float("nan") if pd.isna(limit) else float(limit) for limit in limits))


def with_limits(row: Row, name: str, written: Callable[[float], str] = format_share) -> str:
    """Write a value of a row, and its 95 % limits in brackets where both are known and not the value itself.

    They have as many digits as the limits are apart by.
    """
    low, high = _limits(row, name)
    if pd.isna(low) or pd.isna(high) or low == high:
        return written(row[name])
    value, *limits = format_interval(row[name], low, high, written)
    return f"{value} ({'–'.join(limits)})"


def limits_note(words: str) -> str:
    """Explain the brackets of words that have any: counts that are no estimates have no limits."""
    return f" {LIMITS_NOTE}" if "(" in words else ""


def estimates(row: Row) -> str:
    """Write the known parameters of a fit or a truth, on lines short enough for a legend."""
    most = line_characters() - (9 if is_narrow() else 2)  # less of one column is left beside a line's sample
    lines: list[str] = []
    for known in filter(None, (estimate(row, name) for name in SYMBOLS)):
        if lines and len(lines[-1]) + 4 + len(known) <= most:
            lines[-1] += f"    {known}"
        else:
            lines.append(known)
    return "\n".join(lines)


def fit_in_words(row: Row) -> str:
    """Say what a fit gives, for a caption: its parameters, unless its status forbids them or leaves them open."""
    if row["status"] in UNSAID:
        return f"{row['status']}, no numbers"
    known = ", ".join(filter(None, (estimate(row, name) for name in SYMBOLS)))
    return (known or "no estimate") + ("" if row["status"] == "ok" else f" (status {row['status']})")


def status_note(row: Row) -> str:
    """Write the status of a fit, and why on lines short enough for a legend; empty when it is ok without reserve.

    One column has no room for why.
    """
    if pd.isna(row.get("reason")) or is_narrow():
        return "" if row["status"] == "ok" else str(row["status"])
    reason = re.sub(r"\belements\b", elements(), plain_text(row["reason"], at_most=1000))
    return wrapped(f"{row['status']}: {reason}")


def wrapped(words: str) -> str:
    """Break words into lines that fit a legend; what goes beyond three lines is cut off."""
    return "\n".join(textwrap.wrap(words, line_characters() - 6, break_on_hyphens=False, max_lines=3, placeholder=" …"))


def glossary(*, has_core: bool, clock: str) -> str:
    """Say what the symbols of the parameters mean."""
    core = "κ core's share of the urn, μ of a crawl; shell: " if has_core else ""
    return wrapped(f"{core}α survival per {clock}, c coverage of a crawl")


def scaled_unit(largest: float) -> tuple[float, str]:
    """Choose the unit of a count of elements: what to divide by, and the unit's name."""
    divisor, unit = count_unit(largest)
    return divisor, f"{unit}{elements()}"


def dates(crawls: pd.DataFrame) -> list[str]:
    """Start of each crawl as text: year and month over a long calendar, with the day over a short one."""
    return list(crawls["started_at"].dt.strftime("%Y-%m" if is_long(crawls) else "%Y-%m-%d"))


def is_long(crawls: pd.DataFrame) -> bool:
    """Whether the days of a calendar are of no interest."""
    return bool(crawls["years"].max() - crawls["years"].min() > _YEARS_WITHOUT_DAYS)


def span(crawls: pd.DataFrame) -> str:
    """Write how many crawls there are and from when to when."""
    first_and_last = dict.fromkeys(dates(crawls.iloc[[0, -1]]))
    return f"{count_noun(len(crawls), 'crawl')}, {' to '.join(first_and_last)}"
