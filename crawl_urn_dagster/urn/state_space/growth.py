"""Fit the growth of the population by the dates of first captures, and test it.

Births come in bursts and efforts vary, so the likelihood ratio of Poisson births would call most lists growing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.distributions import student_quantile, student_tail
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE
from crawl_urn_dagster.urn.state_space.efforts import Efforts, first_capture_slopes, shift_by_efforts
from crawl_urn_dagster.urn.state_space.fitting import invert_information, search
from crawl_urn_dagster.urn.state_space.likelihood import Likelihood, Observations

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
    from crawl_urn_dagster.urn.state_space.fitting import StateSpaceFit

_LARGEST_LOG_GROWTH = 1.0
_LEAST_EXPECTED = 1e-9


class Growth(NamedTuple):
    """Growth of the population by the dates of first captures.

    Attributes
    ----------
    growth, low, high
        Factor per mean gap, with a 95 % confidence interval that allows for bursts of births and for efforts.
    dispersion
        Variance of the first captures of a crawl over that of Poisson births, at least 1.
    p_value
        Test that the growth is 1.
    log_se
        Standard error of the logarithm of the growth, with the dispersion and the effect of efforts.
    """

    growth: float
    low: float
    high: float
    dispersion: float
    p_value: float
    log_se: float


def fit_growth(fit: StateSpaceFit, data: Observations, histories: CaptureHistoryCounts, efforts: Efforts) -> Growth:
    """Fit the growth by the full likelihood, from the classes of a fit without a core.

    Parameters
    ----------
    fit
        Fit of a model without a core.
    data, histories
        Sufficient statistic that was fitted, and the histories that it is of.
    efforts
        Efforts of the crawls.

    Returns
    -------
    Growth
        Growth per mean gap and its test.
    """
    point, null = search(Likelihood(data, fit.layout, is_full=True), fit.point)
    growing = Likelihood(data, fit.layout._replace(grows=True), is_full=True)
    # The survival is bounded by the growth below 1, so the likelihood has a kink at 1.
    ends = ((0.0, _LARGEST_LOG_GROWTH), (-_LARGEST_LOG_GROWTH, 0.0))
    found = [search(growing, np.append(point, 0.0), growth_bounds=end) for end in ends]
    best, value = min(found, key=lambda candidate: candidate[1])
    by_crawl = np.exp(np.logaddexp.reduce(growing.first_captures(best), axis=0))
    expected = np.maximum(data.n_elements * by_crawl / by_crawl.sum(), _LEAST_EXPECTED)
    observed = np.bincount(data.first, weights=data.elements, minlength=data.n_crawls)
    degrees = max(data.n_crawls - 3, 1)
    # The effect of efforts on the first captures is not a burst of births.
    moved = expected[:, None] * first_capture_slopes(growing, best)
    spread = (np.diag(expected) + moved @ efforts.covariance @ moved.T)[1:, 1:]
    residual = (observed - expected)[1:]
    dispersion = max(1.0, float(residual @ np.linalg.solve(spread, residual)) / degrees)

    covariance, _, _ = invert_information(growing, best)
    shift = shift_by_efforts(growing, best, covariance, histories)[-1]
    birth_variance = dispersion * covariance[-1, -1]
    variance = max(birth_variance + float(shift @ efforts.covariance @ shift), 0.0)
    ratio = 2 * max(null - value, 0.0) / dispersion * (birth_variance / variance if variance > 0 else 1.0)
    # A dispersion of 1 means Poisson births and is not an estimate; the covariance of efforts allows for its error.
    freedom = degrees if dispersion > 1 else np.inf
    effort_variance = variance - birth_variance
    half = np.hypot(
        student_quantile(0.975, freedom) * np.sqrt(birth_variance),
        NORMAL_QUANTILE * np.sqrt(max(effort_variance, 0.0)),
    )
    log_growth = float(best[-1])
    low, high = np.exp(np.clip([log_growth - half, log_growth + half], -5, 5)).tolist()
    p_value = 2 * float(student_tail(np.sqrt(ratio), freedom))
    return Growth(float(np.exp(log_growth)), low, high, dispersion, p_value, float(np.sqrt(variance)))
