"""Plans of other coverages and gaps, and of the same number of fetches a year."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.planning import planning_tables, unplanned_reason
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import COVERAGE
from crawl_urn_dagster_tests.estimates.frames import observables_of, quantities_of

PLAN = {"clock": "crawl", "error": CountingError()}


@pytest.fixture(scope="module")
def observables():
    return observables_of(24)


@pytest.fixture(scope="module")
def tables(observables):
    return planning_tables(*observables, reported=True, **PLAN)


def test_plans_include_the_present_settings(tables):
    table = tables["planning"]
    assert tuple(table.columns) == TABLES["planning"].column_names
    (now,) = table[table["current"]].to_dict("records")
    assert now["coverage"] == pytest.approx(COVERAGE, abs=0.04)
    assert now["gap"] == 1
    for name in ("crawl_size", "seen_at_last", "nu_inf", "hidden_time", "cost_per_new"):
        assert now[f"{name}_low"] < now[name] < now[f"{name}_high"]
    at_gap = table[table["gap"] == 1].sort_values("coverage")
    assert at_gap["seen_at_last"].is_monotonic_increasing
    assert set(table["gap"]) == {0.5, 1.0, 2.0}


def test_unreported_parameters_give_no_plans(observables):
    tables = planning_tables(*observables, reported=False, **PLAN)
    assert all(table.empty for table in tables.values())


def test_plans_of_a_changing_core_and_shell_use_its_intervals(observables):
    quantities = quantities_of("core_shell_growing", kappa=(0.4, 0.35, 0.45))
    shell = {"class": "shell", "survival": 0.75, "survival_low": 0.73, "survival_high": 0.77, "mean_absence": 1 / 0.6}
    table = planning_tables(
        *observables, reported=False, quantities=quantities, classes=pd.DataFrame([{"class": "core"}, shell]), **PLAN
    )["planning"]
    (now,) = table[table["current"]].to_dict("records")
    assert now["status"] == "qualified"
    assert now["crawl_size"] == pytest.approx(0.4 + 0.6 * 0.6)
    # Completeness at a given coverage depends on the core fraction alone.
    assert now["crawl_size_low"] == pytest.approx(0.35 + 0.65 * 0.6, abs=0.01)
    assert now["crawl_size_high"] == pytest.approx(0.45 + 0.55 * 0.6, abs=0.01)
    assert now["hidden_time_low"] < now["hidden_time"] < now["hidden_time_high"]


def test_models_without_one_core_and_one_shell_give_no_plans(observables):
    quantities = quantities_of("markov_2", completeness=(0.9, 0.88, 0.92))
    assert unplanned_reason(quantities) == "Plans need one core and one shell; the selected model is markov_2."
    assert planning_tables(*observables, reported=True, quantities=quantities, **PLAN)["planning"].empty
    assert unplanned_reason(quantities.iloc[:0]) == "No model of the collection was selected."
    assert unplanned_reason(quantities.assign(model="core_shell")) is None


def test_plans_of_equal_budget_fetch_equally_many_a_year(tables):
    table, present = tables["equal_budget"], tables["planning"].query("current").iloc[0]
    assert tuple(table.columns) == TABLES["equal_budget"].column_names
    (now,) = table[table["current"]].to_dict("records")
    assert now["coverage"] == pytest.approx(present["coverage"])
    assert (now["new_change"], now["new_change_low"], now["new_change_high"]) == (0, 0, 0)
    possible = table.dropna(subset="coverage")
    np.testing.assert_allclose(possible["crawl_size"] / possible["gap"], present["crawl_size"], rtol=1e-9)
    assert possible["cadence"].tolist() == [0.8, 1, 1.25]
    others = possible[~possible["current"]]
    assert (others["new_per_time_low"] < others["new_per_time"]).all()
    assert (others["new_per_time"] < others["new_per_time_high"]).all()
    assert table[table["coverage"].isna()].filter(like="new_").isna().all(axis=None)


def test_new_elements_match_the_stepped_recurrence(observables):
    quantities = quantities_of("core_shell_growing", kappa=(0.4, 0.35, 0.45))
    shell = {"class": "shell", "survival": 0.75, "survival_low": 0.73, "survival_high": 0.77, "mean_absence": 1 / 0.6}
    table = planning_tables(
        *observables, reported=False, quantities=quantities, classes=pd.DataFrame([{"class": "core"}, shell]), **PLAN
    )["equal_budget"].dropna(subset="coverage")
    for row in table.to_dict("records"):
        survival, uncaptured = 0.75 ** row["gap"], 0.6
        for _ in range(500):
            new = uncaptured * row["coverage"]
            uncaptured = survival * (uncaptured - new) + (1 - survival) * 0.6
        assert row["new_per_time"] == pytest.approx(new / row["gap"], rel=1e-9)
