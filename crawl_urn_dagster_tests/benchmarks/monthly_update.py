"""Measure the time of an update by one crawl: one new window of the history, drift, forecast and planning.

Run ``python -m crawl_urn_dagster_tests.benchmarks.monthly_update``. A collection of 51 simulated crawls has the history
of its first 50. The seconds of each table with crawl 51 are printed, with processor time in parentheses.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.estimates.drift import drift_tables
from crawl_urn_dagster.estimates.forecast import forecast_table
from crawl_urn_dagster.estimates.parameter_history import parameter_history_table, select_window
from crawl_urn_dagster.estimates.planning import planning_tables
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories

if TYPE_CHECKING:
    from collections.abc import Callable

CRAWLS, WINDOW = 51, 24


def main() -> None:
    """Print the seconds of each table, and their sum."""
    counts = histories(CRAWLS, urn=20_000).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    tables = tables_from_histories(crawls, counts, CountingError())
    observables = crawls, tables["containment"], tables["discovery_curve"]
    settings = {"clock": "crawl", "error": CountingError()}
    # An update finds the windows before the last crawl in the existing history.
    before = crawls.iloc[:-1]
    earlier = (
        before,
        select_window(observables[1], before, ("crawl_i", "crawl_j")),
        select_window(observables[2], before, ("start_crawl", "end_crawl")),
    )
    rolling = {**settings, "window_crawls": WINDOW, "step_crawls": 1}
    known = parameter_history_table(*earlier, None, **rolling)
    steps: dict[str, Callable[[], object]] = {
        "parameter_history": lambda: parameter_history_table(*observables, known, **rolling),
        "drift": lambda: drift_tables(
            *observables, **settings, window_crawls=WINDOW, reference_from=None, unreported_reason=None
        ),
        "forecast": lambda: forecast_table(*observables),
        "planning": lambda: planning_tables(*observables, **settings, reported=True),
    }
    totals = np.zeros(2)
    for name, step in steps.items():
        started = np.array([time.perf_counter(), time.process_time()])
        step()
        totals += (taken := np.array([time.perf_counter(), time.process_time()]) - started)
        print("{}: {:.1f} s ({:.1f} s)".format(name, *taken))
    print("all: {:.1f} s ({:.1f} s)".format(*totals))


if __name__ == "__main__":
    main()
