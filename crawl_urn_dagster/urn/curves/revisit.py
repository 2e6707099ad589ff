"""Define the urn of a crawler that avoids recently fetched elements: the revisit delay.

Does not fit it (see `urn.fits.mean_curves`), nor find changes of the delay (see `urn.monitoring.regimes`).

An element that was captured in one of the last L crawls is captured with probability c₁, any other with probability c;
new elements count as not recently captured. L is the *delay*; 0 is the homogeneous urn. In the steady state, with α the
survival:

- first return after j crawls: h(j) = α^j c₁ (1-c₁)^(j-1) for j ≤ L, and
  α^j (1-c₁)^L c (1-c)^(j-L-1) for j > L;
- new fraction of the crawl that ends a window of t + 1: 1 - h(1) - … - h(t), by symmetry in time, and U(t)/M their sum;
- containment: g(D) = α^D u(D), with u(D) the probability that an element captured in crawl 0 is captured in crawl D
  while it is eligible. It is a Markov chain on the crawls since the last capture, of states 1, …, L and more: with
  p_i(D) the probability of state i in crawl D, u = c₁ Σ p_i + c (1 - Σ p_i), p_1(D+1) = u(D),
  p_(i+1)(D+1) = (1-c₁) p_i(D), from p_1(1) = 1;
- crawl size: a share m α^i (1-c₁)^(i-1) of the urn was last captured i crawls ago, so
  m = M/N = c/(1 + (c-c₁) Q) with Q = Σ_(i=1..L) α^i (1-c₁)^(i-1).

For L = 1 this is g(D) = α^D (x + (1-x)(c₁-c)^D) with x = c/(1+c-c₁), and M/N = c/(1+α(c-c₁)). For L = 2,
u(1) = u(2) = c₁, u(3) = (1-c₁)² c + (1-(1-c₁)²) c₁, and so on by the chain, and M/N = c/(1+(c-c₁)(α+α²(1-c₁))).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.arguments import require_fraction, require_whole_numbers

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.curves.conversions import Fraction
    from crawl_urn_dagster.urn.data.histories import FloatArray


@dataclass(frozen=True, eq=False)
class RevisitDelayUrn:
    """The homogeneous urn in which recently captured elements have another coverage.

    Parameters
    ----------
    alpha
        Survival α per crawl, in [0, 1].
    coverage
        Probability c that a crawl captures an element not recently captured, in [0, 1].
    revisit_coverage
        Probability c₁ that it captures an element captured in the last ``delay`` crawls, in [0, 1].
    delay
        Delay L in crawls, at least 0.

    Raises
    ------
    ValueError
        When a parameter is out of range.

    Notes
    -----
    All parameters except the delay are floats, or arrays that broadcast against each other and against lags.

    Examples
    --------
    >>> urn = RevisitDelayUrn(alpha=1.0, coverage=0.5, revisit_coverage=0.0, delay=1)
    >>> urn.containment([1, 2]).tolist()
    [0.0, 0.5]
    """

    #: Attributes that a fit estimates, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = ("alpha", "coverage", "revisit_coverage", "crawl_coverage")

    alpha: Fraction
    coverage: Fraction
    revisit_coverage: Fraction
    delay: int = 1

    def __post_init__(self) -> None:
        require_fraction("alpha", self.alpha)
        require_fraction("coverage", self.coverage)
        require_fraction("revisit_coverage", self.revisit_coverage)
        if self.delay < 0:
            raise ValueError(f"delay is {self.delay}; expected a whole number of crawls of at least 0")

    @property
    def crawl_coverage(self) -> FloatArray:
        """Fraction M/N of the urn that a crawl captures."""
        recent: Fraction = 0.0
        for i in range(self.delay):
            recent = recent + self.alpha ** (i + 1) * (1 - self.revisit_coverage) ** i
        return np.asarray(self.coverage / (1 + (self.coverage - self.revisit_coverage) * recent))[()]

    def first_returns(self, lag: npt.ArrayLike) -> FloatArray:
        """Return the fraction h of a crawl whose first return is exactly ``lag`` crawls later.

        Parameters
        ----------
        lag
            Whole numbers of at least 1.

        Raises
        ------
        ValueError
            When a lag is not such a number.
        """
        j = require_whole_numbers("lag", lag, least=1)
        c, avoided = self.coverage, 1 - self.revisit_coverage
        # The exponent of the branch that does not apply is kept at 0.
        within = self.revisit_coverage * avoided ** (np.minimum(j, self.delay + 1) - 1)
        beyond = avoided**self.delay * c * (1 - c) ** np.maximum(j - self.delay - 1, 0)
        return np.asarray(self.alpha**j * np.where(j <= self.delay, within, beyond))[()]

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Return the fraction g of a crawl that the crawl ``lag`` later also captures; 1 at lag 0.

        Parameters and errors are the same as for `first_returns`, except that lag 0 is allowed.
        """
        lags = require_whole_numbers("lag", lag, least=0)
        captured: Fraction = 1.0
        recent: list[Fraction] = [0.0] * self.delay
        containment = np.where(lags == 0, 1.0, 0.0)
        for crawl in range(1, int(lags.max(initial=0)) + 1):
            recent = [captured, *((1 - self.revisit_coverage) * chance for chance in recent)][: self.delay]
            captured = self.coverage + (self.revisit_coverage - self.coverage) * sum(recent)
            containment = containment + np.where(lags == crawl, self.alpha**crawl * captured, 0.0)
        return np.asarray(containment)[()]

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Return the distinct elements in t + 1 crawls divided by the size of one; 1 at t = 0.

        Parameters and errors are the same as for `containment`.
        """
        crawls = require_whole_numbers("t", t, least=0)
        new: Fraction = 1.0
        curve = np.ones(crawls.shape)
        for k in range(1, int(crawls.max(initial=0)) + 1):
            new = new - self.first_returns(k)
            curve = curve + np.where(crawls >= k, new, 0.0)
        return np.asarray(curve)[()]
