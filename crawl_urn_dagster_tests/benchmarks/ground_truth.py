"""Hold Common Crawl's windows against its CrawlDB, and test which dated events of two operators are found.

Run ``python -m crawl_urn_dagster_tests.benchmarks.ground_truth`` for the tables of docs/ground_truth.md. It needs the
shared data, takes a few seconds and uses no random numbers. ``windows`` and ``events`` print one part.

- *windows*: the urn with a revisit delay, fitted to windows of crawls, next to several readings of the counter.
- *events*: changes of counters that exceed their own scatter, next to the operators' rule, an alarm below 95 % of the
  last value. An alarm belongs to an event if it is at most seven days (CrawlDB: no crawl) after it. Otherwise it is
  false, although an event may be missing from the list.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.counter_changes import changes_of
from crawl_urn_dagster.estimates.parameter_history import window_tables
from crawl_urn_dagster.estimates.regimes import fit_window_delay
from crawl_urn_dagster.estimates.urn_size import urn_size_columns
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_counts
from crawl_urn_dagster.sources import CommonCrawlStatisticsSource, Files, Selection
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.conftest import SHARED

DATA = SHARED / "data"
WINDOWS = (
    ("2020-05", "2021-49"), ("2020-34", "2022-33"), ("2021-10", "2023-14"), ("2022-05", "2024-10"),
    ("2023-50", "2025-51"), ("2024-22", "2026-12"), ("2024-38", "2026-30"),
)  # fmt: skip
CRAWLDB_EVENTS = ("2021-39", "2022-21", "2022-49", "2023-40", "2026-12")
#: Series of the operator of site scans: file, counter, and the words by which its events name it.
SERIES = {
    "snapshot-all rows": ("snapshot_all", "How many urls did we scan?", ("snapshot-all rows", "snapshot rows")),
    "snapshot-primary rows": (
        "snapshot_primary", "How many urls did we scan?", ("snapshot-primary rows", "snapshot rows")
    ),
    "home scans completed": (
        "snapshot_all", "How many home scans completed?", ("snapshot-all home scans completed",)
    ),
    "target URL list": (
        "target_url_list", "How many target urls are in the list?", ("target URL list", "target URL list and snapshot")
    ),
}  # fmt: skip
#: Series that are also tested as shares of another.
SHARES = {"home scans completed": ("snapshot-all rows",)}
DAYS = 7
#: An event that the operator calls a false alarm must not be found.
FALSE_ALARM = "2026-06-28"


def crawldb():
    """Return Common Crawl's counters by crawl, with the sum that is compared with the urn, in billions."""
    table = pd.read_csv(DATA / "crawldb" / "crawldb_status_2019-51_2026-34.csv").set_index("crawl") / 1e9
    return table.assign(population=table["fetched"] + table["notmodified"])


def published():
    """Return tables `crawls` and `discovery_curve` of Common Crawl's URLs since the CrawlDB was counted."""
    folder = DATA / "common_crawl_statistics"
    source = CommonCrawlStatisticsSource(
        windows=str(folder / "url_last_n_crawls.csv"), calendar=str(DATA / "crawls.csv")
    )
    with tempfile.TemporaryDirectory() as cache:
        found = source.read_tables(Files(Path(cache)), Selection(first_crawl="CC-MAIN-2019-51"))
    crawls = crawls_table(found.crawls)
    error = CountingError(relative=source.relative_error)
    return crawls, tables_from_counts(crawls, None, found.windows, error)["discovery_curve"]


def fit_between(first, last, tables=None):
    """Fit the urn with a revisit delay to a window; return the fit and its size with the interval, in billions."""
    crawls, curve = tables or published()
    labels = crawls["crawl"].tolist()
    window = crawls.iloc[labels.index(f"CC-MAIN-{first}") : labels.index(f"CC-MAIN-{last}") + 1]
    parts = window_tables(window, None, curve)
    fit = fit_window_delay(CollectionData(*parts, CountingError()))
    return fit, {name: value / 1e9 for name, value in urn_size_columns(fit, parts[0]).items()}


def windows():
    counters, tables = crawldb(), published()
    print("| window | delay | status | N (95 % CI) | counter | N / counter | next crawl | harmonic | fetched only |")
    print("|---|---|---|---|---|---|---|---|---|")
    labels = list(counters.index)
    for first, last in WINDOWS:
        fit, size = fit_between(first, last, tables)
        inside = slice(labels.index(f"CC-MAIN-{first}"), labels.index(f"CC-MAIN-{last}") + 1)
        later = slice(inside.start + 1, inside.stop + 1)
        population = counters["population"]
        counted = population.iloc[inside].mean()
        readings = (population.iloc[later].mean(), 1 / (1 / population.iloc[inside]).mean())
        print(
            f"| {first} to {last} | {fit.details.delay_crawls} | {fit.status.value} | {size['urn_size']:.2f} "
            f"({size.get('urn_size_low', np.nan):.2f} to {size.get('urn_size_high', np.nan):.2f}) | {counted:.2f} | "
            f"{size['urn_size'] / counted:.2f} | {readings[0]:.2f} | {readings[1]:.2f} | "
            f"{counters['fetched'].iloc[inside].mean():.2f} |"
        )


def crawldb_alarms():
    """Return the crawls at which the population of the CrawlDB moved, and those of the operator's rule."""
    population = crawldb()["population"]
    changes = changes_of(population.to_numpy() * 1e9)
    moved = changes.moved(1)
    names = population.index.str.removeprefix("CC-MAIN-")
    return set(names[moved]), set(names[changes.change < np.log(0.95)]), int(np.isfinite(changes.statistic).sum())


def operator_series(name):
    """Return the dates and values of a series of the operator of site scans, in order of time."""
    file, column, _ = SERIES[name]
    table = pd.read_csv(DATA / "operators" / f"gsa_{file}_history.csv")
    known = table[table[column].notna()]
    dates = pd.to_datetime(known["commit_date"], utc=True)
    order = np.argsort(dates.to_numpy(), kind="stable")
    return dates.iloc[order].dt.tz_localize(None).dt.normalize().to_numpy(), known[column].to_numpy()[order]


def operator_alarms(name, divide_by=None):
    """Return the dates at which a series, or its share of another, moved, and those of the operator's rule."""
    dates, values = operator_series(name)
    if divide_by:
        of_dates, divisor = operator_series(divide_by)
        if not np.array_equal(of_dates, dates):
            raise ValueError(f"{name} and {divide_by} have different dates")
    changes = changes_of(values, divisor if divide_by else None)
    return dates[changes.moved(1)], dates[changes.change < np.log(0.95)]


def events():
    """Return a row for each series: values, events, and for both rules the events found and the false alarms."""
    moved, ruled, tested = crawldb_alarms()
    known = set(CRAWLDB_EVENTS)
    rows = [("CrawlDB, fetched + not modified", tested, len(known), *(
        count for alarms in (moved, ruled) for count in (len(alarms & known), len(alarms - known))
    ))]  # fmt: skip
    dated = pd.read_csv(DATA / "operators" / "gsa_events.csv", parse_dates=["date"])
    for name, (_, _, words) in SERIES.items():
        series_dates = dated.loc[dated["series"].isin(words) & (dated["date"] != FALSE_ALARM), "date"].to_numpy()
        for divide_by in (None, *SHARES.get(name, ())):
            counts = [count for alarms in operator_alarms(name, divide_by) for count in matched(alarms, series_dates)]
            label = f"{name} / {divide_by}" if divide_by else name
            rows.append((label, len(operator_series(name)[1]), len(series_dates), *counts))
    return rows


def matched(alarms, dated):
    """Return how many events an alarm follows within some days, and how many alarms follow no event."""
    after = (alarms[:, None] - dated[None, :]) / np.timedelta64(1, "D")
    near = (after >= 0) & (after <= DAYS)
    return int(near.any(axis=0).sum()), int((~near.any(axis=1)).sum())


if __name__ == "__main__":
    parts = sys.argv[1:] or ["windows", "events"]
    if "windows" in parts:
        windows()
    if "events" in parts:
        print("| series | values | events | found | false | rule: found | rule: false |\n|---|---|---|---|---|---|---|")
        for row in events():
            print("|", " | ".join(map(str, row)), "|")
