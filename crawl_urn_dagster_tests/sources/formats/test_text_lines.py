"""Test batches of numbered lines from text and gzip files."""

import gzip

import pytest

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.formats import text_lines
from crawl_urn_dagster.sources.formats.text_lines import line_batches, read_start
from crawl_urn_dagster_tests.sources.conftest import gz


def read_lines(local, is_line=lambda _: False):
    batches = list(line_batches(local, is_line))
    return [row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)]


@pytest.fixture
def local(files, write):
    return lambda content: files.fetch(write("lines", content))


@pytest.mark.parametrize("content", [b"a\n\nb\n", b"a\r\n\r\nb", gz(b"a\n\nb\n"), gz(b"a\n") + gz(b"\nb") + b"\0\0"])
def test_lines_are_numbered_from_1(local, content):
    assert read_lines(local(content)) == [(1, "a"), (2, ""), (3, "b")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("compress", [bytes, gz])
def test_byte_order_marks_are_removed(local, encoding, compress):
    text = "ä b\nc\n" * 1000
    assert read_lines(local(compress(text.encode(encoding))))[:2] == [(1, "ä b"), (2, "c")]
    assert read_start(local(compress(text.encode(encoding))), 1) == ["ä b"]


def test_marks_of_concatenated_files_are_removed(local):
    assert read_lines(local(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")) == [(1, "a"), (2, "b")]
    assert read_lines(local(gz(b"\xef\xbb\xbfa\n") + gz(b"\xef\xbb\xbfb\n"))) == [(1, "a"), (2, "b")]


def test_utf_16_may_be_big_endian_and_damaged(local):
    assert read_lines(local(b"\xfe\xff\0a\0\n\0")) == [(1, "a"), (2, "\ufffd")]


def test_an_empty_file_has_no_lines(local):
    assert read_lines(local(b"")) == []


def test_bytes_that_are_not_utf8_are_replaced(local):
    assert read_lines(local(b"a\xff\nb\n")) == [(1, "a\ufffd"), (2, "b")]


@pytest.mark.parametrize(("is_line", "lines"), [(lambda _: True, ["a b", "c d"]), (lambda _: False, ["a bc d"])])
def test_a_gzip_member_ends_a_line_between_two_lines(local, is_line, lines):
    assert [line for _, line in read_lines(local(gz(b"a b") + gz(b"c d")), is_line)] == lines


@pytest.mark.parametrize("batch_bytes", [1, 3000])
def test_batches_continue_the_numbers(local, monkeypatch, batch_bytes):
    monkeypatch.setattr(text_lines, "_READ_BYTES", 1000)
    monkeypatch.setattr(text_lines, "_BATCH_BYTES", batch_bytes)
    content = b"".join(b"line %d\n" % number for number in range(1, 1001))
    batches = list(line_batches(local(content), lambda _: False))
    assert len(batches) > 1
    assert read_lines(local(gz(content))) == [(number, f"line {number}") for number in range(1, 1001)]


def test_a_line_that_is_too_long_is_an_error(local):
    with pytest.raises(SourceError, match="lines, line 1 or later: is longer than the 1,048,576 bytes"):
        read_lines(local(b"x" * 5_000_000))


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-5], lambda data: data + b"junk", lambda data: data[:30] + b"x" * 30 + data[60:]]
)
def test_damaged_gzip_is_an_error(local, damage):
    data = gzip.compress(bytes(range(32, 127)) * 20, mtime=0)
    with pytest.raises(SourceError, match=r"lines: is damaged gzip: .*; get the file again"):
        read_lines(local(damage(data)))


def test_the_start_of_a_file_has_no_empty_lines(local):
    assert read_start(local(b"\na\n\nb\nc\n"), 2) == ["a", "b"]
