"""Write table `elements`, one row for every key, and collect the keys of the lists on the way.

Does not compute probabilities (see `history_rows`) or select histories (see `lists`). Every step works on one range of
keys at a time, so its memory does not depend on the number of elements.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.observables.history_arrays import identify, words_of
from crawl_urn_dagster.observables.keys import KEY_HASH
from crawl_urn_dagster.observables.presence import ROWS_PER_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from crawl_urn_dagster.estimates.elements.history_rows import HistoryRows
    from crawl_urn_dagster.estimates.elements.lists import Selection
    from crawl_urn_dagster.observables.history_arrays import Histories
    from crawl_urn_dagster.urn.data.histories import IntArray

#: Key of the metadata of the file.
METADATA_KEY = b"crawl_urn"


class ListedKeys(NamedTuple):
    """Elements of a list: key and position of the history of each, shape (rows,), highest score first."""

    keys: IntArray
    history: IntArray


def write_elements(
    path: Path,
    ranges: Iterable[tuple[Histories, list[int]]],
    rows: HistoryRows,
    *,
    labels: Sequence[str],
    selections: Mapping[str, Selection],
    described: Mapping[str, str],
) -> dict[str, ListedKeys]:
    """Write a row for every key, ascending, and return the keys of each list.

    Parameters
    ----------
    path
        Parquet file to write.
    ranges
        Keys with their histories, see `KeptHistories.read`.
    rows
        The known facts of each history.
    labels
        Labels of the crawls.
    selections
        Elements that each list takes.
    described
        Metadata of the file.

    Raises
    ------
    ValueError
        If a key has a history that `rows` does not contain.
    """
    collectors = {name: _Collector(selection) for name, selection in selections.items()}
    columns = _history_columns(rows, labels)
    schema = pa.schema(
        [
            pa.field("key", pa.int64(), nullable=False),
            *(pa.field(name, values.type) for name, values in columns.items()),
        ]
    )
    with (
        replacing(path) as temporary,
        pq.ParquetWriter(
            temporary,
            schema,
            # Keys hardly compress, and readers filter by key only; statistics of the other columns take a fifth longer.
            compression={name: "none" if name == "key" else "zstd" for name in schema.names},
            write_statistics=["key"],
            store_schema=False,  # so that pandas reads labels as text
            use_dictionary=list(columns),
            column_encoding={"key": "DELTA_BINARY_PACKED"},
        ) as writer,
    ):
        for keys, history in _positions(ranges, rows):
            taken = pa.array(history.astype(np.int32))
            arrays = [pa.array(keys), *(values.take(taken) for values in columns.values())]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=ROWS_PER_GROUP)
            for collector in collectors.values():
                collector.collect(keys, history)
        writer.add_key_value_metadata({METADATA_KEY: json.dumps({"keys": KEY_HASH, **described})})
    return {name: collector.listed() for name, collector in collectors.items()}


def _history_columns(rows: HistoryRows, labels: Sequence[str]) -> dict[str, pa.Array]:
    """Return the columns of table `elements` but the key, by history."""
    names = pa.array(list(labels))
    return {
        # The writer takes the labels of a dictionary as they are, without hashing the text of every row.
        "first_crawl": pa.DictionaryArray.from_arrays(pa.array(rows.first.astype(np.int32)), names),
        "last_crawl": pa.DictionaryArray.from_arrays(pa.array(rows.last.astype(np.int32)), names),
        "captures": pa.array(rows.captures.astype(np.int32)),
        "absent_crawls": pa.array(rows.absent.astype(np.int32)),
        **{
            name: pa.array(values.astype(np.float32), mask=np.isnan(values))
            for name, values in rows.probabilities.items()
        },
    }


def _positions(
    ranges: Iterable[tuple[Histories, list[int]]], rows: HistoryRows
) -> Iterator[tuple[IntArray, npt.NDArray[np.intp]]]:
    """Yield keys, and the position of the history of each among the rows."""
    known: pd.Index[Any] | None = None
    for (keys, words), slots in ranges:
        if known is None:
            known = pd.Index(identify(words_of(rows.seen, slots, len(words))))
        history = known.get_indexer(pd.Index(identify(words)))
        if (history < 0).any():
            raise ValueError("presence has changed since its histories were counted; materialise the collection again")
        yield keys, history


class _Collector:
    """Collect the keys of one list from ranges of keys."""

    def __init__(self, selection: Selection) -> None:
        self._score = selection.score
        self._wanted = selection.wanted.copy()
        self._parts: list[tuple[IntArray, Any]] = []

    def collect(self, keys: IntArray, history: npt.NDArray[np.intp]) -> None:
        """Take the first keys of each history of which more are wanted."""
        at = np.flatnonzero(self._wanted[history] > 0)
        if not at.size:
            return
        at = at[np.argsort(history[at], kind="stable")]
        key_history = history[at]
        _, start, count = np.unique(key_history, return_index=True, return_counts=True)
        number = np.arange(len(at)) - np.repeat(start, count)
        at = at[number < self._wanted[key_history]]
        self._wanted -= np.bincount(history[at], minlength=len(self._wanted))
        self._parts.append((keys[at], history[at]))

    def listed(self) -> ListedKeys:
        """Return the collected keys, highest score first, then by key."""
        empty = (np.empty(0, np.int64), np.empty(0, np.int64))
        keys, history = (np.concatenate(parts) for parts in zip(empty, *self._parts, strict=True))
        order = np.lexsort((keys, -self._score[history]))
        return ListedKeys(keys[order], history[order])
