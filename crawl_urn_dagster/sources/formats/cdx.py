"""Read captures from the indexes of web archives: CDX, CDXJ, Netarkivet's columns, and lists of URL and time.

Does not detect line formats; see `cdx_lines`. Does not canonicalise URLs; see `canonical_urls`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from crawl_urn_dagster.sources.calendar import check_label
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.cdx_lines import LETTERS, LineFormat, detect_format, parse_legend
from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes, ParquetCachedSource
from crawl_urn_dagster.sources.transport.duckdb_connection import connect
from crawl_urn_dagster.sources.transport.locations import Location, label_in_path, strip_extensions
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

_LINES_FOR_DETECTION = 100
_SAMPLES_KEPT = 5
_ROWS_PER_THREAD = 2**13
_PROBLEMS = {
    "fields": "does not have the fields of the other lines",
    "time": "has no time of 4 to 17 digits from 1990 to 2099",
    "url": "has no URL, or one that is too long",
}
# A bin is labelled by its first day, to the precision that names the bin.
_LABEL_CHARACTERS = {"day": 10, "week": 10, "month": 7, "quarter": 7, "year": 4}


class CdxSource(ParquetCachedSource):
    r"""Captures in the index files of a web archive.

    Parameters
    ----------
    path
        One file, a folder, a glob, or an address; gzip-compressed or not. The format is detected from the legend or the
        first lines: CDX, CDXJ, Netarkivet's eight columns, or URL and time.
    element
        Kind of element. ``url``: the canonical key (SURT), taken from the index if present; ``url_as_written``: the URL
        as it was fetched; ``host``: host of the key, without ``www.``; ``domain``: registered under an ICANN suffix.
    crawl_from
        Origin of a capture's crawl. ``file``: one crawl per file, labelled by the part of its path that the glob's only
        ``*`` matches, or by its name without extensions, in any folder. ``warc``: the label that `warc_pattern` matches
        in the name of the WARC. ``day``, ``week`` (from Monday), ``month``, ``quarter``, ``year``: the time of the
        capture; the label is its first day.
    warc_pattern
        Regular expression that is searched for in the name of the WARC; the label is its group, or else the match.
        Captures without a match are left out.
    present
        Captures that count as present: status codes (``200``), classes of them (``2xx``), ``revisit`` (mime
        ``warc/revisit``), ``unknown`` (no status), or ``any``.
    legend
        Letters of the fields of CDX files without a legend, such as ``N b a m s``.
    max_malformed
        Largest share of malformed lines in a file, in [0, 1].
    calendar
        Start of each crawl: CSV with columns ``id, from``. None: labels are dates, or a crawl starts with its first
        capture.

    References
    ----------
    Internet Archive, "CDX and DAT Legend", https://archive.org/web/researcher/cdx_legend.php.

    Webrecorder, "CDXJ", https://specs.webrecorder.net/cdxj/latest/.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crawl_urn_dagster.sources import CdxSource, Files, Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "urls.txt")
    ...     _ = path.write_text("http://example.org/ 20240105\nhttp://example.org/a 20240207\n")
    ...     source = CdxSource(path=str(path), crawl_from="month")
    ...     listing = source.list_crawls(Files(Path(folder, "cache")), Selection())
    >>> listing.captures
    {'2024-01': 1, '2024-02': 1}
    """

    type: Literal["cdx"] = "cdx"
    path: Location
    element: Literal["url", "url_as_written", "host", "domain"] = "url"
    crawl_from: Literal["file", "warc", "day", "week", "month", "quarter", "year"] = "file"
    warc_pattern: str | None = Field(default=None, min_length=1)
    present: list[Annotated[str, StringConstraints(pattern="^([0-9]{3}|[1-5]xx|revisit|unknown|any)$")]] = Field(
        default=["200", "revisit", "unknown"], min_length=1
    )
    legend: str | None = None
    max_malformed: float = Field(default=0.01, ge=0, le=1)

    @field_validator("legend")
    @classmethod
    def _check_legend(cls, legend: str | None) -> str | None:
        if legend is not None:
            parse_legend(legend)
        return legend

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
        return "url" if self.element == "url_as_written" else self.element

    def _settings(self) -> tuple[str, ...]:
        fields = self.model_dump(exclude={"type", "path", "calendar"})
        return tuple(f"{name}={value!r}" for name, value in fields.items())

    def _convert(self, files: Files, local: LocalFile) -> Path:
        key = ("cdx", local.input.location, self.path, *self._settings())

        def make(target: Path) -> None:
            with connect(files.cache) as connection:
                self._write(connection, local, target)

        return files.derive(repr(key), local.input.sha256, make, size=local.input.bytes)

    def _write(self, connection: duckdb.DuckDBPyConnection, local: LocalFile, target: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from crawl_urn_dagster.sources.formats.text_lines import line_batches, read_start

        location = local.input.location
        first = read_start(local, _LINES_FOR_DETECTION)
        form = detect_format(first, parse_legend(self.legend) if self.legend else None, location)
        self._check_fields(form, location)
        schema = pa.schema([(name, pa.string()) for name in ("crawl", "element", "stratum")])
        notes = ConversionNotes()
        reader = _CaptureReader(self, form, first[0], self._label_of_file(location))
        with pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=["crawl"]) as writer:
            for lines in line_batches(local, form.is_line):
                writer.write_table(reader.captures(connection, lines, notes).cast(schema))
            self._check_malformed(notes, location)
            writer.add_key_value_metadata(notes.metadata())

    def _check_fields(self, form: LineFormat, location: str) -> None:
        """Reject a file that lacks a field that the configuration needs."""
        if self.crawl_from == "warc" and not form.has("warc"):
            raise SourceError(f"{location}: has no field g (the WARC's name), so crawl_from cannot be warc")
        if self.element == "url_as_written" and not form.has("url"):
            raise SourceError(f"{location}: has no field a (the URL), so element cannot be url_as_written; use url")

    def _check_malformed(self, notes: ConversionNotes, location: str) -> None:
        malformed, lines = notes.counts["lines_malformed"], notes.counts["lines"]
        if malformed > self.max_malformed * lines:
            raise SourceError(
                f"{location}: {malformed:,} of {lines:,} lines are malformed, more than max_malformed "
                f"{self.max_malformed:g}: {'; '.join(notes.samples)}; correct them, or allow more"
            )
        notes.samples = [f"{location}, {sample}" for sample in notes.samples]

    def _label_of_file(self, location: str) -> str:
        if self.crawl_from != "file":
            return ""
        label = label_in_path(self.path, location)
        name = strip_extensions(location.rstrip("/").rpartition("/")[2]) if label is None else label
        return check_label(name, location)


class _CaptureReader:
    """Convert the lines of one file to captures, and note the outcome of each line."""

    def __init__(self, source: CdxSource, form: LineFormat, first_line: str, label: str) -> None:
        from crawl_urn_dagster.sources.formats.canonical_urls import MAX_URL_CHARACTERS

        self._source = source
        self._label = label
        self._parameters: dict[str, Any] = {
            "present": source.present,
            "element": source.element,
            "by_warc": source.crawl_from == "warc",
            "bin": source.crawl_from if source.crawl_from in _LABEL_CHARACTERS else None,
            "longest": MAX_URL_CHARACTERS,
        }
        if form.is_json:
            split = load_statement("split_cdxj_lines").format()
        else:
            positions = {name: form.position(name) for name in LETTERS}
            numbers = {"fields": len(form.letters), "wide": form.wide, **positions}
            split = load_statement("split_cdx_lines").format(
                **{name: "NULL" if number is None else number for name, number in numbers.items()}
            )
            self._parameters |= {"legend": first_line if "CDX" in first_line else None, "delimiter": form.delimiter}
        self._statement = load_statement("classify_captures").format(split=split)

    def captures(self, connection: duckdb.DuckDBPyConnection, lines: pa.Table, notes: ConversionNotes) -> pa.Table:
        """Return the captures that count as present, with columns ``crawl, element, stratum``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        # DuckDB gives each thread one batch, so smaller batches use more threads.
        connection.register("lines", pa.Table.from_batches(lines.to_batches(max_chunksize=_ROWS_PER_THREAD)))
        rows: pa.Table = connection.sql(self._statement, params=self._parameters).to_arrow_table()
        _note_outcomes(rows, notes)
        present = rows.filter(pc.is_null(rows["outcome"]))
        table = pa.table(
            {
                "crawl": self._crawls(present["crawl_text"]),
                "element": self._elements(present),
                "stratum": pa.nulls(len(present), pa.string()),
            }
        )
        notes.counts["captures_left_out_no_crawl"] += table["crawl"].null_count
        notes.counts["captures_left_out_no_element"] += table["element"].null_count
        times = present["captured_at"]
        if table["crawl"].null_count or table["element"].null_count:
            has_both = pc.and_(pc.is_valid(table["crawl"]), pc.is_valid(table["element"]))
            table, times = table.filter(has_both), times.filter(has_both)
        notes.counts["captures"] += len(table)
        _note_starts(table["crawl"], times, notes)
        return table

    def _crawls(self, texts: pa.ChunkedArray) -> pa.Array:
        import pyarrow as pa

        from crawl_urn_dagster.sources.formats.canonical_urls import map_distinct

        if self._source.crawl_from == "file":
            return pa.repeat(self._label, len(texts))
        label = self._label_of_warc if self._source.warc_pattern else self._label_of_bin
        return map_distinct(texts.combine_chunks(), label)

    def _label_of_warc(self, name: str) -> str | None:
        match = re.search(self._source.warc_pattern or "", name)
        if match is None or not match[match.re.groups]:
            return None
        return check_label(match[match.re.groups], f"{self._source.path}, WARC {name[:80]}")

    def _label_of_bin(self, first_day: str) -> str:
        return first_day[: _LABEL_CHARACTERS[self._source.crawl_from]]

    def _elements(self, rows: pa.Table) -> pa.Array:
        import pyarrow.compute as pc

        from crawl_urn_dagster.sources.formats import canonical_urls

        addresses = rows["address"].combine_chunks()
        if self._source.element == "url_as_written":
            return addresses
        if self._source.element == "url":
            keys = rows["surt_key"].combine_chunks()
            if keys.null_count:
                keys = pc.coalesce(keys, canonical_urls.map_distinct(addresses, canonical_urls.canonical_key))
            return keys
        hosts = canonical_urls.map_distinct(addresses, canonical_urls.canonical_host)
        if self._source.element == "host":
            return hosts
        return canonical_urls.map_distinct(hosts, canonical_urls.registered_domain)


def _note_outcomes(rows: pa.Table, notes: ConversionNotes) -> None:
    """Count lines without a capture and captures that are not present, by reason; keep samples of malformed lines."""
    import pyarrow.compute as pc

    notes.counts["lines"] += len(rows)  # The statement drops empty lines.
    notes.counts["lines_malformed"] += 0  # The count is reported even if it is 0.
    for pair in rows["outcome"].value_counts().to_pylist():
        if pair["values"] in _PROBLEMS:
            notes.counts["lines_malformed"] += pair["counts"]
        elif pair["values"] not in {None, "header"}:
            notes.counts[f"captures_left_out_{pair['values']}"] += pair["counts"]
    for row in rows.filter(pc.is_valid(rows["line"])).slice(0, _SAMPLES_KEPT - len(notes.samples)).to_pylist():
        notes.samples.append(f"line {row['line_number']} {_PROBLEMS[row['outcome']]}: {row['line']!r}")


def _note_starts(crawls: pa.ChunkedArray, times: pa.ChunkedArray, notes: ConversionNotes) -> None:
    """Note the time of the first capture of each crawl."""
    import pyarrow as pa

    first = pa.table({"crawl": crawls, "time": times}).group_by("crawl").aggregate([("time", "min")])
    for row in first.to_pylist():
        start = row["time_min"].isoformat()
        notes.started[row["crawl"]] = min(start, notes.started.get(row["crawl"], start))
