"""Test predictions of single elements on held-out crawls of simulated and real lists."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.assessment.result import Assessment
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.estimates.elements.assessment import ElementReason, assess_predictions
from crawl_urn_dagster.estimates.elements.calibration import BASELINES, MODEL, HoldOut, Returns, hold_out
from crawl_urn_dagster.estimates.elements.element_model import ElementModel, choose_model
from crawl_urn_dagster.urn import CaptureHistoryCounts, Status
from crawl_urn_dagster.urn.elements.scores import Reliability, Score
from crawl_urn_dagster_tests.urn.elements.simulated import simulate_elements


def real_list(shared_data, name):
    """Return the histories of a list, and its crawls in years."""
    table = pd.read_csv(shared_data / f"{name}.csv.gz")
    element, elements = pd.factorize(table["element"])
    crawl, crawls = pd.factorize(table["snapshot"], sort=True)
    seen = np.zeros((len(elements), len(crawls)), dtype=bool)
    seen[element, crawl] = True
    seen, counts = np.unique(seen, axis=0, return_counts=True)
    dates = pd.to_datetime(crawls)
    return CaptureHistoryCounts(seen, counts), np.asarray((dates - dates[0]).days / 365.25)


def model_of(name, times):
    return ElementModel(name, tuple(range(len(times))), np.asarray(times, dtype=float), 1)


@pytest.mark.parametrize(
    ("name", "largest_ratio"), [("presence/us_gov_hosts", 0.75), ("truth/lemmy_instances_weekly", 0.8)]
)
def test_held_out_crawls_of_real_lists_are_predicted(shared_data, name, largest_ratio):
    """The model predicts better than every simple rule and than the urn with independent draws."""
    histories, times = real_list(shared_data, name)
    scores = hold_out(model_of("markov_3", times), histories).scores
    model = scores[MODEL, 1]
    assert model.reliability.calibration_error < 0.02
    assert model.log_loss < min(scores[name, 1].log_loss for name in BASELINES)
    assert model.brier < scores["last_time", 1].brier
    last = range(len(times) - 16, len(times))
    urn = hold_out(model_of("core_shell", times[last]), histories.select_crawls(last)).scores[MODEL, 1]
    assert model.log_loss < largest_ratio * urn.log_loss


def test_held_out_crawls_of_a_simulated_urn_are_predicted():
    rng = np.random.default_rng(3)
    simulated = simulate_elements(rng, 14, 1500, noise=0.1)
    seen, elements = np.unique(simulated.seen, axis=0, return_counts=True)
    model = model_of("core_shell", np.arange(14) / 12)
    histories = CaptureHistoryCounts(seen, elements)
    found = hold_out(model, histories)
    assert {ahead for _, ahead in found.scores} == {1, 3, 6}
    assert assess_predictions(found, model.fit(histories, model.crawls)).status is Status.OK
    known = seen[:, :-1].any(axis=1)
    assert np.isnan(found.expected[~known]).all()
    assert (found.expected[seen[:, :-1].all(axis=1)] > 0.9).all()


def scored(error=0.0, model_loss=0.2, baseline_loss=0.3, return_error=0.02, held_out=6):
    """Return scores with one bin of predictions that are off by `error`, and the error of returns."""
    reliability = Reliability(np.array([100.0]), np.array([50.0]), np.array([50 + 100 * error]))
    returns = {held_out: Returns(100, 50, 50.0, return_error / 2, return_error)}
    losses = {(MODEL, 1): model_loss, **{(name, 1): baseline_loss for name in BASELINES}}
    return HoldOut({key: Score(0.1, loss, reliability) for key, loss in losses.items()}, None, returns)


@pytest.fixture(scope="module")
def courses():
    """Courses of a model with absences of about two crawls, and of about eight."""
    rng = np.random.default_rng(1)
    simulated = simulate_elements(rng, 16, 800, kappa=0, survival=0.98, coverage=0.999, departure=0.05, back=0.5)
    seen, elements = np.unique(simulated.seen, axis=0, return_counts=True)
    model = model_of("markov_1", np.arange(16))
    return lambda n: model.fit(CaptureHistoryCounts(seen, elements), tuple(range(n)))


def test_calibrated_probabilities_are_reported(courses):
    assert assess_predictions(scored(), courses(16)).status is Status.OK
    assert assess_predictions(scored(error=0.031), courses(16)).reason is ElementReason.MISCALIBRATED
    assert assess_predictions(scored(model_loss=0.31), courses(16)).reason is ElementReason.NO_BETTER_THAN_BASELINE
    assert assess_predictions(HoldOut({}, None, {}), courses(16)).reason is ElementReason.TOO_FEW_CRAWLS
    assert assess_predictions(scored(), None).reason is ElementReason.NO_MODEL


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"held_out": 1}, ElementReason.ABSENCES_NOT_IDENTIFIED),
        ({"return_error": 0.081}, ElementReason.RETURNS_MISCALIBRATED),
    ],
)
def test_states_are_not_reported_unless_returns_are_predicted(courses, settings, reason):
    assessment = assess_predictions(scored(**settings), courses(16))
    assert assessment.reason is reason
    assert assessment.is_reported
    assert not assessment.is_eligibility_reported


@pytest.mark.parametrize(("name", "n_crawls"), [("long_lived_growing", 8), ("markov_1", 8), ("core_shell", 24)])
def test_models_that_misstate_absences_report_no_states(name, n_crawls):
    """Elements are dormant for five crawls on average: too long for few crawls, or for a model without absences."""
    dormancy = {"kappa": 0, "survival": 0.985, "coverage": 0.9, "departure": 0.03, "back": 0.2}
    simulated = simulate_elements(np.random.default_rng(2), n_crawls, 4000, **dormancy)
    seen, elements = np.unique(simulated.seen, axis=0, return_counts=True)
    histories, model = CaptureHistoryCounts(seen, elements), model_of(name, np.arange(n_crawls) / 12)
    found = hold_out(model, histories)
    returns = found.returns[max(found.returns)]
    assert returns.expected < 0.95 * returns.returned
    assert not assess_predictions(found, model.fit(histories, model.crawls)).is_eligibility_reported


def test_returns_are_predicted_by_a_model_with_absences():
    dormancy = {"kappa": 0, "survival": 0.985, "coverage": 0.9, "departure": 0.03, "back": 0.2}
    simulated = simulate_elements(np.random.default_rng(2), 24, 4000, **dormancy)
    seen, elements = np.unique(simulated.seen, axis=0, return_counts=True)
    histories, model = CaptureHistoryCounts(seen, elements), model_of("hidden_1", np.arange(24) / 12)
    found = hold_out(model, histories)
    returns = found.returns[6]
    # The standard deviation of the number of returns is at most half the square root of the missed elements.
    assert returns.expected == pytest.approx(returns.returned, abs=1.5 * returns.missed**0.5)
    assert assess_predictions(found, model.fit(histories, model.crawls)).is_eligibility_reported


def assessment(**settings):
    return Assessment(state_verdict(VerdictName.MISFIT), **settings)


CRAWLS = pd.DataFrame({"crawl": ["a", "b", "c", "d", "e", "f"], "years": np.arange(6) / 12})
CANDIDATES = pd.DataFrame(
    {"model": ["core_shell", "markov_1", "markov_2"], "stage": [1, 4, 4], "criterion": [0.0, 5.0, 0.0]}
)


def test_selected_model_is_used_without_the_crawls_set_aside():
    model = choose_model(assessment(model="core_shell", set_aside=("b",)), CANDIDATES, CRAWLS, 1)
    assert (model.name, model.crawls) == ("core_shell", (0, 2, 3, 4, 5))


def test_best_model_with_memory_is_used_if_none_is_adequate():
    assert choose_model(assessment(), CANDIDATES, CRAWLS, 1).name == "markov_2"
    assert choose_model(assessment(), CANDIDATES[:1], CRAWLS, 1) is None


def test_crawls_before_a_change_of_scope_are_not_used():
    assert choose_model(assessment(model="core_shell", scope_break="c"), CANDIDATES, CRAWLS, 1).crawls == (2, 3, 4, 5)
    assert choose_model(assessment(model="core_shell", scope_break="e"), CANDIDATES, CRAWLS, 1).crawls == (4, 5)
