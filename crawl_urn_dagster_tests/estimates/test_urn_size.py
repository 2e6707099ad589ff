"""Test the size of the urn that a fit implies."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.estimates.intervals import with_intervals
from crawl_urn_dagster.estimates.parameter_tables import operator_terms_table, parameters_table
from crawl_urn_dagster.estimates.urn_size import urn_size_columns
from crawl_urn_dagster.urn import Interval
from crawl_urn_dagster_tests.estimates.fit_results import CONTAINMENT, CONTAINMENT_PAPER, CRAWLS, fit
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn

_URN_SHARE = 0.4 + 0.6 * 0.6


@pytest.mark.parametrize("fitted", [CONTAINMENT, CONTAINMENT_PAPER], ids=lambda one: one.kind.form)
def test_core_and_shell_are_the_crawl_size_over_the_completeness(fitted):
    size = urn_size_columns(fitted, CRAWLS)["urn_size"]
    assert size == pytest.approx(100 / _URN_SHARE, rel=1e-3)  # κ and μ of the fit are rounded


def test_other_models_have_their_own_completeness():
    assert urn_size_columns(fit("joint", "homogeneous"), CRAWLS)["urn_size"] == pytest.approx(100 / 0.6)
    delayed = fit("discovery_curve", "revisit_delay", crawl_coverage=0.25)
    assert urn_size_columns(delayed, CRAWLS)["urn_size"] == pytest.approx(400)
    shells = fit("curves", "core_two_shells", kappa=0.4, share_1=0.5, coverage_1=0.4, coverage_2=0.8)
    del shells.estimates["coverage"]
    assert urn_size_columns(shells, CRAWLS)["urn_size"] == pytest.approx(100 / _URN_SHARE, rel=1e-3)


def test_interval_without_replicates_spans_the_corners():
    intervals = {"core_share": Interval(0.5, 0.6), "coverage": Interval(0.5, 0.7)}
    columns = urn_size_columns(replace(CONTAINMENT, intervals=intervals), CRAWLS)
    low, high = columns["urn_size_low"], columns["urn_size_high"]
    assert low == pytest.approx(100 / (0.7 / (1 - 0.6 + 0.6 * 0.7)))
    assert high == pytest.approx(100 / (0.5 / (1 - 0.5 + 0.5 * 0.5)))
    assert set(urn_size_columns(CONTAINMENT, CRAWLS)) == {"urn_size"}


def test_no_size_without_coverage_or_sizes():
    unknown = CRAWLS.assign(elements=pd.array([90, None, 110], dtype="Int64"))
    assert urn_size_columns(CONTAINMENT, unknown) == {}
    assert urn_size_columns(replace(CONTAINMENT, estimates={"alpha": 0.5}), CRAWLS) == {}


def test_intervals_of_a_simulated_urn_contain_its_size():
    data = collection_data(urn(12, core=400, shell=600, alpha=0.75, coverage=0.6, seed=3))
    fits = with_intervals(fit_primary(data, ["crawl"]), data, n_replicates=40).fits
    table = parameters_table(fits, None, data.crawls)
    joint = table[(table["projection"] == "joint") & (table["model"] == "core_shell")].iloc[0]
    assert joint["urn_size_low"] < 1000 < joint["urn_size_high"]
    assert joint["urn_size_high"] - joint["urn_size_low"] < 150
    terms = operator_terms_table(fits, fits[0].kind, data.crawls)
    assert np.array_equal(terms["urn_size"], table["urn_size"], equal_nan=True)
