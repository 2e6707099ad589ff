"""Send HTTP requests to servers that may be slow, busy, moved, broken or hostile.

Does not store responses; see `download` for whole files and `ranges` for parts.
"""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin

from crawl_urn_dagster.sources.errors import AbsentError, RefusedError, SourceError
from crawl_urn_dagster.sources.transport.locations import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests

_ATTEMPTS = 4
_FIRST_WAIT_SECONDS = 0.5
_SOCKET_TIMEOUT_SECONDS = 15.0
_MAX_REDIRECTS = 5
# Common Crawl's servers answer 403 to a client that sends too many requests.
_BUSY = frozenset({403, 408, 429, 500, 502, 503, 504})
_ABSENT = frozenset({404, 410})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")

T = TypeVar("T")


class TransientError(Exception):
    """Raised when an attempt failed in a way that may pass; a server may state the seconds to wait, `retry_after`."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class BusyError(TransientError):
    """Raised when the server answered with a status that may pass, such as 500."""


@dataclass(frozen=True)
class Deadline:
    """Time at which all attempts end, on the clock of `time.monotonic`."""

    at: float

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, greater than 0."""
        return max(self.at - time.monotonic(), 1e-3)

    def check(self) -> None:
        """Raise `TransientError` after the deadline: an abandoned thread must not write to a file."""
        if time.monotonic() > self.at:
            raise TransientError("not received completely by the deadline")


def retry(url: str, deadline_seconds: float, attempt: Callable[[Deadline], T]) -> T:
    """Run an attempt, which raises `TransientError` to be run again, until it succeeds or no attempts or time are left.

    Raises
    ------
    SourceError
        When the last attempt fails.
    """
    deadline = Deadline(time.monotonic() + deadline_seconds)
    number = 0
    while True:
        number += 1
        try:
            return attempt(deadline)
        except TransientError as error:
            wait = error.retry_after or _FIRST_WAIT_SECONDS * 2 ** (number - 1)
            if number == _ATTEMPTS or wait >= deadline.seconds_left:
                raise SourceError(
                    f"{url}: {error}; gave up after attempt {number} of {_ATTEMPTS} (deadline "
                    f"{deadline_seconds:g} seconds, next attempt after {wait:g} seconds); try again later"
                ) from error
            time.sleep(wait)


def abandon_after(seconds: float, function: Callable[[], T]) -> T:
    """Run a function in a thread, and raise `TransientError` if it takes longer than some seconds.

    A socket's time-out covers neither a server that sends its headers byte by byte nor the resolution of a name.
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
        raise TransientError("not received completely by the deadline") from None


@contextmanager
def open_response(
    url: str, headers: Mapping[str, str], deadline: Deadline, method: str = "GET"
) -> Iterator[requests.Response]:
    """Send a request, follow redirects, and give the response; its body is read by the caller.

    Raises
    ------
    TransientError
        When the connection fails, now or while the body is read.
    SourceError
        When the address cannot be requested.
    """
    import requests
    import urllib3

    try:
        with requests.Session() as session, _follow(session, method, url, headers, deadline) as response:
            yield response
    except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError) as error:
        raise TransientError(f"the connection failed: {error}") from error
    except requests.RequestException as error:
        raise SourceError(f"{url}: cannot be requested: {error}; check the address") from error


def _follow(
    session: requests.Session, method: str, url: str, headers: Mapping[str, str], deadline: Deadline
) -> requests.Response:
    """Send a request and follow redirects.

    The adapter is called directly, because a session reads the bodies of redirects into memory, however long.
    """
    import requests

    # Request the file as it is stored: lengths and hashes are then of the file, not of a compressed transfer.
    headers = {"User-Agent": "crawl_urn_dagster", "Accept-Encoding": "identity", **headers}
    address = url
    for _ in range(_MAX_REDIRECTS + 1):
        environment: dict[str, Any] = {
            **session.merge_environment_settings(address, {}, stream=True, verify=None, cert=None)
        }
        response = session.get_adapter(address).send(
            session.prepare_request(requests.Request(method, address, headers=headers)),
            timeout=min(_SOCKET_TIMEOUT_SECONDS, deadline.seconds_left),
            **environment,
        )
        if response.status_code not in _REDIRECTS or "Location" not in response.headers:
            return response
        response.close()
        address = urljoin(address, response.headers["Location"])
        if not is_remote(address):
            raise SourceError(f"{url}: redirects to {address[:200]!r}, not an http(s) address; check the address")
    raise SourceError(f"{url}: redirects more than {_MAX_REDIRECTS} times; check the address")


def response_error(url: str, response: requests.Response) -> Exception:
    """Return the error for a response with an unexpected status; it is transient if the server is busy."""
    from urllib3.util import Retry

    status = f"the server answered {response.status_code} {response.reason[:80]}"
    if response.status_code in _BUSY:
        return BusyError(status, Retry().get_retry_after(response.raw))
    kind = AbsentError if response.status_code in _ABSENT else RefusedError
    return kind(f"{url}: {status}, expected 200; check the address")


def content_range(response: requests.Response) -> tuple[int, int, int] | None:
    """Return first byte, last byte and total size from the header Content-Range; None if it is missing or malformed."""
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def fetch_headers(url: str, *, deadline_seconds: float) -> dict[str, str]:
    """Fetch the headers ETag, Last-Modified and Content-Length of a file, as far as its server sends them.

    Raises
    ------
    AbsentError
        When the server reports that the file does not exist.
    SourceError
        When the server cannot be reached.
    """

    def send(deadline: Deadline) -> dict[str, str]:
        with open_response(url, {}, deadline, method="HEAD") as response:
            if response.status_code != 200:
                raise response_error(url, response)
            names = ("ETag", "Last-Modified", "Content-Length")
            return {name: response.headers[name] for name in names if name in response.headers}

    return retry(url, deadline_seconds, lambda deadline: abandon_after(deadline.seconds_left, lambda: send(deadline)))
