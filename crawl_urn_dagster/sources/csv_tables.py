"""Read small CSV tables of labels, dates and counts, with row numbers for error messages.

Does not read presence lists, which may be large; see `formats.presence_list`.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO, TypeVar

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.transport.text_files import open_text, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawl_urn_dagster.sources.input_files import LocalFile

_MAX_HEADER_CHARACTERS = 64 * 2**10
_NUMBER = re.compile(r"-?[0-9]{1,19}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?")
_MAX_COUNT = 2**63 - 1
_OTHER_SEPARATORS = ";\t|"

Key = TypeVar("Key", bound=tuple[str, ...])


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Attributes
    ----------
    where
        File and line, for messages.
    cells
        Text of each cell by canonical column name.
    """

    where: str
    cells: Mapping[str, str]


def read_header(local: LocalFile) -> list[str]:
    """Read the column names of a CSV file of any length."""
    with open_text(local) as stream:
        text = stream.read(_MAX_HEADER_CHARACTERS)
    return _parse_header(csv.reader(_open_lines(text)), local.input.location)


def _open_lines(text: str) -> TextIO:
    """Open text by lines as CSV defines them; `str.splitlines` also breaks at form feeds and Unicode separators."""
    return io.StringIO(text, newline="")


def _parse_header(reader: Iterator[list[str]], location: str) -> list[str]:
    header = next(reader, [])
    if not header:
        raise SourceError(f"{location}: is empty; expected CSV with a line of column names")
    return header


def find_column(header: Sequence[str], name: str, location: str, *, meaning: str) -> int:
    """Return the position of a column in a header; reject a name that does not occur, or occurs more than once.

    Messages name the file by `location` and the content of the column by `meaning`.
    """
    if header.count(name) == 1:
        return header.index(name)
    if name in header:
        raise SourceError(f"{location}: has {header.count(name)} columns {name!r}, expected one ({meaning})")
    separator = next((one for one in _OTHER_SEPARATORS if len(header) == 1 and one in header[0]), None)
    if separator:
        raise SourceError(f"{location}: its columns are separated by {separator!r}, expected ','; write it with commas")
    raise SourceError(f"{location}: has no column {name!r} ({meaning}); {format_options(name, header)}")


def read_rows(local: LocalFile, columns: Mapping[str, str] | None = None) -> tuple[list[str], list[Row]]:
    """Read a CSV table.

    Parameters
    ----------
    local
        UTF-8, comma-separated, with a header.
    columns
        Name in the file of each wanted column, by canonical name. None: every column, under its own name.

    Returns
    -------
    The header, and the rows with the wanted columns.

    Raises
    ------
    SourceError
        When the file is not CSV, lacks a column, or has a row whose length differs from the header's.
    """
    location = local.input.location
    reader = csv.reader(_open_lines(read_text(local)), strict=True)
    try:
        header = _parse_header(reader, location)
        wanted = columns if columns is not None else {name: name for name in header}
        positions = {name: find_column(header, in_file, location, meaning=name) for name, in_file in wanted.items()}
        rows = []
        for cells in reader:
            where = f"{location}, line {reader.line_num}"
            if cells and len(cells) != len(header):
                raise SourceError(f"{where}: has {len(cells)} cells, expected {len(header)}: {header}")
            if cells:
                rows.append(Row(where, {name: cells[at] for name, at in positions.items()}))
    except csv.Error as error:
        raise SourceError(f"{location}, line {reader.line_num}: is not CSV: {error}") from error
    return header, rows


def parse_count(row: Row, column: str, *, estimated: bool, negative: bool = False) -> int | None:
    """Parse a count; return None for ``nan``, which marks a count that is not published.

    Parameters
    ----------
    row, column
        Position of the count.
    estimated
        Whether counts are estimates, which may be fractional and are then rounded.
    negative
        Whether the count may be negative.

    Raises
    ------
    SourceError
        When the cell is not such a count, or does not fit into 64 bits.
    """
    text = row.cells[column].strip()
    if text.lower() == "nan":
        return None
    expected = f"a {'count' if negative else 'count of at least 0'}, or nan where it is not published"
    if not _NUMBER.fullmatch(text):
        raise SourceError(f"{row.where}, {column}: found {text!r}, expected {expected}")
    value = int(text) if text.lstrip("-").isdecimal() else float(text)
    if abs(value) > _MAX_COUNT or (value < 0 and not negative):
        raise SourceError(f"{row.where}, {column}: found {text}, expected {expected}")
    if value != round(value) and not estimated:
        raise SourceError(
            f"{row.where}, {column}: found {text}, expected a whole number; where counts are estimates, "
            "set relative_error"
        )
    return round(value)


def add_once(rows: dict[Key, Row], key: Key, row: Row) -> None:
    """Add a row under its key, and reject a key that is already present."""
    if key in rows:
        raise SourceError(
            f"{row.where}: {' to '.join(key)} occurs twice, first at {rows[key].where}; expected each once"
        )
    rows[key] = row
