"""Open Delta and Iceberg tables in a folder, whose metadata state which of the files belong to the table.

Does not read single Parquet files; see `raw_lists`.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.input_files import InputFile, LocalFile
from crawl_urn_dagster.sources.transport.locations import table_format

if TYPE_CHECKING:
    from collections.abc import Callable


def find_table(location: str) -> LocalFile | None:
    """Return the table that a folder is, identified by its current state; None if the folder is not a table."""
    path = Path(location)
    kind = table_format(path) if path.is_dir() else None
    if kind is None:
        return None
    state = _read(kind, location, lambda: _STATES[kind](path))
    size = sum(file.stat().st_size for file in path.rglob("*.parquet"))
    return LocalFile(path, InputFile(location, size, hashlib.sha256(state.encode()).hexdigest()))


def open_table(local: LocalFile) -> Any:
    """Open the current state of a table as an Arrow data set or reader, which has a ``schema``.

    Raises
    ------
    SourceError
        When the library that reads the format is not installed, or cannot read the table.
    """
    kind = table_format(local.path)
    assert kind is not None  # noqa: S101 - only `find_table` returns a folder
    return _read(kind, local.input.location, lambda: _READERS[kind](local.path))


def _read(kind: str, location: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ImportError as error:
        raise SourceError(
            f"{location}: is {kind}, which needs the extra `tables`: pip install 'crawl-urn-dagster[tables]'"
        ) from error
    except Exception as error:  # The libraries raise errors of many kinds, some of them their own.
        reason = " ".join(str(error).split())[:300]
        raise SourceError(f"{location}: is {kind} that cannot be read: {type(error).__name__}: {reason}") from error


def _delta_state(path: Path) -> str:
    from deltalake import DeltaTable

    return "\n".join(sorted(DeltaTable(path).file_uris()))


def _read_delta(path: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(path).to_pyarrow_dataset()


def _iceberg_metadata(path: Path) -> Path:
    """Return the newest metadata file: the one with the highest version in its name."""
    found = (path / "metadata").glob("*.metadata.json")
    return max(found, key=lambda file: int((re.search("[0-9]+", file.name) or ["0"])[0]))


def _iceberg_state(path: Path) -> str:
    import pyiceberg  # noqa: F401 - a missing library is reported when the crawls are listed

    metadata = _iceberg_metadata(path)
    # Some tools compress the metadata.
    return f"{metadata.name}\n{hashlib.sha256(metadata.read_bytes()).hexdigest()}"


def _read_iceberg(path: Path) -> Any:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(str(_iceberg_metadata(path))).scan().to_arrow_batch_reader()


_STATES = {"a Delta table": _delta_state, "an Iceberg table": _iceberg_state}
_READERS = {"a Delta table": _read_delta, "an Iceberg table": _read_iceberg}
