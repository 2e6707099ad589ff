"""Test reading remote files by ranges, from a server on loopback that is correct, broken or hostile."""

import functools
import io

import pytest

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.transport.ranges import RemoteFile, read_range
from crawl_urn_dagster_tests.command import PATIENT_SECONDS
from crawl_urn_dagster_tests.sources.conftest import in_sequence, reply
from crawl_urn_dagster_tests.sources.generated_indexes import answer_range

BODY = bytes(range(256)) * 1000


@pytest.fixture
def url(server):
    server.answers["/a"] = functools.partial(answer_range, content=BODY)
    return server.url("/a")


def test_remote_file_reads_like_a_local_one(url):
    local, remote = io.BytesIO(BODY), RemoteFile(url, deadline_seconds=PATIENT_SECONDS)
    assert remote.readable()
    assert remote.seekable()
    for offset, whence, size in [
        (-8, io.SEEK_END, 8),
        (5, io.SEEK_SET, 10),
        (3, io.SEEK_CUR, 0),
        (-9, io.SEEK_END, 99),
    ]:
        assert remote.seek(offset, whence) == local.seek(offset, whence)
        assert remote.read(size) == local.read(size)
        assert remote.tell() == local.tell()
    remote.seek(100)
    assert remote.read() == BODY[100:]


def test_the_end_of_the_file_is_requested_once(url, server):
    remote = RemoteFile(url, deadline_seconds=PATIENT_SECONDS)
    for _ in range(3):
        remote.seek(-8, io.SEEK_END)
        assert remote.read(8) == BODY[-8:]
    assert [headers["Range"] for headers in server.headers_sent_to("/a")] == ["bytes=-65536"]


def test_last_bytes_of_a_shorter_file_are_the_whole_file(server):
    server.answers["/a"] = functools.partial(answer_range, content=b"short")
    part = read_range(server.url("/a"), None, 100, deadline_seconds=PATIENT_SECONDS)
    assert (part.content, part.total, part.version) == (b"short", 5, '"v1"')


def test_a_part_that_is_cut_is_requested_again(url, server):
    cut = functools.partial(_answer_cut, content=BODY)
    server.answers["/a"] = in_sequence(cut, functools.partial(answer_range, content=BODY))
    assert read_range(url, 10, 90, deadline_seconds=PATIENT_SECONDS).content == BODY[10:100]


def _answer_cut(handler, content):
    handler.send_response(206)
    handler.send_header("Content-Range", f"bytes 10-99/{len(content)}")
    handler.send_header("Content-Length", "90")
    handler.end_headers()
    handler.wfile.write(content[10:50])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda handler: reply(handler, "whole file"), "the server does not support ranges; download the files"),
        (lambda handler: reply(handler, "<html>sign in"), "is a web page or XML"),
        (lambda handler: reply(handler, "gone", 404), "answered 404"),
        (lambda handler: reply(handler, "x" * 9, 206, Content_Range="bytes 7-15/100"), "sent another part than"),
        (lambda handler: reply(handler, "x" * 9, 206), "sent another part than"),
    ],
)
def test_wrong_answers_are_errors(url, server, answer, message):
    server.answers["/a"] = answer
    with pytest.raises(SourceError, match=message):
        read_range(url, 10, 90, deadline_seconds=PATIENT_SECONDS)


def test_a_file_that_changes_meanwhile_is_an_error(url, server):
    remote = RemoteFile(url, deadline_seconds=PATIENT_SECONDS)
    server.answers["/a"] = functools.partial(answer_range, content=BODY, version='"v2"')
    with pytest.raises(SourceError, match="changed while it was read; try again when the file no longer changes"):
        remote.read(10)
