"""Test the selection within the family, and the quantities and projections that are reported of it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts
from crawl_urn_dagster.urn.state_space.classes import Mixture, StateSpaceClass
from crawl_urn_dagster.urn.state_space.core_test import CoreVerdict
from crawl_urn_dagster.urn.state_space.family import agrees_with_population, fit_family, projections, quantities
from crawl_urn_dagster.urn.state_space.fitting import fit_model
from crawl_urn_dagster.urn.state_space.intervals import Withholding, analyse, derive_quantities
from crawl_urn_dagster.urn.state_space.likelihood import observe
from crawl_urn_dagster.urn.state_space.population import Population
from crawl_urn_dagster_tests.urn.state_space.simulated import simulate_classes

CORE_MARKOV = Mixture(
    (StateSpaceClass.core(), StateSpaceClass.markov("m", survival=0.95, after_capture=0.85, after_miss=0.3)), (0.5, 0.5)
)
MARKOV = Mixture(CORE_MARKOV.classes[1:], (1.0,))


@pytest.fixture(scope="module")
def us_gov_family(us_gov_hosts):
    return fit_family(us_gov_hosts, seed=1)


def by_name(family):
    return {(q.name, q.class_name, q.horizon): q for q in quantities(family, seed=1)}


def test_real_list_has_three_markov_classes_and_no_core(us_gov_family):
    assert us_gov_family.selected.model == "markov_3"
    assert us_gov_family.core.verdict is CoreVerdict.NO_CORE
    assert us_gov_family.growth.p_value > 0.05


def test_projections_of_real_list_match_reference(us_gov_family, us_gov_hosts):
    found = projections(us_gov_family.candidates["markov_2"].mixture, us_gov_hosts)
    assert found == pytest.approx((0.028, 0.019), abs=6e-4)
    assert projections(us_gov_family.selected.mixture, us_gov_hosts) == pytest.approx((0.016, 0.011), abs=6e-4)


def test_both_curves_of_real_list_beat_a_core_and_shell(us_gov_family, us_gov_hosts):
    # The joint fit of both curves of the list; see benchmarks.real_lists.
    shell = StateSpaceClass.shell(survival=0.9261, coverage=0.7419)
    core_shell = Mixture((StateSpaceClass.core(), shell), (0.7717, 0.2283))
    found, of_core_shell = (projections(one, us_gov_hosts) for one in (us_gov_family.selected.mixture, core_shell))
    assert of_core_shell == pytest.approx((0.0208, 0.1188), rel=0.01)
    assert found.containment < of_core_shell.containment
    assert found.discovery < of_core_shell.discovery


def test_core_is_accepted_where_there_is_one():
    family = fit_family(simulate_classes(CORE_MARKOV, 2_000, 24, seed=1), seed=1)
    assert family.core.verdict is CoreVerdict.ACCEPTED
    assert family.selected.model == "core_markov_1"
    share = by_name(family)["share", "core", None]
    assert share.low < 0.5 < share.high
    assert family.core.resolution == 1 / 24


@pytest.mark.parametrize(
    ("core", "verdict"),
    [
        (StateSpaceClass("sure", 0.99, 1.0, 0.0, 1.0), CoreVerdict.DIES),
        (StateSpaceClass("permanent", 1.0, 1.0, 0.02, 0.5), CoreVerdict.IS_MISSED),
    ],
)
def test_core_that_dies_or_is_missed_is_not_accepted(core, verdict):
    urn = Mixture((core, CORE_MARKOV.classes[1]), (0.5, 0.5))
    family = fit_family(simulate_classes(urn, 2_000, 24, seed=1), seed=1)
    assert family.core.verdict in {verdict, CoreVerdict.NO_CORE}
    assert "core" not in family.selected.layout.kinds


def test_one_class_is_recovered_with_growth():
    urn = Mixture(MARKOV.classes, (1.0,), 1.02)
    family = fit_family(simulate_classes(urn, 2_000, 20, seed=1), seed=1)
    assert family.selected.model == "markov_1"
    found = by_name(family)
    assert found["growth", None, None].low < 1.02 < found["growth", None, None].high
    assert found["survival", "all", None].low < 0.95 < found["survival", "all", None].high
    assert family.is_stationary


def test_short_list_has_one_class(us_gov_hosts):
    family = fit_family(CaptureHistoryCounts(us_gov_hosts.seen[:, :8], us_gov_hosts.elements), seed=1)
    assert family.selected.model == "markov_1"


def test_growth_against_the_trend_is_not_stationary(us_gov_family):
    analysis, growth = us_gov_family.analysis, us_gov_family.growth
    assert agrees_with_population(growth, analysis)
    shrinking = analysis.population._replace(eligible=8_000 * 0.97 ** np.arange(39.0))
    assert not agrees_with_population(growth, analysis._replace(population=shrinking))


def test_extrapolations_are_not_reported_if_not_stationary(us_gov_family):
    found = by_name(replace(us_gov_family, is_stationary=False))
    assert found["unique_rate", None, None].withheld is Withholding.NOT_STATIONARY
    assert found["completeness", None, None].withheld is None


def test_unique_rate_of_a_growing_list_holds_the_truth():
    urn = Mixture(MARKOV.classes, (1.0,), 1.02)
    rate = by_name(fit_family(simulate_classes(urn, 2_000, 20, seed=2), seed=1))["unique_rate", None, None]
    assert rate.low < urn.unique_rate() < rate.high
    assert MARKOV.unique_rate() < rate.low


@pytest.mark.parametrize(
    "name", ["lemmy_instances_weekly", "onion_sites_monthly"], ids=["shrinking", "with a mass loss"]
)
def test_completeness_and_survival_hold_the_known_truth(presence_list, shared_data, name):
    truth = json.loads((shared_data / "truth" / f"truth_{name}.json").read_text())
    found = by_name(fit_family(presence_list(f"truth/{name}"), seed=1))
    # The crawl that failed entirely is not in the list.
    coverage, margin = truth["coverage"], len(truth["coverage"]) // 10
    completeness = found["completeness", None, None]
    mean = np.mean([value for value in coverage[margin:-margin] if value])
    assert completeness.low < mean < completeness.high
    survival = found["survival", None, None]
    assert survival.low < truth["mean_survival_inner"] < survival.high


def test_population_follows_a_shrinking_list(presence_list, shared_data):
    truth = json.loads((shared_data / "truth" / "truth_lemmy_instances_weekly.json").read_text())
    population = fit_family(presence_list("truth/lemmy_instances_weekly"), seed=1).population
    inner = slice(4, -4)
    np.testing.assert_allclose(population.eligible[inner], truth["alive"][inner], rtol=0.05)
    low, high = population.limits()
    is_inside = ((low <= truth["alive"]) & (truth["alive"] <= high))[inner]
    assert is_inside.mean() > 0.9


def test_too_few_crawls_or_captures_give_none():
    assert fit_family(CaptureHistoryCounts(np.ones((2, 2), dtype=bool), np.ones(2, dtype=int)), seed=1) is None
    assert fit_family(CaptureHistoryCounts(np.zeros((2, 5), dtype=bool), np.ones(2, dtype=int)), seed=1) is None


@pytest.mark.parametrize("kind", range(5))
def test_random_lists_give_finite_populations(kind):
    rng = np.random.default_rng(kind)
    n, crawls = int(rng.integers(1, 60)), int(rng.integers(3, 12))
    seen = rng.random((n, crawls)) < rng.beta(0.4, 0.4)
    if kind == 1:
        seen = np.sort(seen, axis=1)
    if kind == 2:
        seen[:, rng.random(crawls) < 0.3] = False
    gaps = rng.gamma(2, 0.5, crawls - 1) if kind > 2 else None
    family = fit_family(
        CaptureHistoryCounts(seen, np.ones(n, dtype=int)), gaps=None if gaps is None else gaps / gaps.mean(), seed=1
    )
    assert np.isfinite(family.population.covariance).all()
    assert all(q.low <= q.estimate <= q.high or np.isnan(q.estimate) for q in quantities(family, seed=1))


def test_stable_share_does_not_depend_on_the_window(us_gov_hosts):
    """The share by any of the windows is inside the intervals of all others."""
    shares = []
    for crawls in (8, 13, 26, 39):
        window = CaptureHistoryCounts(us_gov_hosts.seen[:, :crawls], us_gov_hosts.elements)
        data = observe(window)
        analysis = analyse(fit_model("markov_2", data, seed=1), data, window)
        found = derive_quantities(analysis, data, seed=1)
        shares.append(next(q for q in found if (q.name, q.class_name) == ("share", "stable")))
    estimates = [share.estimate for share in shares]
    assert max(share.low for share in shares) < min(estimates)
    assert max(estimates) < min(share.high for share in shares)
    # Fewer than 12 crawls do not identify two classes.
    assert [share.withheld for share in shares] == [Withholding.TOO_FEW_CRAWLS, None, None, None]


def test_limits_of_the_population_hold_what_is_certain():
    eligible, certain = np.array([100.0, 50.0, 50.0]), np.array([90.0, 50.0, 49.0])
    population = Population(eligible, certain, np.zeros(3), certain, np.ones(2), np.diag([25.0, 0.0, 100.0]), 0.0)
    low, high = population.limits()
    assert (low >= certain).all()
    assert (low <= eligible).all()
    assert low[0] == pytest.approx(90)
    # Five of ten elements are one standard error, and two crawls more allow for 4.3 of them.
    assert high[0] == pytest.approx(90 + 10 * np.exp(4.3027 * np.sqrt(np.log(1.25))), rel=1e-4)
    assert high[1] == pytest.approx(50)
    assert 50 < high[2] < 49 + 1e5
