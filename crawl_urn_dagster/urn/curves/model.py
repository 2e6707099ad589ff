"""Closed forms of the urn model: the observables of a collection whose elements are replaced over time.

Does not estimate parameters (see `fits`), simulate (see `simulation`) or count (see `histories`).

An urn contains N eligible elements. Each crawl captures a fraction c of them (the *coverage*). After it, a fraction
1 - α is replaced by new elements (α is the *survival*). M = N c is the size of a crawl, and c̄ is 1 - c.

The formulas are from Paris, Çelikkanat and Foppiano, *Measuring What the Crawler Sees* (Common Crawl Foundation, 2026),
except for the exact form of containment, which is derived from the model. Each formula is computed as a sum of terms of
one sign, so it keeps its precision as α c̄ tends to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py

from crawl_urn_dagster.urn.curves.conversions import Fraction, as_array, core_share_from_kappa, ratio
from crawl_urn_dagster.urn.data.arguments import gaps_between, require_fraction, require_not_negative

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray

Form = Literal["exact", "paper"]

#: Length of a year on the clock ``year``.
DAYS_PER_YEAR = 365.25


class Fates(NamedTuple):
    """Probabilities of the fates of an eligible element from one crawl to the next; they sum to 1.

    Attributes
    ----------
    sampled
        Probability α c that it survives and is captured by the next crawl.
    missed
        Probability α (1 - c) that it survives and is missed.
    replaced
        Probability 1 - α that it is replaced.
    """

    sampled: Fraction
    missed: Fraction
    replaced: Fraction


class Asymptote(NamedTuple):
    """Asymptote ``nu_inf * t + intercept`` of the discovery curve, in crawl sizes M.

    Attributes
    ----------
    nu_inf, rho_inf
        Long-run fractions of a crawl that are new and that were captured before; they sum to 1.
    tau_h
        Mean time in crawls until an element that was not yet captured is captured or replaced, at least 0.
    intercept
        ``1 + rho_inf * tau_h``.
    """

    nu_inf: FloatArray
    rho_inf: FloatArray
    tau_h: FloatArray
    intercept: FloatArray


class OperatorTerms(NamedTuple):
    """Quantities of the urn in an operator's terms; times are in crawls, at least 0 and possibly infinite.

    Times start after the present crawl, so an element is eligible for ``life_expectancy + 1`` crawls in total.

    Attributes
    ----------
    life_expectancy
        Residual lifetime ℓ = α/(1 - α) of an element, ``sampled_time + hidden_time``.
    sampled_time, hidden_time
        Captured time c ℓ and missed time (1 - c) ℓ.
    resolution_time
        Time to resolution, `Asymptote.tau_h`.
    nu_inf, rho_inf
        Long-run fractions of a crawl that are new (the unique rate) and that were captured before.
    half_life
        Time log 2/(-log α) after which half of the elements are no longer eligible.
    """

    life_expectancy: FloatArray
    sampled_time: FloatArray
    hidden_time: FloatArray
    resolution_time: FloatArray
    nu_inf: FloatArray
    rho_inf: FloatArray
    half_life: FloatArray


@dataclass(frozen=True, eq=False)
class Urn:
    """The homogeneous urn.

    Parameters
    ----------
    alpha
        Survival α per unit of time, in [0, 1]. The unit is a crawl, or the unit of the lags and times given to a
        method.
    coverage
        Fraction c of the urn that a crawl captures, in [0, 1].

    Raises
    ------
    ValueError
        If a parameter is NaN or outside [0, 1].

    Notes
    -----
    Parameters are floats, or arrays that broadcast against each other and against the lags or crawls given to a
    method. Results have the broadcast shape; a result of shape () is a scalar.

    References
    ----------
    Paris, Çelikkanat and Foppiano (2026). Measuring What the Crawler Sees. Common Crawl Foundation.

    Examples
    --------
    >>> urn = Urn(alpha=0.75, coverage=0.6)
    >>> urn.containment([0, 1, 2]).round(4).tolist()
    [1.0, 0.45, 0.3375]
    >>> urn.discovery_curve([0, 1, 2]).round(4).tolist()
    [1.0, 1.55, 1.965]
    """

    #: Attributes that a fit estimates, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = ("alpha", "coverage")

    alpha: Fraction
    coverage: Fraction

    def __post_init__(self) -> None:
        require_fraction("alpha", self.alpha)
        require_fraction("coverage", self.coverage)

    def fates(self) -> Fates:
        """Return the probabilities of the fates of an element from one crawl to the next."""
        return Fates(self.alpha * self.coverage, self.alpha * (1 - self.coverage), 1 - self.alpha)

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Return the fraction of a crawl that the crawl one lag later contains, c α^lag; 1 at lag 0.

        Parameters
        ----------
        lag
            Time between the two crawls, at least 0, any shape.

        Raises
        ------
        ValueError
            If a lag is negative or NaN.
        """
        lag = require_not_negative("lag", lag)
        return as_array(np.where(lag == 0, 1.0, self.coverage * self.alpha**lag))

    def seen_fraction(self, t: npt.ArrayLike) -> FloatArray:
        """Return the fraction of crawl t that earlier crawls captured, ρ(t) = α c (1 - (α c̄)^t)/(1 - α c̄).

        Parameters
        ----------
        t
            Crawls after the first, at least 0, any shape.

        Raises
        ------
        ValueError
            If t is negative or NaN.
        """
        resolved = self._resolved_within(require_not_negative("t", t))
        return as_array(self.asymptote().rho_inf * resolved)

    def new_fraction(self, t: npt.ArrayLike) -> FloatArray:
        """Return the new fraction of crawl t, ν(t) = 1 - ρ(t) = ν∞ + ρ∞ (α c̄)^t; see `seen_fraction`."""
        end = self.asymptote()
        unresolved = np.exp(xlog1py(require_not_negative("t", t), -self._resolved_rate()))
        return as_array(end.nu_inf + end.rho_inf * unresolved)

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Return the discovery curve of t + 1 crawls at equal gaps: distinct elements divided by the crawl size M.

        U(t)/M = ν(0) + … + ν(t) = (t+1) (1-α)/(1-α c̄) + α c (1-(α c̄)^(t+1))/(1-α c̄)²; see `seen_fraction`.
        """
        crawls = require_not_negative("t", t) + 1
        end = self.asymptote()
        resolved = ratio(self._resolved_within(crawls), self._resolved_rate())
        return as_array(end.nu_inf * crawls + end.rho_inf * resolved)

    def discovery_curve_at(self, times: npt.ArrayLike) -> FloatArray:
        """Return the discovery curve of crawls at uneven gaps, by the recurrence of the seen fraction.

        ρ_k = α^(δ_k) (ρ_(k-1) + c (1 - ρ_(k-1))) over the gaps δ_k, and U_k/M is the running sum of 1 - ρ.

        Parameters
        ----------
        times
            Times of the crawls, shape (..., n_crawls), not decreasing, in the unit of alpha. The parameters broadcast
            against the leading axes.

        Returns
        -------
        ndarray
            U_k/M of the crawls up to k, shape (..., n_crawls).

        Raises
        ------
        ValueError
            If the times decrease or are NaN.
        """
        gaps = gaps_between(times)
        survival = np.moveaxis(np.asarray(self.alpha)[..., None] ** gaps, -1, 0)
        seen = np.zeros((len(survival) + 1, *np.broadcast_shapes(survival.shape[1:], np.shape(self.coverage))))
        for k, survived in enumerate(survival):
            seen[k + 1] = survived * (seen[k] + self.coverage * (1 - seen[k]))
        return np.asarray(np.moveaxis(1 - seen, 0, -1).cumsum(axis=-1))

    def asymptote(self) -> Asymptote:
        """Return the asymptote of the discovery curve.

        At coverage 0, ν∞ is 1 for any survival, because no element is captured twice.
        """
        fates, resolved = self.fates(), self._resolved_rate()
        rho_inf = ratio(fates.sampled, resolved)
        return Asymptote(
            nu_inf=ratio(fates.replaced, resolved, undefined=1.0),
            rho_inf=rho_inf,
            tau_h=ratio(fates.missed, resolved),
            intercept=1 + ratio(rho_inf * fates.missed, resolved),
        )

    def operator_terms(self) -> OperatorTerms:
        """Return the quantities in an operator's terms, in crawls."""
        fates, end = self.fates(), self.asymptote()
        with np.errstate(divide="ignore"):
            hazard = 0.0 - np.log(self.alpha)
        return OperatorTerms(
            life_expectancy=ratio(self.alpha, fates.replaced),
            sampled_time=ratio(fates.sampled, fates.replaced),
            hidden_time=ratio(fates.missed, fates.replaced),
            resolution_time=end.tau_h,
            nu_inf=end.nu_inf,
            rho_inf=end.rho_inf,
            half_life=ratio(np.log(2), hazard),
        )

    def _resolved_rate(self) -> Fraction:
        """Return the rate 1 - α c̄ at which an unseen element is captured or replaced, without cancellation."""
        fates = self.fates()
        return fates.replaced + fates.sampled

    def _resolved_within(self, rounds: FloatArray) -> FloatArray:
        """Return the probability 1 - (α c̄)^rounds of capture or replacement, without cancellation."""
        return as_array(0.0 - np.expm1(xlog1py(rounds, -self._resolved_rate())))


@dataclass(frozen=True, eq=False)
class CoreShellUrn:
    """An urn with a core, always eligible and always captured, and a shell that is a homogeneous urn.

    Every observable of a crawl is the mean of the observables of core and shell, weighted by their shares of the
    crawl.

    Parameters
    ----------
    kappa
        Core fraction κ of the urn, in [0, 1].
    alpha, coverage
        Shell survival and shell coverage, in [0, 1]; see `Urn`.

    Raises
    ------
    ValueError
        If a parameter is NaN or outside [0, 1].

    References
    ----------
    Paris, Çelikkanat and Foppiano (2026). Measuring What the Crawler Sees. Common Crawl Foundation.

    Examples
    --------
    >>> urn = CoreShellUrn(kappa=0.4, alpha=0.75, coverage=0.6)
    >>> round(float(urn.core_share), 4)
    0.5263
    >>> urn.containment([1, 2, 3]).round(4).tolist()
    [0.7395, 0.6862, 0.6462]
    """

    #: Attributes that a fit estimates, each in [0, 1].
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
        """The core as a separate urn."""
        return Urn(1.0, 1.0)

    @property
    def shell(self) -> Urn:
        """The shell as a separate urn."""
        return Urn(self.alpha, self.coverage)

    @property
    def core_share(self) -> FloatArray:
        """Core share μ of one crawl; see `core_share_from_kappa`."""
        return core_share_from_kappa(self.kappa, self.coverage)

    def containment(self, lag: npt.ArrayLike, form: Form = "exact") -> FloatArray:
        """Return the fraction of a crawl that the crawl one lag later contains; 1 at lag 0.

        Parameters
        ----------
        lag
            Time between the two crawls, at least 0, any shape.
        form
            ``exact``: μ + (1-μ) c α^lag. ``paper``: κ + (1-κ) c α^lag as printed, where κ stands for μ.

        Raises
        ------
        ValueError
            If a lag is negative or NaN, or the form is unknown.
        """
        if form not in {"exact", "paper"}:
            raise ValueError(f"form is {form!r}; expected 'exact' or 'paper'")
        floor = self.core_share if form == "exact" else self.kappa
        return _mean(floor, 1.0, self.shell.containment(lag))

    def new_fraction(self, t: npt.ArrayLike) -> FloatArray:
        """Return the new fraction of crawl t: 1 at t = 0, then (1-μ) ν(t) of the shell; see `Urn.new_fraction`."""
        return _mean(self.core_share, self.core.new_fraction(t), self.shell.new_fraction(t))

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Return the discovery curve μ + (1-μ) U(t)/M of the shell; see `Urn.discovery_curve`."""
        return _mean(self.core_share, 1.0, self.shell.discovery_curve(t))

    def discovery_curve_at(self, times: npt.ArrayLike) -> FloatArray:
        """Return the discovery curve of crawls at uneven gaps; see `Urn.discovery_curve_at`."""
        return _mean(self.core_share[..., None], 1.0, self.shell.discovery_curve_at(times))


def _mean(core_share: Fraction, core: Fraction, shell: FloatArray) -> FloatArray:
    return as_array(core_share * core + (1 - core_share) * shell)
