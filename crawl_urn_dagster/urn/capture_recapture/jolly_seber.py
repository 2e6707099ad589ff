"""Estimate survival, coverage and population of every crawl in closed form, by the Jolly-Seber estimators.

Does not maximise a likelihood; see `cormack_jolly_seber`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.capture_recapture.recaptures import closed_forms, gaps_of, next_crawl, recapture_counts
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE, logit_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from crawl_urn_dagster.urn.capture_recapture.recaptures import RecaptureCounts
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

_FIRST = "No element was captured before the first crawl, so estimates from earlier captures are not identified."
_LAST = "No crawl follows the last one, so only the product of survival into it and its coverage is identified."


class PerCrawl(NamedTuple):
    """One quantity of every crawl; arrays of shape (n_crawls,), NaN where unknown.

    Attributes
    ----------
    estimate, se
        Estimate and standard error.
    low, high
        Ends of the 95 % confidence interval.
    reason
        Why the estimate or its standard error is unknown, one per crawl; None where both are known.
    """

    estimate: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray
    reason: tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class JollySeber:
    """Closed-form estimates for every crawl.

    Attributes
    ----------
    alpha
        Survival per unit of time from the crawl to the next one, in [0, 1].
    coverage
        Coverage c_t of the crawl, in [0, 1].
    marked
        Elements M_t eligible at the crawl that were captured before it.
    population
        Elements N_t eligible at the crawl.
    births
        Elements B_t eligible at the next crawl but not at this one. Sampling error can make an estimate negative.
    last_product, last_product_se
        Survival over the last gap times the coverage of the last crawl, which are not identified separately, and its
        standard error; NaN if the last crawl but one is empty or missing.
    """

    alpha: PerCrawl
    coverage: PerCrawl
    marked: PerCrawl
    population: PerCrawl
    births: PerCrawl
    last_product: float
    last_product_se: float


def jolly_seber(
    sizes: npt.ArrayLike,
    recaptures: npt.ArrayLike,
    times: npt.ArrayLike | None = None,
    losses: npt.ArrayLike | None = None,
) -> JollySeber:
    """Estimate every crawl in closed form.

    M = m + z R/r, p = m/M, N = n M/m, φ = M'/(M - m + R), B = N' - φ (N - n + R), where R of the n elements of a crawl
    were released (all, unless there are losses on capture) and a prime is the next crawl. If no φ
    exceeds 1, these are the maximum-likelihood estimates of `fit_cormack_jolly_seber` with everything varying by
    crawl. Standard errors are from Pollock et al. (1990, eq. 4.11 to 4.18), for φ including the variation of survival
    itself. Confidence intervals are symmetric for births, on the logit scale for alpha and coverage, and for the
    other quantities on the log scale of the part that was not captured.

    Parameters
    ----------
    sizes
        Elements n_t of each crawl, shape (n_crawls,).
    recaptures
        Elements r_ij captured by crawl i and next captured by crawl j, shape (n_crawls, n_crawls).
    times
        Times of the crawls, shape (n_crawls,), not decreasing; one unit apart if None.
    losses
        Elements of each crawl that were not released, shape (n_crawls,); none if None.

    Returns
    -------
    JollySeber
        Estimates, standard errors and confidence intervals of every crawl.

    Raises
    ------
    ValueError
        If counts are impossible (see `recapture_counts`), or the times decrease or have a different length.

    References
    ----------
    Jolly, G. M. (1965). Explicit estimates from capture-recapture data with both death and immigration: stochastic
    model. Biometrika 52, 225-247.

    Seber, G. A. F. (1965). A note on the multiple-recapture census. Biometrika 52, 249-259.

    Pollock, K. H., Nichols, J. D., Brownie, C. and Hines, J. E. (1990). Statistical inference for capture-recapture
    experiments. Wildlife Monographs 107, 3-97.

    Examples
    --------
    >>> found = jolly_seber([50, 50, 50], [[0, 25, 10], [0, 0, 25], [0, 0, 0]])
    >>> round(float(found.coverage.estimate[1]), 3), round(float(found.population.estimate[1]), 1)
    (0.556, 90.0)
    """
    counts = recapture_counts(sizes, recaptures, losses)
    gaps = np.append(gaps_of(times, counts.captured.shape[-1]), np.nan)
    marked, phi, coverage = closed_forms(counts)
    n, released, r, m, _ = counts
    with np.errstate(divide="ignore", invalid="ignore"):
        population = np.where(m > 0, n * marked / m, np.nan)
        births = next_crawl(population) - phi * (population - n + released)
        alpha = np.where(gaps > 0, np.minimum(phi, 1) ** (1 / gaps), np.nan)
        last_product = np.divide(r, released)[-2] if n.size > 1 else np.nan
        last_product_se = np.sqrt(last_product * (1 - last_product) / released[-2]) if n.size > 1 else np.nan
    found = {"alpha": alpha, "coverage": coverage, "marked": marked, "population": population, "births": births}
    se = _standard_errors(counts, gaps, phi, found)
    half_width = NORMAL_QUANTILE * se["births"]
    intervals = {
        "alpha": logit_interval(alpha, se["alpha"]),
        "coverage": logit_interval(coverage, se["coverage"]),
        "marked": _interval_above(m, marked, se["marked"]),
        "population": _interval_above(n, population, se["population"]),
        "births": (births - half_width, births + half_width),
    }
    reasons = _reasons(counts, gaps, phi)
    per_crawl = {name: PerCrawl(found[name], se[name], *intervals[name], reasons[name]) for name in found}
    return JollySeber(**per_crawl, last_product=float(last_product), last_product_se=float(last_product_se))


def _standard_errors(
    counts: RecaptureCounts, gaps: FloatArray, phi: FloatArray, found: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return the standard errors of the quantities of `JollySeber` (Pollock et al. 1990); NaN at a bound."""
    n, released, r, m, z = counts
    alpha, p, marked, population, births = found.values()
    with np.errstate(divide="ignore", invalid="ignore"):
        dying = np.maximum(1 - phi, 0)
        at_risk = marked - m + released
        returning = 1 / r - 1 / released
        unmarked = population * (population - n) * (1 - m / n) / m
        here = (marked - m) / at_risk * returning
        there = next_crawl((marked - m) * at_risk / marked**2 * returning)
        errors = {
            "alpha": alpha / gaps * np.sqrt(here + there + dying / (phi * at_risk)),
            "coverage": p * (1 - p) * np.sqrt(1 / m + 1 / z + returning),
            "marked": np.sqrt((marked - m) * at_risk * returning),
            "population": np.sqrt(population * (population - n) * at_risk / marked * returning + unmarked),
            "births": np.sqrt(
                births**2 * there
                + (phi * released * (n - m) / m) ** 2 * here
                + (population - n) * phi * (population - n + released) * (1 - m / n) * dying / at_risk
                + next_crawl(unmarked)
                + phi**2 * unmarked
            ),
        }
    errors["alpha"][~((phi > 0) & (phi < 1))] = np.nan
    errors["marked"][z == 0] = errors["population"][z == 0] = np.nan
    return errors


def _interval_above(floor: FloatArray, estimate: FloatArray, se: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % interval of a number of elements above a known part, symmetric in the log of the difference."""
    rest = np.where(np.isnan(se), np.nan, estimate - floor)
    factor = np.exp(NORMAL_QUANTILE * se / rest)
    return floor + rest / factor, floor + rest * factor


def _reasons(counts: RecaptureCounts, gaps: FloatArray, phi: FloatArray) -> dict[str, tuple[str | None, ...]]:
    """Return why an estimate or a standard error of `JollySeber` is unknown, for each of its quantities."""
    n, _, r, m, z = counts
    crawls = np.arange(n.size)

    def where(condition: BoolArray, text: str) -> list[str | None]:
        return [text.format(crawl=crawl) if condition[crawl] else None for crawl in crawls]

    def first_of(*reasons: Iterable[str | None]) -> tuple[str | None, ...]:
        return tuple(next(filter(None, texts), None) for texts in zip(*reasons, strict=True))

    def at_next(reasons: tuple[str | None, ...]) -> tuple[str | None, ...]:
        return (*reasons[1:], None)

    released = first_of(
        where(n == 0, "Crawl {crawl} is empty."),
        where(crawls == n.size - 1, _LAST),
        where(r == 0, "No element of crawl {crawl} was captured again."),
    )
    marked = first_of(
        where(crawls == 0, _FIRST),
        released,
        where(m + z == 0, "No element captured before crawl {crawl} is known to be eligible at it."),
    )
    none = "Crawl {crawl} captured no element known to be eligible: coverage is at its bound 0."
    every = where(z == 0, "Crawl {crawl} captured all elements known to be eligible: coverage is at its bound 1.")
    population = first_of(marked, where(m == 0, none))
    return {
        "alpha": first_of(
            released,
            at_next(released),
            where(gaps == 0, "No time passes between crawl {crawl} and the next."),
            where(phi == 0, "No element known to be eligible at crawl {crawl} survived: alpha is at its bound 0."),
            where(phi >= 1, "The closed form of survival from crawl {crawl} is 1 or more: alpha is at its bound 1."),
        ),
        "coverage": first_of(population, every),
        "marked": first_of(marked, every),
        "population": first_of(population, every),
        "births": first_of(population, at_next(population)),
    }
