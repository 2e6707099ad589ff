"""From capture histories, or from published pairs and windows, to the observable tables of the contract.

Here: counting capture histories on DuckDB and shaping observables into the contract's frames. Not here: formats
of raw data (`sources`), the column lists (`schema`), or fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd

from crawl_urn_dagster.urn import (
    DAYS_PER_YEAR,
    CaptureHistoryCounts,
    CountingError,
    first_returns,
    recaptures_from_unions,
    unions_from_recaptures,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from crawl_urn_dagster.observables.database import ObservablesFile


def crawls_table(crawls: pd.DataFrame, content: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Table `crawls` from ``crawl, started_at, dated_by, elements`` in time order.

    Parameters
    ----------
    content
        Hash of each crawl's keys, where they were read.
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
    """Table `capture_history_counts` of a stratum; histories as text of 0s and 1s, which DuckDB casts to bits."""
    text = (counts.seen.view(np.uint8) + ord("0")).tobytes().decode("ascii")
    n = counts.n_crawls
    histories = [text[start : start + n] for start in range(0, len(text), n)]
    return pd.DataFrame({"history": histories, "stratum": stratum, "elements": counts.elements})


def count_distinct_keys(paths: Sequence[Path]) -> int:
    """Distinct keys of some presence partitions, counted without histories."""
    with duckdb.connect() as connection:
        query = "SELECT count(DISTINCT key) FROM read_parquet($paths)"
        row = connection.execute(query, {"paths": [str(path) for path in paths]}).fetchone()
    return int(row[0]) if row else 0


def create_headline_view(file: ObservablesFile) -> None:
    """Write view `headline`: the rows of table `parameters` that speak for the collection."""
    with file.writing() as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW headline AS SELECT * FROM parameters WHERE headline AND stratum IS NULL"
        )


def count_all_elements(crawls: pd.DataFrame, discovery_curve: pd.DataFrame) -> int | None:
    """Distinct elements of all crawls together; None when the source does not say."""
    labels = crawls["crawl"]
    whole = discovery_curve[
        (discovery_curve["start_crawl"] == labels.iloc[0]) & (discovery_curve["end_crawl"] == labels.iloc[-1])
    ]
    return None if whole.empty else int(whole["distinct_elements"].iloc[0])


def read_capture_histories(file: ObservablesFile) -> CaptureHistoryCounts:
    """Table `capture_history_counts` as arrays; a history that occurs in several strata is there as often."""
    return _read_capture_histories(file)[0]


def read_strata(file: ObservablesFile) -> dict[str, CaptureHistoryCounts]:
    """Table `capture_history_counts` by stratum, in the order of strata; empty when the collection has none."""
    counts, stratum = _read_capture_histories(file)
    strata = {label: stratum == label for label in dict.fromkeys(stratum[stratum.notna()])}
    return {
        label: CaptureHistoryCounts(counts.seen[inside], counts.elements[inside]) for label, inside in strata.items()
    }


def _read_capture_histories(file: ObservablesFile) -> tuple[CaptureHistoryCounts, pd.Series]:
    """Read the counts, and the stratum of each row."""
    with file.reading() as connection:
        query = "SELECT history::VARCHAR AS history, stratum, elements FROM capture_history_counts"
        columns = connection.execute(query).fetchnumpy()
    histories = columns["history"]
    text = "".join(histories).encode("ascii")
    seen = np.frombuffer(text, dtype=np.uint8).reshape(len(histories), -1) == ord("1")
    counts = CaptureHistoryCounts(seen, np.asarray(columns["elements"], dtype=np.int64))
    return counts, pd.Series(columns["stratum"], dtype=object)


def tables_from_histories(
    crawls: pd.DataFrame, counts: CaptureHistoryCounts, error: CountingError
) -> dict[str, pd.DataFrame]:
    """Every observable table that follows from capture-history counts.

    Parameters
    ----------
    crawls
        Table `crawls`, one row per crawl of the histories.
    counts
        Capture-history counts of the same crawls.
    error
        How they were counted.

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
    """Every observable table that follows from published counts.

    Parameters
    ----------
    crawls
        Table `crawls`.
    pairs, windows
        As `containment_table` and `discovery_curve_table` take them; None where they are not published.
    error
        How the elements were counted.

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
    """Table `containment` from ``crawl_i, crawl_j, size_i, size_j, intersection``, i earlier than j."""
    both, size_i, size_j = (pairs[name].astype(np.float64) for name in ("intersection", "size_i", "size_j"))
    limits = error.containment_interval(both, size_i, size_j)
    limits_reverse = error.containment_interval(both, size_j, size_i)
    i, j = _positions(crawls, pairs["crawl_i"]), _positions(crawls, pairs["crawl_j"])
    years = crawls["years"].to_numpy()
    table = pairs.assign(
        lag_crawls=j - i,
        lag_years=years[j] - years[i],
        containment=_share(pairs["intersection"], pairs["size_i"]),
        containment_low=limits[0],
        containment_high=limits[1],
        containment_reverse=_share(pairs["intersection"], pairs["size_j"]),
        containment_reverse_low=limits_reverse[0],
        containment_reverse_high=limits_reverse[1],
    )
    return table.iloc[np.lexsort((j, i))].reset_index(drop=True)


def discovery_curve_table(crawls: pd.DataFrame, windows: pd.DataFrame, error: CountingError) -> pd.DataFrame:
    """Table `discovery_curve` from ``start_crawl, end_crawl, window_crawls, distinct_elements``."""
    start, end = _positions(crawls, windows["start_crawl"]), _positions(crawls, windows["end_crawl"])
    years = crawls["years"].to_numpy()
    own_size = np.full(len(crawls), np.nan)
    alone = start == end
    own_size[start[alone]] = windows["distinct_elements"].to_numpy()[alone]
    union = windows["distinct_elements"].astype(np.float64)
    limits, ratio_limits = error.count_interval(union), error.ratio_interval(union, own_size[start])
    for limit in ratio_limits:
        limit[alone] = np.where(own_size[start[alone]] > 0, 1.0, np.nan)  # by definition
    table = windows.assign(
        elapsed_years=years[end] - years[start],
        distinct_elements_low=limits[0],
        distinct_elements_high=limits[1],
        ratio=_share(windows["distinct_elements"], own_size[start]),
        ratio_low=ratio_limits[0],
        ratio_high=ratio_limits[1],
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


def overlaps_matrix(
    crawls: pd.DataFrame, containment: pd.DataFrame, column: str = "intersection"
) -> npt.NDArray[np.float64]:
    """Find a number of every pair i < j in table `containment`, shape (crawls, crawls); NaN where it has none."""
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
