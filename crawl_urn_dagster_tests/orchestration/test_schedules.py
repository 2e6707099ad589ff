"""The schedules, on a real instance."""

import pytest

from crawl_urn_dagster_tests.orchestration.polling import CRAWLS, advance_time, launch, scheduled
from crawl_urn_dagster_tests.pipeline import Pipeline

pytestmark = pytest.mark.slow


def test_schedules_request_the_same_runs_as_the_sensor(lists, tmp_path):
    lists = Pipeline(lists.collection, tmp_path, on_disk=True)
    assert scheduled(lists, "split_update").startswith("To ingest: 3 crawls")
    (request,) = scheduled(lists, "split_ingest")
    assert lists.instance.get_dynamic_partitions("split_crawls") == CRAWLS
    assert launch(lists, request).success
    advance_time(lists)
    assert scheduled(lists, "split_ingest").startswith("New: 3 crawls")
    (request,) = scheduled(lists, "split_update")
    launch(lists, request)
    assert {job: scheduled(lists, job)[:11] for job in ("split_read", "split_ingest", "split_update")} == dict.fromkeys(
        ("split_read", "split_ingest", "split_update"), "Nothing new"
    )
