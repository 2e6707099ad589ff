"""Planned runs: when they are requested, retried and delayed."""

from datetime import datetime, timezone

import dagster as dg
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    lists_collection,
    pairs_frame,
    write_list,
)
from crawl_urn_dagster_tests.orchestration.polling import (
    ATTEMPTS,
    CRAWLS,
    advance_time,
    daemon,
    launch,
    scheduled,
    sensor_message,
    tick,
    waiting,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, QUIET, Pipeline

pytestmark = pytest.mark.slow


def test_source_is_new_until_its_report_is_materialised(remote, source):
    source.publish(12)
    request = tick(remote)
    assert request.run_key.endswith("-1")
    assert remote.execute("update", request.tags, without=FIGURES).success
    assert tick(remote).startswith("Nothing new: 12 crawls to 2020-11-09, fingerprint ")


def test_each_new_fingerprint_is_requested_once(remote, source):
    keys = []
    for n_crawls, seed in ((8, 7), (9, 7), (9, 8), (9, 7)):
        source.publish(n_crawls, seed)
        request = tick(remote)
        keys.append(request.run_key)
        launch(remote, request)
        assert len(remote.home.observables.read("crawls")) == n_crawls
        assert isinstance(tick(remote), str)
    assert len(set(keys)) == 4


def test_failed_update_is_retried_until_attempts_are_used(remote, source, tmp_path):
    source.publish(8)
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "remote").write_text("a file where the folder should be")
    keys = []
    for _ in range(ATTEMPTS):
        request = tick(remote)
        keys.append(request.run_key)
        assert not launch(remote, request).success
    assert len(set(keys)) == ATTEMPTS
    assert f"{ATTEMPTS} of {ATTEMPTS} attempts failed" in tick(remote)

    (tmp_path / "home" / "remote").unlink()
    assert remote.run(without=ALL_BUT_OBSERVABLES).success  # launched manually
    remote.record_report()
    assert tick(remote).startswith("Nothing new")


def test_unfinished_run_delays_the_next_request(remote, source):
    source.publish(8)
    job = remote.defs.resolve_job_def("remote_update")
    run = remote.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert run.run_id in tick(remote)


def test_violated_collection_is_not_requested_again(tmp_path, source):
    counts_of = histories(12).counts()
    pairs = pairs_frame(counts_of.intersections(), 12)
    lag_one = (pairs["crawl_j"].astype("datetime64[s]") - pairs["crawl_i"].astype("datetime64[s]")).dt.days == 28
    pairs.loc[lag_one, "intersection"] //= 10
    pairs.to_csv(source.folder / "pairs.csv", index=False)
    collection = Collection.model_validate(
        {
            "name": "remote",
            "granularity": "other",
            "source": {"type": "observable_tables", "pairs": source.url},
        }
    )
    pipeline = Pipeline(collection, tmp_path)
    assert not pipeline.execute("update", tick(pipeline).tags, without=FIGURES).success
    assert pipeline.outcome.errors == ()
    assert tick(pipeline).startswith("Nothing new")


def test_unfinished_ingest_delays_the_update(lists):
    daemon(lists)
    job = lists.defs.resolve_job_def("split_ingest")
    other = lists.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert other.run_id in tick(lists)
    lists.instance.report_run_failed(other)
    assert tick(lists).job_name == "split_update"


def test_only_changed_crawls_are_ingested(lists, tmp_path):
    daemon(lists)
    write_list(tmp_path, "2024-01-15", ["a", "late"])
    assert daemon(lists) == [["2024-01-15"]]
    write_list(tmp_path, "2024-02", ["a", "revised"])
    assert daemon(lists) == [["2024-02"]]
    lists.home.presence.read("2024-03").path.unlink()
    assert daemon(lists) == [["2024-03"]]
    write_list(tmp_path, "2024-01", ["revised"])
    write_list(tmp_path, "2024-03", ["revised"])
    write_list(tmp_path, "2024-04", ["new"])
    # Partitions are in the order of arrival: 01, 02, 03, 01-15, 04.
    assert daemon(lists) == [["2024-01"], ["2024-03"], ["2024-04"]]
    launch(lists, tick(lists))
    assert lists.home.observables.read("crawls")["crawl"].tolist() == [
        *("2024-01", "2024-01-15", "2024-02", "2024-03", "2024-04")
    ]
    assert tick(lists).startswith("Nothing new: 5 crawls")


def test_failed_ingest_is_retried_until_attempts_are_used(lists, tmp_path):
    blocked = tmp_path / "home" / "split"
    blocked.parent.mkdir()
    blocked.write_text("a file where the folder should be")
    keys = []
    for _ in range(ATTEMPTS):
        keys.append(tick(lists).run_key)
        assert daemon(lists) == [[]]
    assert len(set(keys)) == ATTEMPTS
    assert f"To ingest: 3 crawls, 2024-01 to 2024-03. {ATTEMPTS} of {ATTEMPTS} attempts failed" in tick(lists)

    write_list(tmp_path, "2024-04", ["a"])
    assert tick(lists).job_name == "split_ingest"  # another fingerprint is requested again
    blocked.unlink()
    assert all(result.success for result in lists.ingest())  # launched manually
    advance_time(lists)
    assert tick(lists).job_name == "split_update"


def test_returning_revision_is_ingested_each_time(lists, tmp_path):
    daemon(lists)
    for elements in (["x"], ["y"]) * (ATTEMPTS + 1):
        write_list(tmp_path, "2024-02", elements)
        assert daemon(lists) == [["2024-02"]]


def test_waits_grow_between_attempts_but_not_for_schedules(remote, source, tmp_path):
    source.publish(8)
    remote = Pipeline(waiting(remote, first_wait_seconds=3600), tmp_path, on_disk=True)
    remote.home.path.parent.mkdir()
    remote.home.path.write_text("a file where the folder should be")
    messages = []
    for _ in range(ATTEMPTS):
        remote.configure(waiting(remote, first_wait_seconds=0))
        assert not launch(remote, tick(remote)).success
        remote.configure(waiting(remote, first_wait_seconds=3600))
        messages.append(tick(remote))
    ended = remote.instance.get_run_records(limit=3)
    for number, wait in ((0, 3600), (1, 4 * 3600)):
        again = datetime.fromtimestamp(ended[2 - number].end_time + wait, timezone.utc)
        assert f"{number + 1} of 3 attempts failed" in messages[number]
        assert f"retried after {again:%Y-%m-%d %H:%M:%S} UTC" in messages[number]
    assert "fix the cause, then launch remote_update manually" in messages[2]
    (request,) = scheduled(remote, "remote_update")
    assert request.run_key not in {run.dagster_run.tags.get("dagster/run_key") for run in ended}


def test_large_file_is_read_in_a_separate_run(lists, tmp_path):
    write_list(tmp_path, "2024-02", [f"{number}{'x' * 900_000}" for number in range(40)])
    request = tick(lists)
    assert request.job_name == "split_read"
    assert "36,000,118 bytes, more than the 33,554,432 that may be converted" in sensor_message(lists)
    job = lists.defs.resolve_job_def("split_read")
    assert job.execute_in_process(instance=lists.instance, run_config=QUIET).success
    assert tick(lists).job_name == "split_ingest"
    assert daemon(lists) == [CRAWLS]


def test_announced_crawl_without_data_is_reported(tmp_path):
    for crawl in CRAWLS:
        write_list(tmp_path, crawl, ["a", "b", crawl])
    (tmp_path / "calendar.csv").write_text("id,from\n" + "".join(f"{one},{one}-02\n" for one in [*CRAWLS, "2024-04"]))
    collection = lists_collection(tmp_path)
    source = collection.source.model_copy(update={"calendar": str(tmp_path / "calendar.csv")})
    pipeline = Pipeline(collection.model_copy(update={"source": source}), tmp_path)
    assert sensor_message(pipeline).endswith("In the calendar, but without data yet: 2024-04.")
    assert daemon(pipeline) == [CRAWLS]
    write_list(tmp_path, "2024-04", ["a"])
    assert daemon(pipeline) == [["2024-04"]]
