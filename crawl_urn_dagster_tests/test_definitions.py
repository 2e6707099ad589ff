"""The shipped code location and the assembly of definitions."""

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from crawl_urn_dagster.build import build_defs
from crawl_urn_dagster.collection import demo_collection
from crawl_urn_dagster.estimates.fitting import fit_all
from crawl_urn_dagster.estimates.kinds import fit_kinds
from crawl_urn_dagster.launch import workspace_file
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster_tests.collections_for_tests import histories, labels, presence_collection, tables_collection

ROOT = Path(__file__).resolve().parents[1]


def names_of(defs, collection):
    return {key.path[1] for key in defs.resolve_all_asset_keys() if key.path[0] == collection}


def in_a_fresh_process(code, **environment):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return result.stdout.split()


LOADED = """
import sys
import dagster as dg
from crawl_urn_dagster.definitions import definitions
definitions().resolve_all_asset_keys()
print(*[name for name in ("pandas", "numpy", "scipy", "matplotlib", "duckdb", "requests") if name in sys.modules])
"""


def test_loading_the_code_location_loads_no_heavy_library(tmp_path):
    tables_collection(tmp_path)
    presence_collection(tmp_path)
    configuration = tmp_path / "collections.yaml"
    configuration.write_text(
        "collections:\n"
        "  - {name: a, granularity: url, source: {type: simulated}}\n"
        "  - {name: b, granularity: url, source: {type: presence_list, path: listed.csv.gz}}\n"
        "  - {name: c, granularity: url, source: {type: observable_tables, pairs: tabled_pairs.csv}}\n"
    )
    assert in_a_fresh_process(LOADED, CRAWL_URN_COLLECTIONS=str(configuration)) == []


def test_importing_the_package_or_the_model_does_not_load_dagster():
    code = (
        "import sys, crawl_urn_dagster, crawl_urn_dagster.urn, crawl_urn_dagster.sources, "
        "crawl_urn_dagster.observables.tables, crawl_urn_dagster.estimates.fitting, crawl_urn_dagster.figures\n"
        "print('dagster' in sys.modules)"
    )
    assert in_a_fresh_process(code) == ["False"]


def test_public_names_are_there():
    code = "import crawl_urn_dagster as package\nprint(*[getattr(package, name).__name__ for name in dir(package)])"
    assert in_a_fresh_process(code) == [
        *("Collection", "CrawlUrnComponent", "build_defs", "demo_collection", "load_collections")
    ]


def test_the_environment_names_the_collections_and_the_home(tmp_path):
    configuration = tmp_path / "collections.yaml"
    configuration.write_text("collections: [{name: mine, granularity: url, source: {type: simulated}}]")
    code = (
        "from crawl_urn_dagster.definitions import definitions\n"
        "defs = definitions()\n"
        "print(*{key.path[0] for key in defs.resolve_all_asset_keys()}, defs.resources['mine_home'].folder)"
    )
    environment = {"CRAWL_URN_COLLECTIONS": str(configuration), "CRAWL_URN_HOME": str(tmp_path / "data")}
    assert in_a_fresh_process(code, **environment) == ["mine", str(tmp_path / "data")]
    default = code.replace("mine", "demo")
    assert in_a_fresh_process(default) == ["demo", "crawl_urn_home"]


def test_a_graph_has_only_what_the_source_can_feed(tmp_path):
    every = {"crawls", "parameters", "headline", "operator_terms", "drift", "report"}
    parameter_figures = {"fates_of_an_element", "homogeneous_fits", "core_shell_fits"}
    from_windows = {"discovery_curve", "first_returns", "discovery_heat_map", "discovery_curves_by_start"}
    from_pairs = {"containment", "containment_by_lag"}
    from_lists = {"presence", "capture_history_counts", "m_array"}
    always = every | parameter_figures
    collections = [
        presence_collection(tmp_path, name="lists"),
        tables_collection(tmp_path, name="pairs", windows=False),
        tables_collection(tmp_path, name="windows", pairs=False),
        demo_collection(),
    ]
    defs = build_defs(collections, home=tmp_path)
    assert names_of(defs, "lists") == always | from_windows | from_pairs | from_lists
    assert names_of(defs, "pairs") == always | from_pairs
    assert names_of(defs, "windows") == always | from_windows
    assert names_of(defs, "demo") == always | from_windows | from_pairs | from_lists | {"truth"}


def test_collections_of_one_location_do_not_collide(tmp_path):
    one, two = presence_collection(tmp_path, name="one"), presence_collection(tmp_path, name="two")
    merged = dg.Definitions.merge(build_defs([one], home=tmp_path / "a"), build_defs([two], home=tmp_path / "b"))
    dg.Definitions.validate_loadable(merged)
    assert {job.name for job in merged.jobs} == {"one_update", "two_update"}
    assert set(merged.resources) == {"one_home", "two_home"}
    assert len(names_of(merged, "one")) == len(names_of(merged, "two")) > 0


def test_repeated_or_no_collections_are_refused():
    with pytest.raises(ValueError, match="the same name: demo"):
        build_defs([demo_collection(), demo_collection()])
    with pytest.raises(ValueError, match="at least one"):
        build_defs([])


def test_assets_carry_group_kinds_description_and_columns():
    defs = build_defs([demo_collection()])
    for spec in defs.resolve_all_asset_specs():
        assert spec.group_name == "demo"
        assert spec.kinds
        assert spec.description
    containment = next(spec for spec in defs.resolve_all_asset_specs() if spec.key.path[1] == "containment")
    columns = containment.metadata["dagster/column_schema"].columns
    assert [column.name for column in columns][:4] == ["crawl_i", "crawl_j", "lag_crawls", "lag_years"]
    assert all(column.description for column in columns)


def test_the_schedule_is_off_and_the_sensor_on():
    defs = build_defs([demo_collection()])
    assert defs.resolve_schedule_def("demo_monthly").default_status == dg.DefaultScheduleStatus.STOPPED
    assert defs.resolve_sensor_def("demo_new_crawl").default_status == dg.DefaultSensorStatus.RUNNING


def test_figures_of_parameters_wait_for_the_headline_and_others_do_not():
    graph = build_defs([demo_collection()]).resolve_asset_graph()
    waiting = {
        key.path[1]
        for key in graph.get_all_asset_keys()
        if dg.AssetKey(["demo", "headline"]) in graph.get(key).parent_keys
    }
    assert waiting == {"fates_of_an_element", "homogeneous_fits", "core_shell_fits"}


def test_the_list_of_fits_is_the_fits_that_are_made():
    counts = histories(12).counts()
    crawls = crawls_table(_dated(counts))
    frames = tables_from_histories(crawls, counts)
    for containment, discovery_curve in ((True, True), (True, False), (False, True)):
        fits = fit_all(
            crawls,
            frames["containment"] if containment else None,
            frames["discovery_curve"] if discovery_curve else None,
        )
        made = {(fit.projection, fit.model, fit.form, fit.clock) for fit in fits}
        listed = fit_kinds(containment=containment, discovery_curve=discovery_curve)
        assert made == set(listed)
        assert len(fits) == len(listed)


def _dated(counts):
    import pandas as pd

    return pd.DataFrame(
        {
            "crawl": labels(counts.n_crawls),
            "started_at": pd.to_datetime(labels(counts.n_crawls)),
            "elements": counts.intersections().diagonal(),
            "dated_by": "label",
        }
    )


def test_the_workspace_of_the_ui_is_the_one_in_the_repository(tmp_path):
    written = yaml.safe_load(workspace_file(tmp_path).read_text())
    assert written == yaml.safe_load((ROOT / "workspace.yaml").read_text())
