"""Fit the model that gives the probabilities of single elements: the selected one of the assessment.

Does not select the model (see `estimates.assessment`) or test its predictions (see `calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.estimates.assessment.memory import STAGE, uneven_gaps
from crawl_urn_dagster.urn.elements.posterior import RECENT, population_courses
from crawl_urn_dagster.urn.open_population.ladder import fit_member
from crawl_urn_dagster.urn.open_population.members import MEMBERS_BY_NAME
from crawl_urn_dagster.urn.state_space.fitting import MODELS, fit_model
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster.urn.state_space.states import mixture_courses

if TYPE_CHECKING:
    import pandas as pd

    from crawl_urn_dagster.estimates.assessment.result import Assessment
    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray
    from crawl_urn_dagster.urn.state_space.states import ClassCourse


@dataclass(frozen=True, eq=False)
class ElementModel:
    """A model by name, and the crawls that it describes.

    Attributes
    ----------
    name
        Name of a member of the ladder, or of a model with memory.
    crawls
        Indices of the crawls, ascending: all but those that the assessment set aside, or excluded as before a change of
        scope.
    times
        Start times of all crawls of the collection in years, shape (n_crawls,).
    seed
        Seed of the fits.
    """

    name: str
    crawls: tuple[int, ...]
    times: FloatArray
    seed: int
    # Parameters of the fits so far, and whether their gaps were equal: a fit starts from the one before.
    _points: list[tuple[FloatArray, bool]] = field(default_factory=list, repr=False)

    def fit(self, histories: CaptureHistoryCounts, crawls: tuple[int, ...]) -> tuple[ClassCourse, ...] | None:
        """Fit the model to some crawls, and return its classes; None if there are too few crawls or elements.

        Parameters
        ----------
        histories
            Elements of each capture history of the collection, not multiplied if of a sample.
        crawls
            Indices of the crawls.
        """
        counts = histories.select_crawls(crawls)
        if not counts.distinct_elements:
            return None
        if self.name in MEMBERS_BY_NAME:
            found = fit_member(counts, self.name)
            return None if found is None else population_courses(found.classes)
        gaps = uneven_gaps(self.times[list(crawls)])
        start = self._points[-1] if self._points and self._points[-1][1] == (gaps is None) else None
        fit = fit_model(self.name, observe(counts, gaps), seed=self.seed, start=None if start is None else start[0])
        if not fit.converged:
            return None
        self._points.append((fit.point, gaps is None))
        coming_gap = 1.0 if gaps is None else float(np.median(gaps[-RECENT:]))
        return mixture_courses(fit.mixture, len(crawls), gaps, coming_gap=coming_gap)


def choose_model(
    assessment: Assessment, candidates: pd.DataFrame, crawls: pd.DataFrame, seed: int
) -> ElementModel | None:
    """Return the selected model or, if none is adequate, the best one with memory; None if no model was fitted.

    Predictions of single elements are tested on crawls that the model was not fitted to, so a model that other tests
    refute may still give them.

    Parameters
    ----------
    assessment
        Assessment of the collection.
    candidates
        Table `candidate_models`.
    crawls
        Table `crawls`.
    seed
        Seed of the fits.
    """
    labels = list(crawls["crawl"])
    name = assessment.model
    if name is None or name not in MEMBERS_BY_NAME.keys() | MODELS.keys():
        fitted = candidates[candidates["stage"] == STAGE].sort_values("criterion")
        if fitted.empty:
            return None
        name = str(fitted["model"].iloc[0])
    first = 0
    if assessment.scope_break in labels:
        # The assessment may describe the crawls before; what is to come continues those since. Held-out crawls show
        # whether the model describes them too.
        first = labels.index(assessment.scope_break)
    indices = tuple(index for index, label in enumerate(labels) if index >= first and label not in assessment.set_aside)
    return ElementModel(name, indices, crawls["years"].to_numpy(dtype=np.float64), seed)
