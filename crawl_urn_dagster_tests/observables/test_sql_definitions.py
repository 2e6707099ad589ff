"""The SQL definitions give the same values as the product, for every kind of presence collection."""

from pathlib import Path

import numpy as np
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.observables.sql_definitions import history_pairs, observables_differences
from crawl_urn_dagster.observables.tables import capture_history_counts_table, crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    dated_crawls,
    histories,
    presence_collection,
    presence_frame,
)
from crawl_urn_dagster_tests.observables.build_tables import build_observables

SQL = Path(__file__).resolve().parents[2] / "sql" / "observables"


def listed(folder):
    return presence_collection(folder)


def sampled(folder):
    return presence_collection(folder, sample_one_in=4)


def without_returns_after_one_crawl(folder):
    return presence_collection(folder, avoiding_histories(12, urn=600))


def more_crawls_than_bits_in_a_word(folder):
    return presence_collection(folder, histories(130, urn=300))


def single_crawl(folder):
    return presence_collection(folder, histories(1, urn=50))


def with_empty_crawls(folder):
    """Return a collection of small crawls, some of which have no element in the sample."""
    return presence_collection(folder, histories(12, urn=20, kappa=0.0), sample_one_in=16)


def with_strata(folder):
    frame = presence_frame(histories(10, urn=400))
    rank = frame["element"].str.removeprefix("e").astype(int) % 5
    frame.assign(rank=rank.where(rank > 0)).to_csv(folder / "ranked.csv", index=False)
    source = {"type": "presence_list", "path": str(folder / "ranked.csv")}
    stratum = {"column": "rank", "bands": [1, 3]}
    return Collection.model_validate({"name": "ranked", "granularity": "other", "source": source, "stratum": stratum})


COLLECTIONS = (
    listed,
    sampled,
    without_returns_after_one_crawl,
    more_crawls_than_bits_in_a_word,
    single_crawl,
    with_empty_crawls,
    with_strata,
)


@pytest.mark.parametrize("make", COLLECTIONS, ids=lambda make: make.__name__)
def test_tables_equal_sql_definitions(tmp_path, make):
    file, _, partitions = build_observables(make(tmp_path), tmp_path)
    assert observables_differences(file, partitions).to_dict("records") == []
    assert (file.read("crawls")["elements"] == 0).any() == (make is with_empty_crawls)


@pytest.mark.parametrize("name", ["us_gov_hosts", "cc_webgraph_top1000"])
def test_real_tables_equal_sql_definitions(tmp_path, shared_data, name):
    source = {
        "type": "presence_list",
        "path": str(shared_data / "presence" / f"{name}.csv.gz"),
        "crawl_column": "snapshot",
    }
    collection = Collection.model_validate({"name": name, "granularity": "host", "source": source})
    file, _, partitions = build_observables(collection, tmp_path)
    assert observables_differences(file, partitions).to_dict("records") == []


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    return build_observables(presence_collection(folder, histories(12, urn=500)), folder)


@pytest.mark.parametrize(
    ("table", "column", "row"),
    [
        ("containment", "intersection", "crawl_i=2020-01-06 crawl_j=2020-03-30"),
        ("containment", "lag_years", "crawl_i=2020-01-06 crawl_j=2020-03-30"),
        ("discovery_curve", "distinct_elements", "start_crawl=2020-01-06 end_crawl=2020-03-02"),
        ("m_array", "elements", "released_crawl=2020-01-06 recaptured_crawl=2020-03-30"),
        ("first_returns", "fraction_se", "lag_crawls=3"),
    ],
)
def test_altered_value_is_reported_with_its_row(built, table, column, row):
    file, *_ = built
    good = file.read(table)
    bad = good.copy()
    bad.loc[2, column] += 1
    file.replace({table: bad})
    found = observables_differences(file)
    file.replace({table: good})
    expected = {"table": table, "row": row, "column": column}
    assert found[list(expected)].to_dict("records") == [expected]
    assert found["stored"].tolist() == pytest.approx((found["recomputed"] + 1).tolist(), rel=1e-12)


def test_missing_row_is_reported_with_no_stored_value(built):
    file, *_ = built
    good = file.read("m_array")
    file.replace({"m_array": good.drop(index=0)})
    found = observables_differences(file)
    file.replace({"m_array": good})
    assert found["row"].tolist() == ["released_crawl=2020-01-06 recaptured_crawl=2020-02-03"]
    assert found["stored"].isna().all()
    assert found["recomputed"].tolist() == [good["elements"].iloc[0]]


def test_lost_history_is_reported_against_the_partitions(built):
    file, counts, partitions = built
    good = file.read("capture_history_counts")
    file.replace({"capture_history_counts": capture_history_counts_table(counts).iloc[1:]})
    found = observables_differences(file, partitions)
    file.replace({"capture_history_counts": good})
    lost = found[found["table"] == "capture_history_counts"]
    assert lost["row"].tolist() == [f"history={good['history'].iloc[0]}"]
    assert lost["recomputed"].tolist() == [good["elements"].iloc[0]]


def test_one_element_in_billions_is_a_difference(tmp_path):
    file = ObservablesFile(tmp_path / "observables.duckdb")
    crawls = crawls_table(dated_crawls([9 * 10**9, 9 * 10**9]))
    counts = CaptureHistoryCounts(np.array([[True, True]]), np.array([9 * 10**9]))
    tables = {"crawls": crawls, **tables_from_histories(crawls, counts, CountingError())}
    file.replace({**tables, "capture_history_counts": capture_history_counts_table(counts)})
    assert observables_differences(file).empty
    file.replace({"m_array": tables["m_array"].assign(elements=[9 * 10**9 - 1, 0, 9 * 10**9])})
    assert observables_differences(file)["row"].tolist() == [
        f"released_crawl={crawls['crawl'][0]} recaptured_crawl={crawls['crawl'][1]}"
    ]


def test_work_is_histories_times_pairs_of_crawls(built):
    file, counts, _ = built
    assert history_pairs(file) == len(counts.elements) * 66


@pytest.mark.parametrize("path", sorted(SQL.glob("*.sql")), ids=lambda path: path.stem)
def test_definition_opens_with_what_it_counts_and_how_to_run_it(path):
    head = path.read_text().split("\nWITH ")[0].split("\nSELECT ")[0].splitlines()
    assert all(line.startswith("--") for line in head)
    assert any("number of" in line or "share of" in line for line in head[:2])
    assert any("duckdb -readonly" in line for line in head)
    assert head[-1].endswith("observables.duckdb")
