"""Test the estimated efforts of crawls, and what they do to estimates that take the effort for constant."""

import numpy as np
import pytest
from scipy.special import logit

from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.efforts import estimate_efforts
from crawl_urn_dagster.urn.state_space.fitting import fit_model
from crawl_urn_dagster.urn.state_space.likelihood import Likelihood, observe
from crawl_urn_dagster_tests.urn.state_space.simulated import simulate_classes

MARKOV = Mixture((StateSpaceClass.markov("all", survival=0.96, after_capture=0.9, after_miss=0.3),), (1.0,))


def efforts_of(histories, model):
    data = observe(histories)
    fit = fit_model(model, data, seed=1)
    return fit, estimate_efforts(fit, Likelihood(data, fit.layout), histories)


def test_efforts_are_recovered():
    true = np.random.default_rng(1).normal(0, 0.5, 24)
    _, found = efforts_of(simulate_classes(MARKOV, 3_000, 24, seed=1, efforts=true), "markov_1")
    # The first crawl shows no effort, because nothing is known before it.
    assert np.isnan(found.efforts[0])
    assert np.corrcoef(true[1:], found.efforts[1:])[0, 1] > 0.8
    assert found.sd == pytest.approx(true.std(), abs=0.12)


def test_constant_effort_has_little_spread():
    _, found = efforts_of(simulate_classes(MARKOV, 3_000, 24, seed=2), "markov_1")
    assert found.sd < 0.05
    assert found.bias == pytest.approx(0, abs=0.01)


def test_bias_and_spread_by_efforts_match_simulation():
    errors, biases, variances = [], [], []
    truth = logit([0.96, 0.1, 0.3])
    for seed in range(24):
        efforts = np.random.default_rng(seed).normal(0, 0.5, 16)
        fit, found = efforts_of(simulate_classes(MARKOV, 1_000, 16, seed=seed, efforts=efforts), "markov_1")
        errors.append(fit.point - truth)
        biases.append(found.bias)
        variances.append(np.diagonal(fit.covariance + found.sd**2 * found.shift @ found.shift.T))
    errors, se = np.array(errors), np.sqrt(np.mean(variances, axis=0))
    np.testing.assert_allclose(errors.std(axis=0) / se, 1, atol=0.35)
    # The bias of departure is more than two of its standard errors over 24 runs, and is removed.
    left = (errors.mean(axis=0) - np.mean(biases, axis=0)) / (se / np.sqrt(24))
    assert np.abs(left).max() < 2.5
    assert errors.mean(axis=0)[1] / (se[1] / np.sqrt(24)) > 2


def test_effort_of_a_poor_crawl_of_real_list_is_low(us_gov_hosts):
    _, found = efforts_of(us_gov_hosts, "markov_2")
    sizes = np.diagonal(us_gov_hosts.intersections())
    assert np.nanargmin(found.efforts) == np.argmin(sizes)
