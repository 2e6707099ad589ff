"""Quantities of fits to the curves."""

from dataclasses import replace

import numpy as np
import pytest

from crawl_urn_dagster.estimates.assessment.curves import curve_quantities
from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.estimates.intervals import with_intervals
from crawl_urn_dagster.urn import FitKind, Status
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn

CRAWLS, KAPPA, ALPHA, COVERAGE = 12, 0.4, 0.75, 0.6
N_REPLICATES = 40


@pytest.fixture(scope="module")
def fitted():
    data = collection_data(urn(CRAWLS, core=4000, shell=6000, alpha=ALPHA, coverage=COVERAGE, seed=3), histories=False)
    return with_intervals(fit_primary(data, ["crawl"]), data, n_replicates=N_REPLICATES)


def fit_of(fitted, model):
    kind = FitKind("joint", model, "exact", "crawl")
    return next(fit for fit in fitted.fits if fit.kind == kind)


def read(fitted, fit, status=Status.OK):
    return curve_quantities(fitted, fit, n_crawls=CRAWLS, mean_gap=1.0, status=status)


def completeness(core_share, alpha, coverage):
    """Size of a crawl divided by the known eligible, by the chance that an eligible shell element is not known yet."""
    shell, never = 1 - core_share, (1 - coverage) * (1 - alpha) / (1 - alpha * (1 - coverage))
    return 1 / (core_share + shell * (1 - never) / coverage)


def test_core_shell_fit_gives_core_and_completeness(fitted):
    fit = fit_of(fitted, "core_shell")
    found = read(fitted, fit)
    assert set(found) == {"completeness", "gone", "really_new", "kappa", "core_share"}
    assert found["gone"].value == pytest.approx((1 - fit.core_share) * (1 - fit.alpha))
    assert found["gone"].interval.low < found["gone"].value < found["gone"].interval.high
    assert found["completeness"].value == pytest.approx(completeness(fit.core_share, fit.alpha, fit.coverage))
    truth = completeness(KAPPA / (KAPPA + (1 - KAPPA) * COVERAGE), ALPHA, COVERAGE)
    # 10,000 elements over 12 crawls: completeness scatters by less than 0.004 over seeds.
    assert found["completeness"].value == pytest.approx(truth, abs=0.015)
    low, high = found["completeness"].interval
    assert low < found["completeness"].value < high
    assert (found["kappa"].value, found["core_share"].value) == (fit.kappa, fit.core_share)
    assert found["kappa"].inner == fit.intervals["kappa"]
    assert found["kappa"].interval.low < found["kappa"].inner.low < found["kappa"].inner.high
    assert found["kappa"].inner.high < found["kappa"].interval.high
    assert found["kappa"].assumption == "newborn_coverage"


def test_homogeneous_fit_gives_survival_and_no_core(fitted):
    fit = fit_of(fitted, "homogeneous")
    found = read(fitted, fit)
    assert set(found) == {"completeness", "gone", "really_new", "survival"}
    assert found["survival"].value == fit.alpha
    assert found["survival"].interval == pytest.approx(fit.intervals["alpha"])
    assert found["completeness"].value == pytest.approx(completeness(0, fit.alpha, fit.coverage))


def test_survival_is_that_of_the_mean_gap(fitted):
    fit = fit_of(fitted, "homogeneous")
    found = curve_quantities(fitted, fit, n_crawls=CRAWLS, mean_gap=0.5, status=Status.OK)
    assert found["survival"].value == pytest.approx(np.sqrt(fit.alpha))


def test_fit_that_is_not_identified_gives_intervals_only(fitted):
    fit = replace(fit_of(fitted, "core_shell"), status=Status.NOT_IDENTIFIED)
    found = read(fitted, fit, Status.NOT_IDENTIFIED)
    assert all(one.value is None and one.reason_code == "not_identified" for one in found.values())
    assert found["kappa"].inner == fit.intervals["kappa"]


def test_fit_without_survival_gives_nothing(fitted):
    fit = fit_of(fitted, "core_shell")
    assert read(fitted, replace(fit, estimates={"kappa": 1.0, "core_share": 1.0})) == {}
