"""Fits of long collections, which use a part of the pairs, have the intervals of fits to all of them."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import Counts, bootstrap_joint, fit_joint, simulate
from crawl_urn_dagster.urn.data import thinning


def _counts(n, *, core, shell, alpha, coverage):
    logits = np.log(coverage / (1 - coverage)) + 0.3 * np.random.default_rng(7).standard_normal(n)
    times = np.arange(float(n))
    histories = simulate(times=times, core=core, shell=shell, alpha=alpha, coverage=1 / (1 + np.exp(-logits)), seed=3)
    counts = histories.counts()
    intersections = counts.intersections().astype(float)
    return Counts(times, intersections.diagonal(), intersections, counts.unions().astype(float))


@pytest.mark.parametrize(
    "urn",
    [
        {"core": 400, "shell": 600, "alpha": 0.95, "coverage": 0.6},
        {"core": 500, "shell": 2_000, "alpha": 0.98, "coverage": 0.3},
    ],
)
def test_intervals_move_by_less_than_a_tenth_of_their_width(urn, monkeypatch):
    counts = _counts(80, **urn)
    complete = bootstrap_joint(fit_joint(counts, model="core_shell", clock="crawl"), seed=1, n_replicates=40)
    monkeypatch.setattr(thinning, "LONGEST_COMPLETE", 40)
    thinned = bootstrap_joint(fit_joint(counts, model="core_shell", clock="crawl"), seed=1, n_replicates=40)
    assert len(thinned.fit.details.points.i) < 0.65 * len(complete.fit.details.points.i)
    expected = complete.intervals()
    for name, found in thinned.intervals().items():
        width = expected[name].high - expected[name].low
        assert max(abs(found.low - expected[name].low), abs(found.high - expected[name].high)) < 0.1 * width, name
