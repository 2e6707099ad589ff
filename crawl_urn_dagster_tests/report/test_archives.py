"""The section on other archives shows coverage, bounds and missing crawls."""

import pandas as pd

from crawl_urn_dagster.report.archives import archives_section
from crawl_urn_dagster_tests.figures.frames import overlap_of_archives
from crawl_urn_dagster_tests.report.reading import render

RANGE = {"estimator": "petersen", "sensitivity_low": 700.0, "sensitivity_high": 2000.0}
PAIR = {"match": "2024-01", "lists": "mine + theirs", "crawls": "2024-01 + 2024-01", "unit": "elements"}


def section(content_with, *rows):
    frame = pd.concat([overlap_of_archives(), pd.DataFrame(rows)])
    return render(archives_section(content_with(cross_archive=frame)))


def test_collections_without_other_archives_have_no_section(content_with):
    assert archives_section(content_with()) is None


def test_dependent_lists_have_a_range_and_no_estimate(content_with):
    row = {**PAIR, **RANGE, "quantity": "population", "status": "dependent", "reason": "They depend."}
    text = section(content_with, row)
    assert "**The lists depend on each other.**" in text
    assert "| mine + theirs" in text
    assert "40 to 72 %" in text.replace("  ", " ")
    assert "700 to 2,000" in text


def test_agreement_with_the_register_is_stated(content_with):
    text = section(content_with)
    assert "inside the 95 % confidence interval of the collection's own crawls in 1 of 1 match" in text
    assert "2.5 percentage points above it" in text


def test_missing_crawls_and_gaps_are_listed(content_with):
    missing = {**PAIR, "lists": "mine", "quantity": "missing_crawl", "estimate": 1.0, "status": "missing"}
    text = section(content_with, missing)
    assert "missing entirely" in text
    assert "missing\\_crawl" in text or "missing_crawl" in text


def test_no_match_is_stated(content_with):
    text = render(archives_section(content_with(cross_archive=overlap_of_archives().iloc[:0])))
    assert "No crawl of another archive matches" in text


def test_strata_show_what_each_list_has_alone(content_with):
    rows = [
        {**PAIR, "lists": name, "stratum": "com", "quantity": quantity, "estimator": "counted", "estimate": value}
        for name, quantity, value in (("mine", "elements", 60.0), ("mine", "only", 20.0), ("theirs", "only", 5.0))
    ]
    assert "mine, only" in section(content_with, *rows)
