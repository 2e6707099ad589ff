"""Define urns with an uneven shell: a core with two shells, and a shell with spread coverage.

Does not fit them; see `urn.fits.urn_curves`.

An average over the shells hides their unevenness: a crawl captures more of the elements that it covers well, so
containment depends on the size-biased coverage E[c²]/E[c], and late discoveries are elements that it covers badly.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.curves.conversions import Fraction, core_share_from_kappa
from crawl_urn_dagster.urn.curves.model import Urn
from crawl_urn_dagster.urn.data.arguments import require_fraction, require_whole_numbers

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.data.histories import FloatArray


class CrawlShares(NamedTuple):
    """Shares of one crawl; the three sum to 1."""

    core: FloatArray
    shell_1: FloatArray
    shell_2: FloatArray


@dataclass(frozen=True, eq=False)
class CoreTwoShellsUrn:
    """An urn with a core that never leaves and is always sampled, and two shells that are homogeneous urns.

    Parameters
    ----------
    kappa
        Core's share κ of the urn, in [0, 1].
    share
        First shell's share of the elements outside the core, in [0, 1].
    alpha_1, coverage_1, alpha_2, coverage_2
        Survival and coverage of the shells, as in `Urn`.

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].
    """

    #: What a fit of it estimates: names of attributes, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = (
        *("kappa", "core_share"),
        *("share_1", "alpha_1", "coverage_1"),
        *("share_2", "alpha_2", "coverage_2"),
    )

    kappa: Fraction
    share: Fraction
    alpha_1: Fraction
    coverage_1: Fraction
    alpha_2: Fraction
    coverage_2: Fraction

    def __post_init__(self) -> None:
        for field in fields(self):
            require_fraction(field.name, getattr(self, field.name))

    @property
    def share_1(self) -> Fraction:
        """First shell's share of the elements outside the core."""
        return self.share

    @property
    def share_2(self) -> Fraction:
        """Second shell's share of them."""
        return 1 - self.share

    @property
    def shells(self) -> tuple[Urn, Urn]:
        """The shells as urns of their own."""
        return Urn(self.alpha_1, self.coverage_1), Urn(self.alpha_2, self.coverage_2)

    @property
    def crawl_shares(self) -> CrawlShares:
        """Shares of one crawl, in proportion to share of the urn times coverage."""
        first = self.share * self.coverage_1
        coverage = first + (1 - self.share) * self.coverage_2
        core = core_share_from_kappa(self.kappa, coverage)
        # Of a shell that is never sampled, any division does.
        of_shell = np.divide(first, coverage, out=np.ones(np.shape(coverage)), where=np.asarray(coverage) > 0)
        return CrawlShares(core, (1 - core) * of_shell, (1 - core) * (1 - of_shell))

    @property
    def core_share(self) -> FloatArray:
        """Core's share μ of one crawl."""
        return self.crawl_shares.core

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction of a crawl's elements that the crawl a lag later holds too; see `Urn.containment`."""
        core, *shares = self.crawl_shares
        return core + sum(share * shell.containment(lag) for share, shell in zip(shares, self.shells, strict=True))

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Distinct elements in t + 1 crawls at equal gaps, over the size of one; see `Urn.discovery_curve`."""
        core, *shares = self.crawl_shares
        return core + sum(share * shell.discovery_curve(t) for share, shell in zip(shares, self.shells, strict=True))


@dataclass(frozen=True, eq=False)
class BetaShellUrn:
    """An urn of core and shell in which coverage is Beta-distributed over the elements of the shell.

    An element keeps its coverage for life and new ones are drawn from the same distribution, so at any time the
    elements of the shell are spread alike.

    Parameters
    ----------
    kappa
        Core's share κ of the urn, in [0, 1].
    alpha
        Survival α of the shell per crawl, in [0, 1].
    coverage
        Mean c of the coverage over the shell's elements, in [0, 1].
    spread
        Its variance over c (1-c), the largest that it can be, in [0, 1]: 0 is the urn of core and shell; at 1 a
        share c of the shell is in every crawl while it lives, and the rest in none. The Beta distribution's
        parameters are c (1-s)/s and (1-c) (1-s)/s, and s is the correlation of two captures of an element.

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].

    Notes
    -----
    With C an element's coverage, m(k) = E[C (1-C)^k]/E[C] is the chance that an element of a crawl would be
    missed by k crawls; for the Beta distribution it is Π_(i<k) ((1-c)(1-s) + i s)/(1 + i s). An element of a
    crawl is first seen again j crawls later with chance h(j) = α^j (m(j-1) - m(j)), and by symmetry in time a
    share 1 - h(1) - … - h(t) of crawl t was not seen in the t crawls before.
    """

    #: What a fit of it estimates: names of attributes, each in [0, 1].
    ESTIMATES: ClassVar[tuple[str, ...]] = ("kappa", "core_share", "alpha", "coverage", "spread", "coverage_sd")

    kappa: Fraction
    alpha: Fraction
    coverage: Fraction
    spread: Fraction

    def __post_init__(self) -> None:
        for field in fields(self):
            require_fraction(field.name, getattr(self, field.name))

    @property
    def core_share(self) -> FloatArray:
        """Core's share μ of one crawl."""
        return core_share_from_kappa(self.kappa, self.coverage)

    @property
    def coverage_sd(self) -> FloatArray:
        """Standard deviation of coverage over the shell's elements, at most 1/2."""
        return np.asarray(np.sqrt(self.spread * self.coverage * (1 - self.coverage)))[()]

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction of a crawl's elements that the crawl a lag later holds too, μ + (1-μ) (E[C²]/E[C]) α^lag.

        E[C²]/E[C] = c + s (1-c). Parameters and errors are those of `Urn.containment`.
        """
        size_biased = self.coverage + self.spread * (1 - self.coverage)
        return self.core_share + (1 - self.core_share) * Urn(self.alpha, size_biased).containment(lag)

    def first_returns(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction of a crawl that is first seen again exactly ``lag`` crawls later, whole numbers from 1 on.

        μ at lag 1, and (1-μ) h(lag). Errors are those of `discovery_curve`.
        """
        lags = require_whole_numbers("lag", lag, least=1)
        returns = np.zeros(lags.shape)
        for j, of_shell in enumerate(self._shell_returns(int(lags.max(initial=1))), start=1):
            core = self.core_share if j == 1 else 0.0
            returns = returns + np.where(lags == j, core + (1 - self.core_share) * of_shell, 0.0)
        return np.asarray(returns)[()]

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Distinct elements in t + 1 crawls at equal gaps, over the size of one; 1 at t = 0.

        U(t)/M = μ + (1-μ) Σ_(k=0..t) (1 - h(1) - … - h(k)).

        Raises
        ------
        ValueError
            When a t is not a whole number of at least 0.
        """
        crawls = require_whole_numbers("t", t, least=0)
        new: Fraction = 1.0
        curve: Fraction = 1.0
        for k, of_shell in enumerate(self._shell_returns(int(crawls.max(initial=0))), start=1):
            new = new - of_shell
            curve = curve + np.where(crawls >= k, new, 0.0)
        return np.asarray(self.core_share + (1 - self.core_share) * curve)[()]

    def _shell_returns(self, longest: int) -> list[Fraction]:
        """h(1) to h(longest) of the shell: α^j m(j-1) (c (1-s) + s)/(1 + (j-1) s), in which nothing cancels."""
        returns: list[Fraction] = []
        missed = self.alpha
        for i in range(longest):
            scale = 1 + i * self.spread
            returns.append(missed * (self.coverage * (1 - self.spread) + self.spread) / scale)
            missed = missed * self.alpha * ((1 - self.coverage) * (1 - self.spread) + i * self.spread) / scale
        return returns


def shells_in_order(kappa: Fraction, share: Fraction, *shells: Fraction) -> CoreTwoShellsUrn:
    """Core and two shells, of which the longer-lived comes first whichever was given first."""
    one, other = shells[:2], shells[2:]
    in_order = one[0] >= other[0]

    def where(this: Fraction, that: Fraction) -> FloatArray:
        return np.where(in_order, this, that)[()]

    return CoreTwoShellsUrn(kappa, where(share, 1 - share), *map(where, one, other), *map(where, other, one))
