"""Whether a joint fit holds: the immortal core, lack of fit by lag, and what is new in each crawl.

Here: each statistic of the collection beside its spread over the replicates of a bootstrap, which are refitted and so
have the fit's own error in them. Not here: the bootstrap (`bootstrap`), or the rule that no urn fits (`violation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import t as student_t

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.curves.expectations import ElementClass
    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray
    from crawl_urn_dagster.urn.uncertainty.bootstrap import Bootstrap


class CoreTest(NamedTuple):
    """Whether there is a core of elements that are in every crawl.

    Attributes
    ----------
    in_all
        Elements in all crawls, as observed.
    expected
        K + S α^(τ_last - τ_first) Π c_t, of core and shell as fitted.
    z
        Observed less expected over the standard deviation of that in the bootstrap; below 0 when elements of the core
        are missed or leave.
    p_value
        Probability of a z at least as far from 0 when there is a core, by Student's t with crawls less 1 degrees of
        freedom.
    """

    in_all: float
    expected: float
    z: float
    p_value: float


class LackOfFit(NamedTuple):
    """Mean standardised residuals, (observed - expected) / standard deviation of the weights, by kind and lag.

    All arrays have the shape (kinds and lags,).

    Attributes
    ----------
    kind
        As in `Points`.
    lag
        Crawls from first to last.
    mean
        Mean over the points; 0 is expected.
    se
        Standard deviation of the mean over the replicates, or what one more element moves it by if that is larger:
        of a count that is rare in the replicates they say no more.
    n_points
        Points that the mean is of.
    """

    kind: npt.NDArray[np.str_]
    lag: IntArray
    mean: FloatArray
    se: FloatArray
    n_points: IntArray


class Increments(NamedTuple):
    """New fraction of each crawl but the first: of its elements, those that no earlier crawl holds.

    Attributes
    ----------
    observed, expected
        Shape (crawls - 1,); observed is NaN where a window from the first crawl on is not published.
    se
        Standard deviation of observed less expected over the replicates.
    """

    observed: FloatArray
    expected: FloatArray
    se: FloatArray


def check_core(bootstrap: Bootstrap, in_all: float) -> CoreTest:
    """Test that the core is in every crawl, by the elements that are.

    Parameters
    ----------
    in_all
        Elements in all crawls of the fit, in the unit of its counts.
    """
    core, shell = bootstrap.fit.urn
    cores, shells = bootstrap.urn
    expected = float(core + shell.in_all())
    spread = bootstrap.replicates.in_all - (cores + shells.in_all())
    # A count is known to no better than one element, also where it is 0 in every replicate.
    z = float((in_all - expected) / max(float(np.std(spread, ddof=1)), bootstrap.fit.counts.one_in))
    p_value = 2 * float(student_t.sf(abs(z), len(bootstrap.fit.counts.times) - 1))
    return CoreTest(in_all, expected, z, p_value)


def lack_of_fit(bootstrap: Bootstrap) -> LackOfFit:
    """Mean standardised residual of each kind of point and lag, and its standard error."""
    points = bootstrap.fit.points
    lags = points.j - points.i
    _, first, group, n_points = np.unique(
        np.column_stack([np.unique(points.kind, return_inverse=True)[1], lags]),
        axis=0,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    averages = (group[:, None] == np.arange(len(first))) / n_points

    def means(counts: Counts, core: FloatArray, shell: ElementClass) -> FloatArray:
        residuals = points.count(counts) - points.expect(core, shell)
        return np.asarray(residuals / np.sqrt(points.variance(counts, core, shell)) @ averages)

    spread = means(bootstrap.replicates.counts, *bootstrap.urn)
    one_more = bootstrap.fit.counts.one_in / np.sqrt(bootstrap.fit.variance) @ averages / n_points
    return LackOfFit(
        kind=points.kind[first],
        lag=lags[first],
        mean=means(bootstrap.fit.counts, *bootstrap.fit.urn),
        se=np.maximum(np.std(spread, axis=0, ddof=1), one_more),
        n_points=n_points,
    )


def check_increments(bootstrap: Bootstrap) -> Increments:
    """Compare the new fraction of each crawl with what the fit expects of it."""
    counts, replicated = bootstrap.fit.counts, bootstrap.replicates.counts
    expected = _new_expected(counts, bootstrap.fit.urn[1])
    spread = _new_observed(replicated) - _new_expected(replicated, bootstrap.urn[1])
    return Increments(_new_observed(counts), expected, np.std(spread, axis=0, ddof=1))


def _new_observed(counts: Counts) -> FloatArray:
    unions = np.concatenate([counts.sizes[..., :1], counts.unions[..., 0, 1:]], axis=-1)
    return np.asarray(np.diff(unions, axis=-1) / counts.sizes[..., 1:])


def _new_expected(counts: Counts, shell: ElementClass) -> FloatArray:
    # The core is in the union from the first crawl on.
    return np.asarray(np.diff(shell.unions()[..., 0, :], axis=-1) / counts.sizes[..., 1:])
