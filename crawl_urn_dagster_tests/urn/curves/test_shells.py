"""Test urns with uneven shells: their curves against quadrature, limits and simulation."""

import numpy as np
import pytest
from scipy.stats import beta

from crawl_urn_dagster.urn import BetaShellUrn, CoreShellUrn, CoreTwoShellsUrn, Urn
from crawl_urn_dagster.urn.data.arguments import require_whole_numbers

TWO_SHELLS = CoreTwoShellsUrn(0.3, 0.5, 0.97, 0.8, 0.85, 0.35)


def test_crawl_shares_of_two_shells_add_up():
    core, first, second = TWO_SHELLS.crawl_shares
    # Of 300 + 350 0.8 + 350 0.35 = 702.5 elements.
    assert (core, first, second) == pytest.approx((300 / 702.5, 280 / 702.5, 122.5 / 702.5))
    assert TWO_SHELLS.core_share == core


def test_two_equal_shells_are_one():
    one, two = CoreShellUrn(0.4, 0.75, 0.6), CoreTwoShellsUrn(0.4, 0.3, 0.75, 0.6, 0.75, 0.6)
    lags = np.arange(20)
    np.testing.assert_allclose(two.containment(lags), one.containment(lags))
    np.testing.assert_allclose(two.discovery_curve(lags), one.discovery_curve(lags))


def test_two_shells_are_two_urns_side_by_side():
    urn, t = CoreTwoShellsUrn(0, 0.25, 0.9, 0.4, 0.6, 0.8), np.arange(12)
    first, second = 0.25 * 0.4, 0.75 * 0.8
    distinct = first * Urn(0.9, 0.4).discovery_curve(t) + second * Urn(0.6, 0.8).discovery_curve(t)
    np.testing.assert_allclose(urn.discovery_curve(t), distinct / (first + second))
    shared = first * Urn(0.9, 0.4).containment(t) + second * Urn(0.6, 0.8).containment(t)
    np.testing.assert_allclose(urn.containment(t), shared / (first + second))


def test_shells_never_sampled_leave_only_the_core():
    urn = CoreTwoShellsUrn(0.2, 0.5, 0.9, 0, 0.8, 0)
    assert urn.core_share == 1
    np.testing.assert_array_equal(urn.discovery_curve(np.arange(5)), 1)


def expected(distribution, function):
    return distribution.expect(function, epsabs=1e-12)


def test_beta_shell_curves_equal_quadrature():
    alpha, coverage, spread = 0.9, 0.4, 0.2
    urn = BetaShellUrn(0, alpha, coverage, spread)
    distribution = beta(coverage * (1 - spread) / spread, (1 - coverage) * (1 - spread) / spread)
    assert distribution.mean() == pytest.approx(coverage)
    assert distribution.std() == pytest.approx(urn.coverage_sd)
    for lag in (1, 4):
        g = expected(distribution, lambda c, d=lag: c * c * alpha**d) / coverage
        assert urn.containment(lag) == pytest.approx(g)
        h = expected(distribution, lambda c, d=lag: c * c * (1 - c) ** (d - 1) * alpha**d) / coverage
        assert urn.first_returns(lag) == pytest.approx(h)
    for t in (0, 1, 6):
        curve = expected(distribution, lambda c, t=t: c * float(Urn(alpha, c).discovery_curve(t))) / coverage
        assert urn.discovery_curve(t) == pytest.approx(curve)


def test_without_spread_beta_shell_is_core_and_shell():
    plain, urn, lags = CoreShellUrn(0.3, 0.9, 0.5), BetaShellUrn(0.3, 0.9, 0.5, 0), np.arange(30)
    assert urn.core_share == plain.core_share
    np.testing.assert_allclose(urn.containment(lags), plain.containment(lags))
    np.testing.assert_allclose(urn.discovery_curve(lags), plain.discovery_curve(lags))


def test_beta_shell_of_full_spread_is_a_full_coverage_shell():
    urn, full, lags = BetaShellUrn(0.3, 0.9, 0.5, 1), CoreShellUrn(0.3 / (0.3 + 0.35), 0.9, 1), np.arange(30)
    np.testing.assert_allclose(urn.containment(lags), full.containment(lags))
    np.testing.assert_allclose(urn.discovery_curve(lags), full.discovery_curve(lags))


def test_first_returns_are_second_differences_of_discovery():
    urn, t = BetaShellUrn(0.3, 0.9, 0.5, 0.2), np.arange(20)
    curve = np.append(0, urn.discovery_curve(t))
    np.testing.assert_allclose(urn.first_returns(t[1:]), -np.diff(curve, 2), atol=1e-12)


def test_beta_shell_curves_equal_simulated_means():
    # Every shell element has its own coverage; a replacement draws another.
    rng, crawls, shell, core = np.random.default_rng(3), 12, 100_000, 50_000
    alpha, coverage, spread = 0.85, 0.5, 0.25
    a, b = coverage * (1 - spread) / spread, (1 - coverage) * (1 - spread) / spread
    chance, seen = rng.beta(a, b, shell), np.zeros(shell, dtype=bool)
    new, sizes = [], []
    for _ in range(crawls):
        sampled = rng.random(shell) < chance
        sizes.append(core + sampled.sum())
        new.append((sampled & ~seen).sum())
        seen |= sampled
        replaced = rng.random(shell) >= alpha
        chance[replaced], seen[replaced] = rng.beta(a, b, replaced.sum()), False
    urn = BetaShellUrn(core / (core + shell), alpha, coverage, spread)
    size = core + shell * coverage
    # Counts of independent slots: binomial.
    p = np.diff(urn.discovery_curve(np.arange(crawls))) * size / shell
    z = (new[1:] - shell * p) / np.sqrt(shell * p * (1 - p))
    assert abs(z).max() < 4
    z = (np.array(sizes) - size) / np.sqrt(shell * coverage * (1 - coverage))
    assert abs(z).max() < 4


def test_parameters_and_lags_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"share is 1\.2; expected a number from 0 to 1"):
        CoreTwoShellsUrn(0.3, 1.2, 0.9, 0.5, 0.8, 0.5)
    with pytest.raises(ValueError, match=r"spread is -0\.1"):
        BetaShellUrn(0.3, 0.9, 0.5, -0.1)
    with pytest.raises(ValueError, match=r"t is 1\.5; expected whole numbers of at least 0"):
        BetaShellUrn(0.3, 0.9, 0.5, 0.1).discovery_curve([1, 1.5])
    assert require_whole_numbers("lag", [1, 2], least=1).tolist() == [1, 2]
