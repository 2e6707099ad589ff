"""Simultaneous runs in separate processes, on one instance and one home folder."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.command import PATIENT_SECONDS, configure
from crawl_urn_dagster_tests.pipeline import UNCHECKED, Pipeline

pytestmark = pytest.mark.slow

TABLES = ("crawls", "containment", "parameters", "operator_terms", "drift")


def update(folder, name):
    """Update a collection of a folder; return its pipeline."""
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
    """Run an update in a started process, print its errors, and exit with status 1 if there are any."""
    errors = update(folder, name).outcome.errors
    print(*errors, sep="\n")
    sys.exit(bool(errors))


def test_simultaneous_runs_equal_serial_runs(tmp_path):
    collections = [tables_collection(tmp_path, histories(6), name=name, windows=False) for name in ("one", "two")]
    assert configure(tmp_path, *collections) == Path(tmp_path / "collections.yaml")
    serial = update(tmp_path, "one").tables(*TABLES)
    for name in TABLES:
        assert len(serial[name])
    running = [start(tmp_path, name) for name in ("one", "one", "two")]
    for process in running:
        output, errors = process.communicate(timeout=2 * PATIENT_SECONDS)
        assert process.returncode == 0, output + errors
    for name in ("one", "two"):
        pipeline = Pipeline(next(one for one in collections if one.name == name), tmp_path)
        for table, frame in pipeline.tables(*TABLES).items():
            pd.testing.assert_frame_equal(frame, serial[table])
