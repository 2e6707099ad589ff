"""Compare and extract the texts at many positions of an array of bytes at once.

Does not find positions; see `cdx_batches` and `cdx_json`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Text = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
#: First positions of some texts, and the positions after their last.
Spans = tuple[Positions, Positions]

#: Value of `read_number` where the text is not a number.
NOT_A_NUMBER = -1
_WORD = np.dtype(np.uint64).itemsize
_ZERO = np.uint8(ord("0"))


def take(spans: Spans, chosen: Mask) -> Spans:
    """Return the chosen spans."""
    return spans[0][chosen], spans[1][chosen]


def extract(text: Text, spans: Spans) -> pa.Array:
    """Return the texts at spans that do not overlap and whose positions increase."""
    starts, ends = spans
    if not len(starts):
        return pa.array([], pa.string())
    # Every second element of this array, which shares the memory of the text, is the text between two spans.
    offsets = np.empty(2 * len(starts), dtype=np.int32)
    offsets[::2], offsets[1::2] = starts, ends
    pieces = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))
    return pieces.take(pa.array(np.arange(0, len(pieces), 2)))


def contains(texts: pa.Array, byte: bytes) -> bool:
    """Test whether any of the texts that `extract` returned contains a byte."""
    content = texts.buffers()[2]
    return content is not None and byte in memoryview(content).tobytes()


def holds(text: Text, at: Positions, expected: bytes) -> Mask:
    """Return at which positions the text holds the expected bytes."""
    size = len(expected)
    if len(text) < size or not len(at):
        return np.zeros(len(at), dtype=bool)
    is_held: Mask = np.ones(len(at), dtype=bool)
    if at.min() < 0 or at.max() > len(text) - size:
        is_held = (at >= 0) & (at <= len(text) - size)
        at = np.where(is_held, at, 0)
    if size >= _WORD:
        words = _words(text)
        for position in (*range(0, size - _WORD, _WORD), size - _WORD):
            is_held &= words[position:][at] == np.frombuffer(expected, "<u8", 1, position)[0]
    else:
        for position, byte in enumerate(expected):
            is_held &= text[at + position] == byte
    return is_held


def equals(text: Text, spans: Spans, expected: bytes) -> Mask:
    """Return which spans hold the expected bytes and no more."""
    starts, ends = spans
    is_equal: Mask = ends - starts == len(expected)
    candidates = np.flatnonzero(is_equal)
    is_equal[candidates] = holds(text, starts[candidates], expected)
    return is_equal


def read_number(text: Text, at: Positions, digits: int) -> Positions:
    """Return the numbers of up to 16 digits at some positions; `NOT_A_NUMBER` where there are other characters."""
    if digits >= _WORD and len(text) >= digits:
        return _read_words(text, at, digits)
    value = np.zeros(len(at), dtype=np.int64)
    is_number = np.ones(len(at), dtype=bool)
    for position in range(digits):
        digit = text[np.minimum(at + position, len(text) - 1)] - _ZERO
        is_number &= digit < 10
        value *= 10
        value += digit
    value[~is_number] = NOT_A_NUMBER
    return value


def _words(text: Text) -> npt.NDArray[np.uint64]:
    """Return eight bytes at any position as one number."""
    return np.ndarray((len(text) - _WORD + 1,), dtype="<u8", buffer=text, strides=(1,))


def _read_words(text: Text, at: Positions, digits: int) -> Positions:
    """Return the numbers of 8 to 16 digits, from the first eight digits and the last eight."""
    words = _words(text)
    is_number = (at >= 0) & (at <= len(text) - digits)
    at = np.where(is_number, at, 0)
    parts = []
    for position in (0, digits - _WORD):
        word = words[at + position] ^ np.uint64(0x3030303030303030)
        is_number &= ((word + np.uint64(0x7676767676767676)) | word) & np.uint64(0x8080808080808080) == 0
        # Digits are joined to numbers of two, four and eight digits.
        word = (word * np.uint64(2561)) >> np.uint64(8) & np.uint64(0x00FF00FF00FF00FF)
        word = (word * np.uint64(6553601)) >> np.uint64(16) & np.uint64(0x0000FFFF0000FFFF)
        parts.append(((word * np.uint64(42949672960001)) >> np.uint64(32)).astype(np.int64))
    scale = 10 ** (digits - _WORD)
    return np.where(is_number, parts[0] * scale + parts[1] % scale, NOT_A_NUMBER)


def is_whole_number(text: Text, spans: Spans) -> Mask:
    """Return which spans hold a whole number of up to 18 digits as JSON has it: without a leading zero."""
    starts, ends = spans
    length = ends - starts
    is_number: Mask = (length >= 1) & (length <= 18)
    is_number &= (text[np.clip(starts, 0, len(text) - 1)] != _ZERO) | (length == 1)
    for position in range(int(length[is_number].max(initial=0))):
        digit = text[np.clip(starts + position, 0, len(text) - 1)] - _ZERO
        is_number &= (digit < 10) | (position >= length)
    return is_number
