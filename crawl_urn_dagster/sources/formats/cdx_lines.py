"""Detect the line format of an index file: CDX of any legend, CDXJ, Netarkivet's columns, or URL and time.

Does not read captures; see `cdx`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawl_urn_dagster.sources.errors import SourceError

_HEADER = re.compile(r"(?P<delimiter>\W)CDX(?P<letters>((?P=delimiter)[A-Za-z])+)\s*")
_CDXJ_LINE = re.compile(r"(?P<key>\S+) (?P<time>[0-9]{4,17}) \{.*\}\s*")
_TIME = re.compile(r"[0-9]{4,17}")
# Distinguishes a line that starts with a URL from a line that starts with another field.
_STARTS_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
#: Fields that are read, by the letters of a legend. N and A are keys; the first one present is used.
LETTERS = {"key": "NA", "stamp": "b", "url": "a", "mime": "m", "status": "s", "warc": "g"}


@dataclass(frozen=True)
class LineFormat:
    """Format of the lines of an index file.

    Attributes
    ----------
    letters
        Legend of CDX, one letter per field; empty for CDXJ.
    delimiter
        Separator of two fields.
    """

    letters: str
    delimiter: str = " "

    @property
    def is_json(self) -> bool:
        """Whether lines are CDXJ."""
        return not self.letters

    @property
    def wide(self) -> int | None:
        """Position (from 1) of the field that may contain the delimiter: mime, or the URL in lines without mime."""
        letter = "m" if "m" in self.letters else "a"
        return self.letters.index(letter) + 1 if letter in self.letters else None

    def position(self, name: str) -> int | None:
        """Return the position (from 1) of a field of `LETTERS`; None when the legend lacks it."""
        found = [self.letters.index(letter) + 1 for letter in LETTERS[name] if letter in self.letters]
        return found[0] if found else None

    def has(self, name: str) -> bool:
        """Test whether lines may have a field of `LETTERS`; CDXJ lines may have any."""
        return self.is_json or self.position(name) is not None

    def is_line(self, text: str) -> bool:
        """Test whether a text is a complete line of this format."""
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
# Formats of files without a legend, most likely first: 11, 10 and 9 fields, Netarkivet's 8, and URL and time.
_WITHOUT_LEGEND = (
    CDXJ,
    LineFormat("NbamskrMSVg"),
    LineFormat("NbamskrMVg"),
    LineFormat("NbamskrVg"),
    LineFormat("aebmngVk"),
    *(LineFormat("ab", delimiter) for delimiter in "\t ,;"),
)


def parse_legend(text: str) -> LineFormat:
    """Parse a legend such as `` CDX N b a m s k r M S V g``, or its letters alone.

    Raises
    ------
    ValueError
        When the text is not a legend, or lacks the time (b), or both a key (N, A) and a URL (a).
    """
    match = _HEADER.fullmatch(text if "CDX" in text else f" CDX {text.strip()}")
    if not match:
        raise ValueError("is not the legend of a CDX file; expected letters such as N b a m s k r M S V g")
    legend = LineFormat(match["letters"].replace(match["delimiter"], ""), match["delimiter"])
    if "b" not in legend.letters or not (legend.has("key") or legend.has("url")):
        raise ValueError("lacks b (the time), or both N (the key) and a (the URL), which every capture needs")
    return legend


def detect_format(lines: list[str], legend: LineFormat | None, location: str) -> LineFormat:
    """Detect the format of a file from its first lines.

    Parameters
    ----------
    lines
        The first lines.
    legend
        Format of a file without a legend; None: it is detected.
    location
        Location of the file, for the message.

    Raises
    ------
    SourceError
        When the file is not an index.
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
    matching = {candidate: sum(map(candidate.is_line, lines)) for candidate in _WITHOUT_LEGEND}
    best = max(matching, key=matching.__getitem__)
    if not matching[best]:
        raise SourceError(
            f"{location}: found lines such as {lines[0][:80]!r}, expected CDX, CDXJ, or lines of URL and time; if the "
            "file is CDX with other fields, set `legend` to its letters"
        )
    return best
