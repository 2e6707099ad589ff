"""Downloads from a server on loopback that is busy, slow, moved, broken or hostile."""

import gzip

import pytest

from crawl_urn_dagster.sources import Files, SourceError
from crawl_urn_dagster.sources.tables import read_text
from crawl_urn_dagster_tests.sources.conftest import reply


@pytest.fixture
def hasty(tmp_path):
    """Files that give up after a second and take 1,000 bytes."""
    return Files(tmp_path / "cache", deadline_seconds=1, max_bytes=1000)


def in_turn(*answers):
    """Answer with each in turn, the last one from then on."""
    left = list(answers)

    def answer(handler):
        current = left.pop(0) if len(left) > 1 else left[0]
        current(handler)

    return answer


def busy(status, **headers):
    return lambda handler: reply(handler, b"busy", status, **headers)


def truncated(handler):
    """Promise 100 bytes, send 10, hang up."""
    reply(handler, b"0123456789", Content_Length="100")


def endless(handler):
    """Send without a length until the client hangs up."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.stopping.is_set():
        handler.wfile.write(b"x" * 1000)


def slow_body(handler):
    """Send a byte of the body every 50 ms for as long as anybody listens."""
    handler.send_response(200)
    handler.send_header("Content-Length", "900")
    handler.end_headers()
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b"x")


def slow_headers(handler):
    """Send a byte of a header every 50 ms: no socket ever waits long."""
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b"x")


def test_busy_server_is_asked_again(files, server):
    server.answers["/a"] = in_turn(busy(503), busy(429, Retry_After="1"), lambda handler: reply(handler, b"fine"))
    assert files.fetch(server.url("/a")).path.read_bytes() == b"fine"
    assert len(server.asked("/a")) == 3


@pytest.mark.parametrize("status", [403, 500, 502, 503, 504])
def test_server_that_stays_busy_is_an_error(hasty, server, status):
    server.answers["/a"] = busy(status)
    with pytest.raises(SourceError, match=rf"/a: the server answered {status} .*try again later"):
        hasty.fetch(server.url("/a"))
    assert len(server.asked("/a")) == 2  # after 0.5 seconds; the next would be past the deadline


def test_retry_after_past_the_deadline_is_not_waited_for(files, server):
    server.answers["/a"] = busy(429, Retry_After="3600")
    with pytest.raises(SourceError, match=r"answered 429 .*3600 to wait"):
        files.fetch(server.url("/a"))
    assert len(server.asked("/a")) == 1


@pytest.mark.parametrize("status", [204, 206, 304, 400, 404, 410])
def test_other_answers_are_errors_at_once(files, server, status):
    server.answers["/a"] = busy(status)
    with pytest.raises(SourceError, match=rf"/a: the server answered {status} .*expected 200; check the address"):
        files.fetch(server.url("/a"))
    assert len(server.asked("/a")) == 1


def test_truncated_file_is_an_error(hasty, server):
    server.answers["/a"] = truncated
    with pytest.raises(
        SourceError, match=r"/a: the connection failed: .*IncompleteRead\(10 bytes read, 90 more expected\)"
    ):
        hasty.fetch(server.url("/a"))
    assert [path for path in hasty.cache.rglob("*") if path.is_file()] == []


def test_file_that_was_truncated_once_is_fetched_again(files, server):
    server.answers["/a"] = in_turn(truncated, lambda handler: reply(handler, b"whole"))
    assert files.fetch(server.url("/a")).path.read_bytes() == b"whole"


def test_server_that_hangs_up_is_an_error(hasty, server):
    server.answers["/a"] = lambda handler: handler.connection.close()
    with pytest.raises(SourceError, match="/a: the connection failed"):
        hasty.fetch(server.url("/a"))


def test_no_server_is_an_error(hasty, server):
    address = server.url("/a")
    server.shutdown()
    server.server_close()
    with pytest.raises(SourceError, match="/a: the connection failed"):
        hasty.fetch(address)


def test_size_that_is_announced_is_capped_before_anything_is_sent(hasty, server):
    server.answers["/a"] = lambda handler: reply(handler, b"", Content_Length="1001")
    with pytest.raises(SourceError, match="/a: larger than the 1,000 bytes"):
        hasty.fetch(server.url("/a"))


def test_size_that_is_not_announced_is_capped(hasty, server):
    server.answers["/a"] = endless
    with pytest.raises(SourceError, match="/a: larger than the 1,000 bytes"):
        hasty.fetch(server.url("/a"))
    assert [path for path in hasty.cache.rglob("*") if path.is_file()] == []


def test_length_that_is_no_number_is_not_believed(hasty, server):
    server.answers["/a"] = lambda handler: reply(handler, b"fine", Content_Length="many")
    assert hasty.fetch(server.url("/a")).path.read_bytes() == b"fine"


@pytest.mark.parametrize("slow", [slow_headers, slow_body])
def test_deadline_holds_against_a_server_that_drips(hasty, server, slow):
    server.answers["/a"] = slow
    with pytest.raises(SourceError, match="/a: not received whole by the deadline"):
        hasty.fetch(server.url("/a"))
    assert [path for path in hasty.cache.rglob("*") if path.is_file()] == []


def test_redirect_is_followed(files, server):
    server.answers["/a"] = lambda handler: reply(handler, status=302, Location="/b")
    server.answers["/b"] = lambda handler: reply(handler, b"moved")
    local = files.fetch(server.url("/a"))
    assert local.path.read_bytes() == b"moved"
    assert local.input.location == server.url("/a")


def test_body_of_a_redirect_is_not_read(hasty, server):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", "/b")
        handler.end_headers()
        while not handler.server.stopping.is_set():
            handler.wfile.write(b"x" * 1000)

    server.answers["/a"] = answer
    server.answers["/b"] = lambda handler: reply(handler, b"moved")
    assert hasty.fetch(server.url("/a")).path.read_bytes() == b"moved"


def test_redirect_loop_is_an_error(files, server):
    server.answers["/a"] = lambda handler: reply(handler, status=301, Location="/a")
    with pytest.raises(SourceError, match="/a: redirects more than 5 times"):
        files.fetch(server.url("/a"))
    assert len(server.asked("/a")) == 6


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirect_leads_to_http_only(files, server, target):
    server.answers["/a"] = lambda handler: reply(handler, status=302, Location=target)
    with pytest.raises(SourceError, match=rf"/a: redirects to '{target}', which is no http\(s\) address"):
        files.fetch(server.url("/a"))


def test_address_that_makes_no_sense_is_an_error(files):
    with pytest.raises(SourceError, match="cannot be asked for"):
        files.fetch("http://:80:80/")


def test_file_is_asked_for_as_it_is_stored(files, server):
    """A server that compresses all the same is understood: the file is then gzip, and read as such."""
    server.answers["/a"] = lambda handler: reply(handler, gzip.compress(b"id,from\n"), Content_Encoding="gzip")
    local = files.fetch(server.url("/a"))
    assert server.asked("/a")[0]["Accept-Encoding"] == "identity"
    assert read_text(local) == "id,from\n"


def test_web_page_instead_of_data_is_an_error_when_read(files, server):
    server.answers["/a"] = lambda handler: reply(handler, "\n<!DOCTYPE html><html>Not here</html>")
    with pytest.raises(SourceError, match=r"/a: is a web page .*<!DOCTYPE html>.*; check the address"):
        read_text(files.fetch(server.url("/a")))
