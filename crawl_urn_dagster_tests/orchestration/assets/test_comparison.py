"""The asset that compares collections, and when it is materialised."""

import json
import re
from pathlib import Path

import dagster as dg
import pytest

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.orchestration.assets.comparison import comparison_asset, write_comparison
from crawl_urn_dagster.orchestration.assets.dashboard import dashboard_asset, write_dashboard
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories, tables_collection

NAMES = ("one", "two", "absent")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two collections with the tables that the comparison needs, and one that has not run."""
    folder = tmp_path_factory.mktemp("compared")
    collections = [tables_collection(folder, histories(3), name=name) for name in NAMES]
    homes = [CollectionHome(folder=str(folder / "home"), collection=name) for name in NAMES]
    simulated, error = histories(12, urn=50, kappa=1), CountingError()
    crawls = crawls_table(dated_crawls([simulated.captured(crawl).size for crawl in range(12)]))
    observables = tables_from_histories(crawls, simulated.counts(), error)
    observed = observables["containment"], observables["discovery_curve"]
    tables = estimate(CollectionData(crawls, *observed, error), clock="crawl").tables
    for home in homes[:2]:
        home.observables.replace({"crawls": crawls, **tables})
    return collections, homes, write_comparison(collections, homes)


def test_page_has_the_figure(home):
    html = home[1][0].path.parent.joinpath("comparison.html").read_text()
    assert html.count("data:image/png;base64,") == 1
    assert "Not run yet: absent." in html


def test_dashboard_names_every_collection(home):
    paths = write_dashboard(*home[:2])
    html = Path(paths["html"].value).read_text()
    assert "3 collections. Numbers may be quoted: " in html
    assert "Not run yet: absent." in html
    assert '<a href="comparison.html">' in html
    result = dg.materialize([dashboard_asset(home[0], home[1][0].folder)], selection="_dashboard/one")
    assert result.success
    assert Path(paths["html"].value).read_text() == html


def test_pages_link_to_reports_and_show_saved_figures(home):
    collections, homes, _ = home
    homes[0].report.with_suffix(".html").write_text("")
    homes[0].figures.mkdir(exist_ok=True)
    (homes[0].figures / "completeness_by_crawl.png").write_bytes(b"png")
    texts = {"title": "title", "caption": "Known hosts.", "alt": "A line."}
    (homes[0].figures / "completeness_by_crawl.json").write_text(json.dumps(texts))
    for write in (write_comparison, write_dashboard):
        html = Path(write(collections, homes)["html"].value).read_text()
        assert re.findall(r'href="([^"]+/report\.html)"', html) == ["one/report.html"] * html.count("/report.html")
        assert "one/report.html" in html
    page = Path(write_comparison(collections, homes)["md"].value).read_text()
    assert "![A line.](one/figures/completeness_by_crawl.png)" in page
    homes[0].report.with_suffix(".html").unlink()
    (homes[0].figures / "completeness_by_crawl.json").unlink()
    write_comparison(collections, homes)


def test_comparison_needs_several_collections_but_no_job(tmp_path):
    names = ("comparison", "report", "other")  # names as close to the key of the comparison as possible
    collections = [tables_collection(tmp_path, histories(3), name=name) for name in names]
    defs = build_defs(collections, home=tmp_path)
    dg.Definitions.validate_loadable(defs)
    graph = defs.resolve_asset_graph()
    (key,) = comparison_asset(collections, str(tmp_path)).keys
    assert graph.get(key).parent_keys == {dg.AssetKey([name, "report"]) for name in names}
    assert not graph.get(key).child_keys
    assert graph.get(dg.AssetKey(["_dashboard", names[0]])).parent_keys == graph.get(key).parent_keys
    for job in (f"{name}_update" for name in names):
        assert key not in defs.resolve_job_def(job).asset_layer.selected_asset_keys
    alone = build_defs(collections[:1], home=tmp_path)
    assert key not in alone.resolve_all_asset_keys()


def test_two_comparisons_of_one_location_do_not_clash(tmp_path):
    sets = [[tables_collection(tmp_path, histories(3), name=f"{a}{b}") for b in "xy"] for a in "pq"]
    merged = dg.Definitions.merge(*(build_defs(some, home=tmp_path / some[0].name) for some in sets))
    dg.Definitions.validate_loadable(merged)
    assert {"_comparison_px", "_comparison_qx"} <= {sensor.name for sensor in merged.sensors}


def test_comparison_is_requested_after_a_new_report(tmp_path):
    collections = [tables_collection(tmp_path, histories(3), name=name) for name in ("one", "two")]
    defs = build_defs(collections, home=tmp_path)
    (key,) = comparison_asset(collections, str(tmp_path)).keys
    instance = dg.DagsterInstance.ephemeral()
    requested = []
    cursor = None
    for reported in ([], ["one"], [], ["two"]):
        for name in reported:
            instance.report_runless_asset_event(dg.AssetMaterialization([name, "report"]))
        result = dg.evaluate_automation_conditions(
            defs, instance, asset_selection=dg.AssetSelection.assets(key), cursor=cursor
        )
        cursor = result.cursor
        requested.append(result.total_requested)
    assert requested == [0, 1, 0, 1]


def test_asset_and_command_write_the_same_page(home):
    collections, homes, paths = home
    page = Path(paths["html"].value)
    before = page.read_text()
    result = dg.materialize([comparison_asset(collections, homes[0].folder)], selection="_comparison/one")
    assert result.success
    assert page.read_text() == before
