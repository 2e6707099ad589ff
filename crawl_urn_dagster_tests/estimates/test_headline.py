from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.headline import choose_headline, read_headline
from crawl_urn_dagster.estimates.intervals import Fitted
from crawl_urn_dagster.estimates.tables import parameters_table
from crawl_urn_dagster.urn import Fit

CRAWLS = pd.DataFrame({"crawl": ["a", "b", "c"]})


def fit(projection, model="core_shell", form="exact", *, status="ok", kappa=0.4, clock="crawl"):
    core = model == "core_shell"
    return Fit(
        projection=projection,
        model=model,
        form=form,
        clock=clock,
        kappa=kappa if core else None,
        core_share=0.526 if core else None,
        alpha=0.75,
        coverage=0.6,
        residual_rms=0.001,
        n_points=10,
        status=status,
        reason=None if status == "ok" else f"because of {status}",
        abscissa=np.arange(10.0),
        observed=np.zeros(10),
        fitted=np.zeros(10),
        response=np.full((4, 10), np.nan),
    )


CONTAINMENT = fit("containment")
CONTAINMENT_PAPER = fit("containment", form="paper")
CONTAINMENT_HOMOGENEOUS = fit("containment", "homogeneous")
DISCOVERY = fit("discovery_curve")
DISCOVERY_HOMOGENEOUS = fit("discovery_curve", "homogeneous")


JOINT, JOINT_HOMOGENEOUS = fit("joint"), fit("joint", "homogeneous")


def test_fits_that_are_ok_speak_in_this_order():
    order = [JOINT, CONTAINMENT, JOINT_HOMOGENEOUS, CONTAINMENT_HOMOGENEOUS, DISCOVERY, DISCOVERY_HOMOGENEOUS]
    for first, chosen in enumerate(order):
        rest = [*reversed(order[first:]), CONTAINMENT_PAPER]
        assert choose_headline(rest, clock="crawl") is chosen


@pytest.mark.parametrize("status", ["at_bound", "not_identified"])
def test_a_fit_that_is_ok_goes_before_one_that_is_not(status):
    fits = [fit("joint", status=status), fit("containment", status=status), JOINT_HOMOGENEOUS]
    assert choose_headline(fits, clock="crawl") is JOINT_HOMOGENEOUS
    assert choose_headline(fits[:2], clock="crawl") is fits[0]


def test_without_pairs_the_discovery_curve_speaks():
    assert choose_headline([DISCOVERY_HOMOGENEOUS, DISCOVERY], clock="crawl") is DISCOVERY


@pytest.mark.parametrize("status", ["too_few_points", "not_converged"])
def test_a_fit_that_gave_nothing_gives_way(status):
    fits = [fit("containment", status=status), CONTAINMENT_HOMOGENEOUS, DISCOVERY]
    assert choose_headline(fits, clock="crawl") is CONTAINMENT_HOMOGENEOUS


def test_an_empty_core_says_that_the_homogeneous_urn_suffices():
    fits = [fit("containment", status="at_bound", kappa=0.0), CONTAINMENT_HOMOGENEOUS]
    assert choose_headline(fits, clock="crawl") is CONTAINMENT_HOMOGENEOUS


def test_a_regression_that_came_out_as_no_urn_gives_way():
    no_urn = replace(CONTAINMENT_HOMOGENEOUS, coverage=1.236, status="not_identified")
    empty_core = fit("containment", status="at_bound", kappa=0.0)
    fits = [empty_core, no_urn, DISCOVERY_HOMOGENEOUS]
    assert choose_headline(fits, clock="crawl") is DISCOVERY_HOMOGENEOUS
    assert choose_headline(fits[:2], clock="crawl") is empty_core


def test_when_all_are_withheld_the_first_says_why():
    fits = [fit("containment", status="model_violation"), fit("discovery_curve", status="model_violation")]
    assert choose_headline(fits, clock="crawl") is fits[0]


def test_the_clock_is_the_collections():
    yearly = fit("containment", clock="year")
    assert choose_headline([CONTAINMENT, yearly], clock="year") is yearly
    with pytest.raises(ValueError, match="no fit has clock 'year'"):
        choose_headline([CONTAINMENT], clock="year")


LIMITS = {"kappa": (0.38, 0.42), "core_share": (0.51, 0.54), "alpha": (0.7, 0.8), "coverage": (0.55, 0.65)}


def headline_of(chosen, limits=LIMITS):
    fitted = [Fitted(chosen, limits), Fitted(DISCOVERY_HOMOGENEOUS, {})]
    return read_headline(parameters_table(fitted, chosen, CRAWLS))


def test_numbers_and_words_of_a_core_and_shell():
    headline = headline_of(CONTAINMENT)
    assert headline.fit_name == "core_shell containment, exact form, per crawl"
    assert headline.numbers == (
        "κ = 0.40 (0.38 to 0.42), μ = 0.526 (0.510 to 0.540), α = 0.75 (0.70 to 0.80), c = 0.60 (0.55 to 0.65)"
    )
    assert headline.sentence == (
        "Of each crawl, 52.6 % (51.0 to 54.0) is a core that was there every time, which is 40 % (38 to 42) of "
        "all that the crawler could have fetched. Of the rest, one crawl samples 60 % (55 to 65), and 75 % (70 to 80) "
        "can still be fetched in the next crawl. In brackets: 95 % intervals."
    )


def test_a_number_that_its_limits_leave_open_is_not_written():
    headline = headline_of(CONTAINMENT, {**LIMITS, "alpha": (0.02, 0.97)})
    assert "α not identified (0.02 to 0.97)" in headline.numbers
    assert "an unknown share (2 to 97) can still be fetched" in headline.sentence
    assert "75" not in headline.numbers + headline.sentence


def test_that_there_is_no_interval_is_said():
    headline = headline_of(CONTAINMENT, {})
    assert headline.numbers == "κ = 0.400, μ = 0.526, α = 0.750, c = 0.600"
    assert headline.sentence.endswith("No interval could be computed.")


def test_words_of_a_homogeneous_urn_name_no_core():
    headline = headline_of(CONTAINMENT_HOMOGENEOUS)
    assert set(headline.estimates) == set(headline.limits) == {"alpha", "coverage"}
    assert headline.numbers == "α = 0.75 (0.70 to 0.80), c = 0.60 (0.55 to 0.65)"
    assert headline.sentence.startswith("Without a separate core: a crawl samples 60 % (55 to 65)")


def test_where_all_is_core_nothing_is_said_of_a_rest():
    all_core = fit("joint", status="at_bound", kappa=1.0)
    reason = "kappa is at its bound 1: all elements belong to the core."
    headline = headline_of(replace(all_core, reason=reason))
    assert set(headline.estimates) == {"kappa", "core_share"}
    assert not headline.limits
    assert "there is no rest" in headline.sentence
    assert headline.sentence.endswith(f"Status at_bound: {reason}")
    assert "%" not in headline.sentence


def test_a_caution_is_never_left_out():
    headline = headline_of(fit("containment", status="not_identified"))
    assert headline.sentence.endswith("Status not_identified: because of not_identified.")


def test_of_a_fit_that_is_not_identified_the_limits_alone_are_written():
    left_open = fit("containment", status="not_identified")
    headline = headline_of(left_open, {**LIMITS, "alpha": (0.02, 0.97)})
    assert not headline.is_identified
    assert headline.numbers == "κ 0.38 to 0.42, μ 0.510 to 0.540, α not identified (0.02 to 0.97), c 0.55 to 0.65"
    assert headline.sentence.startswith("Of each crawl, 51.0 to 54.0 % is a core that was there every time")
    assert "No one number is identified; limits: 95 % intervals." in headline.sentence
    assert headline_of(left_open, {}).numbers == ", ".join(f"{one} not identified" for one in "κμαc")


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged"])
def test_withheld_numbers_are_not_there_to_be_shown(status):
    headline = headline_of(fit("containment", status=status))
    assert headline.withheld
    assert not headline.estimates
    assert not headline.limits
    assert headline.numbers == "withheld"
    assert headline.sentence == f"No urn parameters are given ({status}): because of {status}."


def test_a_table_without_headline_is_an_error():
    table = parameters_table([Fitted(CONTAINMENT, {})], CONTAINMENT, CRAWLS).assign(headline=False)
    with pytest.raises(ValueError, match="no headline row"):
        read_headline(table)
