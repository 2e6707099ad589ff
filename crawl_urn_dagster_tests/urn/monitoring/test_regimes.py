"""Test the detection of changed first returns and levels, on simulated crawls and Common Crawl's URLs."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import RevisitDelayUrn, find_regimes, recaptures_from_unions, simulate_revisit_delay
from crawl_urn_dagster.urn.monitoring.regimes import find_levels


def sketched_first_returns(delays, seed):
    """Return sizes and recaptures of simulated crawls, from unions with the error of published sketches."""
    rng = np.random.default_rng(seed)
    n = len(delays)
    counts = simulate_revisit_delay(
        delays=delays,
        elements=10_000,
        alpha=0.9,
        coverage=np.clip(rng.normal(0.3, 0.05, n), 0, 1),
        revisit_coverage=0.03,
        seed=seed,
    ).counts()
    unions = counts.unions() * np.where(np.eye(n, dtype=bool), 1, 1 + 0.008 * rng.normal(size=(n, n)))
    return np.diagonal(unions), recaptures_from_unions(unions)


def test_change_of_the_delay_is_found_where_it_is():
    delays = np.repeat([1, 2], [30, 20])
    found = [find_regimes(*sketched_first_returns(delays, seed)) for seed in range(10)]
    for regimes in found:
        before, after = regimes[0], regimes[-1]
        assert (before.delay, after.delay) == (1, 2)
        # From start crawl 28 on, the return after two crawls falls under the delay of two.
        assert min(abs(regime.first - 28) for regime in regimes[1:]) <= 1
        assert (before.first, before.p_value) == (0, None)
        assert after.last == 46
        urns = [RevisitDelayUrn(0.9, 0.3, 0.03, delay=delay).first_returns([1, 2, 3]) for delay in (1, 2)]
        for regime, expected in zip((before, after), urns, strict=True):
            assert regime.fraction == pytest.approx(expected, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 1, 2])
def test_crawls_without_a_change_have_one_regime(delay):
    found = [find_regimes(*sketched_first_returns(np.full(50, delay), 100 + seed)) for seed in range(60)]
    assert all(regimes[0].delay == delay for regimes in found)
    # False alarms at a level of 1 %, and three standard errors.
    assert sum(len(regimes) > 1 for regimes in found) <= 60 * 0.01 + 3 * np.sqrt(60 * 0.01 * 0.99)


def test_unknown_or_short_sequences_have_at_most_one_regime():
    sizes, recaptures = sketched_first_returns(np.full(12, 1), 1)
    assert [(regime.first, regime.last) for regime in find_regimes(sizes, recaptures)] == [(0, 8)]
    recaptures[[2, 5]] = np.nan
    (regime,) = find_regimes(sizes, recaptures)
    assert (regime.first, regime.last, regime.delay) == (0, 8, 1)
    assert np.isnan(regime.fraction_se).all()
    assert find_regimes(sizes[:3], recaptures[:3, :3]) == []
    assert find_regimes(sizes, np.full((12, 12), np.nan)) == []


def test_published_urls_have_a_delay_of_two_crawls_since_2024(published_urls):
    labels, unions = published_urls
    before, after = find_regimes(np.diagonal(unions), recaptures_from_unions(unions))
    assert (before.delay, after.delay) == (1, 2)
    # Elements of the start crawl return in the crawls after it, which are of 2024.
    assert labels[after.first + 1] == "CC-MAIN-2024-10"
    assert after.p_value <= 0.01
    assert before.fraction[1] == pytest.approx(0.24, abs=0.01)
    assert after.fraction[1] < 0.03
    assert after.fraction[2] == pytest.approx(0.154, abs=0.005)


def test_changed_mean_of_a_series_is_found_where_it_is():
    noise = 0.1 * np.random.default_rng(6).normal(size=48)
    before, after = find_levels(np.repeat([1.0, 2.0], [20, 28]) + noise)
    assert (before.first, before.last, before.p_value) == (0, 19, None)
    assert (after.first, after.last) == (20, 47)
    assert after.p_value <= 0.01
    for level, mean in ((before, 1.0), (after, 2.0)):
        assert abs(level.mean - mean) < 4 * level.se
    (level,) = find_levels(noise)
    assert (level.first, level.last, level.p_value) == (0, 47, None)
    assert find_levels([]) == []


def test_the_interval_of_the_date_contains_the_change():
    # 95 % is nominal; 150 series have a standard error of 1.8 %. The steps of 1 to 2 standard deviations are dated
    # to within a few values, so most intervals have more than one value.
    rng = np.random.default_rng(8)
    held, lengths = [], []
    for step in np.tile([1.0, 1.5, 2.0], 50):
        series = np.repeat([0.0, step], 24) + rng.normal(size=48)
        levels = find_levels(series)
        if len(levels) == 2:
            held.append(levels[1].first_low <= 24 <= levels[1].first_high)
            lengths.append(levels[1].first_high - levels[1].first_low)
            assert levels[1].first_low <= levels[1].first <= levels[1].first_high
    assert len(held) > 80
    assert np.mean(held) > 0.9
    assert 1 <= np.median(lengths) <= 12
    assert levels[0].first_low is None
