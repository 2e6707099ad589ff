"""An updated collection, whose tables the checks read."""

import pytest

from crawl_urn_dagster_tests.collections_for_tests import (
    presence_collection,
)
from crawl_urn_dagster_tests.pipeline import UNCHECKED, Pipeline


@pytest.fixture(scope="session")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checks")
    pipeline = Pipeline(presence_collection(folder, drift={"window_crawls": 12}), folder)
    assert pipeline.run(without=UNCHECKED).success, pipeline.outcome.errors
    return pipeline
