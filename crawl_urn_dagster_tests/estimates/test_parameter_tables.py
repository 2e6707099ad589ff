from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.parameter_tables import compare_with_truth, operator_terms_table, parameters_table
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.urn import FitKind, FitResult, Interval, Status
from crawl_urn_dagster.urn.fits.histories import LikelihoodDetails
from crawl_urn_dagster_tests.estimates.fit_results import (
    CONTAINMENT,
    CONTAINMENT_HOMOGENEOUS,
    CONTAINMENT_PAPER,
    CRAWLS,
    fit,
)

ENDS = {"kappa": (0.38, 0.42), "alpha": (0.7, 0.8), "life_expectancy": (2.0, 4.0), "nu_inf": (0.3, 0.4)}
INTERVALS = {name: Interval(*ends) for name, ends in ENDS.items()}
FITS = [
    replace(CONTAINMENT, intervals=INTERVALS),
    CONTAINMENT_PAPER,
    CONTAINMENT_HOMOGENEOUS,
    replace(fit("containment", clock="year"), intervals=INTERVALS),
]


@pytest.fixture
def parameters():
    return parameters_table(FITS, CONTAINMENT.kind, CRAWLS)


def test_components_have_their_own_intervals(parameters):
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


def test_paper_form_has_no_shares_of_the_urn(parameters):
    assert parameters.loc[parameters["form"] == "paper", "share"].isna().all()


def test_rows_are_unique_by_the_contract_key(parameters):
    key = ["projection", "model", "form", "clock", "stratum", "component", "first_crawl", "last_crawl"]
    assert not parameters.duplicated(key).any()
    assert set(parameters["first_crawl"]) == {"a"}
    assert set(parameters["last_crawl"]) == {"c"}


def test_operator_terms_of_core_and_shell():
    terms = operator_terms_table(FITS, CONTAINMENT.kind, CRAWLS.assign(years=[0.0, 0.5, 1.0]))
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


def test_operator_terms_of_a_yearly_fit_use_the_mean_gap():
    terms = operator_terms_table(FITS, CONTAINMENT.kind, CRAWLS.assign(years=[0.0, 0.2, 1.0]))
    shell = terms[(terms["clock"] == "year") & (terms["component"] == "shell")].iloc[0]
    survival = 0.75**0.5  # over the mean gap of half a year
    assert shell["life_expectancy"] == pytest.approx(0.5 * survival / (1 - survival))
    assert shell["nu_inf"] == pytest.approx((1 - survival) / (1 - 0.4 * survival))
    assert (shell["life_expectancy_high"], shell["nu_inf_low"]) == (2.0, 0.3)
    assert shell["unit"] == "years"


def test_terms_of_a_fit_outside_its_range_are_null():
    outside = fit("containment", "homogeneous", status="not_identified", alpha=1.2)
    terms = operator_terms_table([outside], outside.kind, CRAWLS.assign(years=[0.0, 0.5, 1.0]))
    assert terms["life_expectancy"].isna().all()
    assert terms["status"].tolist() == ["not_identified"]


def test_estimates_are_compared_with_the_truth_of_their_clock(parameters):
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


def test_two_shells_have_shares_of_the_urn():
    """A share of the elements outside the core is one minus kappa times as much of the urn, with both errors."""
    estimates = {"kappa": 0.3, "core_share": 0.4, "share_1": 0.25, "alpha_1": 0.9, "coverage_1": 0.5}
    estimates |= {"share_2": 0.75, "alpha_2": 0.6, "coverage_2": 0.4}
    two_shells = FitResult(
        kind=FitKind("histories", "core_two_shells", "exact", "crawl"),
        estimates=estimates,
        status=Status.OK,
        details=LikelihoodDetails(-1.0, 6, 100, np.zeros(3), is_identified=True),
        intervals={"kappa": Interval(0.2, 0.4), "share_1": Interval(0.2, 0.3)},
    )
    rows = parameters_table([two_shells], None, CRAWLS).set_index("component")
    assert rows["share"].to_dict() == pytest.approx({"core": 0.3, "shell_1": 0.175, "shell_2": 0.525})
    assert rows.loc["shell_1", ["share_low", "share_high"]].tolist() == pytest.approx([0.2 * 0.6, 0.3 * 0.8])
    assert np.isnan(rows.loc["shell_2", "share_low"])
    assert rows["n_points"].tolist() == [100, 100, 100]
    assert not rows["headline"].any()


def test_supplementary_fit_without_estimates_has_one_row():
    details = LikelihoodDetails(None, 6, 4, np.zeros(3), is_identified=False)
    empty = FitResult(
        kind=FitKind("histories", "core_shell", "exact", "crawl"),
        estimates={},
        status=Status.TOO_FEW_POINTS,
        details=details,
    )
    rows = parameters_table([empty, replace(CONTAINMENT, estimates={})], None, CRAWLS)
    assert rows["component"].tolist() == ["urn", "core", "shell"]
    assert rows.loc[0, ["share", "alpha", "coverage"]].isna().all()


def test_reason_codes_accompany_the_sentence(parameters):
    violated = fit("joint", status="model_violation")
    rows = parameters_table([violated, CONTAINMENT], violated.kind, CRAWLS)
    violated_rows, ok_rows = rows[rows["projection"] == "joint"], rows[rows["projection"] == "containment"]
    assert violated_rows["reason_code"].unique().tolist() == ["model_violation"]
    assert ok_rows[["reason", "reason_code"]].isna().all(axis=None)
