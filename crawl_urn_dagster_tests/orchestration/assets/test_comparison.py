"""Several collections side by side: what is compared, and that nothing waits or collides."""

from pathlib import Path

import dagster as dg
import pytest

from crawl_urn_dagster.estimates.inference import estimate_tables
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.orchestration.assets.comparison import comparison_asset, write_comparison
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import avoiding_histories, dated_crawls, histories, tables_collection
from crawl_urn_dagster_tests.report.reading import assert_written, rows, section

MADE = {"sound": histories(12), "avoiding": avoiding_histories(12), "static": histories(12, urn=50, kappa=1)}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Three collections that were run, as far as the comparison reads them, and one that was not."""
    folder = tmp_path_factory.mktemp("compared")
    names = [*MADE, "absent"]
    collections = [tables_collection(folder, histories(3), name=name) for name in names]
    homes = [CollectionHome(folder=str(folder / "home"), collection=name) for name in names]
    for home, simulated in zip(homes, MADE.values(), strict=False):
        counts, error = simulated.counts(), CountingError()
        sizes = [simulated.captured(crawl).size for crawl in range(12)]
        crawls = crawls_table(dated_crawls(sizes))
        made = tables_from_histories(crawls, counts, error)
        observed = made["containment"], made["discovery_curve"]
        tables = estimate_tables(crawls, *observed, None, clock="crawl", error=error)
        home.observables.replace({"crawls": crawls, **tables})
    return collections, homes, write_comparison(collections, homes)


def test_the_numbers_are_those_of_the_clock_of_years(home):
    _, homes, paths = home
    page = homes[0].path.parent.joinpath("comparison.md").read_text()
    assert paths["md"].value == str(homes[0].path.parent / "comparison.md")
    found = {row["quantity"]: row for row in rows(section(page, "Side by side"))}
    parameters = homes[0].observables.read("parameters")
    spoken = parameters[parameters["headline"]].iloc[-1]
    kind = (
        parameters[["projection", "model", "form", "component"]] == spoken[["projection", "model", "form", "component"]]
    ).all(axis=1)
    yearly = parameters[kind & (parameters["clock"] == "year")].iloc[0]
    titles = {
        "core fraction of a crawl, μ": "core_share",
        "core fraction of the eligible, κ": "kappa",
        "coverage of a crawl, c (without the core)": "coverage",
        "survival over a year, α (without the core)": "alpha",
    }
    for title, name in titles.items():
        expected = [yearly[f"{name}{end}"] for end in ("", "_low", "_high")]
        assert_written(found[title]["sound"], expected, share=True)
    churn = [1 - yearly[f"alpha{end}"] for end in ("", "_high", "_low")]
    assert_written(found["churn in a year, 1 − α (without the core)"]["sound"], churn, share=True)
    terms = homes[0].observables.read("operator_terms")
    own = terms[(terms["clock"] == "year") & (terms["component"] == "shell") & (terms["projection"] == "joint")].iloc[0]
    titles = {
        "life expectancy, years": "life_expectancy",
        "hidden time, years": "hidden_time",
        "resolve time, years": "hiding_time",
        "unique rate of the part without the core, per crawl": "nu_inf",
    }
    for title, name in titles.items():
        expected = [own[f"{name}{end}"] for end in ("", "_low", "_high")]
        assert_written(found[title]["sound"], expected, share=name == "nu_inf")
    assert found["status"]["sound"] == yearly["status"]


def test_what_is_withheld_is_not_compared_and_what_is_absent_is_named(home):
    page = home[1][0].path.parent.joinpath("comparison.md").read_text()
    found = {row["quantity"]: row["avoiding"] for row in rows(section(page, "Side by side"))}
    assert found["status"] == "model_violation"
    assert {text for name, text in found.items() if "," in name or "rate" in name} == {"–"}
    assert "Not run yet, and so left out: absent." in page
    assert "avoiding is model_violation: Elements " in page


def test_what_is_all_core_has_no_numbers_of_a_rest(home):
    page = home[1][0].path.parent.joinpath("comparison.md").read_text()
    found = {row["quantity"]: row["static"] for row in rows(section(page, "Side by side"))}
    assert found["core fraction of a crawl, μ"].startswith("99.9999")
    assert {text for name, text in found.items() if "without the core" in name or "time" in name} == {"–"}


def test_the_page_has_the_figure(home):
    html = home[1][0].path.parent.joinpath("comparison.html").read_text()
    assert html.count("data:image/png;base64,") == 1
    assert "avoiding" in html


def test_it_is_made_of_several_collections_only_and_no_job_waits_for_it(tmp_path):
    names = ("comparison", "report", "other")  # as like its own key as a collection can be named
    collections = [tables_collection(tmp_path, histories(3), name=name) for name in names]
    defs = build_defs(collections, home=tmp_path)
    dg.Definitions.validate_loadable(defs)
    graph = defs.resolve_asset_graph()
    (key,) = comparison_asset(collections).keys
    assert graph.get(key).parent_keys == {dg.AssetKey([name, "report"]) for name in names}
    assert not graph.get(key).child_keys
    for job in (f"{name}_update" for name in names):
        assert key not in defs.resolve_job_def(job).asset_layer.selected_asset_keys
    alone = build_defs(collections[:1], home=tmp_path)
    assert key not in alone.resolve_all_asset_keys()


def test_two_sets_of_collections_live_in_one_location(tmp_path):
    sets = [[tables_collection(tmp_path, histories(3), name=f"{a}{b}") for b in "xy"] for a in "pq"]
    merged = dg.Definitions.merge(*(build_defs(some, home=tmp_path / some[0].name) for some in sets))
    dg.Definitions.validate_loadable(merged)
    assert {"_comparison_px", "_comparison_qx"} <= {sensor.name for sensor in merged.sensors}


def test_it_is_asked_for_when_a_report_was_made_and_not_before(tmp_path):
    collections = [tables_collection(tmp_path, histories(3), name=name) for name in ("one", "two")]
    defs = build_defs(collections, home=tmp_path)
    (key,) = comparison_asset(collections).keys
    instance = dg.DagsterInstance.ephemeral()
    asked = []
    cursor = None
    for reported in ([], ["one"], [], ["two"]):
        for name in reported:
            instance.report_runless_asset_event(dg.AssetMaterialization([name, "report"]))
        result = dg.evaluate_automation_conditions(
            defs, instance, asset_selection=dg.AssetSelection.assets(key), cursor=cursor
        )
        cursor = result.cursor
        asked.append(result.total_requested)
    assert asked == [0, 1, 0, 1]


def test_an_asset_writes_what_the_command_writes(home):
    collections, homes, paths = home
    page = Path(paths["html"].value)
    before = page.read_text()
    resources = {f"{one.name}_home": at for one, at in zip(collections, homes, strict=True)}
    result = dg.materialize([comparison_asset(collections)], resources=resources, selection="_comparison/sound")
    assert result.success
    assert page.read_text() == before
