"""The sensors and schedules that request runs, on a real instance, with an HTTP source and with lists."""

import itertools
import json
from datetime import datetime, timezone

import dagster as dg
import pytest
import sqlalchemy

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import COMMAND, FINGERPRINT
from crawl_urn_dagster.orchestration.change_detection import plan_run_requests
from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    lists_collection,
    pairs_frame,
    write_list,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, QUIET, Pipeline
from crawl_urn_dagster_tests.servers import FileServer

pytestmark = pytest.mark.slow

ATTEMPTS = 3
AT_ONCE = {"attempts": ATTEMPTS, "first_wait_seconds": 0}


class Source(FileServer):
    """A pair table behind an HTTP address."""

    def __init__(self, folder):
        super().__init__(folder)
        self.url = self.address("pairs.csv")

    def publish(self, n_crawls, seed=7):
        counts = histories(n_crawls, seed=seed).counts()
        super().publish("pairs.csv", pairs_frame(counts.intersections(), n_crawls))


@pytest.fixture
def source(tmp_path):
    source = Source(tmp_path / "www")
    yield source
    source.close()


@pytest.fixture
def pipeline(tmp_path, source):
    collection = Collection.model_validate(
        {
            "name": "remote",
            "granularity": "other",
            "source": {"type": "observable_tables", "pairs": source.url},
            "automation": AT_ONCE,
        }
    )
    return Pipeline(collection, tmp_path)


def evaluate(pipeline):
    """The result of the new-crawl sensor."""
    name = pipeline.collection.name
    sensor = pipeline.defs.resolve_sensor_def(f"{name}_new_crawl")
    with dg.build_sensor_context(
        instance=pipeline.instance, resources={f"{name}_home": pipeline.home}, definitions=pipeline.defs
    ) as context:
        return sensor.evaluate_tick(context)


def tick(pipeline):
    """The first run that the sensor requests, or the reason for requesting none."""
    result = evaluate(pipeline)
    return result.run_requests[0] if result.run_requests else result.skip_message


def sensor_message(pipeline):
    """The message of the sensor, also if it requests a run."""
    return plan_run_requests(pipeline.instance, pipeline.collection, pipeline.home).message


def launch(pipeline, request):
    """Run a request with its tags, as the daemon does; of the assets after the observables, only record the report."""
    job = (request.job_name or f"{pipeline.collection.name}_update").removeprefix(f"{pipeline.collection.name}_")
    result = pipeline.execute(job, request.tags, without=ALL_BUT_OBSERVABLES)
    if job == "update" and result.success:
        pipeline.record_report()
    return result


def test_source_is_new_until_its_report_is_materialised(pipeline, source):
    source.publish(8)
    request = tick(pipeline)
    assert request.run_key.endswith("-1")
    assert pipeline.execute("update", request.tags, without=FIGURES).success
    assert tick(pipeline).startswith("Nothing new: 8 crawls to 2020-07-20, fingerprint ")


def test_each_new_fingerprint_is_requested_once(pipeline, source):
    keys = []
    for n_crawls, seed in ((8, 7), (9, 7), (9, 8), (9, 7)):
        source.publish(n_crawls, seed)
        request = tick(pipeline)
        keys.append(request.run_key)
        launch(pipeline, request)
        assert len(pipeline.home.observables.read("crawls")) == n_crawls
        assert isinstance(tick(pipeline), str)
    assert len(set(keys)) == 4


def test_failed_update_is_retried_until_attempts_are_used(pipeline, source, tmp_path):
    source.publish(8)
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "remote").write_text("a file where the folder should be")
    keys = []
    for _ in range(ATTEMPTS):
        request = tick(pipeline)
        keys.append(request.run_key)
        assert not launch(pipeline, request).success
    assert len(set(keys)) == ATTEMPTS
    assert f"{ATTEMPTS} of {ATTEMPTS} attempts failed" in tick(pipeline)

    (tmp_path / "home" / "remote").unlink()
    assert pipeline.run(without=ALL_BUT_OBSERVABLES).success  # launched manually
    pipeline.record_report()
    assert tick(pipeline).startswith("Nothing new")


def test_unfinished_run_delays_the_next_request(pipeline, source):
    source.publish(8)
    job = pipeline.defs.resolve_job_def("remote_update")
    run = pipeline.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert run.run_id in tick(pipeline)


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


def test_unreachable_source_raises(pipeline, source):
    source.publish(8)
    source.close()
    with pytest.raises((OSError, SourceError), match=r"pairs\.csv"):
        tick(pipeline)


def test_invalid_listing_raises(pipeline, source):
    (source.folder / "pairs.csv").write_text("<html>maintenance</html>")
    with pytest.raises(SourceError, match=r"pairs\.csv"):
        tick(pipeline)


CRAWLS = ["2024-01", "2024-02", "2024-03"]


@pytest.fixture
def lists(tmp_path):
    """A collection that reads a list per crawl, with three crawls and nothing materialised."""
    for crawl in CRAWLS:
        write_list(tmp_path, crawl, ["a", "b", crawl])
    return Pipeline(lists_collection(tmp_path, automation=AT_ONCE), tmp_path)


def daemon(pipeline, *, later=300):
    """Do what the sensor requests, as the daemon does, and advance time; return the crawls of each ingest run."""
    result = evaluate(pipeline)
    for request in result.dynamic_partitions_requests or ():
        if isinstance(request, dg.AddDynamicPartitionsRequest):
            pipeline.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        else:
            for crawl in request.partition_keys:
                pipeline.instance.delete_dynamic_partition(request.partitions_def_name, crawl)
    results = [launch(pipeline, request) for request in result.run_requests or ()]
    assert {run.job_def.name for run in results} <= {"split_ingest"}
    advance_time(pipeline, later)
    return [sorted(event.partition for event in run.all_events if event.is_step_materialization) for run in results]


def advance_time(pipeline, seconds=300):
    """Move all runs into the past."""
    columns = ("start_time", "end_time")
    moved = ", ".join(f"{column} = {column} - {seconds}" for column in columns)
    with pipeline.instance.run_storage.connect() as connection:
        connection.execute(sqlalchemy.text(f"UPDATE runs SET {moved}"))


def after_ingest(pipeline, job="split_ingest"):
    """The result of the sensor on ingest runs for the last successful run of a job, as the daemon evaluates it."""
    succeeded = dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS])
    run = pipeline.instance.get_runs(succeeded, limit=1)[0]
    (record,) = pipeline.instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_SUCCESS).records
    with dg.build_run_status_sensor_context(
        sensor_name="split_ingested",
        dagster_event=record.event_log_entry.dagster_event,
        dagster_instance=pipeline.instance,
        dagster_run=run,
    ) as context:
        return pipeline.defs.resolve_sensor_def("split_ingested")(context), run


def test_new_crawls_become_partitions_and_are_requested(lists):
    result = evaluate(lists)
    (added,) = result.dynamic_partitions_requests
    assert (added.partitions_def_name, list(added.partition_keys)) == ("split_crawls", CRAWLS)
    (request,) = result.run_requests
    assert request.job_name == "split_ingest"
    assert daemon(lists) == [CRAWLS]


def test_ingest_is_followed_by_an_update(lists):
    daemon(lists, later=0)
    request, run = after_ingest(lists)
    assert request.run_key == run.run_id
    assert request.tags[FINGERPRINT]
    assert lists.defs.resolve_sensor_def("split_ingested").job.name == "split_update"
    assert tick(lists) == f"Run {run.run_id} has just ingested crawls; the update follows."
    advance_time(lists)  # that request was lost, so the other sensor requests the update
    again = tick(lists)
    assert again.job_name == "split_update"
    assert again.tags[FINGERPRINT] == request.tags[FINGERPRINT]  # attempts at the same work
    launch(lists, request)
    assert "requested since, includes these crawls" in after_ingest(lists)[0].skip_message
    assert lists.home.observables.read("crawls")["crawl"].tolist() == CRAWLS
    assert tick(lists).startswith("Nothing new: 3 crawls to 2024-03, fingerprint ")


def test_ingest_of_the_command_is_not_followed_by_the_sensor(lists):
    found = lists.plan_ingest()
    lists.add_partitions(found.new_crawls)
    lists.execute("ingest", {**found.run_tags[0], COMMAND: "crawl-urn"})
    assert after_ingest(lists)[0].skip_message == "The command that launched this run also runs the update."


def test_ingest_of_chosen_partitions_is_followed_by_an_update(lists):
    lists.add_partitions(CRAWLS)
    job = lists.defs.resolve_implicit_global_asset_job_def()
    chosen = {"dagster/asset_partition_range_start": CRAWLS[0], "dagster/asset_partition_range_end": CRAWLS[1]}
    presence = dg.AssetKey(["split", "presence"])
    job.execute_in_process(instance=lists.instance, asset_selection=[presence], tags=chosen, run_config=QUIET)
    request, run = after_ingest(lists, job.name)
    assert request.run_key == run.run_id
    lists.execute("update", request.tags, without=ALL_BUT_OBSERVABLES)
    assert lists.home.observables.read("crawls")["crawl"].tolist() == CRAWLS[:2]
    skipped, run = after_ingest(lists, "split_update")
    assert skipped.skip_message == f"Run {run.run_id} did not ingest a crawl of split."


def test_unfinished_ingest_delays_the_update(lists):
    daemon(lists)
    job = lists.defs.resolve_job_def("split_ingest")
    other = lists.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert other.run_id in tick(lists)
    lists.instance.report_run_failed(other)
    assert tick(lists).job_name == "split_update"


def test_update_follows_the_last_of_several_ingests(lists):
    daemon(lists)
    job = lists.defs.resolve_job_def("split_ingest")
    other = lists.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert after_ingest(lists)[0].skip_message == f"Run {other.run_id} is in progress; the update follows it."
    lists.instance.report_run_canceled(other)
    assert isinstance(after_ingest(lists)[0], dg.RunRequest)


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


def test_withdrawn_crawl_is_excluded_without_ingest(lists, tmp_path):
    daemon(lists)
    launch(lists, tick(lists))
    (tmp_path / "lists" / "2024-02.csv").unlink()
    result = evaluate(lists)
    (withdrawn,) = result.dynamic_partitions_requests
    assert (type(withdrawn), withdrawn.partition_keys) == (dg.DeleteDynamicPartitionsRequest, ["2024-02"])
    (request,) = result.run_requests
    assert request.job_name == "split_update"
    assert "No longer listed, so excluded from the tables: 2024-02." in sensor_message(lists)
    lists.instance.delete_dynamic_partition("split_crawls", "2024-02")
    launch(lists, request)
    assert lists.home.observables.read("crawls")["crawl"].tolist() == ["2024-01", "2024-03"]
    assert lists.home.observables.read("containment")["intersection"].tolist() == [2]
    assert lists.home.observables.read("revisions")["first_crawl"].tolist() == ["2024-02"]
    assert tick(lists).startswith("Nothing new: 2 crawls")

    file = lists.home.presence.read("2024-02").path.stat().st_ino
    write_list(tmp_path, "2024-02", ["a", "b", "2024-02"])
    assert daemon(lists) == [["2024-02"]]  # a partition again, from the kept file
    assert lists.home.presence.read("2024-02").path.stat().st_ino == file
    assert lists.instance.get_dynamic_partitions("split_crawls") == ["2024-01", "2024-03", "2024-02"]


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


def test_waits_grow_between_attempts_but_not_for_schedules(pipeline, source, tmp_path):
    source.publish(8)
    pipeline = Pipeline(waiting(pipeline, first_wait_seconds=3600), tmp_path, on_disk=True)
    pipeline.home.path.parent.mkdir()
    pipeline.home.path.write_text("a file where the folder should be")
    messages = []
    for _ in range(ATTEMPTS):
        pipeline.configure(waiting(pipeline, first_wait_seconds=0))
        assert not launch(pipeline, tick(pipeline)).success
        pipeline.configure(waiting(pipeline, first_wait_seconds=3600))
        messages.append(tick(pipeline))
    ended = pipeline.instance.get_run_records(limit=3)
    for number, wait in ((0, 3600), (1, 4 * 3600)):
        again = datetime.fromtimestamp(ended[2 - number].end_time + wait, timezone.utc)
        assert f"{number + 1} of 3 attempts failed" in messages[number]
        assert f"retried after {again:%Y-%m-%d %H:%M:%S} UTC" in messages[number]
    assert "fix the cause, then launch remote_update manually" in messages[2]
    (request,) = scheduled(pipeline, "remote_update")
    assert request.run_key not in {run.dagster_run.tags.get("dagster/run_key") for run in ended}


def waiting(pipeline, **settings):
    """The collection of a pipeline with other waits."""
    automation = pipeline.collection.automation.model_copy(update=settings)
    return pipeline.collection.model_copy(update={"automation": automation})


def scheduled(pipeline, job):
    """The runs that the schedule of a job requests, or the reason for requesting none."""
    schedule = pipeline.defs.resolve_schedule_def(f"{job}_refresh")
    resources = {f"{pipeline.collection.name}_home": pipeline.home}
    with dg.build_schedule_context(instance=pipeline.instance, resources=resources) as context:
        result = schedule.evaluate_tick(context)
    return result.run_requests or result.skip_message


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


@pytest.mark.parametrize(
    "label", ["../2024-05", "2024'05", "2024\x0705", "2024-05'); DROP TABLE crawls; --", "x" * 65], ids=range(5)
)
def test_hostile_label_is_rejected_before_any_write(tmp_path, label):
    path = tmp_path / "listed.csv"
    path.write_text(f'crawl,element\n2024-04,a\n"{label}",b\n')
    source = {"type": "presence_list", "path": str(path)}
    pipeline = Pipeline(
        Collection.model_validate({"name": "hostile", "granularity": "url", "source": source}), tmp_path
    )
    with pytest.raises(SourceError, match=r"listed\.csv, data row 2: found the crawl label"):
        tick(pipeline)
    assert not pipeline.home.path.exists()
    assert pipeline.instance.get_dynamic_partitions("hostile_crawls") == []
    assert pipeline.instance.get_runs_count() == 0


def test_listing_of_too_many_crawls_is_rejected(pipeline, source):
    days = [
        f"{year}-{month:02}-{day:02}" for year in range(1990, 2090) for month in range(1, 13) for day in range(1, 29)
    ]
    rows = "".join(f"{one},{other},5,5,3\n" for one, other in itertools.pairwise(days[:20_000]))
    (source.folder / "pairs.csv").write_text(f"crawl_i,crawl_j,size_i,size_j,intersection\n{rows}")
    with pytest.raises(SourceError, match=r"pairs\.csv.*20,000 crawls, expected at most 10,000"):
        tick(pipeline)
    assert not pipeline.home.path.exists()


def test_invalid_large_calendar_is_rejected(tmp_path):
    write_list(tmp_path, "first", ["a"])
    calendar = tmp_path / "collinfo.json"
    calendar.write_text(json.dumps([{"id": f"C-{number}", "from": "no date"} for number in range(300_000)]))
    assert calendar.stat().st_size > 10_000_000
    collection = lists_collection(tmp_path)
    source = collection.source.model_copy(update={"calendar": str(calendar)})
    pipeline = Pipeline(collection.model_copy(update={"source": source}), tmp_path)
    with pytest.raises(SourceError, match=r"collinfo\.json"):
        tick(pipeline)
    assert not pipeline.home.path.exists()
