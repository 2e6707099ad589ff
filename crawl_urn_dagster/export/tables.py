"""Write the tables of a collection as CSV and Parquet files.

Does not define columns; see `observables.schema`. Both formats contain capture histories as text of 0s and 1s. In CSV,
a missing value is empty, a time is ISO 8601 in UTC, and an infinite number is INF, as Table Schema requires. Text that
a spreadsheet would compute has an apostrophe before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.spreadsheets import guarded_sql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawl_urn_dagster.observables.database import ObservablesFile
    from crawl_urn_dagster.observables.schema import Column

# DuckDB's options by format of the files, which is also their suffix.
_OPTIONS = {
    "csv": "FORMAT csv, HEADER true, NULLSTR '', USE_TMP_FILE false",
    "parquet": "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false",
}
#: File formats, which are also the file suffixes.
FORMATS = tuple(_OPTIONS)

_EXPRESSIONS = {
    "csv": {
        "BIT": "{0}::VARCHAR",
        "TIMESTAMP": "strftime({0}, '%Y-%m-%dT%H:%M:%S.%fZ')",
        "VARCHAR": guarded_sql("{0}"),
        "DOUBLE": "if(isinf({0}), if({0} > 0, 'INF', '-INF'), {0}::VARCHAR)",
    },
    "parquet": {"BIT": "{0}::VARCHAR"},
}


def write_tables(file: ObservablesFile, names: Sequence[str], folder: Path) -> None:
    """Write each table as ``<name>.csv`` and ``<name>.parquet``, with its rows in the order of the table.

    Parameters
    ----------
    file
        DuckDB file of the collection.
    names
        Names of the tables, in `observables.schema.TABLES`.
    folder
        Existing folder to write to.

    Raises
    ------
    MissingTableError
        If a table has not been written yet.
    """
    with file.reading_tables(names) as connection:
        for name in names:
            for file_format in FORMATS:
                columns = ", ".join(_column(column, file_format) for column in TABLES[name].columns)
                statement = f"COPY (FROM {TABLES[name].name} SELECT {columns}) TO $target ({_OPTIONS[file_format]})"
                connection.execute(statement, {"target": str(folder / f"{name}.{file_format}")})


def _column(column: Column, file_format: str) -> str:
    quoted = f'"{column.name}"'
    return f"{_EXPRESSIONS[file_format].get(column.type, '{0}').format(quoted)} AS {quoted}"
