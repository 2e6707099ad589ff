"""Tests of `urn.open_population.classes`."""

import itertools

import numpy as np
import pytest

from crawl_urn_dagster.urn.open_population.classes import PopulationClass


@pytest.fixture
def shell() -> PopulationClass:
    """Return a shell that grows while its coverage and survival vary."""
    return PopulationClass(
        "shell", np.array([100.0, 110.0, 125.0, 120.0]), np.array([0.9, 0.8, 0.7]), np.array([0.6, 0.5, 0.9, 0.4])
    )


def test_never_again_sums_the_histories_without_a_later_capture(shell: PopulationClass) -> None:
    alive_for = np.cumprod(shell.survival)
    dies_at_once = 1 - shell.survival[0]
    total = dies_at_once
    for last in itertools.count(1):
        dies = 1 - shell.survival[last] if last < 3 else 1.0
        total += alive_for[last - 1] * np.prod(1 - shell.coverage[1 : last + 1]) * dies
        if last == 3:
            break
    assert shell.never_again[0] == pytest.approx(total, rel=1e-14)


def test_never_before_counts_elements_not_captured_earlier(shell: PopulationClass) -> None:
    """The eligible that were never captured are the survivors that were missed and all newcomers."""
    unseen = shell.eligible[0]
    for t in range(1, 4):
        survivors = shell.survival[t - 1] * unseen * (1 - shell.coverage[t - 1])
        newcomers = shell.eligible[t] - shell.survival[t - 1] * shell.eligible[t - 1]
        unseen = survivors + newcomers
        assert shell.eligible[t] * shell.never_before[t] == pytest.approx(unseen, rel=1e-14)
