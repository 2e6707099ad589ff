"""Convert each raw file of a source once to Parquet in the cache, and list and read captures from there.

Does not convert a particular format; see `presence_list` and `cdx`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pydantic import PrivateAttr

from crawl_urn_dagster.sources.calendar import check_label, check_starts, date_crawls, fetch_calendar, select_crawls
from crawl_urn_dagster.sources.errors import DamagedError, SourceError, TooLargeError
from crawl_urn_dagster.sources.formats.crawl_in_path import crawl_in_path
from crawl_urn_dagster.sources.formats.quarantine import (
    Failure,
    date_if_possible,
    in_time_order,
    quarantined_crawls,
)
from crawl_urn_dagster.sources.input_files import fingerprint
from crawl_urn_dagster.sources.interface import Captures, Listing, PresenceSource, Quarantine, StratumColumn
from crawl_urn_dagster.sources.transport.duckdb_connection import VECTORS_PER_CHUNK, connect
from crawl_urn_dagster.sources.transport.locations import Location, strip_extensions, without_settings
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb
    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.formats.quarantine import Failures
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

#: Column of a list that marks elements that were not released after their capture.
LOST = "lost"
_NOTES_KEY = "crawl_urn_notes"
_SAMPLES_SHOWN = 5


@dataclass
class ConversionNotes:
    """Observations from the conversion of a raw file, stored in the converted file.

    Attributes
    ----------
    counts
        Number of lines by outcome.
    samples
        Some malformed lines, each with the reason.
    started
        Time of the first capture of each crawl, in ISO 8601.
    """

    counts: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)

    def metadata(self) -> dict[str, str]:
        """Return the notes as metadata of a Parquet file."""
        return {_NOTES_KEY: json.dumps(vars(self))}

    @classmethod
    def read(cls, path: Path) -> ConversionNotes:
        """Read the notes of a converted file; they are empty if the conversion stored none."""
        import pyarrow.parquet as pq

        stored = json.loads((pq.read_metadata(path).metadata or {}).get(_NOTES_KEY.encode(), "{}"))
        return cls(Counter(stored.get("counts", {})), stored.get("samples", []), stored.get("started", {}))


def capture_schema() -> pa.Schema:
    """Return the columns of a converted file without losses."""
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in ("crawl", "element", "stratum")])


class ParquetCachedSource(PresenceSource):
    """A source whose raw files are each converted once, to columns ``crawl, element, stratum`` and maybe ``lost``.

    Parameters
    ----------
    path
        One file, a folder, or a glob.
    calendar
        Start of each crawl: CSV with columns ``id, from``, or Common Crawl's ``collinfo.json``.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("path", "calendar")
    #: Whether a crawl needs a date in its label, because captures have no time.
    _is_dated_by_name: ClassVar[bool] = False

    path: Location
    calendar: Location | None = None
    _stratum: StratumColumn | None = PrivateAttr(default=None)
    _quarantine: Quarantine = PrivateAttr(default="none")

    def with_quarantine(self, quarantine: Quarantine) -> Self:
        """Return a source that sets aside the crawls of files that cannot be read."""
        source = self.model_copy()
        source._quarantine = quarantine
        return source

    @abstractmethod
    def _convert(self, files: Files, local: LocalFile, label: str | SourceError | None) -> Path:
        """Return the converted file of a raw file; convert it if it is new.

        `label` is the crawl in the file's path as `crawl_in_path` returns it, or the error if the path is ambiguous.
        """

    def _label_in_path(self, location: str, locations: list[str], known: Collection[str]) -> str | SourceError | None:
        """Return the crawl in the path of a file, or the error if the path can be read in two ways."""
        try:
            return crawl_in_path(
                self.path,
                location,
                locations,
                column=self._partition_column,
                known=known,
                is_dated_by_name=self._is_dated_by_name,
            )
        except SourceError as error:
            return error

    @property
    def _partition_column(self) -> str:
        """Name of the partition folders of crawls, as in ``crawl=2024-01``."""
        return "crawl"

    @abstractmethod
    def _settings(self) -> tuple[str, ...]:
        """Return the settings that the conversion depends on."""

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the selected crawls; new files are converted first, which takes as long as reading them."""
        calendar, inputs = fetch_calendar(files, self.calendar)
        parts, labels, failed = self._converted_parts(files)
        by_crawl = _captures_by_crawl(files, parts)
        set_aside = _crawls_to_set_aside(failed, labels, by_crawl)
        notes = {part.input.location: ConversionNotes.read(part.path) for part in parts}
        if not by_crawl:
            raise SourceError(f"{self.path}: found no present capture ({_findings(notes)}); check the settings")
        starts = _first_captures(notes.values())
        dated = date_crawls(by_crawl.keys() - set_aside, where=self.path, calendar=calendar, first_captures=starts)
        unread = date_if_possible(set_aside, calendar)
        # A crawl that is set aside may be the first or the last that the selection names.
        selected_crawls = select_crawls(in_time_order([*dated, *unread]), selection, self.path)
        crawls = [crawl for crawl in selected_crawls if crawl.crawl not in set_aside]
        if not crawls:
            raise next(iter(set_aside.values())).error
        check_starts(crawls, self.path)
        selected = {crawl.crawl: by_crawl[crawl.crawl].values() for crawl in crawls}
        return Listing(
            tuple(crawls),
            (*(part.input for part in parts), *(failure.input for failure in failed.values()), *inputs),
            {
                label: fingerprint((), *(summary.content for summary in summaries), *self._settings())
                for label, summaries in selected.items()
            },
            {label: sum(summary.captures for summary in summaries) for label, summaries in selected.items()},
            _findings(notes),
            quarantined_crawls(set_aside, selected_crawls, unread),
        )

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the captures of some crawls, file after file."""
        parts, _, failed = self._converted_parts(files)
        for failure in failed.values():
            if failure.crawl in crawls:  # It was readable when it was listed.
                raise failure.error
        by_crawl = _captures_by_crawl(files, parts)
        for number, part in enumerate(parts):
            in_part = [crawl for crawl in crawls if number in by_crawl.get(crawl, {})]
            if in_part:
                yield from _read_captures(files, part.path, in_part, with_strata=self._stratum is not None)
            for crawl in in_part:
                if number == max(by_crawl[crawl]):
                    yield Captures.end_of(crawl)

    def _raw_files(self, files: Files, failed: Failures) -> list[LocalFile]:
        """Return the raw files, and add those that cannot be fetched to `failed`."""
        paths = files.locate(self.path)
        return [local for path in paths for local in self._fetch(path, failed, partial(fetch_one, files, path))]

    def _fetch(self, location: str, failed: Failures, fetch: Callable[[], list[LocalFile]]) -> list[LocalFile]:
        """Return what is fetched; if the setting `quarantine` allows for the error, add it to `failed` instead."""
        try:
            return fetch()
        except SourceError as error:
            failure = Failure.while_fetching(location, error)
            if not failure.is_allowed(self._quarantine):
                raise
            failed[location] = failure
            return []

    def _converted_parts(self, files: Files) -> ConvertedParts:
        """Convert the raw files that are new, and describe those that cannot be read."""
        failed: Failures = {}
        raw = self._raw_files(files, failed)
        locations = [*(local.input.location for local in raw), *failed]
        _reject_copies(locations)
        known = fetch_calendar(files, self.calendar)[0] or {}
        converted = ConvertedParts([], [], failed)
        for local in raw:
            label = self._label_in_path(local.input.location, locations, known)
            try:
                part = replace(local, path=self._convert_once(files, local, label))
            except SourceError as error:
                failure = Failure.of_content(local.input, error)
                if not isinstance(label, str) or not failure.is_allowed(self._quarantine):
                    raise
                failed[local.input.location] = failure
            else:
                converted.parts.append(part)
                converted.labels.append(label)
        for location, failure in failed.items():
            label = self._label_in_path(location, locations, known)
            if not isinstance(label, str):
                raise failure.error
            failed[location] = failure._replace(crawl=check_label(label, location))
        return converted

    def _convert_once(self, files: Files, local: LocalFile, label: str | SourceError | None) -> Path:
        """Return the converted file, and raise a recorded error again: sensors poll often."""
        if self._quarantine == "none":
            return self._convert(files, local, label)
        # Another version of the package may read the file.
        settings = (str(label), str(self._stratum), *self._settings())
        key = repr(("unreadable", version("crawl-urn-dagster"), type(self).__name__, local.input.location, *settings))
        recorded = files.derived(key, local.input.sha256)
        if recorded is not None:
            raise DamagedError(recorded.read_text(encoding="utf-8"))
        try:
            return self._convert(files, local, label)
        except TooLargeError:
            raise
        except SourceError as error:
            message = str(error)
            files.derive(key, local.input.sha256, lambda target: _write_text(target, message))
            raise


class ConvertedParts(NamedTuple):
    """The raw files, each with the path of its converted file, their labels, and the files that cannot be read."""

    parts: list[LocalFile]
    labels: list[str | SourceError | None]
    failed: Failures


class _PartSummary(NamedTuple):
    """Number of captures of a crawl in one file, and a hash of them."""

    captures: int
    content: str


def _crawls_to_set_aside(
    failed: Failures,
    labels: Sequence[str | SourceError | None],
    by_crawl: Mapping[str, Mapping[int, _PartSummary]],
) -> dict[str, Failure]:
    """Return the crawls of files that cannot be read, each with its first failure.

    Raises
    ------
    SourceError
        The first failure, if more may be lost than these crawls: readable files have captures of other crawls than
        their paths state, or more than half of the crawls cannot be read, so a setting is the likely cause.
    """
    set_aside = {failure.crawl: failure for failure in reversed(failed.values())}
    has_other_crawls = any(labels[number] != crawl for crawl, summaries in by_crawl.items() for number in summaries)
    if set_aside and (has_other_crawls or 2 * len(set_aside) > len(by_crawl.keys() | set_aside)):
        raise next(iter(failed.values())).error
    return set_aside


def _captures_by_crawl(files: Files, parts: list[LocalFile]) -> dict[str, dict[int, _PartSummary]]:
    """Summarise the captures of each crawl in each converted file that has any, by the number of the file."""
    if not parts:
        return {}
    with connect(files.cache) as connection:
        numbers = {str(_summarise(files, part, connection)): number for number, part in enumerate(parts)}
        rows = connection.execute(load_statement("list_presence_crawls"), {"summaries": list(numbers)}).fetchall()
    by_crawl: dict[str, dict[int, _PartSummary]] = {}
    for crawl, path, captures, content in rows:
        by_crawl.setdefault(crawl, {})[numbers[path]] = _PartSummary(captures, content)
    return {crawl: dict(sorted(summaries.items())) for crawl, summaries in by_crawl.items()}


def _summarise(files: Files, part: LocalFile, connection: duckdb.DuckDBPyConnection) -> Path:
    """Return a cached table of the crawls of a converted file, which sensors read often."""

    def make(target: Path) -> None:
        parameters = {"part": str(part.path), "target": str(target)}
        statement = load_statement("summarise_captures").format(lost=lost_column(part.path))
        connection.execute(statement, parameters)

    return files.derive(f"crawls of {part.path.parent.name}", part.input.sha256, make, size=part.input.bytes)


def fetch_one(files: Files, path: str) -> list[LocalFile]:
    """Return the one file at a path, as `ParquetCachedSource._fetch` expects it."""
    return [files.fetch(path)]


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _reject_copies(locations: Sequence[str]) -> None:
    """Reject two files that differ only in their extensions, because one may be an outdated copy."""
    by_name: dict[str, str] = {}
    for location in locations:
        first = by_name.setdefault(strip_extensions(without_settings(location)), location)
        if first != location:
            raise SourceError(
                f"{first} and {location}: differ only in their extensions, so one may be an outdated copy; "
                "keep one, or rename one if both are data"
            )


def _read_captures(files: Files, part: Path, crawls: list[str], *, with_strata: bool) -> Iterator[Captures]:
    """Read the captures of some crawls from a converted file."""
    import numpy as np
    import pandas as pd

    with connect(files.cache) as connection:
        connection.register("labels", pd.DataFrame({"number": range(len(crawls)), "crawl": crawls}))
        lost_in_part = lost_column(part)
        connection.execute(load_statement("read_captures").format(lost=lost_in_part), {"part": str(part)})
        while len(rows := connection.fetch_df_chunk(VECTORS_PER_CHUNK)):
            number = rows["number"].to_numpy()
            order = np.argsort(number, kind="stable")
            elements = rows["element"].to_numpy(dtype=object)[order]
            strata = rows["stratum"].to_numpy(dtype=object)[order] if with_strata else None
            lost = rows["lost"].to_numpy(dtype=bool)[order] if lost_in_part == LOST else None
            starts = np.searchsorted(number[order], range(len(crawls) + 1))
            for crawl, low, high in zip(crawls, starts[:-1], starts[1:], strict=True):
                if low < high:
                    crawl_strata, crawl_lost = (None if one is None else one[low:high] for one in (strata, lost))
                    yield Captures(crawl, elements[low:high], complete=False, strata=crawl_strata, lost=crawl_lost)


def lost_column(part: Path) -> str:
    """Return the SQL for the marks of losses in a converted file: its column, or null in a file without one."""
    import pyarrow.parquet as pq

    return LOST if LOST in pq.read_schema(part).names else "NULL::VARCHAR"


def _first_captures(notes: Iterable[ConversionNotes]) -> dict[str, datetime]:
    starts: dict[str, datetime] = {}
    for note in notes:
        for crawl, text in note.started.items():
            start = datetime.fromisoformat(text)
            starts[crawl] = min(start, starts.get(crawl, start))
    return starts


def _findings(notes: Mapping[str, ConversionNotes]) -> Mapping[str, int | str]:
    """Sum the counts of all files, and name the files with the largest shares of malformed lines."""
    counts: Counter[str] = Counter()
    for note in notes.values():
        counts.update(note.counts)
    shares = {at: note.counts["lines_malformed"] / note.counts["lines"] for at, note in notes.items() if note.samples}
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
