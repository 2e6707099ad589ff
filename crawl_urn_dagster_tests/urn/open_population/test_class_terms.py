"""Tests of `urn.open_population.class_terms`."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.open_population.class_terms import CourseParameters, adjoint, class_terms


@pytest.fixture
def course():
    """A class whose numbers, survival and coverage all vary."""
    rng = np.random.default_rng(3)
    return CourseParameters(5 + 0.1 * rng.standard_normal(6), -1 + 0.3 * rng.standard_normal(5), rng.standard_normal(6))


def test_survival_without_growth_is_that_of_the_hazard(course):
    constant = course._replace(log_eligible=np.full(6, 5.0))
    terms = class_terms(constant, "hazard", is_always_captured=False)
    np.testing.assert_allclose(terms.survival, np.exp(-np.exp(course.log_hazard)), rtol=1e-14)


@pytest.mark.parametrize("growth", [-0.6, -0.01, 0.0, 0.01, 0.6])
def test_births_and_survival_stay_possible_for_any_growth(course, growth):
    growing = course._replace(log_eligible=growth * np.arange(6))
    terms = class_terms(growing, "hazard", is_always_captured=False)
    births = np.exp(growing.log_eligible[1:]) - terms.survival * np.exp(growing.log_eligible[:-1])
    assert (births >= 0).all()
    assert (terms.survival <= 1).all()


@pytest.mark.parametrize(("survival", "growth"), [("growing", 0.05), ("shrinking", -0.05)])
def test_class_without_hazard_has_only_entries_or_only_losses(course, survival, growth):
    moving = course._replace(log_eligible=5 + growth * np.arange(6))
    terms = class_terms(moving, survival, is_always_captured=True)
    np.testing.assert_allclose(terms.survival, np.exp(min(growth, 0.0)), rtol=1e-12)
    entries = np.exp(moving.log_eligible[1:]) - np.exp(moving.log_eligible[:-1])
    np.testing.assert_allclose(terms.unseen[1:], np.maximum(entries, 0.0), atol=1e-10)


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize(("survival", "growth"), [("hazard", 0.0), ("growing", 0.05), ("shrinking", -0.05)])
def test_adjoint_equals_numerical_differences(course, survival, growth, always):
    rng = np.random.default_rng(4)
    sums = tuple(rng.uniform(0, 5, 6) for _ in range(3))
    trend = course.log_eligible if survival == "hazard" else 5 + growth * np.arange(6)
    if always:  # the last captures of a growing class and the first ones of a shrinking class are certain
        sums = (sums[0], sums[1] * (np.arange(6) == 0) if growth <= 0 else sums[1], sums[2] * (np.arange(6) == 5))
        sums = sums if growth >= 0 else (sums[0], sums[1], rng.uniform(0, 5, 6))
    if always and survival == "hazard":
        sums = tuple(rng.uniform(0, 5, 6) for _ in range(3))
    course = course._replace(log_eligible=trend)

    def value(flat):
        at = CourseParameters(flat[:6], flat[6:11], flat[11:])
        terms = class_terms(at, survival, is_always_captured=always)
        coverage = 0.0 if always else sums[0] @ at.logit_coverage
        return coverage + sums[1] @ terms.first + sums[2] @ terms.last - terms.total

    flat = np.concatenate(course)
    numerical = [(value(flat + step) - value(flat - step)) / 2e-6 for step in 1e-6 * np.eye(17)]
    terms = class_terms(course, survival, is_always_captured=always)
    exact = np.concatenate(adjoint(course, terms, sums, is_always_captured=always))
    np.testing.assert_allclose(exact, numerical, rtol=1e-5, atol=1e-5)
