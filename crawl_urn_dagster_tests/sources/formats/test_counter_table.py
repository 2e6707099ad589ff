"""Counters of an operator: a table of crawl, quantity and value, and Common Crawl's tables."""

import re

import pytest

from crawl_urn_dagster.sources import CommonCrawlCrawlerMetricsSource, CounterTableSource, Files, SourceError

HEADER = "crawl,quantity,value\n"


def read(folder, text, **settings):
    path = folder / "counters.csv"
    path.write_text(HEADER + text)
    return CounterTableSource(path=str(path), **settings).read_counters(Files(folder / "cache"))


def test_counters_that_are_not_published_are_left_out(tmp_path):
    frame = read(tmp_path, "2024-01,alive,10\n2024-02,alive,nan\n2024-01,dead,2.4\n", population=["alive"])
    assert frame.to_numpy().tolist() == [["2024-01", "alive", 10], ["2024-01", "dead", 2]]


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("2024-01,alive,ten\n", {}, "line 2, value: found 'ten', expected a count"),
        ("2024-01,alive,1\n2024-01,alive,2\n", {}, "2024-01 to alive occurs twice"),
        ("2024-01,alive,1\n", {"population": ["eligible"]}, "has no counter 'eligible'; expected one of: alive"),
        ("2024-01,alive,1\n", {"divide_by": "budget"}, "has no counter 'budget'; expected one of: alive"),
        (
            "2024-01,budget,5\n2024-02,budget,0\n",
            {"divide_by": "budget"},
            "counters.csv: counter 'budget' of divide_by is 0 at crawl 2024-02; expected counts above 0",
        ),
        ("2024-01,alive,1\n", {"value_column": "n"}, "has no column 'n'"),
    ],
)
def test_unexpected_counters_are_named(tmp_path, text, settings, message):
    with pytest.raises(SourceError, match=re.escape(message)):
        read(tmp_path, text, **settings)


def test_tables_of_common_crawl_have_a_column_per_counter(tmp_path):
    for name, text in (
        ("status", "crawl,fetched,notmodified,orphan\nA,7,3,\n"),
        ("new", "crawl,url estim. new\nA,4\n"),
    ):
        (tmp_path / name).write_text(text)
    source = CommonCrawlCrawlerMetricsSource(status="status", metrics=None, new_urls="new").relative_to(tmp_path)
    frame = source.read_counters(Files(tmp_path / "cache"))
    assert dict(zip(frame["quantity"], frame["value"], strict=True)) == {
        "fetched": 7,
        "notmodified": 3,
        "url estim. new": 4,
    }
    (tmp_path / "new").write_text("id,url estim. new\nA,4\n")
    with pytest.raises(SourceError, match="expected 'crawl' and counters"):
        source.read_counters(Files(tmp_path / "cache"))
