"""Completeness of the schema: descriptions, units and keys."""

import pytest

from crawl_urn_dagster.observables.schema import TABLES, Column


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_table_has_descriptions_units_and_a_key(table):
    assert table.description
    assert all(column.description and column.unit for column in table.columns)
    assert len(set(table.column_names)) == len(table.columns)
    assert table.key
    assert set(table.key) <= set(table.column_names)


def test_numeric_column_without_unit_is_an_error():
    with pytest.raises(KeyError, match="DOUBLE"):
        Column("value", "DOUBLE", "something")
