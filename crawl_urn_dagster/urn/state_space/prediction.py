"""Predict captures and crawl sizes from histories, and score predictions on the last third of the crawls.

Does not give prediction intervals; see `monitoring.forecast`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import xlogy

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.state_space.fitting import fit_model
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster.urn.state_space.states import capture_probability, follow_states, mixture_courses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass

#: Crawls ahead that are predicted.
AHEAD = (1, 3, 6)
#: Name of the benchmark: a table of what followed each pattern of the last four crawls.
LAST_FOUR = "last_four"
_LEAST_TRAINING = 6
_LEAST_PROBABILITY = 1e-6


class PredictionScore(NamedTuple):
    """Log-loss of predictions of the last third of the crawls, from the elements captured so far.

    Attributes
    ----------
    model
        Name of a model, or `LAST_FOUR`.
    ahead
        Crawls ahead.
    log_loss
        Mean of -log of the predicted probability of the outcome.
    predictions
        Number of predictions.
    """

    model: str
    ahead: int
    log_loss: float
    predictions: int


def predict(
    mixture: Mixture, histories: CaptureHistoryCounts, ahead: Sequence[int] = AHEAD, *, gaps: FloatArray | None = None
) -> FloatArray:
    """Return the probability that each history continues with a capture.

    Parameters
    ----------
    mixture
        Classes per mean gap.
    histories
        Histories up to the crawl from which to predict.
    ahead
        Crawls ahead, each at least 1 and a mean gap from the one before.
    gaps
        Gaps between the crawls in units of their mean; equal gaps if None.

    Returns
    -------
    ndarray
        Probabilities, shape (n_histories, len(ahead)); NaN for a history without a capture.

    Examples
    --------
    >>> from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
    >>> urn = Mixture((StateSpaceClass.markov("all", survival=0.9, after_capture=0.8, after_miss=0.5),), (1.0,))
    >>> captured_last = CaptureHistoryCounts(np.array([[0, 1, 1]], dtype=bool), np.array([1]))
    >>> predict(urn, captured_last, [1]).round(2)
    array([[0.72]])
    """
    courses = mixture_courses(mixture, histories.n_crawls, gaps)
    [last] = follow_states(courses, histories.seen, origin=histories.n_crawls - 1)
    return np.array([capture_probability(courses, last, crawls) for crawls in ahead]).T


def expected_sizes(
    mixture: Mixture,
    histories: CaptureHistoryCounts,
    horizon: int,
    *,
    growth: float = 1.0,
    gaps: FloatArray | None = None,
) -> FloatArray:
    """Return the sizes of the coming crawls that are expected after each crawl.

    A size is the sum of the probabilities that elements captured so far are captured again, divided by the share of
    such elements in a crawl of a population that grows steadily.

    Parameters
    ----------
    mixture
        Classes per mean gap.
    histories
        Elements of each capture history.
    horizon
        Number of coming crawls, each a mean gap from the one before.
    growth
        Factor by which the population grows per crawl. It determines the newcomers; the class of an element follows
        from the mixture.
    gaps
        Gaps between the crawls in units of their mean; equal gaps if None.

    Returns
    -------
    ndarray
        Sizes by last crawl used and crawls ahead, shape (n_crawls, horizon); NaN before any capture.

    Examples
    --------
    >>> from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
    >>> urn = Mixture((StateSpaceClass.shell(survival=0.9, coverage=0.8),), (1.0,))
    >>> histories = CaptureHistoryCounts(np.array([[1, 1], [1, 0], [0, 1]], dtype=bool), np.array([72, 28, 28]))
    >>> expected_sizes(urn, histories, 2).round(1)
    array([[100., 100.],
           [100., 100.]])
    """
    n, ahead = histories.n_crawls, range(1, horizon + 1)
    shares = np.array(mixture.shares)
    newcomers = np.array([_newcomers(element, growth, n, horizon) for element in mixture.classes])
    known = 1 - np.einsum("k,kth->th", shares, newcomers)
    sizes = np.full((n, horizon), np.nan)
    courses = mixture_courses(mixture, n, gaps)
    for t, state in enumerate(follow_states(courses, histories.seen)):
        chances = [capture_probability(courses, state, crawls) for crawls in ahead]
        captured = np.array([np.nansum(chance * histories.elements) for chance in chances])
        sizes[t] = np.where(captured > 0, captured / known[t], np.nan)
    return sizes


def _newcomers(element: StateSpaceClass, growth: float, n: int, horizon: int) -> FloatArray:
    """Return the share of a crawl's captures that no crawl up to the origin made, shape (n, horizon).

    Backwards from a capture, the first return after the crawls between the origin and the crawl starts at one of them.
    """
    lags = np.arange(n + horizon)
    first = np.diff(element.seen_before(n + horizon - 1, growth), prepend=0.0)
    captured = element.containment(lags) * growth**-lags
    result = np.empty((n, horizon))
    for ahead in range(1, horizon + 1):
        returned = np.array([captured[:ahead] @ first[lag - np.arange(ahead)] for lag in range(ahead, n + ahead)])
        result[:, ahead - 1] = np.maximum(1 - returned.cumsum(), 0)
    return result


def hold_out(
    histories: CaptureHistoryCounts, models: Sequence[str], *, gaps: FloatArray | None = None, seed: int
) -> tuple[PredictionScore, ...]:
    """Fit models to the first two thirds of the crawls, and score their predictions of the last third.

    Every crawl from the last of the training on serves as an origin. Only histories up to the origin are used.

    Parameters
    ----------
    histories
        Elements of each capture history.
    models
        Names of models.
    gaps
        Gaps between the crawls in units of their mean; equal gaps if None.
    seed
        Seed of the fits.

    Returns
    -------
    tuple of PredictionScore
        Scores of each model and of the benchmark; empty if there are fewer than six crawls to fit to or none to
        predict.
    """
    n = histories.n_crawls
    training = round(2 * n / 3)
    if training < _LEAST_TRAINING or not histories.seen[:, :training].any():
        return ()
    window = CaptureHistoryCounts(histories.seen[:, :training], histories.elements)
    data = observe(window, None if gaps is None else gaps[: training - 1] / gaps[: training - 1].mean())
    scores = []
    for model in models:
        courses = mixture_courses(fit_model(model, data, seed=seed).mixture, n, gaps)
        states = list(follow_states(courses, histories.seen, origin=training - 1))
        predicted = {h: [capture_probability(courses, state, h) for state in states] for h in AHEAD}
        scores += _scores(model, histories, predicted, training)
    table = {h: _last_four(histories, h, training) for h in AHEAD}
    return (*scores, *_scores(LAST_FOUR, histories, table, training))


def _last_four(histories: CaptureHistoryCounts, ahead: int, training: int) -> list[FloatArray]:
    """Return the share that was captured some crawls after the same last four outcomes, in the training crawls."""
    n = histories.n_crawls
    padded = np.pad(histories.seen, ((0, 0), (3, 0))).astype(int)
    pattern = np.array([padded[:, 3 - back : n + 3 - back] << back for back in range(4)]).sum(axis=0)
    is_known = np.maximum.accumulate(histories.seen, axis=1)
    weight = histories.elements[:, None] * is_known
    before, after = pattern[:, : training - ahead].ravel(), histories.seen[:, ahead:training].ravel()
    weights = weight[:, : training - ahead].ravel()
    captured = np.bincount(before, weights=weights * after, minlength=16)
    share = (captured + 0.5) / (np.bincount(before, weights=weights, minlength=16) + 1)
    return [np.where(is_known[:, t], share[pattern[:, t]], np.nan) for t in range(training - 1, n)]


def _scores(
    model: str, histories: CaptureHistoryCounts, predicted: dict[int, list[FloatArray]], training: int
) -> list[PredictionScore]:
    scores = []
    for ahead, chances in predicted.items():
        targets = range(training - 1 + ahead, histories.n_crawls)
        if not targets:
            continue
        chance = np.array(chances[: len(targets)])
        outcome = histories.seen[:, targets].T
        weight = np.where(np.isnan(chance), 0, histories.elements)
        chance = np.clip(np.nan_to_num(chance), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
        loss = -(weight * (xlogy(outcome, chance) + xlogy(~outcome, 1 - chance))).sum() / max(weight.sum(), 1)
        scores.append(PredictionScore(model, ahead, float(loss), int(weight.sum())))
    return scores
