"""The command line as a user runs it: real processes, a real instance, the real UI server."""

import re
import signal
import socket
import subprocess
from pathlib import Path

import dagster as dg
import pytest
import yaml

from crawl_urn_dagster.cli.launching import InstanceError, open_instance
from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    lists_collection,
    presence_collection,
    presence_of,
    tables_collection,
    write_list,
)
from crawl_urn_dagster_tests.command import COMMAND, Ui, configure, environment

pytestmark = pytest.mark.slow


def crawl_urn(*arguments, cwd, **values):
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=environment(**values),
        timeout=600,  # a UI that should have refused to start ends by itself
    )


@pytest.fixture(scope="module")
def good_run(tmp_path_factory):
    """A collection that fits and one that does not, run by the command."""
    folder = tmp_path_factory.mktemp("cli")
    configuration = configure(
        folder,
        presence_collection(folder, name="fitting"),
        presence_collection(folder, avoiding_histories(12), name="avoiding"),
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
    for name, crawls, rows in (("fitting", 24, "91,051"), ("avoiding", 12, "26,959")):
        started = next(number for number, line in enumerate(lines) if line.startswith(f"{name}_ingest: run "))
        started_line, read, captures, ended, update = lines[started : started + 5]
        assert read.endswith(f"{crawls} of {crawls} crawls to read")
        assert f"reading captures: {rows} rows in" in captures
        assert started_line.endswith(", 1 step")
        assert ended.startswith("    1/1 ")
        assert ended.endswith("  ingest")
        assert update.startswith(f"{name}_update: run ")
    (total,) = {found[1] for line in lines if (found := re.search(r"_update: run .*, (\d+) steps", line))}
    steps = [line for line in lines if f"/{total} " in line]
    (skipped,) = (line for line in lines if "skipped: " in line)
    named, _, more = skipped.split(": ")[1].removesuffix(" (blocked by a failed step or check)").partition(" and ")
    shown = named.split(", ")
    assert set(shown) <= set(PARAMETER_FIGURES)
    assert len(shown) + int(more.removesuffix(" more") or 0) == len(PARAMETER_FIGURES)
    assert len(steps) == 2 * int(total) - len(PARAMETER_FIGURES)
    assert any(line.endswith("headline_headline_fit  failed") for line in steps)
    text = " ".join(result.stdout.split())
    assert re.search(r"\(0.*│ ok +│ sound +│ home/fitting", text)
    assert re.search(r"│ model_violation +│ no_urn +│ home/avoiding", text)
    assert "fitting (core_shell joint, exact form, per crawl): Of each crawl, " in text
    assert "per crawl): No urn parameters are given (model_violation): Elements first return more often" in text
    assert "| home/fitting/report.html" in text.replace("│", "|")
    assert f"in its folder under {folder / 'home'}" in text
    assert "Comparison of all collections: home/comparison.html" in text


def test_everything_that_is_named_is_there(good_run):
    folder, _ = good_run
    for name, withheld in (("fitting", False), ("avoiding", True)):
        home = folder / "home" / name
        made = {path.stem for path in (home / "figures").glob("*.png")}
        assert made == {path.stem for path in (home / "figures").glob("*.svg")}
        shown = set(re.findall(r"\(figures/(\w+)\.png\)", (home / "report.md").read_text()))
        # Of 12 crawls no reference is over, so that two figures have nothing to show.
        assert made - shown <= {"control_charts", "parameters_over_time"}
        assert shown <= made
        assert bool(made & set(PARAMETER_FIGURES)) != withheld
        assert (home / "report.html").exists()
        assert len(ObservablesFile(home / "observables.duckdb").read("parameters")) > 0
    assert not list((folder / "home").rglob("*.partial"))
    assert "| status" in (folder / "home" / "comparison.md").read_text()


def test_a_crawl_that_arrives_is_ingested_alone(tmp_path):
    crawls = presence_of(histories(2))
    *earlier, last = crawls
    for crawl in earlier:
        write_list(tmp_path, crawl, crawls[crawl])
    collection = lists_collection(tmp_path)
    home = CollectionHome(folder=str(tmp_path / "home"), collection=collection.name)
    revisions = collection.source.list_crawls(home.files, collection.selection).revisions
    assert len(list(home.presence.write(collection.source.captures(home.files, earlier), revisions))) == 1
    write_list(tmp_path, last, crawls[last])
    result = crawl_urn("run", "--collections", configure(tmp_path, collection), "--home", "home", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "1 of 2 crawls to read" in result.stdout
    tables = ObservablesFile(tmp_path / "home" / "split" / "observables.duckdb")
    assert tables.read("crawls")["crawl"].tolist() == list(crawls)


def test_an_error_is_named_and_does_not_stop_the_others(tmp_path):
    lists = presence_collection(tmp_path, histories(2), name="lists")
    tables, sound = (
        tables_collection(tmp_path, histories(2), name=name, windows=False) for name in ("tables", "sound")
    )
    home = tmp_path / "home"
    home.mkdir()
    for broken in ("lists", "tables"):
        (home / broken).write_text("a file where the collection's folder should be")
    configuration = configure(tmp_path, lists, tables, sound)
    result = crawl_urn("run", "--collections", configuration, "--home", home, cwd=tmp_path)
    assert result.returncode == 1
    for broken, step in (("lists", "ingest"), ("tables", "read_tables")):
        assert f"Error: collection {broken}: {broken}__{step}: " in result.stderr
        assert str(home / broken) in result.stderr
    assert "lists_update: run" not in result.stdout  # the ingest before it failed
    assert (home / "sound" / "report.html").exists()


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


def test_an_engine_that_is_not_installed_is_said_before_anything_runs(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\n\nsys.modules['pyspark'] = None\n")
    collection = presence_collection(tmp_path, histories(3), engine={"type": "spark", "master": "local"})
    arguments = ("run", "--collections", configure(tmp_path, collection), "--home", "home")
    result = crawl_urn(*arguments, cwd=tmp_path, PYTHONPATH=str(hidden))
    assert result.returncode == 1
    assert "collection listed: engine.type: found 'spark', which needs pyspark: pip install" in result.stderr
    assert not (tmp_path / "home" / ".dagster").exists()


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path):
    result = crawl_urn("run", "--select", "dome", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == "Error: --select: unknown collection 'dome'. Available collections: demo.\n"


@pytest.mark.parametrize("command", ["run", "ui"])
def test_a_wrong_alert_address_or_home_is_said_before_anything_starts(tmp_path, command):
    addresses = "json://127.0.0.1/ slackk://a/s3cret/c"
    result = crawl_urn(command, "--home", "home", cwd=tmp_path, CRAWL_URN_ALERTS=addresses)
    assert result.returncode == 1
    said = "Error: CRAWL_URN_ALERTS, target 2 of 2: not a valid Apprise URL"
    assert result.stderr.startswith(said)
    assert "s3cret" not in result.stderr
    assert not (tmp_path / "home").exists()
    result = crawl_urn(command, "--home", "/dev/null", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == "Error: --home: /dev/null cannot be used (File exists); choose a writable folder\n"


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
    configuration = configure(tmp_path, tables_collection(tmp_path, histories(2), windows=False))
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
    assert (
        refused.stderr == "Error: another crawl-urn process is running first_update; wait for it to finish or stop it\n"
    )
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert errors.startswith("Error: interrupted: first; not started: second. All files are complete")
    assert len(errors.splitlines()) == 1
    assert "second: run" not in output


@pytest.mark.parametrize("command", ["run", "ui"])
def test_an_instance_folder_that_is_not_there_is_named(tmp_path, command):
    result = crawl_urn(command, "--home", "home", cwd=tmp_path, DAGSTER_HOME=str(tmp_path / "gone"))
    assert result.returncode == 1
    said = f"DAGSTER_HOME: no such folder: {tmp_path / 'gone'}; create it or unset DAGSTER_HOME"
    assert result.stderr == f"Error: {said}\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [("dagster.yaml", "storage: {sqlite: 3}"), ("dagster.yaml", "storage: ["), ("history", "")],
    ids=["wrong settings", "no YAML", "a file where a folder should be"],
)
def test_an_instance_that_cannot_be_opened_is_named(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    said = rf"(?s)in {tmp_path} cannot be opened: .*; check its dagster.yaml"
    with pytest.raises(InstanceError, match=said) as raised, open_instance(tmp_path):
        pass
    assert name in str(raised.value)


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
    assert (
        result.stderr
        == f"Error: --port: 127.0.0.1:{port} cannot be used (Address already in use); choose another port\n"
    )


def ended(run):
    return run if run["status"] in {"SUCCESS", "FAILURE"} else None


def test_the_ui_has_the_earlier_runs_and_re_executes_them(tmp_path):
    configuration = configure(tmp_path, presence_collection(tmp_path, histories(12, urn=500)))
    assert crawl_urn("run", "--collections", configuration, "--home", "home", cwd=tmp_path).returncode == 0
    with dg.DagsterInstance.from_config(str(tmp_path / "home" / ".dagster")) as instance:
        of_command = instance.get_runs()[0].tags
        killed = [
            dg.DagsterRun(job_name=f"listed_{job}", status=dg.DagsterRunStatus.STARTED, tags=of_command)
            for job in ("ingest", "update")
        ]
        for run in killed:
            instance.add_run(run)
    ui = Ui(tmp_path, configuration)
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
        for run in killed:
            assert ui.ask(status, id=run.run_id)["runOrError"]["status"] == "FAILURE"
        runs = ui.ask("{ runsOrError { ... on Runs { results { runId jobName status } } } }")["runsOrError"]["results"]
        for job in ("listed_ingest", "listed_update"):
            (parent,) = (run for run in runs if (run["jobName"], run["status"]) == (job, "SUCCESS"))
            launched = ui.ask(
                """mutation($parent: String!) { launchRunReexecution(reexecutionParams: {
                       parentRunId: $parent, strategy: ALL_STEPS}) {
                     __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }""",
                parent=parent["runId"],
            )["launchRunReexecution"]
            assert launched["__typename"] == "LaunchRunSuccess", launched
            run_id = launched["run"]["runId"]
            again = ui.wait_until(lambda run_id=run_id: ended(ui.ask(status, id=run_id)["runOrError"]), seconds=120)
            assert again == {"status": "SUCCESS", "parentRunId": parent["runId"]}
        metadata = ui.ask(
            """{ assetOrError(assetKey: {path: ["listed", "headline"]}) { ... on Asset {
                   assetMaterializations { runId metadataEntries {
                       label ... on FloatMetadataEntry { floatValue } } } } } }"""
        )["assetOrError"]["assetMaterializations"]
        assert {materialization["runId"] for materialization in metadata} == {run_id, parent["runId"]}
        plotted = {entry["label"] for entry in metadata[0]["metadataEntries"] if "floatValue" in entry}
        assert {"kappa", "core_share", "alpha", "coverage"} <= plotted
    finally:
        ui.close()
