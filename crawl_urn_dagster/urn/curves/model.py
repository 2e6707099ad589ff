"""The urn model: what a crawl sees of a collection that turns over, in closed form.

Here: the homogeneous urn, the urn of core and shell, the mappings between their parameters, and the
observables that follow from them. Not here: estimation (`fits`), simulation (`simulate`) or counts
(`histories`).

An urn holds N elements. Each round a crawl samples a fraction c of it (the *coverage*), then a fraction
1 - α is replaced by new elements (α is the *survival*). M = N c is the size of a crawl; c̄ is 1 - c.

Formulas are from Paris, Çelikkanat, Foppiano, *Measuring What the Crawler Sees* (2026), but for the exact
form of containment, which is counted from the model. Each is computed as a sum of terms of one sign, so that
it keeps its precision as α c̄ tends to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py

from crawl_urn_dagster.urn.data.arguments import gaps_between, require_fraction, require_not_negative
from crawl_urn_dagster.urn.data.histories import FloatArray

Fraction: TypeAlias = float | FloatArray
Form = Literal["exact", "paper"]

#: Of the clock ``year``.
DAYS_PER_YEAR = 365.25


class Fates(NamedTuple):
    """What becomes of an element of the urn in one round; the three sum to 1.

    Attributes
    ----------
    sampled
        It survives and is sampled, α c.
    missed
        It survives and is missed, α (1 - c): the rate at which an unseen element persists unseen.
    replaced
        It is replaced, 1 - α.
    """

    sampled: Fraction
    missed: Fraction
    replaced: Fraction


class Asymptote(NamedTuple):
    """The line ``nu_inf * t + intercept`` that the discovery curve tends to, in units of M.

    Attributes
    ----------
    nu_inf, rho_inf
        Long-run fractions of a crawl never seen before and seen before; they sum to 1.
    tau_h
        Mean time in crawls that an unseen element stays unseen before it is sampled or replaced, at least 0.
    intercept
        ``1 + rho_inf * tau_h``.
    """

    nu_inf: FloatArray
    rho_inf: FloatArray
    tau_h: FloatArray
    intercept: FloatArray


class OperatorTerms(NamedTuple):
    """The urn in an operator's terms; times are in crawls, at least 0, and may be infinite.

    They count what is left after the present round: an element lives ``life_expectancy + 1`` rounds in all.

    Attributes
    ----------
    life_expectancy
        Rounds an element still lives, α/(1 - α) = sampled_time + hidden_time.
    sampled_time, hidden_time
        Those of them in which it is sampled, and in which it is missed.
    resolution_time
        Rounds an unseen element stays unseen before it is sampled or replaced, `Asymptote.tau_h`.
    nu_inf, rho_inf
        Long-run fractions of a crawl never seen before and seen before.
    """

    life_expectancy: FloatArray
    sampled_time: FloatArray
    hidden_time: FloatArray
    resolution_time: FloatArray
    nu_inf: FloatArray
    rho_inf: FloatArray


@dataclass(frozen=True, eq=False)
class Urn:
    """The homogeneous urn.

    Parameters
    ----------
    alpha
        Survival α per unit of time (a crawl, or what the lags and times given to a method are in), in [0, 1].
    coverage
        Fraction c of the urn that a crawl samples, in [0, 1].

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].

    Notes
    -----
    Parameters are floats, or arrays that broadcast against each other and against the lags or rounds given to
    a method. Results have the broadcast shape; a result of shape () is a scalar.
    """

    #: What a fit of it estimates: names of attributes, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = ("alpha", "coverage")

    alpha: Fraction
    coverage: Fraction

    def __post_init__(self) -> None:
        require_fraction("alpha", self.alpha)
        require_fraction("coverage", self.coverage)

    def fates(self) -> Fates:
        """Return what becomes of an element in one round."""
        return Fates(self.alpha * self.coverage, self.alpha * (1 - self.coverage), 1 - self.alpha)

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction of a crawl's elements that the crawl a lag later holds too, c α^lag; 1 at lag 0.

        Parameters
        ----------
        lag
            Time between the two crawls, real, at least 0.

        Raises
        ------
        ValueError
            When a lag is negative or NaN.
        """
        lag = require_not_negative("lag", lag)
        return _array(np.where(lag == 0, 1.0, self.coverage * self.alpha**lag))

    def seen_fraction(self, t: npt.ArrayLike) -> FloatArray:
        """Fraction of crawl t seen in an earlier crawl, ρ(t) = α c (1 - (α c̄)^t)/(1 - α c̄); 0 at t = 0.

        Parameters
        ----------
        t
            Crawls after the first, at least 0.

        Raises
        ------
        ValueError
            When t is negative or NaN.
        """
        resolved = self._resolved_within(require_not_negative("t", t))
        return _array(self.asymptote().rho_inf * resolved)

    def new_fraction(self, t: npt.ArrayLike) -> FloatArray:
        """Fraction of crawl t never seen before, ν(t) = 1 - ρ(t) = ν∞ + ρ∞ (α c̄)^t; 1 at t = 0.

        Parameters and errors are those of `seen_fraction`.
        """
        end = self.asymptote()
        unresolved = np.exp(xlog1py(require_not_negative("t", t), -self._resolved_rate()))
        return _array(end.nu_inf + end.rho_inf * unresolved)

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Distinct elements in the union of t + 1 crawls at equal gaps, over the size M of one crawl.

        U(t)/M = ν(0) + … + ν(t) = (t+1) (1-α)/(1-α c̄) + α c (1-(α c̄)^(t+1))/(1-α c̄)²; 1 at t = 0.
        Parameters and errors are those of `seen_fraction`.
        """
        crawls = require_not_negative("t", t) + 1
        end = self.asymptote()
        resolved = _ratio(self._resolved_within(crawls), self._resolved_rate())
        return _array(end.nu_inf * crawls + end.rho_inf * resolved)

    def discovery_curve_at(self, times: npt.ArrayLike) -> FloatArray:
        """Discovery curve of crawls at uneven gaps, by the recurrence of the seen fraction.

        ρ_k = α^(δ_k) (ρ_(k-1) + c (1 - ρ_(k-1))) over the gaps δ_k, and U_k/M is the running sum of 1 - ρ.

        Parameters
        ----------
        times
            Shape (..., crawls): times of the crawls along the last axis, not decreasing, in alpha's unit.
            Parameters broadcast against the other axes.

        Returns
        -------
        Array of the shape of the broadcast other axes, then crawls: U_k/M of the crawls up to k.

        Raises
        ------
        ValueError
            When the times decrease or are NaN.
        """
        gaps = gaps_between(times)
        survival = np.asarray(self.alpha)[..., None] ** gaps
        seen = np.zeros(np.broadcast_shapes(survival.shape[:-1], np.shape(self.coverage)))
        new = np.ones((*seen.shape, gaps.shape[-1] + 1))
        for k in range(gaps.shape[-1]):
            seen = survival[..., k] * (seen + self.coverage * (1 - seen))
            new[..., k + 1] = 1 - seen
        return np.asarray(new.cumsum(axis=-1))

    def asymptote(self) -> Asymptote:
        """Return the line that the discovery curve tends to.

        An urn of coverage 0 has ν∞ = 1, whatever its survival: nothing is ever seen again.
        """
        fates, resolved = self.fates(), self._resolved_rate()
        rho_inf = _ratio(fates.sampled, resolved)
        return Asymptote(
            nu_inf=_ratio(fates.replaced, resolved, undefined=1.0),
            rho_inf=rho_inf,
            tau_h=_ratio(fates.missed, resolved),
            intercept=1 + _ratio(rho_inf * fates.missed, resolved),
        )

    def operator_terms(self) -> OperatorTerms:
        """Return the urn in an operator's terms, in rounds."""
        fates, end = self.fates(), self.asymptote()
        return OperatorTerms(
            life_expectancy=_ratio(self.alpha, fates.replaced),
            sampled_time=_ratio(fates.sampled, fates.replaced),
            hidden_time=_ratio(fates.missed, fates.replaced),
            resolution_time=end.tau_h,
            nu_inf=end.nu_inf,
            rho_inf=end.rho_inf,
        )

    def _resolved_rate(self) -> Fraction:
        """Rate 1 - α c̄ at which an unseen element is sampled or replaced, without cancellation."""
        fates = self.fates()
        return fates.replaced + fates.sampled

    def _resolved_within(self, rounds: FloatArray) -> FloatArray:
        """Chance 1 - (α c̄)^rounds that an unseen element is sampled or replaced, without cancellation."""
        return _array(0.0 - np.expm1(xlog1py(rounds, -self._resolved_rate())))


@dataclass(frozen=True, eq=False)
class CoreShellUrn:
    """An urn with a core that never leaves and is always sampled, and a shell that is a homogeneous urn.

    Every observable of a crawl is the mean of those of core and shell, weighted by their shares of the crawl.

    Parameters
    ----------
    kappa
        Core's share κ of the urn, in [0, 1].
    alpha, coverage
        Survival and coverage of the shell, as in `Urn`.

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].
    """

    #: What a fit of it estimates: names of attributes, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = ("kappa", "core_share", "alpha", "coverage")

    kappa: Fraction
    alpha: Fraction
    coverage: Fraction

    def __post_init__(self) -> None:
        require_fraction("kappa", self.kappa)
        require_fraction("alpha", self.alpha)
        require_fraction("coverage", self.coverage)

    @property
    def core(self) -> Urn:
        """The core as an urn of its own."""
        return Urn(1.0, 1.0)

    @property
    def shell(self) -> Urn:
        """The shell as an urn of its own."""
        return Urn(self.alpha, self.coverage)

    @property
    def core_share(self) -> FloatArray:
        """Core's share μ of one crawl; see `core_share_from_kappa`."""
        return core_share_from_kappa(self.kappa, self.coverage)

    def containment(self, lag: npt.ArrayLike, form: Form = "exact") -> FloatArray:
        """Fraction of a crawl's elements that the crawl a lag later holds too; 1 at lag 0.

        Parameters
        ----------
        lag
            Time between the two crawls, real, at least 0.
        form
            ``exact``: μ + (1-μ) c α^lag. ``paper``: κ + (1-κ) c α^lag as printed, in which κ stands for μ.

        Raises
        ------
        ValueError
            When a lag is negative or NaN, or the form is neither.
        """
        if form not in {"exact", "paper"}:
            raise ValueError(f"form is {form!r}; expected 'exact' or 'paper'")
        floor = self.core_share if form == "exact" else self.kappa
        return _mean(floor, self.core.containment(lag), self.shell.containment(lag))

    def new_fraction(self, t: npt.ArrayLike) -> FloatArray:
        """Fraction of crawl t never seen before, (1-μ) ν(t) of the shell from t = 1 on; 1 at t = 0.

        Parameters and errors are those of `Urn.seen_fraction`.
        """
        return _mean(self.core_share, self.core.new_fraction(t), self.shell.new_fraction(t))

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Discovery curve μ + (1-μ) U(t)/M of the shell; see `Urn.discovery_curve`."""
        return _mean(self.core_share, 1.0, self.shell.discovery_curve(t))

    def discovery_curve_at(self, times: npt.ArrayLike) -> FloatArray:
        """Discovery curve of crawls at uneven gaps; see `Urn.discovery_curve_at`."""
        return _mean(self.core_share[..., None], 1.0, self.shell.discovery_curve_at(times))


def core_share_from_kappa(kappa: Fraction, coverage: Fraction) -> FloatArray:
    """Core's share of one crawl, μ = κ/(κ + (1-κ) c), from its share κ of the urn and the shell's coverage.

    Without a core it is 0, also at coverage 0.
    """
    return _ratio(kappa, kappa + (1 - kappa) * coverage)


def kappa_from_core_share(core_share: Fraction, coverage: Fraction) -> FloatArray:
    """Core's share of the urn, κ = μ c/(1 - μ + μ c), the inverse of `core_share_from_kappa`.

    At μ = 1 and coverage 0, where any κ will do, it is 1.
    """
    return _ratio(core_share * coverage, 1 - core_share + core_share * coverage, undefined=1.0)


def urn_from_tail(rho_inf: Fraction, tau_h: Fraction) -> tuple[FloatArray, FloatArray]:
    """Survival and coverage of the homogeneous urn whose discovery curve has this asymptote.

    α = (ρ∞ + τ_h)/(1 + τ_h) and c = ρ∞/(ρ∞ + τ_h). Measured asymptotes can give values outside [0, 1], which
    are returned as they are; a quotient over zero is infinite.
    """
    return _ratio(rho_inf + tau_h, 1 + tau_h), _ratio(rho_inf, rho_inf + tau_h)


def _mean(core_share: Fraction, core: Fraction, shell: FloatArray) -> FloatArray:
    return _array(core_share * core + (1 - core_share) * shell)


def _ratio(numerator: Fraction, denominator: Fraction, undefined: Fraction = 0.0) -> FloatArray:
    """Quotient, infinite over what is zero or as good as zero, and ``undefined`` where it is 0/0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        quotient = np.divide(numerator, denominator)
    return _array(np.where(np.isnan(quotient), undefined, quotient))


def _array(values: npt.ArrayLike) -> FloatArray:
    """Shape () as a scalar, which numpy treats as an array but formats as a number."""
    return np.asarray(values, dtype=np.float64)[()]
