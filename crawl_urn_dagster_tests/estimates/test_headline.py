from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.headline import choose_headline, read_headline
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
    )


CONTAINMENT = fit("containment")
CONTAINMENT_PAPER = fit("containment", form="paper")
CONTAINMENT_HOMOGENEOUS = fit("containment", "homogeneous")
DISCOVERY = fit("discovery_curve")
DISCOVERY_HOMOGENEOUS = fit("discovery_curve", "homogeneous")


def test_the_exact_containment_fit_speaks_first():
    fits = [DISCOVERY, CONTAINMENT_HOMOGENEOUS, CONTAINMENT_PAPER, CONTAINMENT]
    assert choose_headline(fits, clock="crawl") is CONTAINMENT


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


@pytest.mark.parametrize("status", ["at_bound", "not_identified"])
def test_other_cautions_do_not_dethrone_a_fit(status):
    cautious = fit("containment", status=status)
    assert choose_headline([cautious, CONTAINMENT_HOMOGENEOUS], clock="crawl") is cautious


def test_when_all_are_withheld_the_first_says_why():
    fits = [fit("containment", status="model_violation"), fit("discovery_curve", status="model_violation")]
    assert choose_headline(fits, clock="crawl") is fits[0]


def test_the_clock_is_the_collections():
    yearly = fit("containment", clock="year")
    assert choose_headline([CONTAINMENT, yearly], clock="year") is yearly
    with pytest.raises(ValueError, match="no fit has clock 'year'"):
        choose_headline([CONTAINMENT], clock="year")


def headline_of(chosen):
    return read_headline(parameters_table([chosen, DISCOVERY_HOMOGENEOUS], chosen, CRAWLS))


def test_numbers_and_words_of_a_core_and_shell():
    headline = headline_of(CONTAINMENT)
    assert headline.fit_name == "core_shell containment, exact form, per crawl"
    assert headline.numbers == "κ = 0.400, μ = 0.526, α = 0.750, c = 0.600"
    assert headline.sentence == (
        "Of each crawl, 52.6 % is a core that is there every time (40.0 % of the urn); of the rest, a crawl samples "
        "60.0 % of what could be sampled, and 75.0 % of it is still there from one crawl to the next. "
        "Intervals are not computed yet."
    )


def test_words_of_a_homogeneous_urn_name_no_core():
    headline = headline_of(CONTAINMENT_HOMOGENEOUS)
    assert headline.kappa is None
    assert headline.numbers == "α = 0.750, c = 0.600"
    assert headline.sentence.startswith("No separate core is needed: a crawl samples 60.0 %")


def test_a_caution_is_never_left_out():
    headline = headline_of(fit("containment", status="not_identified"))
    assert headline.sentence.endswith("Status not_identified: because of not_identified.")


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged"])
def test_withheld_numbers_are_not_there_to_be_shown(status):
    headline = headline_of(fit("containment", status=status))
    assert headline.withheld
    assert (headline.kappa, headline.core_share, headline.alpha, headline.coverage) == (None,) * 4
    assert headline.numbers == "withheld"
    assert headline.sentence == f"No urn parameters are given ({status}): because of {status}."


def test_a_table_without_headline_is_an_error():
    table = parameters_table([CONTAINMENT], CONTAINMENT, CRAWLS).assign(headline=False)
    with pytest.raises(ValueError, match="no headline row"):
        read_headline(table)
