"""The one loader of the package's SQL: every statement is a named file.

Here: finding and reading `sql/<name>.sql`. Not here: statements themselves, or running them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def load_statement(name: str) -> str:
    """Text of a named statement.

    A wheel carries the statements as ``crawl_urn_dagster/sql/``; in an editable install they stay in ``sql/``
    beside the package.

    Raises
    ------
    FileNotFoundError
        When there is no statement of that name.
    """
    packaged = _PACKAGE / "sql"
    folder = packaged if packaged.is_dir() else _PACKAGE.parent / "sql"
    return (folder / f"{name}.sql").read_text(encoding="utf-8")
