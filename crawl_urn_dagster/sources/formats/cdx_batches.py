"""Read the captures of many lines at once: plain lines as arrays of bytes, each other line by `cdx_fields.read_line`.

A line is plain if its fields stand where the format has them, its time has 14 digits and its URL starts with http.
Does not read files; see `text_lines`. Does not find the values of JSON; see `cdx_json`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl_urn_dagster.sources.formats import byte_spans
from crawl_urn_dagster.sources.formats.byte_spans import NOT_A_NUMBER
from crawl_urn_dagster.sources.formats.canonical_urls import MAX_URL_CHARACTERS
from crawl_urn_dagster.sources.formats.cdx_fields import POST_MARKS, PROBLEMS, SURT_KEY, Capture, Outcome, read_line
from crawl_urn_dagster.sources.formats.cdx_json import plain_json
from crawl_urn_dagster.sources.formats.cdx_lines import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawl_urn_dagster.sources.formats.byte_spans import Mask, Positions, Spans, Text
    from crawl_urn_dagster.sources.formats.cdx_fields import PresenceRules
    from crawl_urn_dagster.sources.formats.cdx_lines import LineFormat

SCHEMA = pa.schema([("key", pa.string()), ("url", pa.string()), ("stamp", pa.int64()), ("warc", pa.string())])
_POST = re.compile("|".join((*POST_MARKS, '"method"')).encode(), re.IGNORECASE)
_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_STATUSES = (*(f"{number:03}" for number in range(1000)), None)
# A field with more delimiters than this is rare; its line is read alone.
_SURPLUS_COLUMNS = 3
_UNKNOWN = _STATUSES.index(None)


class Batch(NamedTuple):
    """Result of reading some lines.

    Attributes
    ----------
    captures
        The present captures, with columns ``key, url, stamp, warc`` as in `cdx_fields.Capture`.
    outcomes
        Number of lines by outcome; None: present captures. Empty lines are not counted.
    malformed
        The first malformed lines, with number and outcome.
    """

    captures: pa.Table
    outcomes: Counter[Outcome | None]
    malformed: list[tuple[int, str, Outcome]]


@dataclass(frozen=True)
class BatchReader:
    """Reads batches of lines of one format.

    Parameters
    ----------
    form
        Format of the lines.
    rules
        Rules of which captures count as present.
    needs_url, needs_warc
        Whether the URL of captures that have a key, and the name of the WARC, are returned.
    """

    form: LineFormat
    rules: PresenceRules
    needs_url: bool = True
    needs_warc: bool = True

    def read(self, data: bytes, before: int, *, samples: int) -> Batch:
        """Read some lines.

        Parameters
        ----------
        data
            Valid UTF-8 in lines that end with LF.
        before
            Number of lines before.
        samples
            Largest number of malformed lines to return.

        Raises
        ------
        ValueError
            When a line is the legend of another format, with the number of the line.
        """
        text = np.frombuffer(data, dtype=np.uint8)
        outcomes: Counter[Outcome | None] = Counter()
        ends, groups = self._split(data, text)
        is_post = _lines_with(_POST, data, ends) if self.rules.post == "drop" else None
        starts = np.concatenate(([0], ends[:-1] + 1))
        is_other = ends > starts
        tables = []
        for lines, spans in groups:
            stamps = _stamps(text, spans["stamp"])
            is_plain = stamps != NOT_A_NUMBER
            if is_post is not None:
                is_plain &= ~is_post[lines]
            present = self._classify(text, spans, is_plain)
            is_other[lines[is_plain]] = False
            outcomes[None] += int(present.sum())
            outcomes[Outcome.STATUS] += int(is_plain.sum() - present.sum())
            tables.append(self._captures(text, spans, stamps, present))
        rows: list[Capture] = []
        malformed: list[tuple[int, str, Outcome]] = []
        for line in np.flatnonzero(is_other).tolist():
            words = data[starts[line] : ends[line]].decode()
            found = self._read_line(words, before + line + 1)
            if isinstance(found, Capture):
                rows.append(found)
            elif found in PROBLEMS and len(malformed) < samples:
                malformed.append((before + line + 1, words, found))
            if found is not Outcome.EMPTY:
                outcomes[None if isinstance(found, Capture) else found] += 1
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        tables.append(pa.table(list(map(pa.array, columns, SCHEMA.types)), schema=SCHEMA))
        return Batch(pa.concat_tables(tables), outcomes, malformed)

    def _read_line(self, words: str, number: int) -> Capture | Outcome:
        try:
            return read_line(words, self.form, self.rules)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error

    def _split(self, data: bytes, text: Text) -> tuple[Positions, Iterator[tuple[Positions, Mapping[str, Spans]]]]:
        """Return the ends of lines, and groups of lines with the fields that each line of the group has."""
        if self.form.is_json:
            return plain_json(data, text, has_prefix=self.form.has_prefix)
        delimiter = self.form.delimiter.encode()
        # One comparison, whose few hits are compared again, is faster than a comparison for each of the two bytes.
        bytes_at_end = b"\n" + delimiter * (len(delimiter) == 1)
        stops = np.flatnonzero(text <= max(bytes_at_end))
        found = text[stops]
        is_line_end = found == ord("\n")
        is_end = is_line_end | (found == bytes_at_end[-1])
        if not is_end.all():
            stops, is_line_end = stops[is_end], is_line_end[is_end]
        last = np.flatnonzero(is_line_end)
        return stops[last], self._columns(data, stops, last)

    def _columns(
        self, data: bytes, stops: Positions, last: Positions
    ) -> Iterator[tuple[Positions, Mapping[str, Spans]]]:
        """Yield the lines with as many columns as the format, and those with one to three more in the field `wide`."""
        fields, wide = len(self.form.letters), self.form.wide or 0
        counts = np.diff(last, prepend=-1)
        for extra in range(_SURPLUS_COLUMNS + 1 if wide else 1):
            lines = np.flatnonzero(counts == fields + extra)
            if extra:
                starts = np.where(lines > 0, stops[last[lines - 1]] + 1, 0)
                bounds = zip(starts.tolist(), stops[last[lines]].tolist(), strict=True)
                lines = lines[np.array([self._is_wide(data, *bound) for bound in bounds], dtype=bool)]
            if not len(lines):
                continue
            # The first stop of the first line stands at -1, before the text.
            first = last[lines] - fields - extra
            column = cache(lambda number, first=first: stops[first + number])
            if first[0] < 0:
                column(0)[0] = -1
            spans = {}
            for name in LETTERS:
                number = self.form.position(name)
                if number is not None:
                    end = number + extra * (number >= wide)
                    spans[name] = (column(number + extra * (number > wide) - 1) + 1, column(end))
            yield lines, spans

    def _is_wide(self, data: bytes, start: int, end: int) -> bool:
        """Test whether a line has the fields of the format, with surplus delimiters in the field `wide`."""
        line = data[start:end].decode()
        return line == line.rstrip() and self.form.split(line) is not None

    def _classify(self, text: Text, spans: Mapping[str, Spans], is_plain: Mask) -> Mask:
        """Return which lines are present captures; clear `is_plain` of the lines that must be read one by one."""
        status = np.full(len(is_plain), _UNKNOWN)
        if "status" in spans:
            status = _statuses(text, spans["status"])
            is_plain &= status != NOT_A_NUMBER
        if "url" in spans:
            is_plain &= _is_web(text, spans["url"])
        for name in ("key", "url"):
            if name in spans:
                starts, ends = spans[name]
                is_plain &= ends - starts <= MAX_URL_CHARACTERS
        if "url" not in spans:
            has_key = pc.match_substring_regex(byte_spans.extract(text, spans["key"]), SURT_KEY)
            is_plain &= has_key.to_numpy(zero_copy_only=False)
        is_present, is_present_revisit = _presence_by_status(self.rules)
        present: Mask = is_present[status]
        if "mime" in spans:
            revisits = np.flatnonzero(byte_spans.equals(text, spans["mime"], b"warc/revisit"))
            present[revisits] = is_present_revisit[status[revisits]]
        return is_plain & present

    def _captures(self, text: Text, spans: Mapping[str, Spans], stamps: Positions, present: Mask) -> pa.Table:
        """Return the present captures of the lines whose fields stand at some positions."""

        def extract(name: str) -> pa.Array:
            return byte_spans.extract(text, byte_spans.take(spans[name], present))

        columns = {"stamp": pa.array(stamps[present])}
        needs_url = self.needs_url or "key" not in spans
        if "key" in spans:
            columns["key"] = extract("key")
            is_surt = pc.match_substring_regex(columns["key"], SURT_KEY)
            if not pc.all(is_surt).as_py():
                columns["key"] = pc.if_else(is_surt, columns["key"], None)
                needs_url = True
        for name, is_needed in (("url", needs_url), ("warc", self.needs_warc)):
            if is_needed and name in spans:
                columns[name] = extract(name)
        missing = pa.nulls(len(columns["stamp"]), pa.string())
        return pa.table({name: columns.get(name, missing) for name in SCHEMA.names}, schema=SCHEMA)


@cache
def _presence_by_status(rules: PresenceRules) -> tuple[Mask, Mask]:
    """Return whether captures and revisits count as present, by the status of the original."""
    return (
        np.array([rules.allows(status) for status in _STATUSES]),
        np.array([rules.allows_revisit(status) for status in _STATUSES]),
    )


def _lines_with(pattern: re.Pattern[bytes], data: bytes, ends: Positions) -> Mask:
    """Return which lines contain a pattern."""
    found = np.zeros(len(ends), dtype=bool)
    at = np.array([match.start() for match in pattern.finditer(data)], dtype=np.int64)
    found[np.searchsorted(ends, at)] = True
    return found


def _stamps(text: Text, spans: Spans) -> Positions:
    """Return valid times of 14 digits from 1990 to 2099 as numbers, and `NOT_A_NUMBER` for all others."""
    starts, ends = spans
    stamps = byte_spans.read_number(text, starts, 14)
    # Division by a constant is vectorised, unlike the remainder.
    day = stamps // 10**6
    month = day // 100
    year = month // 100
    clock, day, month = stamps - day * 10**6, day - month * 100, month - year * 100
    is_valid = (ends - starts == 14) & (year >= 1990) & (year <= 2099) & (month >= 1) & (month <= 12) & (day >= 1)
    is_leap_day = (month == 2) & (day == 29) & (year % 4 == 0)  # 2000 is a leap year.
    is_valid &= (day <= _DAYS[month * is_valid]) | is_leap_day
    minute = clock // 100
    hour = minute // 100
    is_valid &= (hour < 24) & (minute - hour * 100 < 60) & (clock - minute * 100 < 60)
    stamps[~is_valid] = NOT_A_NUMBER
    return stamps


def _statuses(text: Text, spans: Spans) -> Positions:
    """Return statuses of three digits, `_UNKNOWN` where the field is empty or ``-``, else `NOT_A_NUMBER`."""
    starts, ends = spans
    length = ends - starts
    status = byte_spans.read_number(text, starts, 3)
    is_unknown = (length == 0) | ((length == 1) & (text[starts] == ord("-")))
    return np.where(is_unknown, _UNKNOWN, np.where(length == 3, status, NOT_A_NUMBER))


def _is_web(text: Text, spans: Spans) -> Mask:
    """Return which URLs start with http:// or https:// and a host."""
    starts, ends = spans
    at = np.minimum(starts, len(text) - 9)
    lower = np.uint8(0x20)
    is_web = ends - starts > 7
    for number, byte in enumerate(b"http"):
        is_web &= text[at + number] | lower == byte
    at = at + 4
    at += text[at] | lower == ord("s")
    for number, byte in enumerate(b"://"):
        is_web &= text[at + number] == byte
    host = np.minimum(at + 3, len(text) - 1)
    is_web &= host < ends
    for byte in b"/?#":
        is_web &= text[host] != byte
    return is_web
