"""Charts of a report show the numbers of the tables, and respond in a browser to pointer and keyboard."""

import html
import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.report import to_html
from crawl_urn_dagster.report.blocks import Chart, LagChart, Moments, Page, Picture, Section, Series
from crawl_urn_dagster.report.charts import charts_of, completeness, crawl_counts, crawl_moments
from crawl_urn_dagster.report.markdown import captioned_table
from crawl_urn_dagster.urn import Status
from crawl_urn_dagster_tests.command import PATIENT_SECONDS

HOSTILE = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>'`${alert(3)}"
LABELS = ["2024-01", "2024-02", HOSTILE, "2024-04", "2024-05"]
TIMES = [1704067200.0 + 30 * 86400 * at for at in range(5)]
COUNTS = Chart("counts", [Series("size", [10, 20, None, 40, 50], [9, 19, None, 39, 49], [11, 21, None, 41, 51])])
LAGS = LagChart("containment", [[0.8, 0.7, 0.6, 0.5], [0.9, 0.6, 0.5], [0.7, 0.6], [0.6], []])


def points(chart, name):
    """Return the values of a series of a chart."""
    (found,) = (one.points for one in chart.series if one.name == name)
    return found


def test_counts_are_those_of_the_tables(tables):
    chart, crawls = crawl_counts(tables, "host"), tables["crawls"]
    assert points(chart, "hosts") == crawls["elements"].tolist()
    pairs = tables["containment"].query("lag_crawls == 1")
    shared = pairs.set_index("crawl_j").loc[crawls["crawl"][1:], "intersection"]
    assert points(chart, "shared with the previous crawl") == [None, *shared]
    first, new = crawls["elements"][0], points(chart, "never captured before")
    assert new[0] is None
    distinct = tables["discovery_curve"].query("window_crawls == @n", local_dict={"n": len(crawls)})[
        "distinct_elements"
    ]
    assert first + sum(new[1:]) == distinct.item()


def test_unreported_parameters_are_not_drawn(tables):
    frames = {**tables, "drift": pd.DataFrame()}
    (chart,) = charts_of("parameters_over_time", frames, "host")
    assert any(value is not None for value in points(chart, "core fraction of the urn, κ"))
    history = tables["parameter_history"]
    refuted = {**frames, "parameter_history": history.assign(status=Status.MODEL_VIOLATION)}
    assert charts_of("parameters_over_time", refuted, "host") == []
    open_ = {**frames, "parameter_history": history.assign(status=Status.NOT_IDENTIFIED)}
    (chart,) = charts_of("parameters_over_time", open_, "host")
    assert {value for one in chart.series for value in one.points} == {None}


def test_population_and_completeness_leave_out_unassessed_crawls(tables):
    frames = {**tables, "population": tables["population"].iloc[3:]}
    (chart,) = charts_of("completeness_by_crawl", frames, "host")
    assert points(chart, "captured hosts")[:3] == [None] * 3
    shares = points(completeness(frames), "crawl completeness")
    np.testing.assert_allclose(shares[3:], frames["population"]["completeness"], rtol=1e-5)


def test_forecast_continues_the_observed_crawls(tables):
    (chart,) = charts_of("forecast_fan", tables, "host")
    n, forecast = len(tables["crawls"]), tables["forecast"]
    latest = forecast.query(
        "quantity == 'new_elements' and origin_crawl == @last", local_dict={"last": tables["crawls"]["crawl"].iloc[-1]}
    )
    assert points(chart, "new hosts")[n:] == [None] * len(latest)
    np.testing.assert_allclose(chart.series[-1].points[n:], latest.sort_values("crawls_ahead")["value"], rtol=1e-5)
    assert len(chart.moments.labels) == len(chart.moments.times) == n + len(latest)
    assert list(chart.moments.times) == sorted(chart.moments.times)


def test_containment_has_a_row_per_crawl(tables):
    (chart,) = charts_of("containment_by_lag", tables, "host")
    first = tables["containment"].query("crawl_i == @one", local_dict={"one": tables["crawls"]["crawl"][0]})
    np.testing.assert_allclose(chart.rows[0], first.sort_values("lag_crawls")["containment"], rtol=1e-5)
    assert set(chart.rows[-1]) == {None}


def test_figures_without_their_tables_have_no_chart(tables):
    assert charts_of("survival_and_coverage_by_crawl", tables, "host") == []
    assert charts_of("discovery_heat_map", tables, "host") == []


def test_text_from_data_is_an_escaped_attribute():
    page = page_of(Chart(f"title {HOSTILE}", [Series(HOSTILE, [1, 2, math.pi, None, 5])]))
    (chart,) = re.findall(r'data-chart="([^"]*)"', page)
    (crawls,) = re.findall(r'data-crawls="([^"]*)"', page)
    assert not set("<>'") & set(chart + crawls)
    assert json.loads(html.unescape(chart))["series"][0]["name"] == HOSTILE
    assert json.loads(html.unescape(crawls))["labels"] == LABELS
    assert page.count("<script") == page.count("</script>") == 1


def test_moments_are_the_starts_of_the_crawls(tables):
    moments, crawls = crawl_moments(tables["crawls"]), tables["crawls"]
    assert moments.labels == crawls["crawl"].tolist()
    assert pd.to_datetime(pd.Series(moments.times), unit="s").tolist() == crawls["started_at"].tolist()


def page_of(*blocks):
    return to_html(Page("name", [], [Section("Charts", blocks)], Moments(LABELS, TIMES)))


@pytest.fixture
def shown(browser, tmp_path):
    """A function that opens charts, and fails if the page complains."""
    complaints = []
    context = browser.new_context(viewport={"width": 900, "height": 1400})
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENT_SECONDS)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def show(*blocks, address=""):
        file = tmp_path / "page.html"
        file.write_text(page_of(*blocks))
        page.goto(f"{file.as_uri()}{address}")
        page.locator("canvas").first.wait_for()
        return page

    yield show
    assert complaints == []
    context.close()


@pytest.mark.slow
def test_keys_move_the_mark_in_all_charts(shown):
    page = shown(COUNTS, Chart("others", [Series("new", [1, 2, 3, 4, 5])]))
    first, second = page.locator(".plot").all()
    assert first.get_attribute("aria-valuetext") == "2024-05; size 50.0 (49.0 to 51.0)"
    first.press("ArrowLeft")
    assert second.get_attribute("aria-valuetext") == "2024-04; new 4"
    second.press("Home")
    assert first.get_attribute("aria-valuenow") == "1"
    assert page.locator(".readout").first.inner_text().split("\n")[0] == "2024-01"


@pytest.mark.slow
def test_pointer_marks_and_drags_select(shown):
    page = shown(COUNTS, LAGS)
    box = page.locator(".u-over").first.bounding_box()
    at = [box["x"] + share * box["width"] for share in (0.02, 0.3)]
    page.mouse.move(at[0], box["y"] + 50)
    counts, lags = page.locator(".plot").all()
    assert counts.get_attribute("aria-valuetext").startswith("2024-01; size 10")
    assert "of crawl 2024-01 in later crawls 80.0 %" in lags.get_attribute("aria-valuetext")
    assert "lowest to highest 75 % (60 to 90)" in lags.get_attribute("aria-valuetext")
    page.mouse.move(box["x"] + 1, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(at[1], box["y"] + 60, steps=4)
    page.mouse.up()
    assert page.locator(".range").inner_text().startswith("Charts show 2 of 5 crawls: 2024-01 to 2024-02")
    assert "lowest to highest 80.0 %" in lags.get_attribute("aria-valuetext")
    counts.press("Escape")
    assert page.locator(".range").is_hidden()


@pytest.mark.slow
def test_address_keeps_the_marked_and_the_selected_crawls(shown):
    page = shown(COUNTS, address="#crawl=2024-02&from=2024-02&to=2024-04")
    plot = page.locator(".plot")
    assert plot.get_attribute("aria-valuetext").startswith("2024-02")
    assert "3 of 5 crawls: 2024-02 to 2024-04" in page.locator(".range").inner_text()
    plot.press("ArrowRight")
    page.wait_for_url(lambda url: "onerror" in url)
    assert plot.get_attribute("aria-valuetext") == f"{HOSTILE}; no value"
    assert page.locator("img").count() == 0


@pytest.mark.slow
def test_link_in_a_caption_downloads_the_table(shown):
    page = shown(COUNTS, captioned_table("Sizes", pd.DataFrame({"crawl": ["2024-01"], "size": [10.5]})))
    with page.expect_download() as download:
        page.get_by_text("CSV").click()
    assert download.value.suggested_filename == "sizes.csv"
    assert download.value.path().read_text() == "crawl,size\n2024-01,10.5\n"


@pytest.mark.slow
def test_figure_is_in_print_and_on_demand(shown):
    png = bytes.fromhex("89504e470d0a1a0a")
    page = shown(Picture(None, png, "caption", "alt", [COUNTS]))
    figure = page.locator("figure")
    assert figure.is_hidden()
    page.get_by_role("button", name="Figure for print").click()
    assert figure.is_visible()
    with page.expect_download() as download:
        page.get_by_text("PNG").click()
    assert download.value.suggested_filename == "caption.png"
    assert download.value.path().read_bytes() == png
    page.emulate_media(media="print")
    assert figure.is_visible()
    assert page.locator(".interactive").is_hidden()
