"""Recompute observables by their SQL definitions and compare them with the stored tables.

Does not write tables; numpy does the counting (`tables`, `histories`) and `sql/observables` holds the definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.observables.presence import common_sample
from crawl_urn_dagster.observables.schema import CONTAINMENT, DISCOVERY_CURVE, FIRST_RETURNS, M_ARRAY
from crawl_urn_dagster.observables.tables import read_capture_histories
from crawl_urn_dagster.sql_loader import load_statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from crawl_urn_dagster.observables.database import ObservablesFile
    from crawl_urn_dagster.observables.presence import Partition

_KEYS = {
    "capture_history_counts": ["history"],
    "capture_frequencies": ["captures"],
    **{table.name: list(table.key) for table in (CONTAINMENT, DISCOVERY_CURVE, M_ARRAY, FIRST_RETURNS)},
}
# Counts must be equal. Sums of fractions may differ in the last bits, because DuckDB adds in another order.
_RELATIVE_TOLERANCE, _ABSOLUTE_TOLERANCE = 1e-9, 1e-12


def history_pairs(file: ObservablesFile) -> int:
    """Return histories times pairs of crawls, to which the time of `observables_differences` is proportional."""
    with file.reading_tables(["crawls", "capture_history_counts"]) as connection:
        [(n_histories,)] = connection.execute("SELECT count(*) FROM capture_history_counts").fetchall()
        [(n_crawls,)] = connection.execute("SELECT count(*) FROM crawls").fetchall()
    return int(n_histories * n_crawls * (n_crawls - 1) // 2)


def observables_differences(file: ObservablesFile, partitions: Sequence[Partition] = ()) -> pd.DataFrame:
    """Return all values of the observable tables that differ from their SQL definitions.

    Parameters
    ----------
    file
        Tables of a collection that has capture histories.
    partitions
        Presence partitions of all its crawls, to recompute `capture_history_counts` too. If the collection is
        sampled, these counts are multiplied by the same factor as the stored ones. The other observables are
        recomputed from the stored counts. Empty: the counts are not recomputed.

    Returns
    -------
    Columns ``table, row, column, stored, recomputed``, the largest difference first. ``row`` is the key of the row; a
    value that one side lacks is NaN. Capture frequencies have no table and are compared with `CaptureHistoryCounts`.

    Raises
    ------
    MissingTableError
        When one of the tables has not been written yet.
    """
    frequencies = read_capture_histories(file).capture_frequencies()
    captures = np.flatnonzero(frequencies)
    stored = {"capture_frequencies": pd.DataFrame({"captures": captures, "elements": frequencies[captures]})}
    names = [name for name in _KEYS if name != "capture_history_counts"]
    tables = [name for name in names if name not in stored]
    with file.reading_tables(["crawls", "capture_history_counts", *tables]) as connection:
        stored |= {name: connection.execute(f"FROM {name}").df() for name in tables}
        recomputed = {name: _recompute(connection, name) for name in names}
        if partitions:
            query = "SELECT history, sum(elements)::BIGINT AS elements FROM capture_history_counts GROUP BY history"
            stored["capture_history_counts"] = connection.execute(query).df()
            paths = [str(partition.path) for partition in partitions]
            connection.execute("SET VARIABLE presence = $paths", {"paths": paths})
            connection.execute("SET VARIABLE one_in = $one_in", {"one_in": common_sample(partitions)})
            recomputed["capture_history_counts"] = _recompute(connection, "capture_history_counts")
    found = [_differences(name, stored[name], recomputed[name]) for name in recomputed]
    table = pd.concat(found, ignore_index=True)
    size = (table["stored"] - table["recomputed"]).abs()
    order = size.sort_values(ascending=False, kind="stable", na_position="first").index
    return table.loc[order].reset_index(drop=True)


def _recompute(connection: duckdb.DuckDBPyConnection, name: str) -> pd.DataFrame:
    return connection.execute(load_statement(f"observables/{name}")).df()


def _differences(name: str, stored: pd.DataFrame, recomputed: pd.DataFrame) -> pd.DataFrame:
    """Compare a table with its recomputed columns, row by row of its key."""
    key = _KEYS[name]
    rows = stored.merge(recomputed, on=key, how="outer", suffixes=("_stored", "_recomputed"), indicator=True)
    found = []
    for column in recomputed.columns.drop(key):
        ours, theirs = (
            rows[f"{column}_{side}"].to_numpy(np.float64, na_value=np.nan) for side in ("stored", "recomputed")
        )
        is_count = pd.api.types.is_integer_dtype(recomputed[column].dtype)
        relative, absolute = (0, 0) if is_count else (_RELATIVE_TOLERANCE, _ABSOLUTE_TOLERANCE)
        differs = ~np.isclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)
        differs |= (rows["_merge"] != "both").to_numpy()
        labels = [" ".join(f"{part}={row[part]}" for part in key) for row in rows.loc[differs, key].to_dict("records")]
        found.append(
            pd.DataFrame(
                {"table": name, "row": labels, "column": column, "stored": ours[differs], "recomputed": theirs[differs]}
            )
        )
    return pd.concat(found, ignore_index=True)
