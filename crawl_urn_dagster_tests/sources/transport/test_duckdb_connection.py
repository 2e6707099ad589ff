"""The DuckDB connection that raw lists are read through."""

import duckdb
import pytest

from crawl_urn_dagster.sources.transport.duckdb_connection import connect


def test_it_spills_below_the_folder_and_leaves_nothing(tmp_path):
    with connect(tmp_path / "new") as connection:
        (spill,) = (tmp_path / "new").iterdir()
        setting = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        assert setting == (str(spill),)
    assert list((tmp_path / "new").iterdir()) == []
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("SELECT 1")


def test_it_installs_and_loads_no_extension_by_itself(tmp_path):
    settings = ("autoinstall_known_extensions", "autoload_known_extensions")
    with connect(tmp_path) as connection:
        for name in settings:
            assert connection.execute(f"SELECT current_setting('{name}')").fetchone() == (False,)
