"""Tests of `urn.open_population.quantities` and `quantity_intervals`."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.open_population.classes import PopulationClass
from crawl_urn_dagster.urn.open_population.members import MEMBERS_BY_NAME, layout_of
from crawl_urn_dagster.urn.open_population.quantities import kappa_over_newborn_coverage, quantities
from crawl_urn_dagster.urn.open_population.quantity_intervals import estimate_quantities, upper_limit_of_share
from crawl_urn_dagster.urn.results.result import Interval

LAYOUT = layout_of(MEMBERS_BY_NAME["core_shell"], 6)
ALPHA, COVERAGE, CORE, SHELL = 0.8, 0.6, 40.0, 60.0


def _parameters():
    values = np.empty(LAYOUT.n_parameters)
    values[LAYOUT.index["log_hazard"]] = np.log(-np.log(ALPHA))
    values[LAYOUT.index["logit_coverage"]] = np.log(COVERAGE / (1 - COVERAGE))
    values[LAYOUT.index["log_eligible_1"]] = np.log(SHELL)
    values[LAYOUT.index["stable_eligible"]] = np.log(CORE)
    return values


def test_quantities_of_a_constant_core_shell_population():
    designs = LAYOUT.designs()
    found = quantities(designs, [design.course(_parameters()) for design in designs], slice(0, 6))
    crawl = CORE + COVERAGE * SHELL
    # The crawls so far, from the infinite past on, have captured this many elements.
    known = CORE + SHELL * COVERAGE / (1 - ALPHA * (1 - COVERAGE))
    assert found["kappa"] == pytest.approx(CORE / (CORE + SHELL), rel=1e-12)
    assert found["core_share"] == pytest.approx(CORE / crawl, rel=1e-12)
    assert found["completeness"] == pytest.approx(crawl / known, rel=1e-12)
    assert found["survival"] == pytest.approx(ALPHA, rel=1e-12)
    assert found["gone"] == pytest.approx((1 - ALPHA) * COVERAGE * SHELL / crawl, rel=1e-12)
    assert found["coverage"] == pytest.approx(COVERAGE, rel=1e-12)
    assert found["growth"] == pytest.approx(0.0, abs=1e-14)
    assert found["really_new"] == pytest.approx(1 - ALPHA * (1 - COVERAGE), rel=1e-12)
    np.testing.assert_allclose(found["known_eligible_by_crawl"], known, rtol=1e-12)


def test_intervals_follow_from_the_covariance():
    covariance = np.zeros((LAYOUT.n_parameters, LAYOUT.n_parameters))
    core = LAYOUT.index["stable_eligible"].start
    covariance[core, core] = 0.01
    found = estimate_quantities(LAYOUT.designs(), _parameters(), covariance, slice(0, 6))
    # The log odds of κ are the logarithm of core / shell.
    low, high = found.intervals["kappa"]
    half = 1.959964 * 0.1
    assert np.log(low / (1 - low)) == pytest.approx(np.log(CORE / SHELL) - half, rel=1e-6)
    assert np.log(high / (1 - high)) == pytest.approx(np.log(CORE / SHELL) + half, rel=1e-6)
    assert found.intervals["survival"] == pytest.approx((ALPHA, ALPHA), rel=1e-12)


def test_limit_of_an_unneeded_core_is_at_least_three_elements():
    assert upper_limit_of_share(0.0, 0.0, 600.0) == pytest.approx(3 / 600)
    assert upper_limit_of_share(0.1, 0.02, 600.0) == pytest.approx(0.1 + 1.644854 * 0.02, rel=1e-6)


def test_newborn_coverage_as_fitted_leaves_kappa_as_it_is():
    shell = PopulationClass("shell", np.full(4, 60.0), np.full(3, 0.75), np.full(4, 0.6))
    inner = Interval(0.38, 0.42)
    assert kappa_over_newborn_coverage(inner, [shell], lowest=1, highest=1) == pytest.approx(inner)
    outer = kappa_over_newborn_coverage(inner, [shell])
    # Survival 0.75 and r = 1/3: the shell has 1 / (1 - 0.25 * 2/3) = 1.2 times as many elements.
    assert outer.low == pytest.approx(0.38 / (0.38 + 0.62 * 1.2))
    assert outer.high == pytest.approx(0.42 / (0.42 + 0.58 / 1.125))
