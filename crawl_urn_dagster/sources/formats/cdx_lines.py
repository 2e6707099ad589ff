"""Detect the line format of an index file by its legend, or by what its columns contain.

Does not read captures; see `cdx_fields` and `cdx_batches`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from crawl_urn_dagster.sources.errors import SourceError

_HEADER = re.compile(r"(?P<delimiter>\W)CDX(?P<letters>((?P=delimiter)[A-Za-z])+)\s*")
_CDXJ_LINE = re.compile(r"(?P<key>\S+) (?P<time>[0-9]{4,17}) \{.*\}\s*")
_JSON_LINE = re.compile(r"\s*\{.*\"timestamp\".*\}\s*")
_TIME = re.compile(r"[0-9]{4,17}")
# Distinguishes a line that starts with a URL from a line that starts with another field.
_STARTS_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S*")
#: Fields that are read, by the letters of a legend. N and A are keys; the first one present is used.
LETTERS = {"key": "NA", "stamp": "b", "url": "a", "mime": "m", "status": "s", "warc": "g"}
# Pattern of each column, by its letter. The digits stand for length, offset and file of the original of a revisit.
_NUMBER, _FILE = re.compile("-|[0-9]+"), re.compile(r"-|(?![0-9]+\Z)\S+")
_CONTENTS = {
    "N": re.compile(r"(?!https?://)\S+"),
    "a": _STARTS_WITH_SCHEME,
    "b": re.compile(r"(?:199|20[0-9])[0-9]{1,14}"),
    "e": re.compile(r"-|[0-9a-fA-F]*[.:][0-9a-fA-F.:]*"),
    "m": re.compile("-|unk|unknown|no-type|- .*|[^/:]*/.*"),
    "s": re.compile("-|[0-9]{3}"),
    "k": re.compile("-|(?:[A-Za-z0-9-]+:)?(?:[0-9]*[A-Za-z][A-Za-z0-9]*=*|[0-9a-f]{32,})"),
    "r": _FILE,
    "M": re.compile("-|[A-Za-z]+"),
    "u": re.compile("-|<?urn:.*"),
    **dict.fromkeys("gf3", _FILE),
    **dict.fromkeys("SVn12", _NUMBER),
}
# Key and time, then file, offset and length of a block, in columns or as JSON.
_SECONDARY = re.compile(
    r"\S+ [0-9]{4,17}(\t[^\t]*){0,1}\t[0-9]+\t[0-9]+(\t[0-9]+)?\s*\Z"
    r"|\S+ [0-9]{4,17} (?!.*\"(url|mime|status)\")(?=.*\"offset\")\{.*\"filename\": *\"[^\"]*\.cdxj?(\.gz)?\""
)
_SECONDARY_META = re.compile(r"!meta .*cdxj-gzip")
_ANY, _NO_SPACE = re.compile(".*"), re.compile(r"\S+")
_ORIGINAL = "123"
# A word after the first of a field with delimiters is not the content of another column.
_OTHER_COLUMN = re.compile(r"-|[0-9]{3}|[0-9]{14,}.*|[A-Z2-7]{32}|.*https?://.*")


@dataclass(frozen=True)
class LineFormat:
    """Format of the lines of an index file.

    Attributes
    ----------
    letters
        Legend of CDX, one letter per field; empty for lines that hold JSON.
    delimiter
        Separator of two fields.
    has_prefix
        Whether key and time precede the JSON, as in CDXJ.
    """

    letters: str
    delimiter: str = " "
    has_prefix: bool = True

    @property
    def is_json(self) -> bool:
        """Whether lines hold JSON."""
        return not self.letters

    @functools.cached_property
    def wide(self) -> int | None:
        """Position (from 1) of the field that may contain the delimiter: mime, or the URL in lines without mime."""
        letter = "m" if "m" in self.letters else "a"
        return self.letters.index(letter) + 1 if letter in self.letters else None

    def position(self, name: str) -> int | None:
        """Return the position (from 1) of a field of `LETTERS`; None when the legend lacks it."""
        found = [self.letters.index(letter) + 1 for letter in LETTERS[name] if letter in self.letters]
        return found[0] if found else None

    def has(self, name: str) -> bool:
        """Test whether lines may have a field of `LETTERS`; lines of JSON may have any."""
        return self.is_json or self.position(name) is not None

    def is_under(self, legend: LineFormat) -> bool:
        """Test whether a legend names the fields of this format, or all but those of the original."""
        return self.letters.rstrip(_ORIGINAL) == legend.letters

    def split(self, text: str) -> list[str] | None:
        """Split a line that does not hold JSON into its fields; None when it does not have the fields of the format.

        Surplus delimiters belong to the field `wide`, if the other fields then contain what their letters stand for.
        """
        fields = text.split(self.delimiter)
        if len(fields) == len(self.letters):
            return fields
        if text[-1:].isspace():
            fields = text.rstrip().split(self.delimiter)
        extra = len(fields) - len(self.letters)
        if extra <= 0 or self.wide is None:
            return None if extra else fields
        first, after = self.wide - 1, self.wide + extra
        words = fields[first:after]
        fields[first:after] = [self.delimiter.join(words)]
        if any(map(_OTHER_COLUMN.fullmatch, words[1:])):
            return None
        return fields if _columns(self.letters).fullmatch("\n".join(fields)) else None

    def is_line(self, text: str) -> bool:
        """Test whether a text is a complete line of this format."""
        if self.is_json:
            return (_CDXJ_LINE if self.has_prefix else _JSON_LINE).fullmatch(text) is not None
        fields = self.split(text)
        if fields is None or not _TIME.fullmatch(fields[self.letters.index("b")]):
            return False
        return self.letters[0] != "a" or len(self.letters) == 2 or _fits("a", fields[0])

    def explains(self, text: str) -> bool:
        """Test whether every column of a line contains what its letter stands for."""
        if self.is_json:
            return self.is_line(text)
        fields = self.split(text)
        if self.letters == "ab":  # A list of URL and time also has URLs without a scheme.
            return fields is not None and bool(_NO_SPACE.fullmatch(fields[0])) and _fits("b", fields[1])
        return fields is not None and all(map(_fits, self.letters, fields))

    def __str__(self) -> str:
        """Return the legend, or the name of the format."""
        if self.is_json:
            return "CDXJ" if self.has_prefix else "lines of JSON"
        return " ".join(self.letters.translate(str.maketrans(_ORIGINAL, "SVg")))


def _fits(letter: str, field: str) -> bool:
    """Test whether a field contains what the letter of its column stands for."""
    return _CONTENTS.get(letter, _ANY).fullmatch(field) is not None


@functools.cache
def _columns(letters: str) -> re.Pattern[str]:
    """Return the pattern of columns, joined by line feeds, that contain what their letters stand for."""
    # The URL of a line without mime may lack the scheme.
    tests = (_ANY if letter == "a" and "m" not in letters else _CONTENTS.get(letter, _ANY) for letter in letters)
    return re.compile("\n".join(f"(?:{test.pattern})" for test in tests))


CDXJ = LineFormat("")
JSON_LINES = LineFormat("", has_prefix=False)
# 11, 10 and 9 fields, also with the three of the original; the Wayback CDX API's 7; wget's 11; Netarkivet's 8.
_LAYOUTS = ("NbamskrMSVg", "NbamskrMVg", "NbamskrVg", "NbamskS", "abamskrMVgu", "aebmngVk")
LAYOUTS = (*_LAYOUTS, *(f"{letters}{_ORIGINAL}" for letters in _LAYOUTS[:3]))
_WITHOUT_LEGEND = (
    CDXJ,
    JSON_LINES,
    *(LineFormat(letters, delimiter) for letters in LAYOUTS for delimiter in " \t"),
    *(LineFormat("ab", delimiter) for delimiter in "\t ,;"),
)


def parse_legend(text: str) -> LineFormat:
    """Parse a legend such as `` CDX N b a m s k r M S V g``, or its letters alone.

    Raises
    ------
    ValueError
        When the text is not a legend, or lacks the time (b), or both a key (N, A) and a URL (a).
    """
    legend = find_legend(text if "CDX" in text else f" CDX {text.strip()}")
    if legend is None:
        raise ValueError("is not the legend of a CDX file; expected letters such as N b a m s k r M S V g")
    if "b" not in legend.letters or not (legend.has("key") or legend.has("url")):
        raise ValueError("lacks b (the time), or both N (the key) and a (the URL), which every capture needs")
    return legend


def find_legend(line: str) -> LineFormat | None:
    """Return the format that a line is the legend of, which may lack necessary fields; None: it is not a legend."""
    match = _HEADER.fullmatch(line)
    return match and LineFormat(match["letters"].replace(match["delimiter"], ""), match["delimiter"])


def is_legend(text: str) -> bool:
    """Test whether a line is the legend of a CDX file."""
    return _HEADER.fullmatch(text) is not None


def is_secondary_index(lines: list[str]) -> bool:
    """Test whether lines are of an index of the blocks of another index: pywb's, Common Crawl's or a WACZ's."""
    blocks = sum(_SECONDARY.match(line) is not None for line in lines)
    return 2 * blocks > len(lines) or bool(lines and _SECONDARY_META.match(lines[0]))


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
        When the file is not an index, its legend does not fit its lines, or several formats fit them.
    """
    if not lines:
        raise SourceError(f"{location}: is empty; expected CDX, CDXJ, or lines of URL and time")
    if lines[0].startswith("WARC/"):
        raise SourceError(f"{location}: is a WARC file; use the source warc, or give its index")
    if is_secondary_index(lines):
        raise SourceError(
            f"{location}: is the index of another index's blocks, with lines such as {lines[-1][:80]!r}; give the "
            "index that holds the captures"
        )
    if is_legend(lines[0]):
        try:
            legend = parse_legend(lines[0])
        except ValueError as error:
            raise SourceError(f"{location}, line 1: found the legend {lines[0][:80]!r}, which {error}") from error
        return _check_legend(legend, lines, location)
    return legend or _detect_columns(lines, location)


def _check_legend(legend: LineFormat, lines: list[str], location: str) -> LineFormat:
    """Return the format of the lines under a legend: the legend's, or one whose further columns it does not name."""
    captures = [line for line in lines if not is_legend(line)]
    if 2 * sum(legend.split(line) is not None for line in captures) >= len(captures):
        return legend
    longer = LineFormat(legend.letters + _ORIGINAL, legend.delimiter)
    if longer.letters in LAYOUTS and 2 * sum(map(longer.explains, captures)) > len(captures):
        return longer
    found = len(captures[0].split(legend.delimiter))
    raise SourceError(
        f"{location}: its legend {lines[0][:80]!r} has {len(legend.letters)} fields, but lines such as "
        f"{captures[0][:80]!r} have {found}; correct the legend"
    )


def _detect_columns(lines: list[str], location: str) -> LineFormat:
    """Return the one format that explains the most lines."""
    explained = {form: sum(map(form.explains, lines)) for form in _WITHOUT_LEGEND}
    best, second = sorted(explained, key=explained.__getitem__, reverse=True)[:2]
    if not explained[best]:
        raise SourceError(
            f"{location}: found lines such as {lines[0][:80]!r}, expected CDX, CDXJ, or lines of URL and time; if the "
            "file is CDX with other fields, set `legend` to its letters"
        )
    if explained[second] == explained[best]:
        raise SourceError(
            f"{location}: {explained[best]} of the first {len(lines)} lines are {best}, and as many are {second}; set "
            "`legend` to the letters of the fields"
        )
    return best
