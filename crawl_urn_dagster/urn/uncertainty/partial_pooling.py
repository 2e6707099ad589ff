"""Pool the estimates of similar groups partially: small groups borrow from the others.

Does not compute the estimates or their standard errors; see `estimates.stratum_profile`.

Group i has an estimate y_i with standard error s_i of a value that is normally distributed over the groups with mean m
and standard deviation τ. Given τ, the best prediction of the value is B_i m + (1 - B_i) y_i with
B_i = s_i²/(s_i² + τ²). The restricted likelihood of τ is averaged instead of maximised, because its maximum is often 0
with few groups, and intervals would then be too short. The prior of τ is log-logistic as in DuMouchel (1994), with the
root mean square of the s_i as median, so the average exists for any number of groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from crawl_urn_dagster.urn.data.distributions import chi2_tail, student_quantile

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray

_GRID = (np.arange(400) + 0.5) / 400


class Pooled(NamedTuple):
    """Partially pooled values of some groups.

    Attributes
    ----------
    value, standard_error
        Predicted value of each group, shape (groups,); of a group without an estimate, the mean with the standard
        deviation of a new group.
    weight
        Mean weight B of the common mean in each value, shape (groups,); 1 without an estimate.
    between_sd
        Median of τ.
    p_value
        Probability of differences at least this large between groups with the same value (Cochran's Q); NaN for fewer
        than two groups.
    """

    value: FloatArray
    standard_error: FloatArray
    weight: FloatArray
    between_sd: float
    p_value: float


def pool_partially(estimates: FloatArray, standard_errors: FloatArray) -> Pooled:
    """Return the partially pooled values of some groups.

    Parameters
    ----------
    estimates
        Estimate of each group on a scale on which it is about normal, shape (groups,); NaN where unknown.
    standard_errors
        Their standard errors; NaN where unknown.

    Raises
    ------
    ValueError
        If fewer than two groups have an estimate.

    Examples
    --------
    >>> pooled = pool_partially(np.array([0.1, -0.1, 0.0, 2.0]), np.array([0.2, 0.2, 0.2, 2.0]))
    >>> pooled.value.round(1).tolist()
    [0.0, -0.0, 0.0, 0.1]
    """
    known = np.isfinite(estimates) & np.isfinite(standard_errors) & (standard_errors > 0)
    if known.sum() < 2:
        raise ValueError(f"found {known.sum()} groups with an estimate, expected at least 2")
    y, variance = estimates[known], standard_errors[known] ** 2
    tau = np.sqrt(variance.mean()) * _GRID / (1 - _GRID)
    weight = 1 / (variance + tau[:, None] ** 2)
    mean_variance = 1 / weight.sum(axis=1)
    mean = mean_variance * (weight @ y)
    restricted = 0.5 * (
        np.log(mean_variance) + np.log(weight).sum(axis=1) - (weight * (y - mean[:, None]) ** 2).sum(axis=1)
    )
    probability = softmax(restricted)
    all_variance = np.where(known, standard_errors**2, np.inf)
    shrinkage = 1 - tau[:, None] ** 2 / (all_variance + tau[:, None] ** 2)
    within = np.where(known, shrinkage * tau[:, None] ** 2, tau[:, None] ** 2)  # B τ² = (1 - B) s²
    values = shrinkage * mean[:, None] + (1 - shrinkage) * np.where(known, estimates, 0)
    average = probability @ values
    spread = within + shrinkage**2 * mean_variance[:, None] + (values - average) ** 2
    equal = np.average(y, weights=1 / variance)
    return Pooled(
        average,
        np.sqrt(probability @ spread),
        probability @ shrinkage,
        float(np.interp(0.5, np.cumsum(probability), tau)),
        float(chi2_tail(((y - equal) ** 2 / variance).sum(), y.size - 1)),
    )


class Slope(NamedTuple):
    """Change of the groups' values per unit of a covariate, with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def slope_of_groups(covariate: FloatArray, estimates: FloatArray, standard_errors: FloatArray) -> Slope | None:
    """Return the slope of the values of some groups on a covariate; None for fewer than three groups.

    The groups scatter about the line, so their weights include the scatter beyond the standard errors, and
    the interval has Student's t with two degrees of freedom fewer than groups.

    Parameters
    ----------
    covariate, estimates, standard_errors
        One value for each group, shape (groups,); NaN where unknown.
    """
    known = np.isfinite(covariate) & np.isfinite(estimates) & np.isfinite(standard_errors) & (standard_errors > 0)
    if known.sum() < 3:
        return None
    x, y, variance = covariate[known], estimates[known], standard_errors[known] ** 2
    design = np.column_stack([np.ones_like(x), x])
    excess = 0.0
    for _ in range(30):  # the moment estimate of Paule and Mandel converges in a few steps
        weight = 1 / (variance + excess)
        covariance = np.linalg.inv(design.T @ (weight[:, None] * design))
        residual = y - design @ (covariance @ design.T @ (weight * y))
        missing = float((weight * residual**2).sum() - (x.size - 2))
        excess = max(excess + missing / float((weight**2 * residual**2).sum()), 0.0) if missing > 0 or excess else 0.0
    value = float((covariance @ design.T @ (weight * y))[1])
    half = float(student_quantile(0.975, x.size - 2) * np.sqrt(covariance[1, 1]))
    return Slope(value, value - half, value + half)
