"""The component in a sandboxed project of somebody else."""

import traceback
from pathlib import Path

import dagster as dg
import pytest
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox

from crawl_urn_dagster import CrawlUrnComponent
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection


def contents(**collection):
    return {
        "type": "crawl_urn_dagster.CrawlUrnComponent",
        "attributes": {"collection": {"granularity": "url", "source": {"type": "simulated"}, **collection}},
    }


def keys_of(defs):
    return {key.to_user_string() for key in defs.resolve_all_asset_keys()}


def test_the_scaffolded_component_is_valid_as_it_is():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent)
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, defs):
            assert isinstance(component, CrawlUrnComponent)
            assert {"demo/presence", "demo/parameters", "demo/report"} <= keys_of(defs)


def test_paths_are_taken_from_the_folder_of_the_component(tmp_path):
    with create_defs_folder_sandbox() as sandbox:
        source = {"type": "observable_tables", "pairs": "pairs.csv"}
        path = sandbox.scaffold_component(
            component_cls=CrawlUrnComponent, defs_yaml_contents=contents(name="mine", source=source)
        )
        table = Path(tables_collection(tmp_path, histories(12), windows=False).source.pairs)
        table.rename(path / "pairs.csv")
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            assert "mine/containment" in keys_of(defs)
            instance = dg.DagsterInstance.ephemeral()
            with dg.build_sensor_context(instance=instance, resources=defs.resources, definitions=defs) as context:
                tick = defs.resolve_sensor_def("mine_new_crawl").evaluate_tick(context)
            assert len(tick.run_requests) == 1


def test_two_components_live_in_one_project():
    with create_defs_folder_sandbox() as sandbox:
        for name in ("first", "second"):
            sandbox.scaffold_component(
                component_cls=CrawlUrnComponent, defs_path=name, defs_yaml_contents=contents(name=name)
            )
        with sandbox.build_all_defs() as defs:
            assert {"first/report", "second/report"} <= keys_of(defs)
            assert {job.name for job in defs.jobs} == {"first_update", "second_update"}


@pytest.mark.parametrize(
    ("collection", "said"),
    [({"name": "Not a name"}, "name"), ({"name": "mine", "granularty": "url"}, "granularty")],
)
def test_a_wrong_attribute_is_named(collection, said):
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=contents(**collection))
        with (
            pytest.raises(ComponentTreeException) as raised,
            sandbox.load_component_and_build_defs(defs_path=path),
        ):
            pass
        assert said in "".join(traceback.format_exception(raised.value))
