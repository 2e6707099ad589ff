"""Test predictions of captures, and their scores on held-out crawls."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.likelihood import Layout, Likelihood, observe
from crawl_urn_dagster.urn.state_space.prediction import LAST_FOUR, expected_sizes, hold_out, predict
from crawl_urn_dagster_tests.urn.state_space.simulated import simulate_classes

HIDDEN = StateSpaceClass("a", 0.95, 0.8, 0.1, 0.3)
MARKOV = StateSpaceClass.markov("b", survival=0.96, after_capture=0.85, after_miss=0.25)
URN = Mixture((HIDDEN, MARKOV), (0.4, 0.6))


@pytest.mark.parametrize("gaps", [None, np.array([1.0, 0.5, 1.5, 1.0])], ids=["equal", "uneven"])
def test_prediction_is_the_ratio_of_likelihoods(gaps):
    """P(captured next | history) is the probability of the history with a capture over that of the history."""
    history = np.array([[0, 1, 0, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]], dtype=bool)
    longer = None if gaps is None else np.append(gaps, 1.0)
    layout = Layout(("hidden", "markov"))
    values = [(k.survival, k.coverage, k.departure, k.reactivation) for k in URN.classes]
    if gaps is not None:
        values = [(k.survival, k.coverage, k.availability, k.memory) for k in URN.classes]
    (a, markov) = values
    probabilities = np.array([*a, markov[0], *markov[2:]])
    point = np.append(np.log(probabilities / (1 - probabilities)), np.log(0.6 / 0.4))

    def log_probability(seen, gaps):
        counts = CaptureHistoryCounts(seen[None], np.ones(1, dtype=int))
        return Likelihood(observe(counts, gaps), layout)(point).value

    expected = [
        np.exp(log_probability(np.append(seen, True), longer) - log_probability(seen, gaps)) for seen in history
    ]
    counts = CaptureHistoryCounts(history, np.ones(3, dtype=int))
    np.testing.assert_allclose(predict(URN, counts, [1], gaps=gaps)[:, 0], expected, rtol=1e-9)


def test_history_without_a_capture_has_no_prediction():
    counts = CaptureHistoryCounts(np.zeros((1, 4), dtype=bool), np.ones(1, dtype=int))
    assert np.isnan(predict(URN, counts)).all()


@pytest.mark.parametrize(
    ("name", "models", "limit"),
    [("us_gov_hosts", ["markov_3"], 0.150), ("cc_webgraph_top1000", ["markov_2", "markov_3"], 0.226)],
)
def test_next_crawl_is_predicted_better_than_by_the_last_four(presence_list, name, models, limit):
    scores = {
        (score.model, score.ahead): score.log_loss
        for score in hold_out(presence_list(f"presence/{name}"), models, seed=1)
    }
    assert max(scores[model, 1] for model in models) < limit
    assert scores["markov_3", 1] < scores[LAST_FOUR, 1]


def test_short_list_is_not_scored():
    assert (
        hold_out(CaptureHistoryCounts(np.ones((1, 6), dtype=bool), np.ones(1, dtype=int)), ["markov_1"], seed=1) == ()
    )


@pytest.mark.parametrize(("growth", "rtol"), [(1.0, 1e-9), (0.98, 1e-3)])
def test_newcomers_make_up_for_the_elements_that_are_lost(growth, rtol):
    """Without noise, a population in its steady state keeps its size, or changes it by the growth per crawl."""
    n = 5
    seen = np.array(np.unravel_index(np.arange(1, 2**n), (2,) * n)).T.astype(bool)
    first, elements = seen.argmax(axis=1), np.zeros(len(seen))
    for share, element in zip(URN.shares, URN.classes, strict=True):
        urn = Mixture((element,), (1.0,))
        new = 1 - element.seen_before(n - 1, growth)
        chance = np.ones(len(seen))
        for t in range(1, n):
            is_known = first < t
            captured = np.zeros(len(seen))
            so_far = CaptureHistoryCounts(seen[is_known][:, :t], np.ones(is_known.sum(), dtype=int))
            captured[is_known] = predict(urn, so_far, [1])[:, 0]
            chance *= np.where(is_known, np.where(seen[:, t], captured, 1 - captured), 1.0)
        elements += share * growth**first * new[first] * chance
    # The class of an element at its first capture is that of a constant population, as in the fit.
    sizes = expected_sizes(URN, CaptureHistoryCounts(seen, 1e6 * elements), 3, growth=growth)
    np.testing.assert_allclose(sizes, 1e6 * growth ** np.add.outer(np.arange(n), np.arange(1, 4)), rtol=rtol)


def test_expected_sizes_are_unbiased_in_simulation():
    urn = Mixture((MARKOV,), (1.0,))
    errors = []
    for seed in range(20):
        histories = simulate_classes(urn, 1_000, 15, seed=seed)
        sizes = histories.elements @ histories.seen
        errors.append(np.log(sizes[-1] / expected_sizes(urn, histories, 3)[-4, 2]))
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(len(errors))
    assert np.std(errors) < 0.1
