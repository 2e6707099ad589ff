"""What the lines of an index file hold: CDX of any legend, CDXJ, Netarkivet's columns, or URL and time.

Here: finding that out from a file's first lines. Not here: reading the lines (`cdx`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawl_urn_dagster.sources.inputs import SourceError

_HEADER = re.compile(r"(?P<delimiter>\W)CDX(?P<letters>((?P=delimiter)[A-Za-z])+)\s*")
_CDXJ_LINE = re.compile(r"(?P<key>\S+) (?P<time>[0-9]{4,17}) \{.*\}\s*")
_TIME = re.compile(r"[0-9]{4,17}")
# What the first field of a line that starts with a URL or a key looks like, and no other field.
_STARTS_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
#: What is read of a line, by the letters of a legend: N and A are keys, of which the first wins.
LETTERS = {"key": "NA", "stamp": "b", "url": "a", "mime": "m", "status": "s", "warc": "g"}


@dataclass(frozen=True)
class LineFormat:
    """What a line holds.

    Attributes
    ----------
    letters
        Of CDX: the legend, a letter per field. Empty: CDXJ.
    delimiter
        Between two fields.
    """

    letters: str
    delimiter: str = " "

    @property
    def is_json(self) -> bool:
        """Whether lines are CDXJ."""
        return not self.letters

    @property
    def wide(self) -> int | None:
        """Position of the field that may hold the delimiter, from 1: mime, or the URL where there is none."""
        letter = "m" if "m" in self.letters else "a"
        return self.letters.index(letter) + 1 if letter in self.letters else None

    def position(self, name: str) -> int | None:
        """Position of a field of `LETTERS`, from 1; None when the legend lacks it."""
        found = [self.letters.index(letter) + 1 for letter in LETTERS[name] if letter in self.letters]
        return found[0] if found else None

    def has(self, name: str) -> bool:
        """Whether lines give a field of `LETTERS`; those of CDXJ may give any."""
        return self.is_json or self.position(name) is not None

    def is_line(self, text: str) -> bool:
        """Whether a text is a whole line of this format."""
        if self.is_json:
            return _CDXJ_LINE.fullmatch(text) is not None
        fields = text.rstrip().split(self.delimiter)
        extra = len(fields) - len(self.letters)
        if extra < 0 or (extra and self.wide is None):
            return False
        time = self.letters.index("b")
        time += extra if self.wide is not None and time >= self.wide else 0
        starts_well = self.letters[0] != "a" or len(self.letters) == 2 or _STARTS_WITH_SCHEME.match(fields[0])
        return bool(starts_well and _TIME.fullmatch(fields[time]))


CDXJ = LineFormat("")
# Files without a legend, the likeliest first: 11, 10 and 9 fields, Netarkivet's 8, and lists of URL and time.
_WITHOUT_LEGEND = (
    CDXJ,
    LineFormat("NbamskrMSVg"),
    LineFormat("NbamskrMVg"),
    LineFormat("NbamskrVg"),
    LineFormat("aebmngVk"),
    *(LineFormat("ab", delimiter) for delimiter in "\t ,;"),
)


def parse_legend(text: str) -> LineFormat:
    """Read a legend such as `` CDX N b a m s k r M S V g``, or its letters alone.

    Raises
    ------
    ValueError
        When it is none, or lacks the time (b), or both a key (N, A) and a URL (a).
    """
    match = _HEADER.fullmatch(text if "CDX" in text else f" CDX {text.strip()}")
    if not match:
        raise ValueError("is no legend of a CDX file; expected letters such as N b a m s k r M S V g")
    legend = LineFormat(match["letters"].replace(match["delimiter"], ""), match["delimiter"])
    if "b" not in legend.letters or not (legend.has("key") or legend.has("url")):
        raise ValueError("lacks b (the time), or both N (the key) and a (the URL), without which there is no capture")
    return legend


def detect_format(lines: list[str], legend: LineFormat | None, location: str) -> LineFormat:
    """Tell what the lines of a file hold from the first ones.

    Parameters
    ----------
    lines
        The first lines.
    legend
        What to take a file for that has no legend of its own; None: see.
    location
        Of the file, for the message.

    Raises
    ------
    SourceError
        When the file is no index.
    """
    if not lines:
        raise SourceError(f"{location}: is empty; expected CDX, CDXJ, or lines of URL and time")
    if _HEADER.fullmatch(lines[0]):
        try:
            return parse_legend(lines[0])
        except ValueError as error:
            raise SourceError(f"{location}, line 1: found the legend {lines[0][:80]!r}, which {error}") from error
    if legend is not None:
        return legend
    matching = {one: sum(map(one.is_line, lines)) for one in _WITHOUT_LEGEND}
    best = max(matching, key=matching.__getitem__)
    if not matching[best]:
        raise SourceError(
            f"{location}: found lines such as {lines[0][:80]!r}, expected CDX, CDXJ, or lines of URL and time; if it "
            "is CDX of other fields, set `legend` to its letters"
        )
    return best
