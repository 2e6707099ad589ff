import pytest

from crawl_urn_dagster.estimates.selection import is_headline_candidate, select_headline
from crawl_urn_dagster_tests.estimates.fit_results import (
    CONTAINMENT,
    CONTAINMENT_HOMOGENEOUS,
    CONTAINMENT_PAPER,
    DISCOVERY,
    DISCOVERY_HOMOGENEOUS,
    JOINT,
    JOINT_HOMOGENEOUS,
    fit,
)


def test_selects_ok_fits_in_order_of_rank():
    order = [JOINT, CONTAINMENT, JOINT_HOMOGENEOUS, CONTAINMENT_HOMOGENEOUS, DISCOVERY, DISCOVERY_HOMOGENEOUS]
    for first, selected in enumerate(order):
        rest = [*reversed(order[first:]), CONTAINMENT_PAPER]
        assert select_headline(rest, clock="crawl") is selected


@pytest.mark.parametrize("status", ["at_bound", "not_identified"])
def test_prefers_an_ok_fit_to_a_fit_that_is_not(status):
    fits = [fit("joint", status=status), fit("containment", status=status), JOINT_HOMOGENEOUS]
    assert select_headline(fits, clock="crawl") is JOINT_HOMOGENEOUS
    assert select_headline(fits[:2], clock="crawl") is fits[0]


def test_selects_the_discovery_curve_without_pairs():
    assert select_headline([DISCOVERY_HOMOGENEOUS, DISCOVERY], clock="crawl") is DISCOVERY


@pytest.mark.parametrize("status", ["too_few_points", "not_converged"])
def test_skips_a_fit_that_is_not_reported(status):
    fits = [fit("containment", status=status), CONTAINMENT_HOMOGENEOUS, DISCOVERY]
    assert select_headline(fits, clock="crawl") is CONTAINMENT_HOMOGENEOUS


def test_skips_an_empty_core():
    fits = [fit("containment", status="at_bound", kappa=0.0), CONTAINMENT_HOMOGENEOUS]
    assert select_headline(fits, clock="crawl") is CONTAINMENT_HOMOGENEOUS


def test_skips_a_regression_outside_the_unit_interval():
    outside = fit("containment", "homogeneous", status="not_identified", coverage=1.236)
    empty_core = fit("containment", status="at_bound", kappa=0.0)
    fits = [empty_core, outside, DISCOVERY_HOMOGENEOUS]
    assert select_headline(fits, clock="crawl") is DISCOVERY_HOMOGENEOUS
    assert select_headline(fits[:2], clock="crawl") is empty_core


def test_selects_the_first_if_no_fit_is_reported():
    fits = [fit("containment", status="model_violation"), fit("discovery_curve", status="model_violation")]
    assert select_headline(fits, clock="crawl") is fits[0]


def test_selects_on_the_clock_of_the_collection():
    yearly = fit("containment", clock="year")
    assert select_headline([CONTAINMENT, yearly], clock="year") is yearly
    with pytest.raises(ValueError, match="no fit has clock 'year'"):
        select_headline([CONTAINMENT], clock="year")


def test_tail_increments_and_paper_form_are_no_candidates():
    others = [fit("discovery_tail", "homogeneous"), fit("discovery_increments"), CONTAINMENT_PAPER, fit("histories")]
    assert not any(is_headline_candidate(one, "crawl") for one in others)
    assert is_headline_candidate(JOINT, "crawl")
