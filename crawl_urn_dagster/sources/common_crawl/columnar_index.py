"""Read few columns of a crawl's Parquet files, several files at a time and each file once.

Does not choose files and columns; see `url_index` and `host_index`. Does not open files; see `transport.stores`.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, PrivateAttr, field_validator

from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.sources.calendar import COLLINFO, date_crawls, fetch_calendar, select_crawls
from crawl_urn_dagster.sources.common_crawl.failed_crawls import RunReadSource, attributing
from crawl_urn_dagster.sources.common_crawl.per_crawl_files import require_published
from crawl_urn_dagster.sources.errors import DamagedError
from crawl_urn_dagster.sources.input_files import InputFile, fingerprint
from crawl_urn_dagster.sources.interface import Captures, Listing, Sample
from crawl_urn_dagster.sources.transport.duckdb_connection import VECTORS_PER_CHUNK, connect
from crawl_urn_dagster.sources.transport.file_formats import START_BYTES
from crawl_urn_dagster.sources.transport.locations import (
    Location,
    is_remote,
    reject_secrets,
    resolve_location,
    store_settings,
)
from crawl_urn_dagster.sources.transport.stores import Store
from crawl_urn_dagster.sources.transport.text_files import reject_web_page
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.formats.quarantine import Failure
    from crawl_urn_dagster.sources.transport.files import Files

_ROWS_PER_BATCH = 2**18
_ELEMENTS_PER_BATCH = 2**20


class ColumnarSource(RunReadSource):
    """Crawls whose captures are the rows of Parquet files.

    Parameters
    ----------
    data
        Root of the tree of files: an http(s) address, an S3 address, or a folder with the same layout.
    calendar
        Start of each crawl: Common Crawl's ``collinfo.json``, or CSV with columns ``id, from``.
    parallel_requests
        Number of files that are read at the same time.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("calendar",)

    data: str = Field(default="https://data.commoncrawl.org", min_length=1)
    calendar: Location = COLLINFO
    parallel_requests: int = Field(default=4, ge=1, le=16)
    _sample: Sample | None = PrivateAttr(default=None)

    @field_validator("data")
    @classmethod
    def _check_root(cls, data: str) -> str:
        if "://" in data and not is_remote(data) and not data.startswith(("s3://", "gs://")):
            raise ValueError("is neither a folder nor an address that starts with https://, http://, s3:// or gs://")
        if data.startswith(("s3://", "gs://")):
            store_settings(data)
        return reject_secrets(data) if "://" in data else data

    def relative_to(self, folder: Path) -> Self:
        """Return a copy whose relative paths are resolved against a folder; addresses stay."""
        data = self.data if "://" in self.data else resolve_location(folder, self.data)
        return super().relative_to(folder).model_copy(update={"data": data})

    def missing_files(self) -> list[str]:
        """Return the configured local files and folders that do not exist."""
        exists = "://" in self.data or Path(self.data).is_dir()
        return super().missing_files() + ([] if exists else [self.data])

    def with_sample(self, sample: Sample) -> Self:
        """Return a source that keeps only the elements of a sample."""
        source = self.model_copy()
        source._sample = sample
        return source

    @abstractmethod
    def _paths(self, store: Store) -> Callable[[str], list[str]]:
        """Return the function that gives the paths of the files of a crawl; empty if it has none."""

    @abstractmethod
    def _searched_files(self, crawl: str) -> str:
        """Name the files that a crawl should have in `data`, for messages."""

    @property
    @abstractmethod
    def _columns(self) -> list[str]:
        """Names of the columns to read; the first holds the element."""

    @abstractmethod
    def _captured_rows(self, batch: pa.Table) -> pa.Table:
        """Return the captures in a batch, with columns ``element`` (text) and ``value`` (number, for strata)."""

    @property
    def _has_values(self) -> bool:
        """Whether elements have values that define strata."""
        return False

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the selected crawls of the calendar that have files."""
        calendar, inputs = fetch_calendar(files, self.calendar)
        dated = date_crawls(calendar or {}, where=self.calendar, calendar=calendar)
        selected = select_crawls(dated, selection, self.calendar)
        labels = [crawl.crawl for crawl in selected]
        store = Store(self.data, files)
        failed: dict[str, Failure] = {}
        find = self._find(self._paths(store), failed)
        paths = {label: found for label in labels if (found := find(label)) and store.has_any(found)}
        require_published(self.data, labels, paths.keys() | failed, selection, self._searched_files)
        lists = {label: _list_as_input(self.data, label, found) for label, found in paths.items()}
        revisions = {label: fingerprint((file,), *self._columns) for label, file in lists.items()}
        return self._listing(files, selected, lists, revisions, failed=failed, other_inputs=inputs)

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the elements of some crawls, file after file.

        The elements of a file are cached until its crawl is complete, so an interrupted run does not read them again.
        """
        store = Store(self.data, files)
        find = self._paths(store)

        def revision(crawl: str) -> str:
            return fingerprint((_list_as_input(self.data, crawl, find(crawl)),), *self._columns)

        for crawl in crawls:
            yield from self._captures_or_failure(
                files, crawl, partial(revision, crawl), self._captures_of(store, crawl, find)
            )

    def _captures_of(self, store: Store, crawl: str, find: Callable[[str], list[str]]) -> Iterator[Captures]:
        parts = []
        for part in self._read_parts(store, find(crawl)):
            parts.append(part)
            if not self._has_values:
                yield from _read_elements(crawl, part)
        if self._has_values:
            yield from _read_best_values(store.files, crawl, parts)
        yield Captures.end_of(crawl)
        for part in parts:  # The caller has stored the crawl by now.
            part.unlink(missing_ok=True)

    def _identity(self, files: Files, location: str) -> str:
        return Store(self.data, files).identify(location.removeprefix(self.data).lstrip("/"))

    def _read_parts(self, store: Store, paths: Sequence[str]) -> Iterator[Path]:
        """Read files, several at a time, and yield the path of what was read from each, in order."""
        executor = ThreadPoolExecutor(self.parallel_requests)
        try:
            yield from executor.map(lambda path: self._read_part(store, path), paths)
        finally:
            executor.shutdown(cancel_futures=True)

    def _read_part(self, store: Store, path: str) -> Path:
        """Return a cached Parquet file of a file's captures; published files do not change under their names."""
        key = repr(("columnar", self.data, path, *self._columns, self._sample and self._sample.one_in))
        version = hashlib.sha256(path.encode()).hexdigest()
        with attributing(f"{store.root.rstrip('/')}/{path}"):
            return store.files.derive(key, version, lambda target: self._copy_captures(store, path, target))

    def _copy_captures(self, store: Store, path: str, target: Path) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        where = f"{store.root}/{path}"
        schema = pa.schema([("element", pa.string()), ("value", pa.float64())])
        try:
            with (
                store.open(path) as source,
                pq.ParquetFile(source) as file,
                pq.ParquetWriter(target, schema, compression="zstd") as writer,
            ):
                self._check_columns(file.schema_arrow.names, where)
                for batch in file.iter_batches(_ROWS_PER_BATCH, columns=self._columns):
                    rows = self._captured_rows(pa.Table.from_batches([batch]))
                    rows = rows.filter(pc.is_valid(rows["element"]))
                    rows = rows.group_by("element").aggregate([("value", "max")])
                    writer.write_table(self._keep_sample(rows.rename_columns(["element", "value"])).cast(schema))
        except (pa.ArrowException, OSError) as error:
            with store.open(path) as source:
                reject_web_page(source.read(START_BYTES), where)
            raise DamagedError(f"{where}: cannot be read: {str(error)[:500]}") from error

    def _check_columns(self, names: Sequence[str], where: str) -> None:
        for column in self._columns:
            if column not in names:
                raise DamagedError(f"{where}: has no column {column!r}; {format_options(column, names)}")

    def _keep_sample(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        if self._sample is None:
            return rows
        return rows.filter(pa.array(self._sample.keeps(rows["element"].to_numpy())))


def _list_as_input(root: str, crawl: str, paths: Sequence[str]) -> InputFile:
    """Identify a crawl by its list of files: published files do not change under their names."""
    text = "".join(f"{path}\n" for path in paths)
    return InputFile(f"{root}: files of {crawl}", len(text), hashlib.sha256(text.encode()).hexdigest())


def _read_elements(crawl: str, part: Path) -> Iterator[Captures]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(part) as file:
        for batch in file.iter_batches(columns=["element"], batch_size=_ELEMENTS_PER_BATCH):
            yield Captures(crawl, batch["element"].to_numpy(zero_copy_only=False), complete=False)


def _read_best_values(files: Files, crawl: str, parts: Sequence[Path]) -> Iterator[Captures]:
    """Yield every element of a crawl once, with the largest of its values as stratum."""
    with connect(files.cache) as connection:
        connection.execute(load_statement("best_value_per_element"), {"parts": [str(part) for part in parts]})
        while len(rows := connection.fetch_df_chunk(VECTORS_PER_CHUNK)):
            elements, strata = (rows[name].to_numpy(dtype=object) for name in ("element", "stratum"))
            yield Captures(crawl, elements, complete=False, strata=strata)
