"""Test the likelihood of capture histories: cell probabilities by brute force, and its gradient."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logit

from crawl_urn_dagster.urn import CaptureHistoryCounts, count_cells
from crawl_urn_dagster.urn.fits import histories, histories_likelihood
from crawl_urn_dagster.urn.fits.histories_likelihood import (
    Histories,
    log_likelihood,
    log_shell_expectations,
    log_ways,
    score,
)
from crawl_urn_dagster_tests.urn.fits.simulated_shells import two_shells


def test_expected_cells_equal_brute_force():
    """The brute force is a sum over all births, deaths and histories of an element."""
    n, alpha, gaps = 5, 0.7, np.array([1, 0.4, 2, 0.6])
    coverage, survival = np.array([0.6, 0.3, 0.8, 0.1, 0.5]), alpha**gaps
    seen = np.array(list(product([False, True], repeat=n)))[1:]
    expected = np.zeros(len(seen))
    for birth in range(n):
        for death in range(birth, n):
            life = (1 - survival[birth - 1] if birth else 1) * np.prod(survival[birth:death])
            life *= 1 - survival[death] if death < n - 1 else 1
            chance = np.where(seen, coverage, 1 - coverage)[:, birth : death + 1].prod(axis=1)
            outside = seen[:, :birth].any(axis=1) | seen[:, death + 1 :].any(axis=1)
            expected += life * np.where(outside, 0, chance)
    cells = count_cells(CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64)))
    by_cell = np.zeros(len(cells.elements))
    index = {cell: k for k, cell in enumerate(zip(cells.first, cells.last, cells.captures, strict=True))}
    for history, count in zip(seen, expected, strict=True):
        captured = np.flatnonzero(history)
        by_cell[index[captured[0], captured[-1], captured.size]] += count
    data = Histories(cells, gaps, np.ones(n))
    found, captured = log_shell_expectations(data, logit([alpha]), np.zeros(1), logit(coverage))
    np.testing.assert_allclose(np.exp(found[0] + log_ways(cells, logit(coverage))), by_cell)
    assert captured == pytest.approx([expected.sum()])


@pytest.mark.parametrize("model", ["homogeneous", "core_shell", "core_two_shells"])
def test_gradient_is_the_slope_of_the_likelihood(model):
    counts, _ = two_shells(2_000, 10, 1)
    sizes = np.diagonal(counts.intersections()).astype(float)
    data = Histories(count_cells(counts), np.ones(9), sizes)
    point, offsets = logit(np.array(histories._STARTS[model][0])), np.linspace(-0.3, 0.3, 10)
    gradient = score(data, point, offsets).gradient
    for index, step in enumerate(1e-5 * np.eye(point.size)):
        ends = [log_likelihood(data, point + sign * step, offsets) for sign in (-1, 1)]
        rise = np.diff(ends)[0]
        assert gradient[index] == pytest.approx(rise / 2e-5, rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("n_parameters", [2, 3, 6])
@pytest.mark.parametrize("spread", [5, 40, 800])
def test_score_is_finite_and_bounded_at_any_logits(n_parameters, spread):
    """No logit changes the logarithm of a probability faster than each death, capture or miss in its product does."""
    n, (counts, _), rng = 10, two_shells(200, 10, 1), np.random.default_rng(n_parameters)
    data = Histories(count_cells(counts), np.ones(n - 1), np.diagonal(counts.intersections()).astype(float))
    for point in rng.normal(0, spread, (50, n_parameters)):
        found = score(data, point, rng.normal(0, 1, n))
        slopes = np.sqrt(np.diagonal(found.information) / data.cells.elements.sum())
        assert np.isfinite(found.value)
        assert (slopes < 4 * n).all()


@pytest.mark.parametrize("n_parameters", [1, 4, 5, 8])
def test_classes_of_an_unknown_number_of_parameters_raise(n_parameters):
    with pytest.raises(ValueError, match=f"there are {n_parameters} parameters; expected one of 2, 3, 6"):
        histories_likelihood.classes_of(np.zeros(n_parameters))
