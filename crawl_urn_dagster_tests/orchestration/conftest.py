"""Collections whose sources are polled."""

import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster_tests.collections_for_tests import (
    lists_collection,
    write_list,
)
from crawl_urn_dagster_tests.orchestration.polling import AT_ONCE, CRAWLS, Source
from crawl_urn_dagster_tests.pipeline import Pipeline


@pytest.fixture
def source(tmp_path):
    source = Source(tmp_path / "www")
    yield source
    source.close()


@pytest.fixture
def remote(tmp_path, source):
    collection = Collection.model_validate(
        {
            "name": "remote",
            "granularity": "other",
            "source": {"type": "observable_tables", "pairs": source.url},
            "automation": AT_ONCE,
        }
    )
    return Pipeline(collection, tmp_path)


@pytest.fixture
def lists(tmp_path):
    """A collection that reads a list per crawl, with three crawls and nothing materialised."""
    for crawl in CRAWLS:
        write_list(tmp_path, crawl, ["a", "b", crawl])
    return Pipeline(lists_collection(tmp_path, automation=AT_ONCE), tmp_path)
