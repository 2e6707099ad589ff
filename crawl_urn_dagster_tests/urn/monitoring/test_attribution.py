"""Attribution: which parameter changed, when and by how much."""

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts, CoreShellUrn, Counts, fit_joint, simulate
from crawl_urn_dagster.urn.monitoring.attribution import _expected_after, attribute, date_change
from crawl_urn_dagster.urn.monitoring.control_charts import FALSE_ALARMS, HORIZON, draw_baseline, monitor
from crawl_urn_dagster_tests.benchmarks.drift_error_rates import (
    ALPHA,
    CHANGE_AFTER,
    COVERAGE,
    KAPPA,
    NONE,
    SCENARIOS,
    URN,
    simulated,
)
from crawl_urn_dagster_tests.urn.monitoring.scenarios import CELL, SEED, monitored


def attributed(changes):
    return {name for name, change in changes.items() if change.attributed}


def test_no_change_gives_no_alarm_and_no_attribution(baseline):
    monitoring = monitored(baseline, NONE)
    assert not monitoring.alarmed.any()
    assert (monitoring.p_values > FALSE_ALARMS).all()
    changes, _, urn_since = attribute(monitoring, 0, HORIZON - 1)
    assert attributed(changes) == set()
    assert urn_since is None
    for change in changes.values():
        assert change.difference.low < 0 < change.difference.high


@pytest.mark.parametrize(
    ("scenario", "named", "value"),
    [
        ("κ 0.40 → 0.38", "kappa", 0.38),
        ("κ 0.40 → 0.35", "kappa", 0.35),
        ("c 0.60 → 0.75", "coverage", 0.75),
        ("α 0.75 → 0.65", "alpha", 0.65),
    ],
)
def test_change_is_detected_dated_and_attributed(baseline, scenario, named, value):
    monitoring = monitored(baseline, scenario)
    alarms = np.flatnonzero(monitoring.alarmed.any(axis=0))
    assert alarms[0] >= CHANGE_AFTER
    last = HORIZON - 1
    since = date_change(monitoring, last)
    assert abs(since - CHANGE_AFTER) <= (1 if named == "coverage" else 0)
    changes, _, urn_since = attribute(monitoring, since, last)
    assert attributed(changes) - {"core_share"} == {named}
    # The core share of a crawl also falls when crawls grow, which is not a drift of the core.
    assert named == "kappa" or not changes["core_share"].attributed
    assert urn_since is None
    low, high = changes[named].value_interval
    half = (high - low) / 2
    # A mean of 18 logits of sd 0.25 deviates by more than three of its standard errors in 1 of 400 seeds.
    error = 3 * 0.25 / np.sqrt(HORIZON - CHANGE_AFTER) * value * (1 - value) if named == "coverage" else 2 * half
    assert changes[named].value == pytest.approx(value, abs=error)


def test_growth_of_the_core_is_attributed(baseline):
    grown = SCENARIOS[NONE]._replace(kappa=0.45)
    monitoring = monitor(baseline, simulated(CELL, grown, SEED))
    last = HORIZON - 1
    assert monitoring.alarmed[0, last]
    changes = attribute(monitoring, CHANGE_AFTER, last).changes
    assert changes["kappa"].attributed
    assert changes["kappa"].difference.low > 0


def counts_by_sites(n_crawls, change, sites):
    """Return the counts of equal urns, each of a site that stays, goes or comes."""
    times = np.arange(float(n_crawls))
    crawled = {"stays": times >= 0, "goes": times < change, "comes": times >= change}
    seen, elements = [], []
    for seed, site in enumerate(sites):
        urn = simulate(times=times, core=1500, shell=4500, alpha=ALPHA, coverage=COVERAGE, seed=seed).counts()
        seen.append(urn.seen & crawled[site])
        elements.append(urn.elements)
    counts = CaptureHistoryCounts(np.concatenate(seen), np.concatenate(elements))
    overlaps = counts.intersections().astype(float)
    unions = np.triu(counts.unions()).astype(float)
    return Counts(times, np.diagonal(overlaps).copy(), overlaps, unions)


@pytest.mark.parametrize(
    ("sites", "grew"), [(("stays", "stays", "goes", "comes"), 1), (("stays", "stays", "goes"), 2 / 3)]
)
def test_change_of_scope_is_a_different_urn(sites, grew):
    change, last = 18, 5
    counts = counts_by_sites(change + last + 1, change, sites)
    reference = fit_joint(counts.window(0, change), model="core_shell", clock="crawl")
    monitoring = monitor(draw_baseline(reference, counts, seed=1, n_replicates=100), counts)
    assert monitoring.alarmed[:, last].any()
    assert date_change(monitoring, last) == 0
    found = attribute(monitoring, 0, last)
    assert attributed(found.changes) == set()
    assert found.changes["kappa"].value_interval.low < 0.25 < found.changes["kappa"].value_interval.high
    assert found.urn_since == pytest.approx(grew * found.urn_before, rel=0.05)
    # Three crawls are too few to be fitted alone, so the urn is assumed to be the same.
    assert attribute(monitoring, 0, 2).urn_since is None


def test_expected_overlap_without_a_change_is_the_urn():
    """The overlap before, across and after an empty change is K + S c² α^lag."""
    times = np.arange(12.0)
    t, i = (index.ravel() for index in np.indices((12, 12)))
    t, i = t[(i < t) & (t >= 6)], i[(i < t) & (t >= 6)]
    core, size = KAPPA * URN, CoreShellUrn(KAPPA, ALPHA, COVERAGE)
    crawl = core + (URN - core) * COVERAGE
    before = tuple(np.array([value]) for value in (core, float(URN), ALPHA))
    expected = _expected_after(np.array([KAPPA, ALPHA]), before, np.full(12, crawl), times, pairs=(t, i), since=6)
    np.testing.assert_allclose(expected, crawl * size.containment(times[t] - times[i]), rtol=1e-12)
