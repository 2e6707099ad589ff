"""Assets of the fits and the headline."""

import pandas as pd
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster_tests.collections_for_tests import (
    COVERAGE,
    KAPPA,
)


@pytest.mark.slow
def test_api_without_dagster_gives_equal_tables(listed):
    fit = cu.fit(cu.read_presence(listed.collection.source.path))
    assert {"parameters", "operator_terms", "diagnosis", "containment", "m_array"} <= set(fit.tables)
    for name, table in fit.tables.items():
        held = listed.home.observables.read(name)
        assert len(held) == len(table), name
        for column in TABLES[name].columns:
            ours, theirs = table.get(column.name, pd.Series(index=table.index, dtype=object)), held[column.name]
            assert ours.isna().tolist() == theirs.isna().tolist(), (name, column.name)
            assert ours.dropna().tolist() == theirs.dropna().tolist(), (name, column.name)


def test_headline_is_near_the_truth_and_in_the_metadata(listed):
    metadata = listed.metadata("headline")
    # One urn of 5,000 elements: the scatter of kappa over seeds at this size is below 0.01.
    assert metadata["kappa"] == pytest.approx(KAPPA, abs=0.04)
    assert metadata["coverage"] == pytest.approx(COVERAGE, abs=0.04)
    for name in ("kappa", "core_share", "alpha", "coverage"):
        assert metadata[f"{name}_low"] < metadata[name] < metadata[f"{name}_high"]
    assert metadata["fit"] == "core_shell joint, exact form, per crawl"
    assert (metadata["verdict"], metadata["quotable"], metadata["model"]) == ("sound", "yes", "core_shell")
    quantities = listed.home.observables.read("quantities").set_index("quantity")
    for name in ("completeness", "population", "kappa"):
        assert [metadata[f"{name}{end}"] for end in ("", "_low", "_high")] == [
            quantities.loc[name, f"value{end}"] for end in ("", "_low", "_high")
        ]
    assert f"Crawl completeness {metadata['completeness']:.2f}" in metadata["in_words"]
