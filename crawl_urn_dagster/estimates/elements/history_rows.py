"""Compute everything that is known of an element from its capture history: once for each distinct history.

Does not write elements; see `writing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.data.histories import first_and_last
from crawl_urn_dagster.urn.elements.posterior import element_states

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawl_urn_dagster.estimates.elements.assessment import PredictionAssessment
    from crawl_urn_dagster.urn.data.histories import BoolArray, CaptureHistoryCounts, FloatArray, IntArray
    from crawl_urn_dagster.urn.state_space.states import ClassCourse

# Probabilities of states, which are reported only if returns of missed elements are predicted well.
_STATES = ("p_core", "p_eligible", "p_missed", "p_dormant")


@dataclass(frozen=True, eq=False)
class HistoryRows:
    """The known facts of the elements of each distinct history.

    Attributes
    ----------
    seen
        Whether each history has a capture at each crawl, shape (histories, crawls).
    elements
        Elements with each history, shape (histories,).
    first, last
        Index of the crawl of the first and of the last capture, shape (histories,).
    captures
        Number of captures, shape (histories,).
    probabilities
        Columns of table `elements` by name, each of shape (histories,); NaN where not reported.
    """

    seen: BoolArray
    elements: IntArray
    first: IntArray
    last: IntArray
    captures: IntArray
    probabilities: Mapping[str, FloatArray]

    @property
    def n_crawls(self) -> int:
        """Number of crawls."""
        return int(self.seen.shape[1])

    @property
    def absent(self) -> IntArray:
        """Crawls since the last capture, shape (histories,)."""
        return np.asarray(self.n_crawls - 1 - self.last)


def history_rows(
    histories: CaptureHistoryCounts,
    crawls: Sequence[int],
    courses: Sequence[ClassCourse] | None,
    expected: FloatArray | None,
    assessment: PredictionAssessment,
) -> HistoryRows:
    """Return what is known of the elements of each history.

    Parameters
    ----------
    histories
        Distinct histories of the collection, each with a capture.
    crawls
        Indices of the crawls that the model describes.
    courses
        Classes of the model; None without a model.
    expected
        Predicted probability that the last crawl captures each history; None without a prediction.
    assessment
        Whether probabilities are reported.
    """
    seen = histories.seen
    unknown = np.full(len(seen), np.nan)
    names = (*_STATES, "p_captured_next", "p_captured_within_6", "expected_captures")
    probabilities = dict.fromkeys((*names, "p_expected"), unknown)
    if courses is not None and assessment.is_reported:
        probabilities |= zip(names, element_states(courses, seen[:, list(crawls)]), strict=True)
        if expected is not None:
            probabilities["p_expected"] = expected
        if not assessment.is_eligibility_reported:
            probabilities |= dict.fromkeys(_STATES, unknown)
    first, last = first_and_last(seen)
    return HistoryRows(
        seen=seen,
        elements=histories.elements,
        first=first,
        last=last,
        captures=seen.sum(axis=1),
        probabilities=probabilities,
    )
