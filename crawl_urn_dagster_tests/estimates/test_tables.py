from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.intervals import Fitted
from crawl_urn_dagster.estimates.tables import compare_with_truth, operator_terms_table, parameters_table
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster_tests.estimates.test_headline import (
    CONTAINMENT,
    CONTAINMENT_HOMOGENEOUS,
    CONTAINMENT_PAPER,
    CRAWLS,
    fit,
)

LIMITS = {"kappa": (0.38, 0.42), "alpha": (0.7, 0.8), "life_expectancy": (2.0, 4.0), "nu_inf": (0.3, 0.4)}
FITTED = [
    Fitted(CONTAINMENT, LIMITS),
    Fitted(CONTAINMENT_PAPER, {}),
    Fitted(CONTAINMENT_HOMOGENEOUS, {}),
    Fitted(fit("containment", clock="year"), LIMITS),
]


@pytest.fixture
def parameters():
    return parameters_table(FITTED, CONTAINMENT, CRAWLS)


def test_limits_are_those_of_the_component(parameters):
    core, shell = (
        parameters[parameters["headline"] & (parameters["component"] == component)].iloc[0]
        for component in ("core", "shell")
    )
    assert (core["share_low"], core["share_high"]) == (0.38, 0.42)
    assert (shell["share_low"], shell["share_high"]) == pytest.approx((0.58, 0.62))
    assert (shell["kappa_low"], shell["alpha_high"]) == (0.38, 0.8)
    assert np.isnan([core["alpha_low"], core["coverage_low"], shell["coverage_low"], shell["core_share_low"]]).all()
    paper = parameters[parameters["form"] == "paper"]
    assert paper[["share_low", "kappa_low", "alpha_low"]].isna().all(axis=None)


def test_one_row_per_component(parameters):
    assert tuple(parameters.columns) == TABLES["parameters"].column_names
    exact = parameters[parameters["headline"]]
    assert exact["component"].tolist() == ["core", "shell"]
    assert exact["share"].tolist() == [0.4, 0.6]
    assert exact["alpha"].tolist() == [1.0, 0.75]
    assert exact["coverage"].tolist() == [1.0, 0.6]
    homogeneous = parameters[parameters["model"] == "homogeneous"]
    assert homogeneous[["component", "share"]].to_numpy().tolist() == [["urn", 1.0]]
    assert homogeneous["kappa"].isna().all()


def test_the_paper_form_gives_no_shares_of_the_urn(parameters):
    assert parameters.loc[parameters["form"] == "paper", "share"].isna().all()


def test_rows_are_unique_by_the_key_of_the_contract(parameters):
    key = ["projection", "model", "form", "clock", "stratum", "component", "first_crawl", "last_crawl"]
    assert not parameters.duplicated(key).any()
    assert set(parameters["first_crawl"]) == {"a"}
    assert set(parameters["last_crawl"]) == {"c"}


def test_operator_terms_of_core_and_shell():
    terms = operator_terms_table(FITTED, CONTAINMENT, CRAWLS.assign(years=[0.0, 0.5, 1.0]))
    assert tuple(terms.columns) == TABLES["operator_terms"].column_names
    core, shell = (
        terms[(terms["form"] == "exact") & (terms["clock"] == "crawl") & (terms["component"] == component)].iloc[0]
        for component in ("core", "shell")
    )
    assert core["life_expectancy"] == np.inf
    assert core["hidden_time"] == 0
    # alpha/(1 - alpha) = 3 rounds left, of which c = 0.6 sampled; tau_h = alpha (1-c)/(1 - alpha (1-c)) = 0.3/0.7.
    assert shell["life_expectancy"] == pytest.approx(3.0)
    assert shell["sampled_time"] == pytest.approx(1.8)
    assert shell["hidden_time"] == pytest.approx(1.2)
    assert shell["hiding_time"] == pytest.approx(0.3 / 0.7)
    assert shell["nu_inf"] == pytest.approx(0.25 / 0.7)
    assert (shell["life_expectancy_low"], shell["nu_inf_high"]) == (2.0, 0.4)
    assert np.isnan(core["life_expectancy_low"])
    assert shell["unit"] == "crawls"


def test_operator_terms_of_a_yearly_fit_are_read_at_the_mean_gap():
    terms = operator_terms_table(FITTED, CONTAINMENT, CRAWLS.assign(years=[0.0, 0.2, 1.0]))
    shell = terms[(terms["clock"] == "year") & (terms["component"] == "shell")].iloc[0]
    survival = 0.75**0.5  # over the mean gap of half a year
    assert shell["life_expectancy"] == pytest.approx(0.5 * survival / (1 - survival))
    assert shell["nu_inf"] == pytest.approx((1 - survival) / (1 - 0.4 * survival))
    assert (shell["life_expectancy_high"], shell["nu_inf_low"]) == (2.0, 0.3)
    assert shell["unit"] == "years"


def test_terms_of_a_fit_outside_its_range_are_null():
    broken = replace(fit("containment", "homogeneous", status="not_identified"), alpha=1.2)
    terms = operator_terms_table([Fitted(broken, {})], broken, CRAWLS.assign(years=[0.0, 0.5, 1.0]))
    assert terms["life_expectancy"].isna().all()
    assert terms["status"].tolist() == ["not_identified"]


def test_estimates_are_set_against_the_truth_of_their_clock(parameters):
    truth = pd.DataFrame(
        {
            "clock": ["crawl", "year"],
            "kappa": [0.39, 0.39],
            "core_share": [0.5, 0.5],
            "alpha": [0.74, 0.6],
            "coverage": [0.6, 0.6],
        }
    )
    compared = compare_with_truth(parameters, truth).set_index(["form", "clock", "parameter"])
    assert compared.loc[("exact", "year", "alpha"), ["truth", "estimate"]].tolist() == [0.6, 0.75]
    for (form, clock, parameter), row in compared[compared["estimate_low"].notna()].iterrows():
        name = "core_share" if form == "paper" and parameter.startswith("kappa") else parameter
        true = truth.set_index("clock").loc[clock, name]
        assert row["inside"] == (row["estimate_low"] <= true <= row["estimate_high"])
    assert set(compared["inside"].dropna()) == {True, False}
    printed = compared.loc[("paper", "crawl", "kappa (as printed: the core share)")]
    assert printed["truth"] == 0.5
