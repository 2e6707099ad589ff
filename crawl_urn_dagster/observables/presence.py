"""Write and read presence partitions: one Parquet file per crawl with its distinct keys, sorted, and their strata.

Does not read sources (`sources`), hash elements (`keys`) or merge histories (`kept_histories`).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crawl_urn_dagster.atomic import exclusive, replacing, scratch_folder
from crawl_urn_dagster.observables.keys import KEY_HASH, element_keys, first_key, in_sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from crawl_urn_dagster.observables.element_names import ElementNames, NameSpool
    from crawl_urn_dagster.observables.strata import StratumSettings
    from crawl_urn_dagster.progress import Progress
    from crawl_urn_dagster.urn.data.histories import IntArray

    _Texts = npt.NDArray[np.object_]
    _Lost = npt.NDArray[np.bool_]
    _Complete = bool | None
    _Captures = tuple[str, _Texts, _Complete] | tuple[str, _Texts, _Complete, _Texts | None, _Lost | None]

_METADATA_KEY = b"crawl_urn"
_SCHEMA = pa.schema([pa.field("key", pa.int64(), nullable=False)])
_STRATUM = pa.field("stratum", pa.uint8(), nullable=False)
_LOST = pa.field("lost", pa.bool_(), nullable=False)
ROWS_PER_GROUP = 2**17
# A block of keys is in memory three times while it is sorted: as read, selected and sorted.
_BYTES_PER_SORTED_KEY = 3 * 8
# Strata add the sort order and the codes.
_BYTES_PER_SORTED_KEY_WITH_STRATUM = 4 * 8 + 4
# Lowest and highest key.
_ALL_KEYS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
# As for labels of crawls: valid as a file name on every system, and cannot leave the folder.
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+ -]{0,63}")


@dataclass(frozen=True)
class Partition:
    """The presence file of one crawl.

    Attributes
    ----------
    path
        Parquet file with column ``key`` (int64, ascending, distinct), with strata ``stratum`` (uint8, a position in
        `strata`), and with losses ``lost`` (bool).
    crawl
        Label of the crawl.
    revision
        Name that the source gives to this state of the crawl.
    one_in
        Inverse of the sampling fraction; 1: all elements.
    content
        Hash of the keys, their strata and their losses.
    rows
        Number of keys.
    stratum
        Definition of the strata; empty: no strata.
    strata
        Strata in order.
    lost
        Number of keys that were not released after their capture.
    """

    path: Path
    crawl: str
    revision: str
    one_in: int
    content: str
    rows: int
    stratum: str = ""
    strata: list[str] = field(default_factory=list)
    lost: int = 0

    @property
    def elements(self) -> int:
        """Distinct elements of the crawl; an estimate if it is sampled."""
        return self.rows * self.one_in


@dataclass(frozen=True)
class PresenceFolder:
    """The presence partitions of a collection, one file per crawl."""

    folder: Path

    def read(self, crawl: str) -> Partition | None:
        """Return a crawl's partition; None if the file is missing or was not written by this package."""
        path = self._path(crawl)
        if not path.exists():
            return None
        with pq.ParquetFile(path) as file:
            stored = json.loads((file.metadata.metadata or {}).get(_METADATA_KEY, "{}"))
            rows = file.metadata.num_rows
        if stored.pop("keys", None) != KEY_HASH:
            return None
        return Partition(path=path, rows=rows, **stored)

    def read_all(self, crawls: Iterable[str]) -> list[Partition]:
        """Return the partitions of the crawls that have one, in the same order."""
        return [partition for crawl in crawls if (partition := self.read(crawl))]

    def outdated(
        self,
        revisions: Mapping[str, str],
        one_in: int,
        stratum: StratumSettings | None = None,
        names: ElementNames | None = None,
    ) -> list[str]:
        """Return the crawls whose partition is missing or has another revision, sampling fraction or strata.

        If texts are kept, these are also the crawls whose texts are missing.
        """
        found = {one.crawl: (one.revision, one.one_in, one.stratum) for one in self.read_all(revisions)}
        strata = stratum.partitioned_by if stratum else ""
        unnamed = set(names.missing(revisions, one_in)) if names else set()
        return [
            crawl
            for crawl, revision in revisions.items()
            if crawl in unnamed or found.get(crawl) != (revision, one_in, strata)
        ]

    def write(
        self,
        captures: Iterable[_Captures],
        revisions: Mapping[str, str],
        *,
        one_in: int = 1,
        stratum: StratumSettings | None = None,
        names: ElementNames | None = None,
        memory_bytes: int = 2**32,
        progress: Progress | None = None,
    ) -> Iterator[Partition]:
        """Write the partitions of crawls and yield each as soon as it is complete.

        Parameters
        ----------
        captures
            Tuples of a crawl's label, texts of its elements, whether the crawl is complete, the elements' values of
            the stratum's column if there is one, and whether they were lost. Crawls may be mixed and elements
            repeated; a crawl that is never marked complete is written at the end, and one that is marked by None is
            not written.
        revisions
            Revision of each crawl to write, as the source names it.
        one_in
            Inverse of the sampling fraction of a coordinated sample.
        stratum
            Keep the stratum of every element: the first in order if it has several in one crawl.
        names
            Keep the text of every key there; None: keep no texts.
        memory_bytes
            Bound on the memory for sorting; a larger crawl is sorted one range at a time.
        progress
            Advanced by the number of captures.

        Raises
        ------
        KeyError
            If there are captures of a crawl that has no revision.
        ValueError
            If a crawl has too many strata, or its label cannot be a file name.
        """
        waiting = dict.fromkeys(revisions)
        values: list[Any]
        with exclusive(self.folder), scratch_folder(self.folder) as scratch:
            spools = {crawl: _Spool(scratch / str(number), stratum) for number, crawl in enumerate(revisions)}
            texts = names.spool(scratch, memory_bytes) if names else None
            write = partial(self._write, one_in=one_in, memory_bytes=memory_bytes, texts=texts)
            for crawl, elements, complete, *values in captures:
                keys = element_keys(elements)
                spools[crawl].append(keys, one_in, *values)
                if texts:
                    texts.append(crawl, keys, np.asarray(elements, dtype=object), one_in)
                if progress:
                    progress.advance(len(elements))
                if complete or complete is None:
                    del waiting[crawl]
                if complete:
                    yield write(crawl, spools[crawl], revisions)
            for crawl in waiting:
                yield write(crawl, spools[crawl], revisions)

    def _write(
        self,
        crawl: str,
        spool: _Spool,
        revisions: Mapping[str, str],
        *,
        one_in: int,
        memory_bytes: int,
        texts: NameSpool | None,
    ) -> Partition:
        """Sort the spooled keys of a crawl into its file, and its texts first if they are kept."""
        path = self._path(crawl)
        if texts:
            texts.write(crawl, revisions[crawl], one_in)
        digest = hashlib.sha256()
        rows = 0
        lost = spool.lost()
        schema = _SCHEMA if spool.stratum is None else _SCHEMA.append(_STRATUM)
        if lost.size:
            schema = schema.append(_LOST)
        with (
            replacing(path) as temporary,
            pq.ParquetWriter(
                temporary,
                schema,
                compression="none",
                use_dictionary=False,
                column_encoding={"key": "DELTA_BINARY_PACKED", "stratum": "PLAIN"},
            ) as writer,
        ):
            for columns in spool.sorted_ranges(one_in, memory_bytes):
                if lost.size:
                    columns.append(np.isin(columns[0], lost))
                for column in columns:
                    digest.update(column)
                rows += len(columns[0])
                writer.write_table(pa.table(columns, schema=schema), row_group_size=ROWS_PER_GROUP)
            stored: dict[str, Any] = {"crawl": crawl, "revision": revisions[crawl], "one_in": one_in}
            if spool.stratum is not None:
                strata = spool.strata()
                digest.update(json.dumps(strata).encode())
                stored |= {"stratum": spool.stratum.partitioned_by, "strata": strata}
            if lost.size:
                stored["lost"] = lost.size
            stored["content"] = digest.hexdigest()
            writer.add_key_value_metadata({_METADATA_KEY: json.dumps({"keys": KEY_HASH, **stored})})
        spool.remove()
        return Partition(path=path, rows=rows, **stored)

    def _path(self, crawl: str) -> Path:
        if not _FILE_NAME.fullmatch(crawl):
            raise ValueError(f"{crawl[:80]!r} is not a valid label of a crawl, so {self.folder} has no file for it")
        return self.folder / f"{crawl}.parquet"


@dataclass
class _Spool:
    """A file with the keys of a crawl in the order of its captures and, with strata, a file with their codes.

    Attributes
    ----------
    path
        File of the keys.
    stratum
        None: without strata.
    codes
        Code of each stratum, in order of first occurrence.
    """

    path: Path
    stratum: StratumSettings | None
    codes: dict[str, int] = field(default_factory=dict)

    def append(self, keys: IntArray, one_in: int, values: _Texts | None = None, lost: _Lost | None = None) -> None:
        """Append the keys that are in the sample, with their values of the stratum's column and their losses."""
        kept = in_sample(keys, one_in)
        if lost is not None:
            with self._lost_path.open("ab") as spool:
                spool.write(keys[kept][lost[kept]].tobytes())
        with self.path.open("ab") as spool:
            spool.write(keys[kept].tobytes())
        if self.stratum is None or not len(keys):
            return
        if values is None:
            raise ValueError(f"captures have no values of stratum.column {self.stratum.column!r}")
        position, found = self.stratum.encode(values[kept])
        self.stratum.in_order([*self.codes, *found])  # raises if there are too many
        codes = np.array([self.codes.setdefault(label, len(self.codes)) for label in found], dtype=np.uint8)
        with self._codes_path.open("ab") as spool:
            spool.write(codes[position].tobytes())

    def strata(self) -> list[str]:
        """Return the strata in order; the codes of the sorted ranges are positions in this list."""
        return self.stratum.in_order(self.codes) if self.stratum else []

    def lost(self) -> IntArray:
        """Return the distinct keys that were not released, ascending."""
        return np.unique(_read_spool(self._lost_path, np.int64))

    def sorted_ranges(self, one_in: int, memory_bytes: int) -> Iterator[list[npt.NDArray[Any]]]:
        """Yield blocks of distinct keys, ascending, with their strata if there are any.

        A key with several strata keeps the first in order. Each block is sorted within the memory bound.
        """
        keys = _read_spool(self.path, np.int64)
        per_key = _BYTES_PER_SORTED_KEY if self.stratum is None else _BYTES_PER_SORTED_KEY_WITH_STRATUM
        parts = max(1, -(-len(keys) * per_key // memory_bytes))
        order_of_code = np.array([self.strata().index(label) for label in self.codes], dtype=np.uint8)
        for part in range(parts):
            # The last part ends with the sample, which may be the end of the key space.
            low, high = first_key(part, parts * one_in), first_key(part + 1, parts * one_in) - 1
            inside = slice(None) if parts == 1 else (keys >= low) & (keys <= high)
            if self.stratum is None:
                columns: list[npt.NDArray[Any]] = [np.sort(keys[inside])]
            else:
                codes = order_of_code[_read_spool(self._codes_path, np.uint8)[inside]]
                order = np.lexsort((codes, keys[inside]))
                columns = [keys[inside][order], codes[order]]
            is_first = np.ones(len(columns[0]), dtype=np.bool_)
            np.not_equal(columns[0][1:], columns[0][:-1], out=is_first[1:])
            if is_first.size:
                yield [column[is_first] for column in columns]

    def remove(self) -> None:
        """Remove the files."""
        self.path.unlink(missing_ok=True)
        self._codes_path.unlink(missing_ok=True)
        self._lost_path.unlink(missing_ok=True)

    @property
    def _codes_path(self) -> Path:
        return self.path.with_suffix(".strata")

    @property
    def _lost_path(self) -> Path:
        return self.path.with_suffix(".lost")


def _read_spool(path: Path, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Map a spool into memory; its file is missing if nothing was appended."""
    filled = path.exists() and path.stat().st_size
    return np.memmap(path, dtype=dtype, mode="r") if filled else np.empty(0, dtype=dtype)


def read_keys(partition: Partition, low: int, high: int) -> IntArray:
    """Return a partition's keys from low to high, both included, ascending; reads only the row groups it needs.

    Raises
    ------
    ValueError
        If the file has been replaced since the partition was read.
    """
    return _read_columns(partition, low, high, ["key"])[0]


def read_keys_and_strata(partition: Partition, low: int, high: int) -> tuple[IntArray, npt.NDArray[np.uint8]]:
    """Return the keys as `read_keys` does, and the position of each key's stratum in `Partition.strata`."""
    keys, strata = _read_columns(partition, low, high, ["key", "stratum"])
    return keys, strata


def read_lost_keys(partition: Partition) -> IntArray:
    """Return the keys that were not released after their capture, ascending."""
    if not partition.lost:
        return np.empty(0, dtype=np.int64)
    keys, lost = _read_columns(partition, *_ALL_KEYS, ["key", "lost"])
    return np.asarray(keys[lost])


def _read_columns(partition: Partition, low: int, high: int, names: list[str]) -> list[npt.NDArray[Any]]:
    """Read columns of the keys from low to high; the first must be ``key``."""
    with pq.ParquetFile(partition.path) as file:
        described = json.loads(file.metadata.metadata[_METADATA_KEY])["content"]
        if described != partition.content:
            raise ValueError(f"{partition.path} was replaced while it was read; try again")
        groups = []
        for number in range(file.num_row_groups):
            statistics = file.metadata.row_group(number).column(0).statistics
            if statistics.max >= low and statistics.min <= high:
                groups.append(number)
        table = file.read_row_groups(groups, columns=names, use_threads=False)
    columns = [table[name].to_numpy() for name in names]
    inside = slice(np.searchsorted(columns[0], low), np.searchsorted(columns[0], high, side="right"))
    return [column[inside] for column in columns]


def common_sample(partitions: Sequence[Partition]) -> int:
    """Return the inverse sampling fraction that all partitions share.

    Raises
    ------
    ValueError
        If their sampling fractions differ.
    """
    samples = {partition.one_in: partition.crawl for partition in partitions}
    if len(samples) > 1:
        found = " and ".join(f"one in {one_in} ({crawl})" for one_in, crawl in sorted(samples.items()))
        raise ValueError(f"the crawls have different sampling fractions, {found}: ingest them again")
    return next(iter(samples))
