"""Define urns with an uneven shell: a core with two shells, and a shell with spread coverage.

Does not fit them; see `urn.fits.mean_curves`.

An average over the shells hides their unevenness. A crawl captures more of the elements with high coverage, so
containment depends on the size-biased coverage E[c²]/E[c], and late discoveries are elements with low coverage.
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
    """Shares of one crawl by component; the three sum to 1."""

    core: FloatArray
    shell_1: FloatArray
    shell_2: FloatArray


@dataclass(frozen=True, eq=False)
class CoreTwoShellsUrn:
    """An urn with a core that is always eligible and always captured, and two shells that are homogeneous urns.

    Parameters
    ----------
    kappa
        Core fraction κ of the urn, in [0, 1].
    share
        First shell's share of the elements outside the core, in [0, 1].
    alpha_1, coverage_1, alpha_2, coverage_2
        Survival and coverage of the shells, as in `Urn`.

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].

    Examples
    --------
    >>> shells = {"alpha_1": 0.9, "coverage_1": 0.6, "alpha_2": 0.5, "coverage_2": 0.2}
    >>> urn = CoreTwoShellsUrn(kappa=0.2, share=0.5, **shells)
    >>> urn.containment([1, 2]).round(3).tolist()
    [0.649, 0.617]
    """

    #: Attributes that a fit estimates, each in [0, 1].
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
        """Second shell's share of the elements outside the core."""
        return 1 - self.share

    @property
    def shells(self) -> tuple[Urn, Urn]:
        """The shells as homogeneous urns."""
        return Urn(self.alpha_1, self.coverage_1), Urn(self.alpha_2, self.coverage_2)

    @property
    def crawl_shares(self) -> CrawlShares:
        """Shares of one crawl, proportional to share of the urn times coverage."""
        first = self.share * self.coverage_1
        coverage = first + (1 - self.share) * self.coverage_2
        core = core_share_from_kappa(self.kappa, coverage)
        # If no shell element is ever captured, any division between the shells is correct.
        share_1 = np.divide(first, coverage, out=np.ones(np.shape(coverage)), where=np.asarray(coverage) > 0)
        return CrawlShares(core, (1 - core) * share_1, (1 - core) * (1 - share_1))

    @property
    def core_share(self) -> FloatArray:
        """Core share μ of a crawl."""
        return self.crawl_shares.core

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Return the fraction of a crawl that the crawl ``lag`` later also captures; see `Urn.containment`."""
        core, *shares = self.crawl_shares
        return core + sum(share * shell.containment(lag) for share, shell in zip(shares, self.shells, strict=True))

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Return the distinct elements in t + 1 crawls divided by the size of one; see `Urn.discovery_curve`."""
        core, *shares = self.crawl_shares
        return core + sum(share * shell.discovery_curve(t) for share, shell in zip(shares, self.shells, strict=True))


@dataclass(frozen=True, eq=False)
class BetaShellUrn:
    """An urn of core and shell in which coverage is Beta-distributed over the elements of the shell.

    An element keeps its coverage while it is eligible. The coverage of a new element is drawn from the same
    distribution, so the distribution over the shell is constant in time.

    Parameters
    ----------
    kappa
        Core fraction κ of the urn, in [0, 1].
    alpha
        Survival α of the shell per crawl, in [0, 1].
    coverage
        Mean coverage c over the elements of the shell, in [0, 1].
    spread
        Variance s of the coverage divided by c (1-c), its largest possible value, in [0, 1]. At 0 it is the core-shell
        urn. At 1 a share c of the shell is captured by every crawl while it is eligible, and no other shell element is
        ever captured. The parameters of the Beta distribution are c (1-s)/s and (1-c) (1-s)/s, and s is the
        correlation of two captures of an element.

    Raises
    ------
    ValueError
        When a parameter is NaN or outside [0, 1].

    Notes
    -----
    With C an element's coverage, m(k) = E[C (1-C)^k]/E[C] is the probability that k crawls would miss an element of a
    crawl; for the Beta distribution it is Π_(i<k) ((1-c)(1-s) + i s)/(1 + i s). The first return of an element of a
    crawl is j crawls later with probability h(j) = α^j (m(j-1) - m(j)). By symmetry in time, a share
    1 - h(1) - … - h(t) of crawl t was not captured in the t crawls before it.

    Examples
    --------
    >>> urn = BetaShellUrn(kappa=0.2, alpha=0.9, coverage=0.5, spread=0.3)
    >>> urn.containment([1, 2]).round(3).tolist()
    [0.723, 0.684]
    """

    #: Attributes that a fit estimates, each in [0, 1].
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
        """Core share μ of a crawl."""
        return core_share_from_kappa(self.kappa, self.coverage)

    @property
    def coverage_sd(self) -> FloatArray:
        """Standard deviation of coverage over the elements of the shell, at most 1/2."""
        return np.asarray(np.sqrt(self.spread * self.coverage * (1 - self.coverage)))[()]

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Return the fraction μ + (1-μ) (E[C²]/E[C]) α^lag of a crawl that the crawl ``lag`` later also captures.

        E[C²]/E[C] = c + s (1-c). Parameters and errors are the same as for `Urn.containment`.
        """
        size_biased = self.coverage + self.spread * (1 - self.coverage)
        return self.core_share + (1 - self.core_share) * Urn(self.alpha, size_biased).containment(lag)

    def first_returns(self, lag: npt.ArrayLike) -> FloatArray:
        """Return the fraction of a crawl whose first return is exactly ``lag`` crawls later.

        It is (1-μ) h(lag), plus μ at lag 1. Lags are whole numbers of at least 1.

        Raises
        ------
        ValueError
            When a lag is not such a number.
        """
        lags = require_whole_numbers("lag", lag, least=1)
        shell = _at(self._shell_returns(int(lags.max(initial=1))), lags - 1)
        return np.asarray(np.where(lags == 1, self.core_share, 0.0) + (1 - self.core_share) * shell)[()]

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Return the distinct elements in t + 1 crawls at equal gaps divided by the size of one; 1 at t = 0.

        U(t)/M = μ + (1-μ) Σ_(k=0..t) (1 - h(1) - … - h(k)).

        Raises
        ------
        ValueError
            When a t is not a whole number of at least 0.
        """
        crawls = require_whole_numbers("t", t, least=0)
        new = 1 - self._shell_returns(int(crawls.max(initial=0))).cumsum(axis=0)
        curve = np.concatenate([np.ones((1, *new.shape[1:])), 1 + new.cumsum(axis=0)])
        return np.asarray(self.core_share + (1 - self.core_share) * _at(curve, crawls))[()]

    def _shell_returns(self, longest: int) -> FloatArray:
        """Return h(1) to h(longest) of the shell on a leading axis.

        They are α^j m(j-1) (c (1-s) + s)/(1 + (j-1) s), which has no cancellation.
        """
        shape = np.broadcast_shapes(*(np.shape(getattr(self, field.name)) for field in fields(self)))
        i = np.arange(float(longest)).reshape(-1, *(1,) * len(shape))
        scale = 1 + i * self.spread
        factors = self.alpha * ((1 - self.coverage) * (1 - self.spread) + i * self.spread) / scale
        missed = self.alpha * np.concatenate([np.ones((1, *factors.shape[1:])), factors[:-1].cumprod(axis=0)])
        return np.asarray(missed[:longest] * (self.coverage * (1 - self.spread) + self.spread) / scale)


def _at(values: FloatArray, positions: FloatArray) -> FloatArray:
    """Return the values at positions of their leading axis, which broadcast against the other axes."""
    shape = np.broadcast_shapes(values.shape[1:], positions.shape)
    missing = (1,) * (len(shape) - values.ndim + 1)
    whole = np.broadcast_to(values.reshape(len(values), *missing, *values.shape[1:]), (len(values), *shape))
    index = np.broadcast_to(positions.astype(np.intp), shape)
    return np.asarray(np.take_along_axis(whole, index[None], axis=0)[0])


def shells_in_order(kappa: Fraction, share: Fraction, *shells: Fraction) -> CoreTwoShellsUrn:
    """Return an urn with a core and two shells, the longer-lived shell first."""
    one, other = shells[:2], shells[2:]
    in_order = one[0] >= other[0]

    def where(this: Fraction, that: Fraction) -> FloatArray:
        return np.where(in_order, this, that)[()]

    return CoreTwoShellsUrn(kappa, where(share, 1 - share), *map(where, one, other), *map(where, other, one))
