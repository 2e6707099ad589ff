"""Follow the class and the state of an element through its capture history, and forecast its captures from there.

Does not fit the classes; see `fitting` and `urn.open_population`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.state_space.recursions import ClassParameters, never_again

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass


@dataclass(frozen=True, eq=False)
class ClassCourse:
    """Probabilities of one class of elements at every crawl and gap.

    Attributes
    ----------
    name
        Name of the class.
    first_captures
        Expected elements of the class that each crawl captures first, in a unit that all classes share, shape (T,).
    past
        Parameters of each gap and of the crawl after it, shape (T - 1,).
    coming
        Parameters of every gap and crawl to come, each of shape ().
    """

    name: str
    first_captures: FloatArray
    past: ClassParameters
    coming: ClassParameters


class StateProbabilities(NamedTuple):
    """Probabilities of class and state given a history, each of shape (classes, histories).

    They sum to 1 over classes and states; all are 0 for a history without a capture.

    Attributes
    ----------
    available, dormant
        Alive, and in that state.
    dead
        No longer alive.
    """

    available: FloatArray
    dormant: FloatArray
    dead: FloatArray

    @property
    def is_known(self) -> BoolArray:
        """Whether each history has a capture, shape (histories,)."""
        return np.asarray((self.available + self.dormant + self.dead).sum(axis=0) > 0)


def mixture_courses(
    mixture: Mixture, n_crawls: int, gaps: FloatArray | None = None, *, coming_gap: float = 1.0
) -> tuple[ClassCourse, ...]:
    """Return the courses of the classes of a mixture.

    Parameters
    ----------
    mixture
        Classes per mean gap.
    n_crawls
        Number of crawls.
    gaps
        Gaps between the crawls in units of their mean; equal gaps if None.
    coming_gap
        Length of every gap to come in units of the mean; read only with `gaps`.
    """
    courses = []
    for element, share in zip(mixture.classes, mixture.shares, strict=True):
        is_per_crawl = gaps is None or element.memory < 0
        lengths = np.ones(n_crawls - 1) if gaps is None or is_per_crawl else gaps
        past, coming = element.parameters.with_last_axes(1), element.parameters
        if not is_per_crawl:
            past, coming = past.over_gap(lengths), coming.over_gap(np.asarray(coming_gap))
        past = ClassParameters(*(np.broadcast_to(value, lengths.shape) for value in past))
        first = share * _never_before(element, mixture.growth, n_crawls, None if is_per_crawl else gaps)
        courses.append(ClassCourse(element.name, first, past, coming))
    return tuple(courses)


def _never_before(element: StateSpaceClass, growth: float, n: int, gaps: FloatArray | None) -> FloatArray:
    """Return the share of the captures of each crawl that no earlier crawl made, shape (n,)."""
    if gaps is None:
        return 1 - element.seen_before(n - 1, growth)
    backwards = element.parameters._replace(survival=np.asarray(element.survival / growth)).with_last_axes(1)
    return np.asarray(never_again(backwards.over_gap(gaps[::-1]))[0][::-1])


def follow_states(courses: Sequence[ClassCourse], seen: BoolArray, *, origin: int = 0) -> Iterator[StateProbabilities]:
    """Step through the crawls, and yield the states after each crawl from the origin on.

    Parameters
    ----------
    courses
        The classes, of T crawls.
    seen
        Whether each history has a capture at each crawl, shape (histories, T).
    origin
        Index of the first crawl after which states are yielded.
    """
    crawls = np.ascontiguousarray(seen.T)
    past = np.array([course.past for course in courses]).transpose(2, 1, 0)[..., None]
    zero = np.zeros((len(courses), len(seen)))
    available, dormant, dead = zero, zero, zero
    has_capture = np.zeros(len(seen), dtype=np.bool_)
    for t, captured in enumerate(crawls):
        if t:
            survival, coverage, departure, reactivation = past[t - 1]
            moved = survival * ((1 - departure) * available + reactivation * dormant)
            dead = np.where(captured, 0, dead + (1 - survival) * (available + dormant))
            dormant = np.where(captured, 0, survival * (departure * available + (1 - reactivation) * dormant))
            available = np.where(captured, coverage, 1 - coverage) * moved
        is_first = captured & ~has_capture
        if is_first.any():
            first = np.array([course.first_captures[t] for course in courses])
            available = np.where(is_first, first[:, None], available)
            has_capture = has_capture | is_first
        total = (available + dormant + dead).sum(axis=0)
        scale = np.where(total > 0, 1 / np.where(total > 0, total, 1), 0)
        available, dormant, dead = available * scale, dormant * scale, dead * scale
        if t >= origin:
            yield StateProbabilities(available, dormant, dead)


def capture_probability(courses: Sequence[ClassCourse], states: StateProbabilities, ahead: int) -> FloatArray:
    """Return the probability of a capture some crawls ahead, shape (histories,); NaN without a capture so far.

    Parameters
    ----------
    courses
        The classes.
    states
        States after the last crawl.
    ahead
        Number of crawls ahead, at least 1.
    """
    result = np.zeros(states.available.shape[1])
    for k, course in enumerate(courses):
        coming = course.coming
        availability, memory = float(coming.availability), float(coming.memory) ** ahead
        captured = float(coming.coverage) * float(coming.survival) ** ahead
        from_available = captured * (availability + (1 - availability) * memory)
        from_dormant = captured * availability * (1 - memory)
        result += from_available * states.available[k] + from_dormant * states.dormant[k]
    return np.where(states.is_known, result, np.nan)


def capture_probability_within(courses: Sequence[ClassCourse], states: StateProbabilities, crawls: int) -> FloatArray:
    """Return the probability of at least one capture by the coming crawls, shape (histories,); NaN without a capture.

    Parameters
    ----------
    courses, states
        As in `capture_probability`.
    crawls
        Number of coming crawls, at least 1.
    """
    result = np.zeros(states.available.shape[1])
    for k, course in enumerate(courses):
        survival, coverage, departure, reactivation = (float(value) for value in course.coming)
        available, dormant = states.available[k], states.dormant[k]
        for _ in range(crawls):
            moved = survival * ((1 - departure) * available + reactivation * dormant)
            dormant = survival * (departure * available + (1 - reactivation) * dormant)
            result += coverage * moved
            available = (1 - coverage) * moved
    return np.where(states.is_known, result, np.nan)
