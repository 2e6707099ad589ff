"""Read Common Crawl's count files, which list every host, domain, suffix and SURT prefix of a crawl.

Does not count what it reads; see `observables`.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from crawl_urn_dagster.sources.calendar import COLLINFO, fetch_calendar
from crawl_urn_dagster.sources.common_crawl.failed_crawls import FailedFileError, RunReadSource, attributing
from crawl_urn_dagster.sources.common_crawl.per_crawl_files import PerCrawlLocation, find_published, list_candidates
from crawl_urn_dagster.sources.errors import AbsentError, DamagedError, SourceError
from crawl_urn_dagster.sources.formats.quarantine import Failure
from crawl_urn_dagster.sources.input_files import InputFile, fingerprint
from crawl_urn_dagster.sources.interface import Captures, Listing
from crawl_urn_dagster.sources.transport.locations import CRAWL, PART, Location

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

# Numbers of the item types in count files.
_TYPES = {"host": 2, "domain": 3, "tld": 4, "surt_domain": 5}
_GRANULARITIES = {"host": "host", "domain": "domain", "tld": "other", "surt_domain": "host"}
# Text in memory at a time, and therefore the longest line.
_BLOCK_BYTES = 16 * 2**20
_KEY = r"^\[[0-9]{1,4}[,\]]"
_ITEM = r'^\[[0-9]+, ?"(?P<item>(?:[^"\\]|\\.)*)", ?(?P<crawl>[0-9]{1,9})\]$'
_COUNTS = r"^(?:[1-9][0-9]*|\[[1-9][0-9]*(?:, ?[0-9]+)*\])$"


class CommonCrawlCountsSource(RunReadSource):
    r"""Hosts, domains or suffixes of each crawl, from bzip2-compressed lines ``[type, item, crawl id] TAB counts``.

    Crawl ids are numbers that do not follow time. The label and the date of a crawl come from its location and the
    calendar; the id only has to be the same throughout a crawl and differ between crawls. A new version of a crawl's
    first part marks the crawl as revised. Remote files are cached until their crawl is complete.

    Parameters
    ----------
    path
        Count files of a crawl, with the placeholder ``{crawl}`` for its label and ``{part}`` for the number of a part
        (five digits, from 00000).
    parts
        Number of parts of a crawl.
    counted
        Kind of element; ``tld`` is a public suffix, ``surt_domain`` a host with its parts reversed.
    calendar
        Start of each crawl: Common Crawl's ``collinfo.json``, or CSV with columns ``id, from``. It also lists the
        crawls at an address.

    References
    ----------
    Common Crawl, "cc-crawl-statistics", https://github.com/commoncrawl/cc-crawl-statistics.

    Examples
    --------
    >>> import bz2, tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import CommonCrawlCountsSource, Files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "2024-01.bz2").write_bytes(bz2.compress(b'[3, "example.org", 56]\t1\n'))
    ...     source = CommonCrawlCountsSource(path=f"{folder}/{{crawl}}.bz2", parts=1, calendar=None)
    ...     captures = list(source.captures(Files(Path(folder, "cache")), ["2024-01"]))
    >>> captures[0].elements.tolist()
    ['example.org']
    """

    location_fields: ClassVar[tuple[str, ...]] = ("path", "calendar")

    type: Literal["common_crawl_counts"] = "common_crawl_counts"
    path: PerCrawlLocation = f"https://data.commoncrawl.org/crawl-analysis/{CRAWL}/count/part-{PART}.bz2"
    parts: int = Field(default=10, ge=1, le=100_000)
    counted: Literal["host", "domain", "tld", "surt_domain"] = "domain"
    calendar: Location | None = COLLINFO

    @model_validator(mode="after")
    def _check_placeholder_of_parts(self) -> Self:
        if self.parts > 1 and PART not in self.path:
            raise ValueError(f"has {self.parts} parts but no {PART} in path: every part is the same file; set parts: 1")
        return self

    @property
    def granularity(self) -> str:
        """Kind of element: ``host``, ``domain``, or ``other`` for suffixes."""
        return _GRANULARITIES[self.counted]

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls whose counts are published; nothing large is downloaded."""
        calendar, inputs = fetch_calendar(files, self.calendar)
        crawls = list_candidates(self.path, calendar, selection)
        failed: dict[str, Failure] = {}
        find = self._find(lambda crawl: self._first_part(files, crawl), failed)
        found = find_published(self.path, crawls, selection, find)
        first = {crawl: part for crawl, part in found.items() if part is not None}
        revisions = {crawl: self._revision(part) for crawl, part in first.items()}
        return self._listing(files, crawls, first, revisions, failed=failed, other_inputs=inputs)

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the items of some crawls, part after part."""
        crawl_by_id: dict[int, str] = {}
        for crawl in crawls:
            yield from self._captures_or_failure(
                files,
                crawl,
                partial(self._found_revision, files, crawl),
                self._captures_of(files, crawl, crawl_by_id),
            )

    def _captures_of(self, files: Files, crawl: str, crawl_by_id: dict[int, str]) -> Iterator[Captures]:
        ids: set[int] = set()
        for number in range(self.parts):
            location = self._part(crawl, number)
            with attributing(location):
                local = files.fetch(location)
            for items, found in self._read(files, local):
                ids |= found
                _check_ids(ids, crawl, crawl_by_id, location)
                yield Captures(crawl, items, complete=False)
        if not ids:
            raise SourceError(
                f"{self.path.replace(CRAWL, crawl)}: has no line of type {_TYPES[self.counted]} ({self.counted}) "
                f"in {self.parts} parts; check that these are count files, or set `counted` to a type in them"
            )
        yield Captures.end_of(crawl)
        for number in range(self.parts):
            files.forget(self._part(crawl, number))

    def _read(self, files: Files, local: LocalFile) -> Iterator[tuple[npt.NDArray[np.object_], set[int]]]:
        """Read the items of a part; a damaged one is downloaded again when it is due."""
        location = local.input.location
        try:
            with attributing(location, DamagedError):
                yield from read_items(local, self.counted)
        except FailedFileError:
            files.forget(location)
            raise

    def _first_part(self, files: Files, crawl: str) -> InputFile:
        """Identify the first part of a crawl.

        Raises
        ------
        AbsentError
            When the crawl has no parts.
        FailedFileError
            When the server does not state it.
        """
        location = self._part(crawl, 0)
        try:
            return files.identify(location)
        except AbsentError:
            raise
        except SourceError as error:
            raise FailedFileError(Failure.while_fetching(location, error)) from error

    def _identity(self, files: Files, location: str) -> str:
        return files.identify(location).sha256

    def _found_revision(self, files: Files, crawl: str) -> str:
        return self._revision(self._first_part(files, crawl))

    def _revision(self, part: InputFile) -> str:
        return fingerprint((part,), self.counted, str(self.parts))

    def _part(self, crawl: str, number: int) -> str:
        return self.path.replace(CRAWL, crawl).replace(PART, f"{number:05d}")


def _check_ids(ids: set[int], crawl: str, crawl_by_id: dict[int, str], location: str) -> None:
    """Reject a crawl with two ids and an id with two crawls, which show that a file is misplaced."""
    others = {crawl_by_id.setdefault(number, crawl) for number in ids} - {crawl}
    if others or len(ids) > 1:
        raise SourceError(
            f"{location}: found the crawl numbers {sorted(ids)}"
            + (f", of which one belongs to {min(others)}" if others else "")
            + f", expected one number that only {crawl} has"
        )


def read_items(local: LocalFile, counted: str) -> Iterator[tuple[npt.NDArray[np.object_], set[int]]]:
    """Read the items of one type from a count file, block by block.

    Items without text, which come from addresses without a host, are left out.

    Parameters
    ----------
    local
        The count file.
    counted
        Type of the items.

    Yields
    ------
    Items as text, shape (n_items,), and the ids of their crawls.

    Raises
    ------
    SourceError
        When the file is not bzip2 or is damaged, or a line is not as expected.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    location = local.input.location
    for batch in _read_blocks(local):
        _require(pc.match_substring_regex(batch["key"], _KEY), batch, location)
        of_type = batch.filter(pc.starts_with(batch["key"], f"[{_TYPES[counted]},"))
        parsed = pc.extract_regex(of_type["key"], _ITEM)
        _require(pc.and_(pc.is_valid(parsed), pc.match_substring_regex(of_type["counts"], _COUNTS)), of_type, location)
        items = pc.struct_field(parsed, "item")
        ids = pc.unique(pc.struct_field(parsed, "crawl")).to_pylist()
        texts = items.filter(pc.not_equal(items, pa.scalar(""))).to_numpy(zero_copy_only=False)
        yield _resolve_escapes(texts), {int(number) for number in ids}


def _read_blocks(local: LocalFile) -> Iterator[pa.RecordBatch]:
    """Read the lines of a file as batches with columns key and counts (text) and line_number (from 1)."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    location = local.input.location
    with local.path.open("rb") as file:
        start = file.read(100)
    if not start.startswith(b"BZh"):
        raise DamagedError(f"{location}: is not bzip2, it starts with {start[:40]!r}; check the address")
    try:
        with pa.CompressedInputStream(pa.OSFile(str(local.path)), "bz2") as stream:
            reader = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(
                    column_names=["key", "counts"], block_size=_BLOCK_BYTES, use_threads=False
                ),
                parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
                convert_options=csv.ConvertOptions(
                    column_types={"key": pa.string(), "counts": pa.string()}, strings_can_be_null=False
                ),
            )
            lines = 0
            for batch in reader:
                numbers = np.arange(lines + 1, lines + 1 + batch.num_rows)
                yield batch.append_column("line_number", pa.array(numbers))
                lines += batch.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error)
        if "Empty CSV file" not in reason:  # A part without lines is valid.
            raise DamagedError(f"{location}: cannot be read: {reason[:300]}; get the file again") from error


def _require(good: pa.BooleanArray, rows: pa.RecordBatch, location: str) -> None:
    """Reject the first row that is not good."""
    import numpy as np

    wrong = np.flatnonzero(~good.to_numpy(zero_copy_only=False))
    if len(wrong):
        at = int(wrong[0])
        line = f"{rows['key'][at]}\t{rows['counts'][at]}"
        raise DamagedError(
            f"{location}, line {rows['line_number'][at]}: found {line[:120]!r}, expected a line such as "
            '[3, "example.org", 56], a tab, and counts above 0'
        )


def _resolve_escapes(items: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Resolve the JSON escapes that few items have."""
    import numpy as np

    escaped = np.flatnonzero(["\\" in item for item in items])
    if len(escaped):
        items = items.copy()
        items[escaped] = [_resolve_escape(item) for item in items[escaped]]
    return items


def _resolve_escape(item: Any) -> str:
    """Resolve the escapes of an item; a lone surrogate, which is not valid text, stays as it is written."""
    try:
        text = str(json.loads(f'"{item}"', strict=False))
        text.encode()
    except ValueError:
        return str(item)
    return text
