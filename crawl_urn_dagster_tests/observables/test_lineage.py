"""Sources of the columns of the schema."""

import pytest

from crawl_urn_dagster.observables.lineage import column_sources
from crawl_urn_dagster.observables.schema import TABLES


@pytest.mark.parametrize("table", [*TABLES, "headline"])
def test_sources_are_columns_of_the_schema(table):
    for column, sources in column_sources(table, TABLES).items():
        assert column in TABLES["parameters" if table == "headline" else table].column_names
        assert all(source in TABLES[name].column_names for name, source in sources)


def test_interval_has_the_sources_of_its_estimate():
    sources = column_sources("containment", TABLES)
    assert sources["containment_low"] == sources["containment_high"] == sources["containment"]
    assert sources["containment"] == [("capture_history_counts", "history"), ("capture_history_counts", "elements")]


def test_sources_in_absent_tables_are_left_out():
    assert column_sources("parameters", ["containment"])["kappa"] == [("containment", "intersection")]
    assert column_sources("parameters", []) == {}
