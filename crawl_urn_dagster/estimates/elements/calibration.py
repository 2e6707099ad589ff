"""Test predictions of single elements on crawls that the model was not fitted to.

Does not fit the model; see `element_model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.elements.baselines import bg_bb, last_time, share_of_crawls
from crawl_urn_dagster.urn.elements.posterior import capture_probabilities, probabilities_within
from crawl_urn_dagster.urn.elements.scores import Score, calibration_error_limit, score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.estimates.elements.element_model import ElementModel
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray, IntArray
    from crawl_urn_dagster.urn.state_space.states import ClassCourse

#: Crawls ahead that are predicted. A fit ends that many crawls before the last, and also predicts those in between.
AHEAD = (1, 3, 6)
#: Name of the model among the predictors.
MODEL = "model"
BASELINES = {"last_time": last_time, "share_of_crawls": share_of_crawls, "bg_bb": bg_bb}
_FEWEST_CRAWLS = 5
# Fits to more elements take longer and change no prediction by more than it is wrong anyway.
_MOST_FITTED = 20_000
_SEED = 1


class Returns(NamedTuple):
    """Predicted and observed returns of the elements that the last crawl of a fit missed.

    A return is a capture by at least one of the held-out crawls. Only a return distinguishes a missed or dormant
    element from one that is gone.

    Attributes
    ----------
    missed, returned
        Number of elements that the last crawl of the fit missed, and of those that returned.
    expected
        Predicted number of returns.
    error, error_high
        Calibration error of the predictions, and the upper end of its confidence interval.
    """

    missed: int
    returned: int
    expected: float
    error: float
    error_high: float


class HoldOut(NamedTuple):
    """Scores of predictions by predictor and crawls ahead, and the model's predictions of the last crawl.

    Attributes
    ----------
    scores
        Scores by predictor (`MODEL` or a name in `BASELINES`) and crawls ahead.
    expected
        Probability that the last crawl captures the elements of each history, by the model fitted up to the crawl
        before, shape (histories,); NaN for elements not captured before. None if it could not be fitted.
    returns
        Returns by number of held-out crawls.
    """

    scores: Mapping[tuple[str, int], Score]
    expected: FloatArray | None
    returns: Mapping[int, Returns]


class _Predictions(NamedTuple):
    probability: FloatArray
    outcome: BoolArray
    elements: IntArray


def hold_out(model: ElementModel, histories: CaptureHistoryCounts) -> HoldOut:
    """Fit the model and the baselines up to 1, 3 and 6 crawls before the last, and score what they predict.

    Parameters
    ----------
    model
        The model.
    histories
        Elements of each capture history of the collection, not multiplied if of a sample.
    """
    fitted = _thin(histories, model.seed)
    collected: dict[tuple[str, int], list[_Predictions]] = {}
    expected, returns = None, {}
    # From the earliest fit on, so each can start from the one before without knowing later crawls.
    for back in reversed(AHEAD):
        crawls = model.crawls[:-back]
        courses = model.fit(fitted, crawls) if len(crawls) >= _FEWEST_CRAWLS else None
        if courses is None:
            continue
        ahead = [one for one in AHEAD if one <= back]
        seen = histories.seen[:, crawls]
        is_known = seen.any(axis=1)
        predicted = {MODEL: capture_probabilities(courses, seen, ahead)}
        returns[back] = _returns(courses, histories, crawls, model.crawls[-back:])
        if back == 1:
            expected = predicted[MODEL][0]
        window = CaptureHistoryCounts(seen[is_known], histories.elements[is_known])
        for name, predict in BASELINES.items():
            predicted[name] = np.full((len(ahead), len(seen)), np.nan)
            predicted[name][:, is_known] = predict(window, ahead)
        for name, rows in predicted.items():
            for one, probability in zip(ahead, rows, strict=True):
                outcome = histories.seen[:, model.crawls[len(crawls) - 1 + one]]
                collected.setdefault((name, one), []).append(_Predictions(probability, outcome, histories.elements))
    return HoldOut(
        {
            key: score(*(np.concatenate(values) for values in zip(*parts, strict=True)))
            for key, parts in collected.items()
        },
        expected,
        returns,
    )


def _returns(
    courses: Sequence[ClassCourse], histories: CaptureHistoryCounts, crawls: Sequence[int], held_out: Sequence[int]
) -> Returns:
    """Compare predicted and observed returns of the elements that the last of some crawls missed."""
    seen = histories.seen[:, list(crawls)]
    is_missed = seen.any(axis=1) & ~seen[:, -1]
    elements = histories.elements[is_missed]
    predicted = probabilities_within(courses, seen[is_missed], len(held_out))
    returned = histories.seen[is_missed][:, list(held_out)].any(axis=1)
    return Returns(
        int(elements.sum()),
        int(elements @ returned),
        float(elements @ predicted),
        score(predicted, returned, elements).reliability.calibration_error,
        calibration_error_limit(predicted, returned, elements, seed=_SEED),
    )


def _thin(histories: CaptureHistoryCounts, seed: int) -> CaptureHistoryCounts:
    """Return the histories of a random sample of the elements, or all if there are few."""
    if histories.elements.sum() <= _MOST_FITTED:
        return histories
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(_MOST_FITTED, histories.elements / histories.elements.sum())
    is_drawn = drawn > 0
    return CaptureHistoryCounts(histories.seen[is_drawn], drawn[is_drawn])
