"""The snippets of docs/downstream.md, run on a collection as one file of a project."""

import re
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from crawl_urn_dagster import CrawlUrnComponent
from crawl_urn_dagster_tests.pipeline import ALL_BUT_FITS

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "downstream.md").read_text()
REPORT = dg.AssetKey(["web_team", "my_hosts", "report"])


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
    assert graph.get(dg.AssetKey("newsletter")).parent_keys == {REPORT}
    assert REPORT in graph.materializable_asset_keys
    own = dg.AssetCheckKey(dg.AssetKey(["web_team", "my_hosts", "quantities"]), "completeness_is_high")
    assert own in graph.asset_check_keys
    update = project.resolve_job_def("my_hosts_update")
    assert not any("completeness_is_high" in node.name for node in update.nodes)
    assert project.resolve_sensor_def("newsletter_automation").default_status == dg.DefaultSensorStatus.RUNNING


@pytest.mark.slow
def test_own_asset_and_check_follow_an_update_once(project):
    instance = dg.DagsterInstance.ephemeral()

    def requested(cursor):
        own = dg.AssetSelection.assets("newsletter") | dg.AssetSelection.checks(
            dg.AssetCheckKey(dg.AssetKey(["web_team", "my_hosts", "quantities"]), "completeness_is_high")
        )
        found = dg.evaluate_automation_conditions(project, instance, asset_selection=own, cursor=cursor)
        return {one.true_subset.key for one in found.results if one.true_subset.size}, found.cursor

    keys, cursor = requested(None)
    assert project.resolve_job_def("my_hosts_ingest").execute_in_process(instance=instance).success
    update = project.resolve_job_def("my_hosts_update")
    chosen = [key for key in update.asset_layer.selected_asset_keys if key.path[-1] not in ALL_BUT_FITS]
    assert update.execute_in_process(instance=instance, asset_selection=chosen, raise_on_error=False)
    instance.report_runless_asset_event(dg.AssetMaterialization(REPORT))  # to write one takes most of the time

    keys, cursor = requested(cursor)
    assert {getattr(key, "name", None) or key.to_user_string() for key in keys} == {
        "newsletter",
        "completeness_is_high",
    }
    run = project.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance, asset_selection=[dg.AssetKey("newsletter")]
    )
    (newsletter,) = run.asset_materializations_for_node("newsletter")
    assert re.fullmatch(r"One crawl captures 7\d% of the known hosts\.", newsletter.metadata["sentence"].value)
    (check,) = (one for one in project.asset_checks or [] if "completeness_is_high" in str(one.check_keys))
    evaluated = dg.materialize([check], selection=dg.AssetSelection.checks(check), resources=project.resources)
    (result,) = evaluated.get_asset_check_evaluations()
    assert result.passed
    assert result.metadata["completeness"].value > 0.5
    keys, _ = requested(cursor)
    assert keys == set()
