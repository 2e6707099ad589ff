"""A collection's DuckDB file: one writer, many readers, nothing half-written.

Here: opening the file for one query or one transaction, waiting for whoever holds it, and moving tables of the
contract in and out. Not here: what the tables hold (`schema`, `tables`), or anything about Dagster.

A program that has the file open to read keeps DuckDB from writing to it. What is written meanwhile goes into a copy,
which then takes the file's place; that program goes on with what it had.
"""

from __future__ import annotations

import re
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
from filelock import FileLock, Timeout

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.observables.schema import TABLES, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

_FIRST_WAIT_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 1.0
# In the error of DuckDB when it is this process that has the file open, in another way.
_OWN = "different configuration"


class DatabaseHeldError(TimeoutError):
    """Another process kept the DuckDB file open past the deadline; the message names the process."""


class MissingTableError(LookupError):
    """A table of the contract has not been written yet; the message says what makes it."""


@dataclass(frozen=True)
class ObservablesFile:
    """The DuckDB file of one collection.

    Parameters
    ----------
    path
        The file; its folder is made on the first write.
    deadline_seconds
        How long to wait for another process that has the file open.
    """

    path: Path
    deadline_seconds: float = 120.0

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open read-only for one query.

        Raises
        ------
        MissingTableError
            When the file does not exist.
        DatabaseHeldError
            When a writer keeps it open past the deadline.
        """
        if not self.path.exists():
            raise MissingTableError(f"{self.path} does not exist: materialise the collection's assets first")
        with closing(self._wait_for(lambda: duckdb.connect(str(self.path), read_only=True))) as connection:
            yield connection

    @contextmanager
    def reading_tables(self, names: Iterable[str]) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open read-only for queries of some tables of the contract.

        Raises
        ------
        MissingTableError
            When one has not been written yet.
        """
        with self.reading() as connection:
            for name in names:
                if not _has_table(connection, TABLES[name]):
                    raise MissingTableError(
                        f"{self.path} has no table {name!r}: materialise the asset that writes it first"
                    )
            yield connection

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open for one transaction: committed at the end, rolled back when anything raises.

        Raises
        ------
        DatabaseHeldError
            When another process keeps the file open to write, or writes, past the deadline.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._writable() as connection:
            connection.begin()
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def replace(self, frames: Mapping[str, pd.DataFrame]) -> None:
        """Replace tables in one transaction; columns a frame lacks become NULL.

        Raises
        ------
        KeyError
            When a name is no table of the contract.
        ValueError
            When a frame has a column that its table does not have.
        """
        for name, frame in frames.items():
            unknown = [column for column in frame.columns if column not in TABLES[name].column_names]
            if unknown:
                raise ValueError(f"table {name} has no columns {unknown}; it has {list(TABLES[name].column_names)}")
        with self.writing() as connection:
            for name, frame in frames.items():
                create_table(connection, TABLES[name])
                connection.register("frame", frame)
                connection.execute(f"INSERT INTO {TABLES[name].name} BY NAME FROM frame")
                connection.unregister("frame")

    def read(self, name: str) -> pd.DataFrame:
        """Read a whole table of the contract, in the order it was written.

        Raises
        ------
        MissingTableError
            When the table has not been written yet.
        """
        return self.read_all([name])[name]

    def read_all(self, names: Iterable[str]) -> dict[str, pd.DataFrame]:
        """Read whole tables of the contract, by name, as they are at one time; as of `read`."""
        wanted = list(names)
        with self.reading_tables(wanted) as connection:
            return {name: connection.execute(f"FROM {TABLES[name].name}").df() for name in wanted}

    def read_present(self, names: Iterable[str]) -> dict[str, pd.DataFrame]:
        """Read those of some tables of the contract that have been written."""
        found = {}
        for name in names:
            with suppress(MissingTableError):
                found[name] = self.read(name)
        return found

    @contextmanager
    def _writable(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open in place or, while other processes read, as a copy that takes the file's place at the end."""
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=self.deadline_seconds)
        with ExitStack() as stack:
            try:
                stack.enter_context(lock)
            except Timeout as error:
                raise DatabaseHeldError(
                    f"{self.path} was being written by another run for {self.deadline_seconds:g} s: wait for it, or "
                    "end it, then run again"
                ) from error
            yield self._wait_for(
                lambda: stack.enter_context(closing(duckdb.connect(str(self.path)))),
                lambda: stack.enter_context(self._copy()),
            )

    @contextmanager
    def _copy(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with replacing(self.path) as temporary:
            temporary.unlink()  # DuckDB makes its own
            with closing(duckdb.connect(str(temporary))) as connection:
                # Before DuckDB 2 no parameter is bound here; quotes are all that a text literal can be left by.
                path = "'" + str(self.path).replace("'", "''") + "'"
                connection.execute(f"ATTACH {path} AS held (READ_ONLY)")
                [(name,)] = connection.execute("SELECT current_database()").fetchall()
                connection.execute(f'COPY FROM DATABASE held TO "{name}"')
                yield connection

    def _wait_for(self, *ways: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection:
        """Connect in the first way that can be; of this process's own connections only the first is tried."""
        end = time.monotonic() + self.deadline_seconds
        wait = _FIRST_WAIT_SECONDS
        while True:
            for way in ways:
                found = _try(way)
                if isinstance(found, duckdb.DuckDBPyConnection):
                    return found
                held = found
                if _OWN in str(held):
                    break
            if time.monotonic() >= end:
                raise DatabaseHeldError(
                    f"{self.path} is held by {_holder(held)} and was not free within "
                    f"{self.deadline_seconds:g} s: close it there, then run again"
                ) from held
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_SECONDS)


def create_table(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Create or replace an empty table with the columns of the contract."""
    columns = ", ".join(
        f'"{column.name}" {column.type}{"" if column.nullable else " NOT NULL"}' for column in table.columns
    )
    connection.execute(f"CREATE OR REPLACE TABLE {table.name} ({columns})")


def _has_table(connection: duckdb.DuckDBPyConnection, table: Table) -> bool:
    query = "SELECT 1 FROM duckdb_tables() WHERE table_name = $table"
    return connection.execute(query, {"table": table.name}).fetchone() is not None


def _try(way: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection | duckdb.Error:
    """Connect, or give the error that says who holds the file."""
    try:
        return way()
    except (duckdb.IOException, duckdb.ConnectionException) as error:
        if "Could not set lock" in str(error) or _OWN in str(error):
            return error
        raise


def _holder(error: duckdb.Error) -> str:
    found = re.search(r"lock is held in (.+?) \(PID (\d+)\)", str(error))
    return f"process {found[2]} ({found[1]})" if found else "another connection of this process"
