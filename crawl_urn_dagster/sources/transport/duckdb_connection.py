"""Open the DuckDB connection that reads raw lists.

Does not open the collection's DuckDB file; see `observables.database`.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

#: Vectors of 2,048 rows per chunk: at most about a million rows of text are in memory at once.
VECTORS_PER_CHUNK = 512


@contextmanager
def connect(scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an in-memory DuckDB that downloads nothing and spills to a temporary folder in `scratch`."""
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
