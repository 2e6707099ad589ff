"""Rows that break a rule of the observables."""

import pandas as pd
import pytest

from crawl_urn_dagster.observables.quality import (
    IN_CALENDAR,
    NON_DECREASING,
    WHAT_TO_DO,
    WITHIN_SMALLER,
    breach,
    broken_rules,
    calendar_disorder,
    containment_out_of_range,
    dated_by_week,
    discovery_below_largest_crawl,
    discovery_decreases,
    lag1_containment,
)


@pytest.fixture
def crawls():
    return pd.DataFrame(
        {
            "crawl": ["a", "b", "c"],
            "crawl_index": [0, 1, 2],
            "started_at": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01"]),
            "elements": [100, 200, 100],
            "dated_by": ["calendar", "iso_week", "calendar"],
        }
    )


def windows(*unions):
    return pd.DataFrame(
        {"start_crawl": "a", "end_crawl": ["a", "b", "c"], "window_crawls": [1, 2, 3], "distinct_elements": unions}
    )


def pairs(**columns):
    return pd.DataFrame({"crawl_i": ["a"], "crawl_j": ["b"], **{name: [value] for name, value in columns.items()}})


def test_crawls_on_the_same_day_or_out_of_order_are_found(crawls):
    assert calendar_disorder(crawls).empty
    crawls.loc[2, "started_at"] = crawls.loc[1, "started_at"]
    assert calendar_disorder(crawls)["crawl"].tolist() == ["c"]
    crawls.loc[2, "started_at"] = pd.Timestamp("2019-01-01")
    assert calendar_disorder(crawls)["days_after_previous"].tolist() == [-396]


def test_crawls_missing_from_the_calendar_are_found(crawls):
    assert dated_by_week(crawls)["crawl"].tolist() == ["b"]


def test_decreasing_union_is_found_beyond_the_source_error():
    assert discovery_decreases(windows(100, 250, 250), 0.0).empty
    found = discovery_decreases(windows(100, 250, 240), 0.0)
    assert found["end_crawl"].tolist() == ["c"]
    assert found["missing"].tolist() == [10]
    # Two estimates of 250 and 240 at 1 % error each: five standard errors are 17.
    assert discovery_decreases(windows(100, 250, 240), 0.01).empty
    assert len(discovery_decreases(windows(100, 250, 230), 0.01)) == 1


def test_union_is_compared_within_the_same_start_crawl():
    two_starts = pd.concat([windows(100, 90, 95), windows(50, 60, 70).assign(start_crawl="b")], ignore_index=True)
    assert discovery_decreases(two_starts, 0.0)["missing"].tolist() == [10, 5]


def test_union_below_its_largest_crawl_is_found(crawls):
    assert discovery_below_largest_crawl(windows(100, 200, 200), crawls, 0.0).empty
    found = discovery_below_largest_crawl(windows(100, 150, 250), crawls, 0.0)
    assert found[["end_crawl", "missing"]].to_numpy().tolist() == [["b", 50]]
    assert discovery_below_largest_crawl(windows(100, 199, 250), crawls, 0.01).empty


def test_crawl_of_unknown_size_is_not_a_floor(crawls):
    sizes = crawls.assign(elements=pd.array([100, None, 100], dtype="Int64"))
    assert discovery_below_largest_crawl(windows(100, 150, 250), sizes, 0.0).empty


def test_containment_outside_0_to_1_is_found():
    assert containment_out_of_range(pairs(size_i=100, size_j=80, intersection=80), 0.0).empty
    assert len(containment_out_of_range(pairs(size_i=100, size_j=80, intersection=81), 0.0)) == 1
    assert len(containment_out_of_range(pairs(size_i=100, size_j=100, intersection=-1), 0.0)) == 1
    # se = 0.01 sqrt(100^2 + 100^2 + 205^2) = 2.5, so -12 is within five of them and -13 is not.
    assert containment_out_of_range(pairs(size_i=100, size_j=100, intersection=-12), 0.01).empty
    assert len(containment_out_of_range(pairs(size_i=100, size_j=100, intersection=-13), 0.01)) == 1


def test_broken_rules_lists_only_rules_with_rows(crawls):
    found = broken_rules(crawls, pairs(size_i=100, size_j=80, intersection=81), windows(100, 250, 240), 0.0)
    assert set(found) == {IN_CALENDAR, NON_DECREASING, WITHIN_SMALLER}
    assert set(found) <= set(WHAT_TO_DO)
    assert breach(IN_CALENDAR, found[IN_CALENDAR]) == (
        "Broken: every crawl is in the calendar. Rows: 1; the worst: crawl b, started_at 2020-02-01 00:00:00."
    )
    assert broken_rules(crawls.assign(dated_by="calendar"), None, None, 0.0) == {}


def test_lag1_containment_is_the_same_from_pairs_and_windows():
    table = pairs(size_i=100, size_j=80, intersection=60, lag_crawls=1, containment=0.6, containment_high=None)
    expected = [{"crawl": "b", "containment": 0.6, "containment_high": 0.6}]
    assert lag1_containment(table, None).to_dict("records") == expected
    rows = [("a", "a", 1, 100, None), ("b", "b", 1, 80, None), ("a", "b", 2, 120, None)]
    columns = ["start_crawl", "end_crawl", "window_crawls", "distinct_elements", "distinct_elements_low"]
    assert lag1_containment(None, pd.DataFrame(rows, columns=columns)).to_dict("records") == expected


def test_lag1_containment_without_tables_raises():
    with pytest.raises(ValueError, match="needs table containment or discovery_curve"):
        lag1_containment(None, None)
