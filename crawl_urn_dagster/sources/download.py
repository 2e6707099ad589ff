"""One file over HTTP, from a server that may be slow, busy, moved, broken or hostile.

Here: a conditional GET with retries, a deadline and a size cap. Not here: the cache (`files`), or what is in
the file.
"""

from __future__ import annotations

import hashlib
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin

from crawl_urn_dagster.sources.inputs import SourceError
from crawl_urn_dagster.sources.locations import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import requests

_ATTEMPTS = 4
_FIRST_WAIT_SECONDS = 0.5
_SOCKET_TIMEOUT_SECONDS = 15.0
_MAX_REDIRECTS = 5
_CHUNK_BYTES = 65_536
# 403: Common Crawl's servers say so when they are asked too often.
_BUSY = frozenset({403, 408, 429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

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


def download(
    url: str, target: Path, validators: Mapping[str, str], *, deadline_seconds: float, max_bytes: int
) -> Received | None:
    """Write the file at an address to a path.

    Busy servers (403, 408, 429, 5xx), connections that fail and files that come truncated are tried again,
    after the server's Retry-After or twice as long each time, as long as the deadline allows.

    Parameters
    ----------
    url
        An http(s) address.
    target
        The file to write; it is incomplete when this function raises.
    validators
        Conditional headers (If-None-Match, If-Modified-Since) of the copy that is held, or empty.
    deadline_seconds
        Time for all attempts together.
    max_bytes
        Largest file that is accepted.

    Returns
    -------
    What was received, or None when the server says that the copy that is held is current.

    Raises
    ------
    SourceError
        When the file cannot be had, with the address and the reason.
    """
    limits = Limits(time.monotonic() + deadline_seconds, max_bytes)
    attempt = 0
    while True:
        attempt += 1
        try:
            return _give_up_after(limits.seconds_left, lambda: _attempt(url, target, validators, limits))
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


def _attempt(url: str, target: Path, validators: Mapping[str, str], limits: Limits) -> Received | None:
    import requests
    import urllib3

    try:
        with requests.Session() as session, _follow(session, url, validators, limits) as response:
            if response.status_code == 304 and validators:
                return None
            if response.status_code != 200:
                raise _refusal(url, response)
            return _save(url, response, target, limits)
    except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError) as error:
        raise _PassingError(f"the connection failed: {error}") from error
    except requests.RequestException as error:
        raise SourceError(f"{url}: cannot be asked for: {error}; check the address") from error


def _follow(session: requests.Session, url: str, validators: Mapping[str, str], limits: Limits) -> requests.Response:
    """Get an address, following redirects.

    The adapter is called itself, because a session reads the bodies of redirects into memory, however long.
    """
    import requests

    # The file as it is stored: a length and a hash are then of the file, not of a compressed transfer.
    headers = {"User-Agent": "crawl_urn_dagster", "Accept-Encoding": "identity", **validators}
    address = url
    for _ in range(_MAX_REDIRECTS + 1):
        environment: dict[str, Any] = {
            **session.merge_environment_settings(address, {}, stream=True, verify=None, cert=None)
        }
        response = session.get_adapter(address).send(
            session.prepare_request(requests.Request("GET", address, headers=headers)),
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
    return SourceError(f"{url}: {status}, expected 200; check the address")


def _save(url: str, response: requests.Response, target: Path, limits: Limits) -> Received:
    """Stream a body to a file, within the limits; urllib3 raises when it ends before its stated length."""
    too_large = SourceError(
        f"{url}: larger than the {limits.max_bytes:,} bytes that are accepted; download it by hand and give its path"
    )
    if (response.raw.length_remaining or 0) > limits.max_bytes:
        raise too_large
    limits.check_deadline()
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as file:
        for chunk in response.raw.stream(_CHUNK_BYTES, decode_content=False):
            size += len(chunk)
            if size > limits.max_bytes:
                raise too_large
            limits.check_deadline()
            digest.update(chunk)
            file.write(chunk)
    return Received(size, digest.hexdigest(), response.headers.get("ETag"), response.headers.get("Last-Modified"))
