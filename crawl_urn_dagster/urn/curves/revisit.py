"""The urn of a crawler that avoids what it fetched recently: a revisit delay of some rounds.

Here: the urn's observables, its fit to the discovery curve, a simulator, and where along a sequence of crawls the delay
changes. Not here: whether a collection violates the urn without delay (`violation`).

An element that was fetched in one of the last L rounds is sampled with chance c₁, any other with chance c; new
elements count as not recently fetched. L is the *delay*; 0 is the homogeneous urn. In the steady state, with α the
survival:

- first return after j rounds: h(j) = α^j c₁ (1-c₁)^(j-1) for j ≤ L, and
  α^j (1-c₁)^L c (1-c)^(j-L-1) for j > L;
- new fraction of the crawl that ends a window of t + 1: 1 - h(1) - … - h(t), by symmetry in time, and U(t)/M their sum;
- containment: g(D) = α^D u(D), with u(D) the chance that an element fetched at round 0 is fetched at round D while it
  lives. It is a Markov chain on the rounds since the last fetch, of states 1, …, L and more: with p_i(D) the chance
  of state i at round D, u = c₁ Σ p_i + c (1 - Σ p_i), p_1(D+1) = u(D), p_(i+1)(D+1) = (1-c₁) p_i(D), from p_1(1) = 1;
- crawl size: of the urn, a share m α^i (1-c₁)^(i-1) was last fetched i rounds ago, so
  m = M/N = c/(1 + (c-c₁) Q) with Q = Σ_(i=1..L) α^i (1-c₁)^(i-1).

For L = 1 this is g(D) = α^D (x + (1-x)(c₁-c)^D) with x = c/(1+c-c₁), and M/N = c/(1+α(c-c₁)). For L = 2,
u(1) = u(2) = c₁, u(3) = (1-c₁)² c + (1-(1-c₁)²) c₁, and so on by the chain, and M/N = c/(1+(c-c₁)(α+α²(1-c₁))).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count, product
from math import factorial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.curves.shells import fit_urn_to_curves
from crawl_urn_dagster.urn.data.arguments import require_fraction, require_whole_numbers
from crawl_urn_dagster.urn.data.block_means import BLOCK, block_mean
from crawl_urn_dagster.urn.simulation import SimulatedHistories

if TYPE_CHECKING:
    from crawl_urn_dagster.urn.curves.conversions import Fraction
    from crawl_urn_dagster.urn.curves.shells import UrnFit
    from crawl_urn_dagster.urn.data.histories import FloatArray, IntArray

_PERMUTATIONS = 999
#: Of a change: the chance that a sequence without one shows it.
LEVEL = 0.01
#: Of fewer crawls no order of their blocks is as rare as that, so that no change of them can be found.
FEWEST_FOR_A_CHANGE = BLOCK * next(blocks for blocks in count(1) if LEVEL * factorial(blocks) >= 1)
_LAGS = 3
# Rounds after which a simulated urn has forgotten that nothing had been fetched before.
_BURN_IN = 60
_STARTS = tuple(product((0.6, 0.9), (0.15, 0.4, 0.8), (0.02, 0.3)))


@dataclass(frozen=True, eq=False)
class RevisitDelayUrn:
    """A homogeneous urn in which what was fetched recently is sampled with another chance.

    Parameters
    ----------
    alpha
        Survival α per round, in [0, 1].
    coverage
        Chance c that a crawl samples an element not recently fetched, in [0, 1].
    revisit_coverage
        Chance c₁ that it samples one fetched in the last ``delay`` rounds, in [0, 1].
    delay
        Rounds L, at least 0.

    Raises
    ------
    ValueError
        When a parameter is out of range.

    Notes
    -----
    Parameters but the delay are floats, or arrays that broadcast against each other and against lags and rounds.
    """

    #: What a fit of it estimates: names of attributes, each in [0, 1].
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
            raise ValueError(f"delay is {self.delay}; expected a number of rounds of at least 0")

    @property
    def crawl_coverage(self) -> FloatArray:
        """Fraction M/N of the urn that a crawl holds."""
        recent: Fraction = 0.0
        for i in range(self.delay):
            recent = recent + self.alpha ** (i + 1) * (1 - self.revisit_coverage) ** i
        return np.asarray(self.coverage / (1 + (self.coverage - self.revisit_coverage) * recent))[()]

    def first_returns(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction h of a crawl that is first seen again exactly ``lag`` crawls later.

        Parameters
        ----------
        lag
            Whole numbers of at least 1.

        Raises
        ------
        ValueError
            When a lag is no such number.
        """
        j = require_whole_numbers("lag", lag, least=1)
        c, avoided = self.coverage, 1 - self.revisit_coverage
        # The exponent of the branch that does not hold is kept at 0.
        within = self.revisit_coverage * avoided ** (np.minimum(j, self.delay + 1) - 1)
        beyond = avoided**self.delay * c * (1 - c) ** np.maximum(j - self.delay - 1, 0)
        return np.asarray(self.alpha**j * np.where(j <= self.delay, within, beyond))[()]

    def containment(self, lag: npt.ArrayLike) -> FloatArray:
        """Fraction g of a crawl's elements that the crawl a lag later holds too; 1 at lag 0.

        Parameters and errors are those of `first_returns`, but for lag 0.
        """
        lags = require_whole_numbers("lag", lag, least=0)
        fetched: Fraction = 1.0
        recent: list[Fraction] = [0.0] * self.delay
        containment = np.where(lags == 0, 1.0, 0.0)
        for round_number in range(1, int(lags.max(initial=0)) + 1):
            recent = [fetched, *((1 - self.revisit_coverage) * chance for chance in recent)][: self.delay]
            fetched = self.coverage + (self.revisit_coverage - self.coverage) * sum(recent)
            containment = containment + np.where(lags == round_number, self.alpha**round_number * fetched, 0.0)
        return np.asarray(containment)[()]

    def discovery_curve(self, t: npt.ArrayLike) -> FloatArray:
        """Distinct elements in t + 1 crawls over the size of one; 1 at t = 0.

        Parameters and errors are those of `containment`.
        """
        crawls = require_whole_numbers("t", t, least=0)
        new: Fraction = 1.0
        curve = np.ones(crawls.shape)
        for k in range(1, int(crawls.max(initial=0)) + 1):
            new = new - self.first_returns(k)
            curve = curve + np.where(crawls >= k, new, 0.0)
        return np.asarray(curve)[()]


class Regime(NamedTuple):
    """A run of start crawls over which first returns do not change.

    Attributes
    ----------
    first, last
        Index of its first and last start crawl.
    delay
        Rounds of the revisit delay: one fewer than the lag at which most elements return; 0 is none.
    fraction, fraction_se
        Mean first-return fractions h(1), h(2), h(3) and their standard errors, NaN for fewer than 8 start crawls.
    p_value
        Of the change that parts it from the regime before; None for the first.
    """

    first: int
    last: int
    delay: int
    fraction: tuple[float, ...]
    fraction_se: tuple[float, ...]
    p_value: float | None


class Level(NamedTuple):
    """A run of a series over which its mean does not change.

    Attributes
    ----------
    first, last
        Index of its first and last value.
    mean, se
        Mean and its standard error, NaN for fewer than 8 values.
    p_value
        Of the change that parts it from the run before; None for the first.
    """

    first: int
    last: int
    mean: float
    se: float
    p_value: float | None


def fit_revisit_delay(
    t: npt.ArrayLike,
    ratio: npt.ArrayLike,
    *,
    delay: int,
    lag: npt.ArrayLike = (),
    containment: npt.ArrayLike = (),
    near: UrnFit | None = None,
) -> UrnFit:
    """Fit the curves of an urn with a revisit delay of given length; it has no core.

    Parameters
    ----------
    t, ratio, lag, containment, near
        As in `fit_curves`.
    delay
        Rounds, at least 1; without a delay the urn is the homogeneous one, see `fit_curves`.

    Raises
    ------
    ValueError
        When a number is out of range.
    """
    if delay < 1:
        raise ValueError(f"delay is {delay}; expected a number of rounds of at least 1")
    return fit_urn_to_curves(
        "revisit_delay",
        urn_of=partial(RevisitDelayUrn, delay=delay),
        starts=_STARTS,
        lag=lag,
        containment=containment,
        t=t,
        ratio=ratio,
        near=near,
    )


def find_regimes(sizes: npt.ArrayLike, recaptures: npt.ArrayLike, *, seed: int = 0) -> list[Regime]:
    """Divide start crawls where first-return fractions change, and read the revisit delay of each part.

    Binary segmentation (Vostrikova, 1981) of h(1), h(2), h(3) by start crawl. A run is split where the two means
    explain most of the variance, averaged over the lags, into parts of at least 4 start crawls; the split is a
    change when fewer than 1 % of permutations of the run's blocks of 4 have a split that explains as much. If
    nothing changes, blocks come in one order as likely as in another, while fractions of neighbouring start crawls,
    which share crawls and errors of the same unions, may depend on each other as they like: so no variance has to be
    known, and there are false alarms in 1 % of such sequences. Five blocks are the fewest that can tell.

    Parameters
    ----------
    sizes
        M_t, shape (crawls,).
    recaptures
        r_ij, captured in i and next captured in j, shape (crawls, crawls); NaN where unknown. See
        `recaptures_from_unions`.
    seed
        Of the permutations.

    Returns
    -------
    Regimes in order of time; none when no start crawl has all three lags known.
    """
    size, counts = np.asarray(sizes, dtype=np.float64), np.asarray(recaptures, dtype=np.float64)
    starts = np.arange(max(size.size - _LAGS, 0))
    lags = np.arange(1, _LAGS + 1)
    fractions = counts[starts[:, None], starts[:, None] + lags] / np.where(size > 0, size, np.nan)[starts, None]
    known = np.flatnonzero(np.isfinite(fractions).all(axis=1))
    runs = _segments(fractions[known], np.random.default_rng(seed))
    return [_regime(fractions[known[low:high]], known[low:high], p_value) for low, high, p_value in runs if high > low]


def find_levels(values: npt.ArrayLike, *, seed: int = 0) -> list[Level]:
    """Divide a series where its mean changes, by the test of `find_regimes`.

    Parameters
    ----------
    values
        Shape (n,), in order of time.
    seed
        Of the permutations.
    """
    series = np.asarray(values, dtype=np.float64)
    runs = _segments(series[:, None], np.random.default_rng(seed))
    return [Level(low, high - 1, *block_mean(series[low:high]), p_value) for low, high, p_value in runs if high > low]


def simulate_revisit_delay(
    *, delays: npt.ArrayLike, elements: int, alpha: float, coverage: npt.ArrayLike, revisit_coverage: float, seed: int
) -> SimulatedHistories:
    """Sample an urn with a revisit delay, element by element, from its steady state on.

    Parameters
    ----------
    delays
        Rounds of delay at each crawl, whole numbers of at least 0; shape (crawls,).
    elements
        Elements in the urn at any one time.
    alpha, revisit_coverage
        As in `RevisitDelayUrn`.
    coverage
        As in `RevisitDelayUrn`; a scalar, or one per crawl.
    seed
        Equal seeds give equal histories.

    Raises
    ------
    ValueError
        When a number is out of range.
    """
    delay = require_whole_numbers("delay", delays, least=0)
    require_fraction("alpha", alpha)
    require_fraction("coverage", coverage)
    require_fraction("revisit_coverage", revisit_coverage)
    chance = np.broadcast_to(np.asarray(coverage, dtype=np.float64), delay.shape)
    rng = np.random.default_rng(seed)
    never = delay.max() + 1
    since = np.full(elements, never)
    seen = np.zeros((elements, delay.size), dtype=np.bool_)
    left = []
    for crawl in np.maximum(np.arange(-_BURN_IN, delay.size), -1):
        fetched = rng.random(elements) < np.where(
            since <= delay[max(crawl, 0)], revisit_coverage, chance[max(crawl, 0)]
        )
        since = np.where(fetched, 1, since + 1)
        replaced = rng.random(elements) >= alpha
        since[replaced] = never
        if crawl >= 0:
            seen[:, crawl] = fetched
            left.append(np.packbits(seen[replaced], axis=1))
            seen[replaced] = False
    packed = np.concatenate([*left, np.packbits(seen, axis=1)])
    return SimulatedHistories(packed[packed.any(axis=1)], delay.size)


def _segments(values: FloatArray, rng: np.random.Generator) -> list[tuple[int, int, float | None]]:
    """First row, end row and p-value of the start of every segment, in order."""
    n = len(values)
    n_blocks = n // BLOCK
    if n_blocks < 2:
        return [(0, n, None)]
    blocks = np.array_split(np.arange(n), n_blocks)
    orders = [np.arange(n)]
    orders += [np.concatenate([blocks[k] for k in rng.permutation(n_blocks)]) for _ in range(_PERMUTATIONS)]
    explained = _explained(values[np.stack(orders)])
    best = explained.max(axis=1)
    # Orders that repeat the observed one explain as much but for rounding.
    p_value = float(np.mean(best >= best[0] * (1 - 1e-12)))
    if p_value > LEVEL:
        return [(0, n, None)]
    split = int(explained[0].argmax()) + BLOCK
    before = _segments(values[:split], rng)
    (_, end, _), *rest = _segments(values[split:], rng)
    after = [(0, end, p_value), *rest]
    return before + [(split + low, split + high, p) for low, high, p in after]


def _explained(values: FloatArray) -> FloatArray:
    """Share of variance that two means explain, averaged over the lags, by split.

    From shape (sequences, starts, lags) to (sequences, splits); split k has BLOCK + k starts before it.
    """
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    before = np.arange(BLOCK, n - BLOCK + 1)
    between = centred.cumsum(axis=1)[:, before - 1] ** 2 * (n / (before * (n - before)))[:, None]
    total = (centred**2).sum(axis=1)[:, None]
    return np.asarray(np.divide(between, total, out=np.zeros_like(between), where=total > 0).mean(axis=2))


def _regime(fractions: FloatArray, starts: IntArray, p_value: float | None) -> Regime:
    means, errors = zip(*(block_mean(at_lag) for at_lag in fractions.T), strict=True)
    return Regime(int(starts[0]), int(starts[-1]), int(np.argmax(means)), means, errors, p_value)
