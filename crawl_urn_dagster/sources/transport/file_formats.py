"""Identify file formats by their first bytes, and open files decompressed.

Does not interpret text; see `text_files`.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from crawl_urn_dagster.sources.errors import DamagedError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from crawl_urn_dagster.sources.input_files import LocalFile

#: Number of bytes at the start of a file that suffice to identify its format.
START_BYTES = 1024
PARQUET, FEATHER, ORC = "Parquet", "Feather", "ORC"
_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_BINARY_FORMATS = {
    b"PAR1": PARQUET,
    b"ARROW1": FEATHER,
    b"ORC": ORC,
    b"FEA1": "Feather version 1",
    b"Obj\x01": "Avro",
    b"SQLite format 3\x00": "SQLite",
    b"\x89HDF": "HDF5",
    b"\x93NUMPY": "NumPy",
    b"7z\xbc\xaf\x27\x1c": "7-zip",
    b"Rar!": "RAR",
    b"%PDF": "PDF",
    b"\xd0\xcf\x11\xe0": "Excel 97",
}
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def compression_of(local: LocalFile) -> str | None:
    """Return the name of a file's compression, by its first bytes: an address need not end in ``.gz``."""
    return _named(_COMPRESSIONS, _start_of(local))


def binary_format_of(local: LocalFile) -> str | None:
    """Return the name of a file's binary format by its first bytes; None for text and unknown formats."""
    return _named(_BINARY_FORMATS, _start_of(local))


def reject_binary(start: bytes, location: str) -> None:
    """Reject a file, by the first bytes of its decompressed content, that is not text.

    Messages name the format and contain no byte of the file, which could change the state of a terminal.
    """
    name = _named(_BINARY_FORMATS, start) or _named(_COMPRESSIONS, start)
    if name is None and start[257:262] == b"ustar":
        name = "tar"
    if name is None and b"\x00" in start and not start.startswith(UTF_16_MARKS):
        name = "binary"
    if name is not None:
        raise SourceError(f"{location}: is a {name} file, expected text; convert it, or check the address")


@contextmanager
def open_decompressed(local: LocalFile) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed: plain, gzip, bzip2, xz, zstd, or a zip archive of one file.

    Raises
    ------
    DamagedError
        When the compressed data are damaged or truncated, which may be noticed while they are read.
    SourceError
        When a zip archive does not contain exactly one file, or is encrypted.
    """
    import pyarrow as pa

    name = compression_of(local)
    if name is None:
        with local.path.open("rb") as stream:
            yield stream
        return
    try:
        with _OPENERS[name](local) as stream:
            yield stream
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:  # The disk's error, not the decompressor's.
            raise
        raise DamagedError(f"{local.input.location}: is damaged {name}: {error}; get the file again") from error


def _open_zstd(local: LocalFile) -> BinaryIO:
    import pyarrow as pa

    return cast("BinaryIO", pa.input_stream(str(local.path), compression="zstd"))


@contextmanager
def _open_zip(local: LocalFile) -> Iterator[BinaryIO]:
    location = local.input.location
    with zipfile.ZipFile(local.path) as archive:
        # macOS adds a folder of metadata to archives.
        members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
        if any(one.filename == "[Content_Types].xml" for one in members):
            raise SourceError(f"{location}: is an Excel file; export it as CSV")
        if len(members) != 1:
            raise SourceError(f"{location}: is a zip archive of {len(members):,} files, expected one; extract them")
        if members[0].flag_bits & 1:
            raise SourceError(f"{location}: is an encrypted zip archive; extract it")
        with archive.open(members[0]) as stream:
            yield cast("BinaryIO", stream)


_OPENERS: dict[str, Callable[[LocalFile], AbstractContextManager[BinaryIO]]] = {
    "gzip": lambda local: cast("BinaryIO", gzip.GzipFile(local.path)),
    "bzip2": lambda local: cast("BinaryIO", bz2.BZ2File(local.path)),
    "xz": lambda local: cast("BinaryIO", lzma.LZMAFile(local.path)),  # noqa: SIM115 - open_decompressed closes it
    "zstd": _open_zstd,
    "zip": _open_zip,
}


def _named(formats: dict[bytes, str], start: bytes) -> str | None:
    return next((name for magic, name in formats.items() if start.startswith(magic)), None)


def _start_of(local: LocalFile) -> bytes:
    with local.path.open("rb") as file:
        return file.read(START_BYTES)


def peek(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    """Return the first bytes of a stream, and a stream that still has them."""
    buffered = io.BufferedReader(cast("io.RawIOBase", stream), 2**16)
    return buffered.peek(START_BYTES)[:START_BYTES], buffered
