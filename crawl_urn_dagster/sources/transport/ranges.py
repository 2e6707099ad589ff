"""A remote file of which only some ranges are read.

Here: a file object over HTTP ranges. Not here: requests and retries (`download`), or what is in the file.
"""

from __future__ import annotations

import io

from crawl_urn_dagster.sources.inputs import SourceError
from crawl_urn_dagster.sources.transport.download import read_range

_TAIL_BYTES = 2**16


class RemoteFile(io.RawIOBase):
    """A file at an http(s) address, read by ranges; every range is of the version that was there first.

    Parameters
    ----------
    url
        Its address.
    deadline_seconds
        Time for one range, retries included.

    Raises
    ------
    SourceError
        When the server gives no ranges, or the file changes or cannot be had.
    """

    def __init__(self, url: str, *, deadline_seconds: float) -> None:
        self._url = url
        self._deadline_seconds = deadline_seconds
        self._at = 0
        last = read_range(url, None, _TAIL_BYTES, deadline_seconds=deadline_seconds)
        self._tail, self._size, self._version = last.content, last.total, last.version

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def seekable(self) -> bool:
        """Whether positions can be chosen: always."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Choose the position."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Read that many bytes, fewer only at the end."""
        left = max(self._size - self._at, 0)
        count = left if size is None or size < 0 else min(size, left)
        content = self._range(self._at, count) if count else b""
        self._at += count
        return content

    def _range(self, first: int, count: int) -> bytes:
        in_tail = first - (self._size - len(self._tail))
        if in_tail >= 0:
            return self._tail[in_tail : in_tail + count]
        part = read_range(self._url, first, count, deadline_seconds=self._deadline_seconds)
        if (part.total, part.version) != (self._size, self._version):
            raise SourceError(f"{self._url}: changed while it was read; try again when it stays")
        return part.content
