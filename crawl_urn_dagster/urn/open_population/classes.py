"""Hold the expected elements, survival and coverage of each class of a population, crawl by crawl.

Does not fit; see `ladder`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray


@dataclass(frozen=True, eq=False)
class PopulationClass:
    """Expected course of the elements of one class over T crawls.

    Attributes
    ----------
    name
        ``core``, ``shell``, ``shell_1``, ``shell_2`` or ``long_lived``.
    eligible
        Expected eligible elements at each crawl, shape (T,), each at least 0.
    survival
        Probability of surviving the gap after each crawl but the last, shape (T - 1,), in [0, 1].
    coverage
        Probability that an eligible element is captured by each crawl, shape (T,), in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> shell = PopulationClass("shell", np.full(3, 100.0), np.full(2, 0.5), np.full(3, 0.8))
    >>> shell.never_again
    array([0.56, 0.6 , 1.  ])
    >>> shell.never_before
    array([1.  , 0.6 , 0.56])
    """

    name: str
    eligible: FloatArray
    survival: FloatArray
    coverage: FloatArray

    @property
    def never_again(self) -> FloatArray:
        """Probability that an element alive at a crawl is captured by no later crawl, shape (T,)."""
        result = np.ones_like(self.coverage)
        for t in range(len(result) - 2, -1, -1):
            missed = (1 - self.coverage[t + 1]) * result[t + 1]
            result[t] = 1 - self.survival[t] + self.survival[t] * missed
        return result

    @property
    def never_before(self) -> FloatArray:
        """Probability that an element alive at a crawl was captured by no earlier crawl, shape (T,)."""
        result = np.ones_like(self.coverage)
        for t in range(1, len(result)):
            older = (
                min(self.survival[t - 1] * self.eligible[t - 1] / self.eligible[t], 1.0)
                if self.eligible[t] > 0
                else 0.0
            )
            missed = (1 - self.coverage[t - 1]) * result[t - 1]
            result[t] = 1 - older + older * missed
        return result
