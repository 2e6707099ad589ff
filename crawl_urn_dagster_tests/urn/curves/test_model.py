"""The closed forms: against values stepped from the recurrences, at their limits, and by their identities."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawl_urn_dagster.urn import (
    CoreShellUrn,
    Urn,
    core_share_from_kappa,
    kappa_from_core_share,
    urn_from_tail,
)

FRACTION = st.floats(0, 1)
INNER = st.floats(0.01, 0.99)
ROUNDS = np.arange(60)
EXACT = {"rtol": 1e-12, "atol": 0}


@pytest.fixture(params=range(6))
def even_case(request, shared_reference):
    return json.loads((shared_reference / "closed_forms.json").read_text())["even_cadence"][request.param]


def test_reference_values_at_even_cadence(even_case):
    urn = CoreShellUrn(even_case["kappa"], even_case["alpha"], even_case["coverage"])
    lags, rounds = np.arange(1, 25), np.arange(25)
    terms = urn.shell.operator_terms()
    for computed, name in [
        (urn.core_share, "core_share"),
        (urn.containment(lags), "containment_lag_1_to_24"),
        (urn.containment(lags, form="paper"), "containment_lag_1_to_24_paper_form"),
        (urn.shell.seen_fraction(rounds), "shell_seen_fraction"),
        (urn.shell.new_fraction(rounds), "shell_new_fraction"),
        (urn.discovery_curve(rounds), "discovery_curve"),
        (urn.discovery_curve_at(rounds), "discovery_curve"),
        (urn.shell.asymptote().nu_inf, "shell_nu_inf"),
        (urn.shell.asymptote().tau_h, "shell_tau_h"),
        (terms.nu_inf, "shell_nu_inf"),
        (terms.resolution_time, "shell_tau_h"),
        (terms.life_expectancy, "life_expectancy"),
        (terms.sampled_time, "sampled_time"),
        (terms.hidden_time, "hidden_time"),
    ]:
        np.testing.assert_allclose(computed, even_case[name], **EXACT, err_msg=name)


def test_reference_values_at_uneven_cadence(shared_reference):
    case = json.loads((shared_reference / "closed_forms.json").read_text())["uneven_cadence"]
    urn = Urn(case["alpha_per_year"], case["coverage"])
    np.testing.assert_allclose(urn.discovery_curve_at(case["times_years"]), case["discovery_curve"], **EXACT)


@given(FRACTION, FRACTION)
@example(1.0, 5e-324)  # the least coverage that is not 0
def test_seen_fraction_obeys_its_recurrence(alpha, coverage):
    seen = Urn(alpha, coverage).seen_fraction(ROUNDS)
    assert seen[0] == 0
    np.testing.assert_allclose(seen[1:], alpha * (seen[:-1] + coverage * (1 - seen[:-1])), atol=1e-12)


@given(FRACTION, FRACTION)
def test_new_fractions_are_what_was_not_seen_and_add_up_to_the_discovery_curve(alpha, coverage):
    urn = Urn(alpha, coverage)
    new = urn.new_fraction(ROUNDS)
    np.testing.assert_allclose(new, 1 - urn.seen_fraction(ROUNDS), atol=1e-12)
    np.testing.assert_allclose(urn.discovery_curve(ROUNDS), np.cumsum(new), rtol=1e-12)


@given(FRACTION, FRACTION, FRACTION)
def test_increments_of_the_core_shell_curve_are_its_new_fraction(kappa, alpha, coverage):
    urn = CoreShellUrn(kappa, alpha, coverage)
    np.testing.assert_allclose(urn.discovery_curve(ROUNDS), np.cumsum(urn.new_fraction(ROUNDS)), rtol=1e-12)


@given(FRACTION, FRACTION, st.floats(0.01, 3))
def test_equal_gaps_make_the_recurrence_the_closed_form(alpha, coverage, gap):
    np.testing.assert_allclose(
        Urn(alpha, coverage).discovery_curve_at(ROUNDS * gap),
        Urn(alpha**gap, coverage).discovery_curve(ROUNDS),
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


@given(INNER, INNER)
def test_tail_inverts(alpha, coverage):
    end = Urn(alpha, coverage).asymptote()
    assert urn_from_tail(float(end.rho_inf), float(end.tau_h)) == pytest.approx((alpha, coverage), rel=1e-10)


def test_tail_of_no_urn_gives_raw_values():
    assert urn_from_tail(1.2, 0.5) == pytest.approx((1.7 / 1.5, 1.2 / 1.7))


@given(FRACTION, st.floats(1e-6, 1))
def test_core_share_maps_back_to_kappa(kappa, coverage):
    core_share = core_share_from_kappa(kappa, coverage)
    assert core_share >= kappa * (1 - 1e-15)
    assert kappa_from_core_share(core_share, coverage) == pytest.approx(kappa, rel=1e-9)


def test_core_share_without_a_core_or_without_a_shell_in_sight():
    assert core_share_from_kappa(0.0, 0.0) == 0
    assert core_share_from_kappa(0.3, 0.0) == 1
    assert kappa_from_core_share(0.3, 0.0) == 0
    assert kappa_from_core_share(1.0, 0.0) == 1


@given(FRACTION, FRACTION, INNER)
def test_floor_of_containment_is_the_core_share_or_the_printed_kappa(kappa, alpha, coverage):
    urn = CoreShellUrn(kappa, alpha * 0.9, coverage)
    assert urn.containment(2_000) == pytest.approx(float(urn.core_share), abs=1e-15)
    assert urn.containment(2_000, form="paper") == pytest.approx(kappa, abs=1e-15)


@given(FRACTION, INNER, INNER)
def test_exact_containment_is_the_count_of_shared_elements(kappa, alpha, coverage):
    lags = np.arange(1, 20)
    shared = kappa + (1 - kappa) * coverage**2 * alpha**lags
    size = kappa + (1 - kappa) * coverage
    np.testing.assert_allclose(CoreShellUrn(kappa, alpha, coverage).containment(lags), shared / size, rtol=1e-12)


@given(FRACTION, FRACTION)
def test_lag_one_is_in_both_curves(alpha, coverage):
    urn = CoreShellUrn(0.3, alpha, coverage)
    assert urn.discovery_curve(1) == pytest.approx(2 - urn.containment(1), rel=1e-12)


def test_a_survival_per_year_takes_lags_in_years():
    assert Urn(0.5, 0.8).containment(1.5) == pytest.approx(0.8 * 0.5**1.5)
    assert Urn(0.5, 0.8).containment(0) == 1


@pytest.mark.parametrize(
    ("alpha", "coverage", "curve", "terms"),
    [
        # life expectancy, sampled, hidden and hiding time, nu_inf, rho_inf
        (1, 1, [1, 1, 1, 1], (np.inf, np.inf, 0, 0, 0, 1)),
        (1, 0.5, [1, 1.5, 1.75, 1.875], (np.inf, np.inf, np.inf, 1, 0, 1)),
        (1, 0, [1, 2, 3, 4], (np.inf, 0, np.inf, np.inf, 1, 0)),
        (0.5, 1, [1, 1.5, 2, 2.5], (1, 1, 0, 0, 0.5, 0.5)),
        (0.5, 0, [1, 2, 3, 4], (1, 0, 1, 1, 1, 0)),
        (0, 1, [1, 2, 3, 4], (0, 0, 0, 0, 1, 0)),
        (0, 0, [1, 2, 3, 4], (0, 0, 0, 0, 1, 0)),
    ],
)
def test_edges(alpha, coverage, curve, terms):
    urn = Urn(alpha, coverage)
    np.testing.assert_array_equal(urn.discovery_curve(np.arange(4)), curve)
    np.testing.assert_array_equal(urn.discovery_curve_at(np.arange(4)), curve)
    assert urn.operator_terms() == terms
    assert urn.asymptote().intercept == (2 if (alpha, coverage) == (1, 0.5) else 1)


@pytest.mark.parametrize("gone", [1e-6, 1e-9, 1e-12, 1e-16])
def test_curve_keeps_its_precision_as_nothing_is_resolved(gone):
    # U(t)/M to first order in what is seen again; what follows is below gone² t³/3.
    alpha, coverage, t = 1 - gone, gone, ROUNDS
    first_order = (t + 1) - alpha * coverage * t * (t + 1) / 2
    curve = Urn(alpha, coverage).discovery_curve(t)
    np.testing.assert_allclose(curve, first_order, rtol=1e-15, atol=gone**2 * t.max() ** 3 / 3 + 1e-14)


def test_life_of_the_core_is_infinite_and_it_never_hides():
    terms = CoreShellUrn(0.4, 0.75, 0.6).core.operator_terms()
    assert terms == (np.inf, np.inf, 0, 0, 0, 1)


def test_a_core_alone_is_one_crawl_for_ever():
    np.testing.assert_array_equal(CoreShellUrn(1, 0.5, 0.5).discovery_curve(ROUNDS), np.ones(60))
    np.testing.assert_array_equal(CoreShellUrn(1, 0.5, 0.5).containment(ROUNDS), np.ones(60))


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


def test_windows_of_their_own_starts_are_rows_of_times():
    times = np.array([[0, 1, 3, 3.5], [0, 2, 2.5, 7]])
    curves = Urn(0.8, 0.4).discovery_curve_at(times)
    for row in range(2):
        np.testing.assert_array_equal(curves[row], Urn(0.8, 0.4).discovery_curve_at(times[row]))


@pytest.mark.parametrize("value", [-1e-9, 1.000001, np.nan, np.inf, np.array([0.5, -2.0])])
@pytest.mark.parametrize("name", ["kappa", "alpha", "coverage"])
def test_parameters_outside_the_unit_interval_are_refused(name, value):
    bad = value if np.isscalar(value) else value[1]
    with pytest.raises(ValueError, match=f"{name} is {bad}; expected a number from 0 to 1"):
        CoreShellUrn(**{"kappa": 0.5, "alpha": 0.5, "coverage": 0.5, name: value})
    if name != "kappa":
        with pytest.raises(ValueError, match=f"{name} is {bad}"):
            Urn(**{"alpha": 0.5, "coverage": 0.5, name: value})


def test_lags_rounds_times_and_forms_are_checked():
    urn = CoreShellUrn(0.4, 0.75, 0.6)
    with pytest.raises(ValueError, match="lag is -1"):
        urn.containment([1, -1])
    with pytest.raises(ValueError, match="t is nan"):
        urn.discovery_curve(np.nan)
    with pytest.raises(ValueError, match="expected them in time order"):
        urn.discovery_curve_at([0, 2, 1])
    with pytest.raises(ValueError, match="form is 'printed'"):
        urn.containment(1, form="printed")
