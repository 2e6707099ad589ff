import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.drift import UnknownReferenceError, drift_tables
from crawl_urn_dagster.observables.schema import SYMBOLS, TABLES
from crawl_urn_dagster.observables.tables import (
    containment_table,
    crawls_table,
    discovery_curve_table,
    tables_from_histories,
)
from crawl_urn_dagster.sources import Selection
from crawl_urn_dagster.sources.common_crawl.statistics import CommonCrawlStatisticsSource
from crawl_urn_dagster.sources.transport.files import Files
from crawl_urn_dagster.urn import CountingError, simulate, simulate_revisit_delay
from crawl_urn_dagster.urn.monitoring.control_charts import CHARTS
from crawl_urn_dagster_tests.benchmarks.drift_error_rates import CHANGE_AFTER, NONE, SCENARIOS, Cell, simulated
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, labels, pairs_frame, windows_frame
from crawl_urn_dagster_tests.estimates.observed import observables as observed

REFERENCE = 24
SETTINGS = {
    "clock": "crawl",
    "error": CountingError(),
    "window_crawls": REFERENCE,
    "reference_from": None,
    "unreported_reason": None,
}


def observables(scenario):
    counts = simulated(Cell(REFERENCE, 0.0), SCENARIOS[scenario], seed=3)
    n = len(counts.times)
    crawls = crawls_table(dated_crawls(counts.sizes.astype(int)))
    windows = windows_frame(np.triu(counts.unions).astype(int), n).rename(
        columns={"start": "start_crawl", "end": "end_crawl", "union": "distinct_elements"}
    )
    i, j = np.triu_indices(n)
    windows["window_crawls"] = j - i + 1
    return (
        crawls,
        containment_table(crawls, pairs_frame(counts.intersections.astype(int), n), CountingError()),
        discovery_curve_table(crawls, windows, CountingError()),
    )


def first_crawls(tables, n):
    """Return the tables of the first n crawls."""
    crawls, containment, discovery_curve = tables
    known = set(crawls["crawl"].iloc[:n])
    return (
        crawls.iloc[:n],
        containment[containment["crawl_j"].isin(known)],
        discovery_curve[discovery_curve["end_crawl"].isin(known)],
    )


@pytest.fixture(scope="module")
def shrunk():
    """Return a collection whose core shrank, and its drift tables at the last crawl."""
    tables = observables("κ 0.40 → 0.35")
    return tables, drift_tables(*tables, **SETTINGS)


def test_shrunken_core_is_attributed_and_dated(shrunk):
    (crawls, *_), made = shrunk
    drift = made["drift"].set_index("parameter")
    assert drift.index.tolist() == list(SYMBOLS)
    assert drift["drifted"].all()
    assert drift["attributed"].tolist() == [True, True, False, False]
    assert set(drift["since_crawl"]) == {crawls["crawl"].iloc[REFERENCE + CHANGE_AFTER]}
    assert set(drift["last_crawl"]) == {crawls["crawl"].iloc[-1]}
    assert set(drift["reference_last_crawl"]) == {crawls["crawl"].iloc[REFERENCE - 1]}
    kappa = drift.loc["kappa"]
    assert kappa["value_low"] < 0.35 < kappa["value_high"]
    assert kappa["difference_low"] < kappa["difference"] < kappa["difference_high"] < 0
    assert kappa["statistic"] > kappa["threshold"]


def test_control_chart_has_every_crawl_and_its_alarms(shrunk):
    (crawls, *_), made = shrunk
    chart = made["control_chart"]
    assert len(chart) == len(CHARTS) * len(crawls)
    core = chart[chart["chart"] == "core"].reset_index(drop=True)
    monitored = core["phase"] == "monitored"
    assert monitored.sum() == len(crawls) - REFERENCE
    assert core.loc[~monitored, "average"].isna().all()
    outside = (core["average"] < core["average_low"]) | (core["average"] > core["average_high"])
    assert outside[monitored].tolist() == core.loc[monitored, "alarm"].tolist()
    assert not core["alarm"].iloc[REFERENCE : REFERENCE + CHANGE_AFTER].any()
    assert core["alarm"].iloc[-1]
    assert core["value"].iloc[:REFERENCE].mean() == pytest.approx(0.4, abs=0.005)


def test_later_reference_period_ends_the_alarm(shrunk):
    tables, _ = shrunk
    since = tables[0]["crawl"].iloc[REFERENCE + CHANGE_AFTER]
    made = drift_tables(*tables, **{**SETTINGS, "reference_from": since, "window_crawls": 12})["drift"]
    assert set(made["reference_first_crawl"]) == {since}
    assert not made["drifted"].any()
    with pytest.raises(
        UnknownReferenceError, match="'1999-01', which is not a crawl of the collection; expected one from"
    ):
        drift_tables(*tables, **{**SETTINGS, "reference_from": "1999-01"})


def test_tables_have_contract_columns(shrunk):
    for name, table in shrunk[1].items():
        assert tuple(table.columns) == TABLES[name].column_names


@pytest.mark.parametrize(
    ("n", "unreported", "reason"),
    [
        (REFERENCE, None, "a reference period of 24 crawls needs 25 crawls; there are 24"),
        (REFERENCE + 1, "not_converged: it swings", "not_converged: it swings"),
    ],
)
def test_untested_parameters_have_a_reason_and_no_value(n, unreported, reason):
    crawls, containment, _ = first_crawls(observables(NONE), n)
    made = drift_tables(crawls, containment, None, **{**SETTINGS, "unreported_reason": unreported})
    assert made["drift"]["reason"].tolist() == [reason] * 4
    assert made["drift"]["drifted"].isna().all()
    assert made["control_chart"].empty


def test_violation_tests_first_returns_delay_and_sizes():
    """The revisit delay of the crawler grew from one crawl to two, and its crawls became smaller."""
    n, change = 60, 30
    delays = np.where(np.arange(n) < change, 1, 2)
    histories = simulate_revisit_delay(
        delays=delays, elements=20_000, alpha=0.86, coverage=0.27, revisit_coverage=0.03, seed=4
    )
    counts = histories.counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    made = tables_from_histories(crawls, counts, CountingError())
    reason = "model_violation: elements return late"
    drift = drift_tables(crawls, None, made["discovery_curve"], **{**SETTINGS, "unreported_reason": reason})[
        "drift"
    ].set_index("parameter")
    assert drift.loc[list(SYMBOLS), "reason"].tolist() == [reason] * 4
    observed = drift.drop(list(SYMBOLS))
    assert observed.index.tolist() == [*(f"first_returns_{lag}" for lag in (1, 2, 3)), "revisit_delay", "crawl_size"]
    assert observed["attributed"].all()
    delay = observed.loc["revisit_delay"]
    assert (delay["reference_value"], delay["value"]) == (1.0, 2.0)
    positions = {label: k for k, label in enumerate(labels(n))}
    # Segments have at least four start crawls, so the date of the change is known to within four crawls.
    assert abs(positions[delay["since_crawl"]] - change) <= 4
    second = observed.loc["first_returns_2"]
    assert second["difference_high"] < 0
    assert observed.loc["crawl_size", "difference_high"] < 0


def test_change_of_2024_in_the_published_table_is_dated(shared_data):
    source = CommonCrawlStatisticsSource(
        windows=str(shared_data / "common_crawl_statistics" / "url_last_n_crawls.csv"),
        calendar=str(shared_data / "crawls.csv"),
    )
    read = source.read_tables(Files(shared_data), Selection("CC-MAIN-2020-05", "CC-MAIN-2025-51"))
    crawls = crawls_table(read.crawls)
    windows = discovery_curve_table(crawls, read.windows, CountingError(0.008))
    made = drift_tables(crawls, None, windows, **{**SETTINGS, "unreported_reason": "model_violation"})["drift"]
    moved = made[made["attributed"].astype("boolean").fillna(value=False)].set_index("parameter")
    assert {"first_returns_2", "revisit_delay", "crawl_size"} <= set(moved.index)
    assert moved.loc["revisit_delay", ["reference_value", "value"]].tolist() == [1.0, 2.0]
    assert moved.loc["revisit_delay", "since_crawl"].startswith("CC-MAIN-2024-")
    labels = crawls["crawl"].tolist()
    dated = moved.loc["revisit_delay", ["since_first_crawl", "since_crawl", "since_last_crawl"]]
    first, since, last = (labels.index(label) for label in dated)
    assert first <= since <= last < first + 8
    assert pd.notna(moved.loc["first_returns_2", "difference_high"])
    assert moved.loc["first_returns_2", "difference_high"] < -0.1


def test_control_limits_that_never_alarm_are_not_tested():
    coverage = np.where(np.isin(np.arange(14), [3, 4]), 0.005, 0.6)
    counts = simulate(times=np.arange(14), core=300, shell=1200, alpha=0.5, coverage=coverage, seed=1).counts()
    tables = drift_tables(*observed(counts), **{**SETTINGS, "window_crawls": 12})
    rows = tables["drift"].set_index("parameter")
    assert rows.loc[["alpha", "coverage"], "drifted"].isna().all()
    assert rows.loc["alpha", "reason"].startswith("the crawls of the reference period vary so much")
    assert not rows.loc[["kappa", "core_share"], "drifted"].astype(bool).any()
    assert pd.isna(rows.loc["kappa", "reason"])
