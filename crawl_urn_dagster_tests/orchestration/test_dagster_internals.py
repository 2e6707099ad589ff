"""Private names of Dagster: where they are imported, and the release that they were tested with."""

import re
from pathlib import Path

import dagster as dg

import crawl_urn_dagster
from crawl_urn_dagster.orchestration import dagster_internals

PACKAGE = Path(crawl_urn_dagster.__file__).parent


def test_private_names_were_tested_with_dagster_1_13():
    assert dg.__version__.startswith("1.13."), "run all tests of orchestration and cli, then update this test"


def test_no_other_module_imports_private_names():
    private = re.compile(r"^\s*(from|import) dagster(\._|_shared)", re.MULTILINE)
    importers = [path for path in PACKAGE.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))]
    assert importers == [Path(dagster_internals.__file__)]
