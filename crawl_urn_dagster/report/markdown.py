"""Format numbers, intervals, tables and text from data as Markdown.

Does not write sentences or pages; see `pages` and the modules of the sections.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.formatting import (
    NOT_IDENTIFIED,
    UNKNOWN,
    format_interval,
    format_number,
    format_p_value,
    format_percent,
)
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.blocks import Table
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, Interval, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    #: A row of a table.
    Row = Mapping[Any, Any]

_MARKUP = re.compile(r"[\\`*<>\[\]|&~#$]|(?<![^\W_])_|_(?![^\W_])")
_ROWS = 12


def escape(text: object) -> str:
    r"""Return text from data as one line of Markdown without markup, HTML or control characters.

    Examples
    --------
    >>> print(escape("<b>a|b</b>"))
    \<b\>a\|b\</b\>
    """
    line = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in str(text))
    return _MARKUP.sub(r"\\\g<0>", line)


def format_cell(value: object) -> str:
    """Return the value of a table cell as Markdown; numbers have four significant digits.

    Examples
    --------
    >>> [format_cell(value) for value in (0.123456, 12_000_000, None, True, pd.Timestamp("2020-01-17 04:00"))]
    ['0.1235', '12,000,000', '–', 'yes', '2020-01-17']
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return UNKNOWN
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return format_number(float(value))
    return f"{value:%Y-%m-%d}" if isinstance(value, pd.Timestamp) else escape(value)


def format_estimate(row: Row, name: str, *, share: bool = False) -> str:
    """Return an estimate with its interval for a table, such as ``0.40 (0.30 to 0.50)``.

    If the row's status allows no point estimate, or the interval of a share does not identify it, only the interval is
    given. An estimate that is unknown or not reported is a dash.

    Parameters
    ----------
    row
        Row with the columns ``<name>``, ``<name>_low`` and ``<name>_high``; it may have ``status``.
    name
        Name of the estimate.
    share
        Whether to format a share in percent.

    Examples
    --------
    >>> format_estimate({"kappa": 0.4, "kappa_low": 0.3, "kappa_high": 0.5}, "kappa", share=True)
    '40 % (30 to 50)'
    """
    if pd.isna(row[name]) or row.get("status") in UNREPORTED_STATUSES:
        return UNKNOWN
    has_point = row.get("status") not in NO_POINT_ESTIMATE_STATUSES
    point, ends = _format_parts(row, name, share=share)
    if not ends:
        return point if has_point else NOT_IDENTIFIED
    interval = " to ".join(ends)
    if (share or name in SYMBOLS) and Interval(row[f"{name}_low"], row[f"{name}_high"]).is_uninformative:
        return f"{NOT_IDENTIFIED} ({interval})"
    return f"{point} ({interval})" if has_point else f"{interval}{' %' if share else ''}"


def format_quantity(row: Row, name: str = "value") -> str:
    """Return the value of a row of table `quantities` with its interval, shares in percent.

    If the value is not reported, only the interval is given.

    Parameters
    ----------
    row
        Row of the table.
    name
        ``value``, or ``inner`` for the interval if the assumption holds, without the value.

    Examples
    --------
    >>> format_quantity({"unit": "fraction", "value": 0.4, "value_low": 0.35, "value_high": 0.44})
    '40 % (35 to 44)'
    """
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    value = row["value"] if name == "value" else None
    has_interval = not pd.isna(low)
    shown = {
        name: (low + high) / 2 if pd.isna(value) and has_interval else value,
        f"{name}_low": low,
        f"{name}_high": high,
        "status": Status.NOT_IDENTIFIED if pd.isna(value) else None,
    }
    return format_estimate(shown, name, share=row["unit"].startswith("fraction"))


def state_estimate(row: Row, name: str, of: str = "", *, share: bool = False, interval: str = "95 % CI") -> str:
    """Return an estimate with its interval for a sentence, such as ``40 % of the urn (95 % CI 30 % to 50 %)``.

    Parameters
    ----------
    row, name, share
        See `format_estimate`.
    of
        Words between the estimate and its interval.
    interval
        Type of the interval.

    Examples
    --------
    >>> state_estimate({"left": 3.1, "left_low": 2.6, "left_high": 3.4}, "left", "crawls")
    '3.1 crawls (95 % CI 2.6 to 3.4)'
    """
    point, ends = _format_parts(row, name, share=share)
    words = f" {of}" if of else ""
    if not ends:
        return f"{point}{words}"
    if share and Interval(row[f"{name}_low"], row[f"{name}_high"]).is_uninformative:
        point = "an unidentified share"
    percent = " %" if share else ""
    return f"{point}{words} ({interval} {f'{percent} to '.join(ends)}{percent})"


def _format_parts(row: Row, name: str, *, share: bool) -> tuple[str, list[str]]:
    """Return an estimate with its unit and the ends of its interval; an empty list if it has none."""
    value, low, high = (row[column] for column in (name, f"{name}_low", f"{name}_high"))
    scale, unit, write = (100, " %", format_percent) if share else (1, "", format_cell)
    if pd.isna(low):
        return f"{write(scale * value)}{unit}", []
    point, *ends = format_interval(scale * value, scale * low, scale * high, write)
    # An interval without a width (a parameter at its bound) is uninformative.
    is_degenerate = (share or name in SYMBOLS) and set(ends) == {point}
    return f"{point}{unit}", [] if is_degenerate else ends


def format_estimates(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a frame whose estimates in `columns` are text, as returned by `format_estimate`."""
    rows = frame.to_dict("records")
    return frame.assign(**{column: [format_estimate(row, column) for row in rows] for column in columns})


def captioned_table(
    caption: str,
    frame: pd.DataFrame,
    *,
    formatted: Sequence[str] = (),
    max_rows: int = _ROWS,
    source: str | None = None,
) -> Table:
    """Return a frame as a table of a page; a column ``reason`` without reasons is left out.

    Numbers of a column ``p_value`` are written as p-values.

    Parameters
    ----------
    caption
        Caption, as plain text.
    frame
        Rows of the table.
    formatted
        Columns that are Markdown already.
    max_rows, source
        Number of rows shown, and the table of the collection that has all of them; without `source` all are shown.
    """
    shown = frame if source is None else frame.head(max_rows)
    shown = shown.drop(
        columns=[column for column in shown.columns if column == "reason" and shown[column].isna().all()]
    )
    cells = pd.DataFrame(
        {
            column: list(shown[column]) if column in formatted else _cells(column, shown[column])
            for column in shown.columns
        },
        dtype=object,
    )
    cells.columns = [escape(column) for column in cells.columns]
    text = cells.to_markdown(index=False, disable_numparse=True)
    left_out = len(frame) - len(shown)
    if left_out:
        text += f"\n\n{left_out:,} more rows are in table `{source}`."
    return Table(caption, text, shown, tuple(formatted))


def _cells(column: str, values: pd.Series) -> list[str]:
    if column == "p_value":
        return [UNKNOWN if pd.isna(value) else format_p_value(float(value)) for value in values]
    return [format_cell(value) for value in values]
