"""What the next crawls will bring: new and returning elements, windows and overlaps, with prediction intervals.

Here: profiles of novelty, futures drawn from them, and their quantiles. Not here: what an urn would do whose coverage
or cadence an operator chooses (`planning`), estimation of urns (`joint`), or labels and tables.

The *profile* ν(k) is the new fraction of a crawl, with respect to the k crawls before it: 1 - Σ_(j ≤ k) b_j, with b_j
the fraction of a crawl that was last seen exactly j crawls before, Σ_t r_(t-j,t) / Σ_t M_t. Beyond the longest lag b
goes on geometrically. Any urn in its steady state has one, with a core, with unequal elements, and with a crawler that
avoids recent fetches, so that no model has to hold. On the logit scale a coming crawl's profile goes from that of the
last crawl to the mean profile, by `DAMPING` each crawl (a damped level, Gardner and McKenzie, 1985), and log sizes
likewise. Futures depart from it as stretches of the past departed from the same forecast made before them, with either
sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, logit
from scipy.stats import t as student_t

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: What is left after one crawl of a departure from the mean, on the logit or log scale.
DAMPING = 0.95
#: Fewest crawls that a forecast is made from: some that tell the profile, and a few stretches that tell errors.
FEWEST = 8
_LEVEL = 0.95
# Fractions are kept off 0 and 1 by this, so that they have a logit.
_LEAST = 1e-3


class Prediction(NamedTuple):
    """A number of elements to come, with a 95 % prediction interval; arrays of one shape."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Forecast:
    """Futures of a collection of T crawls, over H crawls to come: the central one first, then those drawn.

    Attributes
    ----------
    unions
        U(i..j) of the past, as given; shape (T, T).
    sizes
        Crawl sizes, shape (futures, H).
    new_fractions
        New fraction of each crawl by the number k of crawls before it that count, shape (futures, H, T + H); all of
        it is new for k = 0.
    longest
        Longest k for which it is known of the past: with k from it up to T - 1 the elements that were last seen before
        count as new.
    """

    unions: FloatArray
    sizes: FloatArray
    new_fractions: FloatArray
    longest: int

    def crawl_sizes(self) -> Prediction:
        """Sizes of the crawls to come, shape (H,)."""
        return _prediction(self.sizes)

    def new(self, start: int = 0) -> Prediction:
        """Elements of each crawl to come that no crawl since ``start`` held, shape (H,); all of a first crawl."""
        return _prediction(self._new(start))

    def returning(self, start: int = 0) -> Prediction:
        """Elements of each crawl to come that a crawl since ``start`` held, shape (H,)."""
        return _prediction(self.sizes - self._new(start))

    def distinct(self, start: int) -> Prediction:
        """Distinct elements of the windows from crawl ``start`` to each crawl to come, shape (H,).

        NaN before the start where that is to come itself, where the union of the past crawls is not known, and for
        windows longer than any that is.
        """
        n = len(self.unions)
        known = self.unions[start, n - 1] if start < n else 0.0
        ahead = np.arange(self.sizes.shape[1])
        before = n + ahead - start
        inside = before >= 0
        told = inside & ((before <= self.longest) | (self.longest == n - 1))
        distinct = known + np.where(inside, self._new(start), 0.0).cumsum(axis=-1)
        return _prediction(np.where(told, distinct, np.nan))

    def _new(self, start: int) -> FloatArray:
        n, ahead = len(self.unions), np.arange(self.sizes.shape[1])
        before = np.maximum(n + ahead - start, 0)
        return np.asarray(self.sizes * self.new_fractions[:, ahead, before])


def forecast(
    unions: FloatArray, recaptures: FloatArray, *, horizon: int = 12, n_futures: int = 2000, seed: int = 1
) -> Forecast:
    """Forecast the crawls to come.

    Parameters
    ----------
    unions
        U(i..j) for i <= j, the sizes on the diagonal; shape (crawls, crawls), NaN where unknown.
    recaptures
        r_ij, captured in i and next captured in j; of that shape. Returns at lags that are not known of most crawls
        do not count.
    horizon
        Crawls to come.
    n_futures
        How many are drawn.
    seed
        Equal seeds give equal futures.

    Raises
    ------
    ValueError
        When there are fewer than `FEWEST` crawls, no lag is known of most, or no size of two crawls in turn.
    """
    sizes = np.diagonal(unions)
    n = len(sizes)
    if n < FEWEST:
        raise ValueError(f"there are {n} crawls; a forecast needs {FEWEST}")
    longest = _longest_lag(recaptures)
    if longest == 0:
        raise ValueError("no lag is known of most crawls; a forecast needs windows of two crawls, or the m-array")
    profile = _profile(sizes, recaptures, longest, n + horizon)
    observed = _observed(sizes, recaptures, longest)
    before = np.minimum(np.arange(1, n), longest)
    departures = logit(observed[np.arange(1, n), before]) - logit(profile[before])
    log_sizes = np.log(sizes) - np.log(sizes.mean())
    damped = DAMPING ** np.arange(1, horizon + 1)
    rng = np.random.default_rng(seed)
    size_paths = log_sizes[-1] * damped + _paths(rng, log_sizes, horizon, n_futures)
    last = logit(observed[-1]) - logit(profile[:n])
    last = last[np.minimum(np.arange(n + horizon), longest)]
    fractions = expit(logit(profile) + last * damped[:, None] + _paths(rng, departures, horizon, n_futures)[..., None])
    fractions[..., 0] = 1.0
    return Forecast(unions, sizes.mean() * np.exp(size_paths), fractions, longest)


def forecast_overlaps(overlaps: FloatArray, *, horizon: int = 12, fewest: int = 4) -> Prediction:
    """Forecast the overlaps of past crawls i with crawls to come, shape (crawls, horizon); NaN at unknown lags.

    The mean containment at a lag, of all pairs that have it, times the size of i; the interval is that of another pair
    (Student's t on the logit scale). A containment is told by pairs that share crawls, as are those to come.

    Parameters
    ----------
    overlaps
        Intersections of crawls i and j, sizes on the diagonal; shape (crawls, crawls), NaN where unknown.
    fewest
        Pairs that a lag needs to be told.
    """
    n = len(overlaps)
    sizes = np.diagonal(overlaps)
    value, low, high = np.full((3, n, horizon), np.nan)
    for lag in range(1, n):
        share = np.diagonal(overlaps, lag) / sizes[: n - lag]
        known = logit(np.clip(share[np.isfinite(share)], _LEAST, 1 - _LEAST))
        ahead = np.arange(horizon)
        i = n + ahead - lag
        at = (i >= 0) & (i < n)
        if len(known) >= fewest and at.any():
            half = student_t.ppf((1 + _LEVEL) / 2, len(known) - 1) * known.std(ddof=1) * np.sqrt(1 + 1 / len(known))
            for table, shift in ((value, 0.0), (low, -half), (high, half)):
                table[i[at], ahead[at]] = sizes[i[at]] * expit(known.mean() + shift)
    return Prediction(value, low, high)


def interpolate_windows(unions: FloatArray) -> FloatArray:
    """Fill windows of lengths between those that are known of the same last crawl, by a monotone cubic.

    Parameters
    ----------
    unions
        As of `forecast`, with sizes on the diagonal.
    """
    filled = unions.copy()
    for last in range(len(unions)):
        starts = np.flatnonzero(np.isfinite(unions[: last + 1, last]))
        if len(starts) > 1:
            between = np.arange(starts[0], last + 1)
            filled[between, last] = PchipInterpolator(starts, unions[starts, last])(between)
    return filled


def _prediction(futures: FloatArray) -> Prediction:
    low, high = np.quantile(futures[1:], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    return Prediction(futures[0], low, high)


def _longest_lag(recaptures: FloatArray) -> int:
    """Longest lag up to which the recaptures of most crawls are known."""
    longest = 0
    for lag in range(1, len(recaptures)):
        if np.isfinite(np.diagonal(recaptures, lag)).mean() <= 0.5:
            break
        longest = lag
    return longest


def _profile(sizes: FloatArray, recaptures: FloatArray, longest: int, length: int) -> FloatArray:
    """ν(k) for k from 0, shape (length,)."""
    lags = range(1, longest + 1)
    known = [np.isfinite(np.diagonal(recaptures, lag)) for lag in lags]
    returned = np.array(
        [np.diagonal(recaptures, lag)[at].sum() for lag, at in zip(lags, known, strict=True)], dtype=np.float64
    )
    total = np.array([sizes[lag:][at].sum() for lag, at in zip(lags, known, strict=True)])
    # From lag 2 on: the core returns at lag 1.
    half = max((longest - 1) // 2, 1)
    late = returned[-half:].sum() / total[-half:].sum()
    earlier = returned[-2 * half : -half].sum() / max(total[-2 * half : -half].sum(), 1.0)
    decay = np.clip(late / earlier, 0, 1) ** (1 / half) if earlier > 0 and late > 0 else 0.0
    beyond = max(late, 0.0) * decay ** (np.arange(max(length - longest - 1, 0)) + 1 + half / 2)
    fractions = np.concatenate([[0.0], returned / total, beyond])[:length]
    return np.asarray(np.clip(1 - fractions.cumsum(), _LEAST, 1 - _LEAST))


def _observed(sizes: FloatArray, recaptures: FloatArray, longest: int) -> FloatArray:
    """Find the new fraction of each crawl by the number of crawls before it that count, shape (crawls, crawls).

    Of more crawls than there are, or than are known, it is that of those there are.
    """
    n = len(sizes)
    crawl, lag = np.indices((n, n))
    known = (lag > 0) & (lag <= longest) & (lag <= crawl)
    returned = np.where(known, np.nan_to_num(recaptures)[np.maximum(crawl - lag, 0), crawl], 0.0)
    return np.asarray(np.clip(1 - returned.cumsum(axis=1) / sizes[:, None], _LEAST, 1 - _LEAST))


def _paths(rng: np.random.Generator, values: FloatArray, horizon: int, n: int) -> npt.NDArray[np.float64]:
    """Draw departures from the damped forecast, shape (1 + n, horizon); the first is none.

    A stretch of the past that ends too soon goes on with another, damped from where it ended.
    """
    origins = len(values) - 1
    padded = np.append(values, np.full(horizon, np.nan))
    ahead = np.arange(1, horizon + 1)
    errors = padded[np.arange(origins)[:, None] + ahead] - values[:origins, None] * DAMPING**ahead
    errors = errors[np.isfinite(errors).any(axis=1)]
    if not len(errors):
        raise ValueError("the sizes of the crawls and what is new in them are not known of two crawls in turn")
    paths = np.zeros((1 + n, horizon))
    for row in range(1, 1 + n):
        step, offset = 0, 0.0
        while step < horizon:
            stretch = errors[rng.integers(len(errors))]
            stretch = stretch[np.isfinite(stretch)][: horizon - step] * rng.choice((-1.0, 1.0))
            paths[row, step : step + len(stretch)] = offset * DAMPING ** ahead[: len(stretch)] + stretch
            step += len(stretch)
            offset = paths[row, step - 1]
    return paths
