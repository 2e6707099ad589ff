"""The component in a user's project."""

import os
import re
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import dagster as dg
import jsonschema
import pytest
import yaml
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox

from crawl_urn_dagster import CrawlUrnComponent
from crawl_urn_dagster.sources.registry import SOURCE_TYPES
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection


def contents(**collection):
    return {
        "type": "crawl_urn_dagster.CrawlUrnComponent",
        "attributes": {"collection": {"granularity": "url", "source": {"type": "simulated"}, **collection}},
    }


def keys_of(defs):
    return {key.to_user_string() for key in defs.resolve_all_asset_keys()}


def test_scaffolded_component_is_valid_unchanged():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_path="2_My-Crawl")
        written = path / "defs.yaml"
        text = written.read_text()
        assert set(yaml.safe_load(text)["attributes"]["collection"]) == {"name", "granularity", "source"}
        written.write_text(re.sub("^  # (home|alerts|ui_url|translation):", r"  \1:", text, flags=re.MULTILINE))
        assert {"home", "alerts", "ui_url", "translation"} <= set(yaml.safe_load(written.read_text())["attributes"])
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, defs):
            assert isinstance(component, CrawlUrnComponent)
            assert {f"web_team/my_crawl/{name}" for name in ("presence", "parameters", "report")} <= keys_of(defs)


def test_relative_paths_start_at_the_component_folder(tmp_path):
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


@pytest.mark.parametrize(
    ("home", "folder"),
    [(None, "crawl_urn_home"), ("data", "data"), ("/data", "/data"), ("{{ env.NOT_SET }}", "crawl_urn_home")],
)
def test_relative_home_starts_at_the_project_root(home, folder):
    with create_defs_folder_sandbox() as sandbox:
        content = contents(name="mine")
        content["attributes"] |= {"alerts": "{{ env.NOT_SET }}"} | ({} if home is None else {"home": home})
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=content)
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            assert defs.resources["crawl_urn_home"].collection("mine").folder == str(sandbox.project_root / folder)
            assert defs.resolve_sensor_def("mine_alerts").default_status == dg.DefaultSensorStatus.STOPPED


def test_two_components_do_not_clash():
    with create_defs_folder_sandbox() as sandbox:
        for name in ("first", "second"):
            sandbox.scaffold_component(
                component_cls=CrawlUrnComponent, defs_path=name, defs_yaml_contents=contents(name=name)
            )
        with sandbox.build_all_defs() as defs:
            assert {"first/report", "second/report"} <= keys_of(defs)
            assert {job.name for job in defs.jobs} == {
                f"{name}_{job}" for name in ("first", "second") for job in ("ingest", "update")
            }


@pytest.mark.parametrize(
    ("collection", "key"),
    [
        ({"name": "Not a name"}, "attributes.collection.name"),
        ({"name": "mine", "granularty": "url"}, "attributes.collection.granularty"),
        (
            {"name": "mine", "automation": {"refresh_cron": "monthly"}},
            "attributes.collection.automation.refresh_cron",
        ),
        ({"name": "mine", "drift": {"windw_crawls": 9}}, "attributes.collection.drift.windw_crawls"),
    ],
)
def test_invalid_attribute_is_named(collection, key):
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=contents(**collection))
        with (
            pytest.raises(ComponentTreeException) as raised,
            sandbox.load_component_and_build_defs(defs_path=path),
        ):
            pass
        text = "".join(traceback.format_exception(raised.value))
        assert f"`{key} at " in text
        assert "1 validation error for" in text


@pytest.mark.parametrize(
    ("collection", "at", "message"),
    [
        ({"source": {"type": "presence_list", "path": "a.csv", "pth": "x"}}, ["source"], "'pth' was unexpected"),
        ({"source": {"type": "simulatd"}}, ["source", "type"], "'simulatd' is not one of ['simulated', "),
        ({"engine": {"type": "local", "cores": 2}}, ["engine"], "'cores' was unexpected"),
        ({"automation": {"refresh_cron": 5}}, ["automation", "refresh_cron"], "5 is not of type 'string'"),
        ({"name": "A"}, ["name"], "'A' does not match"),
    ],
)
def test_dg_check_yaml_reports_one_error_for_one_mistake(collection, at, message):
    schema = CrawlUrnComponent.get_model_cls().model_json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors(contents(name="a")["attributes"])) == []
    (error,) = validator.iter_errors(contents(**{"name": "a", **collection})["attributes"])
    assert message in error.message
    assert list(error.path) == ["collection", *at]


def ranks_of(**source):
    of = {"type": "presence_list", "path": "domains.csv", **source}
    return {"type": "web_graph_ranks", "ranks": "ranks.txt", "of": of}


@pytest.mark.parametrize(
    ("path", "collection"),
    [
        ([], {}),
        (["automation"], {"automation": {}}),
        (["drift"], {"drift": {}}),
        (["engine"], {"engine": {"type": "spark"}}),
        (["stratum"], {"stratum": {"column": "tld"}}),
        (["source", "of"], {"source": ranks_of()}),
        *[(["source"], {"source": {"type": kind}}) for kind in SOURCE_TYPES],
    ],
)
def test_dg_check_yaml_names_an_unknown_key_at_every_level(path, collection):
    attributes = contents(**{"name": "a", **collection})["attributes"]
    at = attributes["collection"]
    for key in path:
        at = at[key]
    at["colour"] = "red"
    errors = list(
        jsonschema.Draft202012Validator(CrawlUrnComponent.get_model_cls().model_json_schema()).iter_errors(attributes)
    )
    (unknown,) = [error for error in errors if "'colour' was unexpected" in error.message]
    assert list(unknown.path) == ["collection", *path]
    # A source of which only the type is given also lacks its required keys.
    assert all("required property" in error.message for error in errors if error is not unknown)


@pytest.mark.parametrize(
    ("key", "refused", "accepted"),
    [
        ("alerts", ["nonsense", "slack://a/b/c nonsense"], ["", "slack://a/b/c mailto://a:b@c.d", "{{ env.ALERTS }}"]),
        ("ui_url", ["dagster", "dagster:3000"], ["", "https://dagster.example.org", "{{ env.UI }}"]),
    ],
)
def test_addresses_must_be_addresses_or_templates(key, refused, accepted):
    schema = jsonschema.Draft202012Validator(CrawlUrnComponent.get_model_cls().model_json_schema())
    for value in accepted:
        assert list(schema.iter_errors({**contents(name="a")["attributes"], key: value})) == []
    for value in refused:
        (error,) = schema.iter_errors({**contents(name="a")["attributes"], key: value})
        assert list(error.path) == [key]


def test_invalid_alert_target_is_named_when_the_component_loads():
    with create_defs_folder_sandbox() as sandbox:
        content = contents(name="mine")
        content["attributes"]["alerts"] = "nonsense"
        path = sandbox.scaffold_component(component_cls=CrawlUrnComponent, defs_yaml_contents=content)
        with pytest.raises(ComponentTreeException) as raised, sandbox.load_component_and_build_defs(defs_path=path):
            pass
        text = "".join(traceback.format_exception(raised.value))
        assert "`attributes.alerts at " in text
        assert "target 1 of 1: not a valid Apprise URL" in text


ROOT = Path(__file__).resolve().parents[2]
HOST = {
    "pyproject.toml": """
        [project]
        name = "host"
        version = "0.1"

        [tool.dg]
        directory_type = "project"

        [tool.dg.project]
        root_module = "host"
        """,
    "host/__init__.py": "",
    "host/definitions.py": """
        from pathlib import Path

        import dagster as dg

        @dg.definitions
        def defs():
            return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
        """,
    "host/defs/__init__.py": "",
    "host/defs/own.py": """
        import dagster as dg

        @dg.asset(deps=[["documented", "report"]])
        def newsletter(): ...
        """,
}


@pytest.fixture
def host(tmp_path):
    """A user's project with an asset downstream of a collection's report."""
    for name, text in HOST.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path


def run_dg(host, *arguments):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CRAWL_URN", "DAGSTER", "VIRTUAL_ENV"))
    }
    paths = [str(host), *filter(None, [environment.get("PYTHONPATH")])]
    environment |= {"PYTHONPATH": os.pathsep.join(paths)}  # without the variables that the documented component reads
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}", "COLUMNS": "200"}
    result = subprocess.run(["dg", *arguments], cwd=host, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_host_project_combines_collections_and_other_assets(host, tmp_path):
    """The component of docs/production.md and a scaffolded one, in one code location."""
    run_dg(host, "scaffold", "defs", "crawl_urn_dagster.CrawlUrnComponent", "my_crawl")
    text = (ROOT / "docs" / "production.md").read_text()
    documented = re.findall("```yaml\n(type: .*?)```", text, flags=re.DOTALL)
    content = yaml.safe_load(documented[0])
    content["attributes"]["collection"]["name"] = "documented"
    folder = host / "host" / "defs" / "documented"
    folder.mkdir()
    (folder / "defs.yaml").write_text(yaml.safe_dump(content))
    *_, compared = re.findall("```python\n(.*?)```", text, flags=re.DOTALL)
    (host / "host" / "defs" / "crawls.py").write_text(compared)
    two = [{"name": name, "granularity": "url", "source": {"type": "simulated"}} for name in ("one", "two")]
    (host / "host" / "defs" / "collections.yaml").write_text(yaml.safe_dump({"collections": two}))
    run_dg(host, "check", "defs", "--check-yaml")
    listed = run_dg(host, "list", "defs", "--json")
    assert {"newsletter", "my_crawl/report", "documented/report", "_comparison/one"} <= set(
        re.findall('"([^"]+)"', listed)
    ), listed
