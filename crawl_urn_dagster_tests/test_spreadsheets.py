"""Text of CSV cells that a spreadsheet would compute is guarded, by pandas and by DuckDB alike."""

import duckdb
import pandas as pd
import pytest

from crawl_urn_dagster.spreadsheets import guard, guard_rows, guarded_sql

FORMULAS = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\tx", "\rx", "-", "=HYPERLINK('https://example.org')"]
PLAIN = ["a.org", "", "-12", "+3.5", "'=1", "https://example.org/?a=-1", "é=1"]


@pytest.mark.parametrize("text", [*FORMULAS, *PLAIN])
def test_formulas_get_an_apostrophe(text):
    expected = f"'{text}" if text in FORMULAS else text
    assert guard(text) == expected
    with duckdb.connect() as connection:
        (found,) = connection.execute(f"SELECT {guarded_sql('cell')} FROM (SELECT ? AS cell)", [text]).fetchone()
    assert found == expected


def test_numbers_and_missing_texts_of_a_table_stay():
    rows = pd.DataFrame({"element": ["=1", None], "captures": pd.array([-1, None], dtype="Int32"), "share": [-0.5, 0]})
    guarded = guard_rows(rows)
    assert guarded["element"][0] == "'=1"
    assert guarded["element"].isna().tolist() == [False, True]
    pd.testing.assert_frame_equal(guarded[["captures", "share"]], rows[["captures", "share"]])
