"""Test requests to a server on loopback that is busy, absent or redirects."""

import pytest

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster_tests.sources.conftest import in_sequence, reply


def busy(status, **headers):
    return lambda handler: reply(handler, b"busy", status, **headers)


def test_busy_server_is_retried(files, server):
    server.answers["/a"] = in_sequence(busy(503), busy(429, Retry_After="1"), lambda handler: reply(handler, b"fine"))
    assert files.fetch(server.url("/a")).path.read_bytes() == b"fine"
    assert len(server.headers_sent_to("/a")) == 3


@pytest.mark.parametrize("status", [403, 500, 502, 503, 504])
def test_server_that_stays_busy_is_an_error(two_attempts, server, status):
    server.answers["/a"] = busy(status)
    with pytest.raises(SourceError, match=rf"/a: the server answered {status} .*try again later"):
        two_attempts.fetch(server.url("/a"))
    assert len(server.headers_sent_to("/a")) == 2  # A third attempt would be past the deadline.


def test_retry_after_beyond_the_deadline_is_an_error(files, server):
    server.answers["/a"] = busy(429, Retry_After="3600")
    with pytest.raises(SourceError, match=r"answered 429 .*next attempt after 3600 seconds"):
        files.fetch(server.url("/a"))
    assert len(server.headers_sent_to("/a")) == 1


@pytest.mark.parametrize("status", [204, 206, 304, 400, 404, 410])
def test_other_answers_are_errors_at_once(files, server, status):
    server.answers["/a"] = busy(status)
    with pytest.raises(SourceError, match=rf"/a: the server answered {status} .*expected 200; check the address"):
        files.fetch(server.url("/a"))
    assert len(server.headers_sent_to("/a")) == 1


def test_closed_connection_is_an_error(two_attempts, server):
    server.answers["/a"] = lambda handler: handler.connection.close()
    with pytest.raises(SourceError, match="/a: the connection failed"):
        two_attempts.fetch(server.url("/a"))


def test_unreachable_server_is_an_error(two_attempts, server):
    address = server.url("/a")
    server.shutdown()
    server.server_close()
    with pytest.raises(SourceError, match="/a: the connection failed"):
        two_attempts.fetch(address)


def test_redirect_is_followed(files, server):
    server.answers["/a"] = lambda handler: reply(handler, status=302, Location="/b")
    server.answers["/b"] = lambda handler: reply(handler, b"moved")
    local = files.fetch(server.url("/a"))
    assert local.path.read_bytes() == b"moved"
    assert local.input.location == server.url("/a")


def test_body_of_a_redirect_is_not_read(two_attempts, server):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", "/b")
        handler.end_headers()
        while not handler.server.stopping.is_set():
            handler.wfile.write(b"x" * 1000)

    server.answers["/a"] = answer
    server.answers["/b"] = lambda handler: reply(handler, b"moved")
    assert two_attempts.fetch(server.url("/a")).path.read_bytes() == b"moved"


def test_redirect_loop_is_an_error(files, server):
    server.answers["/a"] = lambda handler: reply(handler, status=301, Location="/a")
    with pytest.raises(SourceError, match="/a: redirects more than 5 times"):
        files.fetch(server.url("/a"))
    assert len(server.headers_sent_to("/a")) == 6


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirect_leads_to_http_only(files, server, target):
    server.answers["/a"] = lambda handler: reply(handler, status=302, Location=target)
    with pytest.raises(SourceError, match=rf"/a: redirects to '{target}', not an http\(s\) address"):
        files.fetch(server.url("/a"))


def test_invalid_address_is_an_error(files):
    with pytest.raises(SourceError, match="cannot be requested"):
        files.fetch("http://:80:80/")
