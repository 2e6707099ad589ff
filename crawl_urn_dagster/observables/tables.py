"""Build the observable tables from capture-history counts or from published pairs and windows.

Does not count histories (`kept_histories`) or define columns (`schema`). numpy computes every observable and DuckDB
stores it; `sql/observables` holds the definitions in SQL, and `sql_definitions` compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd

from crawl_urn_dagster.urn import (
    CaptureHistoryCounts,
    CountingError,
    first_returns,
    recaptures_from_unions,
    unions_from_recaptures,
)
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from crawl_urn_dagster.observables.database import ObservablesFile


def crawls_table(crawls: pd.DataFrame, content: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return table `crawls`.

    Parameters
    ----------
    crawls
        Columns ``crawl, started_at, dated_by, elements``, in time order.
    content
        Hash of each crawl's keys, if they were read.

    Examples
    --------
    >>> dates = pd.to_datetime(["2023-01-01", "2024-01-01"])
    >>> crawls = pd.DataFrame({"crawl": ["a", "b"], "started_at": dates, "dated_by": "table", "elements": [3, 4]})
    >>> crawls_table(crawls)["years"].round(3).tolist()
    [0.0, 0.999]
    """
    started = pd.to_datetime(crawls["started_at"])
    return pd.DataFrame(
        {
            "crawl": crawls["crawl"].to_numpy(),
            "crawl_index": np.arange(len(crawls)),
            "started_at": started.to_numpy(),
            "years": ((started - started.iloc[0]) / pd.Timedelta(days=DAYS_PER_YEAR)).to_numpy(),
            "elements": crawls["elements"].to_numpy(),
            "dated_by": crawls["dated_by"].to_numpy(),
            "content": [(content or {}).get(crawl) for crawl in crawls["crawl"]],
        }
    )


def capture_history_counts_table(counts: CaptureHistoryCounts, stratum: str | None = None) -> pd.DataFrame:
    """Return table `capture_history_counts` of a stratum.

    Histories are texts of 0s and 1s, which DuckDB casts to bits.

    Examples
    --------
    >>> counts = CaptureHistoryCounts(np.array([[True, False], [True, True]]), np.array([5, 2]))
    >>> capture_history_counts_table(counts)["history"].tolist()
    ['10', '11']
    """
    text = (counts.seen.view(np.uint8) + ord("0")).tobytes().decode("ascii")
    n = counts.n_crawls
    histories = [text[start : start + n] for start in range(0, len(text), n)]
    return pd.DataFrame(
        {"history": histories, "stratum": stratum, "elements": counts.elements, "lost": counts.lost}
    ).astype({"lost": "Int64"})


def count_distinct_keys(paths: Sequence[Path]) -> int:
    """Count the distinct keys of presence partitions in DuckDB, without capture histories."""
    query = "SELECT count(DISTINCT key) FROM read_parquet($paths)"
    with duckdb.connect() as connection:
        row = connection.execute(query, {"paths": [str(path) for path in paths]}).fetchone()
    return int(row[0]) if row else 0


def create_headline_view(file: ObservablesFile) -> None:
    """Write view `headline`: the rows of table `parameters` that belong to the collection's selected fit."""
    with file.writing() as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW headline AS SELECT * FROM parameters WHERE headline AND stratum IS NULL"
        )


def count_all_elements(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> int | None:
    """Return the number of distinct elements in all crawls together; None if the source does not publish it."""
    labels = crawls["crawl"]
    whole = discovery_curve[
        (discovery_curve["start_crawl"] == labels.iloc[0]) & (discovery_curve["end_crawl"] == labels.iloc[-1])
    ]
    return None if whole.empty else int(whole["distinct_elements"].iloc[0])


def read_capture_histories(file: ObservablesFile) -> CaptureHistoryCounts:
    """Read table `capture_history_counts`; a history occurs once for each stratum that has it."""
    return _read_capture_histories(file)[0]


def read_strata(file: ObservablesFile) -> dict[str, CaptureHistoryCounts]:
    """Read table `capture_history_counts` by stratum, in order; empty if the collection has no strata."""
    counts, stratum = _read_capture_histories(file)
    strata = {label: stratum == label for label in dict.fromkeys(stratum[stratum.notna()])}
    return {
        label: CaptureHistoryCounts(counts.seen[inside], counts.elements[inside]) for label, inside in strata.items()
    }


def _read_capture_histories(file: ObservablesFile) -> tuple[CaptureHistoryCounts, pd.Series]:
    """Read the counts and the stratum of each row."""
    with file.reading() as connection:
        query = "SELECT history::VARCHAR AS history, stratum, elements, coalesce(lost, 0) AS lost"
        columns = connection.execute(f"{query} FROM capture_history_counts").fetchnumpy()
    histories = columns["history"]
    text = "".join(histories).encode("ascii")
    seen = np.frombuffer(text, dtype=np.uint8).reshape(len(histories), -1) == ord("1")
    elements, lost = (np.asarray(columns[name], dtype=np.int64) for name in ("elements", "lost"))
    counts = CaptureHistoryCounts(seen, elements, lost if lost.any() else None)
    return counts, pd.Series(columns["stratum"], dtype=object)


def tables_from_histories(
    crawls: pd.DataFrame, counts: CaptureHistoryCounts, error: CountingError
) -> dict[str, pd.DataFrame]:
    """Return the observable tables that follow from capture-history counts.

    Parameters
    ----------
    crawls
        Table `crawls`, one row per crawl of the histories.
    counts
        Capture-history counts of the same crawls.
    error
        Counting error of the counts.

    Returns
    -------
    Tables `discovery_curve`, `containment`, `m_array` and `first_returns` by name.
    """
    n = counts.n_crawls
    intersections = counts.intersections()
    sizes = np.diagonal(intersections)
    recaptures = counts.recaptures()
    labels = crawls["crawl"].to_numpy()
    earlier, later = np.triu_indices(n, k=1)
    pairs = pd.DataFrame(
        {
            "crawl_i": labels[earlier],
            "crawl_j": labels[later],
            "size_i": sizes[earlier],
            "size_j": sizes[later],
            "intersection": intersections[earlier, later],
        }
    )
    start, end = np.triu_indices(n)
    windows = pd.DataFrame(
        {
            "start_crawl": labels[start],
            "end_crawl": labels[end],
            "window_crawls": end - start + 1,
            "distinct_elements": unions_from_recaptures(sizes, recaptures)[start, end],
        }
    )
    return {
        "containment": containment_table(crawls, pairs, error),
        "discovery_curve": discovery_curve_table(crawls, windows, error),
        "m_array": _m_array_table(labels, sizes, recaptures),
        "first_returns": _first_returns_frame(sizes.astype(np.float64), recaptures.astype(np.float64)),
    }


def tables_from_counts(
    crawls: pd.DataFrame, pairs: pd.DataFrame | None, windows: pd.DataFrame | None, error: CountingError
) -> dict[str, pd.DataFrame]:
    """Return the observable tables that follow from published counts.

    Parameters
    ----------
    crawls
        Table `crawls`.
    pairs, windows
        Input of `containment_table` and `discovery_curve_table`; None if not published.
    error
        Counting error of the counts.

    Returns
    -------
    Table `containment` from pairs, and `discovery_curve` and `first_returns` from windows, by name.
    """
    tables = {} if pairs is None else {"containment": containment_table(crawls, pairs, error)}
    if windows is not None:
        tables["discovery_curve"] = discovery_curve_table(crawls, windows, error)
        tables["first_returns"] = first_returns_table(crawls, tables["discovery_curve"])
    return tables


def containment_table(crawls: pd.DataFrame, pairs: pd.DataFrame, error: CountingError) -> pd.DataFrame:
    """Return table `containment` from ``crawl_i, crawl_j, size_i, size_j, intersection``, i earlier than j."""
    shared, size_i, size_j = (pairs[name].astype(np.float64) for name in ("intersection", "size_i", "size_j"))
    low, high = error.containment_interval(shared, size_i, size_j)
    reverse_low, reverse_high = error.containment_interval(shared, size_j, size_i)
    i, j = _positions(crawls, pairs["crawl_i"]), _positions(crawls, pairs["crawl_j"])
    years = crawls["years"].to_numpy()
    table = pairs.assign(
        lag_crawls=j - i,
        lag_years=years[j] - years[i],
        containment=_share(pairs["intersection"], pairs["size_i"]),
        containment_low=low,
        containment_high=high,
        containment_reverse=_share(pairs["intersection"], pairs["size_j"]),
        containment_reverse_low=reverse_low,
        containment_reverse_high=reverse_high,
    )
    return table.iloc[np.lexsort((j, i))].reset_index(drop=True)


def discovery_curve_table(crawls: pd.DataFrame, windows: pd.DataFrame, error: CountingError) -> pd.DataFrame:
    """Return table `discovery_curve` from ``start_crawl, end_crawl, window_crawls, distinct_elements``."""
    start, end = _positions(crawls, windows["start_crawl"]), _positions(crawls, windows["end_crawl"])
    years = crawls["years"].to_numpy()
    size = np.full(len(crawls), np.nan)
    is_single = start == end
    size[start[is_single]] = windows["distinct_elements"].to_numpy()[is_single]
    union = windows["distinct_elements"].astype(np.float64)
    union_low, union_high = error.count_interval(union)
    ratio_low, ratio_high = error.ratio_interval(union, size[start])
    for bound in (ratio_low, ratio_high):
        # The ratio of a crawl to itself is 1 without error.
        bound[is_single] = np.where(size[start[is_single]] > 0, 1.0, np.nan)
    table = windows.assign(
        elapsed_years=years[end] - years[start],
        distinct_elements_low=union_low,
        distinct_elements_high=union_high,
        ratio=_share(windows["distinct_elements"], size[start]),
        ratio_low=ratio_low,
        ratio_high=ratio_high,
    )
    return table.iloc[np.lexsort((end, start))].reset_index(drop=True)


def first_returns_table(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> pd.DataFrame:
    """Return table `first_returns` from the unions of windows; see `recaptures_from_unions`."""
    unions = unions_matrix(crawls, discovery_curve)
    return _first_returns_frame(np.diagonal(unions), recaptures_from_unions(unions))


def unions_matrix(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return U(i..j) from table `discovery_curve`, shape (crawls, crawls); NaN if a window is not published."""
    unions = np.full((len(crawls), len(crawls)), np.nan)
    start = _positions(crawls, discovery_curve["start_crawl"])
    end = _positions(crawls, discovery_curve["end_crawl"])
    unions[start, end] = discovery_curve["distinct_elements"].to_numpy(dtype=np.float64)
    return unions


def overlaps_matrix(
    crawls: pd.DataFrame, containment: pd.DataFrame, column: str = "intersection"
) -> npt.NDArray[np.float64]:
    """Return a column of table `containment` for pairs i < j, shape (crawls, crawls); NaN if a pair is missing."""
    overlaps = np.full((len(crawls), len(crawls)), np.nan)
    first, last = (_positions(crawls, containment[end]) for end in ("crawl_i", "crawl_j"))
    overlaps[first, last] = containment[column].to_numpy(dtype=np.float64)
    return overlaps


def _first_returns_frame(sizes: npt.NDArray[np.float64], recaptures: npt.NDArray[np.float64]) -> pd.DataFrame:
    lag, fraction, fraction_se, n_starts = first_returns(sizes, recaptures)
    return pd.DataFrame({"lag_crawls": lag, "fraction": fraction, "fraction_se": fraction_se, "n_starts": n_starts})


def _m_array_table(
    labels: npt.NDArray[np.object_], sizes: npt.NDArray[np.int64], recaptures: npt.NDArray[np.int64]
) -> pd.DataFrame:
    released, recaptured = np.triu_indices(len(labels), k=1)
    recaptured_later = pd.DataFrame(
        {
            "released_crawl": labels[released],
            "recaptured_crawl": labels[recaptured],
            "elements": recaptures[released, recaptured],
        }
    )
    never_again = pd.DataFrame({"released_crawl": labels, "elements": sizes - recaptures.sum(axis=1)})
    return pd.concat([recaptured_later, never_again], ignore_index=True)


def _positions(crawls: pd.DataFrame, labels: pd.Series) -> npt.NDArray[np.intp]:
    return np.asarray(pd.Index(crawls["crawl"]).get_indexer(labels))


def _share(part: pd.Series, whole: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Divide a part by a whole; NaN, which is stored as NULL, if the whole is 0 or unknown."""
    whole = np.asarray(whole, dtype=np.float64)
    result = np.full(len(whole), np.nan)
    np.divide(part.to_numpy(dtype=np.float64), whole, out=result, where=whole > 0)
    return result
