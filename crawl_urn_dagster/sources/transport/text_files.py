"""Open files as text, whether compressed or not, and reject web pages in place of data.

Does not interpret the text; see `csv_tables` and `formats`.
"""

from __future__ import annotations

import io
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from crawl_urn_dagster.sources.errors import DamagedError, SourceError
from crawl_urn_dagster.sources.transport.file_formats import (
    START_BYTES,
    UTF_16_MARKS,
    compression_of,
    open_decompressed,
    peek,
    reject_binary,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.sources.input_files import LocalFile

MAX_TEXT_CHARACTERS = 64 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"


def reject_web_page(start: bytes, location: str) -> None:
    """Reject a file that starts like HTML or XML, such as a login page; no supported format starts with ``<``.

    `start` holds the first `START_BYTES` bytes of the file, gzip-compressed or not.
    """
    if start.startswith(_GZIP_MAGIC):
        with suppress(zlib.error):  # The reader of the format reports damaged gzip.
            start = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(start, START_BYTES)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        found = text[:40].decode(errors="replace")
        raise DamagedError(f"{location}: is a web page or XML, it starts with {found!r}; check the address")


def is_gzip(local: LocalFile) -> bool:
    """Test whether a file is gzip-compressed, by its first bytes: an address need not end in ``.gz``."""
    return compression_of(local) == "gzip"


@contextmanager
def open_text(local: LocalFile) -> Iterator[TextIO]:
    """Open a file as UTF-8 or marked UTF-16, decompressed, without byte-order mark and with its own line ends.

    Raises
    ------
    DamagedError
        When the file is damaged or not UTF-8, which may be noticed while it is read.
    SourceError
        When the file is not text.
    """
    location = local.input.location
    try:
        with open_decompressed(local) as stream:
            start, whole = peek(stream)
            reject_binary(start, location)
            is_utf_16 = len(start) > 2 and start.startswith(UTF_16_MARKS)
            yield io.TextIOWrapper(whole, encoding="utf-16" if is_utf_16 else "utf-8-sig", newline="")
    except UnicodeDecodeError as error:
        raise DamagedError(f"{location}: is not UTF-8 text: {error}; expected CSV or JSON in UTF-8") from error


def read_text(local: LocalFile) -> str:
    """Read a text file, and reject one that is longer than `MAX_TEXT_CHARACTERS` characters."""
    with open_text(local) as stream:
        text = stream.read(MAX_TEXT_CHARACTERS + 1)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise SourceError(
            f"{local.input.location}: is longer than the {MAX_TEXT_CHARACTERS:,} characters that a table may have"
        )
    return text
