"""An updated collection, whose tables the checks read."""

import shutil

import pytest

from crawl_urn_dagster_tests.collections_for_tests import presence_collection
from crawl_urn_dagster_tests.pipeline import UNCHECKED, Pipeline
from crawl_urn_dagster_tests.sharing import make_once


@pytest.fixture(scope="session")
def checked(tmp_path_factory, worker_id):
    """A pipeline with a copy of the updated home, so tests may break its tables."""
    made, collection = make_once(tmp_path_factory, worker_id, "checks", _update)
    folder = tmp_path_factory.mktemp("checks")
    shutil.copytree(made / "home", folder / "home")
    return Pipeline(collection, folder)


def _update(folder):
    collection = presence_collection(folder, drift={"window_crawls": 12})
    pipeline = Pipeline(collection, folder)
    assert pipeline.run(without=UNCHECKED).success, pipeline.outcome.errors
    return collection
