"""The command line as a user runs it: real processes, a real instance, the real UI server."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
import requests
import yaml

from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    presence_collection,
    tables_collection,
)

pytestmark = pytest.mark.slow


COMMAND = Path(sys.executable).with_name("crawl-urn")


def environment(**values):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWL_URN", "DAGSTER"))}
    return {**clean, "COLUMNS": "160", **values}


def crawl_urn(*arguments, cwd, **values):
    return subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd, env=environment(**values)
    )


def configure(folder, *collections):
    path = folder / "collections.yaml"
    listed = [collection.model_dump(mode="json", exclude_none=True) for collection in collections]
    path.write_text(yaml.safe_dump({"collections": listed}))
    return path


@pytest.fixture(scope="module")
def good_run(tmp_path_factory):
    """A collection that fits and one that does not, run by the command."""
    folder = tmp_path_factory.mktemp("cli")
    configuration = configure(
        folder,
        presence_collection(folder, name="fitting"),
        presence_collection(folder, avoiding_histories(), name="avoiding"),
    )
    return folder, crawl_urn("run", "--collections", configuration, "--home", "home", cwd=folder)


def test_a_finding_is_not_an_error(good_run):
    _, result = good_run
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_progress_and_the_closing_table_are_printed(good_run):
    folder, result = good_run
    lines = result.stdout.splitlines()
    assert "fitting: 24 crawls, 2020-01-06 to 2021-10-11" in lines
    steps = [line for line in lines if "/34 " in line]
    assert len(steps) == 2 * 34 - 3
    (held_back,) = (line for line in lines if "held back" in line)
    assert sorted(held_back.split(":")[1].replace(" ", "").split(",")) == [
        *("core_shell_fits", "fates_of_an_element", "homogeneous_fits")
    ]
    assert any(line.endswith("headline_headline_fit  failed") for line in steps)
    text = " ".join(result.stdout.split())
    assert "model_violation" in text
    assert "fitting (core_shell containment, exact form, per crawl): Of each crawl, " in text
    assert "per crawl): No urn parameters are given (model_violation): Elements first return more often" in text
    assert "| home/fitting/figures" in text.replace("│", "|")
    assert f"Everything is under {folder / 'home'}" in text


def test_everything_that_is_named_is_there(good_run):
    folder, _ = good_run
    for name, figures in (("fitting", 6), ("avoiding", 3)):
        home = folder / "home" / name
        assert len(list((home / "figures").glob("*.png"))) == figures
        assert len(list((home / "figures").glob("*.svg"))) == figures
        assert (home / "report.md").stat().st_size > 0
        assert len(ObservablesFile(home / "observables.duckdb").read("parameters")) > 0
    assert not list((folder / "home").rglob("*.partial"))


def test_an_error_is_named_and_does_not_stop_the_others(tmp_path):
    broken = tables_collection(tmp_path, histories(12), name="broken", windows=False)
    sound = tables_collection(tmp_path, histories(12), name="sound", windows=False)
    home = tmp_path / "home"
    home.mkdir()
    (home / "broken").write_text("a file where the collection's folder should be")
    result = crawl_urn("run", "--collections", configure(tmp_path, broken, sound), "--home", home, cwd=tmp_path)
    assert result.returncode == 1
    assert "Error: collection broken: broken__read_tables: " in result.stderr
    assert str(home / "broken") in result.stderr
    assert (home / "sound" / "report.md").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one["source"].update(pears="x"), "source.pears"),
        (lambda one: one["source"].update(pairs="gone.csv"), "gone.csv"),
        (lambda one: one.update(first_crawl="2020-01-07"), "2020-01-07"),
        (lambda one: one.update(name="A"), "name"),
    ],
    ids=["wrong key", "missing file", "unknown crawl", "wrong name"],
)
def test_a_wrong_configuration_is_said_before_anything_runs(tmp_path, change, said):
    collection = tables_collection(tmp_path, histories(12), windows=False)
    path = configure(tmp_path, collection)
    content = yaml.safe_load(path.read_text())
    change(content["collections"][0])
    path.write_text(yaml.safe_dump(content))
    result = crawl_urn("run", "--collections", path, "--home", "home", cwd=tmp_path)
    assert result.returncode == 1
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "home" / ".dagster").exists()
    assert not (tmp_path / "home" / "tabled").exists()


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path):
    result = crawl_urn("run", "--select", "dome", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == "Error: no collection is named dome; there are demo\n"


def start(*arguments, cwd):
    """The command in the background, once it has finished some steps."""
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment(),
    )
    for line in process.stdout:
        if line.strip().startswith("5/"):
            return process
    raise AssertionError("the command ended before its fifth step")


def test_a_killed_run_is_cleared_up_by_the_next(tmp_path):
    configuration = configure(tmp_path, tables_collection(tmp_path, histories(12), windows=False))
    arguments = ("run", "--collections", configuration, "--home", "home")
    killed = start(*arguments, cwd=tmp_path)
    with dg.DagsterInstance.from_config(str(tmp_path / "home" / ".dagster")) as instance:
        run_id = instance.get_runs()[0].run_id
        killed.kill()
        killed.communicate()
        # As when it is killed inside a step: its place in the pool is taken.
        instance.event_log_storage.initialize_concurrency_limit_to_default("tabled_duckdb")
        instance.event_log_storage.claim_concurrency_slot("tabled_duckdb", run_id, "a step")
        assert not instance.get_run_by_id(run_id).is_finished

        assert crawl_urn(*arguments, cwd=tmp_path).returncode == 0
        assert instance.get_run_by_id(run_id).status == dg.DagsterRunStatus.FAILURE


def test_a_second_run_at_once_is_refused_and_an_interrupt_ends_all(tmp_path):
    collections = [tables_collection(tmp_path, histories(12), name=name, windows=False) for name in ("first", "second")]
    arguments = ("run", "--collections", configure(tmp_path, *collections), "--home", "home")
    running = start(*arguments, cwd=tmp_path)
    refused = crawl_urn(*arguments, cwd=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr == "Error: another crawl-urn run is at first_update; wait for it, or end it\n"
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "Error: collection first: " in errors
    assert "second: run" not in output


def test_every_faulty_collection_is_named(tmp_path):
    collections = [tables_collection(tmp_path, histories(12), name=name, windows=False) for name in ("first", "second")]
    for one in collections:
        Path(one.source.pairs).write_text("<html>maintenance</html>")
    result = crawl_urn("run", "--collections", configure(tmp_path, *collections), "--home", "home", cwd=tmp_path)
    assert result.returncode == 1
    assert "collection first: " in result.stderr
    assert "collection second: " in result.stderr


def test_the_ui_refuses_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = crawl_urn("ui", "--home", "home", "--port", port, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == f"Error: 127.0.0.1:{port} cannot be used (Address already in use); choose --port\n"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Ui:
    """`crawl-urn ui` in a process group of its own."""

    def __init__(self, folder, configuration):
        self.port = free_port()
        self._log = (folder / "ui.log").open("w")
        self._process = subprocess.Popen(
            [COMMAND, "ui", "--collections", configuration, "--home", folder / "home", "--port", str(self.port)],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment(),
            start_new_session=True,
        )

    def ask(self, query, **variables):
        answer = requests.post(
            f"http://127.0.0.1:{self.port}/graphql", json={"query": query, "variables": variables}, timeout=30
        )
        answer.raise_for_status()
        content = answer.json()
        assert "errors" not in content, json.dumps(content["errors"])[:2000]
        return content["data"]

    def wait_until(self, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self._process.poll() is None, "the UI has ended"
            try:
                found = condition()
            except requests.ConnectionError:
                found = None
            if found:
                return found
            time.sleep(0.5)
        raise AssertionError("waited in vain")

    def close(self):
        self._process.terminate()
        self._process.wait(timeout=60)
        self._log.close()


def test_the_ui_has_the_earlier_run_and_re_executes_it(good_run):
    folder, _ = good_run
    with dg.DagsterInstance.from_config(str(folder / "home" / ".dagster")) as instance:
        of_command = instance.get_runs()[0].tags
        killed = dg.DagsterRun(job_name="avoiding_update", status=dg.DagsterRunStatus.STARTED, tags=of_command)
        instance.add_run(killed)
    ui = Ui(folder, folder / "collections.yaml")
    try:
        locations = "{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus } } } }"
        ui.wait_until(
            lambda: (
                [
                    (entry["name"], entry["loadStatus"])
                    for entry in ui.ask(locations)["workspaceOrError"]["locationEntries"]
                ]
                == [("crawl_urn_dagster", "LOADED")]
            ),
            seconds=90,
        )
        status = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status parentRunId } } }"
        assert ui.ask(status, id=killed.run_id)["runOrError"]["status"] == "FAILURE"
        runs = ui.ask("{ runsOrError { ... on Runs { results { runId jobName status } } } }")["runsOrError"]["results"]
        parent = next(run for run in runs if run["jobName"] == "fitting_update")
        assert parent["status"] == "SUCCESS"
        launched = ui.ask(
            """mutation($parent: String!) { launchRunReexecution(reexecutionParams: {
                   parentRunId: $parent, strategy: ALL_STEPS}) {
                 __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }""",
            parent=parent["runId"],
        )["launchRunReexecution"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        run_id = launched["run"]["runId"]
        again = ui.wait_until(
            lambda: (
                run if (run := ui.ask(status, id=run_id)["runOrError"])["status"] in {"SUCCESS", "FAILURE"} else None
            ),
            seconds=120,
        )
        assert again == {"status": "SUCCESS", "parentRunId": parent["runId"]}
        metadata = ui.ask(
            """{ assetOrError(assetKey: {path: ["fitting", "headline"]}) { ... on Asset {
                   assetMaterializations { runId metadataEntries {
                       label ... on FloatMetadataEntry { floatValue } } } } } }"""
        )["assetOrError"]["assetMaterializations"]
        assert {materialization["runId"] for materialization in metadata} == {run_id, parent["runId"]}
        plotted = {entry["label"] for entry in metadata[0]["metadataEntries"] if "floatValue" in entry}
        assert {"kappa", "core_share", "alpha", "coverage"} <= plotted
    finally:
        ui.close()
