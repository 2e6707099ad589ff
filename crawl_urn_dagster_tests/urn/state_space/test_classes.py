"""Test closed forms of the state-space urn against values computed apart from the project, and against identities."""

import json

import numpy as np
import pytest

from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass

SINGLE = (
    "iid",
    "core_shell_shell_part",
    "markov_dormancy",
    "markov_avoidance",
    "hidden",
    "hidden_growth",
    "hidden_decline",
)
MIXTURES = ("core+markov", "markov_x2_us_gov_like", "core+hidden_x2")
HIDDEN = StateSpaceClass("hidden", 0.96, 0.8, 0.1, 0.25)
STABLE = StateSpaceClass.markov("stable", survival=0.995, after_capture=0.994, after_miss=0.43)


@pytest.fixture(scope="module")
def reference(shared_reference):
    return json.loads((shared_reference / "state_space.json").read_text())


@pytest.mark.parametrize("name", SINGLE)
def test_class_matches_reference(reference, name):
    case = reference["single"][name]
    element = StateSpaceClass(name, case["alpha"], case["c"], case["o"], case["i"])
    growth, n = case["lam"], 50
    entrants = case["entrant"]
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(element.containment(np.arange(n + 1)), case["g"], **close)
    np.testing.assert_allclose(element.returns(n).first, case["h"], **close)
    np.testing.assert_allclose(element.returns(n).never, 1 - np.cumsum(case["h"]), **close)
    np.testing.assert_allclose(element.seen_before(n, growth), case["rho"], **close)
    np.testing.assert_allclose(element.discovery(n, growth), case["U"], **close)
    assert element.future_captures(growth) == pytest.approx(case["eta"], rel=1e-12)
    assert element.unique_rate(growth) == pytest.approx(case["nu"], rel=1e-12)
    assert element.available_share(growth, entrants) == pytest.approx(case["available_share"], rel=1e-12)
    assert element.eligible(growth, entrants) == pytest.approx(case["N_over_M"], rel=1e-12)
    if "intercept" in case:
        assert element.discovery_intercept() == pytest.approx(case["intercept"], rel=1e-12)


@pytest.mark.parametrize("name", MIXTURES)
def test_mixture_matches_reference(reference, name):
    case = reference["mixture"][name]
    urn = Mixture(tuple(StateSpaceClass("k", *values) for values in case["classes"]), tuple(case["mu"]))
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(urn.containment(np.arange(51)), case["g"], **close)
    np.testing.assert_allclose(urn.first_returns(50), case["h"], **close)
    np.testing.assert_allclose(urn.seen_before(50), case["rho"], **close)
    np.testing.assert_allclose(urn.discovery(50), case["U"], **close)
    np.testing.assert_allclose(urn.eligible_shares(), case["kappa"], **close)
    assert urn.eligible() == pytest.approx(case["N_over_M"], rel=1e-12)


@pytest.mark.parametrize("growth", [0.98, 1.0, 1.03])
def test_known_eligible_is_the_sum_over_last_captures(growth):
    course = HIDDEN.returns(600)
    total = ((course.available + course.dormant) * growth ** -np.arange(601.0)).sum()
    assert HIDDEN.known_eligible(growth) == pytest.approx(total, rel=1e-10)


def test_known_eligible_of_a_markov_class():
    assert STABLE.known_eligible() == pytest.approx(STABLE.eligible(entrants="available"), rel=1e-12)


def test_containment_is_the_renewal_of_first_returns():
    g, h = HIDDEN.containment(np.arange(30)), HIDDEN.returns(29).first
    np.testing.assert_allclose([h[1 : d + 1] @ g[d - 1 :: -1][:d] for d in range(1, 30)], g[1:], rtol=1e-12)


def test_discovery_curve_approaches_its_asymptote():
    n = 2_000
    curve = Mixture((STABLE, HIDDEN), (0.7, 0.3))
    asymptote = curve.unique_rate() * n + curve.discovery_intercept()
    assert curve.discovery(n)[-1] == pytest.approx(asymptote, rel=1e-4)


def test_core_is_captured_by_every_crawl():
    core = StateSpaceClass.core()
    assert core.captured_by_all(50) == core.known_eligible() == core.discovery_intercept() == 1
    assert core.unique_rate() == 0
    np.testing.assert_array_equal(core.discovery(5), 1)


def test_gap_of_two_crawls_is_two_gaps():
    twice = HIDDEN.over_gap(2)
    np.testing.assert_allclose(twice.containment(np.arange(5)), HIDDEN.containment(2 * np.arange(5)), rtol=1e-12)


def test_gap_of_a_class_with_negative_memory_raises():
    avoided = StateSpaceClass.markov("avoided", survival=0.9, after_capture=0.1, after_miss=0.5)
    with pytest.raises(ValueError, match="expected at least 0"):
        avoided.over_gap(2)


def test_probability_outside_its_range_raises():
    with pytest.raises(ValueError, match=r"survival of class k is 1\.2"):
        StateSpaceClass.shell("k", survival=1.2, coverage=0.5)


def test_shares_of_known_eligible_favour_the_missed_class():
    urn = Mixture((StateSpaceClass.core(), StateSpaceClass.shell(survival=1.0, coverage=0.5)), (0.5, 0.5))
    np.testing.assert_allclose(urn.known_shares(), (1 / 3, 2 / 3))
    assert urn.survival(3) == 1


def test_first_returns_between_crawls_follow_the_gaps():
    shell = StateSpaceClass.shell(survival=0.8, coverage=0.6)
    markov = StateSpaceClass.markov("m", survival=0.95, after_capture=0.85, after_miss=0.3)
    mixture = Mixture((shell, markov), (0.25, 0.75))
    gaps = np.array([0.5, 2.0, 1.5])
    found = mixture.first_returns_between(4, gaps)
    over = [markov.over_gap(gap) for gap in gaps]
    missed_once = over[0].survival * over[0].departure * over[1].survival * over[1].reactivation
    assert found[0, 1] == pytest.approx(0.25 * 0.6 * 0.8**0.5 + 0.75 * over[0].survival * (1 - over[0].departure))
    assert found[0, 2] == pytest.approx(0.25 * 0.6 * 0.4 * 0.8**2.5 + 0.75 * missed_once)
    assert found[2, 3] == pytest.approx(0.25 * 0.6 * 0.8**1.5 + 0.75 * over[2].survival * (1 - over[2].departure))
    assert not np.tril(found).any()
    equal = mixture.first_returns_between(4)
    assert equal == pytest.approx(mixture.first_returns_between(4, np.ones(3)), abs=1e-15)
    assert equal[1, 3] == pytest.approx(mixture.first_returns(3)[2])
