"""Describe raw presence lists to DuckDB: CSV, JSON lines, Parquet, Feather, ORC, and Delta and Iceberg tables.

Does not choose columns or check rows; see `presence_list`.
"""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawl_urn_dagster.sources.csv_tables import find_column, read_header
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.transport.file_formats import (
    FEATHER,
    ORC,
    PARQUET,
    binary_format_of,
    compression_of,
    open_decompressed,
)
from crawl_urn_dagster.sources.transport.text_files import is_gzip, open_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from crawl_urn_dagster.sources.input_files import LocalFile

_LINES_SHOWN_TO_JSON = 1000
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT")


@dataclass(frozen=True)
class RawList:
    """A raw file as DuckDB reads it.

    Attributes
    ----------
    statement
        Name of the statement that converts it.
    header
        Names of its columns.
    texts
        SQL expression of each column as text.
    parameters
        Parameters of the statement.
    types
        Name of the type of each column.
    """

    statement: str
    header: list[str]
    texts: list[str]
    parameters: dict[str, Any] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)

    def text_of(self, name: str, location: str, *, meaning: str) -> str:
        """Return the SQL expression of a column as text, and reject a column of lists or records."""
        position = find_column(self.header, name, location, meaning=meaning)
        kind = self.types[position] if self.types else ""
        if kind.endswith("]") or kind.startswith(_NESTED):
            raise SourceError(
                f"{location}: column {name!r} has the type {kind[:80]}, expected text, bytes, numbers or dates "
                f"({meaning}); write one value per row"
            )
        return self.texts[position]


def describe_list(
    connection: duckdb.DuckDBPyConnection, local: LocalFile, scratch: Path, columns: Sequence[str] | None
) -> RawList:
    """Describe a raw file.

    Parameters
    ----------
    connection
        Where Arrow data are registered as ``raw``.
    local
        The file, or the folder of a Delta or Iceberg table.
    scratch
        Folder for a decompressed copy, or one in UTF-8.
    columns
        Names of the columns of a CSV file without header; None: it has one.

    Raises
    ------
    SourceError
        When the format is not supported.
    """
    if local.path.is_dir():
        from crawl_urn_dagster.sources.formats.table_folders import open_table

        return _describe_arrow(connection, open_table(local))
    if compression_of(local) not in {None, "gzip"}:
        local = _decompress(local, scratch)
    found = binary_format_of(local)
    if found == PARQUET:
        return _describe_parquet(connection, local)
    if found in {FEATHER, ORC}:
        import pyarrow.dataset

        return _describe_arrow(connection, pyarrow.dataset.dataset(local.path, format=found.lower()))
    with open_text(local) as stream:
        start, encoding = stream.read(1), stream.encoding
    if encoding == "utf-16":  # DuckDB only reads UTF-8, and takes the other bytes for text.
        local = _to_utf_8(local, scratch)
    if is_gzip(local):
        with open_decompressed(local) as content:
            while content.read(1 << 20):  # To the end, because DuckDB 1.5 accepts a truncated file.
                pass
    if start == "[" and columns is None:
        raise SourceError(f"{local.input.location}: is a JSON array, expected JSON lines: one object per line")
    if start == "{" and columns is None:
        return _describe_json(local)
    return _describe_csv(local, columns)


def _decompress(local: LocalFile, scratch: Path) -> LocalFile:
    path = scratch / "decompressed"
    with open_decompressed(local) as stream, path.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    return replace(local, path=path)


def _to_utf_8(local: LocalFile, scratch: Path) -> LocalFile:
    path = scratch / "utf-8"
    with open_text(local) as stream, path.open("w", encoding="utf-8", newline="") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    return replace(local, path=path)


def _describe_csv(local: LocalFile, columns: Sequence[str] | None) -> RawList:
    header = list(columns) if columns else read_header(local)
    if columns:
        _reject_header(local, header)
    # Columns are named by position, so no text of the file enters the statement.
    names = [f"column_{position}" for position in range(len(header))]
    # A line of a single column may contain commas and quotes; no text line contains the delimiter.
    is_single = columns is not None and len(header) == 1
    parameters = {
        "source": str(local.path),
        "columns": dict.fromkeys(names, "VARCHAR"),
        "compression": _duckdb_compression(local),
        "header": columns is None,
        "delimiter": "\x01" if is_single else ",",
        "quote": "" if is_single else '"',
    }
    # Concatenated files have a byte-order mark before a row.
    texts = [f"ltrim({name}, chr(65279))" for name in names]
    return RawList("convert_presence_csv", header, texts, parameters)


def _duckdb_compression(local: LocalFile) -> str:
    """Return the compression by the name that all versions of DuckDB know."""
    return "gzip" if is_gzip(local) else "uncompressed"


def _reject_header(local: LocalFile, columns: Sequence[str]) -> None:
    """Reject a file that has a header although its columns are configured: the header would be an element."""
    with open_text(local) as stream:
        first = next(csv.reader([stream.readline(2**16)]), [])
    if [cell.strip().casefold() for cell in first] == [name.casefold() for name in columns]:
        raise SourceError(f"{local.input.location}: starts with the header {first}; leave the setting columns out")


def _describe_json(local: LocalFile) -> RawList:
    """Describe JSON lines; their columns are the keys of the first lines."""
    keys: dict[str, None] = {}
    # DuckDB reports a line that is not an object.
    with open_text(local) as stream, suppress(ValueError, TypeError, RecursionError):
        for line in islice(stream, _LINES_SHOWN_TO_JSON):
            keys |= dict.fromkeys(json.loads(line if line.strip() else "{}"))
    header = list(keys)
    # Types are not converted, because a text such as 2024-01-01 must stay as it is written.
    texts = [
        f"CASE WHEN json_type({quote(name)}) IN ('ARRAY', 'OBJECT') "
        f"THEN error('a list or an object, expected text or a number') ELSE {quote(name)} ->> '$' END"
        for name in header
    ]
    parameters = {
        "source": str(local.path),
        "columns": dict.fromkeys(header, "JSON"),
        "compression": _duckdb_compression(local),
    }
    return RawList("convert_presence_json", header, texts, parameters)


def _describe_parquet(connection: duckdb.DuckDBPyConnection, local: LocalFile) -> RawList:
    # The columns of the file itself, without those of a partitioned path.
    query = "DESCRIBE SELECT * FROM read_parquet($source, binary_as_string = true, hive_partitioning = false)"
    parameters = {"source": str(local.path)}
    header, texts, types = _columns(connection.execute(query, parameters).fetchall())
    return RawList("convert_presence_parquet", header, texts, parameters, types)


def _describe_arrow(connection: duckdb.DuckDBPyConnection, data: Any) -> RawList:
    connection.register("raw", data.schema.empty_table())
    header, texts, types = _columns(connection.execute("DESCRIBE SELECT * FROM raw").fetchall())
    connection.register("raw", data)
    return RawList("convert_presence_arrow", header, texts, {}, types)


def _columns(described: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[str], list[str]]:
    """Return the names, the expressions as text and the types of described columns."""
    header, types = [row[0] for row in described], [row[1] for row in described]
    return header, [_as_text(quote(name), kind) for name, kind in zip(header, types, strict=True)], types


def _as_text(column: str, kind: str) -> str:
    if kind == "TIMESTAMP WITH TIME ZONE":
        # In UTC: a cast to text would use the time zone of the machine.
        return f"make_timestamp(epoch_us({column}))::VARCHAR"
    return f"decode({column})" if kind == "BLOB" else f"{column}::VARCHAR"


def quote(identifier: str) -> str:
    """Quote an identifier that DuckDB found in a file; identifiers cannot be bound as parameters."""
    return '"' + identifier.replace('"', '""') + '"'
