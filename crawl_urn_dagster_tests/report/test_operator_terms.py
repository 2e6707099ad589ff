"""The quantities for operators equal the tables."""

import numpy as np

from crawl_urn_dagster.report.content import rows_of_fit
from crawl_urn_dagster.report.operator_terms import operator_terms_section
from crawl_urn_dagster_tests.report.reading import assert_written, columns, headline_row, render, rows, section

TITLE, VALUE = "Quantities for operators", "value (95 % CI)"
TIMES = {
    "residual lifetime": "life_expectancy",
    "half-life": "half_life",
    "captured time": "sampled_time",
    "missed time": "hidden_time",
    "time to resolution": "hiding_time",
}


def test_operator_terms_are_the_tables(tables, page):
    fit, planning = headline_row(tables), tables["planning"]
    now = planning[planning["current"]].iloc[0]
    terms = rows_of_fit(tables["operator_terms"], fit).iloc[0]
    quantities = tables["quantities"].set_index("quantity")
    expected = {
        "captured share of the urn": (columns(now, "crawl_size"), True),
        "core share of a crawl, μ": (columns(quantities.loc["core_share"], "value"), True),
        "core fraction of the urn, κ": (columns(quantities.loc["kappa"], "value"), True),
        "shell coverage, c": (columns(fit, "coverage"), True),
        "churn, 1 − α": (tuple(1 - np.array(columns(fit, "alpha"))[[0, 2, 1]]), True),
        "unique rate": (columns(now, "nu_inf"), True),
        **{title: (columns(terms, name), False) for title, name in TIMES.items()},
    }
    assert f"Status of the fit: **{fit['status']}**." in section(page, TITLE)
    shown = rows(section(page, TITLE))
    assert [row["quantity"] for row in shown] == list(expected)
    for row in shown:
        numbers, share = expected[row["quantity"]]
        assert_written(row[VALUE], numbers, share=share)
        assert row["unit"]
        assert row["what moves it"]


def test_terms_of_unidentified_parameters_are_not_identified(tables, content_with):
    parameters = tables["parameters"]
    status = parameters["status"].mask(parameters["headline"], "not_identified")
    page = render(operator_terms_section(content_with(parameters=parameters.assign(status=status))))
    shown = {row["quantity"]: row[VALUE] for row in rows(page, "quantity")}
    not_identified = [quantity for quantity, value in shown.items() if value == "not identified"]
    assert not_identified == ["captured share of the urn", "unique rate", *TIMES]


def test_refuted_fit_gives_no_terms(tables, content_with):
    parameters = tables["parameters"]
    headline = parameters["headline"]
    status = parameters["status"].mask(headline, "refuted")
    (text,) = operator_terms_section(content_with(parameters=parameters.assign(status=status))).blocks
    assert text.startswith("Not reported (refuted: tests of the collection contradict the fit of the curves). See ")
