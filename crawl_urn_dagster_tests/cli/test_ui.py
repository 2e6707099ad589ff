"""The UI of two collections: runs that it re-executes, and its pages in a browser, which are skipped without one."""

import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import dagster as dg
import pytest

from crawl_urn_dagster.orchestration.run_processes import record_pid
from crawl_urn_dagster.processes import PROCESSES
from crawl_urn_dagster_tests.command import PATIENT_SECONDS, Ui

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(browser):
    """A page that fails the test if one of its scripts fails."""
    errors = []
    page = browser.new_page(viewport={"width": 1700, "height": 1100})
    page.on("pageerror", lambda error: errors.append(error))  # noqa: PLW0108 - a bound built-in takes no attributes
    page.set_default_timeout(1000 * PATIENT_SECONDS)
    yield page
    assert errors == []


class Started(NamedTuple):
    """The UI, its instance, and the runs before it started: those of the command by job, and a killed one."""

    ui: Ui
    instance: Path
    earlier: dict[str, str]
    killed: str


@pytest.fixture(scope="module")
def started(command_run, tmp_path_factory):
    """The UI of a copy of the run of the command, in which a run was killed."""
    folder = tmp_path_factory.mktemp("ui") / "command"
    shutil.copytree(command_run[0], folder)
    home = folder / "home" / ".dagster"
    with dg.DagsterInstance.from_config(str(home)) as instance:
        runs = instance.get_runs()
        earlier, command_tags = {run.job_name: run.run_id for run in runs}, runs[0].tags
        # A run of the collection that the tests do not update: its work is repeated, and two updates of one collection
        # at once may fail.
        killed = dg.DagsterRun(job_name="avoiding_update", status=dg.DagsterRunStatus.STARTED, tags=command_tags)
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            instance.add_run(killed)
            record_pid(instance, killed.run_id, process.pid)
            process.kill()
    ui = Ui(folder, folder / "collections.yaml", **{PROCESSES: "1"})
    try:
        locations = "{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus } } } }"

        def is_loaded():
            entries = ui.query(locations)["workspaceOrError"]["locationEntries"]
            return [tuple(entry.values()) for entry in entries] == [("crawl_urn_dagster", "LOADED")]

        ui.wait_until(is_loaded)
        yield Started(ui, home, earlier, killed.run_id)
    finally:
        ui.close()


@pytest.fixture
def ui(started):
    return started.ui


def ended(run):
    return run if run["status"] in {"SUCCESS", "FAILURE"} else None


def errors_of(home, run_id):
    """Return the errors that a run has logged, as text."""
    with dg.DagsterInstance.from_config(str(home)) as instance:
        failures = (entry for entry in instance.all_logs(run_id) if entry.level >= logging.ERROR)
        return "\n".join(f"{entry.message}\n{entry.dagster_event}" for entry in failures)


def test_ui_shows_and_re_executes_earlier_runs(started):
    ui, home, earlier, killed = started
    status = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status parentRunId } } }"
    assert ui.query(status, id=killed)["runOrError"]["status"] == "FAILURE"
    results = ui.query("{ runsOrError { ... on Runs { results { runId jobName status } } } }")
    runs = {run["runId"]: (run["jobName"], run["status"]) for run in results["runsOrError"]["results"]}
    for job in ("fitting_ingest", "fitting_update"):
        parent = earlier[job]
        assert runs[parent] == (job, "SUCCESS")
        launched = ui.query(
            """mutation($parent: String!) { launchRunReexecution(reexecutionParams: {
                   parentRunId: $parent, strategy: ALL_STEPS}) {
                 __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }""",
            parent=parent,
        )["launchRunReexecution"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        run_id = launched["run"]["runId"]
        ended_run = ui.wait_until(lambda run_id=run_id: ended(ui.query(status, id=run_id)["runOrError"]))
        assert ended_run == {"status": "SUCCESS", "parentRunId": parent}, errors_of(home, run_id)
    metadata = ui.query(
        """{ assetOrError(assetKey: {path: ["fitting", "headline"]}) { ... on Asset {
               assetMaterializations { runId metadataEntries {
                   label ... on FloatMetadataEntry { floatValue } } } } } }"""
    )["assetOrError"]["assetMaterializations"]
    materialised = {materialization["runId"] for materialization in metadata}
    assert materialised == {run_id, parent}
    plotted = {entry["label"] for entry in metadata[0]["metadataEntries"] if "floatValue" in entry}
    assert {"kappa", "core_share", "alpha", "coverage"} <= plotted


def test_graph_shows_the_assets(ui, page):
    # The page has only the visible assets, and no names if there are as many as in the other collection.
    page.set_viewport_size({"width": 3000, "height": 6000})
    page.goto(f"{ui.address}/locations/crawl_urn_dagster/asset-groups/avoiding/lineage")
    for name in ("crawls", "containment", "parameters", "report"):
        page.get_by_text(name, exact=True).first.wait_for()


def test_figure_is_shown_on_its_page(ui, page):
    page.goto(f"{ui.address}/assets/fitting/containment_by_lag")
    for text in ("crawling", "figures.py"):
        page.get_by_text(text).first.wait_for()
    page.get_by_text("[Show Markdown]").first.click()
    picture = page.locator("img[src^='data:image/png']").first
    picture.wait_for()
    assert picture.evaluate("image => image.naturalWidth") > 300


def test_table_shows_its_columns_and_first_rows(ui, page):
    page.goto(f"{ui.address}/assets/fitting/containment")
    page.get_by_text("elements in both crawls; estimates from sketches may be negative").first.wait_for()
    page.get_by_text("[Show Markdown]").first.click()
    page.get_by_role("cell", name="2020-01-06").first.wait_for()


def test_check_shows_observed_value_and_threshold(ui, page):
    page.goto(f"{ui.address}/assets/fitting/containment?view=checks&checkDetail=coverage_drop")
    page.get_by_text("The median of the previous").first.wait_for()
    for label in ("observed", "threshold"):
        page.get_by_text(label, exact=True).first.wait_for()


def test_sensor_shows_its_description_and_job(ui, page):
    page.goto(f"{ui.address}/locations/crawl_urn_dagster/sensors/fitting_new_crawl")
    page.get_by_text("Requests the jobs of fitting if its source has a new crawl or a revision.").wait_for()
    page.get_by_text("fitting_update", exact=True).first.wait_for()
