"""The comparison page equals the tables on the clock of years."""

import pytest

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.report import to_markdown
from crawl_urn_dagster.report.comparison import COMPARED_TABLES, Compared, compared_parameters, comparison_page
from crawl_urn_dagster.report.content import rows_of_fit
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import avoiding_histories, dated_crawls, histories, tables_collection
from crawl_urn_dagster_tests.report.reading import assert_written, columns, headline_row, rows, section

N_CRAWLS = 12
SIMULATED = {"avoiding": avoiding_histories(N_CRAWLS), "static": histories(N_CRAWLS, urn=50, kappa=1)}


def comparison_tables(simulated):
    error = CountingError()
    crawls = crawls_table(dated_crawls([simulated.captured(crawl).size for crawl in range(N_CRAWLS)]))
    observables = tables_from_histories(crawls, simulated.counts(), error)
    observed = observables["containment"], observables["discovery_curve"]
    return {"crawls": crawls, **estimate(CollectionData(crawls, *observed, error), clock="crawl").tables}


@pytest.fixture(scope="module")
def compared(tmp_path_factory, tables):
    """Three collections that have run, and one that has not."""
    folder = tmp_path_factory.mktemp("compared")
    frames = {"sound": {name: tables[name] for name in COMPARED_TABLES}}
    frames |= {name: comparison_tables(simulated) for name, simulated in SIMULATED.items()}
    frames["absent"] = {}
    return [Compared(tables_collection(folder, histories(3), name=name), found) for name, found in frames.items()]


@pytest.fixture(scope="module")
def page(compared):
    return to_markdown(comparison_page(compared))


def quantities(page, name):
    """Return the column of a collection by quantity."""
    return {row["quantity"]: row[name] for row in rows(section(page, "Side by side"))}


def test_numbers_are_those_of_the_yearly_fit(compared, page):
    found, frames = quantities(page, "sound"), compared[0].frames
    fit = rows_of_fit(frames["parameters"], {**headline_row(frames), "clock": "year"}).iloc[0]
    terms = rows_of_fit(frames["operator_terms"], fit).iloc[0]
    shares = {
        "core share of a crawl, μ": columns(fit, "core_share"),
        "core fraction of the urn, κ": columns(fit, "kappa"),
        "shell coverage, c": columns(fit, "coverage"),
        "shell survival over a year, α": columns(fit, "alpha"),
        "shell churn in a year, 1 − α": [1 - fit[f"alpha{end}"] for end in ("", "_high", "_low")],
        "shell unique rate, per crawl": columns(terms, "nu_inf"),
    }
    times = {
        "residual lifetime, years": columns(terms, "life_expectancy"),
        "missed time, years": columns(terms, "hidden_time"),
        "time to resolution, years": columns(terms, "hiding_time"),
    }
    for title, expected in shares.items():
        assert_written(found[title], expected, share=True)
    for title, expected in times.items():
        assert_written(found[title], expected)
    assert found["status"] == fit["status"]


def test_quotable_numbers_are_the_assessment(compared, page):
    found = quantities(page, "sound")
    assert (found["numbers may be quoted"], found["verdict"], found["model"]) == ("yes", "sound", "core_shell")
    expected = compared[0].frames["quantities"].set_index("quantity")
    for name, title in (("completeness", "crawl completeness"), ("kappa", "κ"), ("core_share", "μ")):
        assert_written(found[title], columns(expected.loc[name], "value"), share=True)
    assert_written(found["known eligible elements"], columns(expected.loc["population"], "value"))


def test_refuted_fit_has_no_numbers(compared):
    one = compared[0]
    parameters = one.frames["parameters"]
    refuted = parameters.assign(status=parameters["status"].mask(parameters["headline"], "refuted"))
    changed = Compared(one.collection, {**one.frames, "parameters": refuted})
    found = quantities(to_markdown(comparison_page([changed])), "sound")
    assert found["status"] == "refuted"
    assert found["crawl completeness"] != "–"
    assert {text for name, text in found.items() if "shell" in name or "time" in name} == {"–"}
    assert compared_parameters([changed])[["kappa", "alpha", "coverage"]].isna().all(axis=None)


def test_unreported_fits_have_no_numbers_absent_ones_are_named(page):
    found = quantities(page, "avoiding")
    assert found["status"] == "model_violation"
    assert {text for name, text in found.items() if "," in name or "rate" in name} == {"–"}
    assert "Not run yet: absent." in page
    assert "avoiding is model_violation: Elements " in page


def test_collection_that_is_all_core_has_no_shell_numbers(page):
    found = quantities(page, "static")
    assert found["core share of a crawl, μ"].startswith("99.9999")
    assert {text for name, text in found.items() if "shell" in name or "time" in name} == {"–"}


def test_compared_parameters_have_a_row_per_collection(compared):
    parameters = compared_parameters(compared[:3])
    assert parameters["stratum"].tolist() == ["sound", "avoiding", "static"]
    assert set(parameters["clock"]) == {"year"}


def test_collections_that_have_not_run_give_no_sections(compared):
    page = comparison_page(compared[3:])
    assert page.sections == []
    assert page.lead[-1] == "Not run yet: absent."
