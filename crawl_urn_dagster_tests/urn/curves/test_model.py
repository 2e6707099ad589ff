"""Closed forms: against values stepped from the recurrences, at extreme parameters, and by identities."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawl_urn_dagster.urn import CoreShellUrn, Urn

FRACTION = st.floats(0, 1)
INNER = st.floats(0.01, 0.99)
CRAWLS = np.arange(60)
EXACT = {"rtol": 1e-12, "atol": 0}


@pytest.fixture(params=range(6))
def even_case(request, shared_reference):
    return json.loads((shared_reference / "closed_forms.json").read_text())["even_cadence"][request.param]


def test_reference_values_at_even_cadence(even_case):
    urn = CoreShellUrn(even_case["kappa"], even_case["alpha"], even_case["coverage"])
    lags, crawls = np.arange(1, 25), np.arange(25)
    terms = urn.shell.operator_terms()
    for computed, name in [
        (urn.core_share, "core_share"),
        (urn.containment(lags), "containment_lag_1_to_24"),
        (urn.containment(lags, form="paper"), "containment_lag_1_to_24_paper_form"),
        (urn.shell.seen_fraction(crawls), "shell_seen_fraction"),
        (urn.shell.new_fraction(crawls), "shell_new_fraction"),
        (urn.discovery_curve(crawls), "discovery_curve"),
        (urn.discovery_curve_at(crawls), "discovery_curve"),
        (urn.shell.asymptote().nu_inf, "shell_nu_inf"),
        (urn.shell.asymptote().tau_h, "shell_tau_h"),
        (terms.nu_inf, "shell_nu_inf"),
        (terms.resolution_time, "shell_tau_h"),
        (terms.life_expectancy, "life_expectancy"),
        (terms.sampled_time, "sampled_time"),
        (terms.hidden_time, "hidden_time"),
    ]:
        np.testing.assert_allclose(computed, even_case[name], **EXACT, err_msg=name)


@pytest.mark.parametrize(("alpha", "half_life"), [(0.5**0.25, 4.0), (0.0, 0.0), (1.0, np.inf)])
def test_half_of_the_elements_survive_the_half_life(alpha, half_life):
    assert Urn(alpha, 0.5).operator_terms().half_life == pytest.approx(half_life)


def test_reference_values_at_uneven_cadence(shared_reference):
    case = json.loads((shared_reference / "closed_forms.json").read_text())["uneven_cadence"]
    urn = Urn(case["alpha_per_year"], case["coverage"])
    np.testing.assert_allclose(urn.discovery_curve_at(case["times_years"]), case["discovery_curve"], **EXACT)


@given(FRACTION, FRACTION)
@example(1.0, 5e-324)  # the smallest coverage above 0
def test_seen_fraction_obeys_its_recurrence(alpha, coverage):
    seen = Urn(alpha, coverage).seen_fraction(CRAWLS)
    assert seen[0] == 0
    np.testing.assert_allclose(seen[1:], alpha * (seen[:-1] + coverage * (1 - seen[:-1])), atol=1e-12)


@given(FRACTION, FRACTION)
def test_new_fractions_sum_to_the_discovery_curve(alpha, coverage):
    urn = Urn(alpha, coverage)
    new = urn.new_fraction(CRAWLS)
    np.testing.assert_allclose(new, 1 - urn.seen_fraction(CRAWLS), atol=1e-12)
    np.testing.assert_allclose(urn.discovery_curve(CRAWLS), np.cumsum(new), rtol=1e-12)


@given(FRACTION, FRACTION, FRACTION)
def test_core_shell_new_fractions_sum_to_the_curve(kappa, alpha, coverage):
    urn = CoreShellUrn(kappa, alpha, coverage)
    np.testing.assert_allclose(urn.discovery_curve(CRAWLS), np.cumsum(urn.new_fraction(CRAWLS)), rtol=1e-12)


@given(FRACTION, FRACTION, st.floats(0.01, 3))
def test_recurrence_at_equal_gaps_is_the_closed_form(alpha, coverage, gap):
    np.testing.assert_allclose(
        Urn(alpha, coverage).discovery_curve_at(CRAWLS * gap),
        Urn(alpha**gap, coverage).discovery_curve(CRAWLS),
        rtol=1e-11,
    )


@given(INNER, INNER)
def test_discovery_curve_tends_to_its_asymptote(alpha, coverage):
    urn = Urn(alpha, coverage)
    end = urn.asymptote()
    t = 50 / (1 - alpha * (1 - coverage))
    np.testing.assert_allclose(urn.discovery_curve(t), end.nu_inf * t + end.intercept, rtol=1e-12)
    np.testing.assert_allclose(urn.seen_fraction(t), end.rho_inf, rtol=1e-12)


@given(INNER, INNER)
def test_operator_terms_are_consistent(alpha, coverage):
    terms = Urn(alpha, coverage).operator_terms()
    np.testing.assert_allclose(terms.sampled_time + terms.hidden_time, terms.life_expectancy, rtol=1e-12)
    np.testing.assert_allclose(terms.sampled_time * (1 - coverage), terms.hidden_time * coverage, rtol=1e-12)
    np.testing.assert_allclose(terms.hidden_time, (1 + terms.sampled_time) * terms.resolution_time, rtol=1e-10)
    assert terms.nu_inf + terms.rho_inf == pytest.approx(1, rel=1e-12)


@given(FRACTION, FRACTION)
def test_fates_sum_to_one(alpha, coverage):
    fates = Urn(alpha, coverage).fates()
    assert min(fates) >= 0
    assert sum(fates) == pytest.approx(1, rel=1e-15)


@given(FRACTION, FRACTION, INNER)
def test_containment_tends_to_mu_or_to_the_printed_kappa(kappa, alpha, coverage):
    urn = CoreShellUrn(kappa, alpha * 0.9, coverage)
    assert urn.containment(2_000) == pytest.approx(float(urn.core_share), abs=1e-15)
    assert urn.containment(2_000, form="paper") == pytest.approx(kappa, abs=1e-15)


@given(FRACTION, INNER, INNER)
def test_exact_containment_counts_shared_elements(kappa, alpha, coverage):
    lags = np.arange(1, 20)
    shared = kappa + (1 - kappa) * coverage**2 * alpha**lags
    size = kappa + (1 - kappa) * coverage
    np.testing.assert_allclose(CoreShellUrn(kappa, alpha, coverage).containment(lags), shared / size, rtol=1e-12)


@given(FRACTION, FRACTION)
def test_lag_one_is_in_both_curves(alpha, coverage):
    urn = CoreShellUrn(0.3, alpha, coverage)
    assert urn.discovery_curve(1) == pytest.approx(2 - urn.containment(1), rel=1e-12)


def test_survival_per_year_takes_lags_in_years():
    assert Urn(0.5, 0.8).containment(1.5) == pytest.approx(0.8 * 0.5**1.5)
    assert Urn(0.5, 0.8).containment(0) == 1


@pytest.mark.parametrize(
    ("alpha", "coverage", "curve", "terms"),
    [
        # residual lifetime, captured time, missed time, time to resolution, nu_inf, rho_inf
        (1, 1, [1, 1, 1, 1], (np.inf, np.inf, 0, 0, 0, 1, np.inf)),
        (1, 0.5, [1, 1.5, 1.75, 1.875], (np.inf, np.inf, np.inf, 1, 0, 1, np.inf)),
        (1, 0, [1, 2, 3, 4], (np.inf, 0, np.inf, np.inf, 1, 0, np.inf)),
        (0.5, 1, [1, 1.5, 2, 2.5], (1, 1, 0, 0, 0.5, 0.5, 1)),
        (0.5, 0, [1, 2, 3, 4], (1, 0, 1, 1, 1, 0, 1)),
        (0, 1, [1, 2, 3, 4], (0, 0, 0, 0, 1, 0, 0)),
        (0, 0, [1, 2, 3, 4], (0, 0, 0, 0, 1, 0, 0)),
    ],
)
def test_parameters_of_0_and_1(alpha, coverage, curve, terms):
    urn = Urn(alpha, coverage)
    np.testing.assert_array_equal(urn.discovery_curve(np.arange(4)), curve)
    np.testing.assert_array_equal(urn.discovery_curve_at(np.arange(4)), curve)
    assert urn.operator_terms() == terms
    assert urn.asymptote().intercept == (2 if (alpha, coverage) == (1, 0.5) else 1)


@pytest.mark.parametrize("gone", [1e-6, 1e-9, 1e-12, 1e-16])
def test_curve_keeps_its_precision_at_tiny_rates(gone):
    # U(t)/M to first order in the captured fraction; the remainder is below gone² t³/3.
    alpha, coverage, t = 1 - gone, gone, CRAWLS
    first_order = (t + 1) - alpha * coverage * t * (t + 1) / 2
    curve = Urn(alpha, coverage).discovery_curve(t)
    np.testing.assert_allclose(curve, first_order, rtol=1e-15, atol=gone**2 * t.max() ** 3 / 3 + 1e-14)


def test_core_has_infinite_lifetime_and_no_missed_time():
    terms = CoreShellUrn(0.4, 0.75, 0.6).core.operator_terms()
    assert terms == (np.inf, np.inf, 0, 0, 0, 1, np.inf)


def test_core_alone_gives_constant_curves():
    np.testing.assert_array_equal(CoreShellUrn(1, 0.5, 0.5).discovery_curve(CRAWLS), np.ones(60))
    np.testing.assert_array_equal(CoreShellUrn(1, 0.5, 0.5).containment(CRAWLS), np.ones(60))


def test_parameters_broadcast():
    alpha, coverage = np.array([0.5, 0.9, 1.0]), np.array([[0.2], [1.0]])
    urns, times = CoreShellUrn(0.3, alpha, coverage), np.array([0, 1.5, 1.75, 4])
    curves = urns.discovery_curve_at(times)
    assert curves.shape == (2, 3, 4)
    for row, c in enumerate(coverage[:, 0]):
        for column, a in enumerate(alpha):
            one = CoreShellUrn(0.3, a, c)
            np.testing.assert_allclose(curves[row, column], one.discovery_curve_at(times), rtol=1e-14)
            assert urns.discovery_curve(7)[row, column] == pytest.approx(float(one.discovery_curve(7)))
    assert Urn(alpha, 0.5).containment(np.arange(4)[:, None]).shape == (4, 3)


def test_rows_of_times_are_separate_windows():
    times = np.array([[0, 1, 3, 3.5], [0, 2, 2.5, 7]])
    curves = Urn(0.8, 0.4).discovery_curve_at(times)
    for row in range(2):
        np.testing.assert_array_equal(curves[row], Urn(0.8, 0.4).discovery_curve_at(times[row]))


@pytest.mark.parametrize("value", [-1e-9, 1.000001, np.nan, np.inf, np.array([0.5, -2.0])])
@pytest.mark.parametrize("name", ["kappa", "alpha", "coverage"])
def test_parameters_outside_0_to_1_are_refused(name, value):
    bad = value if np.isscalar(value) else value[1]
    with pytest.raises(ValueError, match=f"{name} is {bad}; expected a number from 0 to 1"):
        CoreShellUrn(**{"kappa": 0.5, "alpha": 0.5, "coverage": 0.5, name: value})
    if name != "kappa":
        with pytest.raises(ValueError, match=f"{name} is {bad}"):
            Urn(**{"alpha": 0.5, "coverage": 0.5, name: value})


def test_invalid_lags_times_and_forms_are_refused():
    urn = CoreShellUrn(0.4, 0.75, 0.6)
    with pytest.raises(ValueError, match="lag is -1"):
        urn.containment([1, -1])
    with pytest.raises(ValueError, match="t is nan"):
        urn.discovery_curve(np.nan)
    with pytest.raises(ValueError, match="expected them in time order"):
        urn.discovery_curve_at([0, 2, 1])
    with pytest.raises(ValueError, match="form is 'printed'"):
        urn.containment(1, form="printed")
