"""The latest crawl and the forecast of the next crawls equal the tables."""

from crawl_urn_dagster_tests.report.reading import assert_written, columns, number, rows, section


def test_latest_crawl_is_compared_with_its_forecast(tables, page):
    forecast, crawls, curve = tables["forecast"], tables["crawls"], tables["discovery_curve"]
    made = forecast[forecast["origin_crawl"] == crawls["crawl"].iloc[-2]].set_index("quantity")
    from_first = curve[curve["start_crawl"] == crawls["crawl"][0]]["distinct_elements"]
    size, new = crawls["elements"].iloc[-1], from_first.diff().iloc[-1]
    observed = {"in the crawl": size, "new": new, "captured before": size - new}
    shown = rows(section(page, "Latest crawl"))
    for row, quantity in zip(shown, ("crawl_size", "new_elements", "returning_elements"), strict=True):
        assert number(row["observed"]) == observed[row["elements"]]
        value, low, high = columns(made.loc[quantity], "value")
        assert_written(row["forecast"], (value, low, high))
        percent = 100 * (number(row["observed"]) / value - 1)
        inside = "inside the interval" if low <= number(row["observed"]) <= high else "outside the interval"
        direction = "above" if percent > 0 else "below"
        difference = f" ({abs(percent):.0f} % {direction} the forecast)" if abs(percent) >= 0.5 else ""
        assert row["result"] == inside + difference


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
