"""Read parts of a remote file by HTTP ranges.

Does not interpret the content; see `common_crawl.columnar_index`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.transport.file_formats import START_BYTES
from crawl_urn_dagster.sources.transport.http_requests import (
    Deadline,
    TransientError,
    abandon_after,
    content_range,
    open_response,
    response_error,
    retry,
)
from crawl_urn_dagster.sources.transport.text_files import reject_web_page

if TYPE_CHECKING:
    import requests

_TAIL_BYTES = 2**16


@dataclass(frozen=True)
class Range:
    """Some bytes of a file, the size of the whole file, and its version as the server names it."""

    content: bytes
    total: int
    version: str | None


def read_range(url: str, first: int | None, count: int, *, deadline_seconds: float) -> Range:
    """Read some bytes of the file at an address, with retries as in `download.download`.

    Parameters
    ----------
    url
        An http(s) address.
    first
        Position of the first byte; None requests the last bytes of the file.
    count
        Number of bytes; the last bytes of a shorter file may be fewer.
    deadline_seconds
        Time for all attempts together.

    Raises
    ------
    AbsentError
        When the server reports that the file does not exist.
    SourceError
        When the bytes cannot be read.
    """
    requested = f"bytes=-{count}" if first is None else f"bytes={first}-{first + count - 1}"

    def send(deadline: Deadline) -> Range:
        with open_response(url, {"Range": requested}, deadline) as response:
            return _parse_range(url, response, first, count)

    return retry(url, deadline_seconds, lambda deadline: abandon_after(deadline.seconds_left, lambda: send(deadline)))


def _parse_range(url: str, response: requests.Response, first: int | None, count: int) -> Range:
    if response.status_code == 200:
        reject_web_page(response.raw.read(START_BYTES, decode_content=False), url)
        raise SourceError(f"{url}: the server does not support ranges; download the files and give their folder")
    if response.status_code != 206:
        raise response_error(url, response)
    start, end, total = content_range(response) or (0, 0, 0)
    expected = (max(total - count, 0), total - 1) if first is None else (first, first + count - 1)
    if (start, end) != expected:
        raise TransientError("the server sent another part than requested")
    content: bytes = response.raw.read(end - start + 1, decode_content=False)
    if len(content) != end - start + 1:
        raise TransientError(f"the part ends after {len(content):,} bytes of {end - start + 1:,}")
    return Range(content, total, response.headers.get("ETag") or response.headers.get("Last-Modified"))


class RemoteFile(io.RawIOBase):
    """A file at an http(s) address that is read by ranges, all of the same version.

    Parameters
    ----------
    url
        An http(s) address.
    deadline_seconds
        Time for one range, retries included.

    Raises
    ------
    SourceError
        When the server does not send ranges, or the file changes or cannot be read.
    """

    def __init__(self, url: str, *, deadline_seconds: float) -> None:
        self._url = url
        self._deadline_seconds = deadline_seconds
        self._at = 0
        last = read_range(url, None, _TAIL_BYTES, deadline_seconds=deadline_seconds)
        self._tail, self._size, self._version = last.content, last.total, last.version

    def readable(self) -> bool:
        """Return True: the file can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: the position can be set."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes, fewer only at the end of the file."""
        left = max(self._size - self._at, 0)
        count = left if size is None or size < 0 else min(size, left)
        content = self._read_at(self._at, count) if count else b""
        self._at += count
        return content

    def _read_at(self, first: int, count: int) -> bytes:
        in_tail = first - (self._size - len(self._tail))
        if in_tail >= 0:
            return self._tail[in_tail : in_tail + count]
        part = read_range(self._url, first, count, deadline_seconds=self._deadline_seconds)
        if (part.total, part.version) != (self._size, self._version):
            raise SourceError(f"{self._url}: changed while it was read; try again when the file no longer changes")
        return part.content
