"""The section on single elements answers which to seed again, and shows the lists with their expected yield."""

import pandas as pd

from crawl_urn_dagster.estimates.elements.assessment import ElementReason
from crawl_urn_dagster.estimates.elements.list_summary import USES
from crawl_urn_dagster.report.elements import elements_section
from crawl_urn_dagster_tests.report.reading import number, render, rows, section


def named(tables, name):
    return tables[name].assign(element=[f"<{name}>{k}" for k in range(len(tables[name]))])


def test_answer_has_the_expected_yield_and_the_first_names(tables, content_with):
    text = render(elements_section(content_with(reseed=named(tables, "reseed"))))
    reseed = tables["reseed"]
    counted = f"the first {len(reseed):,} of {reseed['qualifying'][0]:,} elements"
    assert f"Seed again: {counted} that the last crawl missed" in text
    assert f"**{round(reseed['score'].sum()):,}** are expected to be eligible" in text
    assert r"\<reseed\>0, \<reseed\>1, \<reseed\>2, …" in text
    assert f"eligible with a probability of {reseed['p_eligible'][9]:.2f}" in text


def test_every_list_has_its_rows_and_yield(page, tables):
    found = {row["list"].strip("`"): row for row in rows(section(page, "Which elements"), "list")}
    assert list(found) == list(USES)
    for name, row in found.items():
        shown, _, qualifying = row["elements"].partition(" of ")
        assert number(shown) == len(tables[name])
        assert number(qualifying or shown) == (tables[name]["qualifying"][0] if len(tables[name]) else 0)


def test_lists_that_end_early_state_how_many_qualify(tables, content_with):
    reseed = named(tables, "reseed").assign(qualifying=54_321)
    text = render(elements_section(content_with(reseed=reseed)))
    assert f"Seed again: the first {len(reseed):,} of 54,321 elements that the last crawl missed" in text
    assert rows(text, "list")[0]["elements"].strip() == f"{len(reseed):,} of 54,321"
    assert "`elements.list_rows` ends a list early" in text


def test_first_rows_have_keys_if_texts_are_not_kept(page, tables):
    shown = rows(section(page, "Which elements"), "key")
    assert shown[0]["key"].strip() == str(tables["reseed"]["key"][0])
    assert "`keep_elements` is off" in section(page, "Which elements")


def test_withheld_lists_have_the_reason(tables, content_with):
    reason = ElementReason.RETURNS_MISCALIBRATED
    scores = tables["element_scores"].assign(status="not_identified", reason_code=reason.value)
    empty = {name: tables[name][:0] for name in USES}
    text = render(elements_section(content_with(element_scores=scores, **empty)))
    assert "No element is proposed to be seeded again. Predicted and observed shares of missed elements" in text
    assert text.count("are not shown to differ by at most") == 2 + len(USES) - 1


def test_collections_of_counts_have_no_section(content_with):
    content = content_with()
    frames = {name: table for name, table in content.frames.items() if name != "element_scores"}
    assert elements_section(type(content)(content.collection, frames, broken_rules={})) is None


def test_untested_predictions_state_the_reason(tables, content_with):
    scores = pd.DataFrame([{"predictor": "model", "crawls_ahead": 1, "predictions": 0}])
    scores = scores.reindex(columns=tables["element_scores"].columns)
    scores = scores.assign(model="none", status="too_few_points", reason_code="no_model")
    empty = {name: tables[name][:0] for name in USES}
    text = render(elements_section(content_with(element_scores=scores, **empty)))
    assert ElementReason.NO_MODEL.sentence in text
    assert "nan" not in text.lower()
