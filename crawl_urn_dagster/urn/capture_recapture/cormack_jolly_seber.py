"""The open-population model of Cormack, Jolly and Seber: survival and coverage from where elements are seen next.

Here: maximum likelihood from the m-array, constant or varying, and the closed forms for every crawl. Not here:
the search (`maximum_likelihood`), classes of elements (`mixtures`), or closed populations (`comparators`).

The homogeneous urn is this model: survival φ over a gap δ is α^δ and capture probability p is the coverage c. In
the counts of its minimal sufficient statistic (Burnham 1991) everything here costs a number of steps
proportional to the crawls, whatever the number of elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from crawl_urn_dagster.urn.data.arguments import gaps_between
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE, logit_interval
from crawl_urn_dagster.urn.optimise.maximum_likelihood import Estimates, estimates_at, maximise, nothing_estimated

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

Structure = Literal["constant", "crawl", "stratum"]

# Closed forms may be 0 or more than 1, from where no search starts.
_START = (0.001, 0.999)
_FIRST = (
    "No element was captured before the first crawl, so what depends on elements captured before is not identified."
)
_LAST = "Nothing follows the last crawl, so only the product of survival into it and its coverage is identified."


class RecaptureCounts(NamedTuple):
    """Minimal sufficient statistic of the model; arrays of shape (..., crawls).

    Attributes
    ----------
    captured
        n_t, elements captured in the crawl.
    recaptured
        r_t, those of them captured again later.
    marked
        m_t, those of them captured before.
    passed
        z_t, elements captured before and after the crawl but not in it.
    """

    captured: FloatArray
    recaptured: FloatArray
    marked: FloatArray
    passed: FloatArray


class PerCrawl(NamedTuple):
    """One quantity of every crawl; arrays of shape (crawls,), NaN where unknown.

    Attributes
    ----------
    estimate, se, low, high
        Estimate, its standard error and 95 % limits.
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
        Survival per unit of time from the crawl to the next, in [0, 1].
    coverage
        Coverage c_t of the crawl, in [0, 1].
    marked
        M_t, elements alive at the crawl that had been captured before it.
    population
        N_t, elements alive at the crawl.
    births
        B_t, elements alive at the next crawl that were not at this one; negative by sampling error at most.
    last_product, last_product_se
        Survival over the last gap times the coverage of the last crawl, which are not identified apart, and
        its standard error; NaN when the last crawl but one is empty or missing.
    """

    alpha: PerCrawl
    coverage: PerCrawl
    marked: PerCrawl
    population: PerCrawl
    births: PerCrawl
    last_product: float
    last_product_se: float


def recapture_counts(sizes: npt.ArrayLike, recaptures: npt.ArrayLike) -> RecaptureCounts:
    """Reduce the m-array to what the likelihood depends on.

    Parameters
    ----------
    sizes
        n_t, shape (..., crawls).
    recaptures
        r_ij, captured in i and next captured in j, shape (..., crawls, crawls); see
        `CaptureHistoryCounts.recaptures`. Only what is above the diagonal is read.

    Raises
    ------
    ValueError
        When the shapes do not fit, a count is negative or not finite, or more elements of a crawl are captured
        again, or were captured before, than it holds.
    """
    captured = np.asarray(sizes, dtype=np.float64)
    table = np.asarray(recaptures, dtype=np.float64)
    if table.ndim == 0 or table.shape != (*captured.shape, captured.shape[-1]):
        raise ValueError(
            f"sizes has shape {captured.shape} and recaptures {table.shape}; "
            "expected (..., crawls) and (..., crawls, crawls)"
        )
    table = np.triu(table, k=1)
    for name, counts in {"sizes": captured, "recaptures": table}.items():
        wrong = ~(np.isfinite(counts) & (counts >= 0))
        if wrong.any():
            place = np.argwhere(wrong)[0].tolist()
            raise ValueError(f"{name}{place} is {counts[wrong][0]}; expected a finite number of at least 0")
    recaptured, marked = table.sum(axis=-1), table.sum(axis=-2)
    for name, counts in {"captured again": recaptured, "captured before": marked}.items():
        wrong = counts > captured
        if wrong.any():
            crawl = int(np.nonzero(wrong)[-1][0])
            raise ValueError(
                f"crawl {crawl} holds {captured[wrong][0]:.0f} elements, of which {counts[wrong][0]:.0f} were {name}; "
                "expected no more than it holds"
            )
    return RecaptureCounts(captured, recaptured, marked, _known_alive(recaptured, marked) - marked)


def fit_cormack_jolly_seber(
    sizes: npt.ArrayLike,
    recaptures: npt.ArrayLike,
    *,
    times: npt.ArrayLike | None = None,
    survival: Structure = "constant",
    coverage: Structure = "constant",
) -> Estimates:
    """Maximise the likelihood of the m-array.

    ln L = Σ T_(t+1) ln φ_t + m_t ln p_t + z_t ln(1-p_t) + (n_t - r_t) ln χ_t over the crawls, with
    T_t = m_t + z_t and the chance of never being seen again χ_t = 1 - φ_t + φ_t (1-p_(t+1)) χ_(t+1), χ of the last
    crawl 1 (Lebreton et al. 1992, Ecological Monographs 62:67-118); the constant of the multinomial is left out.

    Parameters
    ----------
    sizes, recaptures
        As in `recapture_counts`: without leading axes, or with one axis of strata.
    times
        Times of the crawls, shape (crawls,), not decreasing; one unit apart when None.
    survival, coverage
        ``constant``; ``crawl``, one per gap or crawl; ``stratum``, one per stratum.

    Returns
    -------
    `Estimates` of survival per unit of time, ``alpha``, and of ``coverage``. A name ends in the crawl (survival
    is from it to the next; coverage has none of the first crawl), or in the stratum, counted from 0. When both
    vary by crawl, survival over the last gap and coverage of the last crawl are not identified, but as a product.

    Raises
    ------
    ValueError
        When counts are impossible, as in `recapture_counts`, the times do not fit or decrease, or a structure is
        none of the three.
    """
    counts = recapture_counts(sizes, recaptures)
    gaps = gaps_of(times, counts.captured.shape[-1])
    strata = counts.captured.reshape(-1, gaps.size + 1).shape[0]
    counts = RecaptureCounts(*(array.reshape(strata, gaps.size + 1) for array in counts))
    alpha_names, alpha_index = _parameters("alpha", survival, strata, range(gaps.size))
    coverage_names, coverage_index = _parameters("coverage", coverage, strata, range(1, gaps.size + 1))
    names = alpha_names + coverage_names
    trials = int(counts.captured[:, :-1].sum())
    if not counts.recaptured.any():
        return nothing_estimated(names, trials, "No element was captured in two crawls.")

    unit = smallest_gap(gaps)
    exponents = gaps / unit
    index = np.stack([alpha_index, coverage_index + len(alpha_names)])

    def log_likelihood(parameters: FloatArray) -> tuple[float, FloatArray]:
        alpha, p = parameters[index]
        value, by_phi, by_p = _log_likelihood(counts, alpha**exponents, p)
        by_alpha = by_phi * exponents * alpha ** (exponents - 1)
        gradient = np.bincount(index.ravel(), weights=np.stack([by_alpha, by_p]).ravel(), minlength=len(names))
        return value, gradient.astype(np.float64)

    _, phi, p = _closed_forms(counts)
    with np.errstate(divide="ignore"):
        cells = np.stack([np.minimum(phi[:, :-1], 1) ** (1 / exponents), p[:, 1:]])
    known = np.isfinite(cells)
    n_known = np.bincount(index[known], minlength=len(names))
    sums = np.bincount(index[known], weights=cells[known], minlength=len(names))
    start = np.where(n_known > 0, sums / np.maximum(n_known, 1), 0.5).clip(*_START)

    best = maximise(log_likelihood, [start], trials)
    powers = np.append(np.full(len(alpha_names), 1 / unit), np.ones(len(coverage_names)))
    return estimates_at(log_likelihood, best, names, trials, powers)


def jolly_seber(sizes: npt.ArrayLike, recaptures: npt.ArrayLike, times: npt.ArrayLike | None = None) -> JollySeber:
    """Estimate every crawl in closed form (Jolly 1965, Seber 1965).

    M = m + z n/r, p = m/M, N = n M/m, φ = M'/(M - m + n), B = N' - φ N, where a prime is the next crawl. Where no φ
    exceeds 1 they are the maximum-likelihood estimates of `fit_cormack_jolly_seber` with everything varying by
    crawl. Standard errors are those of Pollock et al. (1990, Wildlife Monographs 107, eq. 4.11-4.18), of φ with
    the chance of survival. Limits are symmetric for births, on the logit scale for alpha and coverage, and for the
    rest on the log scale of what was not captured.

    Parameters
    ----------
    sizes
        n_t, shape (crawls,).
    recaptures, times
        As in `fit_cormack_jolly_seber`, with shape (crawls, crawls) and (crawls,).

    Raises
    ------
    ValueError
        When counts are impossible, as in `recapture_counts`, or the times do not fit or decrease.
    """
    counts = recapture_counts(sizes, recaptures)
    gaps = np.append(gaps_of(times, counts.captured.shape[-1]), np.nan)
    marked, phi, p = _closed_forms(counts)
    n, r, m, z = counts
    with np.errstate(divide="ignore", invalid="ignore"):
        population = np.where(m > 0, n * marked / m, np.nan)
        births = _next(population) - phi * population
        alpha = np.where(gaps > 0, np.minimum(phi, 1) ** (1 / gaps), np.nan)

        dying = np.maximum(1 - phi, 0)
        at_risk = marked - m + n
        returning = 1 / r - 1 / n
        unmarked = population * (population - n) * (1 - m / n) / m
        here = (marked - m) / at_risk * returning
        there = _next((marked - m) * at_risk / marked**2 * returning)
        alpha_se = alpha / gaps * np.sqrt(here + there + dying / (phi * at_risk))
        coverage_se = p * (1 - p) * np.sqrt(1 / m + 1 / z + returning)
        marked_se = np.sqrt((marked - m) * at_risk * returning)
        population_se = np.sqrt(population * (population - n) * at_risk / marked * returning + unmarked)
        births_se = np.sqrt(
            births**2 * there
            + (phi * n * (n - m) / m) ** 2 * here
            + (population - n) * phi * population * (1 - m / n) * dying / at_risk
            + _next(unmarked)
            + phi**2 * unmarked
        )
        last_product = np.divide(r, n)[-2] if n.size > 1 else np.nan
        last_product_se = np.sqrt(last_product * (1 - last_product) / n[-2]) if n.size > 1 else np.nan

    alpha_se[~((phi > 0) & (phi < 1))] = np.nan
    marked_se[z == 0] = population_se[z == 0] = np.nan
    reasons = _reasons(counts, gaps, phi)
    return JollySeber(
        alpha=PerCrawl(alpha, alpha_se, *logit_interval(alpha, alpha_se), reasons["alpha"]),
        coverage=PerCrawl(p, coverage_se, *logit_interval(p, coverage_se), reasons["coverage"]),
        marked=PerCrawl(marked, marked_se, *_limits_above(m, marked, marked_se), reasons["marked"]),
        population=PerCrawl(
            population, population_se, *_limits_above(n, population, population_se), reasons["population"]
        ),
        births=PerCrawl(
            births,
            births_se,
            births - NORMAL_QUANTILE * births_se,
            births + NORMAL_QUANTILE * births_se,
            reasons["births"],
        ),
        last_product=float(last_product),
        last_product_se=float(last_product_se),
    )


def never_seen_again(phi: FloatArray, p: FloatArray) -> FloatArray:
    """Chance χ that an element alive at a crawl is never captured after it.

    Parameters
    ----------
    phi
        Survival over each gap, shape (..., gaps).
    p
        Coverage of the crawl that ends each gap, shape (..., gaps).

    Returns
    -------
    Shape (..., gaps + 1); 1 at the last crawl.
    """
    chi = np.ones((*phi.shape[:-1], phi.shape[-1] + 1), dtype=np.result_type(phi, p))
    for k in range(phi.shape[-1] - 1, -1, -1):
        chi[..., k] = 1 - phi[..., k] + phi[..., k] * (1 - p[..., k]) * chi[..., k + 1]
    return chi


def never_seen_again_gradient(
    weights: FloatArray, phi: FloatArray, p: FloatArray, chi: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Differentiate ``sum(weights * log(chi))`` by phi and by p: two arrays of shape (..., gaps).

    Parameters
    ----------
    weights
        Shape (..., gaps + 1).
    phi, p, chi
        As in `never_seen_again`, and its result, more than 0.
    """
    # What a change of χ of a crawl does to the sum, by way of the crawls before it too.
    by_chi = weights / chi
    for k in range(1, phi.shape[-1]):
        by_chi[..., k] += by_chi[..., k - 1] * phi[..., k - 1] * (1 - p[..., k - 1])
    before, after = by_chi[..., :-1], chi[..., 1:]
    return before * ((1 - p) * after - 1), -before * phi * after


def gaps_of(times: npt.ArrayLike | None, n_crawls: int) -> FloatArray:
    """Gaps between crawls at these times, shape (n_crawls - 1,); each 1 when there are no times.

    Raises
    ------
    ValueError
        When the times decrease or are NaN, or there is not one per crawl.
    """
    calendar = np.arange(n_crawls) if times is None else np.asarray(times, dtype=np.float64)
    if calendar.shape != (n_crawls,):
        raise ValueError(f"times has shape {calendar.shape}; expected ({n_crawls},), a time per crawl")
    return gaps_between(calendar)


def smallest_gap(gaps: FloatArray) -> float:
    """Smallest gap above 0: in this unit survival is neither close to 0 nor flat, whatever the times are in."""
    return float(gaps[gaps > 0].min()) if gaps.any() else 1.0


def _log_likelihood(counts: RecaptureCounts, phi: FloatArray, p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Log-likelihood, and its derivatives by φ and p of every gap."""
    marked, passed = counts.marked[..., 1:], counts.passed[..., 1:]
    survived, never = marked + passed, counts.captured - counts.recaptured
    chi = never_seen_again(phi, p)
    value = xlogy(survived, phi) + xlogy(marked, p) + xlog1py(passed, -p) + xlogy(never, chi)[..., :-1]
    by_phi, by_p = never_seen_again_gradient(never, phi, p, chi)
    return float(value.sum()), by_phi + survived / phi, by_p + marked / p - passed / (1 - p)


def _known_alive(recaptured: FloatArray, marked: FloatArray) -> FloatArray:
    """T_t = m_t + z_t, elements captured before the crawl and in or after it."""
    earlier = np.cumsum(recaptured - marked, axis=-1) + marked - recaptured
    return np.asarray(earlier)


def _parameters(name: str, structure: Structure, strata: int, crawls: range) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Names of the parameters of a structure, and which of them holds in each stratum and gap."""
    shape = (strata, len(crawls))
    if structure == "constant":
        return [name], np.zeros(shape, dtype=np.intp)
    if structure == "crawl":
        return [f"{name}_{crawl}" for crawl in crawls], np.broadcast_to(np.arange(len(crawls)), shape)
    if structure == "stratum":
        return [f"{name}_{stratum}" for stratum in range(strata)], np.broadcast_to(np.arange(strata)[:, None], shape)
    raise ValueError(f"the structure of {name} is {structure!r}; expected 'constant', 'crawl' or 'stratum'")


def _closed_forms(counts: RecaptureCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """M, φ to the next crawl and p of every crawl, each of the shape of the counts; NaN where not identified."""
    n, r, m, z = counts
    with np.errstate(divide="ignore", invalid="ignore"):
        marked = np.where(r > 0, m + z * n / r, np.nan)
        return marked, _next(marked) / (marked - m + n), m / marked


def _next(values: FloatArray) -> FloatArray:
    """Values of the next crawl, NaN at the last."""
    return np.concatenate([values[..., 1:], np.full_like(values[..., :1], np.nan)], axis=-1)


def _limits_above(floor: FloatArray, estimate: FloatArray, se: FloatArray) -> tuple[FloatArray, FloatArray]:
    """95 % limits of a number of elements of which a part is known, symmetric in the logarithm of the rest."""
    rest = np.where(np.isnan(se), np.nan, estimate - floor)
    factor = np.exp(NORMAL_QUANTILE * se / rest)
    return floor + rest / factor, floor + rest * factor


def _reasons(counts: RecaptureCounts, gaps: FloatArray, phi: FloatArray) -> dict[str, tuple[str | None, ...]]:
    """Why an estimate or a standard error of `JollySeber` is unknown, for each of its quantities."""
    n, r, m, z = counts
    crawls = np.arange(n.size)

    def where(condition: BoolArray, text: str) -> list[str | None]:
        return [text.format(crawl=crawl) if condition[crawl] else None for crawl in crawls]

    def first_of(*reasons: list[str | None]) -> list[str | None]:
        return [next(filter(None, of_crawl), None) for of_crawl in zip(*reasons, strict=True)]

    released = first_of(
        where(n == 0, "Crawl {crawl} is empty."),
        where(crawls == n.size - 1, _LAST),
        where(r == 0, "No element of crawl {crawl} was captured again."),
    )
    marked = first_of(
        where(crawls == 0, _FIRST),
        released,
        where(m + z == 0, "No element captured before crawl {crawl} is known to live at it."),
    )
    none = where(m == 0, "Crawl {crawl} captured none of the elements known to live: coverage is at its bound 0.")
    every = where(z == 0, "Crawl {crawl} captured all elements known to live: coverage is at its bound 1.")
    population = first_of(marked, none)
    reasons = {
        "alpha": first_of(
            released,
            [*released[1:], None],
            where(gaps == 0, "No time passes between crawl {crawl} and the next."),
            where(phi == 0, "No element known to live at crawl {crawl} lived at the next: alpha is at its bound 0."),
            where(phi >= 1, "The closed form of survival from crawl {crawl} is 1 or more: alpha is at its bound 1."),
        ),
        "coverage": first_of(population, every),
        "marked": first_of(marked, every),
        "population": first_of(population, every),
        "births": first_of(population, [*population[1:], None]),
    }
    return {name: tuple(texts) for name, texts in reasons.items()}
