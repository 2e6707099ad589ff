"""Compute first returns of hidden Markov classes, crawl by crawl, for real or complex parameters.

Does not hold classes (see `classes`) nor data (see `likelihood`). Complex parameters carry derivatives in their
imaginary parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Real numbers, or complex ones whose imaginary parts carry derivatives.
Values: TypeAlias = npt.NDArray[Any]


class ClassParameters(NamedTuple):
    """Survival, coverage, departure and reactivation of a class, each of shape (...,)."""

    survival: Values
    coverage: Values
    departure: Values
    reactivation: Values

    @property
    def availability(self) -> Values:
        """Long-run probability that an eligible element is available; 1 if its state never changes."""
        changes = self.departure + self.reactivation
        is_frozen = changes == 0
        return np.asarray(np.where(is_frozen, 1.0, self.reactivation / np.where(is_frozen, 1.0, changes)))

    @property
    def memory(self) -> Values:
        """Correlation of the states of an eligible element before and after a gap of one crawl."""
        return np.asarray(1 - self.departure - self.reactivation)

    def over_gap(self, gap: FloatArray) -> ClassParameters:
        """Return the parameters of a gap of another length; the memory is at least 0 unless all gaps are 1."""
        availability, memory = self.availability, self.memory**gap
        # A class whose elements never leave the available state has memory 0, whatever the gap.
        reactivation = np.where(self.departure == 0, self.reactivation, availability * (1 - memory))
        departure = np.where(self.departure == 0, 0.0, (1 - availability) * (1 - memory))
        return ClassParameters(self.survival**gap, self.coverage, departure, reactivation)

    def with_last_axes(self, n: int) -> ClassParameters:
        """Append n axes of length 1."""
        return ClassParameters(*(np.asarray(value).reshape((*np.shape(value), *[1] * n)) for value in self))


class ReturnCourse(NamedTuple):
    """Course of an element after a capture at step 0, each of shape (..., n + 1).

    Attributes
    ----------
    first
        Probability that step j has the next capture; 0 at step 0.
    never
        Probability of no capture in steps 1 to j.
    available, dormant
        Probability of being alive in that state after step j, and not captured in steps 1 to j.
    """

    first: Values
    never: Values
    available: Values
    dormant: Values


def first_returns(parameters: ClassParameters, n: int) -> ReturnCourse:
    """Step an element that was just captured through n crawls.

    Parameters
    ----------
    parameters
        Parameters of every step on the last axis, of length n, or 1 if all steps are alike.
    n
        Number of steps, at least 0.

    Returns
    -------
    ReturnCourse
        Probabilities at steps 0 to n.
    """
    if all(value.shape[-1] == 1 for value in parameters):
        available, dormant = _unseen_states(ClassParameters(*(value[..., 0] for value in parameters)), n)
    else:
        available, dormant = _step_unseen_states(parameters, n)
    survival, coverage, departure, reactivation = parameters
    a, d = available[..., :-1], dormant[..., :-1]
    moved = survival * ((1 - departure) * a + reactivation * d)
    first = np.concatenate([np.zeros_like(available[..., :1]), coverage * moved], axis=-1)
    # Deaths are summed, because 1 minus the sum of all returns loses the digits of a small difference.
    dead = np.cumsum((1 - survival) * (a + d), axis=-1)
    never = available + dormant
    never[..., 1:] += dead
    return ReturnCourse(first, never, available, dormant)


def first_returns_by_lag(parameters: ClassParameters) -> Iterator[Values]:
    """Yield the probability of a first return after each lag, from each crawl that has so many crawls after it.

    Parameters
    ----------
    parameters
        Parameters of the gaps and of the crawls after them on the last axis, of length n.

    Yields
    ------
    numpy.ndarray
        Of shape (n + 1 - lag, ...), for lags of 1 to n: the starts are on the first axis.
    """
    shape = np.broadcast_shapes(*(value.shape for value in parameters))
    survival, coverage, departure, reactivation = (
        np.ascontiguousarray(np.moveaxis(np.broadcast_to(value, shape), -1, 0)) for value in parameters
    )
    stay, back, missed = survival * (1 - departure), survival * reactivation, 1 - coverage
    leave, rest = survival * departure, survival * (1 - reactivation)
    available, dormant = np.ones_like(stay), np.zeros_like(stay)
    for lag in range(1, len(stay) + 1):
        # A start after which there are so many crawls, and the gap before the last of these crawls.
        starts, gap = slice(0, len(stay) + 1 - lag), slice(lag - 1, len(stay))
        a, d = available[starts], dormant[starts]
        moved = stay[gap] * a + back[gap] * d
        yield coverage[gap] * moved
        available, dormant = missed[gap] * moved, leave[gap] * a + rest[gap] * d


def never_again(parameters: ClassParameters) -> tuple[Values, Values]:
    """Return the probability that no crawl after crawl t captures an element that is alive at it.

    Parameters
    ----------
    parameters
        Parameters of the gaps and of the crawls after them on the last axis, of length n.

    Returns
    -------
    available, dormant
        Probabilities for an element in that state at crawl t, of shape (..., n + 1).
    """
    shape = np.broadcast_shapes(*(value.shape for value in parameters))
    survival, coverage, departure, reactivation = (
        np.moveaxis(np.broadcast_to(value, shape), -1, 0) for value in parameters
    )
    missed, dead = survival * (1 - coverage), (1 - survival)[:, None]
    # From both states to both, by the first state.
    to_available = np.stack([missed * (1 - departure), missed * reactivation], axis=1)
    to_dormant = np.stack([survival * departure, survival * (1 - reactivation)], axis=1)
    result = np.ones((shape[-1] + 1, 2, *shape[:-1]), dtype=np.result_type(*parameters))
    for t in range(shape[-1] - 1, -1, -1):
        available, dormant = result[t + 1]
        result[t] = dead[t] + to_available[t] * available + to_dormant[t] * dormant
    available, dormant = np.moveaxis(result, 0, -1)
    return available, dormant


def _unseen_states(parameters: ClassParameters, n: int) -> tuple[Values, Values]:
    """Return the states after 0 to n equal steps without a capture, by doubling the number of steps."""
    survival, coverage, departure, reactivation = parameters
    stay, back = survival * (1 - coverage) * (1 - departure), survival * (1 - coverage) * reactivation
    leave, rest = survival * departure, survival * (1 - reactivation)
    shape = np.broadcast_shapes(*(value.shape for value in parameters))
    available = np.ones((*shape, 1), dtype=np.result_type(*parameters))
    dormant = np.zeros_like(available)
    while available.shape[-1] < n + 1:
        a = stay[..., None] * available + back[..., None] * dormant
        d = leave[..., None] * available + rest[..., None] * dormant
        available, dormant = np.concatenate([available, a], axis=-1), np.concatenate([dormant, d], axis=-1)
        stay, back, leave, rest = (
            stay * stay + back * leave,
            stay * back + back * rest,
            leave * stay + rest * leave,
            leave * back + rest * rest,
        )
    return available[..., : n + 1], dormant[..., : n + 1]


def _step_unseen_states(parameters: ClassParameters, n: int) -> tuple[Values, Values]:
    """Return the states after 0 to n steps without a capture, whose parameters differ."""
    shape = np.broadcast_shapes(*(value.shape for value in parameters))
    steps = [np.moveaxis(np.broadcast_to(value, shape), -1, 0) for value in parameters]
    available, dormant = np.zeros((2, n + 1, *shape[:-1]), dtype=np.result_type(*parameters))
    available[0] = 1
    for j in range(n):
        survival, coverage, departure, reactivation = (value[j] for value in steps)
        a, d = available[j], dormant[j]
        available[j + 1] = (1 - coverage) * survival * ((1 - departure) * a + reactivation * d)
        dormant[j + 1] = survival * (departure * a + (1 - reactivation) * d)
    return np.moveaxis(available, 0, -1), np.moveaxis(dormant, 0, -1)
