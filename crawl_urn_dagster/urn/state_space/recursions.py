"""Compute first returns of hidden Markov classes, crawl by crawl, for real or complex parameters.

Does not hold classes (see `classes`) nor data (see `likelihood`). Complex parameters carry derivatives in their
imaginary parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
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
        """Long-run probability that a living element is available; 1 if its state never changes."""
        changes = self.departure + self.reactivation
        is_frozen = changes == 0
        return np.asarray(np.where(is_frozen, 1.0, self.reactivation / np.where(is_frozen, 1.0, changes)))

    @property
    def memory(self) -> Values:
        """Correlation of the states of a living element before and after a gap of one crawl."""
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
        Probability that the next capture is that of step j; 0 at step 0.
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
    shape = np.broadcast_shapes(*(value.shape for value in parameters))
    steps = ClassParameters(*(np.moveaxis(np.broadcast_to(value, shape), -1, 0) for value in parameters))
    dtype = np.result_type(*parameters)
    first, never, available, dormant = np.zeros((4, n + 1, *shape[:-1]), dtype=dtype)
    never[0] = available[0] = 1
    dead = np.zeros(shape[:-1], dtype=dtype)
    for j in range(1, n + 1):
        at = j - 1 if shape[-1] > 1 else 0
        survival, coverage, departure, reactivation = (value[at] for value in steps)
        a, d = available[j - 1], dormant[j - 1]
        # Deaths are summed, because 1 minus the sum of all returns loses the digits of a small difference.
        dead = dead + (1 - survival) * (a + d)
        moved = survival * ((1 - departure) * a + reactivation * d)
        dormant[j] = survival * (departure * a + (1 - reactivation) * d)
        first[j] = coverage * moved
        available[j] = (1 - coverage) * moved
        never[j] = available[j] + dormant[j] + dead
    return ReturnCourse(*(np.moveaxis(value, 0, -1) for value in (first, never, available, dormant)))
