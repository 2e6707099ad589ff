"""Convert captures in files of web archives, such as indexes and logs, to rows of crawl and element.

Does not detect or read formats; see `cdx`, `heritrix_log` and `warc`.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from crawl_urn_dagster.sources.errors import DamagedError, SourceError
from crawl_urn_dagster.sources.formats.cdx_fields import PresenceRules
from crawl_urn_dagster.sources.formats.crawl_in_path import label_of_file
from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes, ParquetCachedSource, capture_schema
from crawl_urn_dagster.sources.formats.wacz import INSIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.formats.cdx_batches import BatchReader
    from crawl_urn_dagster.sources.formats.cdx_lines import LineFormat
    from crawl_urn_dagster.sources.formats.index_lines import Index
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

# A converted file of another number is converted again.
_CONVERSION = 4
_ROWS_PER_GROUP = 2**17
#: Largest number of malformed lines of a file that are shown.
SAMPLES_KEPT = 5


class CapturesSource(ParquetCachedSource):
    """Captures in files of a web archive, converted line by line; see `cdx.CdxSource` for the parameters."""

    #: Name of the format in the cache, and the settings of a subclass that the conversion depends on.
    _format: ClassVar[str]
    _format_settings: ClassVar[tuple[str, ...]] = ()

    element: Literal["url", "url_as_written", "host", "domain", "private_domain"] = "url"
    crawl_from: Literal["file", "warc", "day", "week", "month", "quarter", "year"] = "file"
    warc_pattern: str | None = Field(default=None, min_length=1)
    present: list[Annotated[str, StringConstraints(pattern="^([0-9]{3}|[1-5]xx|revisit|unknown|any)$")]] = Field(
        default=["200", "revisit", "unknown"], min_length=1
    )
    revisits: Literal["all", "original_present"] = "all"
    max_malformed: float = Field(default=0.01, ge=0, le=1)

    @field_validator("warc_pattern")
    @classmethod
    def _check_pattern(cls, pattern: str | None) -> str | None:
        try:
            groups = re.compile(pattern or "").groups
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from error
        if groups > 1:
            raise ValueError(f"has {groups} groups; expected one at most, others as (?:...)")
        return pattern

    @model_validator(mode="after")
    def _check_both_or_neither(self) -> Self:
        if (self.crawl_from == "warc") != (self.warc_pattern is not None):
            raise ValueError("crawl_from: warc and warc_pattern go together; set both or neither")
        return self

    @property
    def granularity(self) -> str:
        """Kind of element; ``url`` also for `url_as_written`."""
        return {"url_as_written": "url", "private_domain": "domain"}.get(self.element, self.element)

    @property
    def rules(self) -> PresenceRules:
        """Rules of which captures count as present."""
        return PresenceRules(tuple(self.present), self.revisits)

    @abstractmethod
    def _open(self, local: LocalFile, notes: ConversionNotes, report: Callable[[str], object]) -> Index:
        """Start to read a file as lines; note in `notes` the lines that are not among them.

        `report` receives lines of progress.
        """

    def _settings(self) -> tuple[str, ...]:
        common = set(CapturesSource.model_fields) - {"path", "calendar"}
        fields = self.model_dump(include=common | set(self._format_settings))
        return tuple(f"{name}={value!r}" for name, value in fields.items())

    def _convert(self, files: Files, local: LocalFile, label: str | SourceError | None) -> Path:
        key = (self._format, _CONVERSION, local.input.location, self.path, str(label), *self._settings())
        return files.derive(
            repr(key),
            local.input.sha256,
            lambda target: self._write(local, target, label, files.report),
            size=local.input.bytes,
        )

    def _write(
        self, local: LocalFile, target: Path, label: str | SourceError | None, report: Callable[[str], object]
    ) -> None:
        import pyarrow.parquet as pq

        from crawl_urn_dagster.sources.formats.capture_tables import CaptureTables
        from crawl_urn_dagster.sources.formats.cdx_batches import BatchReader

        location = local.input.location
        schema = capture_schema()
        notes = ConversionNotes()
        index = self._open(local, notes, report)
        self._check_fields(index.form, location)
        needs_url, needs_warc = self.element == "url_as_written", self.crawl_from == "warc"
        reader = BatchReader(index.form, self.rules, needs_url=needs_url, needs_warc=needs_warc)
        tables = CaptureTables(self, self._label_of_file(location, label))
        # Statistics of elements would cost more than the few scans that use them.
        with pq.ParquetWriter(
            target, schema, compression="zstd", use_dictionary=["crawl"], write_statistics=["crawl"]
        ) as writer:
            for captures in self._batches(reader, index, notes, location):
                writer.write_table(tables.convert(captures, notes).cast(schema))
            self._check_malformed(notes, location)
            writer.add_key_value_metadata(notes.metadata())

    @staticmethod
    def _batches(reader: BatchReader, index: Index, notes: ConversionNotes, location: str) -> Iterator[pa.Table]:
        """Yield the present captures in larger tables than those that are read, because each is a row group."""
        import pyarrow as pa

        from crawl_urn_dagster.sources.formats.capture_tables import note_outcomes

        read: list[pa.Table] = []
        for before, data in index.batches:
            try:
                batch = reader.read(data, before, samples=SAMPLES_KEPT - len(notes.samples))
            except ValueError as error:
                raise SourceError(f"{location}, {error}") from error
            note_outcomes(batch, notes)
            read.append(batch.captures)
            if sum(map(len, read)) >= _ROWS_PER_GROUP:
                yield pa.concat_tables(read)
                read = []
        if read:
            yield pa.concat_tables(read)

    def _check_fields(self, form: LineFormat, location: str) -> None:
        """Reject a file that lacks a field that the configuration needs."""
        if self.crawl_from == "warc" and not form.has("warc"):
            raise SourceError(f"{location}: has no field g (the WARC's name), so crawl_from cannot be warc")
        if self.element == "url_as_written" and not form.has("url"):
            raise SourceError(f"{location}: has no field a (the URL), so element cannot be url_as_written; use url")

    def _check_malformed(self, notes: ConversionNotes, location: str) -> None:
        malformed, lines = notes.counts["lines_malformed"], notes.counts["lines"]
        if malformed > self.max_malformed * lines:
            raise DamagedError(
                f"{location}: {malformed:,} of {lines:,} lines are malformed, more than max_malformed "
                f"{self.max_malformed:g}: {'; '.join(notes.samples)}; correct them, or allow more"
            )
        notes.samples = [f"{location}, {sample}" for sample in notes.samples]

    def _label_of_file(self, location: str, label: str | SourceError | None) -> str:
        """Return the label of the crawl of a file; empty if the crawl of a capture depends on the capture."""
        return "" if self.crawl_from != "file" else label_of_file(self.path, location.partition(INSIDE)[0], label)
