"""Read Common Crawl's statistics with sketches, which give unions and intersections of any crawls.

Does not decode or count sketches; see `hyperloglog`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.calendar import COLLINFO, crawls_frame, fetch_calendar
from crawl_urn_dagster.sources.common_crawl.hyperloglog import (
    cardinality,
    decode_registers,
    pair_unions,
    relative_error,
    window_unions,
)
from crawl_urn_dagster.sources.common_crawl.per_crawl_files import PerCrawlLocation, find_published, list_candidates
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.observable_frames import pairs_frame, windows_frame
from crawl_urn_dagster.sources.interface import Listing, ObservableTables, TablesSource
from crawl_urn_dagster.sources.transport.locations import CRAWL, Location
from crawl_urn_dagster.sources.transport.text_files import open_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawl_urn_dagster.sources.calendar import DatedCrawl, Selection
    from crawl_urn_dagster.sources.common_crawl.hyperloglog import Registers
    from crawl_urn_dagster.sources.input_files import InputFile, LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

_ESTIMATE = "size_estimate"
_MAX_LINE_CHARACTERS = 2**20
_MAX_CHARACTERS = 2**30
# Relative to the count stated next to the registers, because the last digits of a sum depend on its order.
_TOLERANCE = 1e-6


class CommonCrawlSketchesSource(TablesSource):
    """HyperLogLog sketches of the URLs, or of the content digests, of each crawl.

    A union is counted from the register-wise maximum. An intersection is the sum of two sizes minus the union; it
    carries the error of all three and may be negative. Crawls that are listed but have no statistics are left out.

    Parameters
    ----------
    path
        Statistics of a crawl, with the placeholder ``{crawl}`` for its label.
    counted
        Kind of element.
    calendar
        Start of each crawl: Common Crawl's ``collinfo.json``, or CSV with columns ``id, from``. It also lists the
        crawls at an address.
    relative_error
        One standard error of a sketch, at least 1.04/√m for m registers.

    References
    ----------
    Common Crawl, "Statistics of Common Crawl Monthly Archives", https://commoncrawl.github.io/cc-crawl-statistics/.

    Examples
    --------
    >>> source = CommonCrawlSketchesSource(counted="digest")
    >>> source.granularity, source.has_pairs, round(source.relative_error, 4)
    ('other', True, 0.0081)
    """

    has_pairs: ClassVar[bool] = True
    has_windows: ClassVar[bool] = True
    location_fields: ClassVar[tuple[str, ...]] = ("path", "calendar")

    type: Literal["common_crawl_sketches"] = "common_crawl_sketches"
    path: PerCrawlLocation = f"https://data.commoncrawl.org/crawl-analysis/{CRAWL}/stats/part-00000.gz"
    counted: Literal["url", "digest"] = "url"
    calendar: Location | None = COLLINFO
    relative_error: float = Field(default=relative_error(14), gt=0, lt=1)

    @property
    def granularity(self) -> str:
        """Kind of element: ``url``, or ``other`` for digests."""
        return "url" if self.counted == "url" else "other"

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls whose statistics are published; new statistics are downloaded."""
        crawls, found, inputs = self._fetch(files, selection)
        published = tuple(crawl for crawl in crawls if crawl.crawl in found)
        return Listing(published, (*(local.input for local in found.values()), *inputs))

    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Unite the sketches of all pairs and of all windows of the selected crawls."""
        import numpy as np

        crawls, found, inputs = self._fetch(files, selection)
        sketches = np.stack(self._read_sketches(found))
        labels = list(found)
        unions = pair_unions(sketches).tolist()
        window_sizes = window_unions(sketches).tolist()
        sizes = [unions[i][i] for i in range(len(labels))]
        pairs, windows = {}, {}
        for i, first in enumerate(labels):
            for j, last in enumerate(labels[i:], start=i):
                windows[first, last] = window_sizes[i][j]
                if i < j:
                    pairs[first, last] = (sizes[i], sizes[j], sizes[i] + sizes[j] - unions[i][j])
        return ObservableTables(
            crawls=crawls_frame(
                [crawl for crawl in crawls if crawl.crawl in found], dict(zip(labels, sizes, strict=True))
            ),
            pairs=pairs_frame(pairs, labels),
            windows=windows_frame(windows, labels, labels),
            inputs=(*(local.input for local in found.values()), *inputs),
            not_published=tuple(crawl.crawl for crawl in crawls if crawl.crawl not in found),
        )

    def _fetch(
        self, files: Files, selection: Selection
    ) -> tuple[list[DatedCrawl], dict[str, LocalFile], tuple[InputFile, ...]]:
        """Return the selected crawls, the files of the published ones, and the calendar."""
        calendar, inputs = fetch_calendar(files, self.calendar)
        crawls = list_candidates(self.path, calendar, selection)
        found = find_published(self.path, crawls, selection, lambda crawl: files.fetch(self.path.replace(CRAWL, crawl)))
        return crawls, found, inputs

    def _read_sketches(self, found: Mapping[str, LocalFile]) -> Sequence[Registers]:
        """Read the registers of each crawl and check that all sketches have the same number."""
        sketches = {crawl: read_sketch(local, self.counted, crawl) for crawl, local in found.items()}
        first = next(iter(sketches.values()))
        for crawl, registers in sketches.items():
            where = found[crawl].input.location
            if len(registers) != len(first):
                raise SourceError(f"{where}: has {len(registers)} registers, but the first crawl {len(first)}")
            least = relative_error(len(registers).bit_length() - 1)
            if self.relative_error < least * (1 - 1e-9):
                raise SourceError(
                    f"{where}: a sketch of {len(registers)} registers has a standard error of {least:.4g}, but "
                    f"relative_error is {self.relative_error:.4g}; set relative_error: {least:.6g}"
                )
        return list(sketches.values())


def read_sketch(local: LocalFile, counted: str, crawl: str) -> Registers:
    """Read the sketch of a crawl's URLs or digests (`counted`) from its statistics: registers, shape (2^p,).

    Raises
    ------
    SourceError
        When the file has no such sketch or more than one, or its registers do not give the count stated next to them.
    """
    location = local.input.location
    found = None
    others: list[str] = []
    for number, line in _read_lines(local):
        # Lines of other keys are skipped unparsed; the JSON may be written with or without spaces after commas.
        if not line.startswith(f'["{_ESTIMATE}"'):
            continue
        where = f"{location}, line {number}"
        key, value = _parse_line(line, where)
        if key != [_ESTIMATE, counted, crawl]:
            others.append(" ".join(map(str, key[1:])))
            continue
        if found is not None:
            raise SourceError(f"{where}: has a second sketch of {counted} of {crawl}; expected one")
        try:
            found = decode_registers(value)
        except ValueError as error:
            raise SourceError(f"{where}: is not a sketch: {error}") from error
        _check_count(found, value, where)
    if found is None:
        options = format_options(f"{counted} {crawl}", others)
        raise SourceError(f"{location}: has no sketch of {counted} of {crawl}; {options}")
    return found


def _read_lines(local: LocalFile) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of a bounded length."""
    characters = number = 0
    with open_text(local) as stream:
        while line := stream.readline(_MAX_LINE_CHARACTERS):
            number += 1
            characters += len(line)
            if len(line) == _MAX_LINE_CHARACTERS or characters > _MAX_CHARACTERS:
                raise SourceError(
                    f"{local.input.location}, line {number}: is longer than the {_MAX_LINE_CHARACTERS:,} characters of "
                    f"a line, or the {_MAX_CHARACTERS:,} of a file; expected Common Crawl's statistics"
                )
            yield number, line


def _parse_line(line: str, where: str) -> tuple[list[object], object]:
    """Parse the key, which is a list, and the value of a line."""
    key, tab, value = line.partition("\t")
    try:
        parsed = json.loads(key), json.loads(value)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: is not JSON, a tab and JSON: {str(error)[:200]}") from error
    if not tab or not isinstance(parsed[0], list):
        raise SourceError(f"{where}: found {line[:80]!r}, expected a list, a tab and a value")
    return parsed


def _check_count(registers: Registers, value: object, where: str) -> None:
    stated = value.get("card") if isinstance(value, dict) else None
    count = cardinality(registers)
    if not isinstance(stated, int | float) or not abs(stated - count) <= _TOLERANCE * max(count, 1):
        raise SourceError(
            f"{where}: the registers count {count:,.0f} elements, but card is {str(stated)[:40]}; get the file again"
        )
