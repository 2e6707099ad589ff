"""Intervals of the joint fit, by a hierarchical parametric bootstrap.

Here: the refitted replicates, and the intervals that their spread gives. Not here: drawing replicates (`resample`), or
the fit (`joint`).

Pairs share crawls, and crawls differ in coverage and survival by more than sampling, so the residuals of a fit do not
tell its error. The bootstrap repeats the whole sequence of crawls: it draws a coverage for every crawl and a survival
for every gap, samples the urn, and fits anew. An interval is the estimate less its bias ± Student's t times its
standard deviation, on the logit scale, both as the replicates have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from scipy.stats import t as student_t

from crawl_urn_dagster.urn.curves.model import Urn
from crawl_urn_dagster.urn.fits.joint import FREE, fit_replicates, urn_of
from crawl_urn_dagster.urn.results.result import Interval
from crawl_urn_dagster.urn.uncertainty.replicates import Noise, Replicates, draw, estimate_noise

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crawl_urn_dagster.urn.curves.expectations import ElementClass
    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray
    from crawl_urn_dagster.urn.fits.joint import JointFit

# Replicates fitted at once: bounds the memory of a search, which holds some dozen numbers per replicate and point.
_TOGETHER = 64
_TIMES = ("life_expectancy", "sampled_time", "hidden_time", "resolution_time")


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Refitted replicates of a joint fit.

    Attributes
    ----------
    fit
        What was replicated.
    noise
        How coverage and survival vary from crawl to crawl, as drawn.
    replicates
        The replicates' counts, for other estimators to be applied to: replicates of a difference of two estimators
        are differences on the same counts.
    parameters
        As in `JointFit`, shape (replicates, 3).
    converged
        Shape (replicates,).
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
        """``kappa``, ``core_share``, ``alpha`` and ``coverage`` as in `Fit`, shape (replicates,) each.

        The first two are 0 for the homogeneous urn.
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
        """`estimates` less their bias and as wide as Student's t: quantiles of them are the ends of `intervals`."""
        widened = student_t.ppf(0.975, self.freedom) / norm.ppf(0.975)
        found = self.estimates
        for name, values in found.items():
            estimate = self.fit.estimates.get(name)
            if estimate is not None and 0 < estimate < 1:
                slope, mean = 1 / (estimate * (1 - estimate)), values.mean()
                found[name] = expit(logit(estimate) + slope * (estimate - mean + widened * (values - mean)))
        return found

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t, for the variation between crawls is estimated from them.

        n values of an AR(1) tell a variance as well as n (1 - rho²)/(1 + rho²) independent ones.
        """
        rho = max(self.noise.coverage.rho, self.noise.survival.rho)
        return (len(self.fit.details.counts.times) - 1) * (1 - rho**2) / (1 + rho**2)

    def intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """Intervals of the parameters and, over the mean gap between crawls, of the operator terms.

        Returns
        -------
        By name: ``kappa`` and ``core_share`` (of core and shell only), ``alpha`` per unit of the clock, ``coverage``,
        and the fields of `OperatorTerms`, whose times are in mean gaps.
        """
        estimated = dict(self.fit.estimates)
        replicated = {name: values for name, values in self.estimates.items() if name in estimated}
        gap = self.fit.details.counts.mean_gap
        return intervals_of(estimated, replicated, gap=gap, freedom=self.freedom, level=level)


def bootstrap_joint(fit: JointFit, *, seed: int, n_replicates: int = 500) -> Bootstrap:
    """Refit replicates of a collection, each from the estimate.

    Parameters
    ----------
    fit
        A joint fit.
    seed
        Equal seeds give equal replicates.
    n_replicates
        At least 2; an end of an interval has a relative error of 0.7 over its root.

    Raises
    ------
    ValueError
        When the fit has no estimates.
    """
    noise_seed, seed_of_draw = np.random.SeedSequence(seed).generate_state(2).tolist()
    noise = estimate_noise(fit, seed=noise_seed)
    return refit(fit, noise, draw(fit, noise, n_replicates, seed=seed_of_draw))


def refit(fit: JointFit, noise: Noise, replicates: Replicates) -> Bootstrap:
    """Refit replicates, whichever fit they were drawn from, each from the estimate of this one.

    Parameters
    ----------
    fit
        A joint fit of the same collection.
    noise, replicates
        As of `Bootstrap`.
    """
    counts, parts = replicates.counts, []
    core, shell = fit.details.urn
    for first in range(0, len(counts.sizes), _TOGETHER):
        some = counts.select(slice(first, first + _TOGETHER))
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


def intervals_of(
    estimated: Mapping[str, float],
    replicated: Mapping[str, FloatArray],
    *,
    gap: float,
    freedom: float,
    level: float = 0.95,
) -> dict[str, Interval]:
    """Intervals of estimates, and of the operator terms when ``alpha`` and ``coverage`` are among them.

    Parameters
    ----------
    estimated, replicated
        Estimates by name, and replicates of each, shape (replicates,); in [0, 1].
    gap
        Time, in units of the clock, that the terms are for: one crawl.
    freedom, level
        As of `fraction_interval`.
    """
    fractions, replicates = dict(estimated), dict(replicated)
    if {"alpha", "coverage"} <= fractions.keys():
        terms = Urn(estimated["alpha"] ** gap, estimated["coverage"]).operator_terms()._asdict()
        of_replicates = Urn(replicated["alpha"] ** gap, replicated["coverage"]).operator_terms()._asdict()
        for name, term in terms.items():
            share = _share if name in _TIMES else np.asarray
            fractions[name], replicates[name] = float(share(term)), share(of_replicates[name])
    limits = {
        name: fraction_interval(fractions[name], replicates[name], freedom=freedom, level=level) for name in fractions
    }
    return {name: _times(interval) if name in _TIMES else interval for name, interval in limits.items()}


def fraction_interval(estimate: float, replicates: FloatArray, *, freedom: float, level: float = 0.95) -> Interval:
    """Interval of a number in [0, 1]: estimate less bias ± t standard deviations on the logit scale.

    Bias is the mean of the replicates less the estimate, from which they are drawn. On the logit scale it and the
    standard deviation are over estimate times one less estimate. An estimate of 0 or 1 has no logit; its interval is
    between quantiles of the replicates. An interval that a bias takes away from the estimate goes on to it.

    Parameters
    ----------
    replicates
        Shape (replicates,).
    freedom
        Degrees of freedom of Student's t, as of `Bootstrap.freedom`.
    level
        Probability that the interval holds the truth.
    """
    if not 0 < estimate < 1:
        low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
        return Interval(min(float(low), estimate), max(float(high), estimate))
    slope = 1 / (estimate * (1 - estimate))
    half = slope * _half_width(replicates, freedom, level)
    centre = logit(estimate) - slope * (np.mean(replicates) - estimate)
    return Interval(min(float(expit(centre - half)), estimate), max(float(expit(centre + half)), estimate))


def difference_interval(difference: float, replicates: FloatArray, *, freedom: float, level: float = 0.95) -> Interval:
    """Interval of a difference of two estimators: difference less bias ± t standard deviations of its replicates.

    Parameters are those of `fraction_interval`.
    """
    half = _half_width(replicates, freedom, level)
    centre = 2 * difference - float(np.mean(replicates))
    return Interval(centre - half, centre + half)


def _half_width(replicates: FloatArray, freedom: float, level: float) -> float:
    return float(student_t.ppf((1 + level) / 2, freedom) * np.std(replicates, ddof=1))


def _share(time: npt.ArrayLike) -> FloatArray:
    """Map a time x to x/(1 + x), a fraction whose logit is log x, also where x is infinite."""
    return 1 - 1 / (1 + np.asarray(time, dtype=np.float64))


def _times(shares: Interval) -> Interval:
    """Map limits back from fractions to times."""
    return Interval(*(np.inf if share == 1 else share / (1 - share) for share in shares))
