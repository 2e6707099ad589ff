"""Presence lists as Parquet: written whole or not at all, and counted.

Here: the engine that reads and writes them, and the distinct elements of each crawl. Not here: formats of raw
lists (`presence_list`), or capture histories (`observables`).
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.sources.base import Presence
from crawl_urn_dagster.sources.calendar import crawls_frame
from crawl_urn_dagster.statements import load_statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.inputs import InputFile


@contextmanager
def engine(scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an in-memory DuckDB that spills to a folder of its own under another, and downloads nothing."""
    import duckdb

    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="spill-", dir=scratch) as spill:
        connection = duckdb.connect(
            config={
                "temp_directory": spill,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        with connection:
            yield connection


def write_presence(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    parameters: Mapping[str, Any],
    destination: Path,
    *,
    crawls: Sequence[DatedCrawl],
    inputs: tuple[InputFile, ...],
) -> Presence:
    """Run a statement that copies captures to ``$target``, put the file in place, and count it.

    Parameters
    ----------
    connection
        The engine, with whatever the statement reads.
    statement
        Name of the statement.
    parameters
        Its parameters but ``target``.
    destination
        The Parquet file; what was there stays until the new one is whole.
    crawls
        The crawls that are copied, in time order.
    inputs
        The files that are copied from.
    """
    with replacing(destination) as temporary:
        target = {"target": str(temporary)}
        (rows,) = connection.execute(load_statement(statement), {**parameters, **target}).fetchall()[0]
        counted = connection.execute(load_statement("count_presence"), {"presence": str(temporary)}).fetchall()
    return Presence(crawls_frame(crawls, dict(counted)), rows, inputs)
