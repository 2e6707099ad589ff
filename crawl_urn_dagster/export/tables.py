"""Tables of the contract as CSV and Parquet files.

Here: how a value of each type is written. Not here: columns (`observables.schema`), or statements (`sql/`).

Both formats hold capture histories as text of 0s and 1s. In CSV nothing is an absent value, a time is ISO 8601 in UTC,
and an infinite number is INF, as Table Schema has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawl_urn_dagster.observables.schema import TABLES

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
#: Formats of the files, which are also their suffixes.
FORMATS = tuple(_OPTIONS)

_WRITTEN = {
    "csv": {
        "BIT": "{0}::VARCHAR",
        "TIMESTAMP": "strftime({0}, '%Y-%m-%dT%H:%M:%S.%fZ')",
        "DOUBLE": "if(isinf({0}), if({0} > 0, 'INF', '-INF'), {0}::VARCHAR)",
    },
    "parquet": {"BIT": "{0}::VARCHAR"},
}


def write_tables(file: ObservablesFile, names: Sequence[str], folder: Path) -> None:
    """Write tables of the contract as ``<name>.csv`` and ``<name>.parquet``, rows in the order of the table.

    Raises
    ------
    MissingTableError
        When a table has not been written yet.
    """
    with file.reading_tables(names) as connection:
        for name in names:
            for file_format in FORMATS:
                columns = ", ".join(_column(column, file_format) for column in TABLES[name].columns)
                statement = f"COPY (FROM {TABLES[name].name} SELECT {columns}) TO $target ({_OPTIONS[file_format]})"
                connection.execute(statement, {"target": str(folder / f"{name}.{file_format}")})


def _column(column: Column, file_format: str) -> str:
    quoted = f'"{column.name}"'
    return f"{_WRITTEN[file_format].get(column.type, '{0}').format(quoted)} AS {quoted}"
