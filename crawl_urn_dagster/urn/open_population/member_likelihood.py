"""Search for the maximum of the likelihood of one member of the ladder.

Does not define members (see `members`) or the likelihood of their classes (see `likelihood`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.data.thinning import is_long
from crawl_urn_dagster.urn.open_population.likelihood import MixtureLikelihood
from crawl_urn_dagster.urn.open_population.newton import Maximum, maximise_within
from crawl_urn_dagster.urn.open_population.quasi_newton import approach

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.open_population.likelihood import HistoryRows
    from crawl_urn_dagster.urn.open_population.members import Layout
    from crawl_urn_dagster.urn.open_population.starts import Found, Sizes

_ITERATIONS_OF_A_START = 10
# Step that differentiates the gradient at a start.
_DIFFERENCE = 1e-5


class MemberLikelihood:
    """Likelihood of one member as a function of the parameters of the search.

    Parameters
    ----------
    layout
        Parameters of the member.
    single, mixed
        Histories for members with one shell and no other class that crawls miss, and for all others.
    sizes
        Counts of the histories.
    """

    def __init__(self, layout: Layout, single: HistoryRows, mixed: HistoryRows, sizes: Sizes) -> None:
        self.layout = layout
        self.sizes = sizes
        self.designs = layout.designs()
        n_soft = sum(not design.is_always_captured for design in self.designs)
        self._likelihood = MixtureLikelihood(self.designs, single if n_soft == 1 else mixed)
        self.core = layout.index["stable_eligible"].start if layout.is_linear_core else None

    def logarithmic(self, parameters: FloatArray) -> FloatArray:
        """Return the parameters with the logarithm of the elements of the core."""
        if self.core is None:
            return parameters
        result = parameters.copy()
        result[self.core] = np.log(parameters[self.core] * self.sizes.captured)
        return result

    def value(self, parameters: FloatArray) -> float:
        """Return the log-likelihood."""
        return self._likelihood.value(self.logarithmic(parameters))

    def gradient(self, parameters: FloatArray) -> FloatArray:
        """Return its gradient."""
        gradient = self._likelihood.gradient(self.logarithmic(parameters))
        if self.core is not None:
            gradient[self.core] /= parameters[self.core]
        return gradient

    def derivatives(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return its gradient and second derivatives."""
        gradient, hessian = self._likelihood.information(self.logarithmic(parameters))
        if self.core is not None:
            k, core = self.core, parameters[self.core]
            hessian[k, k] -= gradient[k]  # second derivative of the logarithm
            hessian[k, :] /= core
            hessian[:, k] /= core
            gradient[k] /= core
        return gradient, hessian

    def _curvature(self, near: Found | None) -> Callable[[FloatArray], FloatArray]:
        """Return a function for the second derivatives at a start, which approximates them if a simpler fit is near.

        Those by the parameters of single crawls and gaps are then the ones of the simpler fit.
        """
        here = self.layout.by_crawl
        if near is None or near.layout.by_crawl.size != here.size:
            return lambda start: self.derivatives(start)[1]
        hessian = np.zeros((self.layout.n_parameters, self.layout.n_parameters))
        hessian[np.ix_(here, here)] = near.hessian[np.ix_(near.layout.by_crawl, near.layout.by_crawl)]
        others = np.setdiff1d(np.arange(self.layout.n_parameters), here)

        def approximate(start: FloatArray) -> FloatArray:
            slope = self.gradient(start)
            for other in others:
                moved = start.copy()
                moved[other] += _DIFFERENCE * max(abs(start[other]), 1.0)
                column = (self.gradient(moved) - slope) / (moved[other] - start[other])
                hessian[other], hessian[:, other] = column, column
            return hessian

        return approximate

    def maximise(self, starts: Sequence[FloatArray], nearest: Found | None = None) -> Maximum:
        """Search from several starts, with the second derivatives of a simpler fit if it is near."""
        bounds = self.layout.bounds(self.sizes.captured)
        if is_long(self.layout.n_crawls):
            functions = self.value, self.gradient, lambda at: self.derivatives(at)[1], self._curvature(nearest)
            return maximise_within(self.value, self.derivatives, approach(functions, starts, bounds)[0], bounds)
        if len(starts) > 1:
            tried = [
                maximise_within(self.value, self.derivatives, start, bounds, iterations=_ITERATIONS_OF_A_START)
                for start in starts
            ]
            start = max(tried, key=lambda maximum: maximum.value).parameters
        else:
            start = starts[0]
        return maximise_within(self.value, self.derivatives, start, bounds)
