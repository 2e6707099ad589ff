"""Test whether a joint fit describes its collection: permanent core, lack of fit by lag, new elements per crawl.

Does not draw or refit replicates (see `bootstrap`) and does not test for revisit delays (see `violation`).

Each statistic of the collection is compared with its spread over the replicates of a bootstrap. The replicates are
refitted, so the spread includes the error of the fit itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.distributions import student_tail

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.curves.expectations import ElementClass
    from crawl_urn_dagster.urn.data.counts import Counts
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray
    from crawl_urn_dagster.urn.uncertainty.bootstrap import Bootstrap


# Fewer lengths of windows do not separate a transient from a tail.
_FEWEST_LENGTHS = 5


class CoreTest(NamedTuple):
    """Test of a permanent core, by the elements that every crawl captured.

    Attributes
    ----------
    in_all
        Observed elements in all crawls.
    expected
        Expected elements in all crawls, K + S α^(τ_last - τ_first) Π c_t, given the fitted core and shell.
    z
        Observed minus expected, divided by the standard deviation of this difference in the bootstrap. It is below 0
        if elements of the core are missed or leave.
    p_value
        Probability of a z at least as far from 0 if the core is permanent, by Student's t with n_crawls - 1 degrees of
        freedom.
    """

    in_all: float
    expected: float
    z: float
    p_value: float


class LackOfFit(NamedTuple):
    """Mean standardised residuals by kind of point and lag; arrays of shape (n_groups,).

    A standardised residual is observed minus expected, divided by the standard deviation that the weights assume.

    Attributes
    ----------
    kind
        Kind of point, as in `Points`.
    lag
        Crawls from the first to the last crawl of a point.
    mean
        Mean over the points; its expectation is 0.
    se
        Standard deviation of the mean over the replicates, or the effect of one more element if that is larger. The
        replicates give no smaller error for a count that is rare in them.
    n_points
        Number of points in the group.
    """

    kind: npt.NDArray[np.str_]
    lag: IntArray
    mean: FloatArray
    se: FloatArray
    n_points: IntArray


class TransientFall(NamedTuple):
    """Fall of the new fraction from the transient of the discovery curve to its tail.

    The transient is the first half of the windows that start at the first crawl, and the tail is the second half. The
    new fraction of a window is the share of its last crawl that no earlier crawl captured.

    Attributes
    ----------
    observed, expected
        Mean new fraction of the transient minus that of the tail.
    se
        Standard deviation of observed minus expected over the replicates.
    """

    observed: float
    expected: float
    se: float


class Increments(NamedTuple):
    """New fraction of each crawl but the first: the share of its elements that no earlier crawl captured.

    Attributes
    ----------
    observed, expected
        Shape (n_crawls - 1,). Observed is NaN where a window that starts at the first crawl is not published.
    se
        Standard deviation of observed minus expected over the replicates, shape (n_crawls - 1,).
    fall
        Fall of the new fraction from transient to tail; None if there are fewer than six crawls, or if no window of one
        half is published.
    """

    observed: FloatArray
    expected: FloatArray
    se: FloatArray
    fall: TransientFall | None


def check_core(bootstrap: Bootstrap, in_all: float) -> CoreTest:
    """Test whether the core is permanent, by the number of elements in all crawls.

    Parameters
    ----------
    bootstrap
        Refitted replicates of the joint fit.
    in_all
        Elements in all crawls of the fit, in the unit of its counts.

    Returns
    -------
    CoreTest
        Observed and expected elements in all crawls, z and p-value.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Counts, bootstrap_joint, fit_joint, simulate
    >>> times = np.arange(8.0)
    >>> histories = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> intersections, unions = histories.intersections().astype(float), histories.unions().astype(float)
    >>> counts = Counts(times, intersections.diagonal(), intersections, unions)
    >>> bootstrap = bootstrap_joint(fit_joint(counts, model="core_shell", clock="crawl"), seed=1, n_replicates=20)
    >>> check_core(bootstrap, histories.in_all).p_value > 0.001
    True
    """
    core, shell = bootstrap.fit.details.urn
    cores, shells = bootstrap.urn
    expected = float(core + shell.in_all())
    spread = bootstrap.replicates.in_all - (cores + shells.in_all())
    # A count is known to no better than one element, even if it is 0 in every replicate.
    z = float((in_all - expected) / max(float(np.std(spread, ddof=1)), bootstrap.fit.details.counts.one_in))
    p_value = 2 * float(student_tail(abs(z), len(bootstrap.fit.details.counts.times) - 1))
    return CoreTest(in_all, expected, z, p_value)


def lack_of_fit(bootstrap: Bootstrap) -> LackOfFit:
    """Compute the mean standardised residual of each kind of point and lag, with its standard error.

    Parameters
    ----------
    bootstrap
        Refitted replicates of the joint fit.

    Returns
    -------
    LackOfFit
        Means by kind of point and lag, with standard errors.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Counts, bootstrap_joint, fit_joint, simulate
    >>> times = np.arange(8.0)
    >>> histories = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> intersections, unions = histories.intersections().astype(float), histories.unions().astype(float)
    >>> counts = Counts(times, intersections.diagonal(), intersections, unions)
    >>> bootstrap = bootstrap_joint(fit_joint(counts, model="core_shell", clock="crawl"), seed=1, n_replicates=20)
    >>> found = lack_of_fit(bootstrap)
    >>> bool((abs(found.mean) < 5 * found.se).all())
    True
    """
    points = bootstrap.fit.details.points
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
    one_more = bootstrap.fit.details.counts.one_in / np.sqrt(bootstrap.fit.details.variance) @ averages / n_points
    return LackOfFit(
        kind=points.kind[first],
        lag=lags[first],
        mean=means(bootstrap.fit.details.counts, *bootstrap.fit.details.urn),
        se=np.maximum(np.std(spread, axis=0, ddof=1), one_more),
        n_points=n_points,
    )


def check_increments(bootstrap: Bootstrap) -> Increments:
    """Compare the observed new fraction of each crawl with the new fraction that the fit expects.

    Parameters
    ----------
    bootstrap
        Refitted replicates of the joint fit.

    Returns
    -------
    Increments
        Observed and expected new fractions, with standard errors.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Counts, bootstrap_joint, fit_joint, simulate
    >>> times = np.arange(8.0)
    >>> histories = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> intersections, unions = histories.intersections().astype(float), histories.unions().astype(float)
    >>> counts = Counts(times, intersections.diagonal(), intersections, unions)
    >>> bootstrap = bootstrap_joint(fit_joint(counts, model="core_shell", clock="crawl"), seed=1, n_replicates=20)
    >>> check_increments(bootstrap).observed.shape
    (7,)
    """
    counts, replicated = bootstrap.fit.details.counts, bootstrap.replicates.counts
    observed, expected = _new_observed(counts), _new_expected(counts, bootstrap.fit.details.urn[1])
    spread = _new_observed(replicated) - _new_expected(replicated, bootstrap.urn[1])
    fall = _transient_fall(observed, expected, spread)
    return Increments(observed, expected, np.std(spread, axis=0, ddof=1), fall)


def _transient_fall(observed: FloatArray, expected: FloatArray, spread: FloatArray) -> TransientFall | None:
    known = np.flatnonzero(np.isfinite(observed))
    is_tail = known >= observed.size // 2
    if observed.size < _FEWEST_LENGTHS or is_tail.all() or not is_tail.any():
        return None
    # Mean of the transient minus that of the tail.
    weights = np.where(is_tail, -1 / is_tail.sum(), 1 / (~is_tail).sum())
    fall, expected_fall = (float(new[known] @ weights) for new in (observed, expected))
    return TransientFall(fall, expected_fall, float(np.std(spread[:, known] @ weights, ddof=1)))


def _new_observed(counts: Counts) -> FloatArray:
    later = np.arange(1, len(counts.times))
    unions = np.concatenate([counts.sizes[..., :1], counts.unions_of(np.zeros_like(later), later)], axis=-1)
    return np.asarray(np.diff(unions, axis=-1) / counts.sizes[..., 1:])


def _new_expected(counts: Counts, shell: ElementClass) -> FloatArray:
    # The core is part of every union, so it does not contribute to the increments.
    return np.asarray(np.diff(shell.unions_from_first(), axis=-1) / counts.sizes[..., 1:])
