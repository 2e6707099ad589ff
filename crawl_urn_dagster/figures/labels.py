"""Numbers, units, dates and statuses as a figure's words.

Here: how a value with its interval, a count, a date or the status of a fit is written. Not here: where it is
drawn.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawl_urn_dagster.figures.style import plain_text

if TYPE_CHECKING:
    #: A row of table `parameters` or `truth`.
    Row = dict[Any, Any]

MODEL_NAMES = {"homogeneous": "homogeneous urn", "core_shell": "core and shell"}
#: Fits by model and projection, in the order of a legend.
FIT_NAMES = {
    ("homogeneous", "containment"): "log-linear fit of containment",
    ("homogeneous", "discovery_curve"): "fit of the discovery curve",
    ("homogeneous", "discovery_tail"): "straight line through the discovery curve's tail, inverted",
    ("core_shell", "containment"): "fit of containment",
    ("core_shell", "discovery_curve"): "fit of the discovery curve",
    ("core_shell", "discovery_increments"): "fit of the discovery increments (consistency check only)",
    ("simulation", "truth"): "truth of the simulation",
}
_FORMS = {"exact": ", exact form", "paper": ", paper form (its κ is μ)"}
_SYMBOLS = {"kappa": "κ", "core_share": "μ", "alpha": "α", "coverage": "c"}
_UNITS = ((1e9, "billion elements"), (1e6, "million elements"), (1e3, "thousand elements"))
_YEARS_WITHOUT_DAYS = 3
_LINE_CHARACTERS = 110


def has_urn(row: Row) -> bool:
    """Whether the parameters are those of an urn: an inverted tail can lie outside [0, 1], or be unknown."""
    return all(not pd.isna(row[name]) and 0 <= row[name] <= 1 for name in ("alpha", "coverage"))


def fit_name(row: Row) -> str:
    """Name the fit of a row of `parameters`, with its form where forms differ."""
    form = _FORMS[row["form"]] if row["model"] == "core_shell" else ""
    return FIT_NAMES[row["model"], row["projection"]] + form


def number(value: float) -> str:
    """Write a share with three decimals, or as many more (to six) as tell it from 0 and 1."""
    for decimals in range(3, 6):
        text = f"{value:.{decimals}f}"
        if float(text) not in (0, 1) or value in (0, 1):
            return text
    return f"{value:.6f}"


def estimate(row: Row, name: str) -> str:
    """Write a parameter with its symbol, and its 95 % limits where both are known; empty when unknown."""
    if pd.isna(row.get(name)):
        return ""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    limits = "" if pd.isna(low) or pd.isna(high) else f" ({number(low)}–{number(high)})"
    return f"{_SYMBOLS[name]} = {number(row[name])}{limits}"


def estimates(row: Row) -> str:
    """Write the known parameters of a fit or a truth."""
    return "    ".join(filter(None, (estimate(row, name) for name in _SYMBOLS)))


def status_note(row: Row) -> str:
    """Write the status of a fit, and why on lines short enough for a legend; empty when it is ok."""
    if row["status"] == "ok":
        return ""
    if pd.isna(row["reason"]):
        return str(row["status"])
    return wrapped(f"{row['status']}: {plain_text(row['reason'], at_most=1000)}")


def wrapped(words: str) -> str:
    """Break words into lines that fit the width of a figure; what goes beyond three lines is cut off."""
    return "\n".join(textwrap.wrap(words, _LINE_CHARACTERS, max_lines=3, placeholder=" …"))


def glossary(*, has_core: bool, clock: str) -> str:
    """Say what the symbols of the parameters mean."""
    core = "κ core's share of the urn, μ core's share of a crawl; of the shell: " if has_core else ""
    return f"{core}α survival per {clock}, c coverage of a crawl"


def counted(n: int, noun: str) -> str:
    """Write a number of things, ``1,326 pairs``; the noun is given in the singular and takes an s."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def scaled_unit(largest: float) -> tuple[float, str]:
    """Choose the unit of a count of elements: what to divide by, and the unit's name."""
    return next((unit for unit in _UNITS if largest >= unit[0]), (1.0, "elements"))


def dates(crawls: pd.DataFrame) -> list[str]:
    """Start of each crawl as text: year and month over a long calendar, with the day over a short one."""
    long_span = crawls["years"].max() - crawls["years"].min() > _YEARS_WITHOUT_DAYS
    return list(crawls["started_at"].dt.strftime("%Y-%m" if long_span else "%Y-%m-%d"))


def span(crawls: pd.DataFrame) -> str:
    """Write how many crawls there are and from when to when."""
    first_and_last = dict.fromkeys(dates(crawls.iloc[[0, -1]]))
    return f"{counted(len(crawls), 'crawl')}, {' to '.join(first_and_last)}"
