"""Assessments of populations that depart from the urn model, by a simulator that shares no code with the package."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from crawl_urn_dagster.estimates.assessment.assess import assess_histories
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.benchmarks.scenarios import (
    COMPARED,
    compare,
    outcome,
    simulate_collection,
    simulator,
    truths,
)
from crawl_urn_dagster_tests.estimates.observed import collection_data

SIZE = {"N": 5_000, "T": 16}


@pytest.fixture(scope="module")
def assessed(shared_scenarios):
    """Return a function that assesses a simulated population."""
    spec = importlib.util.spec_from_file_location("scenario_simulator", shared_scenarios / "simulator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def assess(seed=1, **settings):
        seen = module.simulate(np.random.default_rng(seed), **SIZE | settings)
        rows, elements = np.unique(seen, axis=0, return_counts=True)
        counts = CaptureHistoryCounts(rows, elements)
        return assess_histories(collection_data(counts), counts, seed=seed)

    return assess


# Intervals have a level of 95 %: seed 1 was drawn before the result was known.
@pytest.mark.parametrize(
    ("settings", "verdicts", "kappa"),
    [
        ({"logit_sd": 0.3}, {"sound", "not_tested_enough"}, 0.4),
        ({"kappa": 0.3, "shells": ((0.5, 0.97, 0.8), (0.5, 0.85, 0.35))}, {"uneven_shell"}, 0.3),
        ({"core_miss": 0.1}, {"core_missed"}, 0.4),
        ({"growth": 0.02, "logit_sd": 0.3}, {"population_changes"}, 0.4),
        ({"first_coverage": 0.4}, {"sound", "not_tested_enough"}, 0.4),
    ],
    ids=["noise", "two shells", "missed core", "growth", "newborns covered less"],
)
def test_quoted_kappa_contains_the_truth(assessed, settings, verdicts, kappa):
    assessment = assessed(**settings)
    assert assessment.verdict.name in verdicts
    low, high = assessment.intervals["kappa"]
    assert low < kappa < high
    assert high - low < 0.2
    quoted = assessment.quantities["kappa"]
    assert quoted.assumption == "newborn_coverage"
    assert low <= quoted.inner.low < quoted.value < quoted.inner.high <= high
    assert_bounds_really_new(assessment, settings)


def assert_bounds_really_new(assessment, settings):
    """Nothing was captured before the first crawl, so the truth is below the share of the long run."""
    found = assessment.quantities["really_new"]
    true = simulate_collection(simulator(returns_population=True), SIZE | settings, seed=1).really_new
    assert found.interval.low < true < found.inner.low < found.value < found.inner.high < found.interval.high


def test_truncated_crawl_is_named_and_set_aside(assessed):
    whole, cut = assessed(kappa=0.3), assessed(kappa=0.3, truncated=(10, 0.04))
    (named,) = cut.set_aside
    assert whole.set_aside == ()
    assert named in cut.verdict.meaning
    low, high = cut.intervals["kappa"]
    assert low < 0.3 < high
    assert len(cut.population) == len(whole.population) - 1
    # The curves are fitted to all crawls.
    assert {"core_shell", "homogeneous"} <= cut.refuted
    assert "core_shell" not in whole.refuted


def test_truncated_last_crawl_without_a_core_changes_no_number(shared_scenarios):
    settings = {"T": 12, "N": 500, "kappa": 0.0, "shells": ((1.0, 0.97, 0.98),), "out": 0.03, "back": 0.2}
    seen = simulator().simulate(np.random.default_rng(2), **settings)
    seen[:, -1] &= np.random.default_rng(3).random(len(seen)) < 0.05
    counts = CaptureHistoryCounts(*np.unique(seen, axis=0, return_counts=True))
    data = collection_data(counts)
    cut = assess_histories(data, counts, seed=1)
    assert cut.verdict.name == "temporary_absence"
    assert cut.set_aside == (data.labels[-1],)
    assert data.labels[-1] in cut.verdict.meaning
    before = counts.select_crawls(range(11))
    without = assess_histories(replace(data, crawls=data.crawls.iloc[:-1]), before, seed=1)
    assert {name: one.value for name, one in cut.quantities.items()} == pytest.approx(
        {name: one.value for name, one in without.quantities.items()}
    )


def test_truncated_last_crawl_is_set_aside(assessed):
    cut = assessed(kappa=0.3, truncated=(SIZE["T"] - 1, 0.05))
    whole = assessed(kappa=0.3)
    assert len(cut.set_aside) == 1
    assert cut.set_aside[0] == whole.population[-1]["crawl"]


def test_absence_in_runs_is_not_a_core(assessed):
    settings = {"T": 24, "kappa": 0.0, "shells": ((1.0, 0.985, 0.99),), "out": 0.016, "back": 0.2}
    assessment = assessed(**settings)
    assert assessment.verdict.name == "temporary_absence"
    assert assessment.estimate("kappa") is None
    assert {"core_shell", "homogeneous"} <= assessment.refuted
    # Nearly all of the 5,000 eligible elements were captured at least once.
    low, high = assessment.intervals["population"]
    assert 4_700 < low < high < 5_100
    low, high = assessment.intervals["gone"]
    assert low < 1 - 0.985 < high < 0.03
    assert_bounds_really_new(assessment, settings)


def test_refuted_model_gives_no_share_of_really_new_elements(assessed):
    assessment = assessed(avoid=0.7, N=2_000, T=8)
    assert assessment.verdict.name == "order_matters"
    assert assessment.estimate("really_new") is None
    assert "really_new" not in assessment.intervals


def test_growth_of_two_shells_gives_no_limit_of_a_core(assessed):
    """The limit of a constant population does not hold for a core that crawls miss."""
    assessment = assessed(core_miss=0.05, growth=0.02, N=20_000, T=20)
    assert assessment.verdict.name == "population_changes"
    limit = assessment.estimate("core_limit")
    assert limit is None or limit > 0.4


def test_collection_without_recaptures_states_no_completeness():
    seen = np.eye(10, dtype=bool)
    counts = CaptureHistoryCounts(seen, np.full(10, 5))
    assessment = assess_histories(collection_data(counts), counts, seed=1)
    withheld = assessment.quantities["completeness"]
    assert withheld.value is None
    assert (withheld.status, withheld.reason_code) == ("not_identified", "uninformative_interval")


def test_small_collection_without_a_core_is_not_tested_enough(assessed):
    assessment = assessed(kappa=0.0, N=100, T=6)
    assert assessment.verdict.name == "not_tested_enough"
    assert assessment.estimate("kappa") is None


def test_completeness_is_right_if_earlier_crawls_count_or_not(shared_scenarios):
    """Two shells of which one is rarely captured: in the first crawls, fewer elements are known than later."""
    assert shared_scenarios.is_dir()
    module = simulator(returns_population=True)
    settings = {**module.SCENARIOS["two_shells"][0], "N": 8_000}
    found, outcomes = compare(module, settings, seed=1)
    assert outcomes == dict.fromkeys(COMPARED, "right")
    quoted = found.quantities["completeness"]
    assert quoted.assumption == "earlier_crawls"
    inner_only = replace(found, quantities={"completeness": quoted._replace(interval=quoted.inner)})
    collection = simulate_collection(module, settings, seed=1)
    true = truths(collection, np.arange(collection.seen.shape[1]))["completeness"]
    assert outcome(inner_only, "completeness", true) == "wrong"
    assert outcome(found, "completeness", true) == "right"
