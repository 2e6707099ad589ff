"""The DuckDB connection that raw lists are read through.

Here: opening it. Not here: formats of raw lists (`presence_list`), or the collection's own DuckDB file (`observables`).
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

#: Of 2,048 rows each: about a million rows are text in memory at once.
VECTORS_AT_ONCE = 512


@contextmanager
def connect(scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
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
