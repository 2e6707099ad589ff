"""The sensors that ask for runs, on a real instance, with a real HTTP source and with lists."""

import itertools
import json
from datetime import datetime, timezone

import dagster as dg
import pytest
import sqlalchemy

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import COMMAND, FINGERPRINT
from crawl_urn_dagster.orchestration.change_detection import find_work
from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    lists_collection,
    pairs_frame,
    write_list,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, ESTIMATES, FIGURES, QUIET, Pipeline
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
    """What the new-crawl sensor decides."""
    name = pipeline.collection.name
    sensor = pipeline.defs.resolve_sensor_def(f"{name}_new_crawl")
    with dg.build_sensor_context(
        instance=pipeline.instance, resources={f"{name}_home": pipeline.home}, definitions=pipeline.defs
    ) as context:
        return sensor.evaluate_tick(context)


def tick(pipeline):
    """What the sensor asks for: a run request, or the reason why not."""
    result = evaluate(pipeline)
    return result.run_requests[0] if result.run_requests else result.skip_message


def tick_said(pipeline):
    """What the sensor found, in words, also when it asks for something."""
    return find_work(pipeline.instance, pipeline.collection, pipeline.home).said


def launch(pipeline, request):
    """Run what was requested, with the request's tags, as the daemon does; what sensors do not look at, once."""
    without = FIGURES | ESTIMATES if pipeline.home.report.with_suffix(".md").exists() else FIGURES
    job = (request.job_name or f"{pipeline.collection.name}_update").removeprefix(f"{pipeline.collection.name}_")
    return pipeline.execute(job, request.tags, without=without)


def test_what_was_never_materialised_is_new_and_then_is_not(pipeline, source):
    source.publish(8)
    request = tick(pipeline)
    assert request.run_key.endswith("-1")
    assert launch(pipeline, request).success
    assert tick(pipeline).startswith("Nothing new: 8 crawls to 2020-07-20, content ")


def test_a_new_crawl_a_revision_and_content_that_comes_back_are_each_requested_once(pipeline, source):
    keys = []
    for n_crawls, seed in ((8, 7), (9, 7), (9, 8), (9, 7)):
        source.publish(n_crawls, seed)
        request = tick(pipeline)
        keys.append(request.run_key)
        launch(pipeline, request)
        assert len(pipeline.home.observables.read("crawls")) == n_crawls
        assert isinstance(tick(pipeline), str)
    assert len(set(keys)) == 4


def test_a_failed_run_is_asked_for_again_and_then_left_to_a_person(pipeline, source, tmp_path):
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
    assert pipeline.run(without=FIGURES).success  # by hand
    assert tick(pipeline).startswith("Nothing new")


def test_a_run_under_way_is_waited_for(pipeline, source):
    source.publish(8)
    job = pipeline.defs.resolve_job_def("remote_update")
    run = pipeline.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert run.run_id in tick(pipeline)


def test_a_collection_that_is_violated_is_not_asked_for_again(tmp_path, source):
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
    assert not launch(pipeline, tick(pipeline)).success
    assert pipeline.outcome.errors == ()
    assert tick(pipeline).startswith("Nothing new")


def test_an_outage_is_an_error_and_not_a_skip(pipeline, source):
    source.publish(8)
    source.close()
    with pytest.raises((OSError, SourceError), match=r"pairs\.csv"):
        tick(pipeline)


def test_a_source_that_publishes_nonsense_is_an_error(pipeline, source):
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
    """Do what the sensor asks for, as the daemon does, and let time pass; gives the crawls of each ingest run."""
    result = evaluate(pipeline)
    for request in result.dynamic_partitions_requests or ():
        if isinstance(request, dg.AddDynamicPartitionsRequest):
            pipeline.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        else:
            for crawl in request.partition_keys:
                pipeline.instance.delete_dynamic_partition(request.partitions_def_name, crawl)
    results = [launch(pipeline, request) for request in result.run_requests or ()]
    assert {run.job_def.name for run in results} <= {"split_ingest"}
    let_time_pass(pipeline, later)
    return [sorted(event.partition for event in run.all_events if event.is_step_materialization) for run in results]


def let_time_pass(pipeline, seconds=300):
    """Move the runs so far into the past."""
    columns = ("start_time", "end_time")
    moved = ", ".join(f"{column} = {column} - {seconds}" for column in columns)
    with pipeline.instance.run_storage.connect() as connection:
        connection.execute(sqlalchemy.text(f"UPDATE runs SET {moved}"))


def after_ingest(pipeline, job="split_ingest"):
    """What the sensor on ingest decides of the last run of a job that ended well, as the daemon asks it."""
    ended_well = dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS])
    run = pipeline.instance.get_runs(ended_well, limit=1)[0]
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


def test_what_was_ingested_is_made_up_to_date(lists):
    daemon(lists, later=0)
    request, run = after_ingest(lists)
    assert request.run_key == run.run_id
    assert request.tags[FINGERPRINT]
    assert lists.defs.resolve_sensor_def("split_ingested").job.name == "split_update"
    assert tick(lists) == f"Run {run.run_id} has just ingested crawls; the update follows it."
    let_time_pass(lists)  # that request was lost: the other sensor asks for the update, too
    again = tick(lists)
    assert again.job_name == "split_update"
    assert again.tags[FINGERPRINT] == request.tags[FINGERPRINT]  # attempts at the same, whoever asks
    launch(lists, request)
    assert "asked for since, brings it up to date" in after_ingest(lists)[0].skip_message
    assert lists.home.observables.read("crawls")["crawl"].tolist() == CRAWLS
    assert tick(lists).startswith("Nothing new: 3 crawls to 2024-03, content ")


def test_the_update_is_left_to_the_command_that_ingested(lists):
    found = lists.find_ingest()
    lists.add_partitions(found.new)
    lists.execute("ingest", {**found.runs[0], COMMAND: "crawl-urn"})
    assert after_ingest(lists)[0].skip_message == "The command that ran it runs the update, too."


def test_partitions_that_are_chosen_in_the_ui_are_followed_by_the_update_and_other_runs_are_not(lists):
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
    assert skipped.skip_message == f"Run {run.run_id} ingested no crawl of split."


def test_runs_under_way_are_waited_for(lists):
    daemon(lists)
    job = lists.defs.resolve_job_def("split_ingest")
    other = lists.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert other.run_id in tick(lists)
    lists.instance.report_run_failed(other)
    assert tick(lists).job_name == "split_update"


def test_of_several_ingest_runs_the_last_is_followed_by_the_update(lists):
    daemon(lists)
    job = lists.defs.resolve_job_def("split_ingest")
    other = lists.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert after_ingest(lists)[0].skip_message == f"Run {other.run_id} is under way; the update follows it."
    lists.instance.report_run_canceled(other)
    assert isinstance(after_ingest(lists)[0], dg.RunRequest)


def test_each_change_of_the_lists_is_ingested_alone(lists, tmp_path):
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
    # In the order in which they arrived: 01, 02, 03, 01-15, 04.
    assert daemon(lists) == [["2024-01"], ["2024-03"], ["2024-04"]]
    launch(lists, tick(lists))
    assert lists.home.observables.read("crawls")["crawl"].tolist() == [
        *("2024-01", "2024-01-15", "2024-02", "2024-03", "2024-04")
    ]
    assert tick(lists).startswith("Nothing new: 5 crawls")


def test_a_crawl_that_is_no_longer_listed_is_left_out_without_ingest(lists, tmp_path):
    daemon(lists)
    launch(lists, tick(lists))
    (tmp_path / "lists" / "2024-02.csv").unlink()
    result = evaluate(lists)
    (withdrawn,) = result.dynamic_partitions_requests
    assert (type(withdrawn), withdrawn.partition_keys) == (dg.DeleteDynamicPartitionsRequest, ["2024-02"])
    (request,) = result.run_requests
    assert request.job_name == "split_update"
    assert "Not listed any more, so left out of the tables: 2024-02." in tick_said(lists)
    lists.instance.delete_dynamic_partition("split_crawls", "2024-02")
    launch(lists, request)
    assert lists.home.observables.read("crawls")["crawl"].tolist() == ["2024-01", "2024-03"]
    assert lists.home.observables.read("containment")["intersection"].tolist() == [2]
    assert lists.home.observables.read("revisions")["first_crawl"].tolist() == ["2024-02"]
    assert tick(lists).startswith("Nothing new: 2 crawls")

    file = lists.home.presence.read("2024-02").path.stat().st_ino
    write_list(tmp_path, "2024-02", ["a", "b", "2024-02"])
    assert daemon(lists) == [["2024-02"]]  # a partition again, from the file that was kept
    assert lists.home.presence.read("2024-02").path.stat().st_ino == file
    assert lists.instance.get_dynamic_partitions("split_crawls") == ["2024-01", "2024-03", "2024-02"]


def test_an_ingest_that_fails_is_asked_for_again_and_then_left_to_a_person(lists, tmp_path):
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
    assert tick(lists).job_name == "split_ingest"  # another content: asked for anew
    blocked.unlink()
    assert all(result.success for result in lists.ingest())  # by hand
    let_time_pass(lists)
    assert tick(lists).job_name == "split_update"


def test_content_that_comes_back_is_ingested_however_often(lists, tmp_path):
    daemon(lists)
    for elements in (["x"], ["y"]) * (ATTEMPTS + 1):
        write_list(tmp_path, "2024-02", elements)
        assert daemon(lists) == [["2024-02"]]


def test_a_failed_attempt_is_followed_by_a_wait_that_grows_and_a_schedule_does_not_wait(pipeline, source, tmp_path):
    source.publish(8)
    pipeline = Pipeline(waiting(pipeline, first_wait_seconds=3600), tmp_path, on_disk=True)
    pipeline.home.path.parent.mkdir()
    pipeline.home.path.write_text("a file where the folder should be")
    said = []
    for _ in range(ATTEMPTS):
        pipeline.configure(waiting(pipeline, first_wait_seconds=0))
        assert not launch(pipeline, tick(pipeline)).success
        pipeline.configure(waiting(pipeline, first_wait_seconds=3600))
        said.append(tick(pipeline))
    ended = pipeline.instance.get_run_records(limit=3)
    for number, wait in ((0, 3600), (1, 4 * 3600)):
        again = datetime.fromtimestamp(ended[2 - number].end_time + wait, timezone.utc)
        assert f"{number + 1} of 3 attempts failed" in said[number]
        assert f"asked for again after {again:%Y-%m-%d %H:%M:%S} UTC" in said[number]
    assert "mend the cause and launch remote_update by hand" in said[2]
    (request,) = scheduled(pipeline, "remote_update")
    assert request.run_key not in {run.dagster_run.tags.get("dagster/run_key") for run in ended}


def waiting(pipeline, **settings):
    """The pipeline's collection with other waits."""
    automation = pipeline.collection.automation.model_copy(update=settings)
    return pipeline.collection.model_copy(update={"automation": automation})


def scheduled(pipeline, job):
    """What the schedule of a job asks for, or the reason why nothing."""
    schedule = pipeline.defs.resolve_schedule_def(f"{job}_refresh")
    resources = {f"{pipeline.collection.name}_home": pipeline.home}
    with dg.build_schedule_context(instance=pipeline.instance, resources=resources) as context:
        result = schedule.evaluate_tick(context)
    return result.run_requests or result.skip_message


def test_the_schedules_ask_for_what_the_sensor_would(lists, tmp_path):
    lists = Pipeline(lists.collection, tmp_path, on_disk=True)
    assert scheduled(lists, "split_update").startswith("To ingest: 3 crawls")
    (request,) = scheduled(lists, "split_ingest")
    assert lists.instance.get_dynamic_partitions("split_crawls") == CRAWLS
    assert launch(lists, request).success
    let_time_pass(lists)
    assert scheduled(lists, "split_ingest").startswith("New: 3 crawls")
    (request,) = scheduled(lists, "split_update")
    launch(lists, request)
    assert {job: scheduled(lists, job)[:11] for job in ("split_read", "split_ingest", "split_update")} == dict.fromkeys(
        ("split_read", "split_ingest", "split_update"), "Nothing new"
    )


def test_a_file_that_takes_longer_than_a_look_is_read_in_a_run(lists, tmp_path):
    write_list(tmp_path, "2024-02", [f"{number}{'x' * 900_000}" for number in range(40)])
    request = tick(lists)
    assert request.job_name == "split_read"
    assert "36,000,118 bytes, more than the 33,554,432 that may be converted" in tick_said(lists)
    job = lists.defs.resolve_job_def("split_read")
    assert job.execute_in_process(instance=lists.instance, run_config=QUIET).success
    assert tick(lists).job_name == "split_ingest"
    assert daemon(lists) == [CRAWLS]


def test_a_crawl_that_is_announced_without_data_is_said_and_waited_for(tmp_path):
    for crawl in CRAWLS:
        write_list(tmp_path, crawl, ["a", "b", crawl])
    (tmp_path / "calendar.csv").write_text("id,from\n" + "".join(f"{one},{one}-02\n" for one in [*CRAWLS, "2024-04"]))
    collection = lists_collection(tmp_path)
    source = collection.source.model_copy(update={"calendar": str(tmp_path / "calendar.csv")})
    pipeline = Pipeline(collection.model_copy(update={"source": source}), tmp_path)
    assert tick_said(pipeline).endswith("In the calendar, but without data yet: 2024-04.")
    assert daemon(pipeline) == [CRAWLS]
    write_list(tmp_path, "2024-04", ["a"])
    assert daemon(pipeline) == [["2024-04"]]


@pytest.mark.parametrize(
    "label", ["../2024-05", "2024'05", "2024\x0705", "2024-05'); DROP TABLE crawls; --", "x" * 65], ids=range(5)
)
def test_a_hostile_label_is_refused_and_nothing_is_written(tmp_path, label):
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


def test_a_listing_that_is_too_long_is_refused_and_nothing_is_written(pipeline, source):
    days = [
        f"{year}-{month:02}-{day:02}" for year in range(1990, 2090) for month in range(1, 13) for day in range(1, 29)
    ]
    rows = "".join(f"{one},{other},5,5,3\n" for one, other in itertools.pairwise(days[:20_000]))
    (source.folder / "pairs.csv").write_text(f"crawl_i,crawl_j,size_i,size_j,intersection\n{rows}")
    with pytest.raises(SourceError, match=r"pairs\.csv.*20,000 crawls, expected at most 10,000"):
        tick(pipeline)
    assert not pipeline.home.path.exists()


def test_ten_megabytes_of_nonsense_for_a_calendar_are_refused(tmp_path):
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
