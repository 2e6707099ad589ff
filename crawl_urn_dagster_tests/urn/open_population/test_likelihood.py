"""Tests of `urn.open_population.likelihood`."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.open_population.class_terms import class_terms
from crawl_urn_dagster.urn.open_population.classes import PopulationClass
from crawl_urn_dagster.urn.open_population.likelihood import MixtureLikelihood, history_rows
from crawl_urn_dagster.urn.open_population.members import MEMBERS, MEMBERS_BY_NAME, layout_of

N_CRAWLS = 5


def _cases():
    for member in MEMBERS:
        signed = member.trend != "constant" and member.stable in {"core", "core_missed"}
        for sign in (1, -1) if signed else (1,):
            yield pytest.param(layout_of(member, N_CRAWLS, sign), id=f"{member.name}{sign:+d}")


def _parameters(layout):
    rng = np.random.default_rng(7)
    values = rng.normal(0, 0.5, layout.n_parameters)
    for name, at in layout.index.items():
        if "eligible" in name:
            values[at] = rng.uniform(2, 4)
        elif "growth" in name:
            values[at] *= 0.1
        elif name == "log_hazard":
            values[at] -= 1.5
    if "stable_growth" in layout.index and layout.member.stable != "long_lived":
        values[layout.index["stable_growth"]] = 0.03 * layout.sign
    return values


def _all_histories():
    histories = [history for history in itertools.product([False, True], repeat=N_CRAWLS) if any(history)]
    elements = np.random.default_rng(1).integers(1, 40, len(histories))
    return CaptureHistoryCounts(np.array(histories), elements)


def _classes(layout, parameters):
    result = []
    for design in layout.designs():
        course = design.course(parameters)
        terms = class_terms(course, design.survival, is_always_captured=design.is_always_captured)
        result.append(PopulationClass(design.name, np.exp(course.log_eligible), terms.survival, 1 - terms.missed))
    return result


def _expected(one, history):
    """Return the expected elements of a class with a history, factor by factor."""
    captures = np.flatnonzero(history)
    first, last = captures[0], captures[-1]
    inside = slice(first, last + 1)
    chances = np.where(history, one.coverage, 1 - one.coverage)[inside].prod() * one.survival[first:last].prod()
    return one.eligible[first] * one.never_before[first] * chances * one.never_again[last]


@pytest.mark.parametrize("layout", list(_cases()))
def test_value_equals_the_product_of_the_chances_of_each_history(layout):
    counts, parameters = _all_histories(), _parameters(layout)
    classes = _classes(layout, parameters)
    expected = np.array([sum(_expected(one, history) for one in classes) for history in counts.seen])
    likelihood = MixtureLikelihood(layout.designs(), history_rows(counts, is_mixed=True))
    assert likelihood.value(parameters) == pytest.approx(counts.elements @ np.log(expected) - expected.sum(), rel=1e-12)


@pytest.mark.parametrize("layout", list(_cases()))
def test_derivatives_equal_numerical_differences(layout):
    likelihood = MixtureLikelihood(layout.designs(), history_rows(_all_histories(), is_mixed=True))
    parameters = _parameters(layout)
    steps = 1e-5 * np.eye(parameters.size)
    gradient, hessian = likelihood.information(parameters)
    slopes = [(likelihood.value(parameters + s) - likelihood.value(parameters - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(gradient, slopes, atol=1e-7 * np.abs(gradient).max())
    curves = [
        (likelihood.information(parameters + s)[0] - likelihood.information(parameters - s)[0]) / 2e-5 for s in steps
    ]
    np.testing.assert_allclose(hessian, curves, atol=1e-6 * np.abs(hessian).max())


@pytest.mark.parametrize("name", ["homogeneous", "core_shell", "core_shell_growing"])
def test_sums_of_one_shell_give_the_same_value_and_derivatives(name):
    layout = layout_of(MEMBERS_BY_NAME[name], N_CRAWLS)
    counts, parameters = _all_histories(), _parameters(layout)
    mixed, single = (
        MixtureLikelihood(layout.designs(), history_rows(counts, is_mixed=mixed)) for mixed in (True, False)
    )
    assert single.value(parameters) == pytest.approx(mixed.value(parameters), rel=1e-13)
    for one, other in zip(single.information(parameters), mixed.information(parameters), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_value_of_two_crawls_equals_poisson_probabilities():
    """Histories 10, 01 and 11 of a homogeneous population are independent Poisson counts."""
    counts = CaptureHistoryCounts(np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), np.array([30, 20, 25]))
    layout = layout_of(MEMBERS[0], 2)
    eligible, survival, coverage = 100.0, 0.7, np.array([0.6, 0.5])
    parameters = np.concatenate([[np.log(-np.log(survival))], np.log(coverage / (1 - coverage)), [np.log(eligible)]])
    both = eligible * survival * coverage.prod()
    expected = np.array([eligible * coverage[0] - both, eligible * coverage[1] - both, both])
    probability = counts.elements @ np.log(expected) - expected.sum() - gammaln(counts.elements + 1).sum()
    value = MixtureLikelihood(layout.designs(), history_rows(counts, is_mixed=True)).value(parameters)
    assert value - gammaln(counts.elements + 1).sum() == pytest.approx(probability, rel=1e-12)
