"""Test compressed files, damage, and binary files in place of text."""

import bz2
import gzip
import io
import lzma
import zipfile

import pyarrow as pa
import pytest

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.errors import DamagedError
from crawl_urn_dagster.sources.transport.text_files import read_text

TEXT = b"id,from\r\n" * 1000


def zipped(*members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def zstd(content):
    return pa.compress(content, "zstd", asbytes=True)


def twice(compress):
    return compress(TEXT[:100]) + compress(TEXT[100:])


COMPRESSED = {
    "gzip": gzip.compress(TEXT),
    "bzip2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "zstd": zstd(TEXT),
    "zip": zipped(("__MACOSX/._a.csv", b"x"), ("a.csv", TEXT)),
    "gzip of members": twice(gzip.compress),
    "bzip2 of streams": twice(bz2.compress),
    "xz of streams": twice(lzma.compress),
    "zstd of frames": twice(zstd),
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed_text_is_read(files, write, name):
    assert read_text(files.fetch(write("named without ending", COMPRESSED[name]))).encode() == TEXT


@pytest.mark.parametrize("name", COMPRESSED)
def test_truncated_file_is_damaged(files, write, name):
    with pytest.raises(DamagedError, match=rf"a: is damaged {name.split()[0]}: .*; get the file again"):
        read_text(files.fetch(write("a", COMPRESSED[name][:-8])))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ARROW1\x00\x00", "is a Feather file, expected text"),
        (b"SQLite format 3\x00", "is a SQLite file"),
        (b"\x1b]0;title\x07" + b"\x00" * 9, "is a binary file"),
        (gzip.compress(b"x" * 257 + b"ustar"), "is a tar file"),
        (gzip.compress(gzip.compress(TEXT)), "is a gzip file"),
        (zipped(("a.csv", b"a"), ("b.csv", b"b")), "is a zip archive of 2 files, expected one"),
        (zipped(), "not a zip file|zip archive of 0 files|is a binary file"),
        (zipped(("[Content_Types].xml", b""), ("xl/workbook.xml", b"")), "is an Excel file; export it as CSV"),
    ],
    # Not the contents: compressed ones contain the time.
    ids=["feather", "sqlite", "binary", "tar", "gzip twice", "zip of two", "empty zip", "excel"],
)
def test_other_format_is_named_without_its_bytes(files, write, content, message):
    with pytest.raises(SourceError, match=message) as error:
        read_text(files.fetch(write("a", content)))
    assert str(error.value).isprintable()
