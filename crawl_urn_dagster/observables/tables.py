"""From capture histories, or from published pairs and windows, to the observable tables of the contract.

Here: counting capture histories on DuckDB and shaping observables into the contract's frames. Not here: formats
of raw data (`sources`), the column lists (`schema`), or fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.observables.database import ObservablesFile, create_table
from crawl_urn_dagster.observables.schema import CAPTURE_HISTORY_COUNTS
from crawl_urn_dagster.statements import load_statement
from crawl_urn_dagster.urn import CaptureHistoryCounts, first_returns, recaptures_from_unions

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

DAYS_PER_YEAR = 365.25


def crawls_table(crawls: pd.DataFrame) -> pd.DataFrame:
    """Table `crawls` from ``crawl, started_at, dated_by, elements`` in time order."""
    started = pd.to_datetime(crawls["started_at"])
    return pd.DataFrame(
        {
            "crawl": crawls["crawl"].to_numpy(),
            "crawl_index": np.arange(len(crawls)),
            "started_at": started.to_numpy(),
            "years": ((started - started.iloc[0]) / pd.Timedelta(days=DAYS_PER_YEAR)).to_numpy(),
            "elements": crawls["elements"].to_numpy(),
            "dated_by": crawls["dated_by"].to_numpy(),
        }
    )


def count_capture_histories(file: ObservablesFile, presence: Path) -> None:
    """Write table `capture_history_counts` from a presence list, by the calendar in table `crawls`.

    Parameters
    ----------
    file
        The collection's DuckDB file, with table `crawls`.
    presence
        Parquet file with columns ``crawl, element``.
    """
    last_index = len(file.read("crawls")) - 1
    with file.writing() as connection:
        create_table(connection, CAPTURE_HISTORY_COUNTS)
        connection.execute(
            load_statement("insert_capture_history_counts"),
            {"presence": str(presence), "last_index": last_index},
        )


def count_distinct_elements(file: ObservablesFile, presence: Path) -> int:
    """Distinct elements of a presence list, counted without capture histories."""
    with file.reading() as connection:
        row = connection.execute(load_statement("count_captures"), {"presence": str(presence)}).fetchone()
    return int(row[0]) if row else 0


def create_headline_view(file: ObservablesFile) -> None:
    """Write view `headline`: the rows of table `parameters` that speak for the collection."""
    with file.writing() as connection:
        connection.execute(load_statement("create_headline_view"))


def count_all_elements(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> int | None:
    """Distinct elements of all crawls together; None when the source does not say."""
    labels = crawls["crawl"]
    whole = discovery_curve[
        (discovery_curve["start_crawl"] == labels.iloc[0]) & (discovery_curve["end_crawl"] == labels.iloc[-1])
    ]
    return None if whole.empty else int(whole["distinct_elements"].iloc[0])


def read_capture_histories(file: ObservablesFile) -> CaptureHistoryCounts:
    """Table `capture_history_counts` as arrays."""
    with file.reading() as connection:
        columns = connection.execute(load_statement("read_capture_history_counts")).fetchnumpy()
    histories = columns["history"]
    text = "".join(histories).encode("ascii")
    seen = np.frombuffer(text, dtype=np.uint8).reshape(len(histories), -1) == ord("1")
    return CaptureHistoryCounts(seen, np.asarray(columns["elements"], dtype=np.int64))


def tables_from_histories(crawls: pd.DataFrame, counts: CaptureHistoryCounts) -> dict[str, pd.DataFrame]:
    """Every observable table that follows from capture-history counts.

    Parameters
    ----------
    crawls
        Table `crawls`, one row per crawl of the histories.
    counts
        Capture-history counts of the same crawls.

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
            "distinct_elements": counts.unions()[start, end],
        }
    )
    return {
        "containment": containment_table(crawls, pairs),
        "discovery_curve": discovery_curve_table(crawls, windows),
        "m_array": _m_array_table(labels, sizes, recaptures),
        "first_returns": _first_returns_frame(sizes.astype(np.float64), recaptures.astype(np.float64)),
    }


def containment_table(crawls: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Table `containment` from ``crawl_i, crawl_j, size_i, size_j, intersection``, i earlier than j."""
    i, j = _positions(crawls, pairs["crawl_i"]), _positions(crawls, pairs["crawl_j"])
    years = crawls["years"].to_numpy()
    table = pairs.assign(
        lag_crawls=j - i,
        lag_years=years[j] - years[i],
        containment=_share(pairs["intersection"], pairs["size_i"]),
        containment_reverse=_share(pairs["intersection"], pairs["size_j"]),
    )
    return table.iloc[np.lexsort((j, i))].reset_index(drop=True)


def discovery_curve_table(crawls: pd.DataFrame, windows: pd.DataFrame) -> pd.DataFrame:
    """Table `discovery_curve` from ``start_crawl, end_crawl, window_crawls, distinct_elements``."""
    start, end = _positions(crawls, windows["start_crawl"]), _positions(crawls, windows["end_crawl"])
    years = crawls["years"].to_numpy()
    own_size = np.full(len(crawls), np.nan)
    alone = start == end
    own_size[start[alone]] = windows["distinct_elements"].to_numpy()[alone]
    table = windows.assign(
        elapsed_years=years[end] - years[start],
        ratio=_share(windows["distinct_elements"], own_size[start]),
    )
    return table.iloc[np.lexsort((end, start))].reset_index(drop=True)


def first_returns_table(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> pd.DataFrame:
    """Table `first_returns` from the unions of windows, by the identity between the two."""
    unions = unions_matrix(crawls, discovery_curve)
    return _first_returns_frame(np.diagonal(unions), recaptures_from_unions(unions))


def unions_matrix(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> npt.NDArray[np.float64]:
    """U(i..j) from table `discovery_curve`, shape (crawls, crawls); NaN where a window is not published."""
    unions = np.full((len(crawls), len(crawls)), np.nan)
    start = _positions(crawls, discovery_curve["start_crawl"])
    end = _positions(crawls, discovery_curve["end_crawl"])
    unions[start, end] = discovery_curve["distinct_elements"].to_numpy(dtype=np.float64)
    return unions


def _first_returns_frame(sizes: npt.NDArray[np.float64], recaptures: npt.NDArray[np.float64]) -> pd.DataFrame:
    lag, fraction, fraction_se, n_starts = first_returns(sizes, recaptures)
    return pd.DataFrame({"lag_crawls": lag, "fraction": fraction, "fraction_se": fraction_se, "n_starts": n_starts})


def _m_array_table(
    labels: npt.NDArray[np.object_], sizes: npt.NDArray[np.int64], recaptures: npt.NDArray[np.int64]
) -> pd.DataFrame:
    released, recaptured = np.triu_indices(len(labels), k=1)
    seen_again = pd.DataFrame(
        {
            "released_crawl": labels[released],
            "recaptured_crawl": labels[recaptured],
            "elements": recaptures[released, recaptured],
        }
    )
    never = pd.DataFrame({"released_crawl": labels, "elements": sizes - recaptures.sum(axis=1)})
    return pd.concat([seen_again, never], ignore_index=True)


def _positions(crawls: pd.DataFrame, labels: pd.Series) -> npt.NDArray[np.intp]:
    return np.asarray(pd.Index(crawls["crawl"]).get_indexer(labels))


def _share(part: pd.Series, whole: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Part over whole; NaN, stored as NULL, where the whole is 0 or unknown."""
    whole = np.asarray(whole, dtype=np.float64)
    result = np.full(len(whole), np.nan)
    np.divide(part.to_numpy(dtype=np.float64), whole, out=result, where=whole > 0)
    return result
