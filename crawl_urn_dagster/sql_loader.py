"""Load SQL statements from the folder `sql`, and quote text for statements that are composed.

Contains no statements and does not run them; statements of one line stand in the modules that use them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def load_statement(name: str) -> str:
    """Return the text of a statement.

    A wheel contains the statements as ``crawl_urn_dagster/sql/``. In an editable install they stay in ``sql/`` next to
    the package.

    Parameters
    ----------
    name
        Path of the file below ``sql``, without its ending, such as ``observables/m_array``.

    Raises
    ------
    FileNotFoundError
        If there is no statement of that name.

    Examples
    --------
    >>> load_statement("observables/m_array").splitlines()[-1]
    'ORDER BY recaptured_index IS NULL, cells.released_index, recaptured_index;'
    """
    packaged = _PACKAGE / "sql"
    folder = packaged if packaged.is_dir() else _PACKAGE.parent / "sql"
    return (folder / f"{name}.sql").read_text(encoding="utf-8")


def quote_literal(text: str) -> str:
    """Return a text as a literal of SQL, for statements that take no parameters; only a quote ends a literal.

    Examples
    --------
    >>> quote_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
