"""The figure of the operator's counters: it shows the estimates and counters of the table."""

import numpy as np

from crawl_urn_dagster.figures.ground_truth import ground_truth_by_window, ground_truth_by_window_caption
from crawl_urn_dagster_tests.figures.frames import TITLE, estimated, text_of, without_layout

TABLES = ("ground_truth_comparison", "parameters", "crawls")


def test_estimates_and_counters_are_those_of_the_table():
    frames = [estimated()[name] for name in TABLES]
    with without_layout():
        left, right = ground_truth_by_window(*frames, title=TITLE).axes
    counters, ok, hollow = left.get_lines()
    assert counters.get_ydata().tolist() == [1.0, 1.02, 1.25]  # thousands
    assert (len(ok.get_ydata()), len(hollow.get_ydata())) == (3, 0)
    assert np.unique(right.get_lines()[1].get_ydata()).tolist() == [0.8]


def test_nothing_to_compare_is_a_message():
    comparison, *others = (estimated()[name] for name in TABLES)
    assert "No fit implies" in text_of(ground_truth_by_window(comparison.iloc[:0], *others, title=TITLE))
    assert "No fit implies" in ground_truth_by_window_caption(comparison.iloc[:0], *others)[0]
