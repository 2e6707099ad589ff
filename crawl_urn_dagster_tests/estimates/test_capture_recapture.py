"""Tables of capture-recapture estimates: names, scales, confidence intervals and reasons."""

import numpy as np
import pytest

from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster.urn.goodness_of_fit.release_recapture import release_recapture_tests
from crawl_urn_dagster_tests.estimates.observed import observables, urn

CRAWLS = 12


@pytest.fixture(scope="module")
def counts():
    return urn(CRAWLS, shell=6000, alpha=0.8, coverage=0.5, seed=3)


@pytest.fixture(scope="module")
def made(counts):
    return _tables(counts)


def _tables(counts):
    return capture_recapture_tables(observables(counts)[0], counts, clock="crawl", one_in=1)


def test_homogeneous_urn_is_recovered_by_one_class(made):
    rows = made["capture_recapture"].query("model == 'cormack_jolly_seber'").set_index("parameter")
    for name, truth in {"alpha": 0.8, "coverage": 0.5}.items():
        assert rows.loc[name, "estimate_low"] < truth < rows.loc[name, "estimate_high"]
    assert (rows["status"] == "ok").all()


def test_dispersion_widens_one_class_only(counts, made):
    tests = release_recapture_tests(counts)
    core = urn(CRAWLS, core=3000, shell=3000, alpha=0.8, coverage=0.5, seed=3)
    for tables, dispersion in ((made, max(1, tests.c_hat)), (_tables(core), release_recapture_tests(core).c_hat)):
        rows = tables["capture_recapture"]
        one_class = rows[rows["model"] == "cormack_jolly_seber"]
        assert one_class["dispersion"].to_numpy() == pytest.approx(dispersion)
        assert (rows.loc[rows["model"] != "cormack_jolly_seber", "dispersion"] == 1).all()
        penalty = one_class["aicc"] - one_class["minus_two_log_likelihood"]
        quasi = one_class["minus_two_log_likelihood"] / one_class["dispersion"] + penalty
        assert one_class["qaicc"].to_numpy() == pytest.approx(quasi.to_numpy())
    # A core is heterogeneity, which the model of one class does not have.
    assert dispersion > 10


def test_losses_raise_the_survival_of_one_class(counts, made):
    lossy = CaptureHistoryCounts(counts.seen, counts.elements, counts.elements // 10)
    for name, key in (("capture_recapture", "parameter"), ("per_crawl", "quantity")):
        without, with_losses = made[name], _tables(lossy)[name]
        is_survival = (with_losses[key] == "alpha") & with_losses["estimate"].notna() & (without["estimate"] < 1)
        is_survival &= with_losses.get("model", "cormack_jolly_seber") == "cormack_jolly_seber"
        assert is_survival.any()
        assert (with_losses["estimate"] > without["estimate"])[is_survival].all()


def test_reasons_are_stored_as_codes_too(made):
    rows = made["capture_recapture"]
    assert rows["reason"].isna().tolist() == rows["reason_code"].isna().tolist() == (rows["status"] == "ok").tolist()
    core = rows.query("model == 'core_and_shell'").set_index("parameter").loc["core_share"]
    assert (core["status"], core["reason_code"], core["estimate"]) == ("at_bound", "at_bound_without_error", 0)
    assert core[["se", "estimate_low", "estimate_high"]].isna().all()


def test_unknown_estimates_are_missing_values():
    alone = CaptureHistoryCounts(np.eye(3, dtype=bool), np.array([5, 5, 5]))
    tables = capture_recapture_tables(observables(alone)[0], alone, clock="year", one_in=1)
    rows = tables["capture_recapture"]
    assert set(rows["model"]) == {"cormack_jolly_seber", "two_classes", "core_and_shell"}
    assert set(rows["status"]) == {"too_few_points"}
    assert set(rows["reason_code"]) == {"no_recaptures"}
    assert rows[["estimate", "se", "estimate_low", "estimate_high"]].isna().all(axis=None)
    by_crawl = tables["per_crawl"].query("estimator == 'cormack_jolly_seber'")
    assert len(by_crawl) == 4
    assert by_crawl["estimate"].isna().all()


def test_per_crawl_has_estimates_or_reasons(made):
    per_crawl = made["per_crawl"]
    assert (per_crawl.groupby(["quantity", "estimator"]).size() <= CRAWLS).all()
    known = per_crawl[per_crawl["status"] == "ok"]
    assert known[["estimate", "se", "estimate_low", "estimate_high"]].notna().all(axis=None)
    unknown = per_crawl[per_crawl["status"] != "ok"]
    assert unknown["reason"].notna().all()
    # The ten intervals share elements, so fewer than 95 % may contain the truth.
    for quantity, truth in {"alpha": 0.8, "coverage": 0.5, "population": 6000}.items():
        some = known[(known["quantity"] == quantity) & (known["estimator"] == "jolly_seber")]
        assert len(some) >= CRAWLS - 3
        assert ((some["estimate_low"] < truth) & (truth < some["estimate_high"])).mean() >= 0.7


def test_comparators_have_an_interval_or_a_reason(made):
    rows = made["comparators"]
    without = rows[rows["se"].isna()]
    assert without["reason"].notna().all()
    assert set(without.loc[without["unit"] != "exponent", "status"]) <= {"at_bound", "too_few_points"}
    with_interval = rows[rows["se"].notna()]
    assert set(with_interval["status"]) == {"ok"}
    assert (with_interval["estimate_low"] < with_interval["estimate"]).all()
    assert (with_interval["estimate"] < with_interval["estimate_high"]).all()


def test_sample_multiplies_numbers_but_not_shares(counts, made):
    crawls = observables(counts)[0]
    multiplied = CaptureHistoryCounts(counts.seen, 4 * counts.elements)
    sample = capture_recapture_tables(crawls, multiplied, clock="crawl", one_in=4)
    for name, key in (("per_crawl", "quantity"), ("comparators", "unit")):
        whole, part = made[name], sample[name]
        is_number = whole[key].isin(["marked", "population", "births", "elements"])
        factor = np.where(is_number, 4, 1)
        np.testing.assert_allclose(part["estimate"], factor * whole["estimate"])
        known = whole["se"] > 0
        assert (part["se"] >= factor * whole["se"])[known].all()
        assert (part["se"] > factor * whole["se"])[known & is_number & (whole["estimate"] != 0)].all()
