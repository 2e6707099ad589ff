"""Download one file over HTTP, and resume interrupted downloads.

Does not cache files; see `files`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from crawl_urn_dagster.progress import Progress
from crawl_urn_dagster.sources.errors import SourceError, TooLargeError
from crawl_urn_dagster.sources.transport.http_requests import (
    Deadline,
    TransientError,
    abandon_after,
    content_range,
    open_response,
    response_error,
    retry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import requests

_CHUNK_BYTES = 65_536


@dataclass(frozen=True)
class Received:
    """A completed download and the validators that its server sent."""

    bytes: int
    sha256: str
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True)
class _Partial:
    """The received part of a file; a second file next to it holds the version, as its server named it."""

    path: Path

    @property
    def _version(self) -> Path:
        return self.path.with_name(f"{self.path.name}.version")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def resume_headers(self) -> dict[str, str]:
        """Headers that request the rest of this version; empty when the download cannot be resumed."""
        if not self.size or not self._version.exists():
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self._version.read_text(encoding="ascii")}

    def restart(self, file: BinaryIO, version: str | None) -> None:
        """Discard the received part; without a version, the next part cannot be resumed."""
        self.forget_version()
        file.truncate(0)
        if version is not None and version.isascii():
            self._version.write_text(version, encoding="ascii")

    def forget_version(self) -> None:
        self._version.unlink(missing_ok=True)

    def remove(self) -> None:
        self.forget_version()
        self.path.unlink(missing_ok=True)


def download(
    url: str,
    target: Path,
    validators: Mapping[str, str],
    *,
    deadline_seconds: float,
    max_bytes: int,
    report: Callable[[str], object],
) -> Received | None:
    """Download the file at an address to a path.

    Busy servers (403, 408, 429, 5xx), failed connections and truncated files are retried within the deadline, after
    the server's Retry-After or after waits that double. If the server names the version of the file (a strong ETag,
    or Last-Modified), an interrupted download is resumed, also one that a killed process left at the path.

    Parameters
    ----------
    target
        The file to write, not written by another process meanwhile; incomplete or absent when this function raises.
    validators
        Conditional headers (If-None-Match, If-Modified-Since) of the cached copy, or empty.
    deadline_seconds, max_bytes, report
        See `files.Files`.

    Returns
    -------
    The completed download, or None when the server reports that the cached copy is current.

    Raises
    ------
    AbsentError
        When the server reports that the file does not exist.
    SourceError
        When the file cannot be downloaded, with the address and the reason.
    """
    partial = _Partial(target)
    transfer = _Transfer(url, partial, validators, max_bytes, report)

    def attempt(deadline: Deadline) -> Received | None:
        # Closing the file stops an abandoned thread from writing.
        with target.open("ab") as file:
            received = abandon_after(deadline.seconds_left, lambda: transfer.receive(file, deadline))
            file.flush()
            os.fsync(file.fileno())
        return received

    try:
        received = retry(url, deadline_seconds, attempt)
    except SourceError:
        if not partial.resume_headers:
            partial.remove()
        raise
    if received is None:
        partial.remove()
    else:
        partial.forget_version()
    return received


@dataclass(frozen=True)
class _Transfer:
    """One download: its address, the part received so far, and its largest size."""

    url: str
    partial: _Partial
    validators: Mapping[str, str]
    max_bytes: int
    report: Callable[[str], object]

    def receive(self, file: BinaryIO, deadline: Deadline) -> Received | None:
        """Receive the file, or the rest of it."""
        resume = self.partial.resume_headers
        with open_response(self.url, {**self.validators, **resume}, deadline) as response:
            deadline.check()
            if response.status_code == 304 and self.validators:
                return None
            total = None
            if resume and response.status_code in {206, 416}:
                total = _resumed_total(response, self.partial.size, resume["If-Range"])
                if total is None:
                    self.partial.forget_version()
                    raise TransientError("the server sent another range than requested")
            elif response.status_code == 200:
                self.partial.restart(file, _strong_version(response))
            else:
                raise response_error(self.url, response)
            return self._save(response, file, deadline, total)

    def _save(self, response: requests.Response, file: BinaryIO, deadline: Deadline, total: int | None) -> Received:
        """Append the body to the file; urllib3 raises when the body ends before its stated length."""
        size = self.partial.size
        announced = total if total is not None else response.raw.length_remaining
        self._check_size(announced or 0)
        with self.partial.path.open("rb") as received:
            digest = _sha256(received)
        progress = Progress(
            f"downloading {self.url}", None if announced is None else announced - size, self.report, unit="byte"
        )
        for chunk in response.raw.stream(_CHUNK_BYTES, decode_content=False):
            size += len(chunk)
            self._check_size(size)
            deadline.check()
            digest.update(chunk)
            file.write(chunk)
            progress.advance(len(chunk))
        file.flush()
        if total is not None and size != total:
            raise TransientError(f"the rest ends at byte {size:,} of {total:,}")
        return Received(size, digest.hexdigest(), response.headers.get("ETag"), response.headers.get("Last-Modified"))

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            self.partial.remove()
            raise TooLargeError(
                f"{self.url}: is larger than the {self.max_bytes:,} bytes that are accepted; download it manually and "
                "give its path"
            )


def _strong_version(response: requests.Response) -> str | None:
    """Return the name of a file's version that a request may be conditional on; a weak ETag is excluded."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified")


def _resumed_total(response: requests.Response, received: int, version: str) -> int | None:
    """Return the size of the whole file; None when the response does not continue the received part."""
    sent = content_range(response)
    if sent is None or sent[0] != received or _strong_version(response) not in {version, None}:
        return None
    return sent[2]


def _sha256(file: BinaryIO) -> hashlib._Hash:
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest
