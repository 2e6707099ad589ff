"""The first screen answers the questions of an operator by the tables."""

import re

import pandas as pd
import pytest

from crawl_urn_dagster.report.answers import answers_table
from crawl_urn_dagster.report.planning import planning_section
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
    plans = tables["equal_budget"]
    others = plans[~plans["current"].astype(bool)].dropna(subset="coverage").sort_values("new_change", ascending=False)
    answer = answers(content_with())[BUDGET]
    days = tables["crawls"]["started_at"].diff().mean() / pd.Timedelta(days=1)
    best = others.iloc[0]
    assert f"elements every {days * best['cadence']:.0f} days" in answer
    assert "new elements a year" in answer
    shown = rows(render(planning_section(content_with())), "new elements a year")
    for row, plan in zip(shown, plans.sort_values("gap").to_dict("records"), strict=True):
        assert row["gap, days"].startswith(f"{days * plan['cadence']:.0f}")
        if plan["current"]:
            expected = "as now"
        elif pd.isna(plan["coverage"]):
            expected = "not possible"
        elif plan["new_change_low"] > 0:
            expected = " more"
        else:
            expected = " fewer" if plan["new_change_high"] < 0 else "about as many"
        assert row["new elements a year"].endswith(expected)


@pytest.mark.parametrize(
    ("cadence", "change", "start"),
    [
        (1.25, (0.1, 0.05, 0.2), "**Larger crawls, less often.** For equal fetches, "),
        (0.8, (0.1, 0.05, 0.2), "**Smaller crawls, more often.** For equal fetches, "),
        (1.25, (-0.1, -0.2, -0.05), "**Keep the present plan.** For equal fetches, "),
        (0.8, (0.1, -0.05, 0.2), "**No plan is better.** For equal fetches, "),
    ],
)
def test_recommended_plan_is_the_best_whose_interval_excludes_no_change(tables, content_with, cadence, change, start):
    plans = tables["equal_budget"]
    value, low, high = change
    changed = plans[plans["current"] | (plans["cadence"] == cadence)].assign(
        coverage=0.5, new_change=value, new_change_low=low, new_change_high=high
    )
    assert answers(content_with(equal_budget=changed))[BUDGET].startswith(start)


def test_missing_plans_are_stated(tables, content_with):
    none = tables["equal_budget"].iloc[:0]
    assert answers(content_with(equal_budget=none))[BUDGET].startswith("Not planned: ")
