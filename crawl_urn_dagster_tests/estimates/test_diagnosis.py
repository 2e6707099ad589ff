"""The tests of the curves of simulated collections, and the verdict on them without and with capture histories."""

import numpy as np
import pytest
from scipy.special import expit

from crawl_urn_dagster.estimates.diagnosis import read_verdict
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.observables.schema import DIAGNOSIS
from crawl_urn_dagster_tests.collections_for_tests import avoiding_histories
from crawl_urn_dagster_tests.estimates.observed import collection_data, together, urn

CRAWLS = 16


def diagnose(counts, *, pairs=True, windows=True, histories=None):
    has_histories = pairs and windows if histories is None else histories
    data = collection_data(counts, pairs=pairs, windows=windows, histories=has_histories)
    return estimate(data, clock="crawl").tables["diagnosis"]


@pytest.fixture(scope="module")
def noisy():
    """An urn whose coverage varies from crawl to crawl as much as real ones do."""
    coverage = expit(0.4 + 0.3 * np.random.default_rng(5).standard_normal(CRAWLS))
    return diagnose(urn(CRAWLS, core=4000, shell=6000, alpha=0.75, coverage=coverage, seed=5))


def test_urn_with_varying_coverage_is_sound(noisy):
    assert read_verdict(noisy).name == "sound"
    curves = {"violation", "projections", "core", "lack_of_fit", "increments", "transient_tail"}
    assert set(noisy["test"]) == {*curves, "collection"}
    assert list(noisy.columns) == list(DIAGNOSIS.column_names)


def test_every_comparison_has_an_interval_and_a_meaning(noisy):
    tests = noisy[noisy["test"] != "collection"]
    known = tests.dropna(subset="difference_low")
    assert len(known) > 0.9 * len(tests)
    np.testing.assert_allclose(known["difference"], known["observed"] - known["expected"])
    assert (known["difference_low"] < known["difference_high"]).all()
    assert set(tests["verdict"]) == {"holds", "not_tested"}
    assert noisy["meaning"].str.len().min() > 10


def test_core_that_is_sometimes_missed_is_named():
    core = urn(CRAWLS, shell=4000, alpha=1.0, coverage=0.99, seed=1)
    diagnosis = diagnose(together(core, urn(CRAWLS, shell=6000, alpha=0.6, coverage=0.6, seed=2)))
    assert read_verdict(diagnosis).name == "core_missed"
    (row,) = diagnosis[diagnosis["test"] == "core"].to_dict("records")
    assert row["verdict"] == "fails"
    assert row["observed"] < row["expected"]
    assert row["difference_high"] < 0


def test_violation_ends_the_tests():
    diagnosis = diagnose(avoiding_histories(CRAWLS, urn=1000).counts(), histories=False)
    assert read_verdict(diagnosis).name == "no_urn"
    assert "revisit_delay" in read_verdict(diagnosis).meaning
    assert set(diagnosis["test"]) == {"violation", "collection"}
    assert "fails" in set(diagnosis["verdict"])


def test_avoidance_is_found_in_capture_histories():
    diagnosis = diagnose(avoiding_histories(CRAWLS, urn=1000).counts())
    assert read_verdict(diagnosis).name == "revisit_avoidance"


def test_some_avoided_elements_are_a_misfit():
    """Too few of them for the violation rule."""
    rest = urn(CRAWLS, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3)
    diagnosis = diagnose(together(rest, avoiding_histories(CRAWLS, urn=300).counts()), histories=False)
    assert read_verdict(diagnosis).name == "misfit"
    assert "fails" in set(diagnosis.loc[diagnosis["test"] == "lack_of_fit", "verdict"])
    assert diagnosis.loc[diagnosis["test"] == "violation", "verdict"].tolist() == ["holds", "holds"]


@pytest.mark.parametrize(("histories", "verdict"), [(False, "misfit"), (True, "uneven_shell")])
def test_two_shells_are_not_one(histories, verdict):
    one = urn(CRAWLS, core=9000, shell=10_500, alpha=0.97, coverage=0.8, seed=1)
    two = together(one, urn(CRAWLS, shell=10_500, alpha=0.85, coverage=0.35, seed=2))
    diagnosis = diagnose(two, histories=histories)
    assert read_verdict(diagnosis).name == verdict
    coverage = diagnosis[(diagnosis["test"] == "projections") & (diagnosis["subject"] == "coverage")]
    assert coverage["difference"].item() > 0
    assert "usually differ in coverage" in coverage["meaning"].item()


@pytest.mark.parametrize(("pairs", "windows"), [(True, False), (False, True)])
def test_one_observable_has_no_projections_test(pairs, windows):
    diagnosis = diagnose(urn(12, core=4000, shell=6000, alpha=0.75, coverage=0.6, seed=3), pairs=pairs, windows=windows)
    assert not {"projections", "core"} & set(diagnosis["test"])
    # Windows of 12 crawls leave the core on a ridge; pairs have a floor to see it by, but show no growth.
    assert read_verdict(diagnosis).name == ("not_tested_enough" if pairs else "not_identified")


def test_three_crawls_are_too_short():
    diagnosis = diagnose(urn(3, core=40, shell=60, alpha=0.75, coverage=0.6, seed=3))
    assert read_verdict(diagnosis).name == "too_short"


def test_difference_with_a_wide_interval_is_not_tested(noisy):
    rows = noisy[noisy["test"] == "projections"].set_index("subject")
    assert (rows[["difference_low", "difference_high"]].abs() <= 1).all(axis=None)
    wide = rows["difference_high"] - rows["difference_low"] > 0.5
    assert 0 < wide.sum() < len(rows)
    assert set(rows.loc[wide, "verdict"]) == {"not_tested"}
    assert set(rows.loc[~wide, "verdict"]) == {"holds"}
