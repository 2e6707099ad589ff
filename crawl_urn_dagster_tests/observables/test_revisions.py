"""Counts and contents of the past that a source changed."""

import pandas as pd

from crawl_urn_dagster.observables.revisions import revisions_table
from crawl_urn_dagster.observables.schema import REVISIONS


def crawls(**elements):
    return pd.DataFrame({"crawl": list(elements), "elements": pd.array(list(elements.values()), dtype="Int64")})


def pairs(*rows):
    return pd.DataFrame(rows, columns=["crawl_i", "crawl_j", "intersection"])


def test_new_crawl_is_not_a_revision():
    found = revisions_table({"crawls": crawls(a=5)}, {"crawls": crawls(a=5, b=7)})
    assert list(found.columns) == list(REVISIONS.column_names)
    assert found.empty


def test_revisions_are_sorted_by_relative_change():
    before = {"crawls": crawls(a=100, b=100, c=None, d=7), "containment": pairs(("a", "b", 50), ("a", "c", 40))}
    now = {"crawls": crawls(a=100, b=90, c=8), "containment": pairs(("a", "b", 60), ("a", "c", 40), ("b", "c", 1))}
    found = revisions_table(before, now)
    assert [tuple(row) for row in found.fillna(-1).itertuples(index=False)] == [
        ("crawls", "d", "d", 7, -1),
        ("containment", "a", "b", 50, 60),
        ("crawls", "b", "b", 100, 90),
    ]


def test_tables_of_one_side_only_are_not_compared():
    assert revisions_table({}, {"crawls": crawls(a=1)}).empty
    assert revisions_table({"inputs": pd.DataFrame()}, {"inputs": pd.DataFrame()}).empty


def test_equal_count_with_other_elements_is_a_revision():
    before = crawls(a=5, b=6, c=7).assign(content=["x", "y", None])
    now = crawls(a=5, b=6, c=7).assign(content=["x", "z", "w"])
    found = revisions_table({"crawls": before}, {"crawls": now})
    assert found[["first_crawl", "count_before", "count_now"]].to_numpy().tolist() == [["b", 6, 6]]
