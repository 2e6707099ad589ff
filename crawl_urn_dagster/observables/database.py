"""Read and write a collection's DuckDB file: one writer, many readers, and no partial writes.

Does not define the contents of the tables; see `schema` and `tables`.

DuckDB cannot write to a file that another process has open for reading. In that case the writer changes a copy, which
then replaces the file; the reader keeps the old contents until it opens the file again.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

import duckdb
from filelock import FileLock, Timeout

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.formatting import format_options
from crawl_urn_dagster.observables.schema import COMPLETE, CROSS_ARCHIVE, TABLES, VIEWS, Table
from crawl_urn_dagster.sql_loader import load_statement, quote_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

_FIRST_WAIT_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 1.0
# The mark itself, and a table that is also computed again after another collection has changed.
_WITHOUT_MARK = {COMPLETE.name, CROSS_ARCHIVE.name}
# Parts of DuckDB's error messages if this process itself has the file open with other settings, or in another instance.
_OPEN_IN_THIS_PROCESS = ("different configuration", "Unique file handle conflict")
_aliases = count()

_REMEDY = "materialise the asset that writes it first"
_REMEDIES = {COMPLETE.name: "its tables may belong to different crawls until the collection's update job has finished"}


class DatabaseHeldError(TimeoutError):
    """Another process kept the DuckDB file open past the deadline; the message names the process."""


class MissingTableError(LookupError):
    """A table has not been written yet; the message states what to materialise."""


class UnknownTableError(LookupError):
    """The file has no table or view of this name, and never will; the message states which there are."""


@dataclass(frozen=True)
class ObservablesFile:
    """The DuckDB file of one collection.

    Parameters
    ----------
    path
        The file; the first write creates its folder.
    deadline_seconds
        Longest time to wait for another process that has the file open.

    Examples
    --------
    >>> import pandas as pd, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ObservablesFile(pathlib.Path(folder) / "observables.duckdb")
    ...     file.replace({"m_array": pd.DataFrame({"released_crawl": ["2024-05"], "elements": [3]})})
    ...     file.read("m_array")["elements"].tolist()
    [3]
    """

    path: Path
    deadline_seconds: float = 120.0

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file read-only for one query.

        Raises
        ------
        MissingTableError
            If the file does not exist.
        DatabaseHeldError
            If a writer keeps it open past the deadline.
        """
        self._require_file()
        with closing(self._wait_for(lambda: duckdb.connect(str(self.path), read_only=True))) as connection:
            yield connection

    @contextmanager
    def reading_tables(self, names: Iterable[str]) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file read-only for queries of these tables and views.

        Raises
        ------
        MissingTableError
            If one of them has not been written yet.
        UnknownTableError
            If the schema and the file have no table or view of this name.
        """
        with self.reading() as connection:
            self._require(connection, names)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file for one transaction, which is rolled back if the block raises.

        Raises
        ------
        DatabaseHeldError
            If another process writes, or keeps the file open for writing, past the deadline.
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
        """Replace tables in one transaction; columns that a frame lacks become NULL.

        If a table changes, the same transaction drops table `complete`.

        Raises
        ------
        KeyError
            If a name is not a table of the schema.
        ValueError
            If a frame has a column that its table does not have.
        """
        for name, frame in frames.items():
            unknown = [column for column in frame.columns if column not in TABLES[name].column_names]
            if unknown:
                raise ValueError(f"table {name} has no columns {unknown}; it has {list(TABLES[name].column_names)}")
        with self.writing() as connection:
            is_marked = COMPLETE.name in _tables_and_views(connection)
            for name, frame in frames.items():
                connection.register("frame", frame)
                if is_marked and name not in _WITHOUT_MARK and _changes(connection, TABLES[name]):
                    connection.execute(f"DROP TABLE {COMPLETE.name}")
                    is_marked = False
                _create_table(connection, TABLES[name])
                connection.execute(f"INSERT INTO {TABLES[name].name} BY NAME FROM frame")
                connection.unregister("frame")

    def read(self, name: str) -> pd.DataFrame:
        """Read a table in the order in which it was written, or a view such as `headline`.

        Raises
        ------
        MissingTableError
            If the table has not been written yet.
        UnknownTableError
            If there is no such table or view; the message states which there are.
        """
        return self.read_all([name])[name]

    def read_all(self, names: Iterable[str]) -> dict[str, pd.DataFrame]:
        """Read several tables from the same state of the file, by name; raises as `read` does."""
        wanted = list(names)
        with self._attached() as connection:
            self._require(connection, wanted)
            return {name: connection.execute(f'FROM "{name}"').df() for name in wanted}

    def read_present(self, names: Iterable[str]) -> dict[str, pd.DataFrame]:
        """Read those tables that have been written, by name."""
        found = {}
        for name in names:
            with suppress(MissingTableError):
                found[name] = self.read(name)
        return found

    def _require_file(self) -> None:
        if not self.path.exists():
            raise MissingTableError(
                f"{self.path} does not exist: run `crawl-urn run`, or materialise the collection's assets, first"
            )

    def _require(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Raise if the file lacks one of these tables and views."""
        written = _tables_and_views(connection)
        for name in names:
            if name in written:
                continue
            if name not in {*TABLES, *VIEWS}:
                raise UnknownTableError(f"{self.path}: unknown table {name!r}; {format_options(name, written)}")
            raise MissingTableError(f"{self.path} has no table {name!r}: {_REMEDIES.get(name, _REMEDY)}")

    @contextmanager
    def _attached(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Attach the file read-only to the shared instance of this process; raises as `reading` does."""
        self._require_file()
        alias = f"attached_{next(_aliases)}"
        attach = f"ATTACH {quote_literal(str(self.path))} AS {alias} (READ_ONLY)"
        with closing(_shared_instance(os.getpid()).cursor()) as connection:
            self._wait_for(lambda: connection.execute(attach))
            try:
                connection.execute(f"USE {alias}")
                yield connection
            finally:
                connection.execute("USE memory")
                connection.execute(f"DETACH {alias}")

    @contextmanager
    def _writable(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file in place or, if other processes are reading it, a copy that replaces it at the end."""
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
            temporary.unlink()  # DuckDB refuses an empty file and creates its own.
            with closing(duckdb.connect(str(temporary))) as connection:
                # ATTACH takes no parameters before DuckDB 2.
                connection.execute(f"ATTACH {quote_literal(str(self.path))} AS held (READ_ONLY)")
                [(name,)] = connection.execute("SELECT current_database()").fetchall()
                connection.execute(f'COPY FROM DATABASE held TO "{name}"')
                yield connection

    def _wait_for(self, *attempts: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection:
        """Try to connect until one attempt succeeds.

        If this process itself has the file open, only the first attempt is tried.
        """
        end = time.monotonic() + self.deadline_seconds
        wait = _FIRST_WAIT_SECONDS
        while True:
            for attempt in attempts:
                result = _connect(attempt)
                if isinstance(result, duckdb.DuckDBPyConnection):
                    return result
                held = result
                if _is_open_here(held):
                    break
            if time.monotonic() >= end:
                raise DatabaseHeldError(
                    f"{self.path} is held by {_holder(held)} and was not free within "
                    f"{self.deadline_seconds:g} s: close it there, then run again"
                ) from held
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_SECONDS)


@cache
def _shared_instance(process: int) -> duckdb.DuckDBPyConnection:  # noqa: ARG001 - a forked process needs its own
    """Return an in-memory instance, because attaching a file to one takes a tenth of the time of starting one."""
    return duckdb.connect()


def _tables_and_views(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the tables and views of the file, in the order of the schema."""
    names = {name for (name,) in connection.execute(load_statement("list_tables_and_views")).fetchall()}
    known = [name for name in (*TABLES, *VIEWS) if name in names]
    return [*known, *sorted(names.difference(known))]


def _changes(connection: duckdb.DuckDBPyConnection, table: Table) -> bool:
    """Return whether the registered frame has other rows than a table has; no table has equal rows."""
    stored = connection.execute(load_statement("list_columns"), {"name": table.name}).fetchall()
    if stored != [(column.name, column.type) for column in table.columns]:
        return True
    _create_table(connection, replace(table, name="new_rows"), "TEMPORARY")
    connection.execute("INSERT INTO new_rows BY NAME FROM frame")
    query = (
        "SELECT (SELECT count(*) FROM new_rows) <> (SELECT count(*) FROM {0}) OR EXISTS (FROM new_rows EXCEPT FROM {0})"
    )
    [(is_changed,)] = connection.execute(query.format(table.name)).fetchall()
    connection.execute("DROP TABLE new_rows")
    return bool(is_changed)


def _create_table(connection: duckdb.DuckDBPyConnection, table: Table, kind: str = "") -> None:
    columns = ", ".join(
        f'"{column.name}" {column.type}{"" if column.nullable else " NOT NULL"}' for column in table.columns
    )
    connection.execute(f"CREATE OR REPLACE {kind} TABLE {table.name} ({columns})")


def _connect(attempt: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection | duckdb.Error:
    """Connect, or return the error if another connection holds the file."""
    try:
        return attempt()
    except duckdb.Error as error:
        if "Could not set lock" in str(error) or _is_open_here(error):
            return error
        raise


def _is_open_here(error: duckdb.Error) -> bool:
    return any(part in str(error) for part in _OPEN_IN_THIS_PROCESS)


def _holder(error: duckdb.Error) -> str:
    found = re.search(r"lock is held in (.+?) \(PID (\d+)\)", str(error))
    return f"process {found[2]} ({found[1]})" if found else "another connection of this process"
