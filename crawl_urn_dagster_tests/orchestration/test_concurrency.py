"""Runs at once, in processes of their own, on one instance and one home folder."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.command import configure
from crawl_urn_dagster_tests.pipeline import UNCHECKED, Pipeline

pytestmark = pytest.mark.slow

TABLES = ("crawls", "containment", "parameters", "operator_terms", "drift")


def update(folder, name):
    """Update a collection of a folder; gives its pipeline."""
    collection = next(one for one in load_collections(folder / "collections.yaml") if one.name == name)
    pipeline = Pipeline(collection, folder, on_disk=True)
    pipeline.execute("update", without=UNCHECKED)
    return pipeline


def start(folder, name):
    code = (
        f"from crawl_urn_dagster_tests.orchestration.test_concurrency import *; main(Path({str(folder)!r}), {name!r})"
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main(folder, name):
    """What a started process does: its exit status says whether there were errors, which it prints."""
    errors = update(folder, name).outcome.errors
    print(*errors, sep="\n")
    sys.exit(bool(errors))


def test_runs_at_once_give_what_runs_in_turn_give(tmp_path):
    collections = [tables_collection(tmp_path, histories(12), name=name, windows=False) for name in ("one", "two")]
    assert configure(tmp_path, *collections) == Path(tmp_path / "collections.yaml")
    serial = update(tmp_path, "one").tables(*TABLES)
    for name in TABLES:
        assert len(serial[name])
    running = [start(tmp_path, name) for name in ("one", "one", "two")]
    for process in running:
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, output + errors
    for name in ("one", "two"):
        pipeline = Pipeline(next(one for one in collections if one.name == name), tmp_path)
        for table, frame in pipeline.tables(*TABLES).items():
            pd.testing.assert_frame_equal(frame, serial[table])
