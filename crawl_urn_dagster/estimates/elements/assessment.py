"""Decide whether the probabilities of single elements are reported, from their test on held-out crawls.

Does not test them; see `calibration`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.estimates.elements.calibration import BASELINES, MODEL
from crawl_urn_dagster.urn import Status
from crawl_urn_dagster.urn.results.codes import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crawl_urn_dagster.estimates.elements.calibration import HoldOut
    from crawl_urn_dagster.urn.state_space.states import ClassCourse

#: Largest calibration error one crawl ahead with which probabilities are reported.
LARGEST_CALIBRATION_ERROR = 0.03
#: Largest upper limit of the calibration error of returns with which the probability of being eligible is reported.
LARGEST_RETURN_ERROR = 0.08
# Fewest held-out crawls in which elements that were missed, and are not gone, had time to return.
_FEWEST_HELD_OUT = 3
# A mean absence above this share of the crawls is hardly distinguished from a death.
_LONG_ABSENCE = 1 / 3


class ElementReason(Code):
    """Why probabilities of elements are not reported, or what qualifies them; stored in column ``reason_code``.

    Examples
    --------
    >>> ElementReason("no_model").sentence
    'No model describes the captures up to the last crawl.'
    """

    NO_MODEL = "no_model"
    TOO_FEW_CRAWLS = "too_few_crawls"
    MISCALIBRATED = "miscalibrated"
    NO_BETTER_THAN_BASELINE = "no_better_than_baseline"
    ABSENCES_NOT_IDENTIFIED = "absences_not_identified"
    RETURNS_MISCALIBRATED = "returns_miscalibrated"
    LONG_ABSENCES = "long_absences"

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    ElementReason.NO_MODEL: "No model describes the captures up to the last crawl.",
    ElementReason.TOO_FEW_CRAWLS: "There are too few crawls, or elements, to test predictions on held-out crawls.",
    ElementReason.MISCALIBRATED: (
        f"Predicted and observed shares of held-out crawls differ by more than {LARGEST_CALIBRATION_ERROR} on average."
    ),
    ElementReason.NO_BETTER_THAN_BASELINE: "A simple rule predicts held-out crawls as well as the model.",
    ElementReason.ABSENCES_NOT_IDENTIFIED: (
        "There are too few crawls, or missed elements, to test whether missed elements return, so only captures are "
        "predicted."
    ),
    ElementReason.RETURNS_MISCALIBRATED: (
        "Predicted and observed shares of missed elements that return in held-out crawls are not shown to differ by at "
        f"most {LARGEST_RETURN_ERROR}, so only captures are predicted."
    ),
    ElementReason.LONG_ABSENCES: (
        "Some elements are absent for more than a third of the observed period, which resembles a loss. The "
        "probability of being eligible depends on the model."
    ),
}


class PredictionAssessment(NamedTuple):
    """Whether probabilities are reported.

    Attributes
    ----------
    status
        ``ok``; ``qualified``: reported with a reservation; ``not_identified``: only captures are predicted;
        ``refuted`` or ``too_few_points``: not reported.
    reason
        Why; None: no reason.
    """

    status: Status
    reason: ElementReason | None = None

    @property
    def is_reported(self) -> bool:
        """Whether probabilities of captures are reported."""
        return self.status not in {Status.REFUTED, Status.TOO_FEW_POINTS}

    @property
    def is_eligibility_reported(self) -> bool:
        """Whether probabilities of being eligible are reported."""
        return self.is_reported and self.status is not Status.NOT_IDENTIFIED


def assess_predictions(found: HoldOut, courses: Sequence[ClassCourse] | None) -> PredictionAssessment:
    """Decide whether probabilities are reported.

    Parameters
    ----------
    found
        Scores of held-out crawls.
    courses
        Classes of the model, fitted to all crawls; None if it could not be fitted.
    """
    if courses is None:
        return PredictionAssessment(Status.TOO_FEW_POINTS, ElementReason.NO_MODEL)
    return _assess_predictions(found) or _assess_returns(found) or _assess_absences(courses)


def _assess_predictions(found: HoldOut) -> PredictionAssessment | None:
    """Return why predictions are not reported; None if they are."""
    model = found.scores.get((MODEL, 1))
    if model is None or not model.reliability.elements.sum():
        return PredictionAssessment(Status.TOO_FEW_POINTS, ElementReason.TOO_FEW_CRAWLS)
    if model.reliability.calibration_error > LARGEST_CALIBRATION_ERROR:
        return PredictionAssessment(Status.REFUTED, ElementReason.MISCALIBRATED)
    if model.log_loss >= min(found.scores[name, 1].log_loss for name in BASELINES):
        return PredictionAssessment(Status.REFUTED, ElementReason.NO_BETTER_THAN_BASELINE)
    return None


def _assess_returns(found: HoldOut) -> PredictionAssessment | None:
    """Return why the probability of being eligible is not reported although those of captures are; None if it is.

    A model of too few crawls, or without absences where there are some, predicts too few or too many returns.
    """
    held_out = max(found.returns, default=0)
    if held_out < _FEWEST_HELD_OUT or not found.returns[held_out].missed:
        return PredictionAssessment(Status.NOT_IDENTIFIED, ElementReason.ABSENCES_NOT_IDENTIFIED)
    if found.returns[held_out].error_high > LARGEST_RETURN_ERROR:
        return PredictionAssessment(Status.NOT_IDENTIFIED, ElementReason.RETURNS_MISCALIBRATED)
    return None


def _assess_absences(courses: Sequence[ClassCourse]) -> PredictionAssessment:
    """Return whether the probability of being eligible needs a reservation."""
    n_crawls = len(courses[0].first_captures)
    changing = [course.past for course in courses if (course.past.departure > 0).any()]
    if any(np.mean(past.reactivation) * n_crawls * _LONG_ABSENCE < 1 for past in changing):
        return PredictionAssessment(Status.QUALIFIED, ElementReason.LONG_ABSENCES)
    return PredictionAssessment(Status.OK)


def read_prediction_assessment(scores: pd.DataFrame) -> PredictionAssessment:
    """Return from table `element_scores` whether probabilities are reported."""
    status, code = scores["status"].iloc[0], scores["reason_code"].iloc[0]
    return PredictionAssessment(Status(status), ElementReason(code) if isinstance(code, str) else None)
