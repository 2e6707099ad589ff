"""Test the growth by first captures on simulated histories."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.efforts import estimate_efforts
from crawl_urn_dagster.urn.state_space.fitting import fit_model
from crawl_urn_dagster.urn.state_space.growth import fit_growth
from crawl_urn_dagster.urn.state_space.likelihood import Likelihood, observe
from crawl_urn_dagster_tests.urn.state_space.simulated import simulate_classes

MARKOV = (StateSpaceClass.markov("all", survival=0.95, after_capture=0.85, after_miss=0.3),)


def growth_of(histories):
    data = observe(histories)
    fit = fit_model("markov_1", data, seed=1)
    return fit_growth(fit, data, histories, estimate_efforts(fit, Likelihood(data, fit.layout), histories))


@pytest.mark.parametrize("growth", [0.98, 1.02])
def test_growth_is_recovered_and_significant(growth):
    found = growth_of(simulate_classes(Mixture(MARKOV, (1.0,), growth), 2_000, 17, seed=3))
    assert found.low < growth < found.high
    assert found.p_value < 1e-3


def test_growth_of_constant_population_is_not_significant():
    found = growth_of(simulate_classes(Mixture(MARKOV, (1.0,)), 2_000, 17, seed=4))
    assert found.p_value > 0.05
    assert found.low < 1 < found.high


def test_efforts_widen_the_interval_of_growth():
    efforts = np.random.default_rng(1).normal(0, 0.5, 17)
    varying = growth_of(simulate_classes(Mixture(MARKOV, (1.0,)), 2_000, 17, seed=5, efforts=efforts))
    constant = growth_of(simulate_classes(Mixture(MARKOV, (1.0,)), 2_000, 17, seed=5))
    assert varying.log_se > 1.5 * constant.log_se
    assert varying.low < 1 < varying.high
