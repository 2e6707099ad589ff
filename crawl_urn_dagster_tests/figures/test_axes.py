"""Test date axes, crawl axes and messages."""

import pandas as pd
import pytest

from crawl_urn_dagster.figures.axes import crawl_ticks, date_axis, message_figure
from crawl_urn_dagster.figures.style import new_figure, page_columns, style
from crawl_urn_dagster_tests.figures.frames import TITLE, faults, text_of


def axes_of(columns=2):
    with page_columns(columns), style():
        return new_figure(height=2, title=TITLE, heading="test").subplots()


@pytest.mark.parametrize(
    ("first", "last", "columns", "labels"),
    [
        ("2020-03-10", "2025-11-30", 2, ["2021", "2022", "2023", "2024", "2025"]),
        ("2020-03-10", "2025-11-30", 1, ["2022", "2024"]),
        ("2020-01-06", "2020-11-09", 2, ["2020-03", "2020-05", "2020-07", "2020-09", "2020-11"]),
        ("2020-01-06", "2020-01-20", 2, ["2020-01-06", "2020-01-20"]),
    ],
)
def test_date_axis_has_even_dates(first, last, columns, labels):
    axes = axes_of(columns)
    with page_columns(columns):
        date_axis(axes, pd.DataFrame({"started_at": pd.to_datetime([first, last])}))
    assert [label.get_text() for label in axes.get_xticklabels()] == labels
    started = pd.to_datetime(labels)
    assert axes.get_xticks() == pytest.approx((started - pd.Timestamp(first)) / pd.Timedelta(days=365.25))


def test_crawl_ticks_are_whole_numbers():
    axes = axes_of()
    axes.set_xlim(0, 3)
    crawl_ticks(axes)
    assert [tick for tick in axes.get_xticks() if tick != round(tick)] == []


def test_message_is_wrapped_and_cut():
    with style():
        figure = message_figure(TITLE, "test", "word " * 100)
    assert "word…\n" in text_of(figure)
    assert faults(figure) == []
