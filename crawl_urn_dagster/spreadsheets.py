"""Guard the text cells of CSV files against spreadsheets, which compute cells that look like formulas.

Does not write files; see `export` and `estimates.elements.lookup`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_STARTS = r"^[=+@\t\r-]"
_NUMBER = r"[+-]?[0-9.]+"


def guard(cell: object) -> object:
    """Return a cell with an apostrophe before text that a spreadsheet would compute.

    Parameters
    ----------
    cell
        Value of any type. Text that is a number stays as it is.

    Examples
    --------
    >>> guard("=HYPERLINK(A1)"), guard("-12"), guard("a.org"), guard(None)
    ("'=HYPERLINK(A1)", '-12', 'a.org', None)
    """
    if isinstance(cell, str) and re.match(_STARTS, cell) and not re.fullmatch(_NUMBER, cell):
        return f"'{cell}"
    return cell


def guard_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table with guarded text cells.

    Parameters
    ----------
    rows
        Table of any columns.
    """
    guarded: pd.DataFrame = rows.apply(lambda column: column.map(guard) if column.dtype.kind == "O" else column)
    return guarded


def guarded_sql(column: str) -> str:
    """Return the SQL expression of a guarded text column.

    Parameters
    ----------
    column
        Quoted name of the column.
    """
    is_formula = f"regexp_matches({column}, '{_STARTS}') AND NOT regexp_full_match({column}, '{_NUMBER}')"
    return f"if({is_formula}, '''' || {column}, {column})"
