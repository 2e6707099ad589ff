"""Data points of whole, partial, sketched and sampled collections."""

from dataclasses import replace

import numpy as np
import pytest

from crawl_urn_dagster.urn import recaptures_from_unions, simulate
from crawl_urn_dagster.urn.curves.data_points import Points
from crawl_urn_dagster.urn.curves.expectations import ElementClass
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.fits.joint import urn_of, urn_slopes
from crawl_urn_dagster.urn.optimise.differences import jacobian
from crawl_urn_dagster_tests.urn.sketching import estimates

CRAWLS = 8
HISTORIES = simulate(times=np.arange(CRAWLS), core=300, shell=900, alpha=0.8, coverage=0.6, seed=1).counts()
SHARED, UNIONS = HISTORIES.intersections().astype(float), HISTORIES.unions().astype(float)
COUNTS = Counts(np.arange(CRAWLS, dtype=float), np.diagonal(SHARED), SHARED, UNIONS)
UNKNOWN = np.full_like(SHARED, np.nan)
SHELL = ElementClass(COUNTS.times, np.full(CRAWLS, 900.0), (COUNTS.sizes - 300) / 900, np.array(0.8))
CORE = np.array(300.0)


def test_whole_collection_gives_overlaps_and_later_recaptures():
    points = Points.from_counts(COUNTS)
    assert (points.kind == "overlap").sum() == 28
    assert (points.kind == "recapture").sum() == 21  # at lag 1 a recapture is the overlap
    assert (points.kind == "window").sum() == 0
    observed = points.count(COUNTS)
    recaptured = points.kind == "recapture"
    assert observed[~recaptured].tolist() == SHARED[points.i, points.j][~recaptured].tolist()
    assert observed[recaptured].tolist() == HISTORIES.recaptures()[points.i, points.j][recaptured].tolist()


def test_windows_of_two_crawls_replace_overlaps():
    counts = replace(COUNTS, intersections=UNKNOWN)
    points = Points.from_counts(counts)
    assert set(points.kind.tolist()) == {"recapture"}
    assert points.count(counts).tolist() == HISTORIES.recaptures()[points.i, points.j].tolist()
    assert len(points.i) == 28
    some = np.where(np.eye(CRAWLS, k=1, dtype=bool) & (np.arange(CRAWLS) > 4), SHARED, np.nan)
    points = Points.from_counts(replace(COUNTS, intersections=some))
    assert ((points.j - points.i == 1) & (points.kind == "recapture")).sum() == 4


def test_published_window_lengths_give_recaptures_or_windows():
    length = np.arange(CRAWLS) - np.arange(CRAWLS)[:, None] + 1
    counts = replace(COUNTS, intersections=UNKNOWN, unions=np.where(np.isin(length, [1, 2, 3, 6]), UNIONS, np.nan))
    points = Points.from_counts(counts)
    kinds = {int(d): set(points.kind[points.j - points.i == d].tolist()) for d in np.unique(points.j - points.i)}
    # Recaptures in three crawls need windows of two crawls and of one; in six crawls, windows of five and four, which
    # are not published.
    assert kinds == {1: {"recapture"}, 2: {"recapture"}, 5: {"window"}}
    recaptures = HISTORIES.recaptures()
    within = [recaptures[i : j + 1, i : j + 1].sum() for i, j in zip(points.i, points.j, strict=True)]
    windows = points.kind == "window"
    assert points.count(counts)[windows].tolist() == np.array(within)[windows].tolist()


def test_recaptures_agree_with_the_inversion_of_unions():
    below = np.tri(CRAWLS, k=-1, dtype=bool)
    counts = replace(COUNTS, unions=np.where(np.eye(CRAWLS, k=3, dtype=bool) | below, np.nan, UNIONS))
    points = Points.from_counts(counts)
    known = np.isfinite(recaptures_from_unions(counts.unions)) & np.triu(np.ones_like(UNIONS, dtype=bool), 2)
    recaptured = points.kind == "recapture"
    assert sorted(zip(points.i[recaptured], points.j[recaptured], strict=True)) == [
        *zip(*np.nonzero(known), strict=True)
    ]


def test_expectations_match_core_and_shell():
    for counts in (COUNTS, replace(COUNTS, intersections=UNKNOWN)):
        points = Points.from_counts(counts)
        unions = CORE + SHELL.unions()
        expected = replace(counts, sizes=CORE + SHELL.size * SHELL.coverage, unions=unions)
        if np.isfinite(counts.intersections).any():
            pairs = np.triu_indices(CRAWLS, 1)
            overlaps = np.zeros_like(SHARED)
            overlaps[pairs] = CORE + SHELL.intersections(*pairs)
            expected = replace(expected, intersections=overlaps)
        assert points.expect(CORE, SHELL) == pytest.approx(points.count(expected), abs=1e-9)


@pytest.mark.parametrize("published", [[], [1, 2, 3, 6], [2, 3, 4, 5, 6, 7, 8]])
def test_slopes_match_differences(published):
    """The urns include a crawl of coverage 1, no core, and a core that exceeds a crawl."""
    length = np.arange(CRAWLS) - np.arange(CRAWLS)[:, None] + 1
    windows = np.where(np.isin(length, [1, *published]), UNIONS, np.nan)
    counts = replace(COUNTS, intersections=UNKNOWN, unions=windows) if published else COUNTS
    parameters = np.array([[0.3, 0.8, 0.6], [0.1, 0.6, 1.0], [0.0, 0.9, 0.7], [0.95, 0.7, 0.4]])
    points, sizes = Points.from_counts(counts), np.broadcast_to(counts.sizes, (4, CRAWLS))
    bounds = np.zeros(3), np.array([1, 1, 1.0])
    by_differences = jacobian(lambda moved: points.expect(*urn_of(counts.times, sizes, moved)), parameters, *bounds)
    found = points.slopes(*urn_slopes(counts.times, sizes, parameters))
    # One-sided differences, used at bounds, have an error of the order of their step.
    assert abs(found - by_differences).max() < 1e-4 * abs(by_differences).max()
    assert (abs(by_differences).max(axis=(1, 2)) > 1).all()


def test_negative_sketched_overlaps_are_kept():
    negative = SHARED.copy()
    negative[0, 7] = -5.0
    counts = replace(COUNTS, intersections=negative, relative_error=0.02)
    points = Points.from_counts(counts)
    assert points.count(counts)[(points.i == 0) & (points.j == 7) & (points.kind == "overlap")] == -5


def test_variance_of_a_sample():
    points = Points.from_counts(COUNTS)
    expected = points.expect(CORE, SHELL)
    assert points.variance(COUNTS, CORE, SHELL) == pytest.approx(expected + 1)
    assert points.variance(replace(COUNTS, one_in=16), CORE, SHELL) == pytest.approx(16 * (expected + 16))


def test_variance_of_sketches_matches_simulated_sketches():
    """A variance estimated from 1,000 sketches of the same histories has a relative error of 0.045."""
    error, draws = 0.1, 1_000
    windows, seen = np.triu_indices(CRAWLS), HISTORIES.seen
    within = [seen[:, i : j + 1].any(axis=1) for i, j in zip(*windows, strict=True)]
    pairs = [seen[:, i] | seen[:, j] for i, j in zip(*windows, strict=True)]
    drawn = estimates(np.random.default_rng(1), HISTORIES.elements, np.array(within + pairs), error=error, draws=draws)
    unions, either = np.zeros((2, draws, CRAWLS, CRAWLS))
    everywhere = (slice(None), *windows)
    unions[everywhere], either[everywhere] = np.split(drawn, 2, axis=1)
    sizes = np.diagonal(either, axis1=1, axis2=2)
    both = sizes[:, :, None] + sizes[:, None, :] - either
    sketched = replace(COUNTS, sizes=sizes, intersections=both, unions=unions, relative_error=error)
    points = Points.from_counts(COUNTS)
    stated = points.variance(replace(COUNTS, relative_error=error), CORE, SHELL) - points.variance(COUNTS, CORE, SHELL)
    # The expected counts differ slightly from those of the histories: 0.1 is added to three standard errors.
    assert points.count(sketched).var(axis=0) == pytest.approx(stated, rel=0.235)


def test_points_of_repeated_counts_are_those_of_the_counts():
    points = Points.from_counts(COUNTS)
    assert (points.count(COUNTS.repeated(5)) == points.count(COUNTS)).all()
