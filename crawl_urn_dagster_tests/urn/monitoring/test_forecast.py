"""Forecasts: exact without noise, and their prediction intervals in simulation."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, CoreShellUrn, recaptures_from_unions, simulate
from crawl_urn_dagster.urn.capture_recapture.population_trend import population_trend
from crawl_urn_dagster.urn.curves.revisit import RevisitDelayUrn
from crawl_urn_dagster.urn.monitoring.forecast import FEWEST, Trend, forecast, forecast_overlaps, interpolate_windows

KAPPA, ALPHA, COVERAGE, URN = 0.4, 0.75, 0.6, 20_000
N, HORIZON = 24, 12


def counts_of(n_crawls, *, seed=5, coverage=COVERAGE):
    core = round(KAPPA * URN)
    return simulate(
        times=np.arange(n_crawls), core=core, shell=URN - core, alpha=ALPHA, coverage=coverage, seed=seed
    ).counts()


def expected_unions(urn, size, n):
    """Return U(i..j) of an urn in its steady state, without noise."""
    i, j = np.indices((n, n))
    return np.triu(size * urn.discovery_curve(np.maximum(j - i, 0)))


@pytest.mark.parametrize("urn", [CoreShellUrn(KAPPA, ALPHA, COVERAGE), RevisitDelayUrn(0.86, 0.27, 0.03)])
def test_urn_without_noise_is_forecast_exactly(urn):
    size, n = 1_000.0, 40
    whole = expected_unions(urn, size, n + HORIZON)
    unions = whole[:n, :n]
    found = forecast(unions, recaptures_from_unions(unions), horizon=HORIZON)
    # Returns after more than 40 crawls are unknown and make up less than 1 in 1,000 of a crawl.
    for start in (0, 20, n - 1, n, n + 3):
        value = found.distinct(start).value
        inside = np.arange(HORIZON) + n >= start
        np.testing.assert_allclose(value[inside], whole[start, n:][inside], atol=2e-3 * size * HORIZON)
        assert np.isnan(value[~inside]).all()
    new = np.diff(whole[0])[n - 1 :]
    np.testing.assert_allclose(found.new().value, new, atol=2e-3 * size)
    np.testing.assert_allclose(found.returning().value, size - new, atol=2e-3 * size)
    np.testing.assert_allclose(found.crawl_sizes().value, size, rtol=1e-12)


def test_intervals_contain_the_future_at_their_level():
    held = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        coverage = 1 / (1 + np.exp(-np.log(1.5) - 0.25 * rng.standard_normal(N + HORIZON)))
        unions = counts_of(N + HORIZON, seed=seed, coverage=coverage).unions().astype(float)
        known = unions[:N, :N]
        low, high = forecast(known, recaptures_from_unions(known), n_futures=200).distinct(0)[1:]
        held.append((low <= unions[0, N:]) & (unions[0, N:] <= high))
    # The 12 steps of a collection are correlated, so 40 collections determine the error.
    assert np.mean(held) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)


def test_unknown_lags_are_not_used():
    unions = counts_of(N).unions().astype(float)
    i, j = np.indices(unions.shape)
    unions[j - i > 5] = np.nan
    found = forecast(unions, recaptures_from_unions(unions))
    assert found.longest == 5
    ahead = np.arange(HORIZON)
    is_known = np.isfinite(found.distinct(N - 2).value)
    assert is_known.tolist() == (ahead + 2 <= 5).tolist()
    urn, size = CoreShellUrn(KAPPA, ALPHA, COVERAGE), KAPPA * URN + (1 - KAPPA) * URN * COVERAGE
    # The error of the new elements of one crawl is about their square root.
    np.testing.assert_allclose(found.new(0).value, size * urn.new_fraction(5), rtol=0.05)


def test_overlaps_with_past_crawls_follow_their_lag():
    counts = counts_of(N + 1)
    overlaps = counts.intersections().astype(float)
    value, low, high = forecast_overlaps(overlaps[:N, :N])
    for i in range(5, N):
        assert low[i, 0] < value[i, 0] < high[i, 0]
        assert value[i, 0] == pytest.approx(overlaps[i, N], rel=0.05)
    assert np.isnan(value[0, 0])  # no pair has lag 24


def test_windows_between_known_lengths_are_interpolated():
    exact = expected_unions(CoreShellUrn(KAPPA, ALPHA, COVERAGE), 1_000.0, 16)
    published = exact.copy()
    i, j = np.indices(exact.shape)
    published[~np.isin(j - i + 1, (1, 2, 3, 4, 6, 9, 12))] = np.nan
    filled = interpolate_windows(published)
    inside = (j - i >= 0) & (j - i < 12) & (j >= 11)
    np.testing.assert_allclose(filled[inside], exact[inside], rtol=2e-3)
    assert np.isnan(filled[0, 15])


def test_too_few_crawls_or_unknown_lags_are_refused():
    unions = counts_of(FEWEST).unions().astype(float)
    with pytest.raises(ValueError, match=f"there are 7 crawls; a forecast needs at least {FEWEST}"):
        forecast(unions[1:, 1:], recaptures_from_unions(unions[1:, 1:]))
    with pytest.raises(ValueError, match="no lag is known for most crawls"):
        forecast(unions, np.full(unions.shape, np.nan))


def test_forecast_without_sizes_is_refused():
    counts = counts_of(N)
    unions = np.where(np.eye(N, dtype=bool), np.nan, counts.unions().astype(float))
    with pytest.raises(ValueError, match="sizes of the crawls"):
        forecast(unions, counts.recaptures().astype(float))


def grown(seed, growth, noise):
    """Return the unions of a core and shell that grow, with noisy coverages on the logit scale."""
    rng, n = np.random.default_rng(seed), N + 6
    is_core, alive, seen = np.zeros(0, bool), np.zeros(0, bool), np.zeros((0, n), bool)
    for t in range(n):
        alive &= is_core | (rng.random(len(alive)) < ALPHA)
        for in_core, start in ((True, 800), (False, 1_200)):
            born = round(start * (1 + growth) ** t) - int((alive & (is_core == in_core)).sum())
            is_core, alive = np.append(is_core, np.full(born, in_core)), np.append(alive, np.ones(born, bool))
            seen = np.concatenate([seen, np.zeros((born, n), bool)])
        coverage = 1 / (1 + np.exp(-np.log(COVERAGE / (1 - COVERAGE)) - noise * rng.standard_normal()))
        seen[:, t] = alive & (is_core | (rng.random(len(alive)) < coverage))
    seen = seen[seen.any(axis=1)]
    return CaptureHistoryCounts(seen, np.ones(len(seen), dtype=int)).unions().astype(float)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_intervals_of_a_growing_population_hold_on_both_sides(noise):
    below, above = [], []
    for seed in range(12):
        unions = grown(seed, 0.02, noise)
        known = unions[:N, :N]
        recaptures = recaptures_from_unions(known)
        trend = population_trend(np.diagonal(known), recaptures)
        found = forecast(known, recaptures, trend=Trend(trend.slope, trend.se), horizon=6, n_futures=200)
        for prediction, later in ((found.crawl_sizes(), np.diagonal(unions)[N:]), (found.distinct(0), unions[0, N:])):
            below.append((later < prediction.low)[[0, 2, 5]])
            above.append((later > prediction.high)[[0, 2, 5]])
    # A constant population would leave most sizes above the intervals. The 12 collections determine the error.
    assert np.mean(below) + np.mean(above) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 12)
    assert abs(np.mean(above) - np.mean(below)) < 3 * np.sqrt(0.05 / 12)


def test_error_of_the_trend_widens_the_forecast_with_the_horizon():
    unions = counts_of(N).unions().astype(float)
    recaptures = recaptures_from_unions(unions)
    known, unknown = (forecast(unions, recaptures, trend=Trend(0.0, se)).crawl_sizes() for se in (0.0, 0.01))
    wider = np.log(unknown.high / unknown.low) - np.log(known.high / known.low)
    assert (wider > 0).all()
    assert wider[-1] > 4 * wider[0]
    np.testing.assert_array_equal(known.value, unknown.value)


def test_sizes_follow_expectation_and_past_errors():
    unions = counts_of(N).unions().astype(float)
    recaptures, sizes = recaptures_from_unions(unions), np.diagonal(unions)
    expected = np.tile(sizes[:, None], (1, HORIZON)) * 0.99 ** np.arange(1, HORIZON + 1)
    found = forecast(unions, recaptures, expected_sizes=expected).crawl_sizes()
    np.testing.assert_allclose(found.value, expected[-1])
    # The expectation was 11 % too low for crawls 12 ahead, so its interval reaches as far.
    assert found.high[-1] > found.value[-1] * 1.1
