"""Test predictions of captures, and their scores on held-out crawls."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.likelihood import Layout, Likelihood, observe
from crawl_urn_dagster.urn.state_space.prediction import LAST_FOUR, hold_out, predict

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
def test_next_crawl_of_real_list_is_predicted_better_than_by_the_last_four(presence_list, name, models, limit):
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
