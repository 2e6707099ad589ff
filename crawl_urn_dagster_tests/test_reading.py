"""Reading of presence lists, counts and sources into memory."""

import warnings

import numpy as np
import pandas as pd
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.sources import SimulatedSource, SourceError
from crawl_urn_dagster_tests.collections_for_tests import (
    labels,
    pairs_frame,
    windows_frame,
)

FEW = 12


def test_impossible_counts_give_a_warning(tmp_path):
    pairs = pairs_frame(np.array([[100, 120, 40], [120, 110, 50], [40, 50, 90]]), 3)
    windows = windows_frame(np.array([[100, 130, 125], [0, 110, 150], [0, 0, 90]]), 3)
    first, second, third = labels(3)
    impossible = [
        "Broken: a longer window has at least the elements of a shorter one from the same start. Rows: 1; the worst: "
        f"start_crawl {first}, end_crawl {third}, window_crawls 3, distinct_elements 125, missing 5.0. Check the",
        "Broken: an intersection is between 0 and the smaller crawl. Rows: 1; the worst: "
        f"crawl_i {first}, crawl_j {second}, size_i 100, size_j 110, intersection 120, excess 20.0. Check the",
    ]
    with pytest.warns(UserWarning, match="Broken") as warned:
        read = cu.read_counts(pairs=pairs, windows=windows)
    assert [str(one.message).partition(" source's")[0] for one in warned] == impossible
    with pytest.warns(UserWarning, match="Broken") as again:
        cu.fit(read)
    assert [str(one.message) for one in again] == [str(one.message) for one in warned]
    assert {one.filename for one in [*warned, *again]} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cu.read_counts(pairs=pairs, windows=windows, relative_error=0.05)


def test_window_of_any_source_is_read(tmp_path):
    source = SimulatedSource(crawls=6, elements=500)
    whole = cu.read_source(source).tables["crawls"]["crawl"].tolist()
    some = cu.read_source(source, first_crawl=whole[1], last_crawl=whole[3])
    assert some.tables["crawls"]["crawl"].tolist() == whole[1:4]
    calendar = pd.DataFrame({"id": ["a", "b"], "from": ["2024-01", "2024-02"]})
    named = pd.DataFrame({"crawl": ["b", "a", "a"], "element": ["x", "x", "y"]})
    named.to_parquet(tmp_path / "named.parquet")
    read = cu.read_presence(tmp_path / "named.parquet", calendar=calendar)
    assert read.tables["crawls"]["elements"].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: cu.read_presence("absent.csv"), "absent.csv: there is no such file"),
        (
            lambda: cu.read_presence(pd.DataFrame({"crawl": ["2024-01"] * 2, "element": ["a", np.nan]})),
            r"^frame presence.csv, data row 2: found no element \(crawl 2024-01\)",
        ),
        (lambda: cu.read_presence(pd.DataFrame({"crawl": ["x"], "element": ["a"]})), "crawl 'x' cannot be dated"),
        (lambda: cu.read_presence(pd.DataFrame({"url": ["x"]})), r"^frame presence.csv: .*element"),
        (cu.read_counts, "neither pairs nor windows"),
        (
            lambda: cu.read_counts(pairs=pairs_frame(np.full((2, 2), -1), 2)),
            r"^frame pairs.csv, line 2, size_i: found -1",
        ),
    ],
)
def test_errors_name_the_place_and_the_value(read, message):
    with pytest.raises((SourceError, ValueError), match=message):
        read()


def test_readers_refuse_other_types():
    with pytest.raises(TypeError, match="pairs: found list, expected a path, an address, or a frame"):
        cu.read_counts(pairs=[1])
