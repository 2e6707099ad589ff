"""Test the bounds of really new elements against populations whose elements are followed one age at a time."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.open_population.classes import PopulationClass
from crawl_urn_dagster.urn.open_population.really_new import bound_really_new
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass

ALPHA, COVERAGE, N_CRAWLS = 0.85, 0.3, 12


def shell(name="shell", survival=ALPHA, coverage=COVERAGE, eligible=100.0, growth=1.0):
    sizes = eligible * growth ** np.arange(N_CRAWLS)
    return PopulationClass(name, sizes, np.full(N_CRAWLS - 1, survival), np.full(N_CRAWLS, coverage))


def followed_share(in_first_crawl, growth=1.0):
    """Follow the elements that appear before one crawl until all are captured or gone."""
    new = captured = in_first_crawl
    missed = 1 - in_first_crawl
    for age in range(1, 500):
        missed *= ALPHA
        captured += missed * COVERAGE * growth**-age
        missed *= 1 - COVERAGE
    return new / captured


@pytest.mark.parametrize("growth", [0.98, 1.0, 1.05])
def test_share_is_that_of_elements_followed_from_their_birth(growth):
    found = bound_really_new([shell(growth=growth)])
    assert found.fitted == pytest.approx(followed_share(COVERAGE, growth), rel=1e-9)
    assert found.highest == pytest.approx(followed_share(1.5 * COVERAGE, growth), rel=1e-9)
    urn = Mixture((StateSpaceClass.shell(survival=ALPHA, coverage=COVERAGE),), (1.0,), growth)
    assert urn.really_new() == pytest.approx(found.fitted, rel=1e-9)


def test_share_without_earlier_crawls_is_that_of_the_window():
    """The elements of the first crawl are followed as those that appear later."""
    unseen, new, first = 100.0 * (1 - COVERAGE), 0.0, 0.0
    for _ in range(1, N_CRAWLS):
        births = 100.0 * (1 - ALPHA)
        new += births * COVERAGE
        first += (ALPHA * unseen + births) * COVERAGE
        unseen = (ALPHA * unseen + births) * (1 - COVERAGE)
    urn = Mixture((StateSpaceClass.shell(survival=ALPHA, coverage=COVERAGE),), (1.0,))
    assert urn.really_new_of_window(N_CRAWLS) == pytest.approx(new / first, rel=1e-9)
    # New elements that are covered a third as often are 1/3 / (1 - 0.15 * 2/3) times as many among the first captures.
    assert bound_really_new([shell()]).lowest == pytest.approx(new / first / 3 / 0.9, rel=1e-9)
    assert urn.really_new_of_window(N_CRAWLS, 1 / 3) == pytest.approx(new / first / 3 / 0.9, rel=1e-9)


def test_core_adds_no_first_captures():
    core = PopulationClass("core", np.full(N_CRAWLS, 40.0), np.ones(N_CRAWLS - 1), np.ones(N_CRAWLS))
    assert bound_really_new([core, shell()]) == pytest.approx(bound_really_new([shell()]), rel=1e-12)
    assert bound_really_new([core]) == (0.0, 0.0, 0.0)


def test_share_with_memory_depends_on_the_state_of_new_elements():
    """A simulation of available and dormant elements, of which all, or only the long-run share, start available."""
    urn = Mixture((StateSpaceClass("hidden", 0.9, 0.7, 0.2, 0.3),), (1.0,))
    availability, rng, births = 0.6, np.random.default_rng(1), 200_000
    for ratio in (1.0, np.inf):
        available = rng.random(births) < min(ratio * availability, 1.0)
        captured = available & (rng.random(births) < 0.7)
        new = captured.sum()
        alive = np.ones(births, dtype=bool)
        for _ in range(60):
            alive &= rng.random(births) < 0.9
            moves = rng.random(births)
            available = np.where(available, moves >= 0.2, moves < 0.3)
            captured |= alive & available & (rng.random(births) < 0.7)
        share = new / captured.sum()
        assert urn.really_new(ratio) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / captured.sum()))
