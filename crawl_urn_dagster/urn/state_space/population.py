"""Estimate the known eligible elements of each crawl: those alive that some crawl so far has captured.

An element that was captured before and after a crawl was alive at it, whatever the model. The model adds the elements
that were not captured again, and those that only crawls before the first one captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.distributions import student_quantile
from crawl_urn_dagster.urn.data.histories import first_and_last
from crawl_urn_dagster.urn.state_space.efforts import shifted
from crawl_urn_dagster.urn.state_space.fitting import mixture_at
from crawl_urn_dagster.urn.state_space.recursions import ClassParameters, Values, never_again

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray
    from crawl_urn_dagster.urn.state_space.efforts import Efforts
    from crawl_urn_dagster.urn.state_space.fitting import StateSpaceFit
    from crawl_urn_dagster.urn.state_space.likelihood import Likelihood

_STEP = 1e-20
_DIFFERENCE = 1e-4
_LEAST_UNSEEN = 1e-9
# Relative error of the number of elements that only crawls before the first one captured.
_EARLIER_ERROR = 1 / 6


class Population(NamedTuple):
    """Known eligible elements V_t of each crawl.

    Attributes
    ----------
    eligible
        Known eligible elements of each crawl, shape (n_crawls,).
    certain
        Elements of which the histories show that they were alive, shape (n_crawls,).
    earlier
        Part of `eligible` that only crawls before the first one captured, shape (n_crawls,).
    sizes
        Captured elements M_t of each crawl, shape (n_crawls,).
    survival
        Share of the known eligible elements of each crawl but the last that survive the gap, shape (n_crawls - 1,); NaN
        if there is none.
    covariance
        Covariance of the error of `eligible`, with the effect of efforts, shape (n_crawls, n_crawls).
    survival_se
        Standard error of the mean survival, with the effect of efforts.
    """

    eligible: FloatArray
    certain: FloatArray
    earlier: FloatArray
    sizes: FloatArray
    survival: FloatArray
    covariance: FloatArray
    survival_se: float

    @property
    def completeness(self) -> FloatArray:
        """Share of the known eligible elements that each crawl captured; NaN if there is none."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.sizes / self.eligible)

    @property
    def completeness_of_window(self) -> float:
        """Mean completeness of the crawls but the first, if no crawl before it captured elements; NaN if unknown."""
        with np.errstate(invalid="ignore"):
            shares = (self.sizes / (self.eligible - self.earlier))[1:]
        known = shares[np.isfinite(shares)]
        return float(known.mean()) if known.size else np.nan

    @property
    def se(self) -> FloatArray:
        """Standard error of `eligible`."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the 95 % intervals of `eligible`, each of shape (n_crawls,).

        The lower end is at least `certain`. Above, the elements that are not certain are log-normal (as in Chao 1987),
        because a small estimate of them comes with a small error. The width follows Student's t, because the spread
        of the efforts follows from the crawls.
        """
        quantile = student_quantile(0.975, max(len(self.eligible) - 1, 1))
        unseen = np.maximum(self.eligible - self.certain, _LEAST_UNSEEN)
        factor = np.exp(quantile * np.sqrt(np.log1p((self.se / unseen) ** 2)))
        low = self.eligible * np.exp(-quantile * self.se / np.maximum(self.eligible, _LEAST_UNSEEN))
        return np.maximum(low, np.minimum(self.certain, self.eligible)), np.asarray(self.certain + unseen * factor)


def estimate_population(
    fit: StateSpaceFit, likelihood: Likelihood, histories: CaptureHistoryCounts, efforts: Efforts
) -> Population:
    """Estimate the known eligible elements of each crawl.

    Parameters
    ----------
    fit
        Fit by the conditional likelihood.
    likelihood
        Likelihood that it maximises.
    histories
        Histories that it was fitted to.
    efforts
        Their efforts under the fit.

    Returns
    -------
    Population
        Known eligible elements.
    """
    n = fit.n_crawls
    captured = np.flatnonzero(histories.seen.any(axis=1) & (histories.elements > 0))
    seen, elements = histories.seen[captured], histories.elements[captured].astype(np.float64)
    first, last = first_and_last(seen)
    sizes = elements @ seen
    entered = np.bincount(first, weights=elements, minlength=n).cumsum()
    left = np.append(0.0, np.bincount(last, weights=elements, minlength=n).cumsum()[:-1])
    certain = entered - left

    # Elements by merged row and last capture; only their class probabilities depend on the parameters.
    by_last = np.zeros((len(likelihood.data.elements), n))
    np.add.at(by_last, (likelihood.data.row, last), elements)

    at_first = likelihood.data.first == 0

    def unseen(point: FloatArray) -> FloatArray:
        """Return eligible elements without a capture to come, or before, and first captures known before crawl 0."""
        posterior = likelihood(point).posterior
        later = _later(likelihood, point, posterior.T @ by_last, np.zeros((1, n)))[0]
        initial = posterior[at_first].T @ likelihood.data.elements[at_first]
        return np.array([later, *_earlier(likelihood, point, initial)])

    later, earlier, returned = unseen(fit.point)
    eligible = certain + later + earlier
    new = np.append(0, np.diff(entered))
    survival = _survival(eligible, new, returned)
    free = np.flatnonzero(~fit.at_bound)
    steps = _DIFFERENCE * np.eye(fit.point.size)[free]
    by_parameter, survival_by_parameter = np.zeros((n, fit.point.size)), np.zeros(fit.point.size)
    for k, step in zip(free, steps, strict=True):
        ends = [unseen(fit.point + sign * step) for sign in (1, -1)]
        by_parameter[:, k] = (ends[0] - ends[1])[:2].sum(axis=0) / (2 * _DIFFERENCE)
        up, down = (_mean(_survival(certain + end[:2].sum(axis=0), new, end[2])) for end in ends)
        survival_by_parameter[k] = (up - down) / (2 * _DIFFERENCE)
    ended = likelihood(fit.point).posterior.T @ by_last
    by_effort = _later(likelihood, fit.point, ended, np.eye(n) * (1j * _STEP)).imag.T / _STEP
    # Efforts move the parameters, and what the missing captures at the end say of survival.
    moved = by_parameter @ efforts.shift - by_effort
    covariance = by_parameter @ fit.covariance @ by_parameter.T + moved @ efforts.covariance @ moved.T
    # Crawls before the first one are not observed: their efforts, by about half of which the elements that only they
    # captured change, and whether the population was then as later.
    relative_variance = efforts.sd**2 / 4 + _EARLIER_ERROR**2
    covariance += np.diag(later + earlier) + np.outer(earlier, earlier) * relative_variance
    by_eligible = _mean_survival_slopes(eligible, survival)
    survival_moved = survival_by_parameter @ efforts.shift - by_eligible @ by_effort
    survival_variance = float(survival_by_parameter @ fit.covariance @ survival_by_parameter)
    survival_variance += float(survival_moved @ efforts.covariance @ survival_moved)
    survival_variance += _mean(survival * (1 - survival) / np.maximum(eligible[:-1], 1)) / max(n - 1, 1)
    return Population(eligible, certain, earlier, sizes, survival, covariance, np.sqrt(max(survival_variance, 0.0)))


def _survival(eligible: FloatArray, new: FloatArray, returned: FloatArray) -> FloatArray:
    """Return the share of the eligible elements of each crawl but the last that are alive at the next; NaN of none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(eligible[:-1] > 0, (eligible - new + returned)[1:] / eligible[:-1], np.nan))


def _mean(values: FloatArray) -> float:
    """Return the mean of the values that are known; 0 without one."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else 0.0


def _mean_survival_slopes(eligible: FloatArray, survival: FloatArray) -> FloatArray:
    """Return the derivatives of the mean survival with respect to the eligible elements, shape (n_crawls,)."""
    is_known = np.isfinite(survival)
    share = np.divide(1, eligible[:-1], out=np.zeros(survival.size), where=is_known) / max(is_known.sum(), 1)
    return np.asarray(np.append(0, share) - np.append(np.where(is_known, survival, 0) * share, 0))


def _later(likelihood: Likelihood, point: FloatArray, ended: FloatArray, effort: Values) -> Values:
    """Return the eligible elements captured before and by no later crawl, shape (efforts, n_crawls).

    Elements are given by class and last capture, efforts of shape (efforts, n_crawls).
    """
    n, kinds = effort.shape[1], likelihood.layout.kinds
    parameters = likelihood.tables(point).parameters
    gaps = np.ones(n - 1) if likelihood.data.gaps is None else likelihood.data.gaps
    gap_parameters = ClassParameters(
        *(np.broadcast_to(v, (len(kinds), n - 1)) for v in parameters.with_last_axes(1).over_gap(gaps))
    )
    moved = shifted(kinds, gap_parameters, effort[:, 1:])
    never_available, never_dormant = never_again(moved)
    # A class that cannot lose an element has a tail of probability 0, and no elements with it.
    never = np.where(never_available == 0, 1, never_available)
    result = np.zeros((len(effort), n), dtype=effort.dtype)
    available = dormant = np.zeros(never_available.shape[:2], dtype=effort.dtype)
    for t in range(1, n):
        survival, coverage, departure, reactivation = (value[..., t - 1] for value in moved)
        available = available + ended[:, t - 1, None] / never[..., t - 1]
        left, back = departure * available, reactivation * dormant
        available, dormant = (1 - coverage) * survival * (available - left + back), survival * (left + dormant - back)
        result[:, t] = (available * never_available[..., t] + dormant * never_dormant[..., t]).sum(axis=0)
    return result


def _earlier(likelihood: Likelihood, point: FloatArray, initial: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return elements that only crawls before the first one captured, each of shape (n_crawls,).

    Those still alive and not captured so far, and those that each crawl captures for the first time.
    """
    n = likelihood.data.n_crawls
    eligible, returned = np.zeros((2, n))
    for element, captured in zip(mixture_at(likelihood, point).classes, initial, strict=True):
        course = element.returns(n - 1)
        eligible += captured * np.maximum(element.known_eligible() - np.cumsum(course.available + course.dormant), 0)
        returned += captured * np.maximum(course.never - element.unique_rate(), 0)
    return eligible, returned
