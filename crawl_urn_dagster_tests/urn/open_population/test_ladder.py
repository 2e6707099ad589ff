"""Tests of `urn.open_population.ladder`."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.open_population.ladder import climb, first_last_inflation
from crawl_urn_dagster.urn.open_population.members import MEMBERS

KAPPA_MIDWAY = 0.4 / (0.4 + 0.6 * 2**0.5)


def _is_adequate(fit):
    return True


@pytest.mark.parametrize(
    ("settings", "model", "kappa"),
    [
        pytest.param({"logit_sd": 0.3}, "core_shell", 0.4, id="coverage_noise"),
        pytest.param({"kappa": 0.0, "shells": ((1.0, 0.9, 0.5),)}, "homogeneous", 0.0, id="no_core"),
        pytest.param({"kappa": 0.3, "shells": ((0.5, 0.97, 0.8), (0.5, 0.85, 0.35))}, "core_two_shells", 0.3, id="two"),
        pytest.param({"core_miss": 0.1}, "core_missed", 0.4, id="core_missed"),
        pytest.param({"growth": 0.03, "logit_sd": 0.3}, "core_shell_growing", 0.4, id="growth_noise"),
        # The shell doubles in number from the first crawl to the last.
        pytest.param({"growth": 2 ** (1 / 11) - 1, "core_grows": False}, "core_shell_growing", KAPPA_MIDWAY, id="up"),
    ],
)  # fmt: skip
def test_selected_member_and_interval_of_kappa_hold_the_truth(simulate, settings, model, kappa):
    ladder = climb(simulate(1, **settings), _is_adequate)
    assert ladder.is_adequate
    assert ladder.selected.model == model
    assert ladder.selected.converged
    interval = ladder.selected.intervals["kappa"]
    assert interval.low <= kappa <= interval.high
    assert interval.high - interval.low < 0.13


def test_growth_and_completeness_of_a_growing_population(simulate):
    fit = climb(simulate(2, growth=0.03, T=10), _is_adequate).selected
    low, high = fit.intervals["growth"]
    assert low <= np.log(1.03) <= high
    low, high = fit.intervals["population"]
    assert low <= np.mean(2_000 * 1.03 ** np.arange(10)) <= high
    # All of the core, and of the shell what was captured so far.
    known = fit.courses["known_eligible_by_crawl"].estimate
    assert (known < fit.courses["population_by_crawl"].estimate).all()
    assert fit.estimates["completeness"] == pytest.approx(0.76 / (0.4 + 0.6 * 0.85), abs=0.02)


def test_later_stages_are_fitted_only_if_no_member_is_adequate(simulate):
    counts = simulate(3, N=300, T=5)
    assert {fit.stage for fit in climb(counts, _is_adequate).candidates} == {1}
    second = climb(counts, lambda fit: fit.stage == 2)
    assert {fit.stage for fit in second.candidates} == {1, 2}
    assert second.selected.stage == 2
    third = climb(counts, lambda fit: False)
    assert [fit.model for fit in third.candidates] == [member.name for member in MEMBERS]
    assert not third.is_adequate
    assert third.delta_qaicc(third.selected) <= 10


def test_long_lived_class_has_a_loss_and_no_kappa(simulate):
    shells = ((0.5, 0.99, 0.95), (0.5, 0.8, 0.5))
    counts = simulate(4, kappa=0.0, shells=shells, T=14, growth=0.0)
    ladder = climb(counts, lambda fit: fit.model == "long_lived")
    fit = next(fit for fit in ladder.candidates if fit.model == "long_lived")
    assert "kappa" not in fit.estimates
    low, high = fit.intervals["loss"]
    assert low <= 0.01 <= high
    low, high = fit.intervals["miss"]
    assert low <= 0.05 <= high
    low, high = fit.intervals["long_lived_fraction"]
    assert low <= 0.5 <= high


def test_inflation_is_near_1_for_the_true_model_only(simulate):
    counts = simulate(5, core_miss=0.1)
    fits = {fit.model: fit for fit in climb(counts, _is_adequate).candidates}
    # X² / df with about 50 degrees of freedom has a standard deviation of 0.2.
    assert first_last_inflation(fits["core_missed"], counts) < 1.6
    assert first_last_inflation(fits["homogeneous"], counts) > 5


def test_inflated_intervals_are_wider_by_the_square_root(simulate):
    fit = climb(simulate(6, growth=0.03), _is_adequate).selected
    wide = fit.inflated(4.0)
    low, high = fit.intervals["growth"]
    assert np.diff(wide.intervals["growth"]) == pytest.approx(2 * (high - low))
    assert fit.inflated(0.5).intervals == fit.intervals
    name = "population_by_crawl"
    widths = [np.log(one.courses[name].high / one.courses[name].low) for one in (fit, wide)]
    np.testing.assert_allclose(widths[1], 2 * widths[0])


def test_inflated_limit_of_a_core_that_is_not_needed_is_wider(simulate):
    fit = climb(simulate(7, kappa=0.0, shells=((1.0, 0.9, 0.5),)), _is_adequate).selected
    assert fit.estimates["kappa"] == 0.0
    assert fit.inflated(4.0).intervals["kappa"] == pytest.approx((0.0, 2 * fit.intervals["kappa"].high))


def _random_counts(seed):
    """Return a list of an arbitrary pattern: random, with silent crawls, with a core, all alike, or with lives."""
    rng = np.random.default_rng(seed)
    n_crawls, rows = int(rng.integers(1, 6)), int(np.exp(rng.uniform(0, 5)))
    seen = rng.random((rows, n_crawls)) < rng.random()
    pattern = seed % 5
    if pattern == 1:
        seen &= rng.random(n_crawls) < 0.5
    elif pattern == 2:
        seen |= (rng.random(rows) < 0.5)[:, None]
    elif pattern == 3:
        seen[:] = seen[:1]
    elif pattern == 4:
        born, dies, crawl = rng.integers(0, n_crawls, rows), rng.integers(0, n_crawls, rows), np.arange(n_crawls)
        seen &= (crawl >= born[:, None]) & (crawl <= dies[:, None])
    return CaptureHistoryCounts(seen, rng.integers(0, 5, rows))


@pytest.mark.parametrize("seed", range(10))
def test_any_list_gives_finite_fits_or_none(seed):
    counts = _random_counts(seed)
    with np.errstate(all="raise", under="ignore"):
        ladder = climb(counts, lambda fit: False)
    assert (ladder.selected is None) == (not ladder.candidates)
    assert bool(ladder.candidates) == (counts.n_crawls >= 3 and counts.distinct_elements > 0)
    for fit in ladder.candidates:
        assert np.isfinite(fit.log_likelihood)
        for name, value in fit.estimates.items():
            low, high = fit.intervals[name]
            assert low <= value <= high


def test_fluctuating_member_follows_changing_numbers():
    """The core fraction is the mean over the crawls whose numbers and coverage are identified."""
    rng, n_crawls, core, shell = np.random.default_rng(8), 12, 2_000, 3_000
    is_core, alive = np.arange(core + shell) < core, np.ones(core + shell, dtype=bool)
    seen = np.zeros((core + shell, n_crawls), dtype=bool)
    kappa = []
    for crawl in range(n_crawls):
        kappa.append(core / alive.sum())
        seen[:, crawl] = alive & (is_core | (rng.random(alive.size) < 0.6))
        alive &= is_core | (rng.random(alive.size) < rng.choice([0.55, 0.85]))
        born = rng.poisson(0.3 * shell)
        is_core, alive = np.append(is_core, np.zeros(born, dtype=bool)), np.append(alive, np.ones(born, dtype=bool))
        seen = np.vstack([seen, np.zeros((born, n_crawls), dtype=bool)])
    counts = CaptureHistoryCounts(*np.unique(seen[seen.any(axis=1)], axis=0, return_counts=True))
    fit = climb(counts, lambda fit: fit.stage == 2).selected
    assert fit.model == "core_shell_fluctuating"
    low, high = fit.intervals["kappa"]
    assert low <= np.mean(kappa[1:-1]) <= high
