import pandas as pd
import pytest

from crawl_urn_dagster.observables.quality import (
    calendar_disorder,
    containment_out_of_range,
    dated_by_week,
    discovery_below_largest_crawl,
    discovery_decreases,
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
        {
            "start_crawl": "a",
            "end_crawl": ["a", "b", "c"],
            "window_crawls": [1, 2, 3],
            "distinct_elements": unions,
        }
    )


def pairs(**columns):
    return pd.DataFrame({"crawl_i": ["a"], "crawl_j": ["b"], **{name: [value] for name, value in columns.items()}})


def test_crawls_on_the_same_day_or_out_of_order_are_found(crawls):
    assert calendar_disorder(crawls).empty
    crawls.loc[2, "started_at"] = crawls.loc[1, "started_at"]
    assert calendar_disorder(crawls)["crawl"].tolist() == ["c"]
    crawls.loc[2, "started_at"] = pd.Timestamp("2019-01-01")
    assert calendar_disorder(crawls)["days_after_previous"].tolist() == [-396]


def test_crawls_that_the_calendar_lacks_are_named(crawls):
    assert dated_by_week(crawls)["crawl"].tolist() == ["b"]


def test_a_shrinking_union_is_found_unless_the_source_error_explains_it():
    assert discovery_decreases(windows(100, 250, 250), 0.0).empty
    found = discovery_decreases(windows(100, 250, 240), 0.0)
    assert found["end_crawl"].tolist() == ["c"]
    assert found["missing"].tolist() == [10]
    # Two estimates of 250 and 240 at 1 % error each: five standard errors are 17.
    assert discovery_decreases(windows(100, 250, 240), 0.01).empty
    assert len(discovery_decreases(windows(100, 250, 230), 0.01)) == 1


def test_a_union_is_compared_with_the_largest_shorter_one_of_its_own_start():
    two_starts = pd.concat([windows(100, 90, 95), windows(50, 60, 70).assign(start_crawl="b")], ignore_index=True)
    assert discovery_decreases(two_starts, 0.0)["missing"].tolist() == [10, 5]


def test_a_union_below_its_largest_crawl_is_found(crawls):
    assert discovery_below_largest_crawl(windows(100, 200, 200), crawls, 0.0).empty
    found = discovery_below_largest_crawl(windows(100, 150, 250), crawls, 0.0)
    assert found[["end_crawl", "missing"]].to_numpy().tolist() == [["b", 50]]
    assert discovery_below_largest_crawl(windows(100, 199, 250), crawls, 0.01).empty


def test_a_crawl_of_unknown_size_bounds_nothing(crawls):
    sizes = crawls.assign(elements=pd.array([100, None, 100], dtype="Int64"))
    assert discovery_below_largest_crawl(windows(100, 150, 250), sizes, 0.0).empty


def test_containment_outside_0_to_1_is_found_unless_the_source_error_explains_it():
    assert containment_out_of_range(pairs(size_i=100, size_j=80, intersection=80), 0.0).empty
    assert len(containment_out_of_range(pairs(size_i=100, size_j=80, intersection=81), 0.0)) == 1
    assert len(containment_out_of_range(pairs(size_i=100, size_j=100, intersection=-1), 0.0)) == 1
    # se = 0.01 sqrt(100^2 + 100^2 + 205^2) = 2.5, so -12 is within five of them and -13 is not.
    assert containment_out_of_range(pairs(size_i=100, size_j=100, intersection=-12), 0.01).empty
    assert len(containment_out_of_range(pairs(size_i=100, size_j=100, intersection=-13), 0.01)) == 1
