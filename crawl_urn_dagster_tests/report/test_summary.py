"""The opening block equals the tables of the assessment."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.estimates.assessment.result import QUANTITY_LABELS
from crawl_urn_dagster.report import Content
from crawl_urn_dagster.report.summary import lead, quantities_section
from crawl_urn_dagster_tests.report.reading import assert_written, columns, number, render, rows

INNER = "95 % CI if the assumption holds"


def opening(content):
    """Return the lead and the numbers that may be quoted, as Markdown."""
    return render(quantities_section(content), lead=lead(content))


def with_verdict(diagnosis, name, meaning="what it means"):
    is_verdict = diagnosis["test"] == "collection"
    return diagnosis.assign(
        verdict=diagnosis["verdict"].mask(is_verdict, name), meaning=diagnosis["meaning"].mask(is_verdict, meaning)
    )


def test_page_opens_with_the_verdict(page):
    assert page.split("\n\n")[1].startswith(
        "> ✔ **Numbers may be quoted: yes (`sound`).** The urn model fits, and its "
    )


def test_quantities_are_the_table(tables, content_with):
    text = opening(content_with())
    expected = tables["quantities"].set_index("quantity")
    shown = {row["quantity"]: row for row in rows(text, "value (95 % CI)")}
    assert list(shown) == [QUANTITY_LABELS[name][0] for name in expected.index]
    for name, quantity in expected.iterrows():
        row, share = shown[QUANTITY_LABELS[name][0]], quantity["unit"].startswith("fraction")
        assert_written(row["value (95 % CI)"], columns(quantity, "value"), share=share)
        if name in {"completeness", "kappa", "population", "really_new"}:
            assert_written(row[INNER], (np.nan, quantity["inner_low"], quantity["inner_high"]), share=share)
        else:
            assert row[INNER] == "–"
    assert "No test can check whether elements are covered in their first crawl as later." in text


def test_quantity_without_a_value_gives_its_interval(tables, content_with):
    quantities = tables["quantities"]
    is_core = quantities["quantity"].isin(["kappa", "core_share"])
    withheld = quantities.assign(value=quantities["value"].mask(is_core))
    shown = {row["quantity"]: row for row in rows(opening(content_with(quantities=withheld)), "value (95 % CI)")}
    low, high = withheld.set_index("quantity").loc["core_share", ["value_low", "value_high"]]
    assert_written(shown["μ"]["value (95 % CI)"], (np.nan, low, high), share=True)


def test_classes_and_last_crawls_are_the_tables(tables, content_with):
    text = opening(content_with())
    classes = tables["classes"].set_index("class")
    for row in rows(text, "mean absence"):
        expected = classes.loc[row["class"]]
        assert number(row["share of a crawl"].removesuffix(" %")) == pytest.approx(
            100 * expected["share_of_crawl"], rel=1e-3
        )
        assert number(row["mean run"]) == pytest.approx(expected["mean_run"], rel=1e-3)
    population = tables["population"].tail(3)
    for row, expected in zip(rows(text, "crawl"), population.to_dict("records"), strict=True):
        assert row["crawl"] == expected["crawl"]
        assert_written(row["known eligible elements"], columns(expected, "population"))
        assert_written(row["crawl completeness"], columns(expected, "completeness"), share=True)


def test_refuted_collection_quotes_no_number(tables, content_with):
    none = {name: tables[name].iloc[:0] for name in ("quantities", "classes", "population")}
    diagnosis = with_verdict(tables["diagnosis"], "misfit", "Crawl b was set aside.")
    content = content_with(diagnosis=diagnosis, **none)
    text = opening(content)
    assert "> ✘ **Numbers may be quoted: no (`misfit`).** Crawl b was set aside." in text
    assert "This page quotes no number of the population." in text
    answers = {row["question"]: row["answer"] for row in rows(text, "answer")}
    assert answers["How much is out there, and in one crawl?"] == "Not reported: see the verdict."
    assert answers["What is lost between crawls?"].endswith("whether they are gone or were missed is not reported.")
    assert "Selected model: none." in text


def test_lead_marks_simulated_data(tables, page):
    assert "Simulated data" not in page
    note, verdict, *_ = lead(Content(demo_collection(), tables, broken_rules={}))
    assert note == "**Simulated data** (κ 0.4, α 0.75, c 0.6, seed 1)."
    assert verdict.level == "good"
    assert verdict.text.startswith("**Numbers may be quoted: yes")


def test_lead_names_changes_and_violated_rules(tables, content_with):
    since = tables["crawls"]["crawl"][12]
    drift = tables["drift"].assign(reason=None, drifted=True, since_crawl=since)
    rules = {"a rule": tables["crawls"], "another rule": tables["crawls"]}
    text = opening(content_with(drift=drift, broken_rules=rules))
    assert f"**A change began with {since}, but the numbers describe all crawls" in text
    assert "**The data violate 2 consistency rules**; see *Data quality*." in text
    assert "A change began" not in opening(content_with())


def test_basis_states_crawls_and_model(tables, page):
    sizes, gap = tables["crawls"]["elements"], tables["crawls"]["started_at"].diff().mean() / pd.Timedelta(days=1)
    assert f"Basis: 16 crawls of {sizes.min():,} to {sizes.max():,} elements each, " in page
    assert f", {gap:.0f} days apart on average. Selected model: core_shell." in page
