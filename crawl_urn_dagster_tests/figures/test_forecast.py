"""Test the figures of forecasts and plans."""

import re

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.forecast import HORIZON, forecast_table
from crawl_urn_dagster.estimates.planning import planning_tables
from crawl_urn_dagster.figures.forecast import forecast_fan, forecast_fan_caption, planning_curves
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster.urn.monitoring.planning import seen_share
from crawl_urn_dagster_tests.figures.frames import (
    GAP_DAYS,
    TITLE,
    faults,
    legend_entries,
    parameters,
    tables,
    text_of,
    without_layout,
)
from crawl_urn_dagster_tests.figures.frames import core_shell as core_shell_rows

N = 24


@pytest.fixture(scope="module")
def made():
    return tables(N)


@pytest.fixture(scope="module")
def forecast(made):
    return forecast_table(*made)


def test_fan_has_both_forecasts_and_observed_counts(made, forecast):
    figure = forecast_fan(forecast, made.crawls, made.discovery_curve, title=TITLE)
    new, distinct = figure.axes
    earlier, latest, observed = new.get_lines()
    np.testing.assert_array_equal(earlier.get_xdata(), made.crawls["years"][N - HORIZON :])
    gap = GAP_DAYS / 365.25
    np.testing.assert_allclose(latest.get_xdata(), gap * np.arange(N, N + HORIZON), rtol=1e-9)
    whole = made.discovery_curve[made.discovery_curve["start_crawl"] == made.crawls["crawl"][0]]
    np.testing.assert_array_equal(observed.get_ydata(), np.diff(whole["distinct_elements"]))
    assert list(legend_entries(figure)) == [
        f"forecast from {made.crawls['crawl'][N - 1 - HORIZON]}",
        f"forecast from {made.crawls['crawl'][N - 1]}",
        "observed",
    ]
    assert [axes.get_xticklabels()[0].get_text() for axes in (new, distinct)] == ["2021", "2021"]
    assert faults(figure) == []


@without_layout()
def test_earlier_forecast_of_one_crawl_is_a_point_with_bar(made, forecast):
    earliest = forecast["origin_crawl"] == forecast["origin_crawl"][0]
    one = forecast[~earliest | (forecast["crawls_ahead"] == 1)]
    new, _ = forecast_fan(one, made.crawls, made.discovery_curve, title=TITLE).axes
    point = new.get_lines()[0]
    assert (point.get_marker(), len(point.get_xdata())) == ("o", 1)
    (bar,) = (found for found in new.collections if hasattr(found, "get_segments"))
    assert bar.get_segments()[0][:, 0].tolist() == [point.get_xdata()[0]] * 2
    text, _ = forecast_fan_caption(one, made.crawls, made.discovery_curve)
    assert re.search(r"Of 1 crawl since the earlier forecast, [01] fell within its prediction interval", text)


@without_layout()
def test_windows_of_one_length_are_drawn_if_others_are_unknown(made):
    known = made.discovery_curve[made.discovery_curve["window_crawls"] <= 6]
    figure = forecast_fan(forecast_table(made.crawls, None, known), made.crawls, known, title=TITLE)
    _, distinct = figure.axes
    observed = [line for line in distinct.get_lines() if line.get_marker() == "."]
    expected = known.loc[known["window_crawls"] == 6, "distinct_elements"]
    for line in observed:
        np.testing.assert_array_equal(line.get_ydata(), expected)


@without_layout()
def test_fan_of_many_crawls_shows_only_the_last_ones(made, forecast):
    n = 70
    many = tables(n)
    shifted = forecast.assign(
        origin_crawl=forecast["origin_crawl"].map(
            dict(zip(made.crawls["crawl"], many.crawls["crawl"][n - N :], strict=True))
        ),
        expected_at=forecast["expected_at"] + pd.Timedelta(days=GAP_DAYS * (n - N)),
    )
    new, distinct = forecast_fan(shifted, many.crawls, many.discovery_curve, title=TITLE).axes
    assert {min(line.get_xdata()) for line in new.get_lines()[-1:]} == {many.crawls["years"][n - 60]}
    assert distinct.get_xlim()[0] > 0
    assert "Only the last 60 crawls are shown." in forecast_fan_caption(shifted, *many[::2])[0]


def test_forecast_of_one_origin_has_a_caption(made, forecast):
    latest = forecast[forecast["origin_crawl"] == forecast["origin_crawl"].iloc[-1]]
    text, _ = forecast_fan_caption(latest, made.crawls, made.discovery_curve)
    assert "is forecast to contain" in text
    assert "since the earlier" not in text


@without_layout()
def test_missing_forecast_shows_its_reason():
    few = tables(5)
    figure = forecast_fan(forecast_table(*few), few.crawls, few.discovery_curve, title=TITLE)
    assert "A forecast needs 8 crawls; there are 5." in text_of(figure)


def test_plans_have_each_cadence_and_mark_the_present_one(made):
    planning = planning_tables(*made, clock="crawl", error=CountingError(), reported=True)["planning"]
    fits = parameters(core_shell_rows("joint"))
    figure = planning_curves(planning, fits, title=TITLE)
    captured, cost, shell = figure.axes
    assert len(cost.get_lines()) == len(shell.get_lines()) == 4
    now = planning[planning["current"]].iloc[0]
    assert cost.get_lines()[-1].get_ydata().tolist() == [now["cost_per_new"]]
    drawn = {tuple(np.round(line.get_ydata(), 9)) for line in captured.get_lines()}
    assert tuple(np.round(seen_share(0, 0.75, 0.5, np.arange(1, 25)), 9)) in drawn
    assert [line for line in captured.get_lines() if set(line.get_ydata()) == {0.9}]
    labels = {text.get_text().strip() for text in captured.texts}
    assert labels == {f"{coverage:.2g}" for coverage in planning["coverage"].unique()}
    assert all(tick == round(tick) for tick in captured.get_xticks())
    assert faults(figure) == []
    unidentified = planning.assign(status="not_identified")
    assert "has status not_identified" in text_of(planning_curves(unidentified, fits, title=TITLE))
    assert "no joint core–shell fit to plan with" in text_of(planning_curves(planning.iloc[:0], fits, title=TITLE))


def test_plans_have_the_survival_of_the_selected_model(made):
    planning = planning_tables(*made, clock="crawl", error=CountingError(), reported=True)["planning"]
    fits = parameters(core_shell_rows("joint")).assign(status="refuted", alpha=0.2)
    now = planning[planning["current"]].iloc[0]
    captured, *_ = planning_curves(planning, fits, title=TITLE).axes
    present = max(captured.get_lines(), key=lambda line: line.get_linewidth())
    np.testing.assert_allclose(present.get_ydata()[[0, -1]], [now["coverage"], now["seen_at_last"]], rtol=1e-6)
