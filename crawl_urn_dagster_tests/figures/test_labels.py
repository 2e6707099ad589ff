"""Numbers, intervals, units and dates as words."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.figures.labels import (
    dates,
    estimates,
    has_urn,
    scaled_unit,
    span,
    status_note,
)


def test_an_interval_is_written_when_both_limits_are_known():
    row = {
        "kappa": 0.4,
        "kappa_low": 0.38,
        "kappa_high": 0.42,
        "alpha": 0.75,
        "alpha_low": 0.7,
        "alpha_high": None,
    }
    assert estimates(row) == "κ = 0.40 (0.38–0.42)    α = 0.750"
    assert estimates({"kappa": 0.4, "kappa_low": 0.01, "kappa_high": 0.99}) == "κ not identified (0.01–0.99)"
    assert estimates({"kappa": np.nan, "alpha": None, "coverage": 0.5}) == "c = 0.500"


def test_an_urn_needs_survival_and_coverage_between_0_and_1():
    assert has_urn({"alpha": 1.0, "coverage": 0.0})
    assert not has_urn({"alpha": 0.9, "coverage": 1.2})
    assert not has_urn({"alpha": None, "coverage": 0.5})
    assert not has_urn({"alpha": np.nan, "coverage": 0.5})


def test_a_status_comes_with_its_reason_unless_it_is_ok():
    assert status_note({"status": "ok", "reason": None}) == ""
    assert status_note({"status": "at_bound", "reason": np.nan}) == "at_bound"
    note = status_note({"status": "at_bound", "reason": "alpha is at its bound 1. " * 50})
    assert note.startswith("at_bound: alpha is at its bound 1. alpha")
    assert len(note.splitlines()) == 3
    assert note.endswith(" …")


@pytest.mark.parametrize(
    ("largest", "unit"),
    [
        (999, (1, "elements")),
        (1_000, (1e3, "thousand elements")),
        (2_500_000, (1e6, "million elements")),
        (3e9, (1e9, "billion elements")),
    ],
)
def test_counts_are_scaled_to_their_size(largest, unit):
    assert scaled_unit(largest) == unit


def test_dates_have_days_when_the_calendar_is_short():
    started = pd.to_datetime(["2020-01-13", "2020-02-24", "2023-06-01"])
    crawls = pd.DataFrame({"started_at": started, "years": [0.0, 0.115, 3.381]})
    assert dates(crawls) == ["2020-01", "2020-02", "2023-06"]
    assert dates(crawls.iloc[:2]) == ["2020-01-13", "2020-02-24"]
    assert span(crawls) == "3 crawls, 2020-01 to 2023-06"
    assert span(crawls.iloc[:1]) == "1 crawl, 2020-01-13"
