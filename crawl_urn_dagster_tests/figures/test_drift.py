"""Test the figures of parameters over time and of control charts."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.figures.drift import (
    control_charts,
    control_charts_caption,
    parameters_over_time,
    parameters_over_time_caption,
)
from crawl_urn_dagster.observables.schema import CONTROL_CHART, DRIFT
from crawl_urn_dagster_tests.figures.frames import TITLE, faults, history_of, tables, text_of, without_layout

N, WINDOW = 12, 8


@pytest.fixture(scope="module")
def crawls():
    return tables(N).crawls


def drift_of(crawls, **values):
    row = {"parameter": "kappa", "attributed": True, "drifted": True, "since_crawl": crawls["crawl"][9], **values}
    return pd.DataFrame([row], columns=list(DRIFT.column_names))


def chart_of(crawls):
    rows = [
        {
            "chart": chart,
            "crawl": crawl,
            "phase": "reference" if k < WINDOW else "monitored",
            "value": 0.4 + 0.001 * k,
            **(
                {"average": 0.4 + 0.01 * k, "average_low": 0.3, "average_high": 0.5, "alarm": k == N - 1}
                if k >= WINDOW
                else {}
            ),
        }
        for chart in ("core", "survival", "coverage")
        for k, crawl in enumerate(crawls["crawl"])
    ]
    return pd.DataFrame(rows, columns=list(CONTROL_CHART.column_names))


def test_windows_are_drawn_with_intervals_and_drift_is_marked(crawls):
    figure = parameters_over_time(history_of(crawls, window_crawls=WINDOW), drift_of(crawls), crawls, title=TITLE)
    kappa, _, alpha, _ = figure.axes
    line, hollow, mark = kappa.get_lines()
    assert not len(hollow.get_xdata())
    np.testing.assert_array_equal(line.get_xdata(), crawls["years"][WINDOW - 1 :])
    assert set(line.get_ydata()) == {0.4}
    assert mark.get_xdata()[0] == crawls["years"][9]
    assert f"drift since {crawls['crawl'][9]}" in text_of(figure)
    assert len(alpha.get_lines()) == 2
    assert kappa.collections[0].get_datalim(kappa.transData).y0 == pytest.approx(0.39)
    assert faults(figure) == []


@without_layout()
def test_caption_describes_first_and_last_window(crawls):
    history, unchanged = history_of(crawls, window_crawls=WINDOW), drift_of(crawls).iloc[:0]
    last = history["last_crawl"] == crawls["crawl"].iloc[-1]
    unidentified = history.assign(status=history["status"].mask(last, "not_identified"))
    text, _ = parameters_over_time_caption(unidentified, unchanged, crawls)
    assert f"First window, to {crawls['crawl'][WINDOW - 1]}: κ = 0.40" in text
    assert f"last window, to {crawls['crawl'].iloc[-1]}: not reported (not_identified)." in text
    assert "No point: not identified." in text
    assert "Hollow" not in text
    kappa = parameters_over_time(unidentified, unchanged, crawls, title=TITLE).axes[0]
    assert np.isnan(kappa.get_lines()[0].get_ydata()).tolist() == [False] * (N - WINDOW) + [True]


def test_history_without_reported_fits_shows_a_message(crawls):
    unreported = history_of(crawls, window_crawls=WINDOW).assign(status="model_violation")
    figure = parameters_over_time(unreported, drift_of(crawls).iloc[:0], crawls, title=TITLE)
    assert "no rolling window has a reported fit" in text_of(figure)
    assert faults(figure) == []


def test_charts_show_reference_average_and_alarms(crawls):
    figure = control_charts(chart_of(crawls), drift_of(crawls), crawls, title=TITLE)
    for axes in figure.axes:
        reference, monitored, average, alarms = axes.get_lines()
        assert len(reference.get_xdata()) == WINDOW
        assert len(monitored.get_xdata()) == len(average.get_xdata()) == N - WINDOW
        assert alarms.get_xdata().tolist() == [crawls["years"].iloc[-1]]
    assert faults(figure) == []


@pytest.mark.filterwarnings("error")
@without_layout()
def test_wide_control_limits_extend_beyond_the_axes(crawls):
    chart = chart_of(crawls)
    monitored = chart["phase"] == "monitored"
    core = monitored & (chart["chart"] == "core")
    chart.loc[core, ["average_low", "average_high"]] = [-1e6, 1e6]
    same = chart["chart"] == "survival"
    chart.loc[same, "value"] = 0.4
    chart.loc[same & monitored, ["average", "average_low", "average_high"]] = 0.4
    chart.loc[chart["chart"] == "coverage", ["value", "average", "average_low", "average_high"]] = np.nan
    core_axes, survival_axes, _ = control_charts(chart, drift_of(crawls), crawls, title=TITLE).axes
    values = chart.loc[chart["chart"] == "core", ["value", "average"]].to_numpy(dtype=float)
    low, high = core_axes.get_ylim()
    assert low < np.nanmin(values) < np.nanmax(values) < high < 1
    assert survival_axes.get_ylim()[0] < 0.4 < survival_axes.get_ylim()[1]


@without_layout()
def test_charts_without_rows_show_the_reason(crawls):
    reason = drift_of(crawls, attributed=None, drifted=None, reason="there are too few crawls")
    figure = control_charts(chart_of(crawls).iloc[:0], reason, crawls, title=TITLE)
    assert "not tested: there are too few crawls" in text_of(figure)


def test_caption_names_the_parameters_that_were_not_tested(crawls):
    tested = pd.concat(
        [
            drift_of(crawls, parameter="kappa", attributed=None, drifted=None, reason="it varies too much"),
            drift_of(crawls, parameter="coverage", attributed=False, drifted=False, reason=None),
        ]
    )
    text, _ = control_charts_caption(chart_of(crawls), tested, crawls)
    assert text.endswith("No drift was found; κ could not be tested.")


def test_unfinished_reference_period_shows_population(crawls):
    values = {"completeness": 0.8, "population": 25_000.0}
    population = crawls[["crawl"]].assign(**values)
    reason = drift_of(crawls, attributed=None, drifted=None, reason="a reference period of 24 crawls needs 25 crawls")
    tables_of_chart = (chart_of(crawls).iloc[:0], reason, crawls)
    figure = control_charts(*tables_of_chart, title=TITLE, population=population)
    assert [axes.get_lines()[0].get_ydata().tolist() for axes in figure.axes] == [[0.8] * N, [25.0] * N]
    assert "not tested: a reference period of 24 crawls needs 25 crawls" in " ".join(text_of(figure).split())
    assert faults(figure) == []
    text, _ = control_charts_caption(*tables_of_chart, population=population)
    assert "Hollow points: the reference period so far." in text


@without_layout()
def test_axis_of_a_share_ends_at_one_and_marks_estimates_beyond(crawls):
    chart = chart_of(crawls)
    survival = chart["chart"] == "survival"
    chart.loc[survival, "value"] = [0.7, 1.2, *[0.8] * (N - 2)]
    _, axes, _ = control_charts(chart, drift_of(crawls), crawls, title=TITLE).axes
    assert axes.get_ylim()[1] == 1
    (beyond,) = (line for line in axes.get_lines() if line.get_marker() == "^")
    assert beyond.get_xydata().tolist() == [[crawls["years"][1], 1]]
    assert (
        "Triangles: estimates of a crawl below 0 or above 1."
        in control_charts_caption(chart, drift_of(crawls), crawls)[0]
    )
    assert "Triangles" not in control_charts_caption(chart_of(crawls), drift_of(crawls), crawls)[0]
