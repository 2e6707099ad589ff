"""Capture-recapture of a collection as tables: names, scales and limits."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.estimates.observed import observables, urn

CRAWLS = 12


@pytest.fixture(scope="module")
def counts():
    return urn(CRAWLS, shell=6000, alpha=0.8, coverage=0.5, seed=3)


@pytest.fixture(scope="module")
def made(counts):
    return capture_recapture_tables(observables(counts)[0], counts, clock="crawl", one_in=1)


def test_a_homogeneous_urn_is_the_model_of_one_class(made):
    rows = made["capture_recapture"].query("model == 'cormack_jolly_seber'").set_index("parameter")
    for name, truth in {"alpha": 0.8, "coverage": 0.5}.items():
        assert rows.loc[name, "estimate_low"] < truth < rows.loc[name, "estimate_high"]
    assert (rows["status"] == "ok").all()


def test_every_crawl_has_what_can_be_known_of_it(made):
    per_crawl = made["per_crawl"]
    assert (per_crawl.groupby(["quantity", "estimator"]).size() <= CRAWLS).all()
    known = per_crawl[per_crawl["status"] == "ok"]
    assert known[["estimate", "se", "estimate_low", "estimate_high"]].notna().all(axis=None)
    unknown = per_crawl[per_crawl["status"] != "ok"]
    assert unknown["reason"].notna().all()
    # 95 % limits of ten crawls each, which share elements: most hold.
    for quantity, truth in {"alpha": 0.8, "coverage": 0.5, "population": 6000}.items():
        some = known[(known["quantity"] == quantity) & (known["estimator"] == "jolly_seber")]
        assert len(some) >= CRAWLS - 3
        assert ((some["estimate_low"] < truth) & (truth < some["estimate_high"])).mean() >= 0.7


def test_limits_or_a_reason_of_every_comparator(made):
    rows = made["comparators"]
    without = rows[rows["se"].isna()]
    assert without["reason"].notna().all()
    assert set(without.loc[without["unit"] != "exponent", "status"]) <= {"at_bound", "too_few_points"}
    with_limits = rows[rows["se"].notna()]
    assert set(with_limits["status"]) == {"ok"}
    assert (with_limits["estimate_low"] < with_limits["estimate"]).all()
    assert (with_limits["estimate"] < with_limits["estimate_high"]).all()


def test_of_a_sample_numbers_are_multiplied_and_shares_are_not(counts, made):
    crawls = observables(counts)[0]
    multiplied = CaptureHistoryCounts(counts.seen, 4 * counts.elements)
    sample = capture_recapture_tables(crawls, multiplied, clock="crawl", one_in=4)
    for name, key in (("per_crawl", "quantity"), ("comparators", "unit")):
        whole, part = made[name], sample[name]
        of_elements = whole[key].isin(["marked", "population", "births", "elements"])
        factor = np.where(of_elements, 4, 1)
        np.testing.assert_allclose(part["estimate"], factor * whole["estimate"])
        known = whole["se"] > 0
        assert (part["se"] >= factor * whole["se"])[known].all()
        assert (part["se"] > factor * whole["se"])[known & of_elements & (whole["estimate"] != 0)].all()
