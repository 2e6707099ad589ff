"""Loading of SQL statements by name."""

import pytest

from crawl_urn_dagster.sql_loader import load_statement


@pytest.mark.parametrize(("name", "text"), [("read_captures", "read_parquet($part)"), ("observables/m_array", "cells")])
def test_statement_is_found_by_name(name, text):
    assert text in load_statement(name)


def test_unknown_statement_names_the_missing_file():
    with pytest.raises(FileNotFoundError, match=r"sql/no_such_statement\.sql"):
        load_statement("no_such_statement")
