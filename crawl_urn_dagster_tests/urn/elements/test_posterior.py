"""Test posterior probabilities of single elements against enumeration and against simulated states."""

from itertools import product

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.elements.posterior import (
    HORIZON,
    SOON,
    capture_probabilities,
    element_states,
    population_courses,
    probabilities_within,
)
from crawl_urn_dagster.urn.elements.scores import score
from crawl_urn_dagster.urn.open_population.classes import PopulationClass
from crawl_urn_dagster.urn.open_population.ladder import fit_member
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.fitting import fit_model
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster.urn.state_space.states import mixture_courses
from crawl_urn_dagster_tests.urn.elements.simulated import auc, simulate_elements

HIDDEN = StateSpaceClass("a", 0.9, 0.7, 0.2, 0.3)
URN = Mixture((HIDDEN, StateSpaceClass.markov("b", survival=0.8, after_capture=0.6, after_miss=0.3)), (0.4, 0.6))
AVAILABLE, DORMANT, DEAD = range(3)


def enumerate_paths(element, gaps, seen):
    """Return the joint probabilities of a history after its first capture and of each last state."""
    ends = np.zeros(3)
    first = int(np.argmax(seen))
    for path in product(range(3), repeat=len(seen) - first - 1):
        probability, state = 1.0, AVAILABLE
        for t, after in enumerate(path, start=first + 1):
            at = element.over_gap(gaps[t - 1])
            move = {
                AVAILABLE: [at.survival * (1 - at.departure), at.survival * at.departure, 1 - at.survival],
                DORMANT: [at.survival * at.reactivation, at.survival * (1 - at.reactivation), 1 - at.survival],
                DEAD: [0, 0, 1],
            }[state]
            chance = at.coverage if after == AVAILABLE else 0.0
            probability *= move[after] * (chance if seen[t] else 1 - chance)
            state = after
        ends[state] += probability
    return ends


@pytest.mark.parametrize("gaps", [None, np.array([1.0, 0.5, 1.5])], ids=["equal", "uneven"])
def test_states_equal_the_enumeration_of_all_paths(gaps):
    seen = np.array([history for history in product([False, True], repeat=4) if any(history)])
    courses = mixture_courses(URN, 4, gaps)
    states = element_states(courses, seen)
    lengths = np.ones(3) if gaps is None else gaps
    for row, history in enumerate(seen):
        first = [course.first_captures[history.argmax()] for course in courses]
        class_terms = [
            weight * enumerate_paths(element, lengths, history)
            for weight, element in zip(first, URN.classes, strict=True)
        ]
        available, dormant, _ = np.sum(class_terms, axis=0) / np.sum(class_terms)
        found = states.eligible[row], states.dormant[row], states.missed[row]
        np.testing.assert_allclose(found, [available + dormant, dormant, 0 if history[-1] else available], atol=1e-12)


def test_expected_captures_sum_the_coming_probabilities():
    courses = mixture_courses(URN, 3)
    seen = np.array([[1, 0, 1], [1, 0, 0]], dtype=bool)
    chances = capture_probabilities(courses, seen, range(1, HORIZON + 1))
    states = element_states(courses, seen)
    np.testing.assert_allclose(states.expected_captures, chances.sum(axis=0))
    np.testing.assert_allclose(states.captured_next, chances[0])


def test_capture_within_crawls_equals_enumeration():
    """The probability of no capture is the share of the histories that continue without one."""
    seen = np.array([[1, 0, 1, 0, 0], [1, 0, 0, 0, 0]], dtype=bool)
    courses = mixture_courses(URN, 3)
    within = probabilities_within(courses, seen[:, :3], 2)
    for row, history in enumerate(seen):
        first = [course.first_captures[0] for course in courses]

        def mass(captures, first=first):
            lengths = np.ones(len(captures) - 1)
            return sum(
                weight * enumerate_paths(element, lengths, captures).sum()
                for weight, element in zip(first, URN.classes, strict=True)
            )

        assert within[row] == pytest.approx(1 - mass(history) / mass(history[:3]))
    np.testing.assert_allclose(
        probabilities_within(courses, seen[:, :3], SOON), element_states(courses, seen[:, :3]).captured_soon
    )


def test_history_without_a_capture_has_no_state():
    states = element_states(mixture_courses(URN, 2), np.zeros((1, 2), dtype=bool))
    assert all(np.isnan(values).all() for values in states)


def test_element_missed_once_is_not_of_the_core():
    core = PopulationClass("core", np.full(3, 50.0), np.ones(2), np.ones(3))
    shell = PopulationClass("shell", np.full(3, 50.0), np.full(2, 0.8), np.full(3, 0.5))
    states = element_states(population_courses([core, shell]), np.array([[1, 1, 1], [1, 0, 1]], dtype=bool))
    # Both classes: 50 cores, and 25 of the shell in crawl 0 with a chance of 0.4 of each further capture.
    np.testing.assert_allclose(states.core, [50 / (50 + 25 * 0.4**2), 0.0])


CASES = {
    "noise": ({"noise": 0.3}, "core_shell", None),
    "growth": ({"growth": 0.01, "noise": 0.3}, "core_shell_growing", None),
    "dormancy": ({"kappa": 0, "survival": 0.985, "coverage": 0.9, "departure": 0.03, "back": 0.2}, None, "hidden_1"),
    "core_dormancy": (
        {"kappa": 0.3, "survival": 0.97, "coverage": 0.95, "departure": 0.05, "back": 0.2},
        None,
        "core_hidden_1",
    ),
}


@pytest.mark.parametrize(
    ("case", "n_crawls"),
    [
        *(("noise", n) for n in (8, 24, 51)),
        *(("growth", n) for n in (8, 24)),
        *((case, n) for case in ("dormancy", "core_dormancy") for n in (24, 51)),
    ],
)
def test_probabilities_of_simulated_elements_are_calibrated(case, n_crawls):
    """Calibration errors have a sampling error of about 0.01. Eight crawls hardly identify a new core element."""
    settings, member, model = CASES[case]
    simulated = simulate_elements(np.random.default_rng(n_crawls), n_crawls, 1500, **settings)
    seen, row, elements = np.unique(simulated.seen, axis=0, return_inverse=True, return_counts=True)
    counts = CaptureHistoryCounts(seen, elements)
    if member is not None:
        courses = population_courses(fit_member(counts, member).classes)
    else:
        courses = mixture_courses(fit_model(model, observe(counts), seed=1).mixture, n_crawls)
    states = element_states(courses, seen)
    one_each = np.ones(len(simulated.seen))
    eligible = states.eligible[row.ravel()]
    assert auc(eligible, simulated.alive) > (0.96 if "dormancy" in case or n_crawls == 8 else 0.99)
    assert score(eligible, simulated.alive, one_each).reliability.calibration_error < 0.025
    if "core" in (member or model):
        core = states.core[row.ravel()]
        assert auc(core, simulated.core) > (0.94 if n_crawls == 8 else 0.97)
        assert score(core, simulated.core, one_each).reliability.calibration_error < (0.03 if n_crawls == 8 else 0.02)
