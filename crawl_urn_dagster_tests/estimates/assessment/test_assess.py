"""Which fits an assessment refutes, and lists that determine no number."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.assessment.assess import assess_histories
from crawl_urn_dagster.estimates.assessment.decision import FEWEST_CRAWLS
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.urn import UNREPORTED_STATUSES, CaptureHistoryCounts
from crawl_urn_dagster.urn.goodness_of_fit.violation import FEWEST_CRAWLS_FOR_RULE
from crawl_urn_dagster_tests.collections_for_tests import avoiding_histories
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn

N_REPLICATES = 20


def test_dependence_refutes_urns_of_independent_draws():
    data = collection_data(avoiding_histories(8, urn=200).counts())
    estimation = estimate(data, clock="crawl", n_replicates=N_REPLICATES)
    assessment, fits = estimation.assessment, estimation.tables["parameters"]
    fits = fits[~fits["status"].isin(UNREPORTED_STATUSES)]
    assert assessment.verdict.name in {"order_matters", "revisit_avoidance"}
    assert assessment.estimate("kappa") is None
    has_delay = fits["model"] == "revisit_delay"
    assert {"core_shell", "core_two_shells", "beta_shell"} <= set(fits.loc[~has_delay, "model"])
    assert fits.loc[~has_delay, "reason_code"].str.startswith("refuted").all()
    assert not fits.loc[has_delay, "reason_code"].str.startswith("refuted").any()


def test_three_crawls_are_too_short_whatever_they_hold():
    data = collection_data(urn(3, core=1800, shell=4200, alpha=0.85, coverage=0.6, seed=1))
    verdict = estimate(data, clock="crawl", n_replicates=N_REPLICATES).assessment.verdict
    assert verdict.name == "too_short"
    assert verdict.meaning.endswith(f"A test needs at least {FEWEST_CRAWLS} crawls; 3 can be used.")


@pytest.mark.parametrize("n_crawls", [3, FEWEST_CRAWLS_FOR_RULE - 1, FEWEST_CRAWLS_FOR_RULE])
def test_curves_state_how_many_crawls_a_test_needs(n_crawls):
    counts = urn(n_crawls, core=1800, shell=4200, alpha=0.85, coverage=0.6, seed=1)
    data = collection_data(counts, histories=False)
    verdict = estimate(data, clock="crawl", n_replicates=N_REPLICATES).assessment.verdict
    assert (verdict.name == "too_short") == (n_crawls < FEWEST_CRAWLS_FOR_RULE)
    assert (f"at least {FEWEST_CRAWLS_FOR_RULE} crawls" in verdict.meaning) == (n_crawls < FEWEST_CRAWLS_FOR_RULE)


def test_short_collection_refutes_nothing():
    data = collection_data(urn(4, core=400, shell=600, alpha=0.75, coverage=0.6, seed=3))
    estimation = estimate(data, clock="crawl", n_replicates=N_REPLICATES)
    assert estimation.assessment.verdict.name == "too_short"
    assert not estimation.assessment.has_numbers
    assert estimation.assessment.refuted == frozenset()
    assert "refuted" not in set(estimation.tables["parameters"]["status"])


@pytest.mark.parametrize(
    ("seen", "finding"),
    [
        (np.repeat(np.eye(8, dtype=bool), 50, axis=0), "No element was captured by two crawls."),
        (np.ones((1, 8), dtype=bool), "Only 1 element was captured."),
        (np.tri(9, 8, dtype=bool)[1:], "Only 8 elements were captured."),
    ],
)
def test_list_that_determines_nothing_has_no_numbers(seen, finding):
    data = collection_data(CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64)))
    assessment = estimate(data, clock="crawl", n_replicates=N_REPLICATES).assessment
    assert assessment.verdict.name == "not_identified"
    assert assessment.verdict.meaning.endswith(finding)
    assert not assessment.has_numbers


def test_core_of_fewer_elements_than_parameters_has_an_interval():
    seen = np.random.default_rng(3).random((3, 102)) < np.array([[0.1], [0.5], [0.9]])
    histories = CaptureHistoryCounts(seen, np.ones(3, dtype=np.int64))
    quantities = assess_histories(collection_data(histories), histories, seed=1).quantities
    assert all(one.interval is None or not np.isnan(one.interval).any() for one in quantities.values())
