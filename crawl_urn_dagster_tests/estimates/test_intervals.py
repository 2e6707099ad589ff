from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates import intervals
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.fits.data_points import containment_points
from crawl_urn_dagster.estimates.fits.definition_builders import mean_curves_fit
from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.estimates.intervals import with_intervals
from crawl_urn_dagster.urn import CountingError, ReasonCode, Status, fit_containment_core_shell
from crawl_urn_dagster_tests.estimates.observed import EXACT, collection_data, observables, together, urn

ESTIMATES = ("kappa", "core_share", "alpha", "coverage")
KIND = ("containment", "core_shell", "exact", "crawl")


def simulated(crawls=16, seed=3, error=EXACT, **parts):
    counts = urn(crawls, core=8000, shell=12_000, alpha=0.75, coverage=0.6, seed=seed)
    return collection_data(counts, error, **parts)


@pytest.fixture(scope="module")
def fitted():
    data = simulated()
    return with_intervals(fit_primary(data), data)


def test_every_estimate_has_an_interval_around_it(fitted):
    for fit in fitted.fits:
        for name, estimate in fit.estimates.items():
            if fit.status != Status.AT_BOUND and 0 <= estimate <= 1:
                interval = fit.intervals[name]
                assert interval.low < interval.high, (fit.kind, name)
                assert interval.low - 0.05 < estimate < interval.high + 0.05


def test_joint_fit_has_the_narrowest_interval_of_kappa(fitted):
    width = {
        (fit.kind.projection, fit.kind.clock): fit.intervals["kappa"].high - fit.intervals["kappa"].low
        for fit in fitted.fits
        if fit.kind.model == "core_shell" and fit.kind.form == "exact"
    }
    for clock in ("crawl", "year"):
        assert width["joint", clock] < width["containment", clock] < width["discovery_curve", clock]


def test_replicates_are_kept_by_kind_of_fit(fitted):
    assert set(fitted.bootstraps) == {fit.kind for fit in fitted.fits if fit.kind.projection == "joint"}
    assert set(fitted.refits) == {fit.kind for fit in fitted.fits if fit.intervals}
    assert {len(values) for one in fitted.refits.values() for values in one.replicated.values()} == {200}


def test_interval_of_another_level_is_narrower(fitted):
    for fit in fitted.fits:
        half = fitted.intervals(fit, 0.5)
        for name in ESTIMATES:
            if name in fit.intervals and fit.status == Status.OK:
                assert half[name].high - half[name].low < fit.intervals[name].high - fit.intervals[name].low


@pytest.mark.slow
def test_interval_of_a_curve_fit_is_the_spread_of_refits(fitted):
    """The linear response against refits of simulated collections: half widths within the error of 40 of them."""
    (intervals,) = (fit.intervals for fit in fitted.fits if fit.kind == KIND)
    values = []
    for seed in range(40):
        points = containment_points(simulated(seed=100 + seed), "crawl")
        values.append(fit_containment_core_shell(*points, form="exact", clock="crawl").alpha)
    half = (intervals["alpha"].high - intervals["alpha"].low) / 2
    # Relative standard error of a standard deviation of 40: 0.11; Student's t for 15 degrees of freedom: 2.13.
    assert half == pytest.approx(2.13 * np.std(values, ddof=1), rel=0.4)


def test_violated_fits_have_no_intervals():
    data = simulated(crawls=6)
    fits = [replace(fit, status=Status.MODEL_VIOLATION) for fit in fit_primary(data)]
    assert all(not fit.intervals for fit in with_intervals(fits, data).fits)


@pytest.mark.parametrize(("pairs", "windows"), [(True, False), (False, True)])
def test_one_observable_suffices_for_a_joint_fit(pairs, windows):
    data = simulated(crawls=12, pairs=pairs, windows=windows, histories=False)
    joint = [fit for fit in with_intervals(fit_primary(data), data).fits if fit.kind.projection == "joint"]
    assert len(joint) == 4
    assert all("alpha" in fit.intervals for fit in joint if fit.status == Status.OK)


def test_permanent_core_passes_the_core_test(fitted):
    joint = [fit for fit in fitted.fits if (fit.kind.projection, fit.kind.model) == ("joint", "core_shell")]
    assert {fit.reasons for fit in joint} == {()}


@pytest.mark.parametrize(("alpha", "is_refuted"), [(1.0, False), (0.97, True)])
def test_core_that_loses_elements_fails_the_core_test(alpha, is_refuted):
    """The coverage of the core is 1 in both cases; in one of them 3 % of it leave with every crawl."""
    core = urn(16, shell=8000, alpha=alpha, coverage=1.0, seed=1)
    data = collection_data(together(core, urn(16, shell=12_000, alpha=0.6, coverage=0.6, seed=2)))
    (fit,) = with_intervals(fit_primary(data)[:1], data).fits
    assert (fit.kind.projection, fit.kind.model) == ("joint", "core_shell")
    assert (ReasonCode.CORE_NOT_PERMANENT in fit.reason_codes) == is_refuted


@pytest.mark.slow
def test_sampling_widens_the_intervals():
    widths = []
    for error in (EXACT, CountingError(one_in=16)):
        data = CollectionData(*observables(urn(16, core=8000, shell=12_000, alpha=0.75, coverage=0.6, seed=3)), error)
        joint = with_intervals(fit_primary(data)[:1], data).fits[0]
        widths.append(joint.intervals["kappa"].high - joint.intervals["kappa"].low)
    assert widths[1] > 2 * widths[0]


def test_fit_with_an_uninformative_interval_is_not_ok():
    data = collection_data(urn(5, core=2, shell=12, alpha=0.75, coverage=0.5, seed=1), histories=False)
    fits = [fit for fit in with_intervals(fit_primary(data), data).fits if fit.intervals]
    uninformative = [
        fit for fit in fits if any(fit.intervals[name].is_uninformative for name in ESTIMATES if name in fit.intervals)
    ]
    assert uninformative
    assert Status.OK not in {fit.status for fit in uninformative}
    flagged = [fit for fit in fits if ReasonCode.UNINFORMATIVE_INTERVAL in fit.reason_codes]
    assert [fit.kind for fit in flagged] == [fit.kind for fit in uninformative]


def test_joint_fit_needs_the_size_of_every_crawl():
    data = simulated(crawls=6, windows=False, histories=False)
    unknown = data.crawls.assign(elements=pd.array([None, *data.crawls["elements"][1:]], dtype="Int64"))
    data = CollectionData(unknown, data.containment, None)
    assert data.counts("crawl") is None
    joint = [fit for fit in fit_primary(data) if fit.kind.projection == "joint"]
    assert {fit.status for fit in joint} == {Status.TOO_FEW_POINTS}
    assert all(fit.reason_codes == (ReasonCode.NO_COUNTS,) for fit in joint)


def test_curves_that_do_not_identify_a_core_are_not_ok():
    parts = [urn(10, core=40, shell=200, alpha=0.9, coverage=0.6, seed=0)]
    parts.append(urn(10, shell=200, alpha=0.95, coverage=0.3, seed=50))
    data = collection_data(together(*parts), histories=False)
    [fit] = mean_curves_fit("beta_shell").fit(data, "crawl", None)
    assert any(interval.is_uninformative for interval in fit.intervals.values())
    assert fit.status == Status.NOT_IDENTIFIED
    assert ReasonCode.UNINFORMATIVE_INTERVAL in fit.reason_codes


def test_clocks_with_equal_gaps_share_replicates_and_keep_their_intervals(monkeypatch):
    # Months have unequal lengths, so the times are set to equal gaps.
    data = simulated(10)
    data = replace(data, crawls=data.crawls.assign(years=np.arange(10) / 52), _counts={})
    fits = fit_primary(data)
    shared = with_intervals(fits, data, n_replicates=20)
    one, other = (shared.bootstrap_on(clock).replicates.counts for clock in ("crawl", "year"))
    assert one.sizes is other.sizes
    monkeypatch.setattr(intervals, "_have_equal_bootstraps", lambda _: False)
    for fit, apart in zip(shared.fits, with_intervals(fits, data, n_replicates=20).fits, strict=True):
        for name, interval in apart.intervals.items():
            np.testing.assert_allclose(fit.intervals[name], interval, rtol=1e-6, atol=1e-9)
