"""Breaks of scope: a replaced part is found at its gap, and turnover without a break is not."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.goodness_of_fit.scope_break import (
    expected_runs,
    find_mass_change,
    find_scope_break,
    observed_runs,
    runs_of_cells,
)
from crawl_urn_dagster_tests.urn.goodness_of_fit.populations import EMPTY, as_counts, group, presence


def classes_of(n_crawls, core=1_600):
    return [group("core", core, 1, 1, n_crawls), group("shell", 1_200, 0.75, 0.6, n_crawls)]


def replaced(n_crawls, crawl, share, rng):
    """Return presences of a collection of which a share was replaced before a crawl."""
    both = [presence(classes_of(n_crawls), rng) for _ in range(2)]
    leaving, entering = (seen[rng.random(len(seen)) < share].copy() for seen in both)
    leaving[:, crawl:], entering[:, :crawl] = False, False
    staying = both[0][rng.random(len(both[0])) >= share]
    seen = np.concatenate([staying, leaving, entering])
    return seen[seen.any(axis=1)]


@pytest.mark.parametrize(("crawl", "side"), [(4, slice(4, 12)), (6, slice(6, 12)), (9, slice(0, 9))])
def test_a_replaced_part_is_found_with_the_longer_side(crawl, side):
    seen = replaced(12, crawl, 0.1, np.random.default_rng(1))
    found = find_scope_break(observed_runs(as_counts(seen)), expected_runs(classes_of(12)))
    assert found.is_tested
    assert found.crawl == crawl
    assert found.longer_side == side
    # One tenth of the core, with the few long-lived elements of the shell.
    assert found.left[crawl - 1] == pytest.approx(160, abs=4 * np.sqrt(160) + 10)
    assert found.entered[crawl - 1] == pytest.approx(160, abs=4 * np.sqrt(160) + 10)


@pytest.mark.parametrize("reverse", [False, True])
def test_part_of_the_core_that_stays_away_is_a_break(reverse):
    """From crawl 8 on, 160 elements of the core die and are missed like elements of the shell."""
    rng = np.random.default_rng(2)
    seen = presence(classes_of(14), rng)
    core = np.flatnonzero(seen.all(axis=1))[:160]
    alive = (rng.random((160, 6)) < 0.75).cumprod(axis=1).astype(bool)
    seen[core, 8:] = alive & (rng.random((160, 6)) < 0.6)
    seen = seen[:, ::-1] if reverse else seen
    found = find_scope_break(observed_runs(as_counts(seen)), expected_runs(classes_of(14, core=1_440)))
    assert found.crawl == (6 if reverse else 8)
    assert found.longer_side == (slice(6, 14) if reverse else slice(0, 8))


def test_turnover_alone_gives_no_break():
    expected = expected_runs(classes_of(12))
    for seed in range(20):
        found = find_scope_break(
            observed_runs(as_counts(presence(classes_of(12), np.random.default_rng(seed)))), expected
        )
        assert found.crawl is None
        assert found.longer_side == slice(0, 12)


def test_excess_at_the_outer_gaps_gives_no_break():
    observed = np.zeros((6, 6, 7))
    observed[0, 5, 6], observed[0, 0, 1], observed[5, 5, 1] = 500, 400, 300
    assert find_scope_break(runs_of_cells(observed), runs_of_cells(np.zeros_like(observed))).crawl is None


@pytest.mark.parametrize("n_crawls", [1, 2, 3, 4])
def test_short_collections_are_not_tested(n_crawls):
    cells = np.zeros((n_crawls, n_crawls, n_crawls + 1))
    found = find_scope_break(runs_of_cells(cells), runs_of_cells(cells))
    assert not found.is_tested
    assert found.crawl is None


def test_empty_collection_gives_no_break():
    assert find_scope_break(runs_of_cells(np.zeros((0, 0, 1))), runs_of_cells(np.zeros((0, 0, 1)))).crawl is None
    assert find_scope_break(observed_runs(EMPTY), expected_runs(classes_of(3))).crawl is None


def with_absences(n_crawls, share, crawl, rng, n_elements=2_000):
    """Return presences in runs: elements are absent for a while, die, and a share leaves permanently before a crawl."""
    present, alive = np.ones(n_elements, bool), np.ones(n_elements, bool)
    leaving = rng.random(n_elements) < share
    seen = np.empty((n_elements, n_crawls), bool)
    for t in range(n_crawls):
        alive &= (rng.random(n_elements) < 0.98) & ~(leaving & (t >= crawl))
        present = np.where(present, rng.random(n_elements) < 0.95, rng.random(n_elements) < 0.2)
        seen[:, t] = alive & present
    return seen[seen.any(axis=1)]


@pytest.mark.parametrize(("crawl", "reverse"), [(9, False), (20, False), (9, True)])
def test_mass_change_is_found_in_spite_of_absences(crawl, reverse):
    seen = with_absences(30, 0.15, crawl, np.random.default_rng(crawl))
    found = find_mass_change(as_counts(seen[:, ::-1] if reverse else seen))
    assert found.crawl == (30 - crawl if reverse else crawl)
    assert abs(found.share) == pytest.approx(0.15, abs=0.04)
    assert (found.share < 0) == reverse


def test_absences_alone_give_no_mass_change():
    for seed in range(20):
        seen = with_absences(30, 0.0, 15, np.random.default_rng(seed))
        assert find_mass_change(as_counts(seen)).crawl is None


@pytest.mark.parametrize("n_crawls", [1, 5, 14])
def test_mass_change_needs_crawls_on_both_sides(n_crawls):
    seen = with_absences(n_crawls, 0.5, n_crawls // 2, np.random.default_rng(0))
    assert find_mass_change(as_counts(seen)).crawl is None
    assert find_mass_change(EMPTY).crawl is None
