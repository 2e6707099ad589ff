"""Request the pages of a CDX API's answer: slowly, again after errors, and from the cache if they are there.

Does not choose pages; see `cdx_api`.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawl_urn_dagster.sources.errors import SourceError, TooLargeError
from crawl_urn_dagster.sources.input_files import InputFile, LocalFile
from crawl_urn_dagster.sources.transport.file_formats import START_BYTES
from crawl_urn_dagster.sources.transport.http_requests import (
    Deadline,
    TransientError,
    abandon_after,
    open_response,
    response_error,
    retry,
)
from crawl_urn_dagster.sources.transport.text_files import reject_web_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crawl_urn_dagster.sources.transport.files import Files

_CHUNK_BYTES = 65_536
_NO_CAPTURES = b"no captures found"


@dataclass
class PageClient:
    """Requests pages of one answer.

    Parameters
    ----------
    files
        The cache, and the limits for the whole answer.
    generation
        Number of the answer; pages of another generation are requested again.
    seconds_between_requests
        Shortest time between two requests, and twice the first wait after an error.
    """

    files: Files
    generation: int
    seconds_between_requests: float

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.files.deadline_seconds
        self._next_request = 0.0
        self._bytes = 0

    def page(self, url: str, number: int, is_whole: Callable[[bytes], bool]) -> LocalFile:
        """Return a page, from the cache or the server; the page is empty if the server has no captures.

        Parameters
        ----------
        url
            Address of the page.
        number
            Number of the page.
        is_whole
            Function that tests, by the last bytes, whether a page was sent completely.

        Raises
        ------
        TooLargeError
            When the time or the size that is allowed for an answer ends before the page. Received pages are kept.
        SourceError
            When the server cannot be reached, or its answer is not as expected.
        """
        version = hashlib.sha256(f"{self.generation} {url}".encode()).hexdigest()
        path = self.files.derive(
            f"page {number} of {url.partition('&resumeKey')[0]}", version, self._make(url, is_whole)
        )
        content = path.read_bytes()
        self._bytes += len(content)
        if self._bytes > self.files.max_bytes:
            raise TooLargeError(
                f"{url}: the answer is larger than the {self.files.max_bytes:,} bytes that are accepted; request less"
            )
        return LocalFile(path, InputFile(f"{url}#page-{number}", len(content), hashlib.sha256(content).hexdigest()))

    def _make(self, url: str, is_whole: Callable[[bytes], bool]) -> Callable[[Path], None]:
        def make(target: Path) -> None:
            left = self._deadline - time.monotonic()
            wait = max(self._next_request - time.monotonic(), 0)
            if wait >= left:
                raise TooLargeError(
                    f"{url}: is not received within {self.files.deadline_seconds:g} seconds; the pages before it are "
                    "kept, and the next run continues"
                )
            time.sleep(wait)
            attempts = 0

            def attempt(deadline: Deadline) -> None:
                nonlocal attempts
                attempts += 1
                try:
                    abandon_after(deadline.seconds_left, lambda: self._receive(url, target, deadline, is_whole))
                except TransientError as error:
                    # APIs count requests over minutes, so waits start longer than for files.
                    error.retry_after = error.retry_after or self.seconds_between_requests * 2**attempts
                    raise

            try:
                retry(url, left - wait, attempt)
            finally:
                self._next_request = time.monotonic() + self.seconds_between_requests

        return make

    def _receive(self, url: str, target: Path, deadline: Deadline, is_whole: Callable[[bytes], bool]) -> None:
        with open_response(url, {}, deadline) as response:
            if response.status_code == 404 and _NO_CAPTURES in response.raw.read(START_BYTES).lower():
                target.write_bytes(b"")
                return
            if response.status_code != 200:
                raise response_error(url, response)
            size, last = 0, b""
            with target.open("wb") as file:
                for chunk in response.raw.stream(_CHUNK_BYTES, decode_content=True):
                    deadline.check()
                    if not size:
                        reject_web_page(chunk[:START_BYTES], url)
                    size += len(chunk)
                    if size > self.files.max_bytes:
                        raise SourceError(f"{url}: is larger than the {self.files.max_bytes:,} bytes that are accepted")
                    file.write(chunk)
                    last = (last + chunk)[-START_BYTES:]
        if not is_whole(last):
            raise TransientError("the answer ends in the middle")
