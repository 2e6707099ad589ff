"""Open files as text, whether gzip-compressed or not, and reject web pages in place of data.

Does not interpret the text; see `csv_tables` and `formats`.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from crawl_urn_dagster.sources.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.sources.input_files import LocalFile

MAX_TEXT_CHARACTERS = 64 * 2**20
#: Number of bytes at the start of a file that suffice to recognise a web page.
START_BYTES = 1024
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
        raise SourceError(f"{location}: is a web page or XML, it starts with {found!r}; check the address")


def is_gzip(local: LocalFile) -> bool:
    """Test whether a file is gzip-compressed, by its first bytes: an address need not end in ``.gz``."""
    with local.path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC


@contextmanager
def open_text(local: LocalFile) -> Iterator[TextIO]:
    """Open a file as UTF-8 text, decompressed, without byte-order mark and with its own line ends.

    Raises
    ------
    SourceError
        When the file is damaged or not UTF-8, which may be noticed while it is read.
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
    """Read a text file, and reject one that is longer than `MAX_TEXT_CHARACTERS` characters."""
    with open_text(local) as stream:
        text = stream.read(MAX_TEXT_CHARACTERS + 1)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise SourceError(
            f"{local.input.location}: is longer than the {MAX_TEXT_CHARACTERS:,} characters that a table may have"
        )
    return text
