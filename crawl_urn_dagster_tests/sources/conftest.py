"""Provide a cache, files to write and a configurable server on loopback to the tests of sources."""

import gzip
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from crawl_urn_dagster.sources import Files, Selection
from crawl_urn_dagster.sources.transport import http_requests
from crawl_urn_dagster_tests.command import PATIENT_SECONDS

ALL_CRAWLS = Selection()
#: Small excerpts of real data; see its README for sources and licences.
REAL_DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(autouse=True)
def _attempts_without_waits(monkeypatch):
    """Repeat failed requests at once."""
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None)
    monkeypatch.setattr(http_requests, "time", clock)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path / "cache", deadline_seconds=PATIENT_SECONDS)


@pytest.fixture
def two_attempts(tmp_path, monkeypatch):
    """Files of at most 1,000 bytes, with a deadline that ends before a third attempt on any machine."""
    monkeypatch.setattr(http_requests, "_FIRST_WAIT_SECONDS", 0.6 * PATIENT_SECONDS)
    return Files(tmp_path / "cache", deadline_seconds=PATIENT_SECONDS, max_bytes=1000)


@pytest.fixture
def write(tmp_path):
    """Return a function that writes text or bytes to a file in the test's folder and returns its path as text."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def captures_of(source, files, crawls):
    """Return the sorted captures of some crawls, and check that each crawl is completed once, at its end."""
    found, complete = [], []
    for crawl, elements, is_complete, *_ in source.captures(files, crawls):
        assert crawl not in complete
        found += [(crawl, element) for element in elements]
        complete += [crawl] if is_complete else []
    assert sorted(complete) == sorted(crawls)
    return sorted(found)


@pytest.fixture
def read(files):
    """Return a function that reads the listing of a source and the sorted captures of the listed crawls."""

    def read(source, selection=ALL_CRAWLS):
        listing = source.list_crawls(files, selection)
        return listing, captures_of(source, files, labels_of(listing))

    return read


def labels_of(listing):
    return [crawl.crawl for crawl in listing.crawls]


def gz(content):
    """Compress without a timestamp, because parameters of tests must be the same in every process."""
    return gzip.compress(content, compresslevel=1, mtime=0)


class Server(ThreadingHTTPServer):
    """HTTP server on loopback; `answers` maps a path to the function that answers its requests."""

    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = {}
        self.requests = []
        self.stopping = threading.Event()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def headers_sent_to(self, path):
        """Return the headers of the requests for a path, in order."""
        return [headers for requested, headers in self.requests if requested == path]

    def handle_error(self, request, client_address):
        """Ignore clients that disconnect, as many tests make them."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers)))
        self.server.answers.get(self.path, _absent)(self)

    def do_HEAD(self):
        self.do_GET()

    def log_message(self, *args):
        pass


def _absent(handler):
    reply(handler, b"not here", 404)


def serve(body, version='"v1"', *, cut=None, content_range=None):
    """Return an answer like a correct file server's, with ranges and conditions, and optional flaws.

    cut: disconnect after this number of bytes. content_range: the header Content-Range to send.
    """

    def answer(handler):
        headers = handler.headers
        if headers.get("If-None-Match") == version:
            reply(handler, status=304, ETag=version)
            return
        start = int(headers.get("Range", "bytes=0-")[6:-1]) if headers.get("If-Range") in {version, None} else 0
        handler.send_response(206 if start else 200)
        handler.send_header("ETag", version)
        handler.send_header("Content-Length", str(len(body) - start))
        if start:
            handler.send_header("Content-Range", content_range or f"bytes {start}-{len(body) - 1}/{len(body)}")
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(body[start:] if cut is None else body[start : start + cut])

    return answer


def reply(handler, body=b"", status=200, **headers):
    """Answer like a correct server; underscores in header names stand for hyphens."""
    if isinstance(body, str):
        body = body.encode()
    handler.send_response(status)
    for name, value in {"Content_Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    if handler.command == "GET":
        handler.wfile.write(body)


@contextmanager
def running(server):
    """Run a server until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def in_sequence(*answers):
    """Return an answer that uses each of the given ones once, and the last one from then on."""
    left = list(answers)

    def answer(handler):
        current = left.pop(0) if len(left) > 1 else left[0]
        current(handler)

    return answer


@pytest.fixture
def server():
    with running(Server()) as server:
        yield server
