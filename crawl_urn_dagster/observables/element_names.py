"""Keep the text of each key next to the presence partitions, if the user wants it, and name and group elements.

Does not write the keys; see `presence`. No other step needs the texts.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.observables.keys import KEY_HASH, in_sample
from crawl_urn_dagster.observables.presence import ROWS_PER_GROUP, read_keys_and_strata
from crawl_urn_dagster.sql_loader import quote_literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.urn.data.histories import IntArray

_METADATA_KEY = "crawl_urn"
# DuckDB sorts in less memory only with many more passes.
_LEAST_MEMORY_MIB = 256
_SPOOLED = pa.schema([("key", pa.int64()), ("element", pa.string())])


@dataclass(frozen=True)
class ElementNames:
    """Texts of the elements of each crawl, one Parquet file per crawl, sorted by key.

    Parameters
    ----------
    folder
        Contains only these files.
    """

    folder: Path

    def path(self, crawl: str) -> Path:
        """Return the file of a crawl, with the columns ``key`` and ``element``."""
        return self.folder / f"{crawl}.parquet"

    def missing(self, revisions: Mapping[str, str], one_in: int) -> list[str]:
        """Return the crawls whose file is missing or has another revision or sampling fraction."""
        return [crawl for crawl, revision in revisions.items() if self._stored(crawl) != _described(revision, one_in)]

    def _stored(self, crawl: str) -> str | None:
        path = self.path(crawl)
        if not path.exists():
            return None
        found: dict[bytes, bytes] = pq.read_metadata(path).metadata or {}
        return found.get(_METADATA_KEY.encode(), b"").decode()

    def spool(self, scratch: Path, memory_bytes: int) -> NameSpool:
        """Return a spool for the crawls that are being read; see `NameSpool`."""
        return NameSpool(self, scratch, memory_bytes)

    def remove(self) -> None:
        """Delete all files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def names_of(self, keys: IntArray, crawls: Sequence[str] | npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
        """Return the texts of keys, None where unknown.

        Parameters
        ----------
        keys
            Distinct keys, shape (n,).
        crawls
            For each key the label of a crawl that captured it.
        """
        result = np.full(len(keys), None, dtype=object)
        for crawl in dict.fromkeys(crawls):
            if not self.path(crawl).exists():
                continue
            at = np.flatnonzero(np.asarray(crawls) == crawl)
            wanted = pa.table({"position": at, "key": keys[at]})
            with duckdb.connect() as connection:
                connection.register("wanted", wanted)
                found: pd.DataFrame = connection.execute(
                    "SELECT position, element FROM wanted JOIN read_parquet($path) USING (key)",
                    {"path": str(self.path(crawl))},
                ).df()
            result[found["position"].to_numpy()] = found["element"].to_numpy()
        return result


def _described(revision: str, one_in: int) -> str:
    return json.dumps({"keys": KEY_HASH, "revision": revision, "one_in": one_in})


@dataclass
class NameSpool:
    """Texts of the crawls that are being read, in the order of their captures.

    Parameters
    ----------
    names
        Where the files go.
    scratch
        Folder for temporary files.
    memory_bytes
        Bound on the memory for sorting.
    """

    names: ElementNames
    scratch: Path
    memory_bytes: int
    _writers: dict[str, pq.ParquetWriter] = field(default_factory=dict)

    def append(self, crawl: str, keys: IntArray, elements: npt.NDArray[np.object_], one_in: int) -> None:
        """Append the texts of keys that are in the sample."""
        kept = in_sample(keys, one_in)
        if crawl not in self._writers:
            self._writers[crawl] = pq.ParquetWriter(self._spool(crawl), _SPOOLED, compression="zstd")
        table = pa.table([keys[kept], pa.array(elements[kept], pa.string())], schema=_SPOOLED)
        self._writers[crawl].write_table(table)

    def write(self, crawl: str, revision: str, one_in: int) -> None:
        """Sort the texts of a crawl into its file; a crawl without captures gets an empty file."""
        self.append(crawl, np.empty(0, np.int64), np.empty(0, object), one_in)
        self._writers[crawl].close()
        # Two texts with one key count as one element.
        query = "SELECT key, min(element) AS element FROM read_parquet($spool) GROUP BY key ORDER BY key"
        described = quote_literal(_described(revision, one_in))
        options = (
            f"FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS_PER_GROUP}, "
            f"KV_METADATA {{{_METADATA_KEY}: {described}}}"
        )
        memory = max(self.memory_bytes // 2**20, _LEAST_MEMORY_MIB)
        config: dict[str, Any] = {"temp_directory": str(self.scratch), "memory_limit": f"{memory}MiB"}
        with replacing(self.names.path(crawl)) as temporary, duckdb.connect(config=config) as connection:
            files = {"spool": str(self._spool(crawl)), "target": str(temporary)}
            connection.execute(f"COPY ({query}) TO $target ({options})", files)
        self._spool(crawl).unlink()

    def _spool(self, crawl: str) -> Path:
        return self.scratch / f"{crawl}.names"


def strata_of(
    partitions: Sequence[Partition], keys: IntArray, crawls: npt.NDArray[np.object_]
) -> npt.NDArray[np.object_]:
    """Return the stratum of each key in a crawl that captured it, None without strata.

    Parameters
    ----------
    partitions
        Partitions of the crawls.
    keys
        Keys, shape (n,).
    crawls
        Label of the crawl of each key, shape (n,).
    """
    result = np.full(len(keys), None, dtype=object)
    for partition in partitions:
        at = np.flatnonzero(crawls == partition.crawl)
        if partition.stratum and at.size:
            known, codes = read_keys_and_strata(partition, int(keys[at].min()), int(keys[at].max()))
            result[at] = np.array(partition.strata, dtype=object)[codes[np.searchsorted(known, keys[at])]]
    return result


def stem_expression(granularity: str, column: str) -> str | None:
    """Return SQL for the stem of an element: what elements that fail together have in common.

    Parameters
    ----------
    granularity
        ``url``: the stem is the host; ``host``: the last two labels; ``domain``: the top-level domain.
    column
        Column of the texts.

    Returns
    -------
    str or None
        None if elements of that kind have no stem.
    """
    host = f"regexp_extract({column}, '^(?:[A-Za-z][A-Za-z0-9+.-]*://)?(?:[^/@]*@)?([^/:?#]+)', 1)"
    return {
        "url": host,
        "host": f"regexp_extract({column}, '([^.]+\\.)?[^.]+$')",
        "domain": f"regexp_extract({column}, '[^.]+$')",
    }.get(granularity)
