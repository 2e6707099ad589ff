"""Numbers, intervals, units and dates as text_of."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.figures.labels import (
    crawl_dates,
    crawl_range,
    element_unit,
    format_estimates,
    has_valid_parameters,
    status_note,
)


def test_interval_is_written_if_both_ends_are_known():
    row = {
        "kappa": 0.4,
        "kappa_low": 0.38,
        "kappa_high": 0.42,
        "alpha": 0.75,
        "alpha_low": 0.7,
        "alpha_high": None,
    }
    assert format_estimates(row) == "κ = 0.40 (0.38–0.42)    α = 0.750"
    assert format_estimates({"kappa": 0.4, "kappa_low": 0.01, "kappa_high": 0.99}) == "κ not identified (0.01–0.99)"
    assert format_estimates({"kappa": np.nan, "alpha": None, "coverage": 0.5}) == "c = 0.500"


def test_valid_parameters_are_between_0_and_1():
    assert has_valid_parameters({"alpha": 1.0, "coverage": 0.0})
    assert not has_valid_parameters({"alpha": 0.9, "coverage": 1.2})
    assert not has_valid_parameters({"alpha": None, "coverage": 0.5})
    assert not has_valid_parameters({"alpha": np.nan, "coverage": 0.5})


def test_status_note_has_the_reason():
    assert status_note({"status": "ok", "reason": None}) == ""
    assert status_note({"status": "at_bound", "reason": np.nan}) == "at_bound"
    assert status_note({"status": "refuted", "reason": np.nan}) == "refuted"
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
def test_element_unit_fits_the_largest_count(largest, unit):
    assert element_unit(largest) == unit


def test_dates_have_days_in_a_short_collection():
    started = pd.to_datetime(["2020-01-13", "2020-02-24", "2023-06-01"])
    crawls = pd.DataFrame({"started_at": started, "years": [0.0, 0.115, 3.381]})
    assert crawl_dates(crawls) == ["2020-01", "2020-02", "2023-06"]
    assert crawl_dates(crawls.iloc[:2]) == ["2020-01-13", "2020-02-24"]
    assert crawl_range(crawls) == "3 crawls, 2020-01 to 2023-06"
    assert crawl_range(crawls.iloc[:1]) == "1 crawl, 2020-01-13"
