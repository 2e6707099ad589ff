"""The report's section on the operator's counters."""

import pandas as pd

from crawl_urn_dagster.observables.schema import COUNTER_CHANGES
from crawl_urn_dagster.report.ground_truth import ground_truth_section
from crawl_urn_dagster_tests.figures.frames import counted_by_operator
from crawl_urn_dagster_tests.report.reading import render

CHANGES = {"value": 80.0, "previous": 100.0, "change": -0.22, "usual": 0.0, "scatter": 0.02, "threshold": 2.2}


def section(content_with, *changes):
    content = content_with(counter_changes=pd.DataFrame(columns=list(COUNTER_CHANGES.column_names)))
    rows = [{**CHANGES, "statistic": -11.0, "found": None, **one} for one in changes]
    frames = {
        "ground_truth_comparison": counted_by_operator(content.crawls),
        "counter_changes": pd.DataFrame(rows, columns=list(COUNTER_CHANGES.column_names)),
    }
    return render(ground_truth_section(content_with(**frames)))


def test_a_collection_without_counters_has_no_section(content_with):
    assert ground_truth_section(content_with()) is None


def test_the_answer_counts_the_comparisons_that_agree(content_with):
    text = section(content_with)
    assert "inside the 95 % confidence interval in 2 of 3 comparisons" in text
    assert "0.98 in the median (0.80 to 1.00)" in text
    assert "No counter moved beyond its own scatter" in text


def test_counters_that_moved_with_a_drift_are_named(content_with):
    text = section(
        content_with,
        {"crawl": "a", "quantity": "orphan", "found": "drift of alpha"},
        {"crawl": "b", "quantity": "gone", "divided_by": "budget"},
    )
    assert "At a (drift of alpha) moved at the same time: orphan (-20 %)." in text
    assert "gone / budget" in text
    assert "because" not in text
    assert "moved at the same time need not be the cause" in text
