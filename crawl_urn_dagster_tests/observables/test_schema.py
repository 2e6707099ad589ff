"""The contract is complete: columns say what they mean and in which unit, tables what tells their rows apart."""

import pytest

from crawl_urn_dagster.observables.schema import TABLES, Column


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_columns_have_a_description_and_a_unit_and_keys_are_columns(table):
    assert table.description
    assert all(column.description and column.unit for column in table.columns)
    assert len(set(table.column_names)) == len(table.columns)
    assert table.key
    assert set(table.key) <= set(table.column_names)


def test_a_number_must_say_its_unit():
    with pytest.raises(KeyError, match="DOUBLE"):
        Column("value", "DOUBLE", "something")
