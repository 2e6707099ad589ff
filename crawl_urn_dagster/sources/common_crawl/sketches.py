"""Common Crawl's statistics with sketches: unions and intersections of any crawls, for URLs and content digests.

Here: the format of ``crawl-analysis/<crawl>/stats/part-00000.gz``. Not here: what a sketch counts (`sketches`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from crawl_urn_dagster.sources.calendar import COLLINFO, crawls_frame, fetch_calendar
from crawl_urn_dagster.sources.common_crawl.hyperloglog import (
    cardinality,
    decode_registers,
    pair_unions,
    relative_error,
    window_unions,
)
from crawl_urn_dagster.sources.formats.count_tables import open_text, pairs_frame, windows_frame
from crawl_urn_dagster.sources.formats.per_crawl_files import PerCrawlLocation, published, select_crawls
from crawl_urn_dagster.sources.inputs import SourceError, listed
from crawl_urn_dagster.sources.interface import Listing, ObservableTables, Selection, TablesSource
from crawl_urn_dagster.sources.transport.locations import CRAWL, Location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.common_crawl.hyperloglog import Registers
    from crawl_urn_dagster.sources.inputs import InputFile
    from crawl_urn_dagster.sources.transport.files import Files, LocalFile

_ESTIMATE = "size_estimate"
_MAX_LINE_CHARACTERS = 2**20
_MAX_CHARACTERS = 2**30
# Of the count that is written beside the registers: the last digits of a sum may differ.
_TOLERANCE = 1e-6


class CommonCrawlSketchesSource(TablesSource):
    """Sketches of the URLs, or of the content digests, of each crawl, from which any crawls are united.

    A union is counted from the register-wise maximum; an intersection is two sizes less the union, carries the error of
    all three and may be negative. Crawls that are listed and have no statistics yet are left out.

    Parameters
    ----------
    path
        The statistics of a crawl, with ``{crawl}`` where its label stands.
    counted
        What the elements are.
    calendar
        When the crawls started, and which there are: Common Crawl's collinfo.json, or CSV with columns ``id, from``.
    relative_error
        One standard error of a sketch, at least 1.04/√m for m registers.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("path", "calendar")

    type: Literal["common_crawl_sketches"] = "common_crawl_sketches"
    path: PerCrawlLocation = f"https://data.commoncrawl.org/crawl-analysis/{CRAWL}/stats/part-00000.gz"
    counted: Literal["url", "digest"] = "url"
    calendar: Location | None = COLLINFO
    relative_error: float = Field(default=relative_error(14), gt=0, lt=1)

    @property
    def granularity(self) -> str:
        """What an element is."""
        return "url" if self.counted == "url" else "other"

    @property
    def has_pairs(self) -> bool:
        """Yes."""
        return True

    @property
    def has_windows(self) -> bool:
        """Yes."""
        return True

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls whose statistics are published; those that are new are fetched.

        Raises
        ------
        SourceError
            When a file, a date or a selected crawl is not as expected.
        """
        crawls, found, inputs = self._fetch(files, selection)
        there = tuple(crawl for crawl in crawls if crawl.crawl in found)
        return Listing(there, (*(local.input for local in found.values()), *inputs))

    def read_tables(self, files: Files, selection: Selection) -> ObservableTables:
        """Unite the sketches of all pairs of crawls, and of all windows.

        Raises
        ------
        SourceError
            When a file, a sketch, a date or a selected crawl is not as expected.
        """
        import numpy as np

        crawls, found, inputs = self._fetch(files, selection)
        sketches = np.stack(self._sketches(found))
        labels = list(found)
        either, windows = pair_unions(sketches), window_unions(sketches)
        sizes = np.diagonal(either).tolist()
        first, last = (np.array(index) for index in np.triu_indices(len(labels), k=1))
        return ObservableTables(
            crawls=crawls_frame(
                [crawl for crawl in crawls if crawl.crawl in found], dict(zip(labels, sizes, strict=True))
            ),
            pairs=pairs_frame(
                {
                    (labels[i], labels[j]): (sizes[i], sizes[j], sizes[i] + sizes[j] - int(either[i, j]))
                    for i, j in zip(first.tolist(), last.tolist(), strict=True)
                },
                labels,
            ),
            windows=windows_frame(
                {
                    (labels[i], labels[j]): int(windows[i, j])
                    for i, j in np.argwhere(np.triu(np.ones_like(windows))).tolist()
                },
                labels,
                labels,
            ),
            inputs=(*(local.input for local in found.values()), *inputs),
            not_published=tuple(crawl.crawl for crawl in crawls if crawl.crawl not in found),
        )

    def _fetch(
        self, files: Files, selection: Selection
    ) -> tuple[list[DatedCrawl], dict[str, LocalFile], tuple[InputFile, ...]]:
        """Return the selected crawls, the files of those that are published, and the calendar."""
        calendar, inputs = fetch_calendar(files, self.calendar)
        crawls = select_crawls(self.path, calendar, selection)
        found = published(self.path, crawls, selection, lambda crawl: files.fetch(self.path.replace(CRAWL, crawl)))
        return crawls, found, inputs

    def _sketches(self, found: Mapping[str, LocalFile]) -> Sequence[Registers]:
        """Read the registers of each crawl, of as many as those of the first."""
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
    """Read the sketch of a crawl from its statistics.

    Raises
    ------
    SourceError
        When there is none, more than one, or one whose registers do not give the count beside them.
    """
    location = local.input.location
    found = None
    others: list[str] = []
    for number, line in _lines(local):
        # The spaces of JSON are not known: not those of the key of another line either.
        if not line.startswith(f'["{_ESTIMATE}"'):
            continue
        where = f"{location}, line {number}"
        key, value = _parse(line, where)
        if key != [_ESTIMATE, counted, crawl]:
            others.append(" ".join(map(str, key[1:])))
            continue
        if found is not None:
            raise SourceError(f"{where}: has a second sketch of {counted} of {crawl}; expected one")
        try:
            found = decode_registers(value)
        except ValueError as error:
            raise SourceError(f"{where}: is no sketch: {error}") from error
        _check_count(found, value, where)
    if found is None:
        raise SourceError(f"{location}: has no sketch of {counted} of {crawl}; {listed(f'{counted} {crawl}', others)}")
    return found


def _lines(local: LocalFile) -> Iterator[tuple[int, str]]:
    characters = number = 0
    with open_text(local) as stream:
        while line := stream.readline(_MAX_LINE_CHARACTERS):
            number += 1
            characters += len(line)
            if len(line) == _MAX_LINE_CHARACTERS or characters > _MAX_CHARACTERS:
                raise SourceError(
                    f"{local.input.location}, line {number}: longer than the {_MAX_LINE_CHARACTERS:,} characters of a "
                    f"line, or the {_MAX_CHARACTERS:,} of a file; expected Common Crawl's statistics"
                )
            yield number, line


def _parse(line: str, where: str) -> tuple[list[object], object]:
    """Key and value of a line; the key is a list."""
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
