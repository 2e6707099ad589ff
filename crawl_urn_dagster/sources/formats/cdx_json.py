"""Find the values in lines of JSON that have the same keys in the same order, many lines at once.

Does not read lines of any other form; see `cdx_fields`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from crawl_urn_dagster.sources.formats import byte_spans
from crawl_urn_dagster.sources.formats.cdx_fields import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawl_urn_dagster.sources.formats.byte_spans import Mask, Positions, Spans, Text

_PAIR = re.compile(rb'"([^"]*)"[ \t]*:[ \t]*(?:"([^"]*)"|(0|[1-9][0-9]{0,17}))')
_OPEN, _COMMA, _CLOSE = (re.compile(rb"[ \t]*" + mark + rb"[ \t]*") for mark in (rb"\{", rb",", rb"\}"))
_PREFIX = re.compile(rb"[^ ]+ [0-9]{14}(?= \{)")
_STAMP_DIGITS = 14
_QUOTE = ord('"')
_FORMS_TRIED = 8


@dataclass(frozen=True)
class _Separator:
    """Text between two values, which is the same in all lines of a template.

    Attributes
    ----------
    text
        The text.
    quote
        Number, in the line, of the first quote in the text; None: the text is the end of the line.
    at
        Position of that quote in the text.
    """

    text: bytes
    quote: int | None
    at: int


@dataclass(frozen=True)
class _Template:
    """Form of lines with the same keys: a separator before and after each value.

    Attributes
    ----------
    separators
        The separators.
    names
        Key of each value.
    is_number
        Whether each value is a whole number, without quotes.
    """

    separators: tuple[_Separator, ...]
    names: tuple[str, ...]
    is_number: tuple[bool, ...]


class _Lines(NamedTuple):
    """Positions of the start, the end and, among all quotes, of the first quote of some lines."""

    starts: Positions
    ends: Positions
    quotes: Positions


def plain_json(
    data: bytes, text: Text, *, has_prefix: bool
) -> tuple[Positions, Iterator[tuple[Positions, Mapping[str, Spans]]]]:
    """Find lines of the same form, and the positions of their values.

    Parameters
    ----------
    data, text
        Lines that end with LF, as bytes and as an array of them.
    has_prefix
        Whether key and time precede the JSON, as in CDXJ.

    Returns
    -------
    Position of each LF, and groups of lines: their numbers, and spans by name of `cdx_fields.Fields`. A value has no
    escapes and is a text or a whole number.
    """
    controls = np.flatnonzero(text < ord(" "))
    is_end = text[controls] == ord("\n")
    ends = controls[is_end]
    unusual = controls[~is_end]
    if b"\\" in data:
        unusual = np.concatenate((unusual, np.flatnonzero(text == ord("\\"))))
    return ends, _groups(data, text, ends, np.searchsorted(ends, unusual), has_prefix=has_prefix)


def _groups(
    data: bytes, text: Text, ends: Positions, unusual: Positions, *, has_prefix: bool
) -> Iterator[tuple[Positions, Mapping[str, Spans]]]:
    """Yield groups of lines of the same form; `unusual` lines have a backslash or a control character."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    quotes = np.flatnonzero(text == _QUOTE)
    first = np.searchsorted(quotes, starts)
    counts = np.diff(first, append=len(quotes))
    counts[unusual] = 0
    found, frequencies = np.unique(counts[counts > 0], return_counts=True)
    for count in found[np.argsort(-frequencies)][:_FORMS_TRIED].tolist():
        left = np.flatnonzero(counts == count)
        for _ in range(_FORMS_TRIED):
            if not len(left):
                break
            template = _parse_template(data[starts[left[0]] : ends[left[0]]], has_prefix=has_prefix)
            if template is None:
                left = left[1:]
                continue
            spans, fits = _match(template, text, quotes, _Lines(starts[left], ends[left], first[left]))
            before, at = spans[0]
            fits &= _has_key_and_stamp(text, spans[0]) if has_prefix else before == at
            named = _name(spans, template, has_prefix=has_prefix)
            if "stamp" in named and ("key" in named or "url" in named):
                yield left[fits], {name: byte_spans.take(span, fits) for name, span in named.items()}
            # The first line is left out even if it does not fit its own template.
            left = left[1:][~fits[1:]]


def _parse_template(line: bytes, *, has_prefix: bool) -> _Template | None:
    """Return the form of a line; None if it has values other than texts and whole numbers."""
    prefix = _PREFIX.match(line)
    if has_prefix and prefix is None:
        return None
    start = prefix.end() if has_prefix and prefix else 0
    opening = _OPEN.match(line, start)
    pairs = []
    at = opening.end() if opening else -1
    while at >= 0:
        pair = _PAIR.match(line, at)
        if pair is None:
            return None
        pairs.append(pair)
        comma = _COMMA.match(line, pair.end())
        at = comma.end() if comma else -1
    if not pairs or not _CLOSE.fullmatch(line, pairs[-1].end()):
        return None
    spans = [pair.span(3 if pair[2] is None else 2) for pair in pairs]
    separators = []
    for low, high in zip((start, *(span[1] for span in spans)), (*(span[0] for span in spans), len(line)), strict=True):
        text = line[low:high]
        at = text.find(b'"')
        separators.append(_Separator(text, None if at < 0 else line.count(b'"', 0, low), at))
    names = tuple(pair[1].decode() for pair in pairs)
    return _Template(tuple(separators), names, tuple(pair[2] is None for pair in pairs))


def _match(template: _Template, text: Text, quotes: Positions, lines: _Lines) -> tuple[list[Spans], Mask]:
    """Return the spans of the values, preceded by what precedes the JSON, and which lines have the template's form."""
    fits = np.ones(len(lines.starts), dtype=bool)
    spans, low = [], lines.starts
    for number, separator in enumerate(template.separators):
        size = len(separator.text)
        at = lines.ends - size if separator.quote is None else quotes[lines.quotes + separator.quote] - separator.at
        fits &= at >= low
        fits &= byte_spans.holds(text, at, separator.text)
        if number and template.is_number[number - 1]:
            fits &= byte_spans.is_whole_number(text, (low, at))
        spans.append((low, at))
        low = at + size
    return spans, fits & (low == lines.ends)


def _name(spans: list[Spans], template: _Template, *, has_prefix: bool) -> dict[str, Spans]:
    """Return the spans of values by the name of the field."""
    by_key = dict(zip(template.names, spans[1:], strict=True))  # The last of equal keys counts, as in other readers.
    named = {
        name: next(by_key[alias] for alias in aliases if alias in by_key)
        for name, aliases in NAMES.items()
        if any(alias in by_key for alias in aliases)
    }
    if has_prefix:
        starts, ends = spans[0]
        named["key"] = (starts, ends - _STAMP_DIGITS - 1)
        named["stamp"] = (ends - _STAMP_DIGITS, ends)
    return named


def _has_key_and_stamp(text: Text, spans: Spans) -> Mask:
    """Return which texts before the JSON are a key without spaces and as many characters as a time has digits."""
    starts, ends = spans
    stop = ends - _STAMP_DIGITS - 1
    is_prefix = (stop > starts) & byte_spans.holds(text, stop, b" ")
    keys = byte_spans.extract(text, byte_spans.take((starts, stop), is_prefix))
    if byte_spans.contains(keys, b" "):
        is_prefix[is_prefix] = ~pc.match_substring(keys, " ").to_numpy(zero_copy_only=False)
    return is_prefix
