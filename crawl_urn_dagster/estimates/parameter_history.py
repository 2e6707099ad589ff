"""Fit a collection in rolling windows: table `parameter_history`.

Selects the windows and refits those whose inputs changed. Does not test for drift (see `drift`): windows that share
crawls are not independent.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.estimates.intervals import with_intervals
from crawl_urn_dagster.estimates.parameter_tables import parameters_table
from crawl_urn_dagster.estimates.selection import select_headline
from crawl_urn_dagster.observables.schema import PARAMETER_HISTORY
from crawl_urn_dagster.processes import call_each
from crawl_urn_dagster.urn.data.thinning import window_starts

if TYPE_CHECKING:
    from collections.abc import Collection

    from crawl_urn_dagster.urn import Clock, CountingError

# The half-width of an interval then has a relative error of 10 %.
_REPLICATES = 60


def parameter_history_table(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    known: pd.DataFrame | None,
    *,
    clock: Clock,
    error: CountingError,
    window_crawls: int,
    step_crawls: int,
    own_fits: Collection[str] = (),
) -> pd.DataFrame:
    """Return table `parameter_history`: every fit of every window, oldest first.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    known
        The table of the previous run; rows of windows with unchanged inputs are kept. None: all windows are fitted.
    clock
        Clock of the fits.
    error
        How the elements were counted.
    window_crawls
        Crawls in a window.
    step_crawls
        Crawls between the starts of consecutive windows; the first window starts at the first crawl. A long collection
        has fewer windows; see `window_starts`.
    own_fits
        Entry points of the fits of other packages that the collection names.
    """
    kept: list[pd.DataFrame | None] = []
    new: list[tuple[CollectionData, Clock, str]] = []
    settings = " ".join([f"{clock} {error}", *own_fits])
    for first in window_starts(len(crawls), window_crawls, step_crawls):
        window = crawls.iloc[first : first + window_crawls]
        parts = window_tables(window, containment, discovery_curve)
        inputs = inputs_sha256(parts, settings)
        rows = None if known is None else known[known["inputs_sha256"] == inputs]
        is_known = rows is not None and not rows.empty
        kept.append(rows if is_known else None)
        if not is_known:
            new.append((CollectionData(*parts, error, own_fits=own_fits), clock, inputs))
    fitted = iter(call_each(_fit_window, new))
    tables = [next(fitted) if rows is None else rows for rows in kept]
    if not tables:
        return pd.DataFrame(columns=list(PARAMETER_HISTORY.column_names))
    return pd.concat([table.astype(object) for table in tables], ignore_index=True).infer_objects()


def _fit_window(data: CollectionData, clock: Clock, inputs: str) -> pd.DataFrame:
    """Return the rows of a window."""
    fits = with_intervals(fit_primary(data, [clock]), data, n_replicates=_REPLICATES).fits
    headline = select_headline(fits, clock=clock)
    return parameters_table(fits, headline.kind, data.crawls).assign(inputs_sha256=inputs)


def select_window(table: pd.DataFrame | None, window: pd.DataFrame, ends: tuple[str, str]) -> pd.DataFrame | None:
    """Return the rows of an observable table whose two crawls are both in a window."""
    if table is None:
        return None
    first, last = ends
    return table[table[first].isin(window["crawl"]) & table[last].isin(window["crawl"])]


def window_tables(
    window: pd.DataFrame, containment: pd.DataFrame | None, discovery_curve: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None]:
    """Return tables `crawls`, `containment` and `discovery_curve` of a window, with years since its first crawl."""
    return (
        window.assign(years=window["years"] - window["years"].iloc[0]),
        select_window(containment, window, ("crawl_i", "crawl_j")),
        select_window(discovery_curve, window, ("start_crawl", "end_crawl")),
    )


def inputs_sha256(parts: tuple[pd.DataFrame | None, ...], settings: str) -> str:
    """Return the hash of a window's tables, of settings and of the version of the package."""
    digest = hashlib.sha256(f"{settings} {version('crawl-urn-dagster')}".encode())
    for part in parts:
        digest.update(b"absent" if part is None else _content(part).encode())
    return digest.hexdigest()


def _content(part: pd.DataFrame) -> str:
    """Return rows as text, without the position in the collection, which changes if an earlier crawl is added."""
    return part.drop(columns="crawl_index", errors="ignore").to_csv(index=False)
