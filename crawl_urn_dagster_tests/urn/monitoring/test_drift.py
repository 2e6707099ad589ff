import numpy as np
import pytest
from scipy.special import logit

from crawl_urn_dagster.urn import CaptureHistoryCounts, CoreShellUrn, Counts, fit_joint, simulate
from crawl_urn_dagster.urn.monitoring.attribution import _expected_after, attribute, date_change
from crawl_urn_dagster.urn.monitoring.control_charts import (
    CHARTS,
    FALSE_ALARMS,
    HORIZON,
    draw_baseline,
    monitor,
    to_parameter_scale,
)
from crawl_urn_dagster_tests.benchmarks.drift_error_rates import (
    ALPHA,
    CHANGE_AFTER,
    COVERAGE,
    KAPPA,
    NONE,
    SCENARIOS,
    URN,
    Cell,
    simulated,
)

CELL = Cell(24, 0.0)
SEED = 3


@pytest.fixture(scope="module")
def baseline():
    counts = simulated(CELL, SCENARIOS[NONE], SEED)
    reference = fit_joint(counts.window(0, CELL.window), model="core_shell", clock="crawl")
    return draw_baseline(reference, counts, seed=1, n_replicates=150)


def monitored(baseline, scenario):
    return monitor(baseline, simulated(CELL, SCENARIOS[scenario], SEED))


def moved(changes):
    return {name for name, change in changes.items() if change.attributed}


def test_the_limit_is_passed_by_as_many_replicates_as_it_says(baseline):
    n = len(baseline.largest)
    assert FALSE_ALARMS - 2 / n < np.mean(baseline.largest > baseline.limit) <= FALSE_ALARMS
    assert baseline.mean.shape == baseline.sd.shape == (len(CHARTS), HORIZON)


def test_without_a_change_there_is_no_alarm_and_nothing_is_named(baseline):
    monitoring = monitored(baseline, NONE)
    assert not monitoring.alarmed.any()
    assert (monitoring.p_values > FALSE_ALARMS).all()
    changes, _, urn_since = attribute(monitoring, 0, HORIZON - 1)
    assert moved(changes) == set()
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
def test_a_change_is_found_dated_and_named(baseline, scenario, named, value):
    monitoring = monitored(baseline, scenario)
    alarms = np.flatnonzero(monitoring.alarmed.any(axis=0))
    assert alarms[0] >= CHANGE_AFTER
    last = HORIZON - 1
    since = date_change(monitoring, last)
    assert abs(since - CHANGE_AFTER) <= (1 if named == "coverage" else 0)
    changes = attribute(monitoring, since, last).changes
    assert moved(changes) - {"core_share"} == {named}
    # The core's share of a crawl falls also when crawls grow; that is no drift of the core.
    assert named == "kappa" or not changes["core_share"].attributed
    assert attribute(monitoring, since, last).urn_since is None
    low, high = changes[named].value_interval
    half = (high - low) / 2
    # A mean of 18 logits of sd 0.25 is off by more than three of its standard errors in 1 of 400 seeds.
    error = 3 * 0.25 / np.sqrt(HORIZON - CHANGE_AFTER) * value * (1 - value) if named == "coverage" else 2 * half
    assert changes[named].value == pytest.approx(value, abs=error)


def test_a_core_that_grows_is_found_too(baseline):
    grown = SCENARIOS[NONE]._replace(kappa=0.45)
    monitoring = monitor(baseline, simulated(CELL, grown, SEED))
    last = HORIZON - 1
    assert monitoring.alarmed[0, last]
    changes = attribute(monitoring, CHANGE_AFTER, last).changes
    assert changes["kappa"].attributed
    assert changes["kappa"].difference.low > 0


def of_sites(n_crawls, change, sites):
    """Crawls of urns that are all alike: sites that stay, go and come."""
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
def test_a_change_of_scope_is_another_urn_and_no_change_of_its_parameters(sites, grew):
    change, last = 18, 5
    counts = of_sites(change + last + 1, change, sites)
    reference = fit_joint(counts.window(0, change), model="core_shell", clock="crawl")
    monitoring = monitor(draw_baseline(reference, counts, seed=1, n_replicates=100), counts)
    assert monitoring.alarmed[:, last].any()
    assert date_change(monitoring, last) == 0
    found = attribute(monitoring, 0, last)
    assert moved(found.changes) == set()
    assert found.changes["kappa"].value_interval.low < 0.25 < found.changes["kappa"].value_interval.high
    assert found.urn_since == pytest.approx(grew * found.urn_before, rel=0.05)
    # Of three crawls alone nothing is said: as far as they tell it is the old urn, changed.
    assert attribute(monitoring, 0, 2).urn_since is None


def test_each_crawl_says_the_truth_by_itself(baseline):
    monitoring = monitored(baseline, NONE)
    core, survival, coverage = (
        to_parameter_scale(monitoring, chart, monitoring.by_crawl[row]) for row, chart in enumerate(CHARTS)
    )
    # Elements of the shell that are in both of two crawls are a sample, of lags 1 to 23.
    assert np.abs(core - KAPPA).max() < 0.01
    assert np.isnan(survival[0])
    assert np.nanmean(survival) == pytest.approx(ALPHA, abs=0.01)
    noise = logit(coverage) - logit(COVERAGE)
    assert noise.std() == pytest.approx(0.25, abs=3 * 0.25 / np.sqrt(2 * len(noise)))


def test_equal_seeds_give_equal_limits(baseline):
    counts = simulated(CELL, SCENARIOS[NONE], SEED)
    again = draw_baseline(baseline.bootstrap.fit, counts, seed=1, n_replicates=150)
    np.testing.assert_array_equal(again.largest, baseline.largest)


def test_without_a_change_what_is_expected_is_the_urn():
    """Overlap before, across and after a change that is none: K + S c² α^lag."""
    times = np.arange(12.0)
    t, i = (index.ravel() for index in np.indices((12, 12)))
    t, i = t[(i < t) & (t >= 6)], i[(i < t) & (t >= 6)]
    core, size = KAPPA * URN, CoreShellUrn(KAPPA, ALPHA, COVERAGE)
    crawl = core + (URN - core) * COVERAGE
    before = tuple(np.array([value]) for value in (core, float(URN), ALPHA))
    expected = _expected_after(np.array([KAPPA, ALPHA]), before, np.full(12, crawl), times, pairs=(t, i), since=6)
    np.testing.assert_allclose(expected, crawl * size.containment(times[t] - times[i]), rtol=1e-12)


def test_unions_of_neighbours_stand_for_their_overlap(baseline):
    counts = simulated(CELL, SCENARIOS["κ 0.40 → 0.35"], SEED)
    unions_only = Counts(counts.times, counts.sizes, np.full_like(counts.intersections, np.nan), counts.unions)
    reference = fit_joint(unions_only.window(0, CELL.window), model="core_shell", clock="crawl")
    monitoring = monitor(draw_baseline(reference, unions_only, seed=1, n_replicates=60), unions_only)
    assert monitoring.alarmed[:, CHANGE_AFTER:].any()
    np.testing.assert_allclose(monitoring.by_crawl[2], monitored(baseline, "κ 0.40 → 0.35").by_crawl[2], atol=0.1)


def test_there_must_be_crawls_to_monitor_and_no_more_than_the_baseline_has(baseline):
    counts = simulated(CELL, SCENARIOS[NONE], SEED)
    with pytest.raises(ValueError, match="there are 24 crawls; expected more than the 24 of the reference"):
        monitor(baseline, counts.window(0, CELL.window))
