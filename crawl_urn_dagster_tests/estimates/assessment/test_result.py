"""Tables of an assessment read back equal, and intervals follow the confidence level."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import norm

from crawl_urn_dagster.estimates.assessment.result import (
    QUANTITY_LABELS,
    Assessment,
    ElementClass,
    Quantity,
    read_quantities,
    widened,
)
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.urn import Interval, Status

QUANTITIES = {
    "completeness": Quantity(0.83, Interval(0.82, 0.84), status=Status.QUALIFIED),
    "population": Quantity(1402.2, Interval(1390.4, 1415.1), status=Status.QUALIFIED),
    "growth": Quantity(-0.01, Interval(-0.02, 0.0), status=Status.QUALIFIED),
    "kappa": Quantity(0.444, Interval(0.394, 0.48), Interval(0.439, 0.451), "newborn_coverage", Status.QUALIFIED),
    "core_share": Quantity(None, Interval(0.5, 0.7), status=Status.NOT_IDENTIFIED, reason_code="inconclusive"),
    "core_limit": Quantity(0.02),
    "survival": Quantity(None, status=Status.NOT_IDENTIFIED, reason_code="not_identified"),
}
CORE = ElementClass("core", {"share_of_crawl": 0.5, "mean_life": np.inf, "mean_run": np.nan}, {})
SHELL = ElementClass("shell", {"share_of_crawl": 0.5}, {"share_of_crawl": Interval(0.4, 0.6)})
ASSESSMENT = Assessment(
    state_verdict(VerdictName.UNEVEN_SHELL),
    "core_two_shells",
    QUANTITIES,
    (CORE, SHELL),
    population=[{"crawl": "a", "elements": 3, "population": 4.0}],
    candidates=[{"model": "core_shell", "stage": 1, "n_parameters": 3, "adequate": False, "selected": False}],
    tests=[{"test": "cells", "subject": "core_shell", "verdict": "fails"}],
)


def test_tables_have_the_columns_of_the_schema():
    tables = ASSESSMENT.tables()
    assert set(tables) == {"quantities", "classes", "population", "candidate_models", "adequacy_tests"}
    for name, table in tables.items():
        assert list(table.columns) == list(TABLES[name].column_names)
        required = [column.name for column in TABLES[name].columns if not column.nullable]
        assert table[required].notna().all(axis=None), name


def test_quantities_read_back_equal():
    assert read_quantities(ASSESSMENT.tables()["quantities"]) == QUANTITIES


def test_classes_keep_infinity_and_leave_unknown_out():
    classes = ASSESSMENT.tables()["classes"].set_index("class")
    assert classes.loc["core", "mean_life"] == np.inf
    assert classes["mean_run"].isna().all()
    assert classes.loc["shell", ["share_of_crawl_low", "share_of_crawl_high"]].tolist() == [0.4, 0.6]


def test_numbers_are_values_or_intervals():
    assert ASSESSMENT.has_numbers
    verdict = state_verdict(VerdictName.MISFIT)
    assert not Assessment(verdict).has_numbers
    assert not Assessment(verdict, quantities={"survival": QUANTITIES["survival"]}).has_numbers
    assert Assessment(verdict, quantities={"core_share": QUANTITIES["core_share"]}).has_numbers


def test_same_level_gives_the_same_intervals():
    for name, one in ASSESSMENT.at_level(0.95).quantities.items():
        for interval, expected in ((one.interval, QUANTITIES[name].interval), (one.inner, QUANTITIES[name].inner)):
            assert interval is expected is None or interval == pytest.approx(expected, rel=1e-9)


def test_level_scales_the_interval_on_the_scale_of_the_quantity():
    factor = norm.ppf(0.75) / norm.ppf(0.975)
    narrow = ASSESSMENT.at_level(0.5).quantities
    scales = {"completeness": logit, "population": np.log, "growth": np.positive}
    for name, scale in scales.items():
        value, (low, high) = QUANTITIES[name].value, QUANTITIES[name].interval
        for end, narrow_end in zip((low, high), narrow[name].interval, strict=True):
            assert scale(narrow_end) - scale(value) == pytest.approx(factor * (scale(end) - scale(value)))


def test_interval_over_an_assumption_contains_the_inner_one():
    before, after = QUANTITIES["kappa"], ASSESSMENT.at_level(0.5).quantities["kappa"]
    assert before.inner.low < after.inner.low < after.inner.high < before.inner.high
    for end in ("low", "high"):
        beyond = getattr(before.interval, end) - getattr(before.inner, end)
        assert getattr(after.interval, end) - getattr(after.inner, end) == pytest.approx(beyond)


@pytest.mark.parametrize("name", sorted(QUANTITY_LABELS))
def test_widened_interval_contains_the_interval(name):
    interval = widened(name, 0.5, Interval(0.4, 0.7), 2)
    assert interval.low < 0.4
    assert interval.high > 0.7
    assert widened(name, 0.5, Interval(0.4, 0.7), 1) == pytest.approx((0.4, 0.7))


def test_ends_at_0_and_1_stay():
    assert widened("completeness", 0.5, Interval(0.0, 1.0), 2) == (0, 1)
