"""Small tables of counts as text: rows, numbers, and what is said when they are wrong.

Here: reading CSV that others wrote, gzip-compressed or not, with every cell still text. Not here: which
columns a format has (one module each), dates (`calendar`), or presence lists, which may be large
(`presence_list`).
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO, TypeVar

from crawl_urn_dagster.sources.inputs import GZIP_MAGIC, SourceError, listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pandas as pd

    from crawl_urn_dagster.sources.transport.files import LocalFile

PAIR_COLUMNS = ("crawl_i", "crawl_j", "size_i", "size_j", "intersection")
MAX_TABLE_CHARACTERS = 64 * 2**20
_MAX_HEADER_CHARACTERS = 64 * 2**10
_NUMBER = re.compile(r"-?[0-9]{1,19}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?")
_MAX_COUNT = 2**63 - 1
_OTHER_SEPARATORS = ";\t|"

Key = TypeVar("Key", bound=tuple[str, ...])


@dataclass(frozen=True)
class Row:
    """One row of a table: where it is (for messages), and its cells by canonical column name."""

    where: str
    cells: Mapping[str, str]


def is_gzip(local: LocalFile) -> bool:
    """Whether a file is gzip-compressed, by its first bytes: an address need not end in ``.gz``."""
    with local.path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC


@contextmanager
def open_text(local: LocalFile) -> Iterator[TextIO]:
    """Open a file as UTF-8 text, decompressed, without a byte-order mark, line ends as they are.

    Raises
    ------
    SourceError
        When it is read and turns out to be broken or not text.
    """
    location = local.input.location
    try:
        with _open(local) as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise SourceError(f"{location}: is not UTF-8 text: {error}; expected CSV or JSON in UTF-8") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SourceError(f"{location}: is damaged gzip: {error}; get the file again") from error


def _open(local: LocalFile) -> TextIO:
    if is_gzip(local):
        return gzip.open(local.path, "rt", encoding="utf-8-sig", newline="")
    return local.path.open(encoding="utf-8-sig", newline="")


def read_text(local: LocalFile) -> str:
    """Read a whole text file of at most `MAX_TABLE_CHARACTERS` characters."""
    with open_text(local) as stream:
        text = stream.read(MAX_TABLE_CHARACTERS + 1)
    if len(text) > MAX_TABLE_CHARACTERS:
        raise SourceError(
            f"{local.input.location}: is longer than the {MAX_TABLE_CHARACTERS:,} characters a table may have"
        )
    return text


def read_header(local: LocalFile) -> list[str]:
    """Read the column names of a CSV file of any length."""
    with open_text(local) as stream:
        text = stream.read(_MAX_HEADER_CHARACTERS)
    return _parse_header(csv.reader(_lines(text)), local.input.location)


def _lines(text: str) -> TextIO:
    """Lines as CSV has them; `str.splitlines` also breaks at form feeds and Unicode separators."""
    return io.StringIO(text, newline="")


def _parse_header(reader: Iterator[list[str]], location: str) -> list[str]:
    header = next(reader, [])
    if not header:
        raise SourceError(f"{location}: is empty; expected CSV with a line of column names")
    return header


def find_column(header: Sequence[str], name: str, location: str, *, meaning: str) -> int:
    """Position of a column in a header.

    Raises
    ------
    SourceError
        When no column, or more than one, has that name.
    """
    if header.count(name) == 1:
        return header.index(name)
    if name in header:
        raise SourceError(f"{location}: has {header.count(name)} columns {name!r}, expected one ({meaning})")
    separator = next((one for one in _OTHER_SEPARATORS if len(header) == 1 and one in header[0]), None)
    if separator:
        raise SourceError(f"{location}: its columns are separated by {separator!r}, expected ','; write it with commas")
    raise SourceError(f"{location}: has no column {name!r} ({meaning}); {listed(name, header)}")


def read_rows(local: LocalFile, columns: Mapping[str, str] | None = None) -> tuple[list[str], list[Row]]:
    """Read a CSV table.

    Parameters
    ----------
    local
        The file; UTF-8, comma-separated, with a header.
    columns
        Canonical name of each wanted column and its name in the file; None: every column, by its own name.

    Returns
    -------
    The header, and the rows with the wanted columns.

    Raises
    ------
    SourceError
        When the file is no such table, lacks a column, or has a row of another length than the header.
    """
    location = local.input.location
    reader = csv.reader(_lines(read_text(local)), strict=True)
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
        raise SourceError(f"{location}, line {reader.line_num}: is no CSV: {error}") from error
    return header, rows


def parse_count(row: Row, column: str, *, estimated: bool, negative: bool = False) -> int | None:
    """Read a count; None for ``nan``, which says that it is not published.

    Parameters
    ----------
    row, column
        Where the count is.
    estimated
        Whether counts are estimates, which may be fractional and are then rounded.
    negative
        Whether the count may be negative.

    Raises
    ------
    SourceError
        When the cell is no such count, or does not fit into 64 bits.
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
    """Add a row to those read so far.

    Raises
    ------
    SourceError
        When there is one with the same key.
    """
    if key in rows:
        raise SourceError(
            f"{row.where}: {' to '.join(key)} occurs twice, first at {rows[key].where}; expected each once"
        )
    rows[key] = row


def windows_frame(
    windows: Mapping[tuple[str, str], int], labels: Sequence[str], selected: Collection[str]
) -> pd.DataFrame:
    """Frame of unions by (start, end), of the windows that lie whole within the selected crawls.

    Parameters
    ----------
    windows
        Distinct elements by first and last crawl.
    labels
        All crawls of the source, in time order.
    selected
        Those that the collection takes.
    """
    import pandas as pd

    position = {label: index for index, label in enumerate(labels)}
    rows = [
        (start, end, position[end] - position[start] + 1, union)
        for (start, end), union in windows.items()
        if start in selected and end in selected
    ]
    frame = pd.DataFrame(rows, columns=["start_crawl", "end_crawl", "window_crawls", "distinct_elements"])
    return frame.astype({"window_crawls": "int64", "distinct_elements": "int64"})


def pairs_frame(pairs: Mapping[tuple[str, str], tuple[int, int, int]], selected: Collection[str]) -> pd.DataFrame:
    """Frame of sizes and intersections by (crawl_i, crawl_j), of the pairs that are selected whole."""
    import pandas as pd

    rows = [(*crawls, *counts) for crawls, counts in pairs.items() if crawls[0] in selected and crawls[1] in selected]
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS)).astype(dict.fromkeys(PAIR_COLUMNS[2:], "int64"))
