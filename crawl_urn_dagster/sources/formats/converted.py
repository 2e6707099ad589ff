"""Sources whose raw files are each converted once, to Parquet in the cache.

Here: listing and reading the converted files. Not here: the conversion (`presence_list`, `cdx`).
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pydantic import PrivateAttr

from crawl_urn_dagster.sources.calendar import date_crawls, fetch_calendar, select_run
from crawl_urn_dagster.sources.inputs import SourceError, fingerprint
from crawl_urn_dagster.sources.interface import Captures, Listing, PresenceSource, Selection, StratumColumn
from crawl_urn_dagster.sources.transport.connection import VECTORS_AT_ONCE, connect
from crawl_urn_dagster.sources.transport.locations import Location, without_endings
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawl_urn_dagster.sources.transport.files import Files, LocalFile

_NOTES_KEY = "crawl_urn_notes"
_SAMPLES_SHOWN = 5


@dataclass
class Notes:
    """What was noticed while a raw file was converted; kept in the converted file.

    Attributes
    ----------
    counts
        Lines by what became of them.
    samples
        Some lines that could not be read, and why.
    started
        By crawl, when its first capture is from, as ISO 8601.
    """

    counts: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)

    def metadata(self) -> dict[str, str]:
        """Return the metadata of a Parquet file that `read_notes` reads."""
        return {_NOTES_KEY: json.dumps(vars(self))}


def read_notes(path: Path) -> Notes:
    """Read the notes of a converted file; none where there are none."""
    import pyarrow.parquet as pq

    stored = json.loads((pq.read_metadata(path).metadata or {}).get(_NOTES_KEY.encode(), "{}"))
    return Notes(Counter(stored.get("counts", {})), stored.get("samples", []), stored.get("started", {}))


class ConvertedSource(PresenceSource):
    """A source of raw files that are each converted once, to columns ``crawl, element, stratum``.

    Parameters
    ----------
    path
        One file, a folder, or a glob.
    calendar
        When the crawls started: CSV with columns ``id, from``, or Common Crawl's collinfo.json.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("path", "calendar")

    path: Location
    calendar: Location | None = None
    _stratum: StratumColumn | None = PrivateAttr(default=None)

    @abstractmethod
    def _convert(self, files: Files, local: LocalFile) -> Path:
        """Convert one raw file, if it is new."""

    @abstractmethod
    def _settings(self) -> tuple[str, ...]:
        """Return what a conversion depends on beside the file."""

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls; a file that is new is converted first, which takes as long as reading it.

        Raises
        ------
        SourceError
            When a file, a row, a date or a selected crawl is not as expected.
        """
        calendar, inputs = fetch_calendar(files, self.calendar)
        parts = self._converted(files)
        listed = self._counted(files, parts)
        notes = {part.input.location: read_notes(part.path) for part in parts}
        if not listed:
            raise SourceError(f"{self.path}: has no capture that counts ({_findings(notes)}); check the settings")
        dated = date_crawls(listed, where=self.path, calendar=calendar, first_captures=_first_captures(notes.values()))
        crawls = select_run(dated, selection, self.path)
        labels = [crawl.crawl for crawl in crawls]
        return Listing(
            tuple(crawls),
            (*(part.input for part in parts), *inputs),
            {
                label: fingerprint((), *(part.content for part in listed[label].values()), *self._settings())
                for label in labels
            },
            {label: sum(part.captures for part in listed[label].values()) for label in labels},
            _findings(notes),
        )

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the captures of some crawls, file after file.

        Raises
        ------
        SourceError
            When a file or a row is not as expected.
        """
        import numpy as np

        parts = self._converted(files)
        listed = self._counted(files, parts)
        for number, part in enumerate(parts):
            inside = [crawl for crawl in crawls if number in listed.get(crawl, {})]
            if inside:
                yield from _captures(files, part.path, inside, with_strata=self._stratum is not None)
            for crawl in inside:
                if number == max(listed[crawl]):
                    yield Captures(crawl, np.empty(0, dtype=np.object_), complete=True)

    def _converted(self, files: Files) -> list[LocalFile]:
        """Return the raw files, each with the path of what it was converted to."""
        raw = files.fetch_all(self.path)
        _check_copies([local.input.location for local in raw])
        return [replace(local, path=self._convert(files, local)) for local in raw]

    def _counted(self, files: Files, parts: list[LocalFile]) -> dict[str, dict[int, _Captured]]:
        """By crawl: what is of it in each of the converted files that has any, by the file's number."""
        numbers = {str(_summary(files, part)): number for number, part in enumerate(parts)}
        with connect(files.cache) as connection:
            rows = connection.execute(load_statement("list_presence_crawls"), {"summaries": list(numbers)}).fetchall()
        listed: dict[str, dict[int, _Captured]] = {}
        for crawl, path, captures, content in rows:
            listed.setdefault(crawl, {})[numbers[path]] = _Captured(captures, content)
        return {crawl: dict(sorted(of_crawl.items())) for crawl, of_crawl in listed.items()}


class _Captured(NamedTuple):
    """How many captures of a crawl are in a file, and a hash of them."""

    captures: int
    content: str


def _summary(files: Files, part: LocalFile) -> Path:
    """Table of the crawls of a converted file; it is looked at often, and is small."""

    def make(target: Path) -> None:
        with connect(files.cache) as connection:
            parameters = {"part": str(part.path), "target": str(target)}
            connection.execute(load_statement("summarise_captures"), parameters)

    return files.derive(f"crawls of {part.path.parent.name}", part.input.sha256, make, size=part.input.bytes)


def _check_copies(locations: Sequence[str]) -> None:
    """Refuse two files of one folder and name: of a list and its compressed copy, one may be out of date."""
    by_name: dict[str, str] = {}
    for location in locations:
        first = by_name.setdefault(without_endings(location), location)
        if first != location:
            raise SourceError(
                f"{first} and {location}: differ in their endings only, so that one is taken for a copy of the other; "
                "keep one, or rename it when both are data"
            )


def _captures(files: Files, part: Path, crawls: list[str], *, with_strata: bool) -> Iterator[Captures]:
    """Read the captures of some crawls from a converted file."""
    import numpy as np
    import pandas as pd

    with connect(files.cache) as connection:
        connection.register("labels", pd.DataFrame({"number": range(len(crawls)), "crawl": crawls}))
        connection.execute(load_statement("read_captures"), {"part": str(part)})
        while len(rows := connection.fetch_df_chunk(VECTORS_AT_ONCE)):
            number = rows["number"].to_numpy()
            order = np.argsort(number, kind="stable")
            elements = rows["element"].to_numpy(dtype=object)[order]
            strata = rows["stratum"].to_numpy(dtype=object)[order] if with_strata else None
            starts = np.searchsorted(number[order], range(len(crawls) + 1))
            for crawl, low, high in zip(crawls, starts[:-1], starts[1:], strict=True):
                if low < high:
                    of_crawl = None if strata is None else strata[low:high]
                    yield Captures(crawl, elements[low:high], complete=False, strata=of_crawl)


def _first_captures(notes: Iterable[Notes]) -> dict[str, datetime]:
    starts: dict[str, datetime] = {}
    for one in notes:
        for crawl, text in one.started.items():
            start = datetime.fromisoformat(text)
            starts[crawl] = min(start, starts.get(crawl, start))
    return starts


def _findings(notes: Mapping[str, Notes]) -> Mapping[str, int | str]:
    """Sum of the counts of some notes by location, and the files with the largest shares of malformed lines."""
    counts: Counter[str] = Counter()
    for one in notes.values():
        counts.update(one.counts)
    shares = {at: one.counts["lines_malformed"] / one.counts["lines"] for at, one in notes.items() if one.samples}
    if not shares:
        return dict(counts)
    worst = sorted(shares, key=shares.__getitem__, reverse=True)[:_SAMPLES_SHOWN]
    samples = [sample for row in zip_longest(*(notes[at].samples for at in worst)) for sample in row if sample]
    return {
        **counts,
        "files_malformed": len(shares),
        "malformed_by_file": "\n".join(
            f"{at}: {notes[at].counts['lines_malformed']:,} of {notes[at].counts['lines']:,} lines ({shares[at]:.2%})"
            for at in worst
        ),
        "malformed": "\n".join(samples[:_SAMPLES_SHOWN]),
    }
