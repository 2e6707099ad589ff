from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.fitting import containment_points, fit_all
from crawl_urn_dagster.estimates.intervals import raw_counts, with_limits
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import ESTIMATES, CaptureHistoryCounts, CountingError, fit_containment_core_shell, simulate
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls

EXACT = CountingError()


def tables(crawls=16, seed=3, coverage=0.6, error=EXACT):
    counts = simulate(
        times=np.arange(float(crawls)), core=8000, shell=12_000, alpha=0.75, coverage=coverage, seed=seed
    ).counts()
    dated = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    frames = tables_from_histories(dated, counts, error)
    return dated, frames["containment"], frames["discovery_curve"]


@pytest.fixture(scope="module")
def fitted():
    observed = tables()
    return with_limits(fit_all(*observed, EXACT), *observed, in_all=8000)


def test_every_estimate_has_limits_about_it(fitted):
    for fit, limits, *_ in fitted:
        at_bound = fit.status == "at_bound"
        for name in ESTIMATES:
            estimate = getattr(fit, name)
            if estimate is not None and not at_bound and 0 <= estimate <= 1:
                assert limits[name].low < limits[name].high, (fit.projection, name)
                assert limits[name].low - 0.05 < estimate < limits[name].high + 0.05


def test_the_joint_fit_knows_kappa_best(fitted):
    width = {
        (fit.projection, fit.clock): limits["kappa"].high - limits["kappa"].low
        for fit, limits, *_ in fitted
        if fit.model == "core_shell" and fit.form == "exact"
    }
    for clock in ("crawl", "year"):
        assert width["joint", clock] < width["containment", clock] < width["discovery_curve", clock]


@pytest.mark.slow
def test_limits_of_a_curve_fit_are_the_spread_of_refits(fitted):
    """The linear response against refits of simulated collections: half widths within the error of 40 of them."""
    (limits,) = (limits for fit, limits, *_ in fitted if (fit.projection, fit.model, fit.form, fit.clock) == KIND)
    values = []
    for seed in range(40):
        _, containment, _ = tables(seed=100 + seed)
        points = containment_points(containment, "crawl")
        values.append(fit_containment_core_shell(*points, form="exact", clock="crawl").alpha)
    half = (limits["alpha"].high - limits["alpha"].low) / 2
    # Relative standard error of a standard deviation of 40: 0.11; Student's t for 15 degrees of freedom: 2.13.
    assert half == pytest.approx(2.13 * np.std(values, ddof=1), rel=0.4)


KIND = ("containment", "core_shell", "exact", "crawl")


def test_what_is_withheld_has_no_limits():
    observed = tables(crawls=6)
    fits = [replace(fit, status="model_violation", reason="so it is") for fit in fit_all(*observed, EXACT)]
    assert all(not one.limits for one in with_limits(fits, *observed))


@pytest.mark.parametrize(("pairs", "windows"), [(True, False), (False, True)])
def test_pairs_or_windows_alone_have_joint_fits_with_limits(pairs, windows):
    crawls, containment, curve = tables(crawls=12)
    observed = (crawls, containment if pairs else None, curve if windows else None)
    joint = [one for one in with_limits(fit_all(*observed, EXACT), *observed) if one.fit.projection == "joint"]
    assert len(joint) == 4
    assert all("alpha" in one.limits for one in joint if one.fit.status == "ok")


def test_a_core_that_is_there_is_not_doubted(fitted):
    assert {fit.reason for fit, *_ in fitted if fit.projection == "joint" and fit.model == "core_shell"} == {None}


@pytest.mark.parametrize(("alpha", "doubted"), [(1.0, False), (0.97, True)])
def test_a_core_that_leaves_is_doubted(alpha, doubted):
    """A core is what stays: its coverage is 1 in both cases, and in one of them 3 % leave with every crawl."""
    core = simulate(times=np.arange(16.0), core=0, shell=8000, alpha=alpha, coverage=1.0, seed=1).counts()
    shell = simulate(times=np.arange(16.0), core=0, shell=12_000, alpha=0.6, coverage=0.6, seed=2).counts()
    counts = CaptureHistoryCounts(
        np.concatenate([core.seen, shell.seen]), np.concatenate([core.elements, shell.elements])
    )
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    frames = tables_from_histories(crawls, counts, EXACT)
    observed = (crawls, frames["containment"], frames["discovery_curve"])
    (fit,) = (one.fit for one in with_limits(fit_all(*observed, EXACT)[:1], *observed, in_all=counts.in_all))
    assert (fit.projection, fit.model) == ("joint", "core_shell")
    assert ("no core that is in every crawl" in (fit.reason or "")) == doubted


@pytest.mark.slow
def test_sampling_widens_the_limits():
    observed = tables()
    widths = []
    for error in (EXACT, CountingError(one_in=16)):
        joint = with_limits(fit_all(*observed, error)[:1], *observed)[0]
        widths.append(joint.limits["kappa"].high - joint.limits["kappa"].low)
    assert widths[1] > 2 * widths[0]


def test_a_fit_whose_limits_leave_a_number_open_is_not_ok():
    few = simulate(times=np.arange(5.0), core=2, shell=12, alpha=0.75, coverage=0.5, seed=1).counts()
    dated = crawls_table(dated_crawls(np.diagonal(few.intersections())))
    frames = tables_from_histories(dated, few, EXACT)
    observed = dated, frames["containment"], frames["discovery_curve"]
    fitted = [one for one in with_limits(fit_all(*observed, EXACT), *observed) if one.limits]
    left_open = [one.fit for one in fitted if any(one.limits[name].is_open for name in ESTIMATES if name in one.limits)]
    assert left_open
    assert "ok" not in {fit.status for fit in left_open}
    assert all("95 % limits leave " in fit.reason for fit in left_open)
    assert all("limits leave" not in (one.fit.reason or "") for one in fitted if one.fit not in left_open)


def test_without_the_size_of_a_crawl_the_joint_fit_says_so():
    crawls, containment, _ = tables(crawls=6)
    unknown = crawls.assign(elements=pd.array([None, *crawls["elements"][1:]], dtype="Int64"))
    assert raw_counts(unknown, containment, None, clock="crawl", error=EXACT) is None
    joint = [fit for fit in fit_all(unknown, containment, None, EXACT) if fit.projection == "joint"]
    assert {fit.status for fit in joint} == {"too_few_points"}
    assert all("size of every crawl" in fit.reason for fit in joint)
