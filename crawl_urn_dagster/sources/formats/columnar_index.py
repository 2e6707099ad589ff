"""Indexes of crawls as trees of Parquet files, of which few columns are read.

Here: reading the files of a crawl, several at a time, each once. Not here: which files and columns
(`common_crawl_index`, `common_crawl_host_index`), or where a tree is (`stores`).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, PrivateAttr, field_validator

from crawl_urn_dagster.sources.calendar import COLLINFO, date_crawls, fetch_calendar, select_run
from crawl_urn_dagster.sources.formats.per_crawl_files import check_published, without_files
from crawl_urn_dagster.sources.inputs import START_BYTES, InputFile, SourceError, fingerprint, listed, refuse_web_page
from crawl_urn_dagster.sources.interface import Captures, Listing, PresenceSource, Sample, Selection
from crawl_urn_dagster.sources.transport.connection import VECTORS_AT_ONCE, connect
from crawl_urn_dagster.sources.transport.locations import Location, in_folder, is_remote, without_secrets
from crawl_urn_dagster.sources.transport.stores import Store
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from typing_extensions import Self

    from crawl_urn_dagster.sources.transport.files import Files

_ROWS_AT_ONCE = 2**18


class ColumnarSource(PresenceSource):
    """Crawls whose captures are the rows of Parquet files.

    Parameters
    ----------
    data
        Where the tree of files is: an http(s) address, an s3 address, or a folder with the same layout.
    calendar
        When the crawls started: Common Crawl's collinfo.json, or CSV with columns ``id, from``.
    parallel_requests
        Files that are read at once.
    """

    location_fields: ClassVar[tuple[str, ...]] = ("calendar",)

    data: str = Field(default="https://data.commoncrawl.org", min_length=1)
    calendar: Location = COLLINFO
    parallel_requests: int = Field(default=4, ge=1, le=16)
    _sample: Sample | None = PrivateAttr(default=None)

    @field_validator("data")
    @classmethod
    def _is_root(cls, data: str) -> str:
        if "://" in data and not is_remote(data) and not data.startswith("s3://"):
            raise ValueError("is neither a folder nor an address that starts with https://, http:// or s3://")
        return without_secrets(data) if "://" in data else data

    def relative_to(self, folder: Path) -> Self:
        """Return a copy in which relative paths are taken from a folder; addresses stay."""
        data = self.data if "://" in self.data else in_folder(folder, self.data)
        return super().relative_to(folder).model_copy(update={"data": data})

    def missing_files(self) -> list[str]:
        """Local files and folders that are configured and not there."""
        is_there = "://" in self.data or Path(self.data).is_dir()
        return super().missing_files() + ([] if is_there else [self.data])

    def with_sample(self, sample: Sample) -> Self:
        """Return the source that gives a sample of its elements; the rest is not kept."""
        source = self.model_copy()
        source._sample = sample
        return source

    @abstractmethod
    def _files_of(self, store: Store, crawls: Sequence[str]) -> Mapping[str, list[str]]:
        """Paths of the files of those crawls that have any."""

    @abstractmethod
    def _looked_for(self, crawl: str) -> str:
        """Say where the files of a crawl are looked for, in `data`."""

    @property
    @abstractmethod
    def _columns(self) -> list[str]:
        """The columns that are read; the first is the element."""

    @abstractmethod
    def _rows(self, batch: pa.Table) -> pa.Table:
        """Table ``element`` (text), ``value`` (number) of the captures among the rows of a batch."""

    @property
    def _has_values(self) -> bool:
        """Whether elements have values that strata are made of."""
        return False

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the crawls of the calendar that have files.

        Raises
        ------
        SourceError
            When the calendar, a list of files or a selected crawl is not as expected.
        """
        calendar, inputs = fetch_calendar(files, self.calendar)
        wanted = select_run(
            date_crawls(calendar or {}, where=self.calendar, calendar=calendar), selection, self.calendar
        )
        labels = [crawl.crawl for crawl in wanted]
        store = Store(self.data, files)
        paths = {crawl: found for crawl, found in self._files_of(store, labels).items() if store.has_any(found)}
        check_published(self.data, labels, paths, selection, self._looked_for)
        crawls = tuple(crawl for crawl in wanted if crawl.crawl in paths)
        lists = {crawl.crawl: _list_as_input(self.data, crawl.crawl, paths[crawl.crawl]) for crawl in crawls}
        return Listing(
            crawls,
            (*inputs, *lists.values()),
            {crawl: fingerprint((file,), *self._columns) for crawl, file in lists.items()},
            findings=without_files(labels, paths),
        )

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the elements of some crawls, file after file; what is read of a crawl is kept until the crawl is done.

        Raises
        ------
        SourceError
            When a file cannot be read, or lacks a column.
        """
        import numpy as np

        store = Store(self.data, files)
        paths = self._files_of(store, crawls)
        for crawl in crawls:
            parts = []
            for part in self._parts(store, paths[crawl]):
                parts.append(part)
                if not self._has_values:
                    yield from _elements(crawl, part)
            if self._has_values:
                yield from _best_of_elements(files, crawl, parts)
            yield Captures(crawl, np.empty(0, dtype=np.object_), complete=True)
            for part in parts:  # the crawl's own file is written by now
                part.unlink(missing_ok=True)

    def _parts(self, store: Store, paths: Sequence[str]) -> Iterator[Path]:
        """Read files, several at a time, and give what was read of each in their order."""
        executor = ThreadPoolExecutor(self.parallel_requests)
        try:
            yield from executor.map(lambda path: self._part(store, path), paths)
        finally:
            executor.shutdown(cancel_futures=True)

    def _part(self, store: Store, path: str) -> Path:
        """Parquet file of a file's captures; published files have names of their own and do not change."""
        key = repr(("columnar", self.data, path, *self._columns, self._sample and self._sample.one_in))
        return store.files.derive(
            key, hashlib.sha256(path.encode()).hexdigest(), lambda to: self._read(store, path, to)
        )

    def _read(self, store: Store, path: str, target: Path) -> None:
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
                _check_columns(file.schema_arrow.names, self._columns, where)
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=self._columns):
                    rows = self._rows(pa.Table.from_batches([batch]))
                    rows = rows.filter(pc.is_valid(rows["element"]))
                    rows = rows.group_by("element").aggregate([("value", "max")])
                    writer.write_table(self._sampled(rows.rename_columns(["element", "value"])).cast(schema))
        except (pa.ArrowException, OSError) as error:
            with store.open(path) as source:
                refuse_web_page(source.read(START_BYTES), where)
            raise SourceError(f"{where}: cannot be read: {str(error)[:500]}") from error

    def _sampled(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        if self._sample is None:
            return rows
        return rows.filter(pa.array(self._sample.keeps(rows["element"].to_numpy())))


def _check_columns(names: Sequence[str], columns: Iterable[str], where: str) -> None:
    for column in columns:
        if column not in names:
            raise SourceError(f"{where}: has no column {column!r}; {listed(column, names)}")


def _list_as_input(root: str, crawl: str, paths: Sequence[str]) -> InputFile:
    """Describe a crawl's list of files instead of the files, which have names of their own and do not change."""
    text = "".join(f"{path}\n" for path in paths)
    return InputFile(f"{root}: files of {crawl}", len(text), hashlib.sha256(text.encode()).hexdigest())


def _elements(crawl: str, part: Path) -> Iterator[Captures]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(part) as file:
        for batch in file.iter_batches(columns=["element"], batch_size=2**20):
            yield Captures(crawl, batch["element"].to_numpy(zero_copy_only=False), complete=False)


def _best_of_elements(files: Files, crawl: str, parts: Sequence[Path]) -> Iterator[Captures]:
    """Give every element of a crawl once, with the best of its values as stratum."""
    with connect(files.cache) as connection:
        connection.execute(load_statement("best_value_per_element"), {"parts": [str(part) for part in parts]})
        while len(rows := connection.fetch_df_chunk(VECTORS_AT_ONCE)):
            columns: dict[str, Any] = {name: rows[name].to_numpy(dtype=object) for name in ("element", "stratum")}
            yield Captures(crawl, columns["element"], complete=False, strata=columns["stratum"])
