"""Numbers and text from data as Markdown.

Here: how a number, its interval, a share or a table is written, and text that comes from data made harmless. Not here:
what a page says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.formatting import NOT_IDENTIFIED, UNKNOWN, format_interval, format_number, format_percent
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.urn import UNSAID, WITHHELD, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    #: A row of a table of the contract.
    Row = Mapping[Any, Any]

_MARKUP = re.compile(r"[\\`*<>\[\]|&~#$]|(?<![^\W_])_|_(?![^\W_])")
_ROWS = 12


def escape(text: object) -> str:
    """Text from data as Markdown that shows it, on one line: no markup, no HTML, no control character."""
    line = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in str(text))
    return _MARKUP.sub(r"\\\g<0>", line)


def number(value: object) -> str:
    """Write a number: four significant digits, all before the point, infinity as ∞, unknown as a dash."""
    if value is None or value is pd.NA or value is pd.NaT:
        return UNKNOWN
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return format_number(float(value))
    return f"{value:%Y-%m-%d}" if isinstance(value, pd.Timestamp) else escape(value)


def estimate(row: Row, name: str, *, share: bool = False) -> str:
    """Write a number of a row with its 95 % limits; a dash where it is unknown, or the row's status withholds it.

    As many digits are written as the limits are apart by. Of a fit that is not identified, and of a share that its
    limits leave open, no number is written but the limits.

    Parameters
    ----------
    row
        Has the columns ``<name>``, ``<name>_low``, ``<name>_high``, and may have ``status``.
    name
        The number.
    share
        Write it in percent.
    """
    value, low, high = (row[column] for column in (name, f"{name}_low", f"{name}_high"))
    if pd.isna(value) or row.get("status") in WITHHELD:
        return UNKNOWN
    scale, unit, write = (100, " %", format_percent) if share else (1, "", number)
    is_said = row.get("status") not in UNSAID
    if pd.isna(low):
        return f"{write(scale * value)}{unit}" if is_said else NOT_IDENTIFIED
    told, *limits = format_interval(scale * value, scale * low, scale * high, write)
    within = " to ".join(limits)
    if (share or name in SYMBOLS) and Interval(low, high).is_open:
        return f"{NOT_IDENTIFIED} ({within})"
    return f"{told}{unit} ({within})" if is_said else f"{within}{unit}"


def with_limits(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Numbers of a frame as text, as of `estimate`."""
    rows = frame.to_dict("records")
    return frame.assign(**{column: [estimate(row, column) for row in rows] for column in columns})


def table(frame: pd.DataFrame, *, written: Sequence[str] = (), at_most: int = _ROWS, where: str | None = None) -> str:
    """Markdown table of a frame; a column of reasons that has none is left out.

    Parameters
    ----------
    written
        Columns that are Markdown already.
    at_most, where
        Rows that are shown, and the table of the contract that holds them all; without it all are shown.
    """
    shown = frame if where is None else frame.head(at_most)
    shown = shown.drop(
        columns=[column for column in shown.columns if column == "reason" and shown[column].isna().all()]
    )
    cells = pd.DataFrame(
        {
            column: list(shown[column]) if column in written else [number(value) for value in shown[column]]
            for column in shown.columns
        },
        dtype=object,
    )
    text = cells.to_markdown(index=False, disable_numparse=True)
    left_out = len(frame) - len(shown)
    return text if not left_out else f"{text}\n\n{left_out:,} more rows are in table `{where}`."
