"""Read captures from the ``crawl.log`` of Heritrix, which has a line for every URI that was tried.

Does not classify statuses and URLs of fetched URIs; see `cdx_batches`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator

from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.archive_captures import CapturesSource
from crawl_urn_dagster.sources.formats.cdx_lines import LineFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawl_urn_dagster.sources.formats.index_lines import Index
    from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes
    from crawl_urn_dagster.sources.input_files import LocalFile

_LINES_FOR_DETECTION = 100
# Time of logging, status, size, URI, discovery path, referrer, mime, thread, start of the fetch, digest, source tag,
# annotations, and perhaps an object of JSON.
_LINE = re.compile(
    rb"^(?P<logged>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.]*Z?|[0-9]{14,17}) +"
    rb"(?P<status>-?[0-9]{1,5}) +(?:-|[0-9]+) +(?P<uri>\S+) +(?P<path>-|[A-Za-z0-9+]+) +\S+ +(?P<mime>[^#\n]*?) +"
    rb"(?:#[0-9]+|-) +(?:(?P<begun>[0-9]{14})[0-9]*\+[0-9]+|-)(?P<rest>(?: [^\n]*)?)$",
    re.MULTILINE,
)
_REVISIT = re.compile(rb"warcRevisit|duplicate")
_WARC = re.compile(rb'"warcFilename": ?"([^"\t]*)"')
_FORM = LineFormat("absmg", "\t")


class HeritrixLogSource(CapturesSource):
    """Captures in the crawl logs of Heritrix.

    Parameters
    ----------
    path
        One file, a folder, a glob, or an address; compressed or not.
    discovery_path
        Regular expression that is searched for in the discovery path of a URI, such as ``^-$`` for seeds or
        ``^[^EXP]*$`` for all but embedded files and prerequisites. Captures without a match are left out.
    element, crawl_from, warc_pattern, present, revisits, max_malformed, calendar
        As of `CdxSource`. The name of the WARC is in the log if Heritrix writes extra information
        (``logExtraInfo``).

    References
    ----------
    Heritrix, "Logs: crawl.log", https://heritrix.readthedocs.io/en/latest/operating.html#logs.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import HeritrixLogSource
    >>> HeritrixLogSource(path="jobs/*/crawl.log", element="host", discovery_path="^-$").crawl_from
    'file'
    """

    _format: ClassVar[str] = "heritrix_log"
    _format_settings: ClassVar[tuple[str, ...]] = ("discovery_path",)

    type: Literal["heritrix_log"] = "heritrix_log"
    discovery_path: str | None = Field(default=None, min_length=1)

    @field_validator("discovery_path")
    @classmethod
    def _check_discovery_path(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from error
        return pattern

    def _open(self, local: LocalFile, notes: ConversionNotes, report: Callable[[str], object]) -> Index:  # noqa: ARG002
        from crawl_urn_dagster.sources.formats.index_lines import Index
        from crawl_urn_dagster.sources.formats.text_lines import read_start, text_batches

        start = read_start(local, _LINES_FOR_DETECTION)
        if not any(_LINE.match(line.encode()) for line in start):
            found = f"lines such as {start[0][:80]!r}" if start else "no lines"
            raise SourceError(f"{local.input.location}: found {found}, expected a crawl.log of Heritrix")
        batches = text_batches(local, lambda line: _LINE.fullmatch(line.encode()) is not None)
        return Index(_FORM, self._convert_lines(batches, notes))

    def _convert_lines(
        self, batches: Iterator[tuple[int, bytes]], notes: ConversionNotes
    ) -> Iterator[tuple[int, bytes]]:
        """Yield batches with captures as lines of `_FORM`; lines without a capture are counted and become empty."""
        path = re.compile((self.discovery_path or "").encode())
        left_out: Counter[str] = Counter()

        def convert(match: re.Match[bytes]) -> bytes:
            logged, status, uri, hops, mime, begun, rest = match.groups()
            if len(status) != 3 or not status.isdigit():
                left_out["not_fetched" if uri[:4].lower() == b"http" else "not_web"] += 1
                return b""
            if not path.search(hops):
                left_out["discovery_path"] += 1
                return b""
            stamp = begun or re.sub(rb"[^0-9]", b"", logged)[:14]
            annotations = rest.split(b" ", 4)[-1]
            is_revisit = _REVISIT.search(annotations) is not None
            warc = _WARC.search(annotations)
            return b"\t".join(
                (uri, stamp, status, b"warc/revisit" if is_revisit else mime, b"" if warc is None else warc[1])
            )

        for before, data in batches:
            converted = _LINE.sub(convert, data)
            notes.counts["lines"] += left_out.total()
            notes.counts.update({f"captures_left_out_{reason}": count for reason, count in left_out.items()})
            left_out.clear()
            yield before, converted
