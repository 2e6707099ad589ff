"""Compute what follows from a state-space fit, with 95 % confidence intervals that allow for efforts.

Parameters are drawn from the normal distribution of their estimates, on the logit scale. Its covariance is the inverse
information plus what efforts of the estimated spread add, and its mean is freed of the bias by efforts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.autocorrelation import autocorrelation
from crawl_urn_dagster.urn.data.distributions import student_quantile
from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE, logit_interval
from crawl_urn_dagster.urn.results.codes import Code
from crawl_urn_dagster.urn.state_space.efforts import Efforts, estimate_efforts
from crawl_urn_dagster.urn.state_space.fitting import mixture_at
from crawl_urn_dagster.urn.state_space.likelihood import Likelihood, Observations
from crawl_urn_dagster.urn.state_space.population import Population, estimate_population

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray
    from crawl_urn_dagster.urn.state_space.classes import Mixture
    from crawl_urn_dagster.urn.state_space.fitting import StateSpaceFit

#: Crawls ahead for which the share of a crawl that is still alive is given.
HORIZONS = (1, 3, 6, 12, 24)
_DRAWS = 400
_LARGEST_BIAS = 2.0
_LARGEST_LOGIT = 20.0
_LEAST_SHARE = 0.01
_LEAST_CRAWLS_OF_CLASSES = 12
_LARGEST_AGREEMENT = 1.10
_LARGEST_AUTOCORRELATION = 0.9


class Withholding(Code):
    """Why a number should not be quoted.

    Examples
    --------
    >>> Withholding("rare_class") is Withholding.RARE_CLASS
    True
    """

    #: The class makes up less than 1 % of a crawl.
    RARE_CLASS = "rare_class"
    #: Absences last for more than a third of the crawls, and cannot be distinguished from deaths.
    LONG_ABSENCE = "long_absence"
    #: A parameter of the class is at a bound of the search, or the likelihood is flat.
    NOT_IDENTIFIED = "not_identified"
    #: A hidden class shows no memory, so misses and dormancy cannot be distinguished.
    NO_MEMORY = "no_memory"
    #: Fewer than 12 crawls do not identify two classes.
    TOO_FEW_CRAWLS = "too_few_crawls"
    #: The number depends on the state of newborn elements, which histories do not identify.
    ENTRANTS_UNKNOWN = "entrants_unknown"
    #: Sizes and first captures disagree about the growth, so nothing may be extrapolated.
    NOT_STATIONARY = "not_stationary"


class Quantity(NamedTuple):
    """A number with its 95 % confidence interval.

    Attributes
    ----------
    name
        ``completeness``, ``survival``, ``alive_share``, ``unique_rate``, ``newcomers_per_crawl``, ``really_new``,
        ``eligible_per_captured``, or of a class ``share``, ``known_share``, ``eligible_share``, ``survival``,
        ``coverage``, ``mean_life``, ``mean_run``, ``mean_absence``.
    class_name
        Class that the number is of, or None.
    horizon
        Crawls ahead, of ``alive_share``, or None.
    estimate, low, high
        Estimate and interval. Times are in mean gaps.
    withheld
        Why the number should not be quoted, or None.
    """

    name: str
    class_name: str | None
    horizon: int | None
    estimate: float
    low: float
    high: float
    withheld: Withholding | None = None


class Analysis(NamedTuple):
    """A fit with its efforts, its population, and the logarithm of the growth with its standard error.

    The growth is 1, without error, unless it is shown.
    """

    fit: StateSpaceFit
    efforts: Efforts
    population: Population
    log_growth: float = 0.0
    log_growth_se: float = 0.0

    @property
    def mixture(self) -> Mixture:
        """Classes of the fit, with the growth."""
        return _growing(self.fit.mixture, self.log_growth)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the parameters, with the effect of efforts."""
        shift = self.efforts.shift
        return np.asarray(self.fit.covariance + shift @ self.efforts.covariance @ shift.T)


def analyse(fit: StateSpaceFit, data: Observations, histories: CaptureHistoryCounts) -> Analysis:
    """Estimate the efforts and the population under a fit.

    Parameters
    ----------
    fit
        Fit by the conditional likelihood.
    data, histories
        Sufficient statistic that was fitted, and the histories that it is of.

    Returns
    -------
    Analysis
        Fit, efforts and population.
    """
    likelihood = Likelihood(data, fit.layout)
    efforts = estimate_efforts(fit, likelihood, histories)
    return Analysis(fit, efforts, estimate_population(fit, likelihood, histories, efforts))


def derive_quantities(analysis: Analysis, data: Observations, *, seed: int) -> tuple[Quantity, ...]:
    """Compute the quantities of a fit.

    Parameters
    ----------
    analysis
        Fit with efforts and population.
    data
        Sufficient statistic that was fitted.
    seed
        Seed of the draws of the parameters.

    Returns
    -------
    tuple of Quantity
        Quantities of the whole, then of each class.
    """
    fit = analysis.fit
    likelihood = Likelihood(data, fit.layout)
    growths = np.random.default_rng([seed, 1]).normal(analysis.log_growth, analysis.log_growth_se, _DRAWS)
    urns = [mixture_at(likelihood, point) for point in draw_parameters(analysis, seed=seed)]
    draws = [_derive(_growing(urn, growth)) for urn, growth in zip(urns, growths.tolist(), strict=True)]
    estimates = _derive(analysis.mixture)
    ends = np.quantile([list(draw.values()) for draw in draws], [0.025, 0.975], axis=0, method="inverted_cdf").T
    variants = [analysis.mixture.eligible("stationary"), analysis.mixture.eligible("available")]
    disagrees = max(variants) > _LARGEST_AGREEMENT * min(variants)
    codes = [_withheld(analysis, k) for k in range(len(fit.mixture.classes))]
    result = [*observed_quantities(analysis)]
    for (key, estimate), (low, high) in zip(estimates.items(), ends.tolist(), strict=True):
        name, k, horizon = key
        code = None if k is None else next((code for code, fields in codes[k] if fields & _DEPENDS_ON[name]), None)
        if code is None and disagrees and name in {"eligible_share", "eligible_per_captured"}:
            code = Withholding.ENTRANTS_UNKNOWN
        class_name = None if k is None else fit.mixture.classes[k].name
        result.append(Quantity(name, class_name, horizon, estimate, min(low, estimate), max(high, estimate), code))
    size = float(analysis.population.sizes.mean())
    rate = next(quantity for quantity in result if quantity.name == "unique_rate")
    newcomers = rate._replace(
        name="newcomers_per_crawl", estimate=size * rate.estimate, low=size * rate.low, high=size * rate.high
    )
    return (*result, newcomers)


def estimate_whole(analysis: Analysis) -> dict[tuple[str, str | None, int | None], float]:
    """Return the estimates of the quantities that are not of one class, by name, class (None) and horizon."""
    size = float(analysis.population.sizes.mean())
    values: dict[tuple[str, str | None, int | None], float] = {}
    for (name, k, horizon), value in _derive(analysis.mixture).items():
        if k is None:
            values[name, None, horizon] = value
    values["newcomers_per_crawl", None, None] = size * analysis.mixture.unique_rate()
    values.update({quantity[:3]: quantity.estimate for quantity in observed_quantities(analysis)})
    return values


def _growing(urn: Mixture, log_growth: float) -> Mixture:
    """Return the mixture with a growth, at least that of a population without births."""
    least = max(element.survival for element in urn.classes) if log_growth else 0.0
    return replace(urn, growth=max(float(np.exp(log_growth)), least))


def _derive(urn: Mixture) -> dict[tuple[str, int | None, int | None], float]:
    """Return what a mixture has by name, class and horizon."""
    values: dict[tuple[str, int | None, int | None], float] = {
        **{("alive_share", None, horizon): urn.survival(horizon) for horizon in HORIZONS},
        ("unique_rate", None, None): urn.unique_rate(),
        ("really_new", None, None): urn.really_new(),
        ("eligible_per_captured", None, None): urn.eligible(),
    }
    known, eligible = urn.known_shares(), urn.eligible_shares()
    for k, element in enumerate(urn.classes):
        class_quantities = {
            "share": urn.shares[k],
            "known_share": known[k],
            "eligible_share": eligible[k],
            "survival": element.survival,
            "coverage": element.coverage,
            "mean_life": _inverse(1 - element.survival),
            "mean_run": _inverse(element.departure),
            "mean_absence": _inverse(element.reactivation),
        }
        values.update({(name, k, None): value for name, value in class_quantities.items()})
    return values


def _inverse(probability: float) -> float:
    return 1 / probability if probability > 0 else float("inf")


def draw_parameters(analysis: Analysis, *, seed: int) -> FloatArray:
    """Draw parameters from the distribution of their estimates, shape (draws, n_parameters)."""
    covariance, point = analysis.covariance, analysis.fit.point
    se = np.sqrt(np.diagonal(covariance))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    bias = np.clip(analysis.efforts.bias, -_LARGEST_BIAS * se, _LARGEST_BIAS * se)
    draws = point - bias + np.random.default_rng(seed).standard_normal((_DRAWS, point.size)) @ root.T
    return np.asarray(np.clip(draws, -_LARGEST_LOGIT, _LARGEST_LOGIT))


def observed_quantities(analysis: Analysis) -> tuple[Quantity, Quantity]:
    """Return the mean completeness of the crawls, and the mean survival of the known elements over a gap.

    The intervals allow for the error of the population and, as the means of other crawls would differ, for the
    variation between crawls.

    Parameters
    ----------
    analysis
        Fit with its population.
    """
    population, share = analysis.population, analysis.population.completeness
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.nan_to_num(share / population.eligible, posinf=0.0) / max(np.isfinite(share).sum(), 1)
    error = float(np.sqrt(max(slopes @ population.covariance @ slopes, 0.0)))
    return (
        _mean("completeness", share, error),
        _mean("survival", population.survival, population.survival_se),
    )


def _mean(name: str, values: FloatArray, error: float) -> Quantity:
    """Return a mean over crawls, with the error of its values and the variation between crawls."""
    known = values[np.isfinite(values)]
    if known.size == 0:
        return Quantity(name, None, None, np.nan, np.nan, np.nan)
    spread = known.var(ddof=1) / known.size if known.size > 1 else 0.0
    # Absent elements return only after some crawls, so a poor crawl is followed by others.
    correlation = autocorrelation(values - known.mean(), largest=_LARGEST_AUTOCORRELATION)
    spread *= (1 + correlation) / (1 - correlation)
    quantile = float(student_quantile(0.975, max(known.size - 1, 1)))
    half = quantile * np.hypot(error, np.sqrt(spread))
    estimate = float(known.mean())
    if not half < min(estimate, 1 - estimate):
        return Quantity(name, None, None, estimate, max(estimate - half, 0.0), min(estimate + half, 1.0))
    low, high = logit_interval(np.asarray(estimate), np.asarray(half / NORMAL_QUANTILE))
    return Quantity(name, None, None, estimate, float(low), float(high))


# Parameters of a class that its quantities depend on.
_DEPENDS_ON: dict[str, frozenset[str]] = {
    "share": frozenset({"share"}),
    "known_share": frozenset({"share", "reactivation"}),
    "eligible_share": frozenset({"share", "reactivation"}),
    "survival": frozenset({"survival"}),
    "coverage": frozenset({"coverage"}),
    "mean_life": frozenset({"survival"}),
    "mean_run": frozenset({"departure"}),
    "mean_absence": frozenset({"reactivation"}),
}
_FIELDS = ("survival", "coverage", "departure", "reactivation")


def _withheld(analysis: Analysis, k: int) -> list[tuple[Withholding, set[str]]]:
    """Return the reasons for which numbers of a class should not be quoted, with the parameters that they concern."""
    fit = analysis.fit
    element, share, crawls = fit.mixture.classes[k], fit.mixture.shares[k], fit.n_crawls
    if element.name == "core":
        return []
    everything = {*_FIELDS, "share"}
    codes: list[tuple[Withholding, set[str]]] = []
    if len(fit.mixture.classes) > 1 and crawls < _LEAST_CRAWLS_OF_CLASSES:
        codes.append((Withholding.TOO_FEW_CRAWLS, everything))
    if share < _LEAST_SHARE:
        codes.append((Withholding.RARE_CLASS, everything - {"share"}))
    if element.departure > 0 and element.reactivation < 3 / crawls:
        codes.append((Withholding.LONG_ABSENCE, {"survival", "reactivation"}))
    free = fit.layout.positions(k)
    at_bound = {_FIELDS[field] for field, position in free if fit.at_bound[position]}
    if at_bound:
        codes.append((Withholding.NOT_IDENTIFIED, at_bound))
    if not fit.is_identified:
        codes.append((Withholding.NOT_IDENTIFIED, everything))
    if fit.layout.kinds[k] == "hidden" and abs(element.memory) < 2 * _memory_error(analysis, k):
        codes.append((Withholding.NO_MEMORY, {"coverage", "departure", "reactivation"}))
    return codes


def _memory_error(analysis: Analysis, k: int) -> float:
    """Return the standard error of the memory of a class, whose departure and reactivation are free."""
    element = analysis.fit.mixture.classes[k]
    position = dict(analysis.fit.layout.positions(k))
    slopes = np.zeros(analysis.fit.point.size)
    for field in (2, 3):
        value = getattr(element, _FIELDS[field])
        slopes[position[field]] = value * (1 - value)
    return float(np.sqrt(slopes @ analysis.covariance @ slopes))
