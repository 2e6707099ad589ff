"""Presence partitions: the distinct keys of one crawl, sorted, in a Parquet file of its own, with the stratum of each.

Here: writing them from captures, whole or not at all, and reading them by range of keys. Not here: where captures come
from (`sources`), the hash (`keys`), or histories (`histories`).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crawl_urn_dagster.atomic import exclusive, replacing, scratch_folder
from crawl_urn_dagster.observables.keys import KEYS, element_keys, first_key, in_sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from crawl_urn_dagster.observables.strata import StratumSettings
    from crawl_urn_dagster.progress import Progress
    from crawl_urn_dagster.urn.data.histories import IntArray

    _Texts = npt.NDArray[np.object_]
    _Captures = tuple[str, _Texts, bool] | tuple[str, _Texts, bool, _Texts | None]

_METADATA_KEY = b"crawl_urn"
_SCHEMA = pa.schema([pa.field("key", pa.int64(), nullable=False)])
_SCHEMA_WITH_STRATA = _SCHEMA.append(pa.field("stratum", pa.uint8(), nullable=False))
ROWS_PER_GROUP = 2**17
# A block of keys is held three times while it is sorted: as read, selected, and sorted.
_BYTES_PER_SORTED_KEY = 3 * 8
# With strata: also the order, and the codes of each.
_BYTES_PER_SORTED_KEY_WITH_STRATUM = 4 * 8 + 4
# As in labels of crawls: a file name on every system, and no way out of the folder.
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+ -]{0,63}")


@dataclass(frozen=True)
class Partition:
    """One crawl's file.

    Attributes
    ----------
    path
        The file: column ``key`` (int64), ascending, distinct; with strata also ``stratum`` (uint8), a position in
        `strata`.
    crawl
        Label of the crawl.
    revision
        What the source called this content.
    one_in
        Keys of a sample of one in so many; 1: of all elements.
    content
        Hash of the keys, and of their strata: equal when they are.
    rows
        Number of keys.
    stratum
        What the strata depend on; empty: there are none.
    strata
        The strata in order.
    """

    path: Path
    crawl: str
    revision: str
    one_in: int
    content: str
    rows: int
    stratum: str = ""
    strata: list[str] = field(default_factory=list)

    @property
    def elements(self) -> int:
        """Distinct elements of the crawl; an estimate when it was sampled."""
        return self.rows * self.one_in


@dataclass(frozen=True)
class PresenceFolder:
    """The partitions of a collection, a file per crawl."""

    folder: Path

    def read(self, crawl: str) -> Partition | None:
        """Return a crawl's partition; None when there is none, or it is not of this package's making."""
        path = self._path(crawl)
        if not path.exists():
            return None
        with pq.ParquetFile(path) as file:
            stored = json.loads((file.metadata.metadata or {}).get(_METADATA_KEY, "{}"))
            rows = file.metadata.num_rows
        if stored.pop("keys", None) != KEYS:
            return None
        return Partition(path=path, rows=rows, **stored)

    def read_all(self, crawls: Iterable[str]) -> list[Partition]:
        """Return the partitions of those crawls that have one, in the same order."""
        return [partition for crawl in crawls if (partition := self.read(crawl))]

    def outdated(self, revisions: Mapping[str, str], one_in: int, stratum: StratumSettings | None = None) -> list[str]:
        """Return the crawls whose partition is not there, or is of another revision, sample or stratum."""
        held = {one.crawl: (one.revision, one.one_in, one.stratum) for one in self.read_all(revisions)}
        partitioned_by = stratum.partitioned_by if stratum else ""
        return [crawl for crawl, revision in revisions.items() if held.get(crawl) != (revision, one_in, partitioned_by)]

    def write(
        self,
        captures: Iterable[_Captures],
        revisions: Mapping[str, str],
        *,
        one_in: int = 1,
        stratum: StratumSettings | None = None,
        memory_bytes: int = 2**32,
        progress: Progress | None = None,
    ) -> Iterator[Partition]:
        """Write the partitions of some crawls, each as soon as it is complete, and give them.

        Parameters
        ----------
        captures
            Label of a crawl, texts of elements of it, whether it has no more, and with a stratum the values of theirs;
            in any order, and an element as often as it likes. What is not complete at the end is complete then.
        revisions
            The crawls, and what the source calls their content.
        one_in
            Keep a coordinated sample of one element in so many.
        stratum
            Keep the stratum of every element; of several in one crawl, the first in order.
        memory_bytes
            Bound on what is sorted at once; a larger crawl is sorted range by range.
        progress
            Told of every capture.

        Raises
        ------
        KeyError
            When there are captures of another crawl.
        ValueError
            When a crawl has too many strata.
        """
        waiting = dict.fromkeys(revisions)
        with exclusive(self.folder), scratch_folder(self.folder) as scratch:
            spools = {crawl: _Spool(scratch / str(number), stratum) for number, crawl in enumerate(revisions)}
            for crawl, elements, complete, *values in captures:
                spools[crawl].append(element_keys(elements), next(iter(values), None), one_in)
                if progress:
                    progress.advance(len(elements))
                if complete:
                    del waiting[crawl]
                    yield self._write(crawl, spools[crawl], revisions, one_in, memory_bytes)
            for crawl in waiting:
                yield self._write(crawl, spools[crawl], revisions, one_in, memory_bytes)

    def _write(
        self, crawl: str, spool: _Spool, revisions: Mapping[str, str], one_in: int, memory_bytes: int
    ) -> Partition:
        """Sort a crawl's spooled keys into its file."""
        path = self._path(crawl)
        digest = hashlib.sha256()
        rows = 0
        schema = _SCHEMA if spool.stratum is None else _SCHEMA_WITH_STRATA
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
                for column in columns:
                    digest.update(column)
                rows += len(columns[0])
                writer.write_table(pa.table(columns, schema=schema), row_group_size=ROWS_PER_GROUP)
            stored: dict[str, Any] = {"crawl": crawl, "revision": revisions[crawl], "one_in": one_in}
            if spool.stratum is not None:
                strata = spool.strata()
                digest.update(json.dumps(strata).encode())
                stored |= {"stratum": spool.stratum.partitioned_by, "strata": strata}
            stored["content"] = digest.hexdigest()
            writer.add_key_value_metadata({_METADATA_KEY: json.dumps({"keys": KEYS, **stored})})
        spool.remove()
        return Partition(path=path, rows=rows, **stored)

    def _path(self, crawl: str) -> Path:
        if not _FILE_NAME.fullmatch(crawl):
            raise ValueError(f"{crawl[:80]!r} is no label of a crawl, and names no file in {self.folder}")
        return self.folder / f"{crawl}.parquet"


@dataclass
class _Spool:
    """Keys of a crawl in the order of its captures, in a file; with strata a second one of their codes.

    Attributes
    ----------
    path
        File of the keys.
    stratum
        None: without strata.
    codes
        Code of each stratum, in the order in which they were met.
    """

    path: Path
    stratum: StratumSettings | None
    codes: dict[str, int] = field(default_factory=dict)

    def append(self, keys: IntArray, values: _Texts | None, one_in: int) -> None:
        """Add the keys that are in a sample."""
        kept = in_sample(keys, one_in)
        with self.path.open("ab") as spool:
            spool.write(keys[kept].tobytes())
        if self.stratum is None or not len(keys):
            return
        if values is None:
            raise ValueError(f"captures have no values of stratum.column {self.stratum.column!r}")
        position, found = self.stratum.encode(values[kept])
        self.stratum.in_order([*self.codes, *found])  # are not too many
        codes = np.array([self.codes.setdefault(label, len(self.codes)) for label in found], dtype=np.uint8)
        with self._codes_path.open("ab") as spool:
            spool.write(codes[position].tobytes())

    def strata(self) -> list[str]:
        """Return the strata in order, to which the codes in the sorted ranges refer."""
        return self.stratum.in_order(self.codes) if self.stratum else []

    def sorted_ranges(self, one_in: int, memory_bytes: int) -> Iterator[list[npt.NDArray[Any]]]:
        """Give the distinct keys, and their strata if there are any, in blocks ascending by key.

        Each block is sorted within the memory; of a key's strata the first in order stays.
        """
        keys = _read_spool(self.path, np.int64)
        per_key = _BYTES_PER_SORTED_KEY if self.stratum is None else _BYTES_PER_SORTED_KEY_WITH_STRATUM
        parts = max(1, -(-len(keys) * per_key // memory_bytes))
        order_of_code = np.array([self.strata().index(label) for label in self.codes], dtype=np.uint8)
        for part in range(parts):
            # The last part ends where the sample does, which may be where keys do.
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

    @property
    def _codes_path(self) -> Path:
        return self.path.with_suffix(".strata")


def _read_spool(path: Path, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Map a spool, which is no file when nothing was put into it."""
    filled = path.exists() and path.stat().st_size
    return np.memmap(path, dtype=dtype, mode="r") if filled else np.empty(0, dtype=dtype)


def read_keys(partition: Partition, low: int, high: int) -> IntArray:
    """Return a partition's keys from low to high, both included, ascending; only row groups that hold any are read.

    Raises
    ------
    ValueError
        When the file is not the one that was described.
    """
    return _read_columns(partition, low, high, ["key"])[0]


def read_keys_and_strata(partition: Partition, low: int, high: int) -> tuple[IntArray, npt.NDArray[np.uint8]]:
    """Return what `read_keys` does, and of each key the position of its stratum in `Partition.strata`."""
    keys, strata = _read_columns(partition, low, high, ["key", "stratum"])
    return keys, strata


def _read_columns(partition: Partition, low: int, high: int, names: list[str]) -> list[npt.NDArray[Any]]:
    """Read columns of the keys from low to high, the key's first."""
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
    """Return the sampling factor of some partitions.

    Raises
    ------
    ValueError
        When they are samples of different sizes.
    """
    samples = {partition.one_in: partition.crawl for partition in partitions}
    if len(samples) > 1:
        found = " and ".join(f"one in {one_in} ({crawl})" for one_in, crawl in sorted(samples.items()))
        raise ValueError(f"the crawls are samples of different sizes, {found}: ingest them again")
    return next(iter(samples))
