"""HTTP servers on loopback: one publishes files, and one receives messages.

Does not define the published files; see `collections_for_tests`.
"""

import functools
import http.server
import json
import os
import threading

from crawl_urn_dagster_tests.command import free_port


class FileServer:
    """A server of files, which can be published again; the server can be closed and opened again."""

    def __init__(self, folder):
        self.folder = folder
        self._modified = 1_600_000_000
        folder.mkdir()
        self.port = free_port()
        self.open()

    def open(self):
        """Open the server, again at the same address."""
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(self.folder))
        handler.log_message = lambda *_: None
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def address(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def publish(self, name, frame):
        """Replace a table atomically, as CSV."""
        partial = self.folder / "partial"
        frame.to_csv(partial, index=False)
        self._modified += 1  # HTTP dates have whole seconds
        os.utime(partial, (self._modified, self._modified))
        partial.replace(self.folder / name)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class Receiver:
    """A webhook that keeps its messages, and answers with a list of statuses, then with 200."""

    def __init__(self):
        self.received, self.answers = [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.received.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"json://127.0.0.1:{self._server.server_port}/hook/s3cret"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def titles(self):
        return [message["title"] for message in self.received]

    def close(self):
        self._server.shutdown()
        self._server.server_close()
