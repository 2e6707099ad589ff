import pytest

from crawl_urn_dagster.sql_loader import load_statement


def test_a_statement_is_found_by_name():
    assert "read_parquet($part)" in load_statement("read_captures")


def test_an_unknown_statement_names_the_file_it_looked_for():
    with pytest.raises(FileNotFoundError, match=r"sql/no_such_statement\.sql"):
        load_statement("no_such_statement")
