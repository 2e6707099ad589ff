"""Compute expected counts of an urn whose gaps are uneven and whose size and coverage vary from crawl to crawl.

Handles one class of elements, for many urns at once. Does not cover closed forms at constant coverage (see `model`) or
estimation (see `joint`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.curves.blocks import Factors
from crawl_urn_dagster.urn.data.histories import unions_from_recaptures

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray

# Lower bounds of 1 - c, which keep its logarithm finite at coverage 1. With the first bound a product over such a crawl
# is effectively 0. The second one is used for slopes, where a smaller number would swamp the slopes of other crawls.
_TINY = 1e-300
_SMALL = 1e-9


class ClassSlopes(NamedTuple):
    """Derivatives of the quantities of a class by n parameters.

    Attributes
    ----------
    size, coverage
        Shape (..., n, n_crawls). The first may have 1 in place of n_crawls.
    log_alpha
        Shape (..., n).
    """

    size: FloatArray
    coverage: FloatArray
    log_alpha: FloatArray


@dataclass(frozen=True, eq=False)
class ElementClass:
    """One class of elements of an urn, with one survival and with a coverage at each crawl.

    The expected counts of an urn of several classes are the sums over its classes: put the classes on a leading axis
    and sum over it. The core is the class of survival 1 and coverage 1.

    Parameters
    ----------
    times
        Times of the crawls, shape (..., n_crawls), not decreasing, in the unit of `alpha`.
    size
        Elements S_t of the class, shape (..., n_crawls). New elements replace those that do not survive, so a size
        must not fall faster than survival allows: S_t ≥ α^gap S_(t-1).
    coverage
        Fraction c_t of the class that a crawl captures, shape (..., n_crawls), in [0, 1].
    alpha
        Survival α per unit of time, shape (...), in (0, 1].

    Notes
    -----
    Leading axes broadcast. Values are not checked, because a fit creates many thousands of these objects.
    """

    times: FloatArray
    size: FloatArray
    coverage: FloatArray
    alpha: FloatArray

    def intersections(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the expected elements in both of crawls i < j, S_i c_i c_j α^(τ_j - τ_i), shape (..., n_pairs)."""
        return self._in_both(i, j, 0.0)

    def recaptures(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the expected elements captured by crawl i and *next* by crawl j > i, shape (..., n_pairs).

        They are the fraction Π (1 - c_u) over i < u < j of `intersections`, which the crawls between missed.
        """
        return self._in_both(i, j, self._log_missed(i, j, _TINY))

    def intersection_slopes(self, slopes: ClassSlopes, i: IntArray, j: IntArray) -> FloatArray:
        """Differentiate `intersections`, shape (..., n, n_pairs)."""
        return self.intersections(i, j)[..., None, :] * self._relative_slopes(slopes, i, j)

    def recapture_slopes(self, slopes: ClassSlopes, i: IntArray, j: IntArray) -> FloatArray:
        """Differentiate `recaptures`, shape (..., n, n_pairs)."""
        missed = -(slopes.coverage / np.maximum(1 - self.coverage, _SMALL)[..., None, :]).cumsum(axis=-1)
        relative = self._relative_slopes(slopes, i, j) + missed[..., j - 1] - missed[..., i]
        return np.asarray(self._in_both(i, j, self._log_missed(i, j, _SMALL))[..., None, :] * relative)

    def overlap_factors(self) -> Factors:
        """Return the factors of `intersections`."""
        lived = np.log(self.alpha)[..., None] * self.times
        return Factors(self.size * self.coverage, self.coverage, lived, lived)

    def recapture_factors(self, least: float = _TINY) -> Factors:
        """Return the factors of `recaptures`; chances to be missed are at least `least`."""
        captured, later, lived, _ = self.overlap_factors()
        missed = np.log(np.maximum(1 - self.coverage, least)).cumsum(axis=-1)
        return Factors(captured, later, lived + missed, lived + _shifted(missed))

    def overlap_factor_slopes(self, slopes: ClassSlopes) -> Factors:
        """Differentiate `overlap_factors`, shape (..., n, n_crawls) each."""
        captured = slopes.size * self.coverage[..., None, :] + self.size[..., None, :] * slopes.coverage
        lived = slopes.log_alpha[..., None] * self.times[..., None, :]
        return Factors(captured, slopes.coverage, lived, lived)

    def recapture_factor_slopes(self, slopes: ClassSlopes) -> tuple[Factors, Factors]:
        """Return `recapture_factors`, with chances to be missed that are not too small for slopes, and derivatives."""
        captured, later, lived, _ = self.overlap_factor_slopes(slopes)
        missed = -(slopes.coverage / np.maximum(1 - self.coverage, _SMALL)[..., None, :]).cumsum(axis=-1)
        return self.recapture_factors(_SMALL), Factors(captured, later, lived + missed, lived + _shifted(missed))

    def unions(self) -> FloatArray:
        """Return the expected distinct elements of crawls i to j, shape (..., n_crawls, n_crawls), 0 for i > j."""
        captured = self.size * self.coverage
        n = captured.shape[-1]
        i, j = np.triu_indices(n, k=1)
        return unions_from_recaptures(captured, table_of_pairs(self.recaptures(i, j), i, j, n))

    def unions_from_first(self) -> FloatArray:
        """Return the expected distinct elements of crawls 0 to j, shape (..., n_crawls): the first row of `unions`.

        New at crawl j are the captured elements that no earlier crawl captured.
        """
        survived = np.exp(np.log(self.alpha)[..., None] * np.diff(self.times))
        never = np.ones_like(self.coverage)
        for j in range(1, never.shape[-1]):
            unseen = survived[..., j - 1] * never[..., j - 1] * (1 - self.coverage[..., j - 1])
            kept = self.size[..., j - 1] / self.size[..., j]
            never[..., j] = unseen * kept + 1 - survived[..., j - 1] * kept
        return np.asarray((self.size * self.coverage * never).cumsum(axis=-1))

    def in_all(self) -> FloatArray:
        """Return the expected elements in all crawls, S_0 α^(τ_last - τ_first) Π c_t, shape (...)."""
        lifetime = self.times[..., -1] - self.times[..., 0]
        return np.asarray(self.size[..., 0] * self.alpha**lifetime * self.coverage.prod(axis=-1))

    def _log_missed(self, i: IntArray, j: IntArray, least: float) -> FloatArray:
        missed = np.log(np.maximum(1 - self.coverage, least)).cumsum(axis=-1)
        return np.asarray(missed[..., j - 1] - missed[..., i])

    def _relative_slopes(self, slopes: ClassSlopes, i: IntArray, j: IntArray) -> FloatArray:
        """Differentiate the logarithm of `intersections`; a coverage of 0 has slope 0."""
        coverage = slopes.coverage / np.where(self.coverage > 0, self.coverage, 1.0)[..., None, :]
        captured = slopes.size / self.size[..., None, :] + coverage
        apart = self.times[..., j] - self.times[..., i]
        return np.asarray(captured[..., i] + coverage[..., j] + slopes.log_alpha[..., None] * apart[..., None, :])

    def _in_both(self, i: IntArray, j: IntArray, log_fraction: FloatArray | float) -> FloatArray:
        captured = self.size * self.coverage
        log_survival = np.log(self.alpha)[..., None] * (self.times[..., j] - self.times[..., i])
        return np.asarray(captured[..., i] * self.coverage[..., j] * np.exp(log_survival + log_fraction))


def _shifted(values: FloatArray) -> FloatArray:
    """Return the values of the crawl before each crawl, 0 for the first."""
    return np.concatenate([np.zeros_like(values[..., :1]), values[..., :-1]], axis=-1)


def table_of_pairs(values: FloatArray, i: IntArray, j: IntArray, n: int) -> FloatArray:
    """Arrange values of pairs of n crawls, shape (..., n_pairs), as a table of shape (..., n, n), 0 elsewhere."""
    table = np.zeros((*values.shape[:-1], n, n))
    table[..., i, j] = values
    return table
