"""Estimate the abundance of a closed population from two or more crawls.

Does not estimate elements that were never captured (see `unseen_elements`) or open populations (see
`cormack_jolly_seber`). The bias of each estimator in an urn is in `comparator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.capture_recapture.comparator import Comparator, comparator
from crawl_urn_dagster.urn.data.distributions import chi2_quantile, student_quantile
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray


def petersen(first: float, second: float, both: float) -> Comparator:
    """Estimate abundance from two crawls, n₁ n₂/m.

    The variance is n₁ n₂ (n₁-m)(n₂-m)/m³ (Sekar and Deming 1949).

    Parameters
    ----------
    first, second
        Sizes of the crawls.
    both
        Elements in both crawls.

    Returns
    -------
    Comparator
        Estimate with a normal confidence interval, not below the number of captured elements.

    Raises
    ------
    ValueError
        If a count is negative, or `both` exceeds a size.

    References
    ----------
    Sekar, C. C. and Deming, W. E. (1949). On a method of estimating birth and death rates and the extent of
    registration. Journal of the American Statistical Association 44, 101-115.

    Examples
    --------
    >>> petersen(600, 600, 450).estimate
    800.0
    """
    _require_overlap(first, second, both)
    reason = None if both else "No element is in both crawls."
    estimate = first * second / both if both else np.nan
    se = np.sqrt(estimate * (first - both) * (second - both)) / both if both else np.nan
    return _with_normal_interval("petersen", estimate, se, captured=first + second - both, reason=reason)


def chapman(first: float, second: float, both: float) -> Comparator:
    """Estimate abundance from two crawls with Chapman's correction, (n₁+1)(n₂+1)/(m+1) - 1.

    The variance is (n₁+1)(n₂+1)(n₁-m)(n₂-m)/((m+1)²(m+2)) (Seber 1970). See `petersen` for parameters and errors.

    References
    ----------
    Chapman, D. G. (1951). Some properties of the hypergeometric distribution with applications to zoological sample
    censuses. University of California Publications in Statistics 1, 131-160.

    Seber, G. A. F. (1970). The effects of trap response on tag recapture estimates. Biometrics 26, 13-22.

    Examples
    --------
    >>> round(chapman(600, 600, 450).estimate, 1)
    799.9
    """
    _require_overlap(first, second, both)
    reason = None if first and second else "A crawl is empty."
    product = (first + 1) * (second + 1) if first and second else np.nan
    estimate = product / (both + 1) - 1
    se = np.sqrt(product * (first - both) * (second - both) / (both + 2)) / (both + 1)
    return _with_normal_interval("chapman", estimate, se, captured=first + second - both, reason=reason)


def schnabel(caught: npt.ArrayLike, recaptured: npt.ArrayLike, marked: npt.ArrayLike) -> Comparator:
    """Estimate abundance from many crawls, Σ C M/Σ R, with a Poisson interval of Σ R.

    Parameters
    ----------
    caught
        Size C_t of each crawl, shape (n_crawls,).
    recaptured
        Elements R_t of the crawl that were captured before, shape (n_crawls,).
    marked
        Elements M_t captured before the crawl, shape (n_crawls,).

    Returns
    -------
    Comparator
        Estimate with its confidence interval.

    Raises
    ------
    ValueError
        If the shapes differ, a count is negative, or more elements are recaptured than caught or marked.

    References
    ----------
    Schnabel, Z. E. (1938). The estimation of the total fish population of a lake. American Mathematical Monthly 45,
    348-352.

    Krebs, C. J. (1999). Ecological Methodology, 2nd edition. Benjamin Cummings.

    Examples
    --------
    >>> schnabel([50, 30], [0, 24], [0, 40]).estimate
    50.0
    """
    c, r, m = _censuses(caught, recaptured, marked)
    exposure, recaptures = float(c @ m), float(r.sum())
    if recaptures == 0:
        return _without_recaptures("schnabel")
    estimate = exposure / recaptures
    return comparator(
        "schnabel",
        estimate,
        estimate / float(np.sqrt(recaptures)),
        2 * exposure / float(chi2_quantile(0.975, 2 * recaptures + 2)),
        2 * exposure / float(chi2_quantile(0.025, 2 * recaptures)),
    )


def schumacher_eschmeyer(caught: npt.ArrayLike, recaptured: npt.ArrayLike, marked: npt.ArrayLike) -> Comparator:
    """Estimate abundance from many crawls by regression, Σ C M²/Σ R M.

    The interval is computed for the inverse, from the residual variance and Student's t with n_crawls - 2 degrees of
    freedom (Krebs 1999, eq. 2.17). Empty crawls are left out. See `schnabel` for parameters and errors.

    References
    ----------
    Schumacher, F. X. and Eschmeyer, R. W. (1943). The estimate of fish population in lakes or ponds. Journal of the
    Tennessee Academy of Science 18, 228-249.

    Krebs, C. J. (1999). Ecological Methodology, 2nd edition. Benjamin Cummings.

    Examples
    --------
    >>> schumacher_eschmeyer([50, 30], [0, 24], [0, 40]).estimate
    50.0
    """
    c, r, m = _censuses(caught, recaptured, marked)
    c, r, m = c[c > 0], r[c > 0], m[c > 0]
    squares, products, degrees = float(c @ m**2), float(r @ m), c.size - 2
    if products == 0:
        return _without_recaptures("schumacher_eschmeyer")
    inverse = products / squares
    known = degrees > 0
    residual = max(float(r @ (r / c)) - products**2 / squares, 0.0)
    inverse_se = float(np.sqrt(residual / degrees / squares)) if known else np.nan
    half_width = float(student_quantile(0.975, degrees)) * inverse_se if known else np.nan
    return comparator(
        "schumacher_eschmeyer",
        1 / inverse,
        inverse_se / inverse**2,
        1 / (inverse + half_width),
        np.inf if half_width >= inverse else 1 / (inverse - half_width),
        reason=None if known else "Two crawls leave no degree of freedom for a standard error.",
    )


def _with_normal_interval(
    estimator: str, estimate: float, se: float, *, captured: float, reason: str | None
) -> Comparator:
    """Add a normal interval whose lower end is not below the number of captured elements."""
    half_width = NORMAL_QUANTILE * se
    return comparator(
        estimator, estimate, se, np.maximum(estimate - half_width, captured), estimate + half_width, reason=reason
    )


def _without_recaptures(estimator: str) -> Comparator:
    return comparator(estimator, np.nan, np.nan, np.nan, np.nan, reason="No element was captured twice.")


def _require_overlap(first: float, second: float, both: float) -> None:
    if not 0 <= both <= min(first, second):
        raise ValueError(
            f"crawls of {first} and {second} elements share {both}; expected at least 0 and at most the smaller size"
        )


def _censuses(*counts: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    caught, recaptured, marked = (np.asarray(values, dtype=np.float64) for values in counts)
    if not caught.shape == recaptured.shape == marked.shape:
        raise ValueError(
            f"caught, recaptured and marked have shapes {caught.shape}, {recaptured.shape} and {marked.shape}; "
            "expected one count of each per crawl"
        )
    impossible = (recaptured < 0) | (recaptured > caught) | (recaptured > marked)
    if impossible.any():
        crawl = int(impossible.argmax())
        raise ValueError(
            f"crawl {crawl} recaptured {recaptured[crawl]:.0f} elements of {caught[crawl]:.0f} caught and "
            f"{marked[crawl]:.0f} marked; expected at least 0 and at most either of them"
        )
    return caught, recaptured, marked
