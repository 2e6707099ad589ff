"""Test the likelihood of state-space mixtures against values computed apart from the project, and its gradient."""

import json

import numpy as np
import pytest
from scipy.special import logit

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.state_space.likelihood import Layout, Likelihood, observe

HISTORIES = CaptureHistoryCounts(
    np.array([[1, 1, 0, 1, 0], [0, 1, 0, 0, 1], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=bool), np.ones(4, dtype=int)
)
CORE_MARKOV = np.append(logit([0.96, 0.15, 0.25]), 0.0)
GROWING = np.concatenate([logit([0.96, 0.15, 0.25, 0.95, 0.8, 0.1, 0.3]), [0.0, np.log(1.02)]])
GAPS = np.array([1.0, 0.5, 1.5, 1.0])


def likelihood_of(kinds, *, gaps=None, grows=False):
    return Likelihood(observe(HISTORIES, gaps), Layout(kinds, grows), is_full=grows)


def test_likelihoods_match_reference(shared_reference):
    cases = json.loads((shared_reference / "state_space.json").read_text())["likelihood"]["cases"]
    expected = [case["loglik"] for case in cases]
    found = [
        likelihood_of(("core", "markov"))(CORE_MARKOV).value,
        likelihood_of(("markov", "hidden"), grows=True)(GROWING).value,
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_uneven_likelihood_of_equal_gaps_is_the_even_one():
    by_state = np.append(logit([0.96, 0.25 / 0.4, 1 - 0.4]), 0.0)
    uneven = likelihood_of(("core", "markov"), gaps=np.ones(4))(by_state).value
    assert uneven == pytest.approx(likelihood_of(("core", "markov"))(CORE_MARKOV).value, rel=1e-12)


@pytest.mark.parametrize("gaps", [None, GAPS], ids=["equal", "uneven"])
@pytest.mark.parametrize("growth", [0.97, 1.02])
def test_gradient_matches_differences(gaps, growth):
    likelihood = likelihood_of(("markov", "hidden"), gaps=gaps, grows=True)
    point = np.append(GROWING[:-1], np.log(growth))
    steps = 1e-5 * np.eye(point.size)
    differences = [(likelihood(point + step).value - likelihood(point - step).value) / 2e-5 for step in steps]
    np.testing.assert_allclose(likelihood(point).gradient, differences, atol=1e-7)


@pytest.mark.parametrize("growth", [0.97, 1.02])
def test_scores_of_rows_add_up_to_the_gradient(growth):
    likelihood = likelihood_of(("markov", "hidden"), gaps=GAPS, grows=True)
    point = np.append(GROWING[:-1], np.log(growth))
    scores = likelihood.scores(point)
    np.testing.assert_allclose(likelihood.data.elements @ scores, likelihood(point).gradient, atol=1e-12)
    given_first = likelihood_of(("core", "markov"))
    total = given_first.data.elements @ given_first.scores(CORE_MARKOV)
    np.testing.assert_allclose(total, given_first(CORE_MARKOV).gradient, atol=1e-12)


def test_full_likelihood_is_that_of_all_histories():
    """The probabilities of all histories with a capture sum to 1, in the full likelihood of one element."""
    every = (np.arange(1, 32)[:, None] >> np.arange(5)) % 2 == 1
    one = np.ones(1, dtype=int)
    layout = Layout(("markov", "hidden"), grows=True)
    logs = [
        Likelihood(observe(CaptureHistoryCounts(seen[None], one), GAPS), layout, is_full=True)(GROWING).value
        for seen in every
    ]
    assert np.exp(logs).sum() == pytest.approx(1, rel=1e-12)


def test_histories_of_equal_terms_are_merged():
    seen = np.array([[1, 1, 0, 1, 0, 1], [1, 0, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0]], dtype=bool)
    data = observe(CaptureHistoryCounts(seen, np.array([2, 3, 7])))
    assert data.elements.tolist() == [5]
    assert data.n_elements == 5
