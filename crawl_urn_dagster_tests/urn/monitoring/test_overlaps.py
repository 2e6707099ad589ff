"""Overlaps that monitoring reads, and their variance."""

from dataclasses import replace

import numpy as np
import pytest

from crawl_urn_dagster.urn import Counts, simulate
from crawl_urn_dagster.urn.curves.data_points import Points
from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.monitoring.overlaps import overlap_variance, overlaps

CRAWLS = 6
HISTORIES = simulate(times=np.arange(CRAWLS), core=300, shell=900, alpha=0.8, coverage=0.6, seed=1).counts()
SHARED, UNIONS = HISTORIES.intersections().astype(float), HISTORIES.unions().astype(float)
COUNTS = Counts(np.arange(CRAWLS, dtype=float), np.diagonal(SHARED), np.triu(SHARED), UNIONS)
OFF_DIAGONAL = ~np.eye(CRAWLS, dtype=bool)


def test_overlaps_are_symmetric():
    assert (overlaps(COUNTS) == np.where(OFF_DIAGONAL, SHARED, 0)).all()


def test_unknown_overlaps_of_neighbours_follow_from_unions():
    found = overlaps(replace(COUNTS, intersections=np.full_like(SHARED, np.nan)))
    neighbours = abs(np.subtract.outer(np.arange(CRAWLS), np.arange(CRAWLS))) == 1
    assert (found[neighbours] == SHARED[neighbours]).all()
    assert np.isnan(found[~neighbours & OFF_DIAGONAL]).all()


@pytest.mark.parametrize("one_in", [1.0, 16.0])
def test_variance_of_samples_is_that_of_the_joint_fit(one_in):
    counts = replace(COUNTS, one_in=one_in)
    points = Points.from_counts(counts)
    core, shell = np.array(300.0), ElementClass(COUNTS.times, np.full(6, 900.0), np.full(6, 0.6), np.array(0.8))
    overlap = points.kind == "overlap"
    expected = points.expect(core, shell)[overlap]
    found = overlap_variance(counts, expected, points.i[overlap], points.j[overlap])
    assert found == pytest.approx(points.variance(counts, core, shell)[overlap])


def test_variance_of_sketches_adds_the_error_of_sizes_and_union():
    sketched = replace(COUNTS, relative_error=0.02)
    i, j = np.array([0]), np.array([1])
    added = overlap_variance(sketched, SHARED[i, j], i, j) - overlap_variance(COUNTS, SHARED[i, j], i, j)
    union = COUNTS.sizes[0] + COUNTS.sizes[1] - SHARED[0, 1]
    assert added[0] == pytest.approx(0.02**2 * (COUNTS.sizes[0] ** 2 + COUNTS.sizes[1] ** 2 + union**2))
