"""Compute intervals of the joint fit by a hierarchical parametric bootstrap.

Does not draw replicates (see `replicates`), nor define the fit (see `fits.joint`).

Pairs share crawls, and crawls differ in coverage and survival by more than sampling, so the residuals of a fit do not
measure its error. The bootstrap repeats the whole sequence of crawls: it draws a coverage for every crawl and a
survival for every gap, samples the urn, and refits. An interval is the estimate minus its bias ± Student's t times its
standard deviation, on the logit scale. Bias and standard deviation are estimated from the replicates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from crawl_urn_dagster.urn.curves.model import Urn
from crawl_urn_dagster.urn.data.distributions import normal_quantile, student_quantile
from crawl_urn_dagster.urn.fits.joint import FREE, fit_replicates, urn_of
from crawl_urn_dagster.urn.results.result import Interval
from crawl_urn_dagster.urn.uncertainty.replicates import Noise, Replicates, draw, estimate_noise

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crawl_urn_dagster.urn.curves.expectations import ElementClass
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.fits.joint import JointFit

# Replicates fitted at once. This bounds the memory of a search: a dozen numbers per replicate and point.
_BATCH_SIZE = 64
# Points of all replicates that are fitted at once.
_BATCH_POINTS = 640_000
#: Parameters that are 0 if there is no core, so their intervals must be able to contain 0.
CORE_PARAMETERS = ("kappa", "core_share")
_TIMES = ("life_expectancy", "sampled_time", "hidden_time", "half_life", "resolution_time")


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Refitted replicates of a joint fit.

    Attributes
    ----------
    fit
        The joint fit that replicates are refitted from.
    noise
        Variation of coverage and survival from crawl to crawl in the replicates.
    replicates
        Counts of the replicates. Other estimators can be applied to them: replicates of a difference of two estimators
        are the differences on the same counts.
    parameters
        Parameters as in `JointDetails`, shape (replicates, 3).
    converged
        Whether each refit converged, shape (replicates,).

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Counts, bootstrap_joint, fit_joint, simulate
    >>> times = np.arange(8.0)
    >>> histories = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> intersections, unions = histories.intersections().astype(float), histories.unions().astype(float)
    >>> counts = Counts(times, intersections.diagonal(), intersections, unions)
    >>> fit = fit_joint(counts, model="core_shell", clock="crawl")
    >>> bootstrap = bootstrap_joint(fit, seed=1, n_replicates=20)
    >>> bootstrap.estimates["kappa"].shape
    (20,)
    >>> interval = bootstrap.intervals()["kappa"]
    >>> interval.low < fit.kappa < interval.high
    True
    """

    fit: JointFit
    noise: Noise
    replicates: Replicates
    parameters: FloatArray
    converged: BoolArray

    @property
    def urn(self) -> tuple[FloatArray, ElementClass]:
        """Core K, shape (replicates,), and shell of the replicates."""
        counts = self.replicates.counts
        return urn_of(counts.in_mean_gaps, counts.sizes, self.parameters)

    @property
    def estimates(self) -> dict[str, FloatArray]:
        """Estimates ``kappa``, ``core_share``, ``alpha`` and ``coverage`` by name, each of shape (replicates,).

        ``kappa`` and ``core_share`` are 0 for the homogeneous urn.
        """
        core, shell = self.urn
        return {
            "kappa": self.parameters[:, 0],
            "core_share": (core[:, None] / self.replicates.counts.sizes).mean(axis=-1),
            "alpha": self.parameters[:, 1] ** (1 / self.fit.details.counts.mean_gap),
            "coverage": shell.coverage.mean(axis=-1),
        }

    @property
    def corrected(self) -> dict[str, FloatArray]:
        """Return `estimates` minus their bias, as wide as Student's t: their quantiles are the ends of `intervals`."""
        widened = student_quantile(0.975, self.freedom) / normal_quantile(0.975)
        found = self.estimates
        for name, values in found.items():
            estimate = self.fit.estimates.get(name)
            if estimate is not None and 0 < estimate < 1:
                slope, mean = 1 / (estimate * (1 - estimate)), values.mean()
                found[name] = expit(logit(estimate) + slope * (estimate - mean + widened * (values - mean)))
        return found

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t, because the variation between crawls is estimated from the crawls.

        n values of an AR(1) process estimate a variance as precisely as n (1 - rho²)/(1 + rho²) independent values.
        """
        rho = max(self.noise.coverage.rho, self.noise.survival.rho)
        return (len(self.fit.details.counts.times) - 1) * (1 - rho**2) / (1 + rho**2)

    def intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """Return intervals of the parameters and, over the mean gap between crawls, of the operator terms.

        Parameters
        ----------
        level
            Confidence level.

        Returns
        -------
        dict
            Intervals by name: ``kappa`` and ``core_share`` (core-shell urn only), ``alpha`` per unit of the clock,
            ``coverage``, and the fields of `OperatorTerms`, whose times are in mean gaps.
        """
        estimated = dict(self.fit.estimates)
        replicated = {name: values for name, values in self.estimates.items() if name in estimated}
        gap = self.fit.details.counts.mean_gap
        return intervals_of(estimated, replicated, gap=gap, freedom=self.freedom, level=level)


def bootstrap_joint(fit: JointFit, *, seed: int, n_replicates: int) -> Bootstrap:
    """Draw replicates of a collection and refit them, each search starting at the estimate.

    Parameters
    ----------
    fit
        A joint fit.
    seed
        Equal seeds give equal replicates.
    n_replicates
        At least 2; the half-width of an interval has a relative error of 0.7 divided by the square root of this number.

    Returns
    -------
    Bootstrap
        Its ``intervals`` are the intervals of the fit.

    Raises
    ------
    ValueError
        When the fit has no estimates.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Counts, fit_joint, simulate
    >>> times = np.arange(8.0)
    >>> histories = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> intersections, unions = histories.intersections().astype(float), histories.unions().astype(float)
    >>> counts = Counts(times, intersections.diagonal(), intersections, unions)
    >>> fit = fit_joint(counts, model="core_shell", clock="crawl")
    >>> sorted(bootstrap_joint(fit, seed=1, n_replicates=20).intervals())[:4]
    ['alpha', 'core_share', 'coverage', 'crawl_coverage']

    References
    ----------
    Davison and Hinkley, Bootstrap Methods and their Application, Cambridge University Press, 1997.
    """
    noise_seed, seed_of_draw = np.random.SeedSequence(seed).generate_state(2).tolist()
    noise = estimate_noise(fit, seed=noise_seed)
    return refit(fit, noise, draw(fit, noise, n_replicates, seed=seed_of_draw))


def refit(fit: JointFit, noise: Noise, replicates: Replicates) -> Bootstrap:
    """Refit replicates that were drawn from any fit of the collection, each search starting at the estimate.

    Parameters
    ----------
    fit
        A joint fit of the same collection.
    noise, replicates
        As in `Bootstrap`.

    Returns
    -------
    Bootstrap
        Refits of the model of ``fit``.

    Examples
    --------
    >>> from crawl_urn_dagster.urn import Counts, fit_joint, simulate
    >>> times = np.arange(8.0)
    >>> histories = simulate(times=times, core=4_000, shell=6_000, alpha=0.8, coverage=0.5, seed=1).counts()
    >>> intersections, unions = histories.intersections().astype(float), histories.unions().astype(float)
    >>> counts = Counts(times, intersections.diagonal(), intersections, unions)
    >>> drawn = bootstrap_joint(fit_joint(counts, model="core_shell", clock="crawl"), seed=1, n_replicates=10)
    >>> homogeneous = fit_joint(counts, model="homogeneous", clock="crawl")
    >>> refit(homogeneous, drawn.noise, drawn.replicates).estimates["alpha"].shape
    (10,)
    """
    counts, parts = replicates.counts, []
    core, shell = fit.details.urn
    at_once = max(min(_BATCH_SIZE, _BATCH_POINTS // len(fit.details.points.i)), 1)
    for first in range(0, len(counts.sizes), at_once):
        some = counts.select(slice(first, first + at_once))
        start = np.tile(fit.details.parameters, (len(some.sizes), 1))
        start[:, 2] = np.clip((some.sizes.max(axis=-1) - core) / shell.size[0], 0, 1)
        parts.append(fit_replicates(fit.details.points, some, start, FREE[fit.kind.model]))
    return Bootstrap(
        fit=fit,
        noise=noise,
        replicates=replicates,
        parameters=np.concatenate([part.parameters for part in parts]),
        converged=np.concatenate([part.converged for part in parts]),
    )


def crawl_completeness(core_share: FloatArray | float, coverage: FloatArray | float) -> FloatArray:
    """Return the share of the urn that one crawl captures, c/(1 - μ + μ c) = κ + (1 - κ) c; 1 if all is core."""
    missed = np.asarray(1 - core_share + core_share * coverage)
    completeness: FloatArray = np.divide(coverage, missed, out=np.ones_like(missed), where=missed > 0)
    return completeness


def intervals_of(
    estimated: Mapping[str, float],
    replicated: Mapping[str, FloatArray],
    *,
    gap: float,
    freedom: float,
    level: float = 0.95,
) -> dict[str, Interval]:
    """Return intervals of estimates, and of the operator terms if ``alpha`` and ``coverage`` are among the estimates.

    Parameters
    ----------
    estimated, replicated
        Estimates by name, and replicates of each, shape (replicates,); in [0, 1].
    gap
        Mean gap between crawls, in units of the clock; the operator terms are per gap.
    freedom, level
        As in `fraction_interval`.
    """
    fractions, replicates = dict(estimated), dict(replicated)
    if {"alpha", "coverage"} <= fractions.keys():
        terms = Urn(estimated["alpha"] ** gap, estimated["coverage"]).operator_terms()._asdict()
        replicated_terms = Urn(replicated["alpha"] ** gap, replicated["coverage"]).operator_terms()._asdict()
        for name, term in terms.items():
            share = _share if name in _TIMES else np.asarray
            fractions[name], replicates[name] = float(share(term)), share(replicated_terms[name])
    if "coverage" in estimated and "crawl_coverage" not in estimated:
        completeness = crawl_completeness(estimated.get("core_share", 0.0), estimated["coverage"])
        fractions["crawl_coverage"] = float(completeness)
        core_shares = replicated["core_share"] if "core_share" in estimated else 0.0
        replicates["crawl_coverage"] = np.asarray(crawl_completeness(core_shares, replicated["coverage"]))
    intervals = {
        name: fraction_interval(
            fractions[name], replicates[name], freedom=freedom, level=level, may_be_zero=name in CORE_PARAMETERS
        )
        for name in fractions
    }
    return {name: _times(interval) if name in _TIMES else interval for name, interval in intervals.items()}


def fraction_interval(
    estimate: float, replicates: FloatArray, *, freedom: float, level: float = 0.95, may_be_zero: bool = False
) -> Interval:
    """Return the interval of a number in [0, 1]: estimate minus bias ± t standard deviations, on the logit scale.

    The bias is the mean of the replicates minus the estimate that they are drawn from. On the logit scale, bias and
    standard deviation are divided by estimate (1 - estimate). An estimate of 0 or 1 has no logit, so its interval is
    between quantiles of the replicates. If the bias correction would exclude the estimate, the interval is extended to
    it. A logit interval never contains 0.

    Parameters
    ----------
    estimate
        In [0, 1].
    replicates
        Replicates of the estimate, shape (replicates,).
    freedom
        Degrees of freedom of Student's t; see `Bootstrap.freedom`.
    level
        Confidence level.
    may_be_zero
        Whether the interval begins at 0 if estimate minus bias minus t standard deviations, not on the logit scale, is
        not above 0.

    Examples
    --------
    >>> interval = fraction_interval(0.4, np.array([0.38, 0.4, 0.42]), freedom=20)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.359, 0.442)
    """
    if not 0 < estimate < 1:
        low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
        return Interval(min(float(low), estimate), max(float(high), estimate))
    slope = 1 / (estimate * (1 - estimate))
    half, bias = _half_width(replicates, freedom, level), float(np.mean(replicates)) - estimate
    low, high = expit(logit(estimate) - slope * (bias + half)), expit(logit(estimate) - slope * (bias - half))
    is_zero_inside = may_be_zero and estimate - bias - half <= 0
    return Interval(0.0 if is_zero_inside else min(float(low), estimate), max(float(high), estimate))


def difference_interval(difference: float, replicates: FloatArray, *, freedom: float, level: float = 0.95) -> Interval:
    """Return the interval of a difference of two estimators: difference minus bias ± t standard deviations.

    Parameters
    ----------
    difference
        Difference of the two estimates.
    replicates
        Replicates of the difference, shape (replicates,).
    freedom, level
        As in `fraction_interval`.
    """
    half = _half_width(replicates, freedom, level)
    centre = 2 * difference - float(np.mean(replicates))
    return Interval(centre - half, centre + half)


def _half_width(replicates: FloatArray, freedom: float, level: float) -> float:
    return float(student_quantile((1 + level) / 2, freedom) * np.std(replicates, ddof=1))


def _share(time: npt.ArrayLike) -> FloatArray:
    """Map a time x to x/(1 + x), a fraction whose logit is log x, also where x is infinite."""
    return 1 - 1 / (1 + np.asarray(time, dtype=np.float64))


def _times(shares: Interval) -> Interval:
    """Map an interval of x/(1 + x) back to an interval of the time x."""
    return Interval(*(np.inf if share == 1 else share / (1 - share) for share in shares))
