"""Format estimates, fits, statuses and dates for the labels and captions of figures.

Does not format plain numbers (`formatting`) or draw.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.fits import definition_of
from crawl_urn_dagster.figures.style import elements, is_narrow, line_characters, plain_text
from crawl_urn_dagster.formatting import count_noun, count_unit, format_interval, format_share
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, FitKind, Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawl_urn_dagster.estimates.fits.definition import AnyDefinition, FitDefinition
    from crawl_urn_dagster.urn.data.histories import IntArray

    #: A row of table `parameters` or `truth`.
    Row = dict[Any, Any]

_MODEL_NAMES = {"homogeneous": "homogeneous urn", "core_shell": "core–shell urn"}
_FORMS = {"exact": ", exact form", "paper": ", paper form (its κ is μ)"}
_YEARS_WITHOUT_DAYS = 3
#: For the end of a caption that contains estimates with intervals.
INTERVAL_NOTE = "Parentheses: 95 % confidence intervals."


def has_valid_parameters(row: Row) -> bool:
    """Return whether survival and coverage are in [0, 1]; those of an inverted tail may be outside or unknown."""
    return all(not pd.isna(row[name]) and 0 <= row[name] <= 1 for name in ("alpha", "coverage"))


def model_name(model: str) -> str:
    """Name a model; one that is registered from outside by its identifier."""
    return _MODEL_NAMES.get(model, model.replace("_", " "))


def fit_definition(row: Row) -> AnyDefinition | None:
    """Return the definition of the fit of a row of `parameters`; None if the fit is not registered."""
    return definition_of(FitKind(row["projection"], row["model"], row["form"], row["clock"]))


def fit_name(row: Row) -> str:
    """Name the fit of a row of `parameters` by its label in the registry, with its form if the model has several."""
    form = _FORMS.get(row["form"], f", form {row['form']}") if row["model"] == "core_shell" else ""
    return fit_label(row) + form


def fit_label(row: Row) -> str:
    """Name the fit of a row of `parameters` by its label in the registry, without its form."""
    if row["projection"] == "truth":
        return "truth of the simulation"
    definition = fit_definition(row)
    return f"fit of {row['projection']}".replace("_", " ") if definition is None else definition.label


def rows_of_fit(rows: pd.DataFrame, definition: FitDefinition) -> pd.DataFrame:
    """Return the rows of a fit of all elements, of the homogeneous urn or the shell, in a table of parameters."""
    is_fit = rows["projection"].eq(definition.projection) & rows["model"].eq(definition.model)
    is_shown = rows["form"].eq(definition.form) & rows["component"].ne("core") & rows["stratum"].isna()
    return rows[is_fit & is_shown]


def has_point_estimate(rows: pd.DataFrame, name: str) -> pd.Series:
    """Return whether rows of table `parameters` have a known and identified estimate of a parameter."""
    is_uninformative = [_interval(row, name).is_uninformative for row in rows.to_dict("records")]
    is_known = rows[name].notna() & ~rows["status"].isin(NO_POINT_ESTIMATE_STATUSES)
    return is_known & ~np.array(is_uninformative, dtype=bool)


def has_interval(row: Row, name: str) -> bool:
    """Return whether a row has an interval of a value that is wider than a point."""
    low, high = _interval(row, name)
    return not (pd.isna(low) or pd.isna(high) or low == high)


def _interval(row: Row, name: str) -> Interval:
    ends = (row.get(f"{name}_{end}") for end in ("low", "high"))
    return Interval(*(float("nan") if pd.isna(end) else float(end) for end in ends))


def _value_and_interval(row: Row, name: str, otherwise: Callable[[float], str]) -> list[str]:
    """Return a value, and its interval in parentheses if the row has one."""
    if not has_interval(row, name):
        return [otherwise(row[name])]
    value, *ends = format_interval(row[name], *_interval(row, name), otherwise)
    return [value, f"({'–'.join(ends)})"]


def with_interval(row: Row, name: str, otherwise: Callable[[float], str] = format_share) -> str:
    """Format a value and, if the row has one, its 95 % interval in parentheses.

    Parameters
    ----------
    row, name
        The value is ``row[name]``; its interval goes from ``row[f"{name}_low"]`` to ``row[f"{name}_high"]``.
    otherwise
        Formats a value without an interval.
    """
    return " ".join(_value_and_interval(row, name, otherwise))


def format_estimate(row: Row, name: str) -> str:
    """Format a parameter with its symbol and interval; empty if unknown, no point estimate if not identified."""
    if pd.isna(row.get(name)):
        return ""
    value, *interval = _value_and_interval(row, name, format_share)
    return " ".join(
        [SYMBOLS[name], "not identified" if _interval(row, name).is_uninformative else f"= {value}", *interval]
    )


def format_estimates(row: Row) -> str:
    """Format the known parameters of a fit or a truth on lines short enough for a legend."""
    most = line_characters() - (9 if is_narrow() else 2)  # in one column the legend's line samples take more of a line
    lines: list[str] = []
    for known in filter(None, (format_estimate(row, name) for name in SYMBOLS)):
        if lines and len(lines[-1]) + 4 + len(known) <= most:
            lines[-1] += f"    {known}"
        else:
            lines.append(known)
    return "\n".join(lines)


def describe_fit(row: Row) -> str:
    """Describe the result of a fit for a caption: its parameters, or its status if they are not reported."""
    if row["status"] in NO_POINT_ESTIMATE_STATUSES:
        return f"not reported ({row['status']})"
    known = ", ".join(filter(None, (format_estimate(row, name) for name in SYMBOLS)))
    return (known or "no estimate") + ("" if row["status"] == "ok" else f" (status {row['status']})")


def status_note(row: Row) -> str:
    """Format the status of a fit and its reason for a legend; empty for status ok without a reason.

    One column has no space for the reason.
    """
    reason = status_reason(row)
    if not reason or is_narrow():
        return "" if row["status"] == "ok" else str(row["status"])
    return wrap_label(f"{row['status']}: {reason}")


def status_reason(row: Row) -> str:
    """Return the reason of a status with the noun of the collection; empty without one."""
    if pd.isna(row.get("reason")):
        return ""
    return re.sub(r"\belements\b", elements(), plain_text(row["reason"], at_most=1000))


def wrap_label(text: str, columns: int = 1) -> str:
    """Break a text into at most three lines that fit a legend of that number of columns; the rest is cut off."""
    width = line_characters() // columns - 6
    return "\n".join(textwrap.wrap(text, width, break_on_hyphens=False, max_lines=3, placeholder=" …"))


def explain_symbols(*, has_core: bool, clock: str) -> str:
    """Explain the symbols of the parameters."""
    core, shell = ("κ core fraction of the urn, μ core share of a crawl, ", "shell ") if has_core else ("", "")
    return wrap_label(f"{core}α {shell}survival per {clock}, c {shell}coverage")


def element_unit(largest: float) -> tuple[float, str]:
    """Return the divisor and the name of the unit for counts of elements up to `largest`."""
    divisor, unit = count_unit(largest)
    return divisor, f"{unit}{elements()}"


def crawl_dates(crawls: pd.DataFrame) -> list[str]:
    """Format the start of each crawl: year and month in a long collection, with the day in a short one."""
    return list(crawls["started_at"].dt.strftime("%Y-%m" if spans_years(crawls) else "%Y-%m-%d"))


def spans_years(crawls: pd.DataFrame) -> bool:
    """Return whether the crawls span more than three years, so dates are written without days."""
    return bool(crawls["years"].max() - crawls["years"].min() > _YEARS_WITHOUT_DAYS)


def named_crawls(crawls: pd.DataFrame, *, at_most: int) -> tuple[IntArray, list[str], str]:
    """Select evenly spread crawls to label on an axis with one position per crawl.

    In a long collection these are the first crawls of years. The first crawl of the collection counts as the first of
    its year only if it started in January.

    Returns
    -------
    positions, labels
        Selected crawls, and their years or dates.
    note
        Explanation for the label of the axis.
    """
    positions = np.arange(len(crawls))
    years, labels, note = crawls["started_at"].dt.year, crawl_dates(crawls), ""
    if spans_years(crawls):
        is_first = (years != years.shift()).to_numpy() & ((positions > 0) | (crawls["started_at"].dt.month == 1))
        positions, labels, note = positions[is_first], list(years.astype(str)), "\nticks: first crawl of a year"
    ticks = positions[:: max(-(-len(positions) // at_most), 1)]
    return ticks, [labels[tick] for tick in ticks], note


def crawl_range(crawls: pd.DataFrame) -> str:
    """Format the number of crawls and the dates of the first and the last one."""
    first_and_last = dict.fromkeys(crawl_dates(crawls.iloc[[0, -1]]))
    return f"{count_noun(len(crawls), 'crawl')}, {' to '.join(first_and_last)}"
