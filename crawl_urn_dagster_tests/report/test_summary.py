"""The opening and the reliability section equal the tables."""

import re

import numpy as np
import pandas as pd

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.report import Content
from crawl_urn_dagster.report.content import rows_of_fit
from crawl_urn_dagster.report.summary import lead, reliability_section
from crawl_urn_dagster_tests.report.reading import (
    N_CRAWLS,
    STATED,
    assert_written,
    columns,
    headline_row,
    number,
    render,
)


def test_lead_quotes_the_headline_and_its_consequences(tables, page):
    quoted = re.search(r"^> \*\*Reliable \(`sound`\)\.\*\* (.*)$", page, flags=re.MULTILINE)[1]
    shares = STATED.findall(quoted)
    fit, planning = headline_row(tables), tables["planning"]
    now = planning[planning["current"]].iloc[0]
    assert_written(shares[0], columns(now, "crawl_size"), share=True)
    for text, name in zip(shares[1:], ("core_share", "kappa", "coverage", "alpha"), strict=True):
        assert_written(text, columns(fit, name), share=True)
    size, captured, eligible, core = re.search(
        r"mean size \((.*?) elements\) captures (.*?)\. This implies (.*?), of which the core has (.*?)\.$",
        page,
        flags=re.MULTILINE,
    ).groups()
    mean = tables["crawls"]["elements"].mean()
    assert number(size) == round(mean)
    assert_written(captured, columns(now, "crawl_size"), share=True)
    assert_written(eligible, mean / np.array(columns(now, "crawl_size"))[[0, 2, 1]])
    assert_written(core, mean * np.array(columns(fit, "core_share")))
    lifetime = columns(rows_of_fit(tables["operator_terms"], fit).iloc[0], "life_expectancy")
    crawls_left, days_left = re.search(r"another (.*\)) on average.* that is (.*\))\.", page).groups()
    assert_written(crawls_left, lifetime)
    gap = tables["crawls"]["started_at"].diff().mean() / pd.Timedelta(days=1)
    assert_written(days_left, gap * np.array(lifetime))


def test_comparisons_are_counted_by_verdict(tables, content_with):
    diagnosis = tables["diagnosis"]
    (_, text, *_) = reliability_section(content_with()).blocks
    n = len(diagnosis.query("test != 'collection' and verdict != 'not_tested'"))
    assert text == f"Goodness of fit: 0 of {n} comparisons failed. See *Goodness of fit*."
    verdicts = ["not_tested", "fails", "fails", *diagnosis["verdict"][3:]]
    (_, text, *_) = reliability_section(content_with(diagnosis=diagnosis.assign(verdict=verdicts))).blocks
    assert text.startswith(f"Goodness of fit: 2 of {n - 1} comparisons failed; 1 could not be tested.")
    untestable = diagnosis.assign(verdict=diagnosis["verdict"].where(diagnosis["test"] == "collection", "not_tested"))
    assert "Goodness of fit could not be tested." in render(reliability_section(content_with(diagnosis=untestable)))


def test_lead_marks_simulated_data(tables, page):
    assert "Simulated data" not in page
    note, headline, *_ = lead(Content(demo_collection(), tables, broken_rules={}))
    assert note == "**Simulated data, not a real crawl** (κ 0.4, α 0.75, c 0.6, seed 1)."
    assert "One crawl captures " in headline


def test_unidentified_parameters_have_no_derived_quantities(tables, content_with):
    parameters = tables["parameters"]
    status = parameters["status"].mask(parameters["headline"], "not_identified")
    text = "\n".join(lead(content_with(parameters=parameters.assign(status=status))))
    assert "The eligible population and the residual lifetime are not reported because" in text
    assert "stay eligible for another" not in text
    assert "more precisely" not in text


def test_lead_recommends_a_better_yearly_fit_for_uneven_gaps(tables, content_with):
    assert "per mean gap" not in "".join(lead(content_with()))
    crawls, parameters = tables["crawls"], tables["parameters"]
    uneven = crawls.assign(years=crawls["years"].where(crawls.index < N_CRAWLS - 1, 9.0))
    is_yearly = parameters["clock"] == "year"
    closer = parameters.assign(residual_rms=parameters["residual_rms"].where(~is_yearly, 1e-9), status="ok")
    (text,) = (text for text in lead(content_with(crawls=uneven, parameters=closer)) if "per mean gap" in text)
    fit = rows_of_fit(closer, {**headline_row(tables), "clock": "year"}).iloc[-1]
    per_year, per_gap = STATED.findall(text)
    assert_written(per_year, columns(fit, "alpha"), share=True)
    assert_written(per_gap, np.array(columns(fit, "alpha")) ** uneven["years"].diff().mean(), share=True)


def test_core_that_is_not_permanent_is_the_longest_lived_part(tables, content_with):
    text = "".join(lead(content_with()))
    assert "of which the core has" in text
    assert "The *core* consists of the elements that every crawl captures" in text
    parameters = tables["parameters"].assign(reason_code="core_not_permanent")
    text = "".join(lead(content_with(parameters=parameters)))
    assert "of which the longest-lived part has" in text
    assert "The *core* is the longest-lived part of the urn, but not permanent" in text
    assert "every crawl captures;" not in text


def test_reliability_names_changes_and_violated_rules(tables, content_with):
    since = tables["crawls"]["crawl"][12]
    drift = tables["drift"].assign(reason=None, drifted=True, since_crawl=since)
    rules = {"a rule": tables["crawls"], "another rule": tables["crawls"]}
    text = render(reliability_section(content_with(drift=drift, broken_rules=rules)))
    assert f"**A change began with {since}, but the estimates describe all crawls" in text
    assert "**The data violate 2 consistency rules**; see *Data quality*." in text
    assert "A change began" not in render(reliability_section(content_with()))
