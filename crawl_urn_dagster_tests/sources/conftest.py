"""Fixtures of the tests of sources: a cache, files to write, a server on loopback that does as it is told."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from crawl_urn_dagster.sources import Files


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
        self.server.answers[self.path](self)

    def log_message(self, *args):
        pass


def reply(handler, body=b"", status=200, **headers):
    """Answer as a good server does; header names have _ for -."""
    if isinstance(body, str):
        body = body.encode()
    handler.send_response(status)
    for name, value in {"Content_Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.stopping.set()
    server.shutdown()
    server.server_close()
    thread.join()
