"""Assets that a code location renames, describes and runs in its own way."""

import re
import traceback
from pathlib import Path

import dagster as dg
import jsonschema
import pytest
import yaml
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox

from crawl_urn_dagster import AssetOptions, CrawlUrnComponent, build_defs, demo_collection
from crawl_urn_dagster.figures import files
from crawl_urn_dagster.orchestration import change_detection
from crawl_urn_dagster_tests.collections_for_tests import histories, presence_collection
from crawl_urn_dagster_tests.unflushed.sitecustomize import draw_nothing

TRANSLATION = {
    "key": "web_team/{{ collection }}_{{ asset }}",
    "group_name": "web",
    "tags": {"tier": "{{ 'gold' if asset == 'headline' else 'silver' }}"},
    "owners": ["team:web"],
    "description": "{{ spec.description }} Kept by the web team.",
    "automation_condition": "{{ dg.AutomationCondition.eager() if asset == 'headline' else none }}",
}


def load(tmp_path, collection, **attributes):
    """The component and definitions of a project with one component."""
    content = {
        "type": "crawl_urn_dagster.CrawlUrnComponent",
        "attributes": {"collection": collection, "home": str(tmp_path / "home"), **attributes},
    }
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=content)
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, defs):
            return component, defs


DEMO = {"name": "demo", "granularity": "url", "source": {"type": "simulated"}}


def test_translation_changes_every_attribute(tmp_path):
    _, defs = load(tmp_path, DEMO, translation=TRANSLATION)
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    assert all(key.startswith("web_team/demo_") for key in specs)
    headline, parameters = specs["web_team/demo_headline"], specs["web_team/demo_parameters"]
    assert headline.tags["tier"] == "gold"
    assert parameters.tags["tier"] == "silver"
    assert {spec.group_name for spec in specs.values()} == {"web"}
    assert headline.owners == ["team:web"]
    assert parameters.description.endswith("Kept by the web team.")
    assert headline.automation_condition is not None
    assert parameters.automation_condition is None
    assert "dagster/column_schema" in headline.metadata


def test_renaming_keeps_lineage_checks_and_sensors(tmp_path):
    plain, renamed = build_defs([demo_collection()]), load(tmp_path, DEMO, translation=TRANSLATION)[1]

    def new(key):
        return dg.AssetKey(["web_team", f"demo_{key.path[-1]}"])

    expected = {new(spec.key): {new(dep.asset_key) for dep in spec.deps} for spec in plain.resolve_all_asset_specs()}
    assert {spec.key: {dep.asset_key for dep in spec.deps} for spec in renamed.resolve_all_asset_specs()} == expected
    graphs = plain.resolve_asset_graph(), renamed.resolve_asset_graph()
    before, after = ({(check.asset_key, check.name) for check in graph.asset_check_keys} for graph in graphs)
    assert after == {(new(key), name) for key, name in before}
    assert {job.name for job in renamed.jobs} == {job.name for job in plain.jobs}
    for job in plain.jobs:
        selected = [defs.resolve_job_def(job.name).asset_layer for defs in (plain, renamed)]
        assert selected[1].selected_asset_keys == {new(key) for key in selected[0].selected_asset_keys}
        steps = [len(renamed_or_not.resolve_job_def(job.name).nodes) for renamed_or_not in (plain, renamed)]
        assert steps[1] == steps[0]
    assert {sensor.name for sensor in renamed.sensors} == {sensor.name for sensor in plain.sensors}


@pytest.mark.slow
def test_renamed_assets_are_updated_once_by_sensor_and_jobs(tmp_path, monkeypatch):
    """Sensor, ingest, update with checks, and sensor again, on an instance with its event log on disk."""
    # Otherwise the update waits for the sensor on ingest runs, which needs the daemon.
    monkeypatch.setattr(change_detection, "_FOLLOWED_WITHIN_SECONDS", -1)
    monkeypatch.setattr(files, "draw", draw_nothing)
    collection = presence_collection(tmp_path, histories(12, urn=800))
    content = collection.model_dump(mode="json", exclude_unset=True)
    _, defs = load(tmp_path, content, translation=TRANSLATION)
    with dg.instance_for_test() as instance:

        def tick():
            with dg.build_sensor_context(instance=instance, definitions=defs, resources=defs.resources) as context:
                found = defs.resolve_sensor_def("listed_new_crawl").evaluate_tick(context)
            for request in found.dynamic_partitions_requests:
                instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
            return found

        def run(request):
            job = defs.resolve_job_def(request.job_name)
            return job.execute_in_process(instance=instance, tags=request.tags, raise_on_error=False)

        (ingest,) = tick().run_requests
        assert run(ingest).success
        (update,) = tick().run_requests
        result = run(update)
        named = {dg.AssetKey(["web_team", f"listed_{name}"]) for name in ("crawls", "headline", "report", "export")}
        assert named <= {key for event in result.get_asset_materialization_events() if (key := event.asset_key)}
        evaluated = result.get_asset_check_evaluations()
        assert {"headline_fit", "numbers_may_be_quoted", "kappa_drift"} <= {check.check_name for check in evaluated}
        assert all(check.asset_key.path[0] == "web_team" for check in evaluated)
        settled = tick()
        assert settled.run_requests == []
        assert "Nothing new" in settled.skip_message
        (materialised,) = instance.fetch_materializations(
            dg.AssetKey(["web_team", "listed_parameters"]), limit=9
        ).records
        lineage = materialised.asset_materialization.metadata["dagster/column_lineage"].value.deps_by_column
        assert {dep.asset_key.path[0] for deps in lineage.values() for dep in deps} == {"web_team"}
    assert (tmp_path / "home" / "listed" / "export" / "parameters.csv").exists()


def test_override_of_get_asset_spec_and_execute(tmp_path):
    class Ours(CrawlUrnComponent):
        def get_asset_spec(self, spec, name):
            return super().get_asset_spec(spec, name).replace_attributes(key=["ours", name])

        def execute(self, context, compute):
            for result in super().execute(context, compute):
                yield result._replace(metadata={**result.metadata, "cost": 3})

    collection = presence_collection(tmp_path, histories(3, urn=50))
    context = dg.ComponentTree.for_test().load_context
    defs = Ours(collection=collection, home=str(tmp_path / "home")).build_defs(context)
    with dg.DagsterInstance.ephemeral() as instance:
        assert defs.resolve_job_def("listed_ingest").execute_in_process(instance=instance).success
        keys = [dg.AssetKey(["ours", "crawls"])]
        run = defs.resolve_job_def("listed_update").execute_in_process(instance=instance, asset_selection=keys)
        (crawls,) = run.asset_materializations_for_node("listed__crawls")
        assert crawls.asset_key == keys[0]
        assert crawls.metadata["cost"].value == 3
        assert crawls.metadata["dagster/row_count"].value == 3


def test_steps_have_the_settings_of_the_component(tmp_path):
    _, defs = load(
        tmp_path,
        DEMO,
        op_tags={"dagster-k8s/config": {"container_config": {"resources": {"limits": {"memory": "6Gi"}}}}},
        retry_policy={"max_retries": 2, "delay": 30, "backoff": "exponential", "jitter": "full"},
        executor="multiprocess",
    )
    for job in ("demo_ingest", "demo_update"):
        definition = defs.resolve_job_def(job)
        assert definition.executor_def.name == "multiprocess"
        for step in ("ingest",) if job == "demo_ingest" else ("crawls", "parameters", "report"):
            op = definition.get_node_named(f"demo__{step}").definition
            assert "6Gi" in op.tags["dagster-k8s/config"]
            policy = op.retry_policy
            assert (policy.max_retries, policy.delay, policy.backoff.value) == (2, 30, "EXPONENTIAL")
    report = defs.resolve_job_def("demo_update").get_node_named("demo__report").definition
    assert report.tags["dagster/priority"] == "-1"


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"executor": "kubernetes"}, "executor: found 'kubernetes', expected in_process, multiprocess, or"),
        (
            {"translation": {"key": "web/one"}},
            "asset crawls: found key 'web/one', the key of asset presence; expected a key for each",
        ),
        ({"translation": {"partitions_def": {"type": "static", "partition_keys": ["a"]}}}, "remove partitions_def"),
        ({"translation": {"colour": "red"}}, "AssetSpecUpdateKwargsModel.colour at "),
        ({"retry_policy": {"max_retries": 0}}, "`attributes.retry_policy.RetrySettings.max_retries at "),
    ],
)
def test_invalid_customisation_is_explained(tmp_path, attributes, message):
    with pytest.raises((ComponentTreeException, ValueError)) as raised:
        load(tmp_path, DEMO, **attributes)
    assert message in "".join(traceback.format_exception(raised.value))


def test_post_processing_adds_to_translated_assets(tmp_path):
    content = {
        "type": "crawl_urn_dagster.CrawlUrnComponent",
        "attributes": {"collection": DEMO, "translation": TRANSLATION},
        "post_processing": {
            "assets": [
                {"target": "kind:matplotlib", "attributes": {"tags": {"shown": "yes"}, "owners": ["team:figures"]}}
            ]
        },
    }
    with create_defs_folder_sandbox() as sandbox:
        sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=content)
        with sandbox.build_all_defs() as defs:
            specs = {asset_name_of(spec): spec for spec in defs.resolve_all_asset_specs()}
            assert specs["containment_by_lag"].owners == ["team:figures"]
            assert specs["containment_by_lag"].tags["shown"] == "yes"
            assert specs["headline"].owners == ["team:web"]
            update = defs.resolve_job_def("demo_update").asset_layer.selected_asset_keys
            assert specs["containment_by_lag"].key in update


def asset_name_of(spec):
    return spec.key.path[-1].removeprefix("demo_")


def test_added_dependencies_do_not_replace_lineage():
    options = AssetOptions(
        translate=lambda spec, name: spec.replace_attributes(deps=["own_calendar"]) if name == "crawls" else spec
    )
    defs = build_defs([demo_collection()], options=options)
    crawls = defs.resolve_assets_def(["demo", "crawls"]).specs_by_key[dg.AssetKey(["demo", "crawls"])]
    assert {dep.asset_key.to_user_string() for dep in crawls.deps} == {"demo/presence", "own_calendar"}


def test_keys_have_names_and_belong_to_their_collection(tmp_path):
    options = AssetOptions(translate=lambda spec, name: spec.replace_attributes(key=["web", name.upper()]))
    defs = build_defs([demo_collection()], home=tmp_path, options=options)
    sensor = defs.resolve_sensor_def("demo_alerts")
    assert sensor.asset_selection.resolve(defs.resolve_asset_graph()) == {dg.AssetKey(["web", "REPORT"])}


@pytest.mark.parametrize(
    ("attribute", "accepted"),
    [
        ("translation", [None, "{{ ours }}", TRANSLATION]),
        ("retry_policy", [None, "{{ ours }}", {"max_retries": 3}]),
        ("op_tags", [None, {"any": {"nested": 1}}]),
    ],
)
def test_dg_check_yaml_names_an_unknown_key_of_a_customisation(attribute, accepted):
    schema = jsonschema.Draft202012Validator(CrawlUrnComponent.get_model_cls().model_json_schema())
    for value in accepted:
        assert list(schema.iter_errors({"collection": DEMO, attribute: value})) == []
    if attribute != "op_tags":
        (error,) = schema.iter_errors({"collection": DEMO, attribute: {"colour": "red"}})
        assert list(error.path) == [attribute]
        assert "'colour' was unexpected" in error.message


def test_documented_attributes_and_subclass_work(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "production.md").read_text()
    (documented,) = re.findall("```yaml\n(attributes:\n.*?)```", page, flags=re.DOTALL)
    attributes = yaml.safe_load(documented)["attributes"]
    _, defs = load(tmp_path, **attributes)
    specs = {spec.key.path[-1]: spec for spec in defs.resolve_all_asset_specs()}
    assert specs["export"].key == dg.AssetKey(["web_team", "my_hosts", "export"])
    assert specs["export"].automation_condition is not None
    assert specs["headline"].tags["tier"] == "gold"
    assert (
        defs.resolve_job_def("my_hosts_update").get_node_named("my_hosts__report").definition.retry_policy.delay == 60
    )

    (subclass,) = re.findall(
        "```python\n(from crawl_urn_dagster import CrawlUrnComponent.*?)```", page, flags=re.DOTALL
    )
    namespace = {"__name__": "documented"}
    exec(subclass, namespace)
    context = dg.ComponentTree.for_test().load_context
    defs = namespace["OurCrawl"](collection=attributes["collection"]).build_defs(context)
    tags = {spec.key.path[-1]: spec.tags["cost_center"] for spec in defs.resolve_all_asset_specs()}
    assert (tags["presence"], tags["headline"]) == ("web", "research")
