"""Drift of population and completeness about their trend, and changes of scope that the assessment found."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.assessment.assess import _with_mass_change
from crawl_urn_dagster.estimates.assessment.result import Assessment
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.estimates.drift import drift_tables
from crawl_urn_dagster.estimates.population_drift import population_drift, scope_break_row
from crawl_urn_dagster.observables.schema import SYMBOLS, TABLES
from crawl_urn_dagster.urn import CaptureHistoryCounts, CountingError, simulate
from crawl_urn_dagster_tests.collections_for_tests import labels
from crawl_urn_dagster_tests.estimates.observed import observables

N, REFERENCE, STEP = 36, 24, 30


def population(step=0.0):
    """Return table `population` of a falling population that loses a share at once."""
    rng = np.random.default_rng(2)
    eligible = 1_000 * np.exp(-0.02 * np.arange(N) + 0.004 * rng.standard_normal(N))
    eligible[STEP:] *= 1 - step
    completeness = 0.9 + 0.01 * rng.standard_normal(N)
    table = pd.DataFrame({"crawl": labels(N), "population": eligible, "completeness": completeness})
    for name in ("population", "completeness"):
        table[f"{name}_low"], table[f"{name}_high"] = 0.98 * table[name], 1.02 * table[name]
    # The first crawl is hardly known, as under a model with memory.
    table.loc[0, ["population", "population_low", "population_high"]] = 1_500, 900, 2_500
    return table


def rows_of(found):
    return pd.DataFrame(found.rows).set_index("parameter")


def test_fall_along_the_trend_is_not_drift():
    found = population_drift(population(), window_crawls=REFERENCE, scope_break=None)
    drift = rows_of(found)
    assert drift.index.tolist() == ["completeness", "population"]
    assert not drift["drifted"].any()
    assert drift["since_crawl"].isna().all()
    row = drift.loc["population"]
    # The trend of the reference period, without its first crawl, 35 crawls after the first.
    assert row["reference_value"] == pytest.approx(1_000 * np.exp(-0.02 * 35), rel=0.02)
    assert row["reference_value_low"] < row["value"] < row["reference_value_high"]
    assert row["reference_first_crawl"] == labels(N)[1]
    assert tuple(found.chart.columns) == TABLES["control_chart"].column_names
    assert found.chart.groupby("chart")["crawl"].count().to_dict() == {"completeness": N, "population": N - 1}


@pytest.mark.parametrize("scope_break", [None, labels(N)[STEP], labels(N)[3]])
def test_change_of_scope_is_dated_and_not_attributed(scope_break):
    found = population_drift(population(0.15), window_crawls=REFERENCE, scope_break=scope_break)
    row = rows_of(found).loc["population"]
    assert row["drifted"]
    assert row["since_first_crawl"] <= row["since_crawl"] <= row["since_last_crawl"]
    assert row["since_crawl"] == labels(N)[STEP]
    assert row["difference_high"] < 0
    is_scope = scope_break == labels(N)[STEP]
    assert row["attributed"] == (not is_scope)
    assert (row["note"] is not None) == is_scope
    assert found.chart.loc[found.chart["alarm"] == True, "chart"].unique().tolist() == ["population"]  # noqa: E712


def test_short_population_has_a_reason():
    found = population_drift(population().iloc[:REFERENCE], window_crawls=REFERENCE, scope_break=None)
    assert rows_of(found)["reason"].str.contains("needs more than 24 crawls").all()
    assert found.chart.empty


def test_change_of_scope_has_a_row_of_its_own():
    tests = pd.DataFrame([{"test": "scope_break", "subject": "2021", "effect": 0.15, "verdict": "fails"}])
    row = scope_break_row(tests, ["2020", "2021", "2022"])
    assert {row["since_crawl"], row["since_first_crawl"], row["since_last_crawl"]} == {"2021"}
    assert row["reference_last_crawl"] == "2020"
    assert row["attributed"]
    assert scope_break_row(tests, ["2022", "2023"]) is None
    assert scope_break_row(tests.iloc[:0], ["2020", "2021"]) is None


def test_refuted_parameters_are_not_tested_beside_the_population():
    counts = simulate(times=np.arange(N), core=600, shell=900, alpha=0.8, coverage=0.6, seed=1).counts()
    tests = pd.DataFrame([{"test": "scope_break", "subject": labels(N)[STEP], "effect": 0.15, "verdict": "fails"}])
    made = drift_tables(
        *observables(counts),
        clock="crawl",
        error=CountingError(),
        window_crawls=REFERENCE,
        reference_from=None,
        unreported_reason="refuted: the tests refute the urn",
        population=population(0.15),
        tests=tests,
    )
    drift = made["drift"].set_index("parameter")
    assert drift.loc[list(SYMBOLS), "reason"].str.startswith("refuted").all()
    assert drift.loc[list(SYMBOLS), "drifted"].isna().all()
    assert drift.loc["scope_break", "since_crawl"] == labels(N)[STEP]
    assert drift.loc["population", "drifted"]
    assert not drift.loc["population", "attributed"]
    assert set(made["control_chart"]["chart"]) == {"completeness", "population"}


def test_change_of_scope_is_not_a_change_of_kappa():
    first = simulate(times=np.arange(N), core=600, shell=900, alpha=0.8, coverage=0.6, seed=1).counts()
    # A quarter of the core of the first urn leaves permanently before crawl 30.
    seen = first.seen.copy()
    in_all = seen.all(axis=1)
    elements = np.where(in_all, np.round(0.75 * first.elements), first.elements).astype(int)
    gone = seen[in_all] & (np.arange(N) < STEP)
    counts = CaptureHistoryCounts(
        np.concatenate([seen, gone]), np.concatenate([elements, first.elements[in_all] - elements[in_all]])
    )
    tests = pd.DataFrame([{"test": "scope_break", "subject": labels(N)[STEP], "effect": 0.1, "verdict": "fails"}])
    settings = {"clock": "crawl", "error": CountingError(), "window_crawls": REFERENCE, "reference_from": None}
    shown, hidden = (
        drift_tables(*observables(counts), **settings, unreported_reason=None, tests=known)["drift"]
        .set_index("parameter")
        .loc["kappa"]
        for known in (tests, None)
    )
    assert hidden["attributed"]
    assert hidden["since_first_crawl"] <= labels(N)[STEP] <= hidden["since_last_crawl"]
    assert shown["drifted"]
    assert not shown["attributed"]
    assert "the scope changed" in shown["note"]


def test_assessment_names_a_gap_that_many_do_not_survive():
    seen = np.ones((4, 20), dtype=bool)
    seen[1, 12:] = seen[2, 4] = seen[3, 15] = False
    histories = CaptureHistoryCounts(seen, np.array([700, 200, 50, 50]))
    found = SimpleNamespace(tested=SimpleNamespace(histories=histories), scope_break=None, crawls=tuple(range(20)))
    before = Assessment(state_verdict(VerdictName.TEMPORARY_ABSENCE), "markov_2")
    after = _with_mass_change(before, SimpleNamespace(labels=labels(20)), found)
    (row,) = after.tests
    assert (row["test"], row["subject"], row["verdict"]) == ("scope_break", labels(20)[12], "fails")
    assert row["effect"] == pytest.approx(0.2)
    assert after.verdict.name == before.verdict.name
    assert f"At {labels(20)[12]}, 20 % more of the elements left permanently than usual" in after.verdict.meaning
