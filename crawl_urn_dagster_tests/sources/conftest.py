"""Fixtures of the tests of sources: a cache, files to write, a server on loopback that does as it is told."""

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from crawl_urn_dagster.sources import Files, Selection

WHOLE = Selection()


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path / "cache", deadline_seconds=20)


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file of the test's folder; gives its path as text."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def captures_of(source, files, crawls):
    """Sorted captures of some crawls, each of which is said to be complete once, at its end."""
    found, complete = [], []
    for crawl, elements, is_complete, *_ in source.captures(files, crawls):
        assert crawl not in complete
        found += [(crawl, element) for element in elements]
        complete += [crawl] if is_complete else []
    assert sorted(complete) == sorted(crawls)
    return sorted(found)


@pytest.fixture
def read(files):
    """Read a source: what it lists, and the sorted captures of all that it lists."""

    def read(source, selection=WHOLE):
        listing = source.list_crawls(files, selection)
        return listing, captures_of(source, files, labels_of(listing))

    return read


def labels_of(listing):
    return [crawl.crawl for crawl in listing.crawls]


def gz(content):
    """Compress, without the time in it: parameters of tests must be the same in every process."""
    return gzip.compress(content, compresslevel=1, mtime=0)


class Server(ThreadingHTTPServer):
    """HTTP on loopback; `answers` maps a path to what is done with a request for it."""

    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = {}
        self.requests = []
        self.stopping = threading.Event()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def asked(self, path):
        """Headers of the requests for a path, in their order."""
        return [headers for asked_path, headers in self.requests if asked_path == path]

    def handle_error(self, request, client_address):
        """A client that gave up is what many tests are about."""


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
    """Answer as a good server of a file does, ranges and conditions included; the flaws are optional.

    cut: hang up after so many bytes. content_range: what is said to be sent of a range.
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
    """Answer as a good server does; header names have _ for -."""
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
    """Let a server answer until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def in_turn(*answers):
    """Answer with each in turn, the last one from then on."""
    left = list(answers)

    def answer(handler):
        current = left.pop(0) if len(left) > 1 else left[0]
        current(handler)

    return answer


@pytest.fixture
def server():
    with running(Server()) as server:
        yield server
