"""An updated collection with all of its assets."""

import pytest

from crawl_urn_dagster_tests.collections_for_tests import (
    presence_collection,
)
from crawl_urn_dagster_tests.pipeline import Pipeline


@pytest.fixture(scope="session")
def listed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listed")
    pipeline = Pipeline(presence_collection(folder), folder)
    assert pipeline.run().success, pipeline.outcome.errors
    return pipeline
