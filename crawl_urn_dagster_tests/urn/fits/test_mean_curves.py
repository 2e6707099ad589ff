"""Test the fits of any urn to mean containment and the mean discovery curve, also of Common Crawl's URLs."""

from dataclasses import astuple

import numpy as np
import pytest

from crawl_urn_dagster.urn import (
    BetaShellUrn,
    CoreShellUrn,
    CoreTwoShellsUrn,
    ReasonCode,
    RevisitDelayUrn,
    Urn,
    fit_containment_core_shell,
    fit_curves,
    fit_discovery_core_shell,
    fit_revisit_delay,
    fit_urn,
)
from crawl_urn_dagster.urn.fits.least_squares import mean_by
from crawl_urn_dagster.urn.optimise import bounded_least_squares
from crawl_urn_dagster_tests.urn.fits.fitted_curves import assert_unchanged

T = np.arange(1, 51)
TWO_SHELLS = CoreTwoShellsUrn(0.3, 0.5, 0.97, 0.8, 0.85, 0.35)
LAGS = np.arange(1, 16)
ONE_CRAWL = RevisitDelayUrn(0.86, 0.27, 0.03, delay=1)
TWO_CRAWLS = RevisitDelayUrn(0.9, 0.26, 0.02, delay=2)


def curves_of(urn, t=T):
    return {"lag": t, "containment": urn.containment(t), "t": t, "ratio": urn.discovery_curve(t)}


def largest_residual(fit):
    return abs(fit.details.residuals).max()


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
    assert astuple(fit.details.urn) == pytest.approx(astuple(urn), abs=1e-6)
    assert (fit.status, fit.reason, fit.details.is_identified) == ("ok", None, True)
    assert (fit.kind.projection, fit.kind.model, fit.details.n_parameters) == ("curves", model, len(astuple(urn)))
    np.testing.assert_allclose(fit.details.fitted, fit.details.observed, atol=1e-9)


def test_longer_lived_shell_comes_first():
    swapped = CoreTwoShellsUrn(0.2, 0.6, 0.6, 0.7, 0.95, 0.3)
    found = fit_curves("core_two_shells", **curves_of(swapped)).details.urn
    assert astuple(found) == pytest.approx((0.2, 0.4, 0.95, 0.3, 0.6, 0.7), abs=1e-6)


def test_one_shell_fits_of_two_shells_agree_on_wrong_kappa():
    curves = curves_of(TWO_SHELLS)
    g = fit_containment_core_shell(T, curves["containment"], form="paper", clock="crawl")
    u = fit_discovery_core_shell(np.arange(51), np.zeros(50, dtype=int), T, curves["ratio"], clock="crawl")
    assert (g.kappa, u.kappa, g.coverage, u.coverage) == pytest.approx((0.462, 0.456, 0.617, 0.513), abs=5e-4)
    fit = fit_curves("core_two_shells", **curves)
    assert astuple(fit.details.urn) == pytest.approx(astuple(TWO_SHELLS), abs=1e-5)
    # Even noiseless curves would hardly differ at another kappa; whole histories do (see test_histories).
    assert (fit.status, fit.details.is_identified) == ("not_identified", False)
    assert_unchanged(fit.reasons[0], parameter="kappa", fit="curves")
    assert fit.reason.startswith("Parameter kappa is not identified by the curves fit: changing it by 0.1")


def test_core_and_shell_does_not_fit_a_beta_shell():
    urn = BetaShellUrn(0.3, 0.9, 0.5, 0.2)
    plain = fit_curves("core_shell", **curves_of(urn))
    assert plain.details.residual_rms > 0.005
    assert plain.details.urn.kappa == pytest.approx(0.328, abs=5e-4)


def test_beta_shell_without_spread_is_at_bound():
    fit = fit_curves("beta_shell", **curves_of(CoreShellUrn(0.4, 0.75, 0.6)))
    assert (fit.status, fit.details.urn.spread) == ("at_bound", 0)
    assert fit.reason_codes == (ReasonCode.AT_BOUND,)
    assert fit.reasons[0].values == {"parameter": "spread", "bound": 0}
    assert fit.reason == "Parameter spread is at its bound 0."
    assert fit.details.urn.kappa == pytest.approx(0.4, abs=1e-6)


def test_one_curve_alone_recovers_the_urn():
    urn = CoreShellUrn(0.4, 0.75, 0.6)
    g = fit_curves("core_shell", lag=[0, *T], containment=[1, *urn.containment(T)])
    assert (g.kind.projection, g.details.observed.size) == ("containment", 50)
    assert astuple(g.details.urn) == pytest.approx((0.4, 0.75, 0.6), abs=1e-6)
    u = fit_curves("homogeneous", t=[0, 1, 2, 3], ratio=Urn(0.9, 0.5).discovery_curve([0, 1, 2, 3]))
    assert (u.kind.projection, u.details.observed.size) == ("discovery_curve", 3)
    assert astuple(u.details.urn) == pytest.approx((0.9, 0.5), abs=1e-6)


def test_curves_of_too_few_points_have_no_estimates():
    fit = fit_curves("beta_shell", lag=[1, 2], containment=[0.5, 0.4], t=[1, 2], ratio=[1.5, 2])
    assert (fit.status, fit.details.urn, fit.details.residual_rms) == ("too_few_points", None, None)
    assert fit.reason_codes == (ReasonCode.TOO_FEW_POINTS,)
    assert fit.reasons[0].values == {"found": 4, "n_parameters": 4, "needed": 5}
    assert fit.reason == "The number of points of the curves is 4; 4 parameters need at least 5."
    assert np.isnan(fit.details.fitted).all()


def test_search_cut_short_is_not_converged(monkeypatch):
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
    assert fit.reason_codes == (ReasonCode.NOT_CONVERGED,)


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({"lag": [1, 2], "containment": [0.5]}, r"lag has shape \(2,\) and containment \(1,\)"),
        ({"t": [1, 2], "ratio": [1.5, np.nan]}, r"point 1 is ratio nan at t 2.0; leave unknown points out"),
    ],
)
def test_curves_of_wrong_shape_or_values_are_refused(curves, message):
    with pytest.raises(ValueError, match=message):
        fit_curves("homogeneous", **curves)


def test_mean_of_repeated_lags_is_fitted():
    lag, g, _ = mean_by([1, 1, 2, 3, 4], [0.5, 0.7, 0.45, 0.4, 0.36])
    assert fit_curves("homogeneous", lag=lag, containment=g).status == "ok"


RESPONDING = [
    ("homogeneous", Urn(0.85, 0.5)),
    ("core_shell", CoreShellUrn(0.3, 0.85, 0.5)),
    ("core_two_shells", TWO_SHELLS),
    ("beta_shell", BetaShellUrn(0.3, 0.9, 0.4, 0.2)),
]


@pytest.mark.parametrize(("model", "urn"), RESPONDING, ids=[model for model, _ in RESPONDING])
def test_response_predicts_refit_of_changed_curves(model, urn):
    t = T[:30]
    change = 1e-6 * np.random.default_rng(8).normal(size=60)
    fit = fit_curves(model, **curves_of(urn, t))
    assert fit.estimates == pytest.approx({name: getattr(urn, name) for name in urn.ESTIMATES}, abs=1e-8)
    refit = fit_curves(
        model,
        lag=t,
        containment=fit.details.observed[:30] + change[:30],
        t=t,
        ratio=fit.details.observed[30:] + change[30:],
    )
    moved = np.array(list(refit.estimates.values())) - list(fit.estimates.values())
    # The response omits terms of second order in the move.
    assert fit.details.response @ change == pytest.approx(moved, rel=0.01, abs=1e-9)
    assert abs(moved).min() > 1e-8


def test_estimates_at_bound_have_no_response():
    fit = fit_curves("beta_shell", **curves_of(CoreShellUrn(0.3, 0.9, 0.4)))
    unknown = np.isnan(fit.details.response).all(axis=1)
    assert [name for name, without in zip(fit.estimates, unknown, strict=True) if without] == ["spread", "coverage_sd"]
    assert np.isfinite(fit.details.response[~unknown]).all()
    too_few = fit_curves("beta_shell", lag=[1, 2], containment=[0.5, 0.4])
    assert too_few.details.response.shape == (len(too_few.estimates), 2) == (0, 2)


@pytest.mark.parametrize("urn", [ONE_CRAWL, TWO_CRAWLS], ids=["one crawl", "two crawls"])
def test_revisit_delay_fit_recovers_the_urn(urn):
    fit = fit_revisit_delay(LAGS, urn.discovery_curve(LAGS), delay=urn.delay)
    found = (fit.details.urn.alpha, fit.details.urn.coverage, fit.details.urn.revisit_coverage, fit.details.urn.delay)
    assert found == pytest.approx((urn.alpha, urn.coverage, urn.revisit_coverage, urn.delay), abs=1e-6)
    assert (fit.kind.projection, fit.kind.model, fit.details.n_parameters) == ("discovery_curve", "revisit_delay", 3)
    assert (fit.status, fit.details.is_identified) == ("ok", True)


def test_revisit_delay_response_predicts_refit():
    curve = TWO_CRAWLS.discovery_curve(LAGS)
    change = 1e-6 * np.random.default_rng(4).normal(size=LAGS.size)
    fit, refit = (fit_revisit_delay(LAGS, values, delay=2) for values in (curve, curve + change))
    assert list(fit.estimates) == ["alpha", "coverage", "revisit_coverage", "crawl_coverage"]
    assert fit.estimates["crawl_coverage"] == pytest.approx(TWO_CRAWLS.crawl_coverage, abs=1e-8)
    moved = np.array(list(refit.estimates.values())) - list(fit.estimates.values())
    assert fit.details.response @ change == pytest.approx(moved, rel=0.01, abs=1e-9)
    assert abs(moved).min() > 1e-8


def test_wrong_revisit_delay_does_not_fit_the_curve():
    assert fit_revisit_delay(LAGS, TWO_CRAWLS.discovery_curve(LAGS), delay=1).details.residual_rms > 0.02


def test_curve_without_recaptures_is_at_bound():
    fit = fit_revisit_delay(LAGS, LAGS + 1.0, delay=1)
    assert fit.status == "at_bound"
    assert ReasonCode.AT_BOUND in fit.reason_codes
    np.testing.assert_allclose(fit.details.fitted, LAGS + 1.0, atol=1e-6)


def test_revisit_delay_fit_refuses_arguments_out_of_range():
    with pytest.raises(ValueError, match="delay is 0; expected a whole number of crawls of at least 1"):
        fit_revisit_delay([1, 2, 3, 4], [1.5, 2, 2.5, 3], delay=0)
    with pytest.raises(ValueError, match=r"t has shape \(2,\) and ratio \(1,\)"):
        fit_revisit_delay([1, 2], [1.5], delay=1)


def test_published_urls_fit_a_delay_of_one_crawl(published_urls):
    _, unions = published_urls
    start, end = np.nonzero(np.triu(np.isfinite(unions), k=1))
    t, ratio, _ = mean_by(end - start, unions[start, end] / unions[start, start])
    fit = fit_revisit_delay(t, ratio, delay=1)
    assert largest_residual(fit) < 0.015
    assert fit.status == "ok"
    assert largest_residual(fit_curves("core_shell", t=t, ratio=ratio)) > 0.1


def test_published_urls_to_2024_fit_a_delay_of_one_crawl(published_urls):
    labels, unions = published_urls
    n = labels.index("CC-MAIN-2024-51") + 1
    unions = unions[:n, :n]
    start, end = np.nonzero(np.triu(np.isfinite(unions), k=1))
    sizes = np.diagonal(unions)
    mean_size = [sizes[i : j + 1].mean() for i, j in zip(start, end, strict=True)]
    fit = fit_revisit_delay(*mean_by(end - start, unions[start, end] / mean_size)[:2], delay=1)
    assert largest_residual(fit) < 0.005
    found = (fit.details.urn.alpha, fit.details.urn.coverage, fit.details.urn.revisit_coverage)
    assert found == pytest.approx((0.86, 0.27, 0.035), abs=0.005)


def test_published_urls_since_2024_fit_a_delay_of_two_crawls(published_urls):
    labels, unions = published_urls
    # Elements of the start crawl return in the crawls after it; see `test_regimes`.
    first = labels.index("CC-MAIN-2024-10") + 1
    since = unions[first:, first:]
    start, end = np.nonzero(np.triu(np.isfinite(since), k=1))
    curve = mean_by(end - start, since[start, end] / since[start, start])[:2]
    assert largest_residual(fit_revisit_delay(*curve, delay=2)) < 0.025
    assert largest_residual(fit_revisit_delay(*curve, delay=1)) > 0.1
