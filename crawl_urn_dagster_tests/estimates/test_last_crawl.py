"""The newest crawl against what earlier crawls let expect: ordinary, cut short, and sources that lack observables."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.forecast import forecast_table
from crawl_urn_dagster.estimates.last_crawl import last_crawl_table, state_last_crawl, unexpected
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, simulate
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls

N = 16
NO_POPULATION = pd.DataFrame(columns=list(TABLES["population"].column_names))


def histories(seed):
    return simulate(times=np.arange(N), core=2_000, shell=3_000, alpha=0.8, coverage=0.6, seed=seed).counts()


def cut_short(counts, kept, seed=0):
    """Return counts whose last crawl captured only a share of its elements."""
    seen = np.repeat(counts.seen, counts.elements, axis=0)
    seen[:, -1] &= np.random.default_rng(seed).random(len(seen)) < kept
    return CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))


def last_crawl_of(counts, population=NO_POPULATION, *, without=()):
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    made = tables_from_histories(crawls, counts, CountingError())
    observed = crawls, *(None if name in without else made[name] for name in ("containment", "discovery_curve"))
    return last_crawl_table(*observed, forecast=forecast_table(*observed), population=population)


def verdicts(table):
    return dict(zip(table["quantity"], table["verdict"], strict=True))


def test_ordinary_crawl_is_as_expected():
    tables = [last_crawl_of(histories(seed)) for seed in range(4)]
    assert tuple(tables[0].columns) == TABLES["last_crawl"].column_names
    assert set(pd.concat(tables)["quantity"]) == {"crawl_size", "new_share", "overlap", "coverage", "survival"}
    assert [len(unexpected(table)) for table in tables] == [0] * 4
    assert state_last_crawl(tables[0]) is None
    inside = pd.concat(tables).query("verdict == 'expected'")
    assert (inside["factor"] == 1).mean() > 0.8


def test_truncated_crawl_is_found_without_a_reference():
    table = last_crawl_of(cut_short(histories(1), 0.8))
    found = verdicts(table)
    assert found["crawl_size"] == found["overlap"] == "below"
    row = table.set_index("quantity").loc["crawl_size"]
    assert row["value"] / row["expected"] == pytest.approx(0.8, abs=0.03)
    assert row["factor"] == pytest.approx(row["value"] / row["expected_low"])
    sentence = state_last_crawl(table)
    assert sentence.startswith(
        f"The last crawl, {table['crawl'].iloc[0]}, is not as expected: crawl size {row['value']:,.0f}"
    )
    assert "95 % PI" in sentence


def test_completeness_of_the_last_crawl_is_compared():
    counts = cut_short(histories(1), 0.8)
    sizes = counts.elements @ counts.seen
    labels = crawls_table(dated_crawls(sizes))["crawl"]
    ends = {"completeness_low": sizes / 5_100, "completeness_high": sizes / 4_900}
    population = pd.DataFrame({"crawl": labels, "completeness": sizes / 5_000, **ends})
    assert verdicts(last_crawl_of(counts, population))["coverage"] == "below"
    assert verdicts(last_crawl_of(counts, population.iloc[:-1]))["coverage"] == "not_tested"


def test_quantities_that_a_source_lacks_are_not_tested():
    found = verdicts(last_crawl_of(histories(1), without=["discovery_curve"]))
    assert {name for name, verdict in found.items() if verdict != "not_tested"} == {"overlap"}
    found = verdicts(last_crawl_of(histories(1), without=["containment"]))
    assert found["overlap"] == "not_tested"
    assert found["survival"] == "expected"
