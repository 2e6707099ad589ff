"""Iterate the records of a WARC file, also after damage in the middle of the file.

Does not decide which records are captures; see `warc`.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from crawl_urn_dagster.sources.errors import DamagedError, SourceError
from crawl_urn_dagster.sources.transport.file_formats import compression_of, open_decompressed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.sources.input_files import LocalFile

_READ_BYTES = 2**20
_RECORD_START = re.compile(rb"\nWARC/[01]\.[0-9]+\r?\n")
_MEMBER_START = b"\x1f\x8b\x08"
_GZIP = 16 + zlib.MAX_WBITS
_PROBE_BYTES = 512


class Record(NamedTuple):
    """Headers of a record.

    Attributes
    ----------
    at
        Position of the record, or of its compressed block, in the file, in bytes.
    kind
        Type of the record, such as ``response``.
    url, date
        Values of ``WARC-Target-URI`` and ``WARC-Date``, or None.
    status
        Status of the HTTP answer, or None.
    length
        Value of ``Content-Length``, or None.
    """

    at: int
    kind: str
    url: str | None
    date: str | None
    status: int | None
    length: str | None


class Damage(NamedTuple):
    """A place in the file that is not a complete record.

    Attributes
    ----------
    at
        Position in the file, in bytes.
    problem
        Description of the damage.
    """

    at: int
    problem: str


def read_records(local: LocalFile) -> Iterator[Record | Damage]:
    """Iterate the records of a file, plain or compressed by gzip or zstd, and the damage between them.

    After damage, reading continues at the next record, or the next block of gzip, if there is one.

    Raises
    ------
    SourceError
        When fastwarc is not installed, or the file is not WARC.
    DamagedError
        When records after damage cannot be found, because the file is compressed as a whole or by zstd.
    """
    compression = compression_of(local)
    if compression not in {None, "gzip", "zstd"}:
        raise SourceError(f"{local.input.location}: is compressed by {compression}, expected gzip or zstd; convert it")
    with local.path.open("rb") as file:
        start: int | None = 0
        while start is not None:
            span = _Span(local, file, start)
            yield from span
            if span.problem is None:
                return
            if compression == "zstd":
                _reject_damage(local, span.problem)
            following = _find_next(file, span.end + 1, is_gzip=compression == "gzip")
            if span.is_empty and start == 0 and following is None:
                raise SourceError(f"{local.input.location}: is not a WARC file; check the path")
            yield Damage(span.end, span.problem)
            start = following


class _Span:
    """The records from a position to the end of the file or the next damage.

    Attributes
    ----------
    problem
        After the iteration: description of the damage; None at the end of the file.
    end
        After the iteration: position of the last record, or of the start.
    is_empty
        After the iteration: whether the file has no record.
    """

    def __init__(self, local: LocalFile, file: BinaryIO, start: int) -> None:
        self._local, self._file, self._start = local, file, start
        self.problem: str | None = None
        self.end = start
        self.is_empty = False

    def __iter__(self) -> Iterator[Record]:
        last, is_one_block = None, False
        try:
            for record in _iterate(self._file, self._start):
                if last is not None:
                    is_one_block = is_one_block or record.at == last.at
                    yield last
                last = record
        except OSError as error:
            if error.errno is not None:  # The disk's error, not the reader's.
                raise
            self.problem = f"the next record cannot be read: {error}"
        self.is_empty = last is None
        if last is None:
            return
        self.end = last.at
        if is_one_block:
            _reject_damage(self._local, self.problem)
            yield last
        elif self.problem or self._is_whole(last):
            yield last

    def _is_whole(self, last: Record) -> bool:
        """Test whether the last record is whole, and note the problem if it or what follows it is not."""
        if not _has_stated_length(self._file, last):
            self.problem = "a record ends early"
            return False
        if compression_of(self._local) == "gzip" and _has_rest(self._file, last.at):
            self.problem = "the next record cannot be read: it ends early"
        return True


def _iterate(file: BinaryIO, start: int) -> Iterator[Record]:
    try:
        from fastwarc.warc import ArchiveIterator
    except ImportError as error:
        raise SourceError("reading WARC files needs fastwarc; install crawl-urn-dagster[warc]") from error
    file.seek(start)
    for record in ArchiveIterator(file):
        headers, http = record.headers, record.http_headers
        yield Record(
            record.stream_pos,
            headers.get("WARC-Type") or "unknown",
            headers.get("WARC-Target-URI"),
            headers.get("WARC-Date"),
            None if http is None else http.status_code,
            headers.get("Content-Length"),
        )


def _reject_damage(local: LocalFile, problem: str | None) -> None:
    """Reject a file that is compressed as a whole and damaged: an unknown number of records would be lost."""
    if problem is None:
        with open_decompressed(local) as stream:
            while stream.read(_READ_BYTES):
                pass
        return
    raise DamagedError(
        f"{local.input.location}: is damaged ({problem}), and not compressed in blocks of gzip; records after the "
        "damage cannot be found, so get the file again"
    )


def _has_stated_length(file: BinaryIO, record: Record) -> bool:
    """Test whether the last record of a file has as many bytes as it states."""
    from fastwarc.warc import ArchiveIterator

    if record.length is None or not record.length.strip().isdigit():
        return False
    file.seek(record.at)
    try:
        reader = next(ArchiveIterator(file, parse_http=False)).reader
        size = 0
        while block := reader.read(_READ_BYTES):
            size += len(block)
    except (OSError, StopIteration):
        return False
    return size == int(record.length)


def _has_rest(file: BinaryIO, at: int) -> bool:
    """Test whether bytes other than zeros, which some tools pad files with, follow a block of gzip."""
    file.seek(at)
    member = zlib.decompressobj(_GZIP)
    while not member.eof and (block := file.read(_READ_BYTES)):
        member.decompress(block)
    rest = member.unused_data.strip(b"\0")
    while not rest and (block := file.read(_READ_BYTES)):
        rest = block.strip(b"\0")
    return bool(rest)


def _find_next(file: BinaryIO, after: int, *, is_gzip: bool) -> int | None:
    """Return the position of the next record, or of the next block of gzip that starts with one."""
    file.seek(after)
    tail, at = b"", after
    while block := file.read(_READ_BYTES):
        data = tail + block
        if is_gzip:
            found = data.find(_MEMBER_START)
            while found >= 0:
                if _starts_record(file, at + found):
                    return at + found
                found = data.find(_MEMBER_START, found + 1)
            file.seek(at + len(data))
        elif match := _RECORD_START.search(data):
            return at + match.start() + 1
        kept = data[-32:]
        at += len(data) - len(kept)
        tail = kept
    return None


def _starts_record(file: BinaryIO, at: int) -> bool:
    """Test whether a block of gzip starts with a record of WARC."""
    file.seek(at)
    try:
        start = zlib.decompressobj(_GZIP).decompress(file.read(_PROBE_BYTES), _PROBE_BYTES)
    except zlib.error:
        return False
    return _RECORD_START.match(b"\n" + start) is not None
