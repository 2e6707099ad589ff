"""Batched fits: recovery, agreement with the fits of one curve, bounds, masks, and what is refused."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import (
    CoreShellUrn,
    Urn,
    fit_containment_core_shell,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
)
from crawl_urn_dagster.urn.fits.batched import fit_containment_batch, fit_discovery_batch

T = np.arange(1, 51)
PROBLEMS = 200


@pytest.fixture(scope="module")
def truth():
    """Core and shell urns, one per problem."""
    rng = np.random.default_rng(5)
    return CoreShellUrn(
        rng.uniform(0.05, 0.6, (PROBLEMS, 1)),
        rng.uniform(0.3, 0.97, (PROBLEMS, 1)),
        rng.uniform(0.1, 0.9, (PROBLEMS, 1)),
    )


def noisy(curves):
    return curves + 0.01 * np.random.default_rng(6).normal(size=curves.shape)


def single_discovery(model, ratio):
    fit = fit_discovery_core_shell if model == "core_shell" else fit_discovery_homogeneous
    return fit(np.arange(51), np.zeros(len(T), dtype=int), T, ratio, clock="crawl")


def test_containment_recovers_core_and_shell_in_any_unit(truth):
    for unit in (1, 0.09, 7):
        fits = fit_containment_batch(T * unit, truth.containment(T), model="core_shell")
        assert (fits.status == "ok").all()
        for found, expected in [
            (fits.kappa, truth.kappa),
            (fits.core_share, truth.core_share),
            (fits.alpha**unit, truth.alpha),
            (fits.coverage, truth.coverage),
        ]:
            np.testing.assert_allclose(found, expected[:, 0], atol=1e-9)
        np.testing.assert_allclose(fits.fitted, truth.containment(T), atol=1e-11)


def test_paper_form_has_one_share(truth):
    fits = fit_containment_batch(T, truth.containment(T), model="core_shell", form="paper")
    np.testing.assert_allclose(fits.kappa, truth.core_share[:, 0], atol=1e-9)
    np.testing.assert_array_equal(fits.kappa, fits.core_share)


def test_discovery_recovers_core_and_shell(truth):
    fits = fit_discovery_batch(T, truth.discovery_curve(T), model="core_shell")
    assert (fits.status == "ok").all()
    for found, expected in [
        (fits.kappa, truth.kappa),
        (fits.core_share, truth.core_share),
        (fits.alpha, truth.alpha),
        (fits.coverage, truth.coverage),
    ]:
        np.testing.assert_allclose(found, expected[:, 0], atol=2e-6)
    np.testing.assert_allclose(fits.fitted, truth.discovery_curve(T), atol=1e-8)


@pytest.mark.parametrize("fit", [fit_containment_batch, fit_discovery_batch])
def test_homogeneous_urns_are_recovered(fit, truth):
    shell = truth.shell
    curves = shell.containment(T) if fit is fit_containment_batch else shell.discovery_curve(T)
    fits = fit(T, curves, model="homogeneous")
    np.testing.assert_allclose(fits.alpha, shell.alpha[:, 0], atol=1e-9)
    np.testing.assert_allclose(fits.coverage, shell.coverage[:, 0], atol=1e-9)
    assert (fits.kappa == 0).all()
    assert (fits.status == "ok").all()


def test_same_optimum_as_the_fit_of_one_containment_curve(truth):
    curves = noisy(truth.containment(T))
    fits = fit_containment_batch(T, curves, model="core_shell")
    for row in range(0, PROBLEMS, 25):
        fit = fit_containment_core_shell(T, curves[row], form="exact", clock="crawl")
        assert fits.residual_rms[row] <= fit.details.residual_rms * (1 + 1e-9)
        found = (fits.kappa[row], fits.alpha[row], fits.coverage[row])
        assert found == pytest.approx((fit.kappa, fit.alpha, fit.coverage), abs=1e-6)
        np.testing.assert_allclose(fits.fitted[row], fit.details.fitted, atol=1e-7)


@pytest.mark.parametrize("model", ["core_shell", "homogeneous"])
def test_same_optimum_as_the_fit_of_one_discovery_curve(model, truth):
    curves = noisy(truth.discovery_curve(T))
    fits = fit_discovery_batch(T, curves, model=model)
    for row in range(0, PROBLEMS, 25):
        fit = single_discovery(model, curves[row])
        assert fits.residual_rms[row] <= fit.details.residual_rms * (1 + 1e-9)
        assert fits.residual_rms[row] == pytest.approx(fit.details.residual_rms, rel=1e-6)
        np.testing.assert_allclose(fits.fitted[row], fit.details.fitted, atol=1e-5)


def test_optimum_is_global_on_curves_that_no_urn_draws():
    rng = np.random.default_rng(8)
    curves = rng.uniform(0, 1, (40, 12))
    lag = np.arange(1, 13)
    fits = fit_containment_batch(lag, curves, model="core_shell")
    for decay in np.linspace(0, 1, 201):
        for floor in np.linspace(0, 1, 21):
            fitted = CoreShellUrn(floor, decay, np.linspace(0, 1, 21)[:, None]).containment(lag, form="paper")
            rms = np.sqrt(((curves[:, None] - fitted) ** 2).mean(axis=2))
            assert (fits.residual_rms <= rms.min(axis=1) + 1e-12).all()


@pytest.mark.parametrize("noise", [0.01, 0.0001])
def test_no_fit_is_worse_than_the_truth(noise):
    rng = np.random.default_rng(10)
    # Shares, losses and coverages of every order of magnitude.
    small = 10 ** rng.uniform(-5, 0, (3, 2_000, 1))
    truth = CoreShellUrn(small[0], np.where(rng.random((2_000, 1)) < 0.5, 1 - small[1], small[1]), small[2])
    for fit, curves in [
        (fit_containment_batch, truth.containment(T)),
        (fit_discovery_batch, truth.discovery_curve(T)),
    ]:
        errors = noise * rng.normal(size=curves.shape)
        fits = fit(T, curves + errors, model="core_shell")
        assert (fits.residual_rms <= np.sqrt((errors**2).mean(axis=1)) * (1 + 1e-9)).all()


def test_unknown_points_are_left_out(truth):
    curves = noisy(truth.containment(T))
    known = np.random.default_rng(9).random(curves.shape) < 0.6
    fits = fit_containment_batch(T, np.where(known, curves, np.nan), model="core_shell")
    np.testing.assert_array_equal(fits.n_points, known.sum(axis=1))
    assert np.isfinite(fits.fitted).all()
    for row in (0, 50, 100):
        alone = fit_containment_batch(T[known[row]], curves[row : row + 1, known[row]], model="core_shell")
        found = (fits.kappa[row], fits.alpha[row], fits.coverage[row], fits.residual_rms[row])
        expected = (alone.kappa[0], alone.alpha[0], alone.coverage[0], alone.residual_rms[0])
        assert found == pytest.approx(expected, abs=1e-8)


def test_window_lengths_may_have_gaps(truth):
    t = np.array([1, 2, 3, 5, 8, 11])
    fits = fit_discovery_batch(t, truth.discovery_curve(t), model="core_shell")
    # Six points of a short window leave the ridge narrow: the curve is what has to be met.
    assert (fits.residual_rms < 1e-8).all()


@pytest.mark.parametrize(
    ("urn", "parameter", "bound"),
    [
        (CoreShellUrn(0, 0.8, 0.5), "kappa", 0),
        (CoreShellUrn(0.3, 1, 0.3), "alpha", 1),
    ],
)
def test_truth_on_a_bound_is_found_on_it(urn, parameter, bound):
    fits = fit_discovery_batch(T, urn.discovery_curve(T)[None], model="core_shell")
    assert fits.status.tolist() == ["at_bound"]
    assert getattr(fits, parameter).tolist() == [bound]
    np.testing.assert_allclose(fits.fitted[0], urn.discovery_curve(T), atol=1e-8)


def test_crawls_that_share_nothing_and_crawls_that_are_one():
    for curve, g in [(T + 1.0, 0 * T), (np.ones(50), np.ones(50))]:
        for fit, observed in [(fit_discovery_batch, curve), (fit_containment_batch, g)]:
            for model in ("homogeneous", "core_shell"):
                fits = fit(T, observed[None], model=model)
                assert fits.status.tolist() == ["at_bound"]
                np.testing.assert_allclose(fits.fitted[0], observed, atol=1e-12)


def test_curve_without_returns_to_the_shell_is_fitted():
    fits = fit_discovery_batch(T, (T + 1 - 0.4 * T)[None], model="core_shell")
    urn = CoreShellUrn(fits.kappa[0], fits.alpha[0], fits.coverage[0])
    assert (urn.core_share, fits.core_share[0]) == pytest.approx((0.4, 0.4))
    np.testing.assert_allclose(urn.discovery_curve(T), T + 1 - 0.4 * T)


def test_full_coverage_fits_though_kappa_is_not_identified():
    urn = CoreShellUrn(0.3, 0.8, 1)
    fits = fit_discovery_batch(T, urn.discovery_curve(T)[None], model="core_shell")
    assert fits.status.tolist() == ["at_bound"]
    np.testing.assert_allclose(fits.fitted[0], urn.discovery_curve(T), atol=1e-8)


def test_too_few_points():
    curves = np.tile(Urn(0.8, 0.5).containment(T), (3, 1))
    curves[0, 3:] = np.nan
    curves[1, 2:] = np.nan
    assert fit_containment_batch(T, curves, model="core_shell").status.tolist()[:2] == ["too_few_points"] * 2
    fits = fit_containment_batch(T, curves, model="homogeneous")
    assert fits.status.tolist() == ["ok", "too_few_points", "ok"]
    assert np.isnan(fits.alpha).tolist() == [False, True, False]
    assert np.isnan(fits.fitted[1]).all()


def test_repeated_lags_count_once():
    fits = fit_containment_batch([1, 1, 2, 2], [[0.5, 0.6, 0.4, 0.5]], model="homogeneous")
    assert fits.status.tolist() == ["too_few_points"]


def test_no_problems_give_no_fits():
    assert fit_containment_batch(T, np.empty((0, 50)), model="core_shell").kappa.shape == (0,)


def test_chunks_do_not_matter(truth, monkeypatch):
    from crawl_urn_dagster.urn.fits import batched

    curves = noisy(truth.discovery_curve(T))
    whole = fit_discovery_batch(T, curves, model="core_shell")
    monkeypatch.setattr(batched, "_CHUNK", 20_000)
    np.testing.assert_allclose(fit_discovery_batch(T, curves, model="core_shell").alpha, whole.alpha, atol=1e-9)


@pytest.mark.parametrize(
    ("abscissa", "curves", "message"),
    [
        ([1, 2], [0.5, 0.4], r"shape \(2,\) and the curves \(2,\); expected \(points,\), \(problems, points\)"),
        ([0, 1], [[0.5, 0.4]], "is 0.0; expected finite numbers above 0"),
        ([1, np.nan], [[0.5, 0.4]], "is nan; expected finite"),
        ([1, 2], [[0.5, 0.4], [0.5, np.inf]], "problem 1, point 1 is inf"),
    ],
)
def test_curves_of_wrong_shape_or_values_are_refused(abscissa, curves, message):
    for fit in (fit_containment_batch, fit_discovery_batch):
        with pytest.raises(ValueError, match=message):
            fit(abscissa, curves, model="homogeneous")


def test_discovery_needs_whole_numbers_of_crawls():
    with pytest.raises(ValueError, match=r"t is 1\.5; expected whole numbers"):
        fit_discovery_batch([1, 1.5], [[1.5, 2]], model="homogeneous")
