"""Read captures from WARC files that have no index.

Does not parse records; see `warc_records`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.archive_captures import SAMPLES_KEPT, CapturesSource
from crawl_urn_dagster.sources.formats.cdx_lines import LineFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawl_urn_dagster.sources.formats.index_lines import Index
    from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes
    from crawl_urn_dagster.sources.formats.warc_records import Record
    from crawl_urn_dagster.sources.input_files import LocalFile

_CAPTURES = {"response", "resource", "revisit"}
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?Z?")
_RECORDS_PER_BATCH = 2**13
_FORM = LineFormat("absmg", "\t")


class WarcSource(CapturesSource):
    """Captures in WARC files, read record by record; slow, so prefer `CdxSource` if there is an index.

    Parameters
    ----------
    path
        One file, a folder, a glob, or an address; plain or compressed by gzip or zstd.
    element, crawl_from, warc_pattern, present, revisits, max_malformed, calendar
        As of `CdxSource`. A line is a record. The name of the WARC is the name of the file.

    Notes
    -----
    Needs the library ``fastwarc``, which the extra ``warc`` installs.

    References
    ----------
    IIPC, "The WARC Format 1.1", https://iipc.github.io/warc-specifications/.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import WarcSource
    >>> WarcSource(path="warcs", element="host", crawl_from="month").granularity
    'host'
    """

    _format: ClassVar[str] = "warc"

    type: Literal["warc"] = "warc"

    def _open(self, local: LocalFile, notes: ConversionNotes, report: Callable[[str], object]) -> Index:
        from crawl_urn_dagster.sources.formats.index_lines import Index

        return Index(_FORM, _batches(local, notes, report))


def _batches(local: LocalFile, notes: ConversionNotes, report: Callable[[str], object]) -> Iterator[tuple[int, bytes]]:
    """Yield the captures as lines of `_FORM`, and count the other records."""
    from crawl_urn_dagster.progress import Progress
    from crawl_urn_dagster.sources.formats.warc_records import Damage, read_records

    location = local.input.location
    progress, position = Progress(f"reading {location}", local.input.bytes, report, unit="byte"), 0
    name = re.split(r"[/\\]", location.partition("?")[0])[-1]
    lines: list[str] = []
    before = 0
    for record in read_records(local):
        progress.advance(max(record.at - position, 0))
        position = max(record.at, position)
        problem = record.problem if isinstance(record, Damage) else _problem(record)
        if problem is not None:
            notes.counts["lines"] += 1
            notes.counts["lines_malformed"] += 1
            if len(notes.samples) < SAMPLES_KEPT:
                notes.samples.append(f"byte {record.at}: {problem}")
        elif isinstance(record, Damage) or record.kind not in _CAPTURES:
            notes.counts["lines"] += 1
            notes.counts["lines_header"] += 1
        else:
            lines.append(_line(record, name))
            if len(lines) == _RECORDS_PER_BATCH:
                yield before, "".join(lines).encode("utf-8", "replace")
                before += len(lines)
                lines.clear()
    if not (before or lines or notes.counts["lines"]):
        raise SourceError(f"{location}: has no records; check the path")
    progress.finish()
    yield before, "".join(lines).encode("utf-8", "replace")


def _problem(record: Record) -> str | None:
    """Return why a record is malformed, or None."""
    if record.length is None or not record.length.strip().isdigit():
        return "a record states no Content-Length"
    if record.kind in _CAPTURES and not (record.url or "").strip("<> "):
        return "a record states no WARC-Target-URI"
    if record.kind in _CAPTURES and not _DATE.fullmatch(record.date or ""):
        return f"a record has the WARC-Date {(record.date or '')[:80]!r}"
    return None


def _line(record: Record, name: str) -> str:
    """Return the line of a capture: as an index has it, a revisit keeps the status of the answer in the record."""
    # Some versions of wget write the URI in angle brackets.
    url = re.sub(r"\s", lambda space: f"%{ord(space[0]):02X}", (record.url or "").strip("<> "))
    stamp = "".join(_DATE.fullmatch(record.date or "").groups())  # type: ignore[union-attr]  # checked by _problem
    status = f"{record.status:03}" if record.status and 100 <= record.status <= 999 else "-"
    mime = "warc/revisit" if record.kind == "revisit" else "-"
    return f"{url}\t{stamp}\t{status}\t{mime}\t{name}\n"
