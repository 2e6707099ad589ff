"""Definitions of collections: their assets, and what they share."""

import re
import warnings
from pathlib import Path

import dagster as dg
import pytest
import yaml

from crawl_urn_dagster.cli import launching
from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.config.settings import AutomationSettings
from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    presence_collection,
    tables_collection,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "production.md").read_text(encoding="utf-8")


def names_of(defs, collection):
    return {key.path[1] for key in defs.resolve_all_asset_keys() if key.path[0] == collection}


def test_assets_follow_from_the_source(tmp_path):
    every = {"crawls", "parameters", "headline", "operator_terms", "report", "export", "complete"}
    every |= {"quantities", "classes", "population", "adequacy_tests", "candidate_models"}
    every |= {"diagnosis", "kappa_profile", "model_comparison", "revisit_regimes"}
    every |= {"parameter_history", "drift", "control_chart", "forecast", "last_crawl", "planning", "equal_budget"}
    every |= {"window_lengths"}
    from_windows = {
        *("discovery_curve", "first_returns", "discovery_heat_map", "discovery_curves_by_start", "forecast_fan"),
    }
    from_pairs = {"containment", "containment_by_lag", "overlap_matrix"}
    from_lists = {
        *("presence", "capture_history_counts", "m_array", "capture_recapture", "per_crawl", "comparators"),
        *("survival_and_coverage_by_crawl", "completeness_by_crawl", "losses_by_crawl"),
        "element_reliability",
        *("elements", "element_scores", "element_calibration", "losses_by_group", "reseed", "likely_gone"),
        *("core_members", "newcomers_at_risk", "lost_in_last_crawl"),
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


def test_collections_of_one_location_do_not_clash(tmp_path):
    one, two = presence_collection(tmp_path, name="one"), presence_collection(tmp_path, name="two")
    merged = dg.Definitions.merge(build_defs([one], home=tmp_path / "a"), build_defs([two], home=tmp_path / "b"))
    dg.Definitions.validate_loadable(merged)
    assert {job.name for job in merged.jobs} == {
        f"{name}_{job}" for name in ("one", "two") for job in ("read", "ingest", "update")
    }
    partitions = {assets.partitions_def.name for assets in merged.assets if assets.partitions_def}
    assert partitions == {"one_crawls", "two_crawls"}
    assert set(merged.resources) == {"crawl_urn_home"}
    home = merged.resources["crawl_urn_home"]
    assert [home.collection(name).path for name in ("one", "two")] == [tmp_path / "a" / "one", tmp_path / "b" / "two"]
    with pytest.raises(LookupError, match="'tow': did you mean 'two'"):
        home.collection("tow")
    assert len(names_of(merged, "one")) == len(names_of(merged, "two")) > 0


def test_jobs_carry_one_resource(tmp_path):
    ones = [presence_collection(tmp_path, name=name) for name in ("one", "two", "three")]
    defs = build_defs(ones, home=tmp_path)
    for job in defs.jobs:
        assert set(defs.resolve_job_def(job.name).resource_defs) <= {"crawl_urn_home", "io_manager"}, job.name


def test_repeated_or_no_collections_are_rejected():
    with pytest.raises(ValueError, match="the same name: demo"):
        build_defs([demo_collection(), demo_collection()])
    with pytest.raises(ValueError, match="at least one"):
        build_defs([])


def test_loading_gives_no_warning(tmp_path):
    automation = AutomationSettings(expect_every_days=30)
    ones = [demo_collection().model_copy(update={"name": name, "automation": automation}) for name in ("one", "two")]
    ones += [presence_collection(tmp_path, histories(2))]  # it has files, so a job that reads them
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        build_defs(ones, alerts=["json://localhost"]).get_repository_def().load_all_definitions()
    assert [str(one.message) for one in warned] == []


def test_only_parameter_figures_depend_on_the_headline():
    graph = build_defs([demo_collection()]).resolve_asset_graph()
    waiting = {
        key.path[1]
        for key in graph.get_all_asset_keys()
        if dg.AssetKey(["demo", "headline"]) in graph.get(key).parent_keys
    }
    assert waiting == set(PARAMETER_FIGURES)


def test_schedules_are_off_and_sensors_on():
    assert not build_defs([demo_collection()]).schedules
    automation = AutomationSettings(refresh_cron="30 4 * * 1", time_zone="Europe/Paris")
    defs = build_defs([demo_collection().model_copy(update={"automation": automation})])
    for job in ("demo_ingest", "demo_update"):
        schedule = defs.resolve_schedule_def(f"{job}_refresh")
        assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
        assert (schedule.cron_schedule, schedule.execution_timezone) == ("30 4 * * 1", "Europe/Paris")
    for name in ("new_crawl", "ingested"):
        assert defs.resolve_sensor_def(f"demo_{name}").default_status == dg.DefaultSensorStatus.RUNNING


def test_production_page_names_all_jobs_and_sensors(tmp_path):
    listed = presence_collection(tmp_path, name="listed", automation={"refresh_cron": "0 6 2 * *"})
    defs = build_defs([listed, demo_collection()], home=tmp_path)
    built = {one.name for kind in (defs.jobs, defs.sensors, defs.schedules) for one in kind}
    built = {name for name in built if not name.startswith("demo_")}
    rows = re.findall(r"^\| (?:job|sensor|schedules) (`.*?) \|", PAGE, flags=re.MULTILINE)
    documented = {name for row in rows for name in re.findall("`(.*?)`", row)}
    assert {name.replace("<name>", "listed").replace("<first name>", "listed") for name in documented} == built


def test_production_page_states_the_settings_of_the_instance():
    settings = yaml.safe_load(Path(launching.__file__).with_name("dagster.yaml").read_text(encoding="utf-8"))
    (table,) = re.findall(r"\| setting \| reason \|\n(.*?)\n\n", PAGE, flags=re.DOTALL)
    for setting, value in re.findall(r"^\| `([\w.]+)(?:: (\w+))?` \|", table, flags=re.MULTILINE):
        found = settings
        for part in setting.split("."):
            found = found[part]
        assert value in ("", str(found).lower()), setting
    assert settings["run_monitoring"]["start_timeout_seconds"] == 5 * 60
    assert settings["run_monitoring"]["max_runtime_seconds"] == 24 * 60 * 60
    assert settings["retention"]["sensor"]["purge_after_days"]["skipped"] == 7
