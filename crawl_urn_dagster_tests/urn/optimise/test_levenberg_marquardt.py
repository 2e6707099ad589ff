"""The batched search: against scipy's, with bounds, held parameters and weights."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from crawl_urn_dagster.urn.optimise.levenberg_marquardt import minimise_all

X = np.linspace(0, 3, 40)
BOUNDS = np.zeros(3), np.ones(3)
ALL_FREE = np.ones(3, dtype=bool)


def curves(parameters, rows):
    floor, height, decay = (parameters[..., k, None] for k in range(3))
    return floor + height * decay**X


def problems(n, noise):
    rng = np.random.default_rng(2)
    truth = rng.uniform(0.1, 0.9, (n, 3))
    return truth, curves(truth, np.arange(n)) + noise * rng.standard_normal((n, len(X)))


def search(observed, weights=None, free=ALL_FREE, start=0.5):
    n = len(observed)
    return minimise_all(
        curves,
        observed,
        np.ones_like(observed) if weights is None else weights,
        start=np.broadcast_to(start, (n, 3)).astype(float),
        free=np.broadcast_to(free, (n, 3)),
        bounds=BOUNDS,
    )


def test_noiseless_problems_are_solved_exactly():
    truth, observed = problems(30, noise=0.0)
    found = search(observed)
    assert found.settled.all()
    assert found.parameters == pytest.approx(truth, abs=1e-6)
    assert found.cost == pytest.approx(0, abs=1e-15)


def test_noisy_weighted_problems_match_scipy():
    _, observed = problems(8, noise=0.05)
    weights = np.random.default_rng(3).uniform(0.1, 3, observed.shape)
    found = search(observed, weights)
    for row, (values, weight) in enumerate(zip(observed, weights, strict=True)):
        other = least_squares(
            lambda p, values=values, weight=weight: np.sqrt(weight) * (curves(p, 0) - values),
            np.full(3, 0.5),
            bounds=BOUNDS,
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        assert found.cost[row] <= 2 * other.cost * (1 + 1e-8)
        assert found.parameters[row] == pytest.approx(other.x, abs=1e-4)


def test_optimum_outside_the_bounds_is_at_the_bound():
    observed = curves(np.array([[-0.3, 1.2, 0.5]]), np.array([0]))
    found = search(observed)
    assert found.settled[0]
    assert found.parameters[0, 0] == 0
    for step in ([0.01, 0, 0], [0, 0.01, 0], [0, -0.01, 0], [0, 0, 0.01], [0, 0, -0.01]):
        moved = found.parameters + np.array(step)
        if (moved <= 1).all():
            assert ((curves(moved, 0) - observed) ** 2).sum() > found.cost[0]


def test_held_parameter_keeps_its_value():
    truth, observed = problems(5, noise=0.0)
    found = search(observed, free=np.array([False, True, True]), start=np.array([0.25, 0.5, 0.5]))
    assert (found.parameters[:, 0] == 0.25).all()
    assert found.settled.all()
    elsewhere = abs(truth[:, 0] - 0.25) > 0.05
    assert elsewhere.any()
    assert (found.cost[elsewhere] > 1e-6).all()


def test_search_along_a_ridge_settles():
    """If only the product of two parameters matters, steps along the ridge stay long and gain nothing."""
    observed = 0.3 * X + 0.05 * np.random.default_rng(4).standard_normal((3, len(X)))
    found = minimise_all(
        lambda parameters, rows: (parameters[..., 0] * parameters[..., 1])[..., None] * X,
        observed,
        np.ones_like(observed),
        start=np.full((3, 2), 0.5),
        free=np.ones((3, 2), dtype=bool),
        bounds=(np.zeros(2), np.ones(2)),
    )
    assert found.settled.all()
    assert found.parameters.prod(axis=1) == pytest.approx(observed @ X / (X @ X), rel=1e-4)


def test_problems_are_independent():
    _, observed = problems(6, noise=0.05)
    together, alone = search(observed), search(observed[[4]])
    assert together.parameters[4] == pytest.approx(alone.parameters[0], abs=1e-9)


def test_only_the_best_start_is_searched_to_its_end():
    rng = np.random.default_rng(3)
    observed = curves(np.array([0.2, 0.6, 0.9]), 0) + 0.02 * rng.standard_normal(len(X))
    starts = rng.uniform(0, 1, (20, 3))

    def search_all(**options):
        evaluated = []

        def recording_curves(parameters, rows):
            evaluated.append(len(rows))
            return curves(parameters, rows)

        every = np.tile(observed, (len(starts), 1))
        free = np.ones(starts.shape, dtype=bool)
        weights = np.ones_like(every)
        found = minimise_all(recording_curves, every, weights, start=starts, free=free, bounds=BOUNDS, **options)
        return found, sum(evaluated)

    (full, n_full), (short, n_short) = search_all(), search_all(only_best=True)
    assert short.parameters[short.cost.argmin()] == pytest.approx(full.parameters[full.cost.argmin()], rel=1e-6)
    assert short.settled[short.cost.argmin()]
    assert n_short < n_full
    assert not short.settled.all()
