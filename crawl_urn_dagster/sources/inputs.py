"""Files as they were read, and the error of what cannot be read: what every module of a source speaks of.

Here: a file's identity, and how a wrong one is explained. Not here: fetching (`files`), or any format.
"""

from __future__ import annotations

import difflib
import hashlib
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


GZIP_MAGIC = b"\x1f\x8b"
#: As much of a file as tells a web page.
START_BYTES = 1024


class SourceError(ValueError):
    """The source cannot be read as configured; the message says where, what was found and expected."""


class TooLargeError(SourceError):
    """A file is larger than may be downloaded or converted now; the message says where and by how much."""


class AbsentError(SourceError):
    """There is no such file at an address, as its server says."""


def listed(found: str, expected: Iterable[str]) -> str:
    """Say what was expected instead of a word: the closest match if there is one, and the first 20 of all."""
    options = list(dict.fromkeys(expected))
    close = difflib.get_close_matches(found, options, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    more = f", ... ({len(options)} in all)" if len(options) > 20 else ""
    return f"{hint}expected one of: {', '.join(options[:20])}{more}"


def refuse_web_page(start: bytes, location: str) -> None:
    """Refuse a file that starts as HTML or XML do, gzip-compressed or not: a login or an error in place of data.

    Raises
    ------
    SourceError
        When it does; no format that is read starts with ``<``.
    """
    if start.startswith(GZIP_MAGIC):
        with suppress(zlib.error):  # damaged: for the format to say
            start = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(start, START_BYTES)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        found = text[:40].decode(errors="replace")
        raise SourceError(f"{location}: is a web page or XML, it starts with {found!r}; check the address")


@dataclass(frozen=True)
class InputFile:
    """A file as it was read: where it is from, its size in bytes, the hash of its content.

    Of a remote file that is too large to be fetched only to be listed, the hash is of what its server says of it.
    """

    location: str
    bytes: int
    sha256: str


def fingerprint(inputs: tuple[InputFile, ...], *settings: str) -> str:
    """Hash of the locations and contents of some inputs, and of how they are read, 16 hexadecimal digits."""
    lines = sorted(f"{file.location}\t{file.sha256}\n" for file in inputs)
    return hashlib.sha256("".join((*lines, *settings)).encode()).hexdigest()[:16]
