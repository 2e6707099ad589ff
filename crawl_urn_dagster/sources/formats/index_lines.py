"""Open an index file as batches of lines of one format, also an answer of a CDX API as one array of JSON.

Does not read captures; see `cdx_batches`.
"""

from __future__ import annotations

import codecs
import json
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.cdx_lines import detect_format
from crawl_urn_dagster.sources.formats.text_lines import MAX_LINE_BYTES, read_blocks, read_start, text_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.sources.formats.cdx_lines import LineFormat
    from crawl_urn_dagster.sources.input_files import LocalFile

_LINES_FOR_DETECTION = 100
_ROWS_PER_BATCH = 2**15
# Letters of the columns that CDX APIs have, by name; t stands for any other.
_LETTERS = {
    "urlkey": "N",
    "timestamp": "b",
    "original": "a",
    "url": "a",
    "mimetype": "m",
    "mime": "m",
    "statuscode": "s",
    "status": "s",
    "digest": "k",
    "redirect": "r",
    "redirecturl": "r",
    "robotflags": "M",
    "length": "S",
    "offset": "V",
    "filename": "g",
}
_DECODER = json.JSONDecoder()


class Index(NamedTuple):
    """An index file that is being read.

    Attributes
    ----------
    form
        Format of the lines.
    batches
        Number of lines before, and the next lines, as `text_lines.text_batches` yields them.
    """

    form: LineFormat
    batches: Iterator[tuple[int, bytes]]


def open_index(local: LocalFile, legend: LineFormat | None) -> Index:
    """Detect the format of an index file and start to read it.

    Parameters
    ----------
    local
        The file.
    legend
        Format of a file without a legend; None: it is detected.

    Raises
    ------
    SourceError
        When the file is not an index, now or while it is read.
    """
    location = local.input.location
    start = read_start(local, _LINES_FOR_DETECTION)
    if not start or not start[0].lstrip().startswith("["):
        form = detect_format(start, legend, location)
        return Index(form, text_batches(local, form.is_line))
    batches = _row_batches(local)
    first = next(batches, (0, b""))
    lines = [line for line in first[1].decode().split("\n") if line][:_LINES_FOR_DETECTION]
    return Index(detect_format(lines, legend, location), chain([first], batches))


def _row_batches(local: LocalFile) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of an array as lines whose fields are separated by tabs, or as lines of JSON."""
    lines = (_line(row, is_first=not number) for number, row in enumerate(_rows(local)))
    before = 0
    while batch := list(islice(lines, _ROWS_PER_BATCH)):
        yield before, "".join(f"{line}\n" for line in batch).encode("utf-8", "replace")
        before += len(batch)


def _line(row: object, *, is_first: bool) -> str:
    """Return the line of a row: the legend for a first row of names of columns, fields, or JSON."""
    if isinstance(row, list) and all(isinstance(cell, str | int | None) for cell in row):
        if is_first and "timestamp" in row:
            return "\t".join(("", "CDX", *(_LETTERS.get(str(name), "t") for name in row)))
        cells = ["-" if cell is None else str(cell) for cell in row]
        if not any(character in cell for cell in cells for character in "\t\n"):
            return "\t".join(cells)
    return json.dumps(row)


def _rows(local: LocalFile) -> Iterator[object]:
    """Yield the elements of an array of JSON, of which one at a time is in memory.

    Raises
    ------
    SourceError
        When the file is not an array, with the number of the first row that is not JSON.
    """
    decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
    texts = chain((decode(block) for block, _ in read_blocks(local)), [None])
    buffer = (next(texts) or "").lstrip()[1:]
    number = 0
    for text in texts:
        at = 0
        while True:
            while at < len(buffer) and buffer[at] in " \t\r\n,":
                at += 1
            if buffer[at : at + 1] == "]":
                return
            try:
                row, end = _DECODER.raw_decode(buffer, at)
            except (ValueError, RecursionError) as error:
                if text is None or len(buffer) - at > MAX_LINE_BYTES:
                    raise SourceError(
                        f"{local.input.location}, row {number + 1} of the array: is not JSON, or the array ends early: "
                        f"{error}; get the file again"
                    ) from error
                break
            if not isinstance(row, list | dict):
                raise SourceError(
                    f"{local.input.location}, row {number + 1} of the array: found {str(row)[:80]!r}, expected an "
                    "array or object of JSON"
                )
            yield row
            number += 1
            at = end
        buffer = buffer[at:] + (text or "")
