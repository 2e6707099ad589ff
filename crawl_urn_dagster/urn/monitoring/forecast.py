"""Forecast the next crawls: new and returning elements, windows and overlaps, with 95 % prediction intervals.

Does not evaluate other coverages or gaps (see `planning`) and does not fit urns (see `joint`).

The *profile* ν(k) is the new fraction of a crawl with respect to the k crawls before it: 1 - Σ_(j ≤ k) b_j, where b_j
is the fraction of a crawl that was last captured exactly j crawls before, Σ_t r_(t-j,t) / Σ_t M_t. Beyond the longest
known lag, b decreases geometrically. Any urn in its steady state has a profile, with or without a core, with unequal
elements and under a revisit delay, and keeps it when all its classes grow alike, so the forecast does not depend on a
model. On the logit scale, the profile of a coming crawl returns from the profile of the last crawl to the mean profile,
with the factor `DAMPING` per crawl (a damped level, Gardner and McKenzie, 1985). Log sizes return to the trend of the
population in the same way, or follow the expected sizes of a model with memory. Simulated futures deviate from this
forecast as stretches of past crawls deviated from the same forecast made before them, in size and profile together, two
stretches mixed at random. Each future has its own trend, drawn from the error of the estimated trend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, logit

from crawl_urn_dagster.urn.data.distributions import normal_quantile, student_quantile

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Factor by which a deviation from the mean shrinks per crawl, on the logit or log scale.
DAMPING = 0.95
#: Minimum number of crawls for a forecast: enough for a profile, and for a few stretches of past errors.
FEWEST = 8
_LEVEL = 0.95
# With fewer errors the quantile of Student's t is too wide to use.
_FEWEST_ERRORS = 4
# Largest distance that fractions keep from 0 and 1, where the logit is infinite.
_LEAST = 1e-3


class Prediction(NamedTuple):
    """A future number of elements, with a 95 % prediction interval; arrays of one shape."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


class Trend(NamedTuple):
    """Change of the log population per crawl, and its standard error."""

    growth: float = 0.0
    se: float = 0.0


@dataclass(frozen=True, eq=False)
class Forecast:
    """Futures of a collection of T crawls over H coming crawls: the central future first, then simulated futures.

    Attributes
    ----------
    unions
        U(i..j) of the past, shape (T, T).
    sizes
        Crawl sizes, shape (n_futures, H).
    new_fractions
        New fraction of each coming crawl by the number k of crawls before it that count, shape (n_futures, H, T + H);
        1 for k = 0.
    longest
        Longest k for which the profile of the past is known. For larger k up to T - 1, elements that were last captured
        earlier count as new.
    """

    unions: FloatArray
    sizes: FloatArray
    new_fractions: FloatArray
    longest: int

    def crawl_sizes(self) -> Prediction:
        """Return the sizes of the coming crawls, shape (H,)."""
        return _prediction(self.sizes)

    def new(self, start: int = 0) -> Prediction:
        """Return the elements of each coming crawl that no crawl since `start` captured, shape (H,)."""
        return _prediction(self._new(start))

    def new_share(self, start: int = 0) -> Prediction:
        """Return the share of each coming crawl that no crawl since `start` captured, shape (H,)."""
        return _prediction(self._new(start) / self.sizes)

    def returning(self, start: int = 0) -> Prediction:
        """Return the elements of each coming crawl that a crawl since `start` captured, shape (H,)."""
        return _prediction(self.sizes - self._new(start))

    def distinct(self, start: int) -> Prediction:
        """Return the distinct elements of the windows from crawl `start` to each coming crawl, shape (H,).

        NaN before `start` if that crawl is itself a coming crawl, where the union of the past crawls is unknown, and
        for windows longer than the longest known one.
        """
        n = len(self.unions)
        known = self.unions[start, n - 1] if start < n else 0.0
        ahead = np.arange(self.sizes.shape[1])
        before = n + ahead - start
        inside = before >= 0
        is_known = inside & ((before <= self.longest) | (self.longest == n - 1))
        distinct = known + np.where(inside, self._new(start), 0.0).cumsum(axis=-1)
        return _prediction(np.where(is_known, distinct, np.nan))

    def _new(self, start: int) -> FloatArray:
        n, ahead = len(self.unions), np.arange(self.sizes.shape[1])
        before = np.maximum(n + ahead - start, 0)
        return np.asarray(self.sizes * self.new_fractions[:, ahead, before])


def forecast(
    unions: FloatArray,
    recaptures: FloatArray,
    *,
    trend: Trend | None = None,
    expected_sizes: FloatArray | None = None,
    horizon: int = 12,
    n_futures: int = 2000,
    seed: int = 1,
) -> Forecast:
    """Forecast the coming crawls.

    Parameters
    ----------
    unions
        U(i..j) for i <= j, with sizes on the diagonal, shape (n_crawls, n_crawls); NaN where unknown.
    recaptures
        Elements r_ij captured by crawl i and next captured by crawl j, shape (n_crawls, n_crawls). Recaptures at lags
        that are unknown for most crawls are not used.
    trend
        Trend of the population; None: constant.
    expected_sizes
        Sizes of the next crawls that a model expects after each crawl, shape (n_crawls, horizon), NaN where it expects
        none; see `state_space.prediction.expected_sizes`. None: sizes return to their trend.
    horizon
        Number of coming crawls, at least 1.
    n_futures
        Number of simulated futures.
    seed
        Seed of the random numbers. Equal seeds give equal futures.

    Returns
    -------
    Forecast
        The central future and the simulated ones.

    Raises
    ------
    ValueError
        If there are fewer than `FEWEST` crawls, no lag is known for most crawls, or no two consecutive sizes are known.

    References
    ----------
    Gardner, E. S. and McKenzie, E. (1985). Forecasting trends in time series. Management Science 31, 1237-1246.
    """
    sizes = np.diagonal(unions)
    n = len(sizes)
    if n < FEWEST:
        raise ValueError(f"there are {n} crawls; a forecast needs at least {FEWEST}")
    longest = _longest_lag(recaptures)
    if longest == 0:
        raise ValueError("no lag is known for most crawls; a forecast needs windows of two crawls, or the m-array")
    profile = _profile(sizes, recaptures, longest, n + horizon)
    observed = _observed(sizes, recaptures, longest)
    before = np.minimum(np.arange(1, n), longest)
    departures = logit(observed[np.arange(1, n), before]) - logit(profile[before])
    damped = DAMPING ** np.arange(1, horizon + 1)
    rng = np.random.default_rng(seed)
    central, size_errors = _size_forecast(sizes, (trend or Trend()).growth, horizon, expected_sizes)
    moved = _moved_by_trend(
        rng, (trend or Trend()).se, len(sizes), (n_futures, horizon), is_expected=expected_sizes is not None
    )
    # A crawl of high coverage is large and has many new elements, so the errors of both come from the same stretch.
    size_paths, paths = _paths(
        rng, np.stack([size_errors[1:], _damped_errors(departures, horizon)]), horizon, n_futures
    )
    size_paths = central + moved + size_paths
    last = logit(observed[-1]) - logit(profile[:n])
    last = last[np.minimum(np.arange(n + horizon), longest)]
    fractions = expit(logit(profile) + last * damped[:, None] + paths[..., None])
    fractions[..., 0] = 1.0
    return Forecast(unions, np.exp(size_paths), fractions, longest)


def _size_forecast(
    sizes: FloatArray, growth: float, horizon: int, expected: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the central log sizes, shape (horizon,), and past errors by origin, shape (n_crawls - 1, horizon)."""
    ahead = np.arange(1, horizon + 1)
    if expected is not None:
        later = np.append(np.log(sizes), np.full(horizon, np.nan))[np.arange(len(sizes))[:, None] + ahead]
        return np.log(expected[-1]), (later - np.log(expected))[:-1]
    without_trend = np.log(sizes) - growth * (np.arange(len(sizes)) - (len(sizes) - 1))
    level = np.log(np.exp(without_trend).mean())
    departures = without_trend - level
    return level + growth * ahead + departures[-1] * DAMPING**ahead, _damped_errors(departures, horizon)


def _moved_by_trend(
    rng: np.random.Generator, se: float, n_crawls: int, shape: tuple[int, int], *, is_expected: bool
) -> FloatArray:
    """Draw the change of log sizes by the error of the trend, shape (1 + n, horizon); the first row is 0."""
    n, horizon = shape
    ahead = np.arange(1, horizon + 1)
    # Another trend also moves the level at the last crawl, to which sizes return.
    level_weight = 0.0 if is_expected else (1 - DAMPING**ahead) * (n_crawls - 1) / 2
    return np.asarray(np.append(0.0, se * rng.standard_normal(n))[:, None] * (ahead + level_weight))


def forecast_overlaps(overlaps: FloatArray, *, horizon: int = 12, fewest: int = 4) -> Prediction:
    """Forecast the overlaps of past crawls i with coming crawls.

    The forecast is the mean containment at a lag, over all pairs with this lag, times the size of i. The interval is
    that of one more pair (Student's t on the logit scale). Pairs of a lag share crawls, and so do the coming pairs.

    Parameters
    ----------
    overlaps
        Intersections of crawls i and j, with sizes on the diagonal, shape (n_crawls, n_crawls); NaN where unknown.
    horizon
        Number of coming crawls, at least 1.
    fewest
        Minimum number of pairs for the forecast of a lag.

    Returns
    -------
    Prediction
        Overlaps, shape (n_crawls, horizon); NaN at lags with too few pairs.
    """
    n = len(overlaps)
    sizes = np.diagonal(overlaps)
    least = _least_share(sizes)
    value, low, high = np.full((3, n, horizon), np.nan)
    for lag in range(1, n):
        share = np.diagonal(overlaps, lag) / sizes[: n - lag]
        known = logit(np.clip(share[np.isfinite(share)], least, 1 - least))
        ahead = np.arange(horizon)
        i = n + ahead - lag
        at = (i >= 0) & (i < n)
        if len(known) >= fewest and at.any():
            half = student_quantile((1 + _LEVEL) / 2, len(known) - 1) * known.std(ddof=1) * np.sqrt(1 + 1 / len(known))
            for table, shift in ((value, 0.0), (low, -half), (high, half)):
                table[i[at], ahead[at]] = sizes[i[at]] * expit(known.mean() + shift)
    return Prediction(value, low, high)


def interpolate_windows(unions: FloatArray) -> FloatArray:
    """Fill windows of unknown length between known windows with the same last crawl, by a monotone cubic.

    Parameters
    ----------
    unions
        U(i..j) with sizes on the diagonal, shape (n_crawls, n_crawls); NaN where unknown.
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


def _least_share(sizes: FloatArray) -> float:
    """Return the share of a crawl that stands for none of its elements: half an element, in a large crawl."""
    return float(min(_LEAST, 0.5 / max(np.nanmax(sizes, initial=1.0), 1.0)))


def _longest_lag(recaptures: FloatArray) -> int:
    """Return the longest lag up to which the recaptures of most crawls are known."""
    longest = 0
    for lag in range(1, len(recaptures)):
        if np.isfinite(np.diagonal(recaptures, lag)).mean() <= 0.5:
            break
        longest = lag
    return longest


def _profile(sizes: FloatArray, recaptures: FloatArray, longest: int, length: int) -> FloatArray:
    """Return ν(k) for k from 0, shape (length,)."""
    lags = range(1, longest + 1)
    known = [np.isfinite(np.diagonal(recaptures, lag)) for lag in lags]
    returned = np.array(
        [np.diagonal(recaptures, lag)[at].sum() for lag, at in zip(lags, known, strict=True)], dtype=np.float64
    )
    total = np.array([sizes[lag:][at].sum() for lag, at in zip(lags, known, strict=True)])
    # The decay comes from the longer lags, because the core returns at lag 1.
    half = max((longest - 1) // 2, 1)
    late = returned[-half:].sum() / total[-half:].sum()
    earlier = returned[-2 * half : -half].sum() / max(total[-2 * half : -half].sum(), 1.0)
    decay = np.clip(late / earlier, 0, 1) ** (1 / half) if earlier > 0 and late > 0 else 0.0
    beyond = max(late, 0.0) * decay ** (np.arange(max(length - longest - 1, 0)) + 1 + half / 2)
    fractions = np.concatenate([[0.0], returned / total, beyond])[:length]
    least = _least_share(sizes)
    return np.asarray(np.clip(1 - fractions.cumsum(), least, 1 - least))


def _observed(sizes: FloatArray, recaptures: FloatArray, longest: int) -> FloatArray:
    """Compute the new fraction of each crawl by the number of crawls before it that count, shape (n_crawls, n_crawls).

    Where fewer crawls exist or are known, only those count.
    """
    n = len(sizes)
    crawl, lag = np.indices((n, n))
    known = (lag > 0) & (lag <= longest) & (lag <= crawl)
    returned = np.where(known, np.nan_to_num(recaptures)[np.maximum(crawl - lag, 0), crawl], 0.0)
    least = _least_share(sizes)
    return np.asarray(np.clip(1 - returned.cumsum(axis=1) / sizes[:, None], least, 1 - least))


def _damped_errors(values: FloatArray, horizon: int) -> FloatArray:
    """Return the errors of past damped forecasts by origin and crawls ahead, shape (n_crawls - 1, horizon)."""
    origins = len(values) - 1
    padded = np.append(values, np.full(horizon, np.nan))
    ahead = np.arange(1, horizon + 1)
    return np.asarray(padded[np.arange(origins)[:, None] + ahead] - values[:origins, None] * DAMPING**ahead)


def _paths(rng: np.random.Generator, errors: FloatArray, horizon: int, n: int) -> npt.NDArray[np.float64]:
    """Draw deviations from the central future, shape (n_series, 1 + n, horizon); the first future is 0.

    Errors have the shape (n_series, n_origins, horizon). If a stretch of past errors ends before the horizon, another
    one follows, damped from its end.
    """
    ahead = np.arange(1, horizon + 1)
    lengths = np.isfinite(errors).all(axis=0).cumprod(axis=1).sum(axis=1)
    known = np.flatnonzero(lengths)
    if not len(known):
        raise ValueError(
            "the sizes of the crawls and their new fractions are unknown for all pairs of consecutive crawls"
        )
    errors = errors * _small_sample_factor(len(known))
    paths = np.zeros((len(errors), 1 + n, horizon))
    for row in range(1, 1 + n):
        step, offset = 0, np.zeros((len(errors), 1))
        while step < horizon:
            origin = known[rng.integers(len(known))]
            length = min(lengths[origin], horizon - step)
            # The quantiles of few errors are single errors; a rotation of two has the same variance.
            others = known[lengths[known] >= length]
            angle, other = rng.uniform(0, 2 * np.pi), others[rng.integers(len(others))]
            stretch = np.cos(angle) * errors[:, origin, :length] + np.sin(angle) * errors[:, other, :length]
            paths[:, row, step : step + length] = offset * DAMPING ** ahead[:length] + stretch
            step += length
            offset = paths[:, row, step - 1 : step]
    return paths


def _small_sample_factor(n: int) -> float:
    """Return the factor by which n past errors about their own mean understate the errors to come."""
    if n < _FEWEST_ERRORS:
        return 1.0
    quantile = (1 + _LEVEL) / 2
    return float(np.sqrt((n + 1) / (n - 1)) * student_quantile(quantile, n - 1) / normal_quantile(quantile))
