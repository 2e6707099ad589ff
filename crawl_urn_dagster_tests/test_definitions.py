"""The shipped code location and the assembly of definitions."""

import subprocess
import sys
import warnings
from datetime import timedelta
from pathlib import Path

import dagster as dg
import numpy as np
import pytest
import yaml

from crawl_urn_dagster.cli.launching import workspace_file
from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.config.settings import AutomationSettings
from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.fits import primary_fits
from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.orchestration.asset_keys import column_lineage
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import (
    dated_crawls,
    histories,
    presence_collection,
    tables_collection,
)

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
        *("Collection", "CrawlFit", "CrawlUrnComponent", "Crawls", "build_defs", "demo_collection", "fit"),
        *("load_collections", "read_counts", "read_presence", "read_source"),
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
    every = {"crawls", "parameters", "headline", "operator_terms", "report", "export"}
    every |= {"diagnosis", "kappa_profile", "model_comparison", "revisit_regimes"}
    every |= {"parameter_history", "drift", "control_chart", "forecast", "planning"}
    from_windows = {
        *("discovery_curve", "first_returns", "discovery_heat_map", "discovery_curves_by_start", "forecast_fan"),
    }
    from_pairs = {"containment", "containment_by_lag"}
    from_lists = {
        *("presence", "capture_history_counts", "m_array", "capture_recapture", "per_crawl", "comparators"),
        "survival_and_coverage_by_crawl",
    }
    always = every | set(PARAMETER_FIGURES)
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
    assert {job.name for job in merged.jobs} == {
        f"{name}_{job}" for name in ("one", "two") for job in ("read", "ingest", "update")
    }
    partitions = {assets.partitions_def.name for assets in merged.assets if assets.partitions_def}
    assert partitions == {"one_crawls", "two_crawls"}
    assert set(merged.resources) == {"one_home", "two_home"}
    assert len(names_of(merged, "one")) == len(names_of(merged, "two")) > 0


def test_repeated_or_no_collections_are_refused():
    with pytest.raises(ValueError, match="the same name: demo"):
        build_defs([demo_collection(), demo_collection()])
    with pytest.raises(ValueError, match="at least one"):
        build_defs([])


def test_loading_warns_of_nothing(tmp_path):
    automation = AutomationSettings(expect_every_days=30)
    ones = [demo_collection().model_copy(update={"name": name, "automation": automation}) for name in ("one", "two")]
    ones += [presence_collection(tmp_path, histories(2))]  # it has files, so a job that reads them
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        build_defs(ones, alerts=["json://localhost"]).get_repository_def().load_all_definitions()
    assert [str(one.message) for one in warned] == []


def test_assets_carry_what_the_ui_shows():
    collection = demo_collection().model_copy(update={"owners": ["team:crawling", "somebody@example.org"]})
    specs = {spec.key.path[1]: spec for spec in build_defs([collection]).resolve_all_asset_specs()}
    for spec in specs.values():
        assert spec.group_name == "demo"
        assert spec.kinds
        assert spec.description
        assert spec.owners == ["team:crawling", "somebody@example.org"]
        (reference,) = spec.metadata["dagster/code_references"].code_references
        line = Path(reference.file_path).read_text().splitlines()[reference.line_number - 1]
        assert line.strip().startswith("@")
    containment = specs["containment"]
    columns = containment.metadata["dagster/column_schema"].columns
    assert [column.name for column in columns][:4] == ["crawl_i", "crawl_j", "lag_crawls", "lag_years"]
    assert all(column.description for column in columns)


def test_every_column_that_is_declared_as_a_source_is_one(tmp_path):
    for collection in (demo_collection(), tables_collection(tmp_path, histories(4), windows=False)):
        specs = {spec.key: spec for spec in build_defs([collection]).resolve_all_asset_specs()}
        declared = set()
        for name in {key.path[1] for key in specs} & {*TABLES, "headline"}:
            lineage = column_lineage(collection, name)["dagster/column_lineage"].deps_by_column
            for column, sources in lineage.items():
                assert column in columns_of(specs[dg.AssetKey([collection.name, name])])
                for source in sources:
                    assert source.column_name in columns_of(specs[source.asset_key])
                    declared.add((name, column))
        assert {("parameters", "kappa_low"), ("headline", "alpha"), ("drift", "value")} <= declared
        assert (("containment", "intersection") in declared) == collection.has_histories


def columns_of(spec):
    return {column.name for column in spec.metadata["dagster/column_schema"].columns}


def test_headline_assets_are_stale_when_the_source_is_silent_for_longer_than_its_cadence():
    defs = build_defs(
        [demo_collection().model_copy(update={"automation": AutomationSettings(expect_every_days=30, grace_days=10)})]
    )
    policies = {spec.key.path[1]: spec.freshness_policy for spec in defs.resolve_all_asset_specs()}
    with_policy = {name: policy for name, policy in policies.items() if policy}
    assert set(with_policy) == {"crawls", "headline", "report"}
    for policy in with_policy.values():
        assert policy == dg.FreshnessPolicy.time_window(fail_window=timedelta(days=40), warn_window=timedelta(days=30))
    assert not any(spec.freshness_policy for spec in build_defs([demo_collection()]).resolve_all_asset_specs())


def test_the_schedules_are_off_and_the_sensors_on():
    automation = AutomationSettings(refresh_cron="30 4 * * 1", time_zone="Europe/Paris")
    defs = build_defs([demo_collection().model_copy(update={"automation": automation})])
    for job in ("demo_ingest", "demo_update"):
        schedule = defs.resolve_schedule_def(f"{job}_refresh")
        assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
        assert (schedule.cron_schedule, schedule.execution_timezone) == ("30 4 * * 1", "Europe/Paris")
    for name in ("new_crawl", "ingested"):
        assert defs.resolve_sensor_def(f"demo_{name}").default_status == dg.DefaultSensorStatus.RUNNING


def test_ingest_and_update_share_the_assets_of_a_presence_source_and_others_only_update(tmp_path):
    pairs = tables_collection(tmp_path, histories(12), name="pairs", windows=False)
    defs = build_defs([demo_collection(), pairs], home=tmp_path)
    made = {
        job.name: {key.path[1] for key in defs.resolve_job_def(job.name).asset_layer.selected_asset_keys}
        for job in defs.jobs
        if not job.name.endswith("_read")
    }
    assert set(made) == {"demo_ingest", "demo_update", "pairs_update"}
    assert made["demo_ingest"] == {"presence"}
    assert made["demo_update"] == names_of(defs, "demo") - {"presence"}
    assert made["pairs_update"] == names_of(defs, "pairs")
    assert {sensor.name for sensor in defs.sensors if sensor.name.endswith("_ingested")} == {"demo_ingested"}


def test_figures_of_parameters_wait_for_the_headline_and_others_do_not():
    graph = build_defs([demo_collection()]).resolve_asset_graph()
    waiting = {
        key.path[1]
        for key in graph.get_all_asset_keys()
        if dg.AssetKey(["demo", "headline"]) in graph.get(key).parent_keys
    }
    assert waiting == set(PARAMETER_FIGURES)


def test_the_list_of_fits_is_the_fits_that_are_made():
    counts = histories(12).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    frames = tables_from_histories(crawls, counts, CountingError())
    for containment, discovery_curve in ((True, True), (True, False), (False, True)):
        data = CollectionData(
            crawls,
            frames["containment"] if containment else None,
            frames["discovery_curve"] if discovery_curve else None,
        )
        fits = fit_primary(data)
        listed = {(*one.name, clock) for one in primary_fits(data.observables) for clock in one.clocks}
        assert {fit.kind for fit in fits} == listed
        assert len(fits) == len(listed)


def test_the_workspace_of_the_ui_is_the_one_in_the_repository(tmp_path):
    written = yaml.safe_load(workspace_file(tmp_path).read_text())
    assert written == yaml.safe_load((ROOT / "workspace.yaml").read_text())
