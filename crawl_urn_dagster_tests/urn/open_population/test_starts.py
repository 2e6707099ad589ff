"""Tests of `urn.open_population.starts`."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.open_population.members import MEMBERS, MEMBERS_BY_NAME, layout_of
from crawl_urn_dagster.urn.open_population.starts import Found, sizes_of, starts_of


@pytest.fixture(scope="module")
def counts():
    """Elements with random histories, and some in all crawls."""
    seen = np.random.default_rng(2).random((300, 6)) < 0.5
    seen[:40] = True
    return CaptureHistoryCounts(*np.unique(seen, axis=0, return_counts=True))


def test_every_member_has_starts_near_its_bounds(counts):
    sizes, found = sizes_of(counts), {}
    for member in MEMBERS:
        layout = layout_of(member, counts.n_crawls)
        starts = starts_of(layout, sizes, found)
        low, high = layout.bounds(sizes.captured)
        for start in starts:
            assert start.shape == (layout.n_parameters,)
            assert (start >= low - 1).all()
            assert (start <= high + 1).all()
        found[member.name] = Found(layout, starts[0], np.zeros((0, 0)))


def test_core_starts_below_the_elements_in_all_crawls(counts):
    sizes = sizes_of(counts)
    layout = layout_of(MEMBERS_BY_NAME["core_shell"], counts.n_crawls)
    (start,) = starts_of(layout, sizes, {})
    core = start[layout.index["stable_eligible"]] * sizes.captured
    assert core == pytest.approx(0.8 * sizes.in_all)
