"""The first screen answers the questions of an operator by the tables."""

import re

import pandas as pd
import pytest

from crawl_urn_dagster.report.answers import answers_table
from crawl_urn_dagster.report.summary import lead
from crawl_urn_dagster_tests.report.reading import number, render, rows

MOST_WORDS = 150
OUT_THERE = "How much is out there, and in one crawl?"
LOSSES, LAST, BUDGET = "What is lost between crawls?", "Did the last crawl stand out?", "More often, or more each time?"


def answers(content):
    return {row["question"]: row["answer"] for row in rows(answers_table(content).text)}


def pair(tables):
    """Return the size of the last crawl but one and the elements that it shares with the last."""
    pairs, labels = tables["containment"], tables["crawls"]["crawl"]
    row = pairs[(pairs["crawl_i"] == labels.iloc[-2]) & (pairs["crawl_j"] == labels.iloc[-1])].iloc[0]
    return row["size_i"], row["intersection"]


def test_first_screen_is_short(content_with):
    words = re.findall(r"\w[\w,.]*", render(lead=lead(content_with())))
    assert len(words) <= MOST_WORDS


def test_population_and_completeness_are_the_quantities(tables, content_with):
    answer = answers(content_with())[OUT_THERE]
    quantities = tables["quantities"].set_index("quantity")["value"]
    assert number(answer.split(" ")[0]) == pytest.approx(quantities["population"], rel=0.02)
    share = re.search(r"holds \*\*([\d.]+) %", answer)[1]
    assert float(share) == pytest.approx(100 * quantities["completeness"], rel=0.02)


def test_losses_are_split_into_gone_and_missed(tables, content_with):
    size, shared = pair(tables)
    answer = answers(content_with())[LOSSES]
    found = re.match(
        r"([\d,]+) of ([\d,]+) elements \(([\d.]+) %\) are not in the last crawl: at mean-gap rates, ([\d,]+) \(.*?\) "
        r"gone, ([\d,]+) \(.*?\) missed\.",
        answer,
    ).groups()
    missing, before, percent, gone, missed = (number(one) for one in found)
    assert (before, missing) == (size, size - shared)
    assert percent == pytest.approx(100 * missing / before, rel=0.01)
    share = tables["quantities"].set_index("quantity").loc["gone", "value"]
    assert gone == pytest.approx(share * size, rel=0.05)
    assert gone + missed == pytest.approx(missing, rel=0.05)


def test_losses_beyond_the_missing_elements_are_not_stated(tables, content_with):
    quantities = tables["quantities"].assign(value_high=1.0, value=0.9, value_low=0.8)
    size, shared = pair(tables)
    found = re.findall(r"([\d,]+) \(([\d,]+) to ([\d,]+)\)", answers(content_with(quantities=quantities))[LOSSES])
    assert all(number(one) <= size - shared for part in found for one in part)


def test_unknown_overlap_and_withheld_loss_are_stated(tables, content_with):
    assert answers(content_with(containment=tables["containment"].iloc[:0]))[LOSSES].startswith("Unknown: ")
    quantities = tables["quantities"]
    without = quantities[quantities["quantity"] != "gone"]
    assert "is not reported" in answers(content_with(quantities=without))[LOSSES]


def test_last_crawl_stands_out_if_the_table_says_so(tables, content_with):
    table = tables["last_crawl"]
    assert answers(content_with())[LAST].startswith("No. ")
    is_size = table["quantity"] == "crawl_size"
    odd = table.assign(verdict=table["verdict"].mask(is_size, "below"))
    assert answers(content_with(last_crawl=odd))[LAST].startswith("**Yes.** The last crawl, ")
    untested = table.assign(verdict="not_tested")
    assert answers(content_with(last_crawl=untested))[LAST] == "Not tested: too few earlier crawls."


def test_plans_of_equal_budget_are_named_with_their_change(tables, content_with):
    plans = tables["equal_budget"].dropna(subset="coverage")
    others = plans[~plans["current"].astype(bool)].sort_values("new_change", ascending=False)
    answer = answers(content_with())[BUDGET]
    parts = answer.removeprefix("For equal fetches: ").split("; ")
    assert len(parts) == len(others) > 0
    days = tables["crawls"]["started_at"].diff().mean() / pd.Timedelta(days=1)
    for part, row in zip(parts, others.to_dict("records"), strict=True):
        assert f" every {days * row['cadence']:.0f} days finds " in part
        if row["new_change_low"] > 0:
            assert " more new elements" in part
        elif row["new_change_high"] < 0:
            assert " fewer new elements" in part
        else:
            assert "about as many new elements" in part
    none = tables["equal_budget"].iloc[:0]
    assert answers(content_with(equal_budget=none))[BUDGET].startswith("Not planned: ")
