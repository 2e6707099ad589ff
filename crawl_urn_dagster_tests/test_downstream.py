"""The snippets of docs/downstream.md, run on a collection as one file of a project."""

import re
from datetime import datetime
from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from crawl_urn_dagster import CrawlUrnComponent
from crawl_urn_dagster.figures import files
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import crawls_table
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls
from crawl_urn_dagster_tests.unflushed.sitecustomize import draw_nothing

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "downstream.md").read_text()
COMPLETE = dg.AssetKey(["web_team", "my_hosts", "complete"])


def snippets(language):
    return re.findall(f"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def project(tmp_path):
    """Definitions of a project with the component and the Python file of the page."""
    (component,) = map(yaml.safe_load, snippets("yaml"))
    component["attributes"]["home"] = str(tmp_path)
    component["attributes"]["collection"]["source"] |= {"crawls": 12, "elements": 3000}
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=component)
        (path.parent / "newsletter.py").write_text("\n".join(snippets("python")))
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            yield defs


def test_component_is_renamed_and_own_objects_are_found(project):
    graph = project.resolve_asset_graph()
    assert graph.get(dg.AssetKey("newsletter")).parent_keys == {COMPLETE}
    assert COMPLETE in graph.materializable_asset_keys
    own = dg.AssetCheckKey(dg.AssetKey(["web_team", "my_hosts", "quantities"]), "completeness_is_high")
    assert own in graph.asset_check_keys
    update = project.resolve_job_def("my_hosts_update")
    assert not any("completeness_is_high" in node.name for node in update.nodes)
    assert project.resolve_sensor_def("newsletter_automation").default_status == dg.DefaultSensorStatus.RUNNING


def test_program_outside_dagster_reads_complete_tables_only(tmp_path):
    (snippet,) = (text for text in snippets("python") if "def complete_as_of" in text)
    namespace = {}
    exec(snippet, namespace)
    file = ObservablesFile(tmp_path / "observables.duckdb")
    crawls = dated_crawls([3, 4])
    file.replace({"crawls": crawls_table(crawls)})
    assert namespace["complete_as_of"](str(file.path)) is None
    row = ("2020-02-03", 2, "run", datetime(2020, 2, 4))  # noqa: DTZ001 - UTC by contract
    file.replace({"complete": pd.DataFrame([row], columns=list(TABLES["complete"].column_names))})
    assert namespace["complete_as_of"](str(file.path)) == "2020-02-03"


@pytest.mark.slow
def test_own_asset_and_check_follow_an_update_once(project, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "draw", draw_nothing)
    instance = dg.DagsterInstance.ephemeral()

    def requested(cursor):
        own = dg.AssetSelection.assets("newsletter") | dg.AssetSelection.checks(
            dg.AssetCheckKey(dg.AssetKey(["web_team", "my_hosts", "quantities"]), "completeness_is_high")
        )
        found = dg.evaluate_automation_conditions(project, instance, asset_selection=own, cursor=cursor)
        return {one.true_subset.key for one in found.results if one.true_subset.size}, found.cursor

    keys, cursor = requested(None)
    assert project.resolve_job_def("my_hosts_ingest").execute_in_process(instance=instance).success
    # Not a subset of the job: Dagster evaluates every check of assets that are chosen by hand.
    assert project.resolve_job_def("my_hosts_update").execute_in_process(instance=instance).success

    keys, cursor = requested(cursor)
    assert {getattr(key, "name", None) or key.to_user_string() for key in keys} == {
        "newsletter",
        "completeness_is_high",
    }
    run = project.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance, asset_selection=[dg.AssetKey("newsletter")]
    )
    (newsletter,) = run.asset_materializations_for_node("newsletter")
    with duckdb.connect(tmp_path / "my_hosts" / "observables.duckdb", read_only=True) as database:
        query = "SELECT value FROM quantities WHERE quantity = 'completeness'"
        ((completeness,),) = database.execute(query).fetchall()
    assert 0 < completeness < 1
    assert newsletter.metadata["sentence"].value == f"One crawl captures {completeness:.0%} of the known hosts."
    (check,) = (one for one in project.asset_checks or [] if "completeness_is_high" in str(one.check_keys))
    evaluated = dg.materialize([check], selection=dg.AssetSelection.checks(check), resources=project.resources)
    (result,) = evaluated.get_asset_check_evaluations()
    assert result.passed
    assert result.metadata["completeness"].value == completeness
    keys, _ = requested(cursor)
    assert keys == set()
