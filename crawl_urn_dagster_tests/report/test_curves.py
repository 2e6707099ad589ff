"""The section on the paper's reading equals the tables, and concludes nothing from a refuted fit."""

import re

import numpy as np
import pandas as pd

from crawl_urn_dagster.report.content import rows_of_fit
from crawl_urn_dagster.report.curves import TITLE, curves_section
from crawl_urn_dagster_tests.report.reading import (
    N_CRAWLS,
    STATED,
    assert_written,
    columns,
    headline_row,
    number,
    render,
    section,
)


def text_of(content):
    return render(curves_section(content))


def refuted(parameters):
    """Return the parameters with a refuted headline."""
    return parameters.assign(
        status=parameters["status"].mask(parameters["headline"], "refuted"),
        reason=parameters["reason"].mask(parameters["headline"], "Tests refute it."),
    )


def test_section_quotes_the_fit_and_its_consequences(tables, page):
    text = section(page, TITLE)
    fit, planning = headline_row(tables), tables["planning"]
    now = planning[planning["current"]].iloc[0]
    assert f"Selected fit: core_shell joint, exact form, per crawl; status **{fit['status']}**." in text
    shares = STATED.findall(text)
    for stated, name in zip(shares[:4], ("core_share", "kappa", "coverage", "alpha"), strict=True):
        assert_written(stated, columns(fit, name), share=True)
    size, captured, eligible, core = re.search(
        r"mean size \((.*?) elements\) captures (.*?)\. This implies (.*?), of which the core has (.*?)\.$",
        text,
        flags=re.MULTILINE,
    ).groups()
    mean = tables["crawls"]["elements"].mean()
    assert number(size) == round(mean)
    assert_written(captured, columns(now, "crawl_size"), share=True)
    assert_written(eligible, mean / np.array(columns(now, "crawl_size"))[[0, 2, 1]])
    assert_written(core, mean * np.array(columns(fit, "core_share")))
    lifetime = columns(rows_of_fit(tables["operator_terms"], fit).iloc[0], "life_expectancy")
    crawls_left, days_left = re.search(r"another (.*\)) on average.* that is (.*\))\.", text).groups()
    assert_written(crawls_left, lifetime)
    gap = tables["crawls"]["started_at"].diff().mean() / pd.Timedelta(days=1)
    assert_written(days_left, gap * np.array(lifetime))


def test_captured_share_is_stated_without_sizes(tables, content_with):
    planning = tables["planning"]
    crawls = tables["crawls"].assign(elements=pd.array([None] * N_CRAWLS, dtype="Int64"))
    (stated,) = re.findall(
        r"One crawl captures (.*) of the eligible elements (\(.*?\))\.", text_of(content_with(crawls=crawls))
    )
    assert_written(" ".join(stated), columns(planning[planning["current"]].iloc[0], "crawl_size"), share=True)


def test_nothing_is_concluded_from_a_refuted_fit(tables, content_with):
    text = text_of(content_with(parameters=refuted(tables["parameters"])))
    assert "status **refuted**. Its parameters are not quoted.\n" in text
    assert "Fitted to the curves alone, the parameters are κ = 0." in text
    assert "Tests refute it." in text
    assert "Nothing else on this page is concluded from this fit." in text
    assert not STATED.search(text.split("Fitted to the curves alone")[0])
    for claim in ("makes up", "eligible elements (95 %", "stay eligible for another"):
        assert claim not in text


def test_nothing_is_concluded_if_the_verdict_allows_no_number(tables, content_with):
    diagnosis = tables["diagnosis"]
    verdict = diagnosis["verdict"].mask(diagnosis["test"] == "collection", "too_short")
    text = text_of(content_with(diagnosis=diagnosis.assign(verdict=verdict)))
    assert "Nothing else on this page is concluded from this fit." in text
    assert "stay eligible for another" not in text


def test_dependence_on_the_window_is_stated(tables, content_with):
    history = tables["parameter_history"]
    is_window = history["headline"].astype(bool) & history["kappa"].notna()
    assert is_window.any()
    assert "κ depends on the window" not in text_of(content_with())
    shifted = history.assign(**{name: history[name] + 0.3 for name in ("kappa", "kappa_low", "kappa_high")})
    text = text_of(content_with(parameter_history=shifted))
    whole = headline_row(tables)
    assert f"**κ depends on the window**: it is {whole['kappa']:.3f} (" in text
    assert f"for {whole['first_crawl']} to {whole['last_crawl']} and " in text


def test_unidentified_parameters_have_no_derived_quantities(tables, content_with):
    parameters = tables["parameters"]
    status = parameters["status"].mask(parameters["headline"], "not_identified")
    text = text_of(content_with(parameters=parameters.assign(status=status)))
    assert "The eligible population and the residual lifetime are not reported because" in text
    assert "stay eligible for another" not in text
    assert "more precisely" not in text


def test_better_yearly_fit_is_stated_for_uneven_gaps(tables, content_with):
    assert "per mean gap" not in text_of(content_with())
    crawls, parameters = tables["crawls"], tables["parameters"]
    uneven = crawls.assign(years=crawls["years"].where(crawls.index < N_CRAWLS - 1, 9.0))
    is_yearly = parameters["clock"] == "year"
    closer = parameters.assign(residual_rms=parameters["residual_rms"].where(~is_yearly, 1e-9), status="ok")
    made = curves_section(content_with(crawls=uneven, parameters=closer))
    assert "The fit per year is closer" in made.answer
    assert any(
        "The headline stays on the configured clock, `crawl`." in text for text in made.blocks if isinstance(text, str)
    )
    blocks = made.blocks
    (text,) = (text for text in blocks if isinstance(text, str) and "per mean gap" in text)
    fit = rows_of_fit(closer, {**headline_row(tables), "clock": "year"}).iloc[-1]
    per_year, per_gap = STATED.findall(text)
    assert_written(per_year, columns(fit, "alpha"), share=True)
    assert_written(per_gap, np.array(columns(fit, "alpha")) ** uneven["years"].diff().mean(), share=True)


def test_core_that_is_not_permanent_is_the_longest_lived_part(tables, content_with):
    text = text_of(content_with())
    assert "of which the core has" in text
    assert "The *core* consists of the elements that every crawl captures" in text
    parameters = tables["parameters"].assign(reason_code="core_not_permanent")
    text = text_of(content_with(parameters=parameters))
    assert "of which the longest-lived part has" in text
    assert "The *core* is the longest-lived part of the urn, but not permanent" in text
    assert "every crawl captures;" not in text
