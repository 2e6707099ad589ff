"""The sections on goodness of fit equal the tables."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.report.goodness_of_fit import fit_section, model_comparison_section
from crawl_urn_dagster.urn import NO_POINT_ESTIMATE_STATUSES, UNREPORTED_STATUSES, Interval
from crawl_urn_dagster_tests.report.reading import (
    assert_written,
    columns,
    estimate,
    headline_row,
    number,
    render,
    rows,
    section,
)


def test_table_of_fits_is_the_parameters(tables, page):
    fits = tables["parameters"].query("stratum.isna() and component != 'core'")
    key = ["projection", "model", "form", "clock", "status"]
    for row, fit in zip(rows(section(page, "Goodness of fit"), "n_points"), fits.to_dict("records"), strict=True):
        assert [row[name] for name in key] == [fit[name] for name in key]
        for name in SYMBOLS:
            if fit["status"] in UNREPORTED_STATUSES or pd.isna(fit[name]):
                assert row[name] == "–"
            elif pd.isna(fit[f"{name}_low"]):
                assert number(row[name]) == pytest.approx(fit[name], rel=1e-3)
            else:
                assert_written(row[name], columns(fit, name))
                has_no_point = (
                    fit["status"] in NO_POINT_ESTIMATE_STATUSES or Interval(*columns(fit, name)[1:]).is_uninformative
                )
                assert np.isnan(estimate(row[name])[0]) == has_no_point
    assert any(fits["status"] == "not_identified")


def test_table_of_tests_is_the_diagnosis(tables, page):
    tests = tables["diagnosis"].query("test != 'collection'")
    tests = tests.set_index(tests["test"] + ", " + tests["subject"])
    shown = rows(section(page, "Goodness of fit"), "fails below")
    assert {row["comparison"].split(",")[0] for row in shown} == set(tests["test"])
    for row in shown:
        test = tests.loc[row["comparison"]]
        assert number(row["observed"]) == pytest.approx(test["observed"], rel=1e-3)
        assert row["verdict"] == test["verdict"].replace("_", " ")
        if not pd.isna(test["difference_low"]):
            assert_written(row["difference"], columns(test, "difference"))


def test_estimates_by_observable_are_the_tables(tables, page):
    parameters, fit = tables["parameters"], headline_row(tables)
    is_compared = (
        (parameters["model"] == fit["model"])
        & (parameters["clock"] == fit["clock"])
        & (parameters["form"] == "exact")
        & (parameters["component"] == "shell")
    )
    fits = parameters[is_compared].set_index("projection")
    tests = tables["diagnosis"].query("test == 'projections'").set_index("subject")
    for row, name in zip(rows(section(page, "Estimates by observable")), SYMBOLS, strict=True):
        for projection in ("containment", "discovery_curve", "joint", "histories"):
            assert_written(row[projection], columns(fits.loc[projection], name))
        assert_written(row["difference"], columns(tests.loc[name], "difference"))


def test_revisit_delay_fits_show_delay_and_crawls(tables, content_with):
    fit = headline_row(tables).to_frame().T.assign(model="revisit_delay", first_crawl="2020-01", last_crawl="2021-06")
    fits = pd.concat([fit.assign(delay_crawls=1), fit.assign(delay_crawls=2, first_crawl="2021-07")])
    content = content_with(parameters=pd.concat([tables["parameters"], fits]))
    models = [row["model"] for row in rows(render(fit_section(content)), "n_points")]
    assert models[-2:] == [
        "revisit_delay of 1 crawl, 2020-01 to 2021-06",
        "revisit_delay of 2 crawls, 2021-07 to 2021-06",
    ]


def test_result_names_the_clearest_failure(tables, content_with):
    diagnosis = tables["diagnosis"]
    tested = diagnosis.index[diagnosis["p_value"].notna()][:2]
    failing = diagnosis.assign(verdict="holds", p_value=0.5)
    failing.loc[tested, ["verdict", "p_value"]] = [["fails", 1e-3], ["fails", 1e-6]]
    text = render(fit_section(content_with(diagnosis=failing)))
    clearest = diagnosis.loc[tested[1]]
    n = len(failing) - 1
    assert f"Curves: 2 of {n} comparisons failed. Most clearly: {clearest['test']}" in text
    text = render(fit_section(content_with(diagnosis=failing.assign(verdict="holds"))))
    assert f"Curves: 0 of {n} comparisons failed. No comparison contradicts the fit of the curves." in text
    text = render(fit_section(content_with(diagnosis=failing.assign(verdict="not_tested"))))
    assert "The curves could not be tested. Column *meaning* gives the reasons." in text


def test_model_comparison_marks_status_and_other_models(tables, content_with):
    comparison = tables["model_comparison"]
    two_shells = comparison["model"] == "core_two_shells"
    other = comparison.assign(preferred=two_shells, status=comparison["status"].mask(two_shells, "not_identified"))
    (text, _) = model_comparison_section(content_with(model_comparison=other)).blocks
    assert "AICc of histories prefers core_two_shells (not_identified)" in text
    assert text.endswith(" The selected fit uses another model, core_shell.")
    (text, _) = model_comparison_section(content_with()).blocks
    assert "another model" not in text


def test_tests_of_histories_are_the_table(tables, page):
    tests = tables["adequacy_tests"]
    text = section(page, "Goodness of fit")
    shown = rows(text, "smallest effect seen")
    for row, test in zip(shown, tests.to_dict("records"), strict=True):
        assert (row["test"], row["subject"]) == (test["test"], test["subject"])
        assert row["verdict"] == test["verdict"].replace("_", " ")
        if not pd.isna(test["effect_low"]):
            assert_written(row["effect"], columns(test, "effect"))
        if not pd.isna(test["smallest_seen"]):
            assert number(row["smallest effect seen"]) == pytest.approx(test["smallest_seen"], rel=1e-3)
    models = rows(text, "adequate")
    assert [row["model"] for row in models] == tables["candidate_models"]["model"].tolist()
    assert [row["model"] for row in models if row["selected"] == "yes"] == ["core_shell"]


def test_collection_without_histories_has_no_tests_of_them(tables, content_with):
    content = content_with(adequacy_tests=tables["adequacy_tests"].iloc[:0])
    assert "The verdict rests on the tests of the curves alone." in render(fit_section(content))


def test_comparisons_are_counted_by_verdict(tables, content_with):
    diagnosis = tables["diagnosis"]
    n = len(diagnosis.query("test != 'collection' and verdict != 'not_tested'"))
    assert f"Curves: 0 of {n} comparisons failed. No comparison contradicts" in render(fit_section(content_with()))
    verdicts = ["not_tested", "fails", "fails", *diagnosis["verdict"][3:]]
    text = render(fit_section(content_with(diagnosis=diagnosis.assign(verdict=verdicts))))
    assert f"Curves: 2 of {n - 1} comparisons failed; 1 could not be tested. Most clearly:" in text
    untestable = diagnosis.assign(verdict=diagnosis["verdict"].where(diagnosis["test"] == "collection", "not_tested"))
    assert "The curves could not be tested." in render(fit_section(content_with(diagnosis=untestable)))
