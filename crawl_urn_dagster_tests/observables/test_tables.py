"""Observable tables against independent reference values."""

import json

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import (
    containment_table,
    count_all_elements,
    count_distinct_keys,
    crawls_table,
    discovery_curve_table,
    first_returns_table,
)
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import (
    dated_crawls,
    histories,
    labels,
    pairs_frame,
    presence_collection,
    windows_frame,
)
from crawl_urn_dagster_tests.observables.build_tables import build_observables

EXACT = CountingError()


@pytest.fixture(scope="module", params=["us_gov_hosts", "cc_webgraph_top1000"])
def real(request, shared_data, shared_reference, tmp_path_factory):
    collection = Collection.model_validate(
        {
            "name": request.param,
            "granularity": "host",
            "source": {
                "type": "presence_list",
                "path": str(shared_data / "presence" / f"{request.param}.csv.gz"),
                "crawl_column": "snapshot",
            },
        }
    )
    reference = json.loads((shared_reference / f"{request.param}.json").read_text())
    return (*build_observables(collection, tmp_path_factory.mktemp(request.param)), reference)


def test_real_crawls_and_sizes_equal_the_reference(real):
    file, *_, reference = real
    crawls = file.read("crawls")
    assert crawls["crawl"].tolist() == reference["crawls"]
    assert crawls["elements"].tolist() == reference["sizes"]


def test_real_capture_histories_equal_the_reference(real):
    file, counts, partitions, reference = real
    assert len(counts.elements) == reference["distinct_capture_histories"]
    assert counts.distinct_elements == reference["distinct_elements"]
    assert count_distinct_keys([one.path for one in partitions]) == reference["distinct_elements"]
    assert count_all_elements(file.read("crawls"), file.read("discovery_curve")) == reference["distinct_elements"]
    frequencies = counts.capture_frequencies()
    assert {str(k): n for k, n in enumerate(frequencies.tolist()) if n} == reference["capture_frequency"]
    with file.reading() as connection:
        most_common = connection.execute(
            "SELECT history::VARCHAR, elements FROM capture_history_counts ORDER BY elements DESC LIMIT 1"
        ).fetchone()
    assert list(most_common) == reference["most_common_histories"][0]


def test_real_pairs_equal_the_reference_exactly(real):
    file, *_, reference = real
    containment = file.read("containment")
    index = {crawl: k for k, crawl in enumerate(reference["crawls"])}
    expected = np.array(reference["intersection"])
    i, j = containment["crawl_i"].map(index), containment["crawl_j"].map(index)
    assert len(containment) == len(index) * (len(index) - 1) // 2
    assert (containment["intersection"] == expected[i, j]).all()
    assert (containment["lag_crawls"] == j - i).all()
    assert (containment["containment"] == expected[i, j] / expected[i, i]).all()
    assert (containment["containment_reverse"] == expected[i, j] / expected[j, j]).all()


def test_real_windows_equal_the_reference_exactly(real):
    file, *_, reference = real
    curve = file.read("discovery_curve")
    for start, crawl in enumerate(reference["crawls"]):
        windows = curve[curve["start_crawl"] == crawl]
        assert windows["distinct_elements"].tolist() == reference["union_from_start"][start]
        assert windows["window_crawls"].tolist() == list(range(1, len(windows) + 1))


def test_real_m_array_equals_the_reference_exactly(real):
    file, *_, reference = real
    m_array = file.read("m_array")
    never = m_array[m_array["recaptured_crawl"].isna()]
    assert never["elements"].tolist() == reference["never_recaptured"]
    again = m_array.dropna().pivot_table(
        index="released_crawl", columns="recaptured_crawl", values="elements", fill_value=0
    )
    expected = pd.DataFrame(reference["m_array"], reference["crawls"], reference["crawls"])
    assert (again == expected.loc[again.index, again.columns]).to_numpy().all()
    assert again.to_numpy().sum() == expected.to_numpy().sum()


def test_first_returns_are_m_array_divided_by_sizes(real):
    file, *_, reference = real
    table = file.read("first_returns").set_index("lag_crawls")
    m_array, sizes = np.array(reference["m_array"]), np.array(reference["sizes"])
    for lag in (1, 2, 5):
        expected = (np.diagonal(m_array, lag) / sizes[:-lag]).mean()
        assert table.loc[lag, "fraction"] == pytest.approx(expected, rel=1e-12)
        assert table.loc[lag, "n_starts"] == len(sizes) - lag


def test_more_crawls_than_bits_in_a_word_are_counted(tmp_path):
    simulated = histories(130, urn=300)
    file, counts, _ = build_observables(presence_collection(tmp_path, simulated), tmp_path)
    expected = simulated.counts()
    assert counts.n_crawls == 130
    assert counts.distinct_elements == expected.distinct_elements
    assert (counts.intersections() == expected.intersections()).all()
    assert (counts.recaptures() == expected.recaptures()).all()
    assert len(file.read("discovery_curve")) == 130 * 131 // 2


def test_repeated_captures_count_once(tmp_path):
    collection = presence_collection(tmp_path)
    path = tmp_path / "listed.csv.gz"
    once = pd.read_csv(path)
    pd.concat([once, once.head(500)]).to_csv(path, index=False)
    file, counts, _ = build_observables(collection, tmp_path)
    assert (counts.intersections() == histories().counts().intersections()).all()
    assert file.read("crawls")["elements"].tolist() == np.diagonal(counts.intersections()).tolist()


def test_tables_have_the_columns_of_the_schema(tmp_path):
    file, *_ = build_observables(presence_collection(tmp_path), tmp_path)
    for name in ("crawls", "discovery_curve", "containment", "m_array", "first_returns"):
        assert tuple(file.read(name).columns) == TABLES[name].column_names


def test_years_have_365_and_a_quarter_days():
    dated = {"crawl": ["a", "b"], "started_at": pd.to_datetime(["2020-01-01", "2021-01-01"])}
    crawls = crawls_table(pd.DataFrame({**dated, "elements": [1, 2], "dated_by": "calendar"}))
    assert crawls["years"].tolist() == [0, 366 / 365.25]
    assert crawls["crawl_index"].tolist() == [0, 1]


def test_first_returns_follow_from_published_windows():
    n = 16
    counts = histories(n).counts()
    names = np.array(labels(n))
    sizes = np.diagonal(counts.intersections())
    crawls = crawls_table(dated_crawls(sizes))
    i, j = np.triu_indices(n)
    keep = np.isin(j - i + 1, (1, 2, 3, 4, 6, 9, 12))
    windows = pd.DataFrame(
        {
            "start_crawl": names[i],
            "end_crawl": names[j],
            "window_crawls": j - i + 1,
            "distinct_elements": counts.unions()[i, j],
        }
    )[keep]
    table = first_returns_table(crawls, discovery_curve_table(crawls, windows, EXACT)).set_index("lag_crawls")
    assert table.index.tolist() == [1, 2, 3]
    for lag in (1, 2, 3):
        expected = (np.diagonal(counts.recaptures(), lag) / sizes[:-lag]).mean()
        assert table.loc[lag, "fraction"] == pytest.approx(expected, rel=1e-12)


def test_ratio_of_an_empty_crawl_is_null():
    crawls = crawls_table(dated_crawls([0, 5]))
    empty, other = crawls["crawl"]
    windows = pd.DataFrame(
        {
            "start_crawl": [empty, empty, other],
            "end_crawl": [empty, other, other],
            "window_crawls": [1, 2, 1],
            "distinct_elements": [0, 5, 5],
        }
    )
    table = discovery_curve_table(crawls, windows, EXACT)
    for column in ("ratio", "ratio_low", "ratio_high"):
        assert table[column].isna().tolist() == [True, True, False]


@pytest.fixture(scope="module")
def small():
    """Table `crawls`, pairs and windows of five crawls, from which the tables are built."""
    counts = histories(5, urn=400).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    windows = windows_frame(counts.unions(), 5).set_axis(["start_crawl", "end_crawl", "distinct_elements"], axis=1)
    return crawls, pairs_frame(counts.intersections(), 5), windows


def test_exact_counts_have_intervals_of_zero_width(small):
    crawls, pairs, windows = small
    tables = [
        (containment_table(crawls, pairs, EXACT), ("containment", "containment_reverse")),
        (discovery_curve_table(crawls, windows, EXACT), ("distinct_elements", "ratio")),
    ]
    for table, columns in tables:
        for column in columns:
            np.testing.assert_allclose(table[f"{column}_low"], table[column], rtol=1e-12)
            np.testing.assert_allclose(table[f"{column}_high"], table[column], rtol=1e-12)


@pytest.mark.parametrize("error", [CountingError(one_in=64), CountingError(relative=0.01)])
def test_intervals_are_those_of_the_counting_error(small, error):
    crawls, pairs, windows = small
    pairs, windows = pairs.sample(frac=1, random_state=1), windows.sample(frac=1, random_state=1)
    table = containment_table(crawls, pairs, error)
    for column, size, other in (("containment", "size_i", "size_j"), ("containment_reverse", "size_j", "size_i")):
        limits = error.containment_interval(table["intersection"], table[size], table[other])
        assert (limits == table[[f"{column}_low", f"{column}_high"]].to_numpy().T).all()
        assert (table[f"{column}_low"] < table[column]).all()
        assert (table[column] < table[f"{column}_high"]).all()
    curve = discovery_curve_table(crawls, windows, error)
    alone = curve["start_crawl"] == curve["end_crawl"]
    assert (curve.loc[alone, ["ratio", "ratio_low", "ratio_high"]] == 1).all(axis=None)
    curve = curve[~alone]
    union, own_size = curve["distinct_elements"], curve["start_crawl"].map(crawls.set_index("crawl")["elements"])
    for column, limits in (
        ("distinct_elements", error.count_interval(union)),
        ("ratio", error.ratio_interval(union, own_size)),
    ):
        assert (limits == curve[[f"{column}_low", f"{column}_high"]].to_numpy().T).all()
