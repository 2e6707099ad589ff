"""CSV and Parquet files contain the tables of the collection."""

import duckdb
import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster_tests.export.frames import EXPORTED


@pytest.mark.parametrize("name", EXPORTED)
def test_csv_and_parquet_read_back_as_the_table(file, folder, name):
    """In DuckDB, with the types of the schema: the same rows in the same order."""
    columns = ", ".join(f'"{column.name}"::{column.type} AS "{column.name}"' for column in TABLES[name].columns)
    texts = dict.fromkeys(TABLES[name].column_names, "VARCHAR")
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{file.path}' AS held (READ_ONLY)")
        expected = connection.execute(f"SELECT * FROM held.{name}").fetchall()
        csv = connection.execute(
            f"SELECT {columns} FROM read_csv($path, columns = $texts, header = true, nullstr = '')",
            {"path": str(folder / f"{name}.csv"), "texts": texts},
        ).fetchall()
        parquet = connection.execute(
            f"SELECT {columns} FROM read_parquet($path)", {"path": str(folder / f"{name}.parquet")}
        ).fetchall()
    assert csv == expected
    assert parquet == expected


def test_pandas_reads_infinity_missing_values_and_histories(folder):
    terms = pd.read_csv(folder / "operator_terms.csv")
    assert terms["life_expectancy"].tolist() == [np.inf] * 3
    assert terms["nu_inf"].isna().all()
    counts = pd.read_csv(folder / "capture_history_counts.csv", dtype={"history": str})
    assert counts["history"].tolist() == ["100", "011"]
    assert pd.read_parquet(folder / "capture_history_counts.parquet")["history"].tolist() == ["100", "011"]
