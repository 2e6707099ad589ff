"""The Dagster instance of the command, the lock on its jobs, and runs that the UI re-executes."""

import logging
import shutil
import signal
import subprocess
import sys
from unittest import mock

import dagster as dg
import pytest
from sqlalchemy import create_engine

from crawl_urn_dagster.cli.launching import InstanceError, open_instance
from crawl_urn_dagster.orchestration.dagster_internals import sqlite_event_log
from crawl_urn_dagster.orchestration.run_processes import record_pid
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.command import FAST, Ui, configure, start

pytestmark = pytest.mark.slow


def test_killed_run_is_cleaned_up_by_the_next(invoke, tmp_path):
    configuration = configure(tmp_path, tables_collection(tmp_path, histories(2), windows=False))
    arguments = ("run", "--collections", configuration, "--home", "home")
    killed = start(*arguments, cwd=tmp_path, **FAST)
    killed.send_signal(signal.SIGSTOP)  # It must not finish before it is killed.
    with dg.DagsterInstance.from_config(str(tmp_path / "home" / ".dagster")) as instance:
        run_id = instance.get_runs()[0].run_id
        killed.kill()
        killed.communicate()
        # As if it was killed inside a step: its pool slot is occupied.
        instance.event_log_storage.initialize_concurrency_limit_to_default("tabled_duckdb")
        instance.event_log_storage.claim_concurrency_slot("tabled_duckdb", run_id, "a step")
        assert not instance.get_run_by_id(run_id).is_finished

        repeated = invoke(*arguments)
        assert repeated.exit_code == 0
        assert f"run {run_id} was interrupted" in repeated.stdout
        assert instance.get_run_by_id(run_id).status == dg.DagsterRunStatus.FAILURE


@pytest.mark.parametrize(
    ("name", "content"),
    [("dagster.yaml", "storage: {sqlite: 3}"), ("dagster.yaml", "storage: ["), ("history", "")],
    ids=["wrong settings", "invalid YAML", "a file where a folder should be"],
)
def test_invalid_instance_is_reported(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    message = rf"(?s)in {tmp_path} cannot be opened: .*; check its dagster.yaml"
    with pytest.raises(InstanceError, match=message) as raised, open_instance(tmp_path):
        pass
    assert name in str(raised.value)


def test_queries_of_a_file_share_an_engine(tmp_path):
    with (
        mock.patch("crawl_urn_dagster.cli.launching.create_engine", side_effect=create_engine) as create,
        open_instance(tmp_path / "instance") as instance,
    ):
        for crawl in "abc":
            instance.add_dynamic_partitions("crawls", [crawl])
            instance.report_runless_asset_event(dg.AssetMaterialization("asset", partition=crawl))
        assert instance.get_dynamic_partitions("crawls") == ["a", "b", "c"]
        assert len(instance.fetch_materializations(dg.AssetKey("asset"), limit=5).records) == 3
    urls = [call.args[0] for call in create.call_args_list]
    assert len(urls) == len(set(urls)) > 1
    assert sqlite_event_log.create_engine is create_engine


def ended(run):
    return run if run["status"] in {"SUCCESS", "FAILURE"} else None


def errors_of(folder, run_id):
    """Return the errors that a run has logged, as text."""
    with dg.DagsterInstance.from_config(str(folder / "home" / ".dagster")) as instance:
        failures = (entry for entry in instance.all_logs(run_id) if entry.level >= logging.ERROR)
        return "\n".join(f"{entry.message}\n{entry.dagster_event}" for entry in failures)


def test_ui_shows_and_re_executes_earlier_runs(command_run, tmp_path):
    folder = tmp_path / "command"
    shutil.copytree(command_run[0], folder)
    with dg.DagsterInstance.from_config(str(folder / "home" / ".dagster")) as instance:
        command_tags = instance.get_runs()[0].tags
        killed = [
            dg.DagsterRun(job_name=f"fitting_{job}", status=dg.DagsterRunStatus.STARTED, tags=command_tags)
            for job in ("ingest", "update")
        ]
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            for run in killed:
                instance.add_run(run)
                record_pid(instance, run.run_id, process.pid)
            process.kill()
    ui = Ui(folder, folder / "collections.yaml", **FAST)
    try:
        locations = "{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus } } } }"
        ui.wait_until(
            lambda: (
                [
                    (entry["name"], entry["loadStatus"])
                    for entry in ui.query(locations)["workspaceOrError"]["locationEntries"]
                ]
                == [("crawl_urn_dagster", "LOADED")]
            ),
            seconds=90,
        )
        status = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status parentRunId } } }"
        for run in killed:
            assert ui.query(status, id=run.run_id)["runOrError"]["status"] == "FAILURE"
        results = ui.query("{ runsOrError { ... on Runs { results { runId jobName status } } } }")
        runs = results["runsOrError"]["results"]
        for job in ("fitting_ingest", "fitting_update"):
            (parent,) = (run for run in runs if (run["jobName"], run["status"]) == (job, "SUCCESS"))
            launched = ui.query(
                """mutation($parent: String!) { launchRunReexecution(reexecutionParams: {
                       parentRunId: $parent, strategy: ALL_STEPS}) {
                     __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }""",
                parent=parent["runId"],
            )["launchRunReexecution"]
            assert launched["__typename"] == "LaunchRunSuccess", launched
            run_id = launched["run"]["runId"]
            ended_run = ui.wait_until(
                lambda run_id=run_id: ended(ui.query(status, id=run_id)["runOrError"]), seconds=240
            )
            assert ended_run == {"status": "SUCCESS", "parentRunId": parent["runId"]}, errors_of(folder, run_id)
        metadata = ui.query(
            """{ assetOrError(assetKey: {path: ["fitting", "headline"]}) { ... on Asset {
                   assetMaterializations { runId metadataEntries {
                       label ... on FloatMetadataEntry { floatValue } } } } } }"""
        )["assetOrError"]["assetMaterializations"]
        repeated = ui.query(
            """query($id: String!) { runsOrError(filter: {tags: [{key: "dagster/run_key", value: $id}]}) {
                   ... on Runs { results { runId } } } }""",
            id=killed[1].run_id,
        )["runsOrError"]["results"]
        runs = {materialization["runId"] for materialization in metadata}
        assert runs - {one["runId"] for one in repeated} == {run_id, parent["runId"]}
        plotted = {entry["label"] for entry in metadata[0]["metadataEntries"] if "floatValue" in entry}
        assert {"kappa", "core_share", "alpha", "coverage"} <= plotted
    finally:
        ui.close()
