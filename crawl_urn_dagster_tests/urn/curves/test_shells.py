"""Uneven shells: their curves against quadrature, limits and simulation, and fits of both curves."""

from dataclasses import astuple

import numpy as np
import pytest
from scipy.stats import beta

from crawl_urn_dagster.urn import (
    CoreShellUrn,
    Urn,
    fit_containment_core_shell,
    fit_discovery_core_shell,
    mean_by,
)
from crawl_urn_dagster.urn.curves.shells import BetaShellUrn, CoreTwoShellsUrn, fit_curves, fit_urn
from crawl_urn_dagster.urn.data.arguments import require_whole_numbers

T = np.arange(1, 51)
TWO_SHELLS = CoreTwoShellsUrn(0.3, 0.5, 0.97, 0.8, 0.85, 0.35)


def curves_of(urn, t=T):
    return {"lag": t, "containment": urn.containment(t), "t": t, "ratio": urn.discovery_curve(t)}


def test_shares_of_a_crawl_add_up():
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


def test_shells_that_are_never_sampled_leave_the_core():
    urn = CoreTwoShellsUrn(0.2, 0.5, 0.9, 0, 0.8, 0)
    assert urn.core_share == 1
    np.testing.assert_array_equal(urn.discovery_curve(np.arange(5)), 1)


def expected(distribution, function):
    return distribution.expect(function, epsabs=1e-12)


def test_beta_shell_against_quadrature():
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


def test_with_all_spread_a_part_of_the_shell_is_always_sampled():
    urn, full, lags = BetaShellUrn(0.3, 0.9, 0.5, 1), CoreShellUrn(0.3 / (0.3 + 0.35), 0.9, 1), np.arange(30)
    np.testing.assert_allclose(urn.containment(lags), full.containment(lags))
    np.testing.assert_allclose(urn.discovery_curve(lags), full.discovery_curve(lags))


def test_first_returns_are_the_bend_of_the_discovery_curve():
    urn, t = BetaShellUrn(0.3, 0.9, 0.5, 0.2), np.arange(20)
    curve = np.append(0, urn.discovery_curve(t))
    np.testing.assert_allclose(urn.first_returns(t[1:]), -np.diff(curve, 2), atol=1e-12)


def test_beta_shell_against_simulation():
    # Every element of the shell has a coverage of its own, drawn anew at each replacement.
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


@pytest.mark.parametrize(
    ("model", "urn"),
    [
        ("homogeneous", Urn(0.9, 0.5)),
        ("core_shell", CoreShellUrn(0.4, 0.75, 0.6)),
        ("core_two_shells", CoreTwoShellsUrn(0.2, 0.4, 0.95, 0.3, 0.6, 0.7)),
        ("beta_shell", BetaShellUrn(0.3, 0.9, 0.5, 0.2)),
    ],
)
def test_both_curves_recover_the_urn(model, urn):
    fit = fit_curves(model, **curves_of(urn))
    assert astuple(fit.urn) == pytest.approx(astuple(urn), abs=1e-6)
    assert (fit.status, fit.reason, fit.identified) == ("ok", None, True)
    assert (fit.projection, fit.model, fit.n_parameters) == ("curves", model, len(astuple(urn)))
    np.testing.assert_allclose(fit.fitted, fit.observed, atol=1e-9)


def test_longer_lived_shell_comes_first():
    swapped = CoreTwoShellsUrn(0.2, 0.6, 0.6, 0.7, 0.95, 0.3)
    found = fit_curves("core_two_shells", **curves_of(swapped)).urn
    assert astuple(found) == pytest.approx((0.2, 0.4, 0.95, 0.3, 0.6, 0.7), abs=1e-6)


def test_two_shells_explain_what_the_fits_of_one_shell_agree_on():
    curves = curves_of(TWO_SHELLS)
    g = fit_containment_core_shell(T, curves["containment"], form="paper", clock="crawl")
    u = fit_discovery_core_shell(np.arange(51), np.zeros(50, dtype=int), T, curves["ratio"], clock="crawl")
    assert (g.kappa, u.kappa, g.coverage, u.coverage) == pytest.approx((0.462, 0.456, 0.617, 0.513), abs=5e-4)
    fit = fit_curves("core_two_shells", **curves)
    assert astuple(fit.urn) == pytest.approx(astuple(TWO_SHELLS), abs=1e-5)
    # Even noiseless curves would hardly differ at another kappa; whole histories do (see test_likelihood).
    assert (fit.status, fit.identified) == ("not_identified", False)
    assert fit.reason.startswith("The curves leave kappa open: at 0.200 instead of 0.300")


def test_core_and_shell_misses_what_a_beta_shell_meets():
    urn = BetaShellUrn(0.3, 0.9, 0.5, 0.2)
    plain = fit_curves("core_shell", **curves_of(urn))
    assert plain.residual_rms > 0.005
    assert plain.urn.kappa == pytest.approx(0.328, abs=5e-4)


def test_without_spread_the_beta_shell_is_at_its_bound():
    fit = fit_curves("beta_shell", **curves_of(CoreShellUrn(0.4, 0.75, 0.6)))
    assert (fit.status, fit.urn.spread) == ("at_bound", 0)
    assert fit.reason == "spread is at its bound 0."
    assert fit.urn.kappa == pytest.approx(0.4, abs=1e-6)


def test_one_curve_alone():
    urn = CoreShellUrn(0.4, 0.75, 0.6)
    g = fit_curves("core_shell", lag=[0, *T], containment=[1, *urn.containment(T)])
    assert (g.projection, g.observed.size) == ("containment", 50)
    assert astuple(g.urn) == pytest.approx((0.4, 0.75, 0.6), abs=1e-6)
    u = fit_curves("homogeneous", t=[0, 1, 2, 3], ratio=Urn(0.9, 0.5).discovery_curve([0, 1, 2, 3]))
    assert (u.projection, u.observed.size) == ("discovery_curve", 3)
    assert astuple(u.urn) == pytest.approx((0.9, 0.5), abs=1e-6)


def test_too_few_points():
    fit = fit_curves("beta_shell", lag=[1, 2], containment=[0.5, 0.4], t=[1, 2], ratio=[1.5, 2])
    assert (fit.status, fit.urn, fit.residual_rms) == ("too_few_points", None, None)
    assert fit.reason == "There are 4 points; 4 parameters need at least 5."
    assert np.isnan(fit.fitted).all()


def test_search_cut_short_has_not_converged(monkeypatch):
    from crawl_urn_dagster.urn.optimise import bounded_least_squares

    monkeypatch.setattr(bounded_least_squares, "_EVALUATIONS", 1)
    fit = fit_urn(
        "curves",
        "homogeneous",
        Urn(0.9, 0.5).containment(T),
        urn_of=Urn,
        curve_of=lambda urn: urn.containment(T),
        starts=[(0.5, 0.5)],
    )
    assert fit.status == "not_converged"


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({"lag": [1, 2], "containment": [0.5]}, r"lag has shape \(2,\) and containment \(1,\)"),
        ({"t": [1, 2], "ratio": [1.5, np.nan]}, r"point 1 is ratio nan at t 2.0; leave unknown points out"),
    ],
)
def test_what_is_no_curve_is_refused(curves, message):
    with pytest.raises(ValueError, match=message):
        fit_curves("homogeneous", **curves)


def test_parameters_and_rounds_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"share is 1\.2; expected a number from 0 to 1"):
        CoreTwoShellsUrn(0.3, 1.2, 0.9, 0.5, 0.8, 0.5)
    with pytest.raises(ValueError, match=r"spread is -0\.1"):
        BetaShellUrn(0.3, 0.9, 0.5, -0.1)
    with pytest.raises(ValueError, match=r"t is 1\.5; expected whole numbers of at least 0"):
        BetaShellUrn(0.3, 0.9, 0.5, 0.1).discovery_curve([1, 1.5])
    assert require_whole_numbers("lag", [1, 2], least=1).tolist() == [1, 2]


def test_mean_of_repeated_lags_can_be_fitted():
    lag, g, _ = mean_by([1, 1, 2, 3, 4], [0.5, 0.7, 0.45, 0.4, 0.36])
    assert fit_curves("homogeneous", lag=lag, containment=g).status == "ok"


RESPONDING = [
    ("homogeneous", Urn(0.85, 0.5)),
    ("core_shell", CoreShellUrn(0.3, 0.85, 0.5)),
    ("core_two_shells", TWO_SHELLS),
    ("beta_shell", BetaShellUrn(0.3, 0.9, 0.4, 0.2)),
]


@pytest.mark.parametrize(("model", "urn"), RESPONDING, ids=[model for model, _ in RESPONDING])
def test_response_predicts_the_refit_of_a_changed_curve(model, urn):
    t = T[:30]
    change = 1e-6 * np.random.default_rng(8).normal(size=60)
    fit = fit_curves(model, **curves_of(urn, t))
    assert fit.estimates == pytest.approx({name: getattr(urn, name) for name in urn.ESTIMATES}, abs=1e-8)
    refit = fit_curves(
        model, lag=t, containment=fit.observed[:30] + change[:30], t=t, ratio=fit.observed[30:] + change[30:]
    )
    moved = np.array(list(refit.estimates.values())) - list(fit.estimates.values())
    # Past the linear terms there are those of second order in the move.
    assert fit.response @ change == pytest.approx(moved, rel=0.01, abs=1e-9)
    assert abs(moved).min() > 1e-8


def test_what_no_free_parameter_moves_has_no_response():
    fit = fit_curves("beta_shell", **curves_of(CoreShellUrn(0.3, 0.9, 0.4)))
    unknown = np.isnan(fit.response).all(axis=1)
    assert [name for name, without in zip(fit.estimates, unknown, strict=True) if without] == ["spread", "coverage_sd"]
    assert np.isfinite(fit.response[~unknown]).all()
    too_few = fit_curves("beta_shell", lag=[1, 2], containment=[0.5, 0.4])
    assert too_few.response.shape == (len(too_few.estimates), 2) == (0, 2)
