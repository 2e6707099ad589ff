"""Estimate the abundance of a closed population by maximum likelihood: models M0, Mt, Mh and Mb of Otis et al. (1978).

Does not use closed forms (see `closed_populations`) or lower bounds (see `unseen_elements`). The bias of each model in
an urn is in `comparator`.

The likelihood conditions on the captured elements, as the log-linear models of Rcapture do, and the variance is that
of multinomial sampling, as there. M0 and Mh depend on the data by the capture frequencies only, Mt by the sizes of the
crawls, and Mb by the new elements of each crawl, so no capture history is enumerated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from crawl_urn_dagster.urn.capture_recapture.comparator import Comparator, comparator, from_unseen

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

_ITERATIONS = 200
# The Newton decrement per element, twice the gain that is left, at which a search has converged.
_DECREMENT = 1e-14
# Smallest determinant of the correlations of the columns at which a heterogeneity is identified.
_SINGULAR = 1e-10
# Logarithms of elements not captured over captured ones between which the first are searched.
_LOG_ODDS = (-30.0, 30.0)
# Relative distance of the mean crawl of first captures from that of constant numbers, below which rounding decides.
_LEAST_FALL = 1e-6


def m0(frequencies: npt.ArrayLike) -> Comparator:
    """Estimate abundance if every crawl captures every element with one probability.

    Parameters
    ----------
    frequencies
        Elements f_k captured by exactly k crawls, shape (n_crawls + 1,). f_0 is not read.

    Returns
    -------
    Comparator
        Estimate with its confidence interval, log-normal in the elements not captured.

    Raises
    ------
    ValueError
        If a frequency is negative.

    References
    ----------
    Otis, D. L., Burnham, K. P., White, G. C. and Anderson, D. R. (1978). Statistical inference from capture data on
    closed animal populations. Wildlife Monographs 62, 3-135.

    Baillargeon, S. and Rivest, L.-P. (2007). Rcapture: loglinear models for capture-recapture in R. Journal of
    Statistical Software 19(5).

    Examples
    --------
    >>> round(m0([0, 25, 22, 13, 5, 1, 2]).estimate, 1)
    75.4
    """
    return _loglinear("m0", frequencies, None)


def mh_poisson2(frequencies: npt.ArrayLike) -> Comparator:
    """Estimate abundance if capture odds are powers of 2, with a Poisson exponent among elements not captured.

    The log-linear model has the column 2^k - 1. See `m0` for parameters and errors; three crawls are needed.

    References
    ----------
    Rivest, L.-P. and Baillargeon, S. (2007). Applications and extensions of Chao's moment estimator for the size of a
    closed population. Biometrics 63, 999-1006.

    Examples
    --------
    >>> round(mh_poisson2([0, 25, 22, 13, 5, 1, 2]).estimate, 1)
    81.5
    """
    # Divided by 2^T, which changes no estimate, because the square of 2^k is too large for a long collection.
    return _loglinear("mh_poisson2", frequencies, lambda k: 2.0 ** (k - k[-1]) - 2.0 ** -k[-1])


def mh_darroch(frequencies: npt.ArrayLike) -> Comparator:
    """Estimate abundance if capture odds are log-normal among elements not captured.

    The log-linear model has the column k²/2. See `m0` for parameters and errors; three crawls are needed.

    References
    ----------
    Darroch, J. N., Fienberg, S. E., Glonek, G. F. V. and Junker, B. W. (1993). A three-sample multiple-recapture
    approach to census population estimation with heterogeneous catchability. Journal of the American Statistical
    Association 88, 1137-1148.

    Examples
    --------
    >>> round(mh_darroch([0, 25, 22, 13, 5, 1, 2]).estimate, 1)
    90.4
    """
    return _loglinear("mh_darroch", frequencies, lambda k: k**2 / 2)


def mt(sizes: npt.ArrayLike, captured: int) -> Comparator:
    """Estimate abundance if each crawl captures every element with its own probability.

    The estimate solves 1 - n/N = Π(1 - n_t/N) (Darroch 1958). The variance is N/(1/Π(1 - p_t) - Σ 1/(1 - p_t) + T - 1).

    Parameters
    ----------
    sizes
        Elements n_t of each crawl, shape (n_crawls,).
    captured
        Elements n captured at least once.

    Returns
    -------
    Comparator
        Estimate with its confidence interval, log-normal in the elements not captured.

    Raises
    ------
    ValueError
        If a size is negative, or the captured elements are fewer than the largest size or more than all sizes.

    References
    ----------
    Darroch, J. N. (1958). The multiple-recapture census: I. Estimation of a closed population. Biometrika 45, 343-359.

    Examples
    --------
    >>> round(mt([16, 28, 20, 26, 23, 32], 68).estimate, 1)
    75.1
    """
    n_t = np.asarray(sizes, dtype=np.float64)
    if (n_t < 0).any() or not n_t.max(initial=0) <= captured <= n_t.sum():
        raise ValueError(
            f"captured is {captured} and sizes are {n_t.min(initial=0):.0f} to {n_t.max(initial=0):.0f}, in all "
            f"{n_t.sum():.0f}; expected sizes of at least 0, and captured from the largest size to their sum"
        )
    if captured == n_t.sum():
        return _unknown("mt", "No element was captured twice.")
    if n_t.max() == captured:
        return _all_captured("mt", captured, "A crawl captured every element that was captured at all.")

    def excess(log_odds: float) -> float:
        """Return ln(1 - n/N) - Σ ln(1 - n_t/N) for N = n + n exp(log_odds)."""
        share = 1 / (1 + np.exp(log_odds))
        return float(-np.log1p(np.exp(-log_odds)) - np.log1p(-n_t / captured * share).sum())

    if excess(_LOG_ODDS[0]) > 0:
        return _all_captured("mt", captured, "The crawls are likely to have captured every element.")
    unseen = captured * float(np.exp(brentq(excess, *_LOG_ODDS, xtol=1e-12)))
    total = captured + unseen
    missed = 1 - n_t / total
    never = float(missed.prod())
    return from_unseen("mt", captured, unseen, total * never / (1 - never * ((1 / missed).sum() - n_t.size + 1)))


def mb(new: npt.ArrayLike) -> Comparator:
    """Estimate abundance if a capture changes the capture probability of an element.

    New elements of the crawls then fall geometrically, u_t = N p (1-p)^(t-1), whatever the recaptures (Zippin 1956).
    The variance is N q^T (1-q^T)/((1-q^T)² - (p T)² q^(T-1)) with q = 1 - p.

    Parameters
    ----------
    new
        Elements u_t first captured by each crawl, shape (n_crawls,).

    Returns
    -------
    Comparator
        Estimate with its confidence interval, log-normal in the elements not captured.

    Raises
    ------
    ValueError
        If a number is negative.

    References
    ----------
    Zippin, C. (1956). An evaluation of the removal method of estimating animal populations. Biometrics 12, 163-189.

    Examples
    --------
    >>> round(mb([16, 24, 9, 9, 6, 4]).estimate, 1)
    81.1
    """
    u = np.asarray(new, dtype=np.float64)
    if (u < 0).any():
        raise ValueError(f"crawl {u.argmin()} has {u.min():.0f} new elements; expected at least 0")
    n, t = float(u.sum()), u.size
    later = float(u @ np.arange(t))
    if n and later == 0:
        return _all_captured("mb", n, "No crawl but the first has new elements.")
    if later >= n * (t - 1) / 2 * (1 - _LEAST_FALL):
        return _unknown("mb", "The number of new elements does not fall from crawl to crawl.")

    def excess(logit_p: float) -> float:
        p = 1 / (1 + np.exp(-logit_p))
        captured = -np.expm1(t * np.log1p(-p))
        return float((1 - p) / p - t * (1 - captured) / captured - later / n)

    p = 1 / (1 + np.exp(-brentq(excess, -20.0, 30.0, xtol=1e-12)))
    missed = float(np.exp(t * np.log1p(-p)))
    total = n / (1 - missed)
    spare = (1 - missed) ** 2 - (p * t) ** 2 * missed / (1 - p)
    return from_unseen("mb", n, total - n, total * missed * (1 - missed) / spare)


def _loglinear(
    estimator: str, frequencies: npt.ArrayLike, heterogeneity: Callable[[FloatArray], FloatArray] | None
) -> Comparator:
    """Fit log E f_k = γ + log C(T, k) + k β + h(k) τ with h(0) = 0, where exp γ elements are not captured."""
    f = np.asarray(frequencies, dtype=np.float64)
    if f.size and f.min() < 0:
        raise ValueError(f"f_{f.argmin()} is {f.min():.0f}; expected numbers of elements of at least 0")
    k, captured = np.arange(f.size, dtype=np.float64), f[1:]
    t, n, captures = f.size - 1, float(captured.sum()), float(captured @ k[1:])
    if captures == n:
        return _unknown(estimator, "No element was captured twice.")
    if captures == n * t:
        return _all_captured(estimator, n, "Every crawl captured every element that was captured at all.")
    used = k[1:][captured > 0]
    # The mean of (k, h(k)) is then on the edge of its convex hull, where no maximum exists.
    if heterogeneity and (used[-1] - used[0] <= 1 or set(used) <= {1, t}):
        return _unknown(estimator, "Numbers of captures differ too little to identify heterogeneity.")
    columns = np.stack([k] if heterogeneity is None else [k, heterogeneity(k)], axis=1)
    centred = columns - captured @ columns[1:] / n
    spread = np.sqrt(captured @ centred[1:] ** 2 / n)
    centred /= np.where(spread > 0, spread, 1)
    log_choices = gammaln(t + 1) - gammaln(k + 1) - gammaln(t - k + 1)
    fitted = _fit_exponential_family(centred[1:], log_choices[1:])
    if fitted is None:
        return _unknown(estimator, "The likelihood does not identify heterogeneity.")
    parameters, log_total, covariance = fitted
    unseen = n * float(np.exp(centred[0] @ parameters - log_total))
    variance = unseen + unseen**2 * (1 + float(centred[0] @ np.linalg.solve(covariance, centred[0]))) / n
    return from_unseen(estimator, n, unseen, variance)


def _fit_exponential_family(x: FloatArray, offsets: FloatArray) -> tuple[FloatArray, float, FloatArray] | None:
    """Find the parameters at which the mean of the columns is 0, by Newton's method with halved steps.

    Returns the parameters, the log of the total weight and the covariance of the columns; None without a maximum.
    """
    value = np.inf
    parameters: FloatArray = np.zeros(x.shape[1])
    step: FloatArray = parameters
    for _ in range(_ITERATIONS):
        trial = float(logsumexp(offsets + x @ (parameters + step)))
        if not trial <= value:
            step = step / 2
            continue
        parameters, value = parameters + step, trial
        weights = np.exp(offsets + x @ parameters - value)
        mean = weights @ x
        covariance = ((x - mean) * weights[:, None]).T @ (x - mean)
        scale = np.sqrt(np.diagonal(covariance))
        if not (scale > 0).all() or np.linalg.det(covariance / np.outer(scale, scale)) < _SINGULAR:
            return None
        step = np.asarray(-np.linalg.solve(covariance, mean), dtype=np.float64)
        if -float(mean @ step) < _DECREMENT:
            return parameters, value, covariance
    return None


def _unknown(estimator: str, reason: str) -> Comparator:
    return comparator(estimator, np.nan, np.nan, np.nan, np.nan, reason=reason)


def _all_captured(estimator: str, captured: float, reason: str) -> Comparator:
    return comparator(estimator, captured, np.nan, np.nan, np.nan, reason=reason)
