"""One file over HTTP, from a server that may be slow, busy, moved, broken or hostile.

Here: a conditional GET with retries, a deadline and a size cap, which goes on where an earlier one was interrupted.
Not here: the cache (`files`), or what is in the file.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import urljoin

from crawl_urn_dagster.progress import Progress
from crawl_urn_dagster.sources.inputs import START_BYTES, AbsentError, SourceError, TooLargeError, refuse_web_page
from crawl_urn_dagster.sources.transport.locations import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import requests

_ATTEMPTS = 4
_FIRST_WAIT_SECONDS = 0.5
_SOCKET_TIMEOUT_SECONDS = 15.0
_MAX_REDIRECTS = 5
_CHUNK_BYTES = 65_536
# 403: Common Crawl's servers say so when they are asked too often.
_BUSY = frozenset({403, 408, 429, 500, 502, 503, 504})
_ABSENT = frozenset({404, 410})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")

T = TypeVar("T")


@dataclass(frozen=True)
class Received:
    """A file that was downloaded whole, and the validators its server gave."""

    bytes: int
    sha256: str
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True)
class Limits:
    """What a download may take: until when (of `time.monotonic`), and how many bytes."""

    deadline: float
    max_bytes: int

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, more than 0."""
        return max(self.deadline - time.monotonic(), 1e-3)

    def check_deadline(self) -> None:
        """Raise when the time is up: a thread that nobody waits for any more must write no file."""
        if time.monotonic() > self.deadline:
            raise _PassingError("not received whole by the deadline")


class _PassingError(Exception):
    """An attempt failed in a way that may pass."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


@dataclass(frozen=True)
class _Partial:
    """What was received of a file so far; the file beside it says of which version, as its server named it."""

    path: Path

    @property
    def _version(self) -> Path:
        return self.path.with_name(f"{self.path.name}.version")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def rest(self) -> dict[str, str]:
        """Headers that ask for the rest of this version; empty when there is nothing to go on from."""
        if not self.size or not self._version.exists():
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self._version.read_text(encoding="ascii")}

    def start(self, file: BinaryIO, version: str | None) -> None:
        """Start anew, with another version; without one, what is received cannot be gone on from."""
        self.forget_version()
        file.truncate(0)
        if version is not None and version.isascii():
            self._version.write_text(version, encoding="ascii")

    def forget_version(self) -> None:
        self._version.unlink(missing_ok=True)

    def forget(self) -> None:
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
    """Write the file at an address to a path.

    Busy servers (403, 408, 429, 5xx), connections that fail and files that come truncated are tried again,
    after the server's Retry-After or twice as long each time, as long as the deadline allows. What was received of a
    file whose server names its version (a strong ETag, or Last-Modified) is gone on from, also when it is left at the
    path by a process that was killed: the rest is asked for on condition that the file has not changed, and must
    reach the size that the server says the whole has.

    Parameters
    ----------
    url
        An http(s) address.
    target
        The file to write, by no other process meanwhile; it is incomplete, or absent, when this function raises.
    validators
        Conditional headers (If-None-Match, If-Modified-Since) of the copy that is held, or empty.
    deadline_seconds
        Time for all attempts together.
    max_bytes
        Largest file that is accepted.
    report
        Takes a line on progress every few seconds.

    Returns
    -------
    What was received, or None when the server says that the copy that is held is current.

    Raises
    ------
    AbsentError
        When the server says that there is no such file.
    SourceError
        When the file cannot be had, with the address and the reason.
    """
    partial = _Partial(target)

    def attempt(limits: Limits) -> Received | None:
        # A thread that is given up gets its file closed, and can write nothing after that.
        with target.open("ab") as file:
            received = _give_up_after(
                limits.seconds_left, lambda: _receive(url, partial, file, validators, limits=limits, report=report)
            )
            file.flush()
            os.fsync(file.fileno())
        return received

    try:
        received = _try_again(url, deadline_seconds, max_bytes, attempt)
    except SourceError:
        if not partial.rest:
            partial.forget()
        raise
    if received is None:
        partial.forget()
    else:
        partial.forget_version()
    return received


def look_up(url: str, *, deadline_seconds: float) -> dict[str, str]:
    """Ask what an address has now, without its content: its ETag, Last-Modified and Content-Length, if any.

    Raises
    ------
    AbsentError
        When the server says that there is no such file.
    SourceError
        When it cannot be asked.
    """

    def attempt(limits: Limits) -> dict[str, str]:
        return _give_up_after(limits.seconds_left, lambda: _ask(url, limits))

    return _try_again(url, deadline_seconds, 0, attempt)


def _ask(url: str, limits: Limits) -> dict[str, str]:
    with _answer(url, {}, limits, method="HEAD") as response:
        if response.status_code != 200:
            raise _refusal(url, response)
        names = ("ETag", "Last-Modified", "Content-Length")
        return {name: response.headers[name] for name in names if name in response.headers}


def _try_again(url: str, deadline_seconds: float, max_bytes: int, function: Callable[[Limits], T]) -> T:
    """Run an attempt until it succeeds, fails for good, or the number of attempts or the time is up."""
    limits = Limits(time.monotonic() + deadline_seconds, max_bytes)
    attempt = 0
    while True:
        attempt += 1
        try:
            return function(limits)
        except _PassingError as error:
            wait = error.retry_after or _FIRST_WAIT_SECONDS * 2 ** (attempt - 1)
            if attempt == _ATTEMPTS or wait >= limits.seconds_left:
                raise SourceError(
                    f"{url}: {error}; gave up after attempt {attempt} of {_ATTEMPTS} ({deadline_seconds:g} "
                    f"seconds allowed in all, {wait:g} to wait before another); try again later"
                ) from error
            time.sleep(wait)


def _give_up_after(seconds: float, function: Callable[[], T]) -> T:
    """Run a function in a thread and stop waiting for it after some seconds.

    A server that sends its headers byte by byte meets no socket's time-out, and a look-up of a name has none.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return future.result(timeout=seconds)
    except FutureTimeoutError:
        raise _PassingError("not received whole by the deadline") from None


def _receive(
    url: str,
    partial: _Partial,
    file: BinaryIO,
    validators: Mapping[str, str],
    *,
    limits: Limits,
    report: Callable[[str], object],
) -> Received | None:
    """Receive a file, or the rest of it."""
    rest = partial.rest
    with _answer(url, {**validators, **rest}, limits) as response:
        limits.check_deadline()
        if response.status_code == 304 and validators:
            return None
        total = None
        if rest and response.status_code in {206, 416}:
            total = _total_of_rest(response, partial.size, rest["If-Range"])
            if total is None:
                partial.forget_version()
                raise _PassingError("the server sends another rest than was asked for")
        elif response.status_code == 200:
            partial.start(file, _version(response))
        else:
            raise _refusal(url, response)
        return _save(url, response, partial, file, total=total, limits=limits, report=report)


@contextmanager
def _answer(url: str, headers: Mapping[str, str], limits: Limits, method: str = "GET") -> Iterator[requests.Response]:
    """Give the answer to a request; connections that fail, then or while it is read, may pass."""
    import requests
    import urllib3

    try:
        with requests.Session() as session, _follow(session, method, url, headers, limits) as response:
            yield response
    except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError) as error:
        raise _PassingError(f"the connection failed: {error}") from error
    except requests.RequestException as error:
        raise SourceError(f"{url}: cannot be asked for: {error}; check the address") from error


def _follow(
    session: requests.Session, method: str, url: str, headers: Mapping[str, str], limits: Limits
) -> requests.Response:
    """Ask for an address, following redirects.

    The adapter is called itself, because a session reads the bodies of redirects into memory, however long.
    """
    import requests

    # The file as it is stored: a length and a hash are then of the file, not of a compressed transfer.
    headers = {"User-Agent": "crawl_urn_dagster", "Accept-Encoding": "identity", **headers}
    address = url
    for _ in range(_MAX_REDIRECTS + 1):
        environment: dict[str, Any] = {
            **session.merge_environment_settings(address, {}, stream=True, verify=None, cert=None)
        }
        response = session.get_adapter(address).send(
            session.prepare_request(requests.Request(method, address, headers=headers)),
            timeout=min(_SOCKET_TIMEOUT_SECONDS, limits.seconds_left),
            **environment,
        )
        if response.status_code not in _REDIRECTS or "Location" not in response.headers:
            return response
        response.close()
        address = urljoin(address, response.headers["Location"])
        if not is_remote(address):
            raise SourceError(f"{url}: redirects to {address[:200]!r}, which is no http(s) address; check the address")
    raise SourceError(f"{url}: redirects more than {_MAX_REDIRECTS} times; check the address")


def _refusal(url: str, response: requests.Response) -> Exception:
    from urllib3.util import Retry

    status = f"the server answered {response.status_code} {response.reason[:80]}"
    if response.status_code in _BUSY:
        return _PassingError(status, Retry().get_retry_after(response.raw))
    kind = AbsentError if response.status_code in _ABSENT else SourceError
    return kind(f"{url}: {status}, expected 200; check the address")


def _version(response: requests.Response) -> str | None:
    """Name of a file's version that a request may be conditional on: no weak ETag may."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified")


def _total_of_rest(response: requests.Response, received: int, version: str) -> int | None:
    """Size of the whole file whose rest is sent; None when it is not the rest of what was received."""
    sent = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if sent is None or int(sent[1]) != received or _version(response) not in {version, None}:
        return None
    return int(sent[3])


def _save(
    url: str,
    response: requests.Response,
    partial: _Partial,
    file: BinaryIO,
    *,
    total: int | None,
    limits: Limits,
    report: Callable[[str], object],
) -> Received:
    """Stream a body to the end of a file, within the limits; urllib3 raises when it ends before its stated length."""
    too_large = TooLargeError(
        f"{url}: larger than the {limits.max_bytes:,} bytes that are accepted; download it by hand and give its path"
    )
    size = partial.size
    announced = total if total is not None else response.raw.length_remaining
    if (announced or 0) > limits.max_bytes:
        partial.forget()
        raise too_large
    digest = _digest(partial.path)
    progress = Progress(f"downloading {url}", None if announced is None else announced - size, report, unit="byte")
    for chunk in response.raw.stream(_CHUNK_BYTES, decode_content=False):
        size += len(chunk)
        if size > limits.max_bytes:
            partial.forget()
            raise too_large
        limits.check_deadline()
        digest.update(chunk)
        file.write(chunk)
        progress.advance(len(chunk))
    file.flush()
    if total is not None and size != total:
        raise _PassingError(f"the rest ends at byte {size:,} of {total:,}")
    return Received(size, digest.hexdigest(), response.headers.get("ETag"), response.headers.get("Last-Modified"))


def _digest(path: Path) -> hashlib._Hash:
    """Hash of what is in a file so far."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest


@dataclass(frozen=True)
class Range:
    """Some bytes of a file, its size in all, and what its server calls its version."""

    content: bytes
    total: int
    version: str | None


def read_range(url: str, first: int | None, count: int, *, deadline_seconds: float) -> Range:
    """Read some bytes of the file at an address, with as much patience as `download`.

    Parameters
    ----------
    url
        An http(s) address.
    first
        Position of the first byte; None: the last bytes are wanted.
    count
        How many bytes; of a file that is shorter, the last ones may be fewer.
    deadline_seconds
        Time for all attempts together.

    Raises
    ------
    AbsentError
        When the server says that there is no such file.
    SourceError
        When the bytes cannot be had.
    """
    asked = f"bytes=-{count}" if first is None else f"bytes={first}-{first + count - 1}"

    def attempt(limits: Limits) -> Range:
        return _give_up_after(limits.seconds_left, lambda: _ask_range(url, {"Range": asked}, first, count, limits))

    return _try_again(url, deadline_seconds, count, attempt)


def _ask_range(url: str, headers: Mapping[str, str], first: int | None, count: int, limits: Limits) -> Range:
    with _answer(url, headers, limits) as response:
        if response.status_code == 200:
            refuse_web_page(response.raw.read(START_BYTES, decode_content=False), url)
            raise SourceError(f"{url}: the server sends no parts of files; download the file and give its folder")
        if response.status_code != 206:
            raise _refusal(url, response)
        sent = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        start, end, total = (int(sent[1]), int(sent[2]), int(sent[3])) if sent else (0, 0, 0)
        wanted = (max(total - count, 0), total - 1) if first is None else (first, first + count - 1)
        if (start, end) != wanted:
            raise _PassingError("the server sends another part than was asked for")
        content: bytes = response.raw.read(end - start + 1, decode_content=False)
        if len(content) != end - start + 1:
            raise _PassingError(f"the part ends after {len(content):,} bytes of {end - start + 1:,}")
        return Range(content, total, response.headers.get("ETag") or response.headers.get("Last-Modified"))
