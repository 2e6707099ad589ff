"""Count the elements of the lists of several collections by the lists that hold them.

Does not match the crawls of the collections or estimate anything; see `estimates.cross_archive`.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import numpy as np

from crawl_urn_dagster.observables.keys import first_key
from crawl_urn_dagster.observables.strata import UNKNOWN
from crawl_urn_dagster.sql_loader import load_statement, quote_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.urn.data.histories import FloatArray


#: Counts the elements of two or more presence partitions of one key space. If their sampling fractions differ, the
#: smallest sample is counted in all of them. Returns the elements of the sample by pattern, in the order of
#: `urn.capture_recapture.loglinear.list_patterns`, by stratum; key None: all elements. Strata are left out if no
#: partition has any.
ListCounter: TypeAlias = "Callable[[Sequence[Partition]], dict[str | None, FloatArray]]"
_LEAST_MEGABYTES = 64


@contextmanager
def list_counting(memory_bytes: int = 2**32) -> Iterator[ListCounter]:
    """Open the connection that counts lists.

    Parameters
    ----------
    memory_bytes
        Bound on the memory for counting.
    """
    with tempfile.TemporaryDirectory(prefix="spill-") as spill:
        limits: dict[str, Any] = {
            "temp_directory": spill,
            "memory_limit": f"{max(memory_bytes >> 20, _LEAST_MEGABYTES)}MiB",
        }
        with duckdb.connect(config=limits) as connection:
            yield lambda partitions: _count(connection, partitions)


def common_one_in(partitions: Sequence[Partition]) -> int:
    """Return the inverse sampling fraction of the smallest sample."""
    return max(partition.one_in for partition in partitions)


def _keys_of(partition: Partition, bit: int, last_key: int) -> str:
    path, stratum = quote_literal(str(partition.path)), _stratum(partition)
    columns = f"key, {bit} AS bit, {stratum} AS stratum"
    return f"SELECT {columns} FROM read_parquet({path}) WHERE key <= {last_key}"  # noqa: S608 - literals are quoted


def _count(connection: duckdb.DuckDBPyConnection, partitions: Sequence[Partition]) -> dict[str | None, FloatArray]:
    last_key = first_key(1, common_one_in(partitions)) - 1
    # A view takes no parameters.
    lists = " UNION ALL ".join(
        _keys_of(partition, 1 << position, last_key) for position, partition in enumerate(partitions)
    )
    connection.execute(f"CREATE OR REPLACE TEMP VIEW lists AS {lists}")
    rows = connection.execute(load_statement("count_list_patterns")).fetchall()
    counts: dict[str | None, FloatArray] = {None: np.zeros(2 ** len(partitions) - 1)}
    for stratum, pattern, elements in rows:
        counts[None][pattern - 1] += elements
        if any(partition.strata for partition in partitions):
            stratum_patterns = counts.setdefault(stratum or UNKNOWN, np.zeros(2 ** len(partitions) - 1))
            stratum_patterns[pattern - 1] += elements
    return counts


def _stratum(partition: Partition) -> str:
    """Return an expression for the label of the stratum of a row."""
    if not partition.strata:
        return "NULL::VARCHAR"
    return f"list_extract([{', '.join(quote_literal(label) for label in partition.strata)}], stratum + 1)"
