"""What is expected of an urn whose gaps are uneven and whose size and coverage vary from crawl to crawl.

Here: expected overlaps, recaptures and unions of one class of elements, in counts, for many urns at once. Not
here: urns of constant coverage, in closed form (`model`), or estimation (`joint`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.histories import unions_from_recaptures

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray

# Stands for 1 - c = 0, so that its logarithm is a number: a product over a crawl of coverage 1 is then as good as 0,
# and its slope is one of two numbers that do not swamp those of other crawls.
_NOTHING = 1e-300
_NEXT_TO_NOTHING = 1e-9


class ClassSlopes(NamedTuple):
    """Derivatives of a class of elements by n parameters.

    Attributes
    ----------
    size, coverage
        Shapes (..., n, crawls); the first may have 1 in place of crawls.
    log_alpha
        Shape (..., n).
    """

    size: FloatArray
    coverage: FloatArray
    log_alpha: FloatArray


@dataclass(frozen=True, eq=False)
class ElementClass:
    """One class of elements of an urn: of one survival, and of one coverage at each crawl.

    What is expected of an urn of several classes is the sum over its classes: put them on a leading axis and sum
    over it. The core is the class of survival 1 and coverage 1.

    Parameters
    ----------
    times
        Shape (..., crawls): times of the crawls, not decreasing, in alpha's unit.
    size
        Shape (..., crawls): elements S_t of the class. Births replace what does not survive, so a size may not fall
        faster than survival lets it: S_t ≥ α^gap S_(t-1).
    coverage
        Shape (..., crawls): fraction c_t of the class that a crawl samples, in [0, 1].
    alpha
        Shape (...): survival α per unit of time, in (0, 1].

    Notes
    -----
    Leading axes broadcast. Values are not checked, for a fit makes many thousands of these.
    """

    times: FloatArray
    size: FloatArray
    coverage: FloatArray
    alpha: FloatArray

    def intersections(self, i: IntArray, j: IntArray) -> FloatArray:
        """Elements expected in both of crawls i < j, S_i c_i c_j α^(τ_j - τ_i), shape (..., pairs)."""
        return self._in_both(i, j, 0.0)

    def recaptures(self, i: IntArray, j: IntArray) -> FloatArray:
        """Elements expected in crawl i and *next* in j > i, shape (..., pairs).

        Those of `intersections` that the crawls between missed, a fraction Π (1 - c_u) over i < u < j.
        """
        return self._in_both(i, j, self._log_missed(i, j, _NOTHING))

    def slopes_of_intersections(self, slopes: ClassSlopes, i: IntArray, j: IntArray) -> FloatArray:
        """Differentiate `intersections`, shape (..., n, pairs)."""
        return self.intersections(i, j)[..., None, :] * self._relative_slopes(slopes, i, j)

    def slopes_of_recaptures(self, slopes: ClassSlopes, i: IntArray, j: IntArray) -> FloatArray:
        """Differentiate `recaptures`, shape (..., n, pairs)."""
        least = _NEXT_TO_NOTHING
        missed = -(slopes.coverage / np.maximum(1 - self.coverage, least)[..., None, :]).cumsum(axis=-1)
        relative = self._relative_slopes(slopes, i, j) + missed[..., j - 1] - missed[..., i]
        return np.asarray(self._in_both(i, j, self._log_missed(i, j, least))[..., None, :] * relative)

    def unions(self) -> FloatArray:
        """Distinct elements expected in crawls i to j, shape (..., crawls, crawls), 0 below the diagonal."""
        captured = self.size * self.coverage
        n = captured.shape[-1]
        i, j = np.triu_indices(n, k=1)
        return unions_from_recaptures(captured, table_of_pairs(self.recaptures(i, j), i, j, n))

    def in_all(self) -> FloatArray:
        """Elements expected in all crawls, S_0 α^(τ_last - τ_first) Π c_t, shape (...)."""
        lifetime = self.times[..., -1] - self.times[..., 0]
        return np.asarray(self.size[..., 0] * self.alpha**lifetime * self.coverage.prod(axis=-1))

    def _log_missed(self, i: IntArray, j: IntArray, least: float) -> FloatArray:
        missed = np.log(np.maximum(1 - self.coverage, least)).cumsum(axis=-1)
        return np.asarray(missed[..., j - 1] - missed[..., i])

    def _relative_slopes(self, slopes: ClassSlopes, i: IntArray, j: IntArray) -> FloatArray:
        """Differentiate the logarithm of `intersections`; nothing moves a coverage of 0."""
        coverage = slopes.coverage / np.where(self.coverage > 0, self.coverage, 1.0)[..., None, :]
        captured = slopes.size / self.size[..., None, :] + coverage
        apart = self.times[..., j] - self.times[..., i]
        return np.asarray(captured[..., i] + coverage[..., j] + slopes.log_alpha[..., None] * apart[..., None, :])

    def _in_both(self, i: IntArray, j: IntArray, log_fraction: FloatArray | float) -> FloatArray:
        captured = self.size * self.coverage
        log_survival = np.log(self.alpha)[..., None] * (self.times[..., j] - self.times[..., i])
        return np.asarray(captured[..., i] * self.coverage[..., j] * np.exp(log_survival + log_fraction))


def table_of_pairs(values: FloatArray, i: IntArray, j: IntArray, n: int) -> FloatArray:
    """Values of pairs of n crawls, shape (..., pairs), as a table of shape (..., n, n) that is 0 elsewhere."""
    table = np.zeros((*values.shape[:-1], n, n))
    table[..., i, j] = values
    return table
