"""The fits: recovery of noiseless urns on both clocks, and every status that a fit can have."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import (
    STATUSES,
    CoreShellUrn,
    Urn,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    fit_discovery_increments,
    invert_discovery_tail,
    mean_by,
)
from crawl_urn_dagster.urn.optimise import bounded_least_squares

CRAWLS = 51
T = np.arange(1, CRAWLS)
YEARS = np.cumsum(np.append(0, np.random.default_rng(7).uniform(21, 120, CRAWLS - 1))) / 365.25
START, END = np.triu_indices(CRAWLS, k=1)
ELAPSED = YEARS[END] - YEARS[START]
# kappa, alpha (per crawl, and per year as its 8th power), coverage
CORE_SHELL = [(0.4, 0.75, 0.6), (0.06, 0.62, 0.51), (0.2, 0.93, 0.3), (0.6, 0.85, 0.9)]
HOMOGENEOUS = [(0.9, 0.5), (0.75, 0.6), (0.97, 0.11), (0.4, 0.9)]
CLOSE = {"abs": 1e-7}


def mean_curve(ratio, t=T):
    """Arguments of a discovery fit on the clock of crawls."""
    return np.arange(t.max() + 1), np.zeros_like(t), t, ratio


def windows(urn):
    """Arguments of a discovery fit on the clock of years: every window with its own gaps."""
    ratio = np.concatenate([urn.discovery_curve_at(YEARS[start:])[1:] for start in range(CRAWLS - 1)])
    return YEARS, START, END, ratio


def estimates(fit):
    return fit.kappa, fit.core_share, fit.alpha, fit.coverage


def assert_complete(fit, kind, n_points):
    assert (fit.projection, fit.model, fit.form, fit.clock) == kind
    assert fit.n_points == n_points == len(fit.abscissa) == len(fit.observed) == len(fit.fitted)
    assert fit.residual_rms == pytest.approx(np.sqrt(np.mean(fit.residuals**2)))
    assert (fit.reason is None) == (fit.status == "ok")


@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_log_linear_recovers_the_homogeneous_urn(alpha, coverage):
    fit = fit_containment_log_linear(T, Urn(alpha, coverage).containment(T), clock="crawl")
    assert_complete(fit, ("containment", "homogeneous", "exact", "crawl"), 50)
    assert estimates(fit) == (None, None, pytest.approx(alpha, **CLOSE), pytest.approx(coverage, **CLOSE))
    fit = fit_containment_log_linear(ELAPSED, Urn(alpha**8, coverage).containment(ELAPSED), clock="year")
    assert_complete(fit, ("containment", "homogeneous", "exact", "year"), 1275)
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha**8, coverage), **CLOSE)
    assert fit.status == "ok"


@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_discovery_recovers_the_homogeneous_urn(alpha, coverage):
    fit = fit_discovery_homogeneous(*mean_curve(Urn(alpha, coverage).discovery_curve(T)), clock="crawl")
    assert_complete(fit, ("discovery_curve", "homogeneous", "exact", "crawl"), 50)
    assert estimates(fit) == (None, None, pytest.approx(alpha, **CLOSE), pytest.approx(coverage, **CLOSE))
    assert fit.status == "ok"
    fit = fit_discovery_homogeneous(*windows(Urn(alpha**8, coverage)), clock="year")
    assert_complete(fit, ("discovery_curve", "homogeneous", "exact", "year"), 1275)
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha**8, coverage), **CLOSE)
    assert fit.status == "ok"


@pytest.mark.parametrize("form", ["exact", "paper"])
@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_containment_recovers_core_and_shell_in_its_own_form(kappa, alpha, coverage, form):
    truth = CoreShellUrn(kappa, alpha, coverage)
    core_share = float(truth.core_share)
    fit = fit_containment_core_shell(T, truth.containment(T), form=form, clock="crawl")
    assert_complete(fit, ("containment", "core_shell", form, "crawl"), 50)
    expected_kappa = kappa if form == "exact" else core_share
    assert estimates(fit) == pytest.approx((expected_kappa, core_share, alpha, coverage), **CLOSE)

    yearly = CoreShellUrn(kappa, alpha**8, coverage).containment(ELAPSED)
    fit = fit_containment_core_shell(ELAPSED, yearly, form=form, clock="year")
    assert_complete(fit, ("containment", "core_shell", form, "year"), 1275)
    assert estimates(fit) == pytest.approx((expected_kappa, core_share, alpha**8, coverage), **CLOSE)


@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_discovery_recovers_core_and_shell(kappa, alpha, coverage):
    truth = CoreShellUrn(kappa, alpha, coverage)
    fit = fit_discovery_core_shell(*mean_curve(truth.discovery_curve(T)), clock="crawl")
    assert_complete(fit, ("discovery_curve", "core_shell", "exact", "crawl"), 50)
    assert estimates(fit) == pytest.approx((kappa, float(truth.core_share), alpha, coverage), abs=1e-6)

    yearly = CoreShellUrn(kappa, alpha**8, coverage)
    fit = fit_discovery_core_shell(*windows(yearly), clock="year")
    assert_complete(fit, ("discovery_curve", "core_shell", "exact", "year"), 1275)
    assert estimates(fit) == pytest.approx((kappa, float(truth.core_share), alpha**8, coverage), abs=1e-6)


@pytest.mark.parametrize(("kappa", "alpha", "coverage"), CORE_SHELL)
def test_increments_recover_core_and_shell(kappa, alpha, coverage):
    truth = CoreShellUrn(kappa, alpha, coverage)
    fit = fit_discovery_increments(T, truth.discovery_curve(T))
    assert_complete(fit, ("discovery_increments", "core_shell", "exact", "crawl"), 50)
    np.testing.assert_allclose(fit.observed, truth.new_fraction(T), atol=1e-12)
    assert estimates(fit) == pytest.approx((kappa, float(truth.core_share), alpha, coverage), abs=1e-6)


def test_increments_skip_unpublished_window_lengths():
    t = np.array([5, 1, 2, 3, 8, 9, 10])
    truth = CoreShellUrn(0.4, 0.75, 0.6)
    fit = fit_discovery_increments(t, truth.discovery_curve(t))
    assert fit.abscissa.tolist() == [1, 2, 3, 9, 10]
    assert fit.observed == pytest.approx(truth.new_fraction(fit.abscissa), abs=1e-12)


@pytest.mark.parametrize(("alpha", "coverage"), [(0.75, 0.6), (0.4, 0.9), (0.9, 0.5)])
def test_tail_recovers_a_homogeneous_urn_that_has_settled(alpha, coverage):
    fit = invert_discovery_tail(T, Urn(alpha, coverage).discovery_curve(T))
    assert_complete(fit, ("discovery_tail", "homogeneous", "exact", "crawl"), 25)
    assert fit.abscissa[0] == 26
    # What is left of the transient at t = 26 is rho_inf tau_h (alpha (1 - c))^26.
    left = (alpha * (1 - coverage)) ** 26
    assert (fit.alpha, fit.coverage) == pytest.approx((alpha, coverage), abs=10 * left + 1e-9)
    assert fit.status == "ok"


def test_tail_takes_the_larger_half_of_an_odd_number_of_lengths():
    t = np.arange(12)
    assert invert_discovery_tail(t, Urn(0.8, 0.5).discovery_curve(t)).abscissa.tolist() == [
        6,
        7,
        8,
        9,
        10,
        11,
    ]


@pytest.mark.parametrize(("alpha", "coverage"), HOMOGENEOUS)
def test_without_a_core_kappa_is_at_its_bound(alpha, coverage):
    urn, yearly = Urn(alpha, coverage), Urn(alpha**8, coverage)
    curve = urn.discovery_curve(T)
    for fit in [
        fit_containment_core_shell(T, urn.containment(T), form="exact", clock="crawl"),
        fit_containment_core_shell(ELAPSED, yearly.containment(ELAPSED), form="paper", clock="year"),
        fit_discovery_core_shell(*mean_curve(curve), clock="crawl"),
        fit_discovery_core_shell(*windows(yearly), clock="year"),
        fit_discovery_increments(T, curve),
    ]:
        survival = alpha if fit.clock == "crawl" else alpha**8
        assert (fit.kappa, fit.core_share) == (0, 0)
        assert (fit.alpha, fit.coverage) == pytest.approx((survival, coverage), **CLOSE)
        assert fit.status == "at_bound"
        assert fit.reason == "kappa is at its bound 0: the homogeneous urn suffices."


@pytest.mark.parametrize(
    ("urn", "at", "reason"),
    [
        (CoreShellUrn(0.3, 1, 0.3), {"alpha": 1}, "alpha is at its bound 1: nothing leaves the shell"),
        (
            CoreShellUrn(0.3, 0.8, 1),
            {"coverage": 1},
            "coverage is at its bound 1: every crawl samples the whole",
        ),
        (CoreShellUrn(1, 0.8, 0.3), {"kappa": 1}, "kappa is at its bound 1: all elements belong to the core"),
        (CoreShellUrn(0, 0, 0.3), {"kappa": 0, "alpha": 0}, "alpha is at its bound 0: nothing survives"),
    ],
)
def test_truth_on_a_bound_is_found_on_it(urn, at, reason):
    fit = fit_discovery_core_shell(*mean_curve(urn.discovery_curve(T)), clock="crawl")
    assert fit.status == "at_bound"
    assert reason in fit.reason
    assert {name: getattr(fit, name) for name in at} == at
    np.testing.assert_allclose(fit.fitted, fit.observed, atol=1e-9)


def test_homogeneous_fit_on_a_bound_speaks_of_the_urn():
    fit = fit_discovery_homogeneous(*mean_curve(Urn(1, 0.3).discovery_curve(T)), clock="crawl")
    assert (fit.status, fit.alpha) == ("at_bound", 1)
    assert fit.reason == "alpha is at its bound 1: nothing leaves the urn within the window."
    assert fit.coverage == pytest.approx(0.3, **CLOSE)


def test_a_fit_at_a_bound_says_that_kappa_is_open_too():
    # At coverage 1 the curve is 1 + (1 - mu)(1 - alpha) t: kappa and alpha are one number.
    fit = fit_discovery_core_shell(*mean_curve(CoreShellUrn(0.3, 0.8, 1).discovery_curve(T)), clock="crawl")
    assert fit.status == "at_bound"
    assert "leaves kappa open" in fit.reason


@pytest.mark.parametrize("crawls", [12, 51])
def test_discovery_curve_leaves_kappa_on_a_ridge(crawls):
    t = np.arange(1, crawls)
    fit = fit_discovery_core_shell(*mean_curve(CoreShellUrn(0.4, 0.75, 0.6).discovery_curve(t), t), clock="crawl")
    assert fit.status == "not_identified"
    assert fit.reason.startswith("The fit of discovery_curve leaves kappa open: at 0.300 instead of 0.400")


def test_containment_identifies_its_floor_but_not_when_churn_is_slow():
    def fit(alpha):
        g = CoreShellUrn(0.4, alpha, 0.6).containment(T)
        return fit_containment_core_shell(T, g, form="exact", clock="crawl")

    assert fit(0.75).status == "ok"
    slow = fit(0.995)
    assert slow.status == "not_identified"
    assert slow.reason.startswith("The fit of containment leaves the floor open: at 0.426 instead of 0.526")


def test_regression_outside_the_unit_interval_is_not_identified():
    fit = fit_containment_log_linear(T, 1.2 * 0.9**T, clock="crawl")
    assert (fit.alpha, fit.coverage) == pytest.approx((0.9, 1.2))
    assert fit.status == "not_identified"
    assert fit.reason == "The line gives alpha 0.9 and coverage 1.2; an urn's lie between 0 and 1."


def test_tail_outside_the_unit_interval_is_not_identified():
    fit = invert_discovery_tail(T, 0.9 + 0.2 * T)
    assert fit.status == "not_identified"
    # rho_inf = 0.8 and tau_h = -0.1/0.8
    assert (fit.alpha, fit.coverage) == pytest.approx((0.675 / 0.875, 0.8 / 0.675))


def test_tail_of_a_crawl_that_never_returns():
    fit = invert_discovery_tail(T, T + 1.0)
    assert estimates(fit) == (None, None, None, None)
    assert fit.status == "not_identified"
    assert "nothing is seen again" in fit.reason
    np.testing.assert_allclose(fit.fitted, fit.observed)


@pytest.mark.parametrize("n_points", [0, 1, 2, 3, 4, 5])
def test_too_few_points(n_points):
    t = np.arange(1, n_points + 1)
    urn = CoreShellUrn(0.4, 0.75, 0.6)
    g, curve = urn.containment(t), mean_curve(urn.discovery_curve(t), t) if n_points else ([0.0], [], [], [])
    # The tail has half of the points, rounded up.
    for fit, n_parameters, n_used in [
        (fit_containment_log_linear(t, g, clock="crawl"), 2, n_points),
        (fit_containment_core_shell(t, g, form="exact", clock="crawl"), 3, n_points),
        (fit_discovery_homogeneous(*curve, clock="crawl"), 2, n_points),
        (fit_discovery_core_shell(*curve, clock="crawl"), 3, n_points),
        (fit_discovery_increments(t, curve[3]), 3, n_points),
        (invert_discovery_tail(t, curve[3]), 2, (n_points + 1) // 2),
    ]:
        assert fit.n_points == n_used
        if n_used > n_parameters:
            assert fit.status != "too_few_points"
            continue
        assert fit.status == "too_few_points"
        assert fit.reason.startswith(f"Different lags of pairs or lengths of windows: {n_used};")
        assert f"{n_parameters} parameters need at least {n_parameters + 1}" in fit.reason
        assert (*estimates(fit), fit.residual_rms) == (None,) * 5
        assert np.isnan(fit.fitted).all()


def test_repeated_lags_count_once():
    fit = fit_containment_log_linear([1, 1, 2, 2], [0.5, 0.5, 0.4, 0.4], clock="year")
    assert fit.status == "too_few_points"
    assert "lengths of windows: 2;" in fit.reason


def test_search_cut_short_has_not_converged(monkeypatch):
    monkeypatch.setattr(bounded_least_squares, "_EVALUATIONS", 1)
    curve = CoreShellUrn(0.4, 0.75, 0.6).discovery_curve(T)
    fit = fit_discovery_core_shell(*mean_curve(curve), clock="crawl")
    assert fit.status == "not_converged"
    assert "did not settle" in fit.reason


def test_lag_zero_and_windows_of_one_crawl_and_empty_overlaps_are_left_out():
    urn = Urn(0.8, 0.5)
    lags = np.arange(12)
    g = urn.containment(lags)
    assert fit_containment_core_shell(lags, g, form="exact", clock="crawl").abscissa.tolist() == list(range(1, 12))
    g[[3, 7]] = [0, -0.01]
    fit = fit_containment_log_linear(lags, g, clock="crawl")
    assert fit.abscissa.tolist() == [1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert (fit.alpha, fit.coverage) == pytest.approx((0.8, 0.5), **CLOSE)
    ends = np.append(0, T)
    fit = fit_discovery_homogeneous(*mean_curve(urn.discovery_curve(ends), ends), clock="crawl")
    assert fit.abscissa.tolist() == T.tolist()


def test_negative_sketched_containment_is_fitted_as_it_is():
    g = CoreShellUrn(0.0, 0.5, 0.6).containment(T)
    g[20:] -= 0.001
    fit = fit_containment_core_shell(T, g, form="exact", clock="crawl")
    np.testing.assert_array_equal(fit.observed, g)


@pytest.mark.parametrize("gap_in_years", [1 / 52, 1 / 365.25, 3.0])
def test_any_cadence_is_fitted_in_years(gap_in_years):
    times = np.arange(30) * gap_in_years
    start, end = np.triu_indices(30, k=1)
    urn = CoreShellUrn(0.4, 0.7, 0.5)
    survival = 0.7 ** (1 / gap_in_years)
    g = fit_containment_core_shell(
        (end - start) * gap_in_years, urn.containment(end - start), form="exact", clock="year"
    )
    u = fit_discovery_core_shell(times, start, end, urn.discovery_curve(end - start), clock="year")
    for fit in (g, u):
        assert (fit.kappa, fit.coverage) == pytest.approx((0.4, 0.5), abs=1e-6)
        assert fit.alpha == pytest.approx(survival, rel=1e-4)


def test_fit_is_a_minimum_of_noisy_least_squares():
    rng = np.random.default_rng(11)
    truth = CoreShellUrn(0.3, 0.9, 0.4)
    observed = truth.discovery_curve(T) + 0.02 * rng.normal(size=T.size)
    fit = fit_discovery_core_shell(*mean_curve(observed), clock="crawl")
    best = np.array([fit.kappa, fit.alpha, fit.coverage])
    assert ((best > 0.001) & (best < 0.999)).all()
    cost = np.sum(fit.residuals**2)
    for move in 1e-4 * rng.normal(size=(200, 3)):
        other = CoreShellUrn(*(best + move)).discovery_curve(T)
        assert np.sum((observed - other) ** 2) > cost


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="containment 2 is nan; expected finite numbers"):
        fit_containment_log_linear([1, 2, 3], [0.5, 0.4, np.nan], clock="crawl")
    with pytest.raises(ValueError, match="ratio 1 is inf"):
        fit_discovery_homogeneous([0, 1, 2], [0, 0], [1, 2], [1.5, np.inf], clock="crawl")


def test_mean_by_lag():
    lags, means, counts = mean_by([2, 1, 2, 3, 1], [0.4, 0.9, 0.2, 0.1, 0.7])
    assert lags.tolist() == [1, 2, 3]
    assert means == pytest.approx([0.8, 0.3, 0.1])
    assert counts.tolist() == [2, 2, 1]


def test_statuses_are_in_order_of_precedence():
    assert STATUSES[0] == "model_violation"
    assert STATUSES[-1] == "ok"
    assert STATUSES.index("at_bound") < STATUSES.index("not_identified")


def test_parameters_that_move_less_than_the_fit_misses_are_open():
    lag = np.arange(1.0, 51.0)
    curve = CoreShellUrn(0.4, 0.75, 0.6).containment(lag)
    assert fit_containment_core_shell(lag, curve, form="exact", clock="crawl").status == "ok"
    missed = fit_containment_core_shell(lag, curve + 0.1 * np.sin(lag / 3), form="exact", clock="crawl")
    assert missed.status == "not_identified"
    assert "leaves" in missed.reason
