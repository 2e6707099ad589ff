"""Test the maximum-likelihood fits of state-space mixtures on real and on simulated histories."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data import thinning
from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.results.result import Status
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.fitting import fit_model
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster_tests.urn.state_space.simulated import simulate_classes

HIDDEN = Mixture((StateSpaceClass("all", 0.96, 0.8, 0.1, 0.25),), (1.0,))
GAPS = np.tile([0.5, 1.5], 8)


@pytest.fixture(scope="module")
def hidden():
    return observe(simulate_classes(HIDDEN, 2_000, 17, seed=1))


# Log-likelihoods of another implementation.
@pytest.mark.parametrize(
    ("model", "expected"),
    [("markov_1", -76_695.8), ("markov_2", -68_194.4), ("core_markov_1", -70_794.7), ("core_markov_2", -67_910.7)],
)
def test_fit_of_real_list_matches_reference(us_gov_hosts, model, expected):
    fit = fit_model(model, observe(us_gov_hosts), seed=1)
    assert fit.status is Status.OK
    assert fit.log_likelihood == pytest.approx(expected, abs=0.06)


def test_classes_of_real_list_match_reference(us_gov_hosts):
    fit = fit_model("markov_2", observe(us_gov_hosts), seed=1)
    found = [(k.survival, k.departure, k.reactivation) for k in fit.mixture.classes]
    np.testing.assert_allclose(found, [(0.9952, 0.0064, 0.4348), (0.9662, 0.1787, 0.1483)], atol=6e-5)
    assert fit.mixture.shares[0] == pytest.approx(0.836, abs=5e-4)
    assert [k.name for k in fit.mixture.classes] == ["stable", "intermittent"]


def test_fit_recovers_simulated_class_within_its_errors(hidden):
    fit = fit_model("hidden_1", hidden, seed=1)
    [found], [true] = fit.mixture.classes, HIDDEN.classes
    values = np.array([found.survival, found.coverage, found.departure, found.reactivation])
    se = np.sqrt(np.diagonal(fit.covariance)) * values * (1 - values)
    truth = [true.survival, true.coverage, true.departure, true.reactivation]
    assert (se < 0.02).all()
    assert np.abs((values - truth) / se).max() < 3


def test_fit_with_uneven_gaps_recovers_simulated_class():
    # Twice as many crawls of half the gap, of which the uneven gaps keep those of times 0, 0.5, 2, 2.5, ...
    [half] = (k.over_gap(0.5) for k in HIDDEN.classes)
    fine = simulate_classes(Mixture((half,), (1.0,)), 2_000, 33, seed=2)
    kept = np.append(0, np.cumsum(2 * GAPS)).astype(int)
    fit = fit_model("hidden_1", observe(CaptureHistoryCounts(fine.seen[:, kept], fine.elements), GAPS), seed=1)
    assert fit.mixture.classes[0].survival == pytest.approx(0.96, abs=0.004)
    assert fit.mixture.classes[0].availability == pytest.approx(0.25 / 0.35, abs=0.03)


@pytest.mark.parametrize("model", ["markov_2", "core_hidden_1"])
def test_long_list_with_uneven_gaps_reaches_the_same_maximum(model, monkeypatch):
    data = observe(simulate_classes(HIDDEN, 300, 17, seed=3), GAPS)
    expected = fit_model(model, data, seed=1)
    monkeypatch.setattr(thinning, "LONGEST_COMPLETE", 16)
    assert fit_model(model, data, seed=1).log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-2)


@pytest.mark.parametrize(
    "seen",
    [
        np.ones((3, 5)),
        np.eye(4),
        np.array([[1, 0, 0]]),
        np.tile([1, 0], (4, 30)),
        np.pad(np.ones((2, 2)), ((0, 0), (3, 3))),
    ],
    ids=["all in all", "one capture each", "one element", "alternating", "empty crawls"],
)
@pytest.mark.parametrize("model", ["markov_2", "core_hidden_1"])
def test_degenerate_histories_give_a_fit_with_status(seen, model):
    data = observe(CaptureHistoryCounts(seen.astype(bool), np.ones(len(seen), dtype=int)))
    fit = fit_model(model, data, seed=1)
    assert np.isfinite(fit.bic)
    assert fit.status in {Status.AT_BOUND, Status.NOT_IDENTIFIED}
