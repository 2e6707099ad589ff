"""Read and classify one line of an index file; `cdx_batches` does the same for many plain lines at once.

Does not detect line formats; see `cdx_lines`.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple

from crawl_urn_dagster.sources.formats.canonical_urls import MAX_URL_CHARACTERS
from crawl_urn_dagster.sources.formats.cdx_lines import LETTERS, find_legend

if TYPE_CHECKING:
    from crawl_urn_dagster.sources.formats.cdx_lines import LineFormat

#: Names of the fields in JSON, most common first.
NAMES = {
    "key": ("urlkey",),
    "stamp": ("timestamp",),
    "url": ("url", "original"),
    "mime": ("mime", "mime_type", "mimetype"),
    "status": ("status", "status_code", "statuscode"),
    "warc": ("filename",),
    "method": ("method",),
}
#: The start of a key that ends its host with a parenthesis. Arrow's ``\s`` stands for fewer characters than Python's.
SURT_KEY = r"^[^()/?#:@ \t\n\r\f]+(:[0-9]+)?\)"
POST_MARKS = ("__wb_method=POST", "__wb_post_data=")

_SURT_KEY = re.compile(SURT_KEY)
_TIME = re.compile("[0-9]{4,17}")
_PADDING = "00000101000000"
_STATUS = re.compile("[0-9]{3}")
_WEB = re.compile(r"(?i:https?)://[^/?#]|[^:/?#@\[\s]+\.[^:/?#@\[\s]+(:[0-9]+)?([/?#]|\Z)")
# The Wayback CDX API ends an incomplete answer with an empty line and this.
_RESUME_KEY = re.compile(r"[^\s/]+%29[^\s/]*\+[0-9]{1,14}[^\s/]*")


class Outcome(Enum):
    """Reason for which a line is not a present capture."""

    EMPTY = "empty"
    HEADER = "header"
    FIELDS = "fields"
    TIME = "time"
    URL = "url"
    STATUS_FIELD = "status_field"
    NOT_WEB = "not_web"
    STATUS = "status"
    POST = "post"


#: Outcomes of malformed lines, with the reason.
PROBLEMS = {
    Outcome.FIELDS: "does not have the fields of the other lines",
    Outcome.TIME: "has no time of 4 to 17 digits from 1990 to 2099",
    Outcome.URL: "has no URL, or one that is too long",
    Outcome.STATUS_FIELD: "has a status that is neither three digits nor -",
}


class Fields(NamedTuple):
    """Fields of a line, as text; None: it lacks the field."""

    key: str | None = None
    stamp: str | None = None
    url: str | None = None
    mime: str | None = None
    status: str | None = None
    warc: str | None = None
    method: str | None = None


class Capture(NamedTuple):
    """A present capture.

    Attributes
    ----------
    key
        Key (SURT), or None.
    url
        URL as written, or a key that is not a SURT; None if the line has neither.
    stamp
        Time as a number of 14 digits.
    warc
        Name of the WARC, or None.
    """

    key: str | None
    url: str | None
    stamp: int
    warc: str | None


@dataclass(frozen=True)
class PresenceRules:
    """Rules of which captures count as present; see `cdx.CdxSource`."""

    present: tuple[str, ...]
    revisits: Literal["all", "original_present"] = "all"
    post: Literal["keep", "drop"] = "keep"

    def allows(self, status: str | None) -> bool:
        """Test whether a capture of a status, which None says is unknown, counts as present."""
        kinds = ("any", "unknown") if status is None else ("any", status, f"{status[0]}xx")
        return any(kind in self.present for kind in kinds)

    def allows_revisit(self, status: str | None) -> bool:
        """Test whether a revisit of an original of a status counts as present."""
        if "any" in self.present:
            return True
        # 304 is the status of the visit; the original is unknown.
        is_original_present = self.revisits == "all" or status in {None, "304"} or self.allows(status)
        return "revisit" in self.present and is_original_present


def read_line(line: str, form: LineFormat, rules: PresenceRules) -> Capture | Outcome:
    """Return the present capture in a line, or the reason why the line has none.

    Raises
    ------
    ValueError
        When the line is the legend of another format than `form`.
    """
    if not line.strip():
        return Outcome.EMPTY
    fields = _split_json(line, form) if form.is_json else _split_columns(line, form)
    return fields if isinstance(fields, Outcome) else _classify(fields, rules)


def parse_stamp(text: str | None) -> int | None:
    """Return a time of 4 to 17 digits as a number of 14, with the first month, day and hour where they are missing."""
    if text is None or not _TIME.fullmatch(text):
        return None
    digits = text[: min(len(text) // 2 * 2, 14)]
    padded = digits + _PADDING[len(digits) :]
    year, month, day, hour, minute, second = map(int, (padded[:4], *(padded[at : at + 2] for at in range(4, 14, 2))))
    try:
        datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - times of archives are UTC
    except ValueError:
        return None
    return int(padded) if 1990 <= year <= 2099 else None


def _split_columns(line: str, form: LineFormat) -> Fields | Outcome:
    legend = find_legend(line) if "CDX" in line else None
    if legend is not None:
        if not form.is_under(legend):
            raise ValueError(f"the legend {line[:80]!r} follows lines of the fields {form}; split the file there")
        return Outcome.HEADER
    values = form.split(line)
    if values is None:
        return Outcome.HEADER if _RESUME_KEY.fullmatch(line) else Outcome.FIELDS
    return Fields(**{name: values[number - 1] for name, number in _positions(form)})


@functools.cache
def _positions(form: LineFormat) -> tuple[tuple[str, int], ...]:
    """Return the position (from 1) of each field that a format has."""
    found = {name: form.position(name) for name in LETTERS}
    return tuple((name, number) for name, number in found.items() if number is not None)


def _split_json(line: str, form: LineFormat) -> Fields | Outcome:
    if line.startswith("!"):
        return Outcome.HEADER
    texts: dict[str, str | None] = {}
    rest = line
    if form.has_prefix:
        texts["key"], _, rest = line.partition(" ")
        texts["stamp"], _, rest = rest.partition(" ")
    try:
        found = json.loads(rest)
    except (ValueError, RecursionError):
        return Outcome.FIELDS
    if not isinstance(found, dict):
        return Outcome.FIELDS
    for name, aliases in NAMES.items():
        values = [found[alias] for alias in aliases if found.get(alias) is not None]
        if values and name not in texts:
            if isinstance(values[0], bool) or not isinstance(values[0], str | int):
                return Outcome.FIELDS
            texts[name] = str(values[0])
    return Fields(**texts)


def _classify(fields: Fields, rules: PresenceRules) -> Capture | Outcome:
    """Return the present capture with these fields, or the reason why there is none."""
    url = None if fields.url in {"", "-"} else fields.url
    key = fields.key if fields.key and _SURT_KEY.match(fields.key) else None
    url = fields.key if url is None and key is None else url
    stamp, address = parse_stamp(fields.stamp), key if url is None else url
    status = None if fields.status in {None, "", "-"} else fields.status
    outcome = None
    if stamp is None:
        outcome = Outcome.TIME
    elif address is None or not 2 <= len(address) <= MAX_URL_CHARACTERS or len(key or "") > MAX_URL_CHARACTERS:
        outcome = Outcome.URL
    elif status is not None and not _STATUS.fullmatch(status):
        outcome = Outcome.STATUS_FIELD
    elif url is not None and not _WEB.match(url):
        outcome = Outcome.NOT_WEB
    elif rules.post == "drop" and _is_post(fields):
        outcome = Outcome.POST
    elif not (rules.allows_revisit if fields.mime == "warc/revisit" else rules.allows)(status):
        outcome = Outcome.STATUS
    return Capture(key, url, stamp, fields.warc) if outcome is None and stamp is not None else outcome or Outcome.TIME


def _is_post(fields: Fields) -> bool:
    texts = (fields.key or "", fields.url or "")
    return fields.method == "POST" or any(mark.lower() in text.lower() for mark in POST_MARKS for text in texts)
