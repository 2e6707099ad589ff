"""The shipped code location, and what its import loads."""

import subprocess
import sys
from pathlib import Path

import yaml

import crawl_urn_dagster as package
from crawl_urn_dagster.cli.launching import workspace_file
from crawl_urn_dagster.definitions import definitions
from crawl_urn_dagster_tests.collections_for_tests import (
    presence_collection,
    tables_collection,
)

ROOT = Path(__file__).resolve().parents[1]


def run_python(code, **environment):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return result.stdout.split()


LOADED = """
import sys
import dagster as dg
from crawl_urn_dagster.definitions import definitions
definitions().resolve_all_asset_keys()
print(*[name for name in ("pandas", "numpy", "scipy", "matplotlib", "duckdb", "requests") if name in sys.modules])
"""


def test_loading_imports_no_heavy_library(tmp_path):
    tables_collection(tmp_path)
    presence_collection(tmp_path)
    configuration = tmp_path / "collections.yaml"
    configuration.write_text(
        "collections:\n"
        "  - {name: a, granularity: url, source: {type: simulated}}\n"
        "  - {name: b, granularity: url, source: {type: presence_list, path: listed.csv.gz}}\n"
        "  - {name: c, granularity: url, source: {type: observable_tables, pairs: tabled_pairs.csv}}\n"
    )
    assert run_python(LOADED, CRAWL_URN_COLLECTIONS=str(configuration)) == []


def test_importing_the_package_does_not_import_dagster():
    code = (
        "import sys, crawl_urn_dagster, crawl_urn_dagster.urn, crawl_urn_dagster.sources, "
        "crawl_urn_dagster.observables.tables, crawl_urn_dagster.estimates.fitting, crawl_urn_dagster.figures\n"
        "print('dagster' in sys.modules)"
    )
    assert run_python(code) == ["False"]


def test_package_exports_the_public_names():
    assert [getattr(package, name).__name__ for name in dir(package)] == [
        *("AssetOptions", "Collection", "CrawlFit", "CrawlUrnComponent", "CrawlUrnHome", "Crawls", "build_defs"),
        *("demo_collection", "element_keys", "fit", "load_collections", "look_up_elements", "read_counts"),
        *("read_presence", "read_source"),
    ]


def test_environment_sets_collections_and_home(tmp_path, monkeypatch):
    configuration = tmp_path / "collections.yaml"
    configuration.write_text("collections: [{name: mine, granularity: url, source: {type: simulated}}]")

    def found(**environment):
        for name in ("CRAWL_URN_COLLECTIONS", "CRAWL_URN_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        defs = definitions()
        (name,) = {key.path[0] for key in defs.resolve_all_asset_keys()}
        return name, defs.resources["crawl_urn_home"].collection(name).folder

    home = str(tmp_path / "data")
    assert found(CRAWL_URN_COLLECTIONS=str(configuration), CRAWL_URN_HOME=home) == ("mine", home)
    assert found() == ("demo", "crawl_urn_home")


def test_workspace_file_equals_the_one_in_the_repository(tmp_path):
    written = yaml.safe_load(workspace_file(tmp_path).read_text())
    assert written == yaml.safe_load((ROOT / "workspace.yaml").read_text())
