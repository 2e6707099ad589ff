"""Test bounds from two lists, and odds ratios that a register or a third list shows."""

import numpy as np
import pytest

from crawl_urn_dagster.urn.capture_recapture.closed_populations import petersen
from crawl_urn_dagster.urn.capture_recapture.two_lists import TwoLists, conditional_odds_ratio, frame_odds_ratio


def test_independent_lists_are_petersen():
    lists = TwoLists(150, 150, 450)
    assert lists.population() == petersen(600, 600, 450).estimate
    assert lists.band(1, 1).low < 800 < lists.band(1, 1).high


def test_population_at_the_true_odds_ratio_is_the_truth():
    lists, neither = TwoLists(883, 3, 79), 148  # two crawlers of one day, and the hosts alive on it
    ratio = frame_odds_ratio(lists, neither)
    assert lists.population(ratio.estimate) == pytest.approx(lists.captured + neither)
    assert ratio.low < ratio.estimate < ratio.high
    assert not ratio.is_near_one


def test_lists_without_a_common_element_have_no_estimate():
    lists = TwoLists(10, 20, 0)
    assert np.isnan(lists.population())
    assert lists.band(1, 10) == (30, np.inf)
    assert TwoLists(0, 5, 10).band(1, 10) == (15, 15)


def test_lost_elements_of_the_earlier_list_leave_it():
    later = TwoLists(300, 200, 500).after_losses(0.9, first_is_earlier=True)
    assert later == TwoLists(220, 200, 500)
    assert TwoLists(10, 200, 500).after_losses(0.9, first_is_earlier=True).first_only == 0
    assert TwoLists(300, 200, 500).after_losses(0.9, first_is_earlier=False).second_only == pytest.approx(130)


def test_a_third_list_shows_the_dependence_of_two_lists():
    rng = np.random.default_rng(11)
    first, third = rng.random((2, 200_000)) < 0.5
    second = rng.random(200_000) < np.where(first, 0.6, 3 / 7)  # odds ratio 2
    counts = np.bincount(first + 2 * second + 4 * third, minlength=8)[1:]
    dependent, independent = conditional_odds_ratio(counts, 0, 1), conditional_odds_ratio(counts, 0, 2)
    assert dependent.low < 2 < dependent.high
    assert not dependent.is_near_one
    assert independent.low < 1 < independent.high
    assert independent.is_near_one


def test_an_odds_ratio_without_elements_is_unknown():
    assert not conditional_odds_ratio([10, 10, 0, 0, 0, 0, 0], 0, 1).is_known
    assert not frame_odds_ratio(TwoLists(5, 0, 10), 3).is_known
