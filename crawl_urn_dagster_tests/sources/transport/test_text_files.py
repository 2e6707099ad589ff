"""Test text files: compression, encoding, length, and web pages in place of data."""

import gzip

import pytest

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.transport.text_files import MAX_TEXT_CHARACTERS, is_gzip, open_text, read_text
from crawl_urn_dagster_tests.sources.conftest import gz, reply, serve


@pytest.mark.parametrize("encode", [bytes, gz, b"\xef\xbb\xbf".__add__, lambda text: gz(text[:3]) + gz(text[3:])])
def test_text_is_decompressed_and_keeps_its_line_ends(files, write, encode):
    local = files.fetch(write("a", encode(b"id,from\r\n")))
    assert read_text(local) == "id,from\r\n"


def test_gzip_is_recognised_by_its_content(files, write):
    assert is_gzip(files.fetch(write("a.csv", gz(b"x"))))
    assert not is_gzip(files.fetch(write("a.csv.gz", b"x")))


def test_size_is_capped_after_decompression(files, write):
    with pytest.raises(SourceError, match="longer than the 67,108,864 characters"):
        read_text(files.fetch(write("a.csv", gz(b"x" * (MAX_TEXT_CHARACTERS + 1)))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xe9\n", "is not UTF-8 text: .*; expected CSV or JSON in UTF-8"),
        (gz(b"crawl\n" * 999)[:-12], "is damaged gzip: .*; get the file again"),
        (gz(b"crawl\n")[:5] + b"garbage", "is damaged gzip"),
    ],
)
def test_damage_is_reported_with_the_location(files, write, content, message):
    local = files.fetch(write("a.csv", content))
    with pytest.raises(SourceError, match=rf"a\.csv: {message}"), open_text(local) as stream:
        stream.read()


def test_compressed_transfer_is_read_as_gzip(files, server):
    """A server may compress the file although the request forbids it."""
    server.answers["/a"] = lambda handler: reply(handler, gzip.compress(b"id,from\n"), Content_Encoding="gzip")
    local = files.fetch(server.url("/a"))
    assert server.headers_sent_to("/a")[0]["Accept-Encoding"] == "identity"
    assert read_text(local) == "id,from\n"


@pytest.mark.parametrize("encode", [bytes, gzip.compress, b"\xef\xbb\xbf".__add__])
def test_web_page_instead_of_data_is_an_error(files, server, write, encode):
    page = encode(b"\n<!DOCTYPE html><html>Not here</html>")
    server.answers["/a"] = serve(page)
    for location in [server.url("/a")] * 2 + [write("a", page)]:
        with pytest.raises(SourceError, match=r"/a: is a web page .*<!DOCTYPE html>.*; check the address"):
            files.fetch(location)
    server.answers["/a"] = serve(b"data", '"v2"')
    assert files.fetch(server.url("/a")).path.read_bytes() == b"data"
