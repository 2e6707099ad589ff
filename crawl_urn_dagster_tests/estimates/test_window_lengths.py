"""Fits of ever more first crawls: columns, windows that are kept, and the stable share of a real list."""

import numpy as np
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates.window_lengths import window_lengths_table
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import KAPPA, dated_crawls, histories

N = 14


@pytest.fixture(scope="module")
def lengths():
    """Return a function that fits the windows of a simulated list, with the table of an earlier run."""
    counts = histories(N).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    made = tables_from_histories(crawls, counts, CountingError())
    observed = crawls, made["containment"], made["discovery_curve"]

    def fit(known=None, model=None):
        return window_lengths_table(*observed, known, histories=counts, model=model, error=CountingError())

    return fit


def test_kappa_of_an_urn_is_the_same_in_all_windows(lengths):
    table = lengths()
    assert tuple(table.columns) == TABLES["window_lengths"].column_names
    assert table["window_crawls"].tolist() == [8, 13, N]
    assert ((table["kappa_low"] < KAPPA) & (table["kappa_high"] > KAPPA)).all()
    assert table["stable_share"].isna().all()


def test_unchanged_windows_are_kept(lengths):
    known = lengths().assign(kappa=0.123)
    assert lengths(known)["kappa"].tolist() == [0.123] * 3
    assert (lengths(known, model="markov_1")["kappa"] != 0.123).all()


def test_stable_share_of_a_model_with_memory_has_an_interval(lengths):
    table = lengths(model="core_markov_1")
    assert ((table["stable_share_low"] < table["stable_share"]) & (table["stable_share"] < 1)).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["markov_2", "markov_3"])
def test_stable_share_hardly_depends_on_the_window(model, shared_data):
    crawls = cu.read_presence(shared_data / "presence" / "us_gov_hosts.csv.gz", crawl_column="snapshot")
    observed = (crawls.tables[name] for name in ("crawls", "containment", "discovery_curve"))
    table = window_lengths_table(*observed, None, histories=crawls.histories, model=model, error=crawls.error)
    assert table["window_crawls"].tolist() == [8, 13, 20, 26, 39]
    low, high = (table[f"stable_share_{end}"].to_numpy() for end in ("low", "high"))
    share = table["stable_share"].to_numpy()
    assert ((low[:, None] <= share) & (share <= high[:, None])).all()
    # κ of the core-shell fit falls as crawls are added.
    assert table["kappa_high"].iloc[-1] < table["kappa"].iloc[1]
