"""Read long text files as batches of numbered lines, in bounded memory.

Does not interpret lines; see `cdx_lines`.
"""

from __future__ import annotations

import codecs
import zlib
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from crawl_urn_dagster.sources.errors import DamagedError, SourceError
from crawl_urn_dagster.sources.transport.file_formats import START_BYTES, UTF_16_MARKS, open_decompressed, reject_binary
from crawl_urn_dagster.sources.transport.text_files import is_gzip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from crawl_urn_dagster.sources.input_files import LocalFile

MAX_LINE_BYTES = 2**20
_BATCH_BYTES = 2**22
_READ_BYTES = 2**20
_GZIP = 16 + zlib.MAX_WBITS
_MARK = codecs.BOM_UTF8


def line_batches(local: LocalFile, is_line: Callable[[str], bool]) -> Iterator[pa.Table]:
    """Read the lines of a file as tables of about 8 MiB; see `text_batches`.

    Yields
    ------
    Tables with columns ``line_number`` (from 1) and ``line`` (without LF or CR LF).
    """
    for before, text in text_batches(local, is_line):
        yield _table(text, before)


def text_batches(local: LocalFile, is_line: Callable[[str], bool]) -> Iterator[tuple[int, bytes]]:
    """Read the lines of a file, compressed or not.

    Parameters
    ----------
    local
        The file, in UTF-8, or in UTF-16 with a byte-order mark. Other bytes become U+FFFD. The mark is removed, also at
        the start of a line, where concatenated files leave it. The end of a gzip member in the middle of a line ends
        the line if the texts on both sides are lines, as in an index made of blocks.
    is_line
        Function that tests whether a text is a line of the format.

    Yields
    ------
    Number of lines before, and about 8 MiB of valid UTF-8 in lines that end with LF.

    Raises
    ------
    SourceError
        When a line is longer than `MAX_LINE_BYTES`, or the gzip is damaged or truncated.
    """
    whole: list[bytes | memoryview] = []
    tail, size, lines, is_seam = bytearray(), 0, 0, False
    for block, ends_member in read_blocks(local):
        if is_seam and tail and _are_lines(tail, block, is_line):
            tail += b"\n"
        is_seam = ends_member
        cut = block.rfind(b"\n") + 1
        if cut:
            whole += [bytes(tail), memoryview(block)[:cut]]
            tail.clear()
        tail += memoryview(block)[cut:]
        size += len(block)
        if len(tail) > MAX_LINE_BYTES:
            raise SourceError(
                f"{local.input.location}, line {lines + 1} or later: is longer than the {MAX_LINE_BYTES:,} bytes "
                "that a line may have; check that the file is text"
            )
        if size >= _BATCH_BYTES and whole:
            text = _clean(b"".join(whole))
            yield lines, text
            lines += int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")))
            whole, size = [], 0
    rest = b"".join((*whole, tail))
    if rest:
        yield lines, _clean(rest if rest.endswith(b"\n") else rest + b"\n")


def read_start(local: LocalFile, lines: int) -> list[str]:
    """Return the first lines in the first MiB of a file, without empty ones."""
    start = b""
    for block, _ in read_blocks(local):
        start += block
        if len(start) >= _READ_BYTES:
            break
    reject_binary(start[:START_BYTES], local.input.location)
    texts = _clean(start).decode().split("\n")
    return [text for text in texts if text][:lines]


def _are_lines(tail: bytearray, block: bytes, is_line: Callable[[str], bool]) -> bool:
    """Test whether the texts on both sides of the end of a gzip member are lines."""
    head = block[: block.find(b"\n")] if b"\n" in block else block
    return is_line(tail.decode(errors="replace")) and is_line(head.decode(errors="replace"))


def _clean(text: bytes) -> bytes:
    """Return valid UTF-8 with LF line ends and without byte-order marks at the start of lines."""
    if not text.isascii():
        text = text.removeprefix(_MARK).replace(b"\n" + _MARK, b"\n")
        try:
            text.decode()
        except UnicodeDecodeError:
            text = text.decode(errors="replace").encode()
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def _table(text: bytes, before: int) -> pa.Table:
    """Return the table of the lines of a text that ends with a line feed; `before` lines precede it."""
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    offsets = np.zeros(len(ends) + 1, dtype=np.int32)
    offsets[1:] = ends - np.arange(len(ends))
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text.replace(b"\n", b"")))
    return pa.table({"line_number": np.arange(before + 1, before + 1 + len(ends)), "line": lines})


def read_blocks(local: LocalFile) -> Iterator[tuple[bytes, bool]]:
    """Yield the content of a file in blocks of UTF-8, and whether a gzip member ends with each."""
    blocks = _raw_blocks(local)
    first, ends_member = next(blocks, (b"", False))
    blocks = chain([(first, ends_member)], blocks)
    if not first.startswith(UTF_16_MARKS):
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for block, _ in blocks:
        yield decoder.decode(block).encode("utf-8", "replace"), False
    yield decoder.decode(b"", final=True).encode("utf-8", "replace"), False


def _raw_blocks(local: LocalFile) -> Iterator[tuple[bytes, bool]]:
    if is_gzip(local):  # Members are read one by one, because the end of a member may end a line.
        with local.path.open("rb") as file:
            try:
                yield from _gzip_blocks(file)
            except (EOFError, zlib.error) as error:
                raise DamagedError(f"{local.input.location}: is damaged gzip: {error}; get the file again") from error
    else:
        with open_decompressed(local) as stream:
            while block := stream.read(_READ_BYTES):
                yield block, False


def _gzip_blocks(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Decompress a file of gzip members."""
    compressed = file.read(_READ_BYTES)
    while compressed:
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            block = member.decompress(compressed, _READ_BYTES)
            compressed = member.unconsumed_tail or member.unused_data
            if block or member.eof:
                yield block, member.eof
            if not compressed:
                compressed = file.read(_READ_BYTES)
            if not compressed and not member.eof and not block:
                raise EOFError("it ends in the middle of a member")
        # Some tools pad the file with zero bytes.
        compressed = compressed.lstrip(b"\0")
        while not compressed and (compressed := file.read(_READ_BYTES)):
            compressed = compressed.lstrip(b"\0")
