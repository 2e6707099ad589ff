"""An updated collection with all of its assets."""

from pathlib import Path

import pytest

from crawl_urn_dagster_tests.collections_for_tests import presence_collection
from crawl_urn_dagster_tests.pipeline import Pipeline
from crawl_urn_dagster_tests.sharing import make_once


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the updated collection as slow."""
    for item in items:
        if "listed" in getattr(item, "fixturenames", ()) and item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def listed(tmp_path_factory, worker_id):
    """A pipeline after an update, to read from."""
    folder, collection = make_once(tmp_path_factory, worker_id, "listed", _update)
    return Pipeline(collection, folder, on_disk=True)


def _update(folder):
    collection = presence_collection(folder)
    pipeline = Pipeline(collection, folder, on_disk=True)
    assert pipeline.run().success, pipeline.outcome.errors
    return collection
