"""Compute the state of the elements of each capture history under a fitted model.

Does not fit the model (see `urn.open_population` and `urn.state_space`) or test its predictions (see `scores`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.state_space.recursions import ClassParameters
from crawl_urn_dagster.urn.state_space.states import (
    ClassCourse,
    capture_probability,
    capture_probability_within,
    follow_states,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.open_population.classes import PopulationClass
    from crawl_urn_dagster.urn.state_space.states import StateProbabilities

#: Number of coming crawls whose captures are expected.
HORIZON = 12
#: Number of coming crawls, of which at least one captures an element.
SOON = 6
#: Name of the class that never dies.
CORE = "core"
#: Coming crawls are like the mean of at most this many last ones: noise averages out, and a trend is followed.
RECENT = 12
# Histories processed at once: their states fit the processor's cache.
_CHUNK = 8_192


class ElementStates(NamedTuple):
    """State of the elements of each history at the last crawl, each of shape (histories,); NaN without a capture.

    Attributes
    ----------
    core
        Probability of belonging to the permanent core; NaN if the model has no core.
    eligible
        Probability of being eligible.
    missed
        Probability of being available, and not captured by the last crawl.
    dormant
        Probability of being eligible and temporarily unavailable.
    captured_next
        Probability of a capture by the next crawl.
    captured_soon
        Probability of a capture by at least one of the next `SOON` crawls.
    expected_captures
        Expected number of captures by the next `HORIZON` crawls.
    """

    core: FloatArray
    eligible: FloatArray
    missed: FloatArray
    dormant: FloatArray
    captured_next: FloatArray
    captured_soon: FloatArray
    expected_captures: FloatArray


def population_courses(classes: Sequence[PopulationClass]) -> tuple[ClassCourse, ...]:
    """Return the courses of the classes of an open population, whose elements are always available.

    The coverage of a coming crawl is the mean over the last crawls, and the survival of a coming gap the geometric mean
    over the last gaps.

    Parameters
    ----------
    classes
        Fitted classes.

    Examples
    --------
    >>> from crawl_urn_dagster.urn.open_population.classes import PopulationClass
    >>> shell = PopulationClass("shell", np.full(3, 100.0), np.full(2, 0.5), np.array([0.7, 0.8, 0.9]))
    >>> [course] = population_courses([shell])
    >>> course.first_captures.round(1).tolist(), round(float(course.coming.coverage), 2)
    ([70.0, 52.0, 50.8], 0.8)
    """
    courses = []
    for one in classes:
        unchanging = np.zeros_like(one.survival), np.ones_like(one.survival)
        # A survival of 0 has no logarithm.
        survival = np.asarray(np.exp(np.log(np.maximum(one.survival[-RECENT:], 1e-12)).mean()))
        coverage = np.asarray(one.coverage[-RECENT:].mean())
        courses.append(
            ClassCourse(
                one.name,
                one.eligible * one.never_before * one.coverage,
                ClassParameters(one.survival, one.coverage[1:], *unchanging),
                ClassParameters(survival, coverage, np.zeros(()), np.ones(())),
            )
        )
    return tuple(courses)


def element_states(courses: Sequence[ClassCourse], seen: BoolArray) -> ElementStates:
    """Return the state of the elements of each history at the last crawl.

    Parameters
    ----------
    courses
        Classes of the model, of T crawls.
    seen
        Whether each history has a capture at each crawl, shape (histories, T).

    Examples
    --------
    >>> from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
    >>> from crawl_urn_dagster.urn.state_space.states import mixture_courses
    >>> urn = Mixture((StateSpaceClass.core(), StateSpaceClass.shell(survival=0.8, coverage=0.5)), (0.5, 0.5))
    >>> states = element_states(mixture_courses(urn, 3), np.array([[1, 1, 1], [1, 1, 0]], dtype=bool))
    >>> states.core.round(3).tolist(), states.eligible.round(3).tolist(), states.captured_next.round(3).tolist()
    ([0.862, 0.0], [1.0, 0.667], [0.917, 0.267])
    """
    chunks = [_states_of_chunk(courses, seen[low : low + _CHUNK]) for low in range(0, max(len(seen), 1), _CHUNK)]
    return ElementStates(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def capture_probabilities(courses: Sequence[ClassCourse], seen: BoolArray, ahead: Sequence[int]) -> FloatArray:
    """Return the probabilities of a capture by each of some coming crawls, shape (len(ahead), histories).

    Parameters
    ----------
    courses, seen
        As in `element_states`.
    ahead
        Numbers of crawls ahead, each at least 1.
    """
    parts = [[capture_probability(courses, last, crawls) for crawls in ahead] for last in _last_states(courses, seen)]
    return np.concatenate([np.array(part) for part in parts], axis=1)


def probabilities_within(courses: Sequence[ClassCourse], seen: BoolArray, crawls: int) -> FloatArray:
    """Return the probability of a capture by at least one of the coming crawls, shape (histories,).

    Parameters
    ----------
    courses, seen
        As in `element_states`.
    crawls
        Number of coming crawls, at least 1.
    """
    return np.concatenate([capture_probability_within(courses, last, crawls) for last in _last_states(courses, seen)])


def _last_states(courses: Sequence[ClassCourse], seen: BoolArray) -> Iterator[StateProbabilities]:
    """Yield the states at the last crawl, for some histories after others, which bounds the memory."""
    for low in range(0, max(len(seen), 1), _CHUNK):
        [last] = follow_states(courses, seen[low : low + _CHUNK], origin=seen.shape[1] - 1)
        yield last


def _states_of_chunk(courses: Sequence[ClassCourse], seen: BoolArray) -> ElementStates:
    [last] = follow_states(courses, seen, origin=seen.shape[1] - 1)
    is_known = last.is_known
    available, dormant = last.available.sum(axis=0), last.dormant.sum(axis=0)
    cores = [k for k, course in enumerate(courses) if course.name == CORE]
    core = (last.available + last.dormant)[cores].sum(axis=0) if cores else np.full(len(seen), np.nan)
    chances = np.array([capture_probability(courses, last, ahead) for ahead in range(1, HORIZON + 1)])

    def known(values: FloatArray) -> FloatArray:
        return np.where(is_known, values, np.nan)

    return ElementStates(
        core=known(core),
        eligible=known(available + dormant),
        missed=known(np.where(seen[:, -1], 0.0, available)),
        dormant=known(dormant),
        captured_next=chances[0],
        captured_soon=capture_probability_within(courses, last, SOON),
        expected_captures=chances.sum(axis=0),
    )
