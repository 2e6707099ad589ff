"""Test downloads from a server on loopback that is slow, truncated or interrupted."""

import hashlib
import itertools
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from crawl_urn_dagster import progress
from crawl_urn_dagster.sources import Files, SourceError
from crawl_urn_dagster_tests.command import PATIENT_SECONDS
from crawl_urn_dagster_tests.sources.conftest import in_sequence, reply, serve


@pytest.fixture
def hasty(tmp_path):
    """Files with a deadline of one second."""
    return Files(tmp_path / "cache", deadline_seconds=1)


def kept(files):
    return [path.name for path in files.cache.rglob("*") if path.is_file() and path.name != ".lock"]


def truncated(handler):
    """Announce 100 bytes, send 10, close the connection."""
    reply(handler, b"0123456789", Content_Length="100")


def endless(handler):
    """Send a body of unknown length until the client disconnects."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.stopping.is_set():
        handler.wfile.write(b"x" * 1000)


def slow_body(handler):
    """Send a byte of the body every 50 ms until the server stops."""
    handler.send_response(200)
    handler.send_header("Content-Length", "900")
    handler.end_headers()
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b"x")


def slow_headers(handler):
    """Send a byte of a header every 50 ms, which no socket time-out detects."""
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b"x")


def test_truncated_file_is_an_error(two_attempts, server):
    server.answers["/a"] = truncated
    with pytest.raises(
        SourceError, match=r"/a: the connection failed: .*IncompleteRead\(10 bytes read, 90 more expected\)"
    ):
        two_attempts.fetch(server.url("/a"))
    assert kept(two_attempts) == []


def test_truncated_file_is_downloaded_again(files, server):
    server.answers["/a"] = in_sequence(truncated, lambda handler: reply(handler, b"whole"))
    assert files.fetch(server.url("/a")).path.read_bytes() == b"whole"


def test_announced_size_is_capped_before_the_transfer(two_attempts, server):
    server.answers["/a"] = lambda handler: reply(handler, b"", Content_Length="1001")
    with pytest.raises(SourceError, match="/a: is larger than the 1,000 bytes"):
        two_attempts.fetch(server.url("/a"))


def test_unannounced_size_is_capped(two_attempts, server):
    server.answers["/a"] = endless
    with pytest.raises(SourceError, match="/a: is larger than the 1,000 bytes"):
        two_attempts.fetch(server.url("/a"))
    assert kept(two_attempts) == []


def test_invalid_length_is_ignored(two_attempts, server):
    server.answers["/a"] = lambda handler: reply(handler, b"fine", Content_Length="many")
    assert two_attempts.fetch(server.url("/a")).path.read_bytes() == b"fine"


@pytest.mark.parametrize("slow", [slow_headers, slow_body])
def test_deadline_ends_a_slow_transfer(hasty, server, slow):
    server.answers["/a"] = slow
    with pytest.raises(SourceError, match="/a: not received completely by the deadline"):
        hasty.fetch(server.url("/a"))
    assert kept(hasty) == []


BODY = bytes(range(256)) * 3000  # a few chunks


def test_interrupted_download_is_resumed(files, server):
    server.answers["/a"] = in_sequence(serve(BODY, cut=200_000), serve(BODY, cut=300_000), serve(BODY))
    local = files.fetch(server.url("/a"))
    assert local.path.read_bytes() == BODY
    assert local.input.sha256 == hashlib.sha256(BODY).hexdigest()
    asked = [(headers.get("Range"), headers.get("If-Range")) for headers in server.headers_sent_to("/a")]
    assert asked == [(None, None), ("bytes=200000-", '"v1"'), ("bytes=500000-", '"v1"')]
    assert sorted(kept(files)) == sorted([local.input.sha256, "entry.json"])


def test_changed_file_is_downloaded_from_its_start(files, server):
    """The condition of the request fails, and the server sends the whole new version."""
    server.answers["/a"] = in_sequence(serve(BODY, cut=200_000), serve(BODY[::-1], '"v2"'))
    assert files.fetch(server.url("/a")).path.read_bytes() == BODY[::-1]
    assert len(server.headers_sent_to("/a")) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        serve(BODY, content_range=f"bytes 0-{len(BODY) - 1}/{len(BODY)}"),
        serve(BODY, content_range="bytes many"),
        lambda handler: reply(handler, b"x" * 9, 206, ETag='"v2"', Content_Range=f"bytes 200000-200008/{len(BODY)}"),
        lambda handler: reply(handler, b"no", 416),
    ],
    ids=["another start", "no range", "another version", "no such range"],
)
def test_wrong_range_is_discarded(files, server, wrong):
    server.answers["/a"] = in_sequence(serve(BODY, cut=200_000), wrong, serve(BODY))
    assert files.fetch(server.url("/a")).path.read_bytes() == BODY
    assert "Range" not in server.headers_sent_to("/a")[2]


def test_incomplete_rest_is_resumed(files, server):
    def short(handler):
        part = BODY[200_000:300_000]
        reply(handler, part, 206, ETag='"v1"', Content_Range=f"bytes 200000-299999/{len(BODY)}")

    server.answers["/a"] = in_sequence(serve(BODY, cut=200_000), short, serve(BODY))
    assert files.fetch(server.url("/a")).path.read_bytes() == BODY
    assert server.headers_sent_to("/a")[2]["Range"] == "bytes=300000-"


def test_file_without_a_version_is_not_resumed(files, server):
    """A weak ETag is not a version: the bytes that it names may differ."""
    weak = serve(BODY, 'W/"v1"', cut=200_000)
    server.answers["/a"] = in_sequence(weak, lambda handler: reply(handler, BODY))
    assert files.fetch(server.url("/a")).path.read_bytes() == BODY
    assert "Range" not in server.headers_sent_to("/a")[1]


def test_size_is_capped_when_resuming(two_attempts, server):
    server.answers["/a"] = in_sequence(serve(b"x" * 900, cut=500), serve(b"x" * 1001))
    with pytest.raises(SourceError, match="/a: is larger than the 1,000 bytes"):
        two_attempts.fetch(server.url("/a"))
    assert kept(two_attempts) == []


def test_download_of_a_killed_process_is_resumed(files, server):
    def stalling(handler):
        serve(BODY, cut=400_000)(handler)
        handler.wfile.flush()
        handler.server.stopping.wait(PATIENT_SECONDS)

    server.answers["/a"] = in_sequence(stalling, serve(BODY))
    url = server.url("/a")
    code = (
        "import sys, pathlib; from crawl_urn_dagster.sources import Files; "
        "Files(pathlib.Path(sys.argv[1])).fetch(sys.argv[2])"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(files.cache), url])
    end = time.monotonic() + PATIENT_SECONDS
    while not any(path.stat().st_size >= 300_000 for path in files.cache.rglob("download")):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert files.fetch(url).path.read_bytes() == BODY
    resumed_at = int(server.headers_sent_to("/a")[1]["Range"][6:-1])
    assert 300_000 <= resumed_at <= 400_000


def test_second_process_waits_until_its_deadline(files, hasty, server):
    from filelock import FileLock

    server.answers["/a"] = serve(b"x")
    folder = files.fetch(server.url("/a")).path.parent
    with FileLock(folder / ".lock"), pytest.raises(SourceError, match="another process is downloading it"):
        hasty.fetch(server.url("/a"))


def test_progress_is_reported(tmp_path, server, monkeypatch):
    times = itertools.chain([0.0], itertools.repeat(10.5))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(times)))
    lines = []
    server.answers["/a"] = serve(BODY)
    Files(tmp_path / "cache", report=lines.append).fetch(server.url("/a"))
    (line,) = lines
    assert line.startswith(f"downloading {server.url('/a')}: ")
    assert f" of {len(BODY):,} bytes in 10." in line
