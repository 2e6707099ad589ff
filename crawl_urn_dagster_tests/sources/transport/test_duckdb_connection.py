"""Test the DuckDB connection that reads raw lists."""

import duckdb
import pytest

from crawl_urn_dagster.sources.transport.duckdb_connection import connect


def test_connection_spills_to_the_folder_and_cleans_up(tmp_path):
    with connect(tmp_path / "new") as connection:
        (spill,) = (tmp_path / "new").iterdir()
        setting = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        assert setting == (str(spill),)
    assert list((tmp_path / "new").iterdir()) == []
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("SELECT 1")


def test_connection_loads_no_extension(tmp_path):
    settings = ("autoinstall_known_extensions", "autoload_known_extensions")
    with connect(tmp_path) as connection:
        for name in settings:
            assert connection.execute(f"SELECT current_setting('{name}')").fetchone() == (False,)
