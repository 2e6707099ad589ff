"""Collections whose sources are polled, an instance with pools, and a process."""

import subprocess
import sys

import dagster as dg
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


@pytest.fixture
def instance(tmp_path):
    with dg.DagsterInstance.local_temp(
        str(tmp_path), overrides={"concurrency": {"pools": {"default_limit": 1}}}
    ) as instance:
        yield instance


@pytest.fixture
def sleeper():
    """A process that lives until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()
