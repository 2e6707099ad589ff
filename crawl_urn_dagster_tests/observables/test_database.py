"""Reading and writing a collection's DuckDB file, also while other processes use it."""

import subprocess
import sys
import textwrap

import duckdb
import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.observables.database import (
    DatabaseHeldError,
    MissingTableError,
    ObservablesFile,
    UnknownTableError,
)
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import create_headline_view


def returns(**columns):
    return pd.DataFrame({"lag_crawls": [1, 2], "fraction": [0.5, 0.25], "n_starts": [3, 2], **columns})


@pytest.fixture
def file(tmp_path):
    return ObservablesFile(tmp_path / "d'é {ep}" / "observables.duckdb", deadline_seconds=0.5)


def test_table_is_read_with_the_columns_of_the_schema(file):
    file.replace({"first_returns": returns(fraction_se=[0.1, np.nan])})
    table = file.read("first_returns")
    assert tuple(table.columns) == TABLES["first_returns"].column_names
    assert table["fraction"].tolist() == [0.5, 0.25]
    assert table["fraction_se"].isna().tolist() == [False, True]


def test_nan_is_stored_as_null_and_infinity_is_kept(file):
    file.replace({"first_returns": returns(fraction_se=[np.nan, np.inf])})
    with file.reading() as connection:
        rows = connection.execute("SELECT fraction_se FROM first_returns").fetchall()
    assert rows == [(None,), (float("inf"),)]


def test_unknown_column_raises_and_changes_nothing(file):
    file.replace({"first_returns": returns()})
    with pytest.raises(ValueError, match=r"first_returns has no columns \['lag'\]; it has \['lag_crawls'"):
        file.replace({"first_returns": returns(lag=[1, 2])})
    assert len(file.read("first_returns")) == 2


def test_tables_are_replaced_in_one_transaction(file):
    file.replace({"first_returns": returns()})
    broken = pd.DataFrame({"released_crawl": [None], "elements": [1]})  # may not be null
    with pytest.raises(Exception, match="NOT NULL"):
        file.replace({"first_returns": returns().head(1), "m_array": broken})
    assert len(file.read("first_returns")) == 2


def test_view_is_read_like_a_table(file):
    file.replace({"m_array": pd.DataFrame({"released_crawl": ["2024-05"], "elements": [3]})})
    with pytest.raises(MissingTableError, match="has no table 'headline'"):
        file.read("headline")
    columns = {column.name: [None] for column in TABLES["parameters"].columns}
    defaults = {"VARCHAR": "x", "BOOLEAN": True, "BIGINT": 1, "INTEGER": 1, "DOUBLE": 0.5}
    columns |= {one.name: [defaults[one.type]] for one in TABLES["parameters"].columns if not one.nullable}
    file.replace({"parameters": pd.DataFrame({**columns, "headline": [True]})})
    create_headline_view(file)
    assert file.read("headline").equals(file.read("parameters"))
    assert set(file.read_present(["headline", "drift"])) == {"headline"}


def test_unknown_table_error_names_the_tables_that_exist(file):
    file.replace({"m_array": pd.DataFrame({"released_crawl": ["2024-05"], "elements": [3]})})
    with pytest.raises(UnknownTableError, match=r"unknown table 'm_aray'; did you mean 'm_array'\? expected one of: "):
        file.read("m_aray")
    with pytest.raises(UnknownTableError, match="unknown table"):
        file.read_present(["m_aray"])


def marked(file, **columns):
    """Write a table and mark it as complete; return the write of the table."""
    frame = pd.DataFrame({"released_crawl": ["2024-05", "2024-06"], "elements": [3, 4], **columns})
    file.replace({"m_array": frame})
    mark = {"last_crawl": ["2024-06"], "crawls": [2], "run_id": ["a"], "completed_at": [pd.Timestamp("2024-07-01")]}
    file.replace({"complete": pd.DataFrame(mark)})
    return frame


def test_mark_is_kept_by_a_table_with_the_same_rows(file):
    frame = marked(file)
    file.replace({"m_array": frame.iloc[[1, 0]]})
    assert file.read("complete")["last_crawl"].tolist() == ["2024-06"]


@pytest.mark.parametrize("change", [lambda one: one.assign(elements=[3, 5]), lambda one: one.head(1)])
def test_mark_is_removed_with_the_first_changed_table(file, change):
    frame = marked(file)
    file.replace({"m_array": change(frame)})
    with pytest.raises(MissingTableError, match="may belong to different crawls until the collection's update job"):
        file.read_all(["complete", "m_array"])


def test_failed_write_keeps_the_mark(file):
    frame = marked(file)
    with pytest.raises(duckdb.ConversionException):
        file.replace({"m_array": frame.assign(elements=[3, 5]), "truth": pd.DataFrame({"kappa": ["no number"]})})
    assert len(file.read("complete")) == 1


def test_missing_table_error_names_table_and_remedy(file):
    with pytest.raises(MissingTableError, match=r"observables\.duckdb does not exist: run `crawl-urn run`"):
        file.read("drift")
    file.replace({"first_returns": returns()})
    with pytest.raises(MissingTableError, match="no table 'drift': materialise the asset"):
        file.read("drift")


HOLDER = """
    import sys, time, duckdb
    connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reader")
    print("open", flush=True)
    time.sleep(float(sys.argv[3]))
"""


def hold(file, kind, seconds):
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(file.path), kind, str(seconds)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "open\n"
    return holder


def test_write_succeeds_while_another_process_reads(file):
    file.replace({"first_returns": returns()})
    with file.writing() as connection:
        connection.execute("CREATE VIEW first AS FROM first_returns LIMIT 1")
    holder = hold(file, "reader", 600)
    try:
        file.replace({"first_returns": returns(fraction=[0.75, 0.5])})
        broken = pd.DataFrame({"released_crawl": [None], "elements": [1]})  # may not be null
        with pytest.raises(Exception, match="NOT NULL"):
            file.replace({"first_returns": returns().head(1), "m_array": broken})
        assert file.read("first_returns")["fraction"].tolist() == [0.75, 0.5]
        with file.reading() as connection:
            assert connection.execute("SELECT fraction FROM first").fetchall() == [(0.75,)]
        assert {path.name for path in file.path.parent.iterdir()} == {file.path.name, f".{file.path.name}.lock"}
        assert holder.poll() is None
    finally:
        holder.kill()
        holder.communicate()


def test_write_error_names_the_process_that_writes(file):
    file.replace({"first_returns": returns()})
    holder = hold(file, "writer", 600)
    try:
        with pytest.raises(DatabaseHeldError, match=rf"held by process {holder.pid} .*close it there"):
            file.replace({"first_returns": returns()})
    finally:
        holder.kill()
        holder.communicate()


def test_read_waits_until_the_writer_closes_the_file(tmp_path):
    file = ObservablesFile(tmp_path / "observables.duckdb", deadline_seconds=300)
    file.replace({"first_returns": returns()})
    holder = hold(file, "writer", 0.5)
    try:
        assert len(file.read("first_returns")) == 2
        assert holder.wait(timeout=300) == 0
    finally:
        holder.communicate()


def test_own_second_connection_raises_after_deadline(file):
    file.replace({"first_returns": returns()})
    with file.reading(), pytest.raises(DatabaseHeldError, match="another connection of this process"):
        file.replace({"first_returns": returns()})
