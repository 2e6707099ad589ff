"""HTTP receivers of alerts, and an updated collection."""

import pytest

from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    tables_collection,
)
from crawl_urn_dagster_tests.pipeline import UNCHECKED, Pipeline
from crawl_urn_dagster_tests.servers import Receiver


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def other():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def tabled(tmp_path_factory):
    """An updated collection of pairs without an alert."""
    folder = tmp_path_factory.mktemp("tabled")
    pipeline = Pipeline(tables_collection(folder, histories(12), windows=False), folder)
    assert pipeline.run(without=UNCHECKED).success
    return pipeline
