"""The latest crawl and the forecast of the next crawls equal the tables."""

import pytest

from crawl_urn_dagster_tests.report.reading import assert_written, columns, number, rows, section


def test_latest_crawl_section_is_the_table(tables, page):
    tested = tables["last_crawl"][tables["last_crawl"]["verdict"] != "not_tested"]
    shown = rows(section(page, "Latest crawl"))
    results = {"expected": "as expected", "below": "below its interval", "above": "above its interval"}
    assert {"crawl_size", "new_share"} <= set(tested["quantity"])
    for row, (_, expectation) in zip(shown, tested.iterrows(), strict=True):
        scale = 100 if expectation["unit"] == "fraction" else 1
        assert row["result"] == results[expectation["verdict"]]
        assert number(row["observed"].removesuffix(" %")) == pytest.approx(scale * expectation["value"], rel=1e-3)
        assert_written(row["expected"], tuple(scale * end for end in columns(expectation, "expected")))


def test_forecast_of_next_crawls_is_the_table(tables, page):
    forecast = tables["forecast"]
    latest = forecast[forecast["origin_crawl"] == forecast["origin_crawl"].iloc[-1]]
    titles = {"elements": "crawl_size", "new": "new_elements", "captured before": "returning_elements"}
    _, ends, between = section(page, "Forecast of the next crawls").split("<details>")
    shown = [*rows(ends), *rows(between)]
    assert sorted(int(row["crawls_ahead"]) for row in shown) == list(range(1, 13))
    for row in shown:
        for title, quantity in titles.items():
            is_shown = (latest["crawls_ahead"] == int(row["crawls_ahead"])) & (latest["quantity"] == quantity)
            assert_written(row[title], columns(latest[is_shown].iloc[0], "value"))
