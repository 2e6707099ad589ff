"""Evaluate sensors and schedules, and launch what they request, as the daemon does.

Does not assert anything.
"""

import dagster as dg
import sqlalchemy

from crawl_urn_dagster.orchestration.change_detection import plan_run_requests
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    pairs_frame,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES
from crawl_urn_dagster_tests.servers import FileServer

ATTEMPTS = 3
AT_ONCE = {"attempts": ATTEMPTS, "first_wait_seconds": 0, "refresh_cron": "0 6 2 * *"}
CRAWLS = ["2024-01", "2024-02", "2024-03"]


class Source(FileServer):
    """A pair table behind an HTTP address."""

    def __init__(self, folder):
        super().__init__(folder)
        self.url = self.address("pairs.csv")

    def publish(self, n_crawls, seed=7):
        counts = histories(n_crawls, seed=seed).counts()
        super().publish("pairs.csv", pairs_frame(counts.intersections(), n_crawls))


def evaluate(pipeline):
    """The result of the new-crawl sensor."""
    name = pipeline.collection.name
    sensor = pipeline.defs.resolve_sensor_def(f"{name}_new_crawl")
    with dg.build_sensor_context(instance=pipeline.instance, definitions=pipeline.defs) as context:
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


def waiting(pipeline, **settings):
    """The collection of a pipeline with other waits."""
    automation = pipeline.collection.automation.model_copy(update=settings)
    return pipeline.collection.model_copy(update={"automation": automation})


def scheduled(pipeline, job):
    """The runs that the schedule of a job requests, or the reason for requesting none."""
    schedule = pipeline.defs.resolve_schedule_def(f"{job}_refresh")
    with dg.build_schedule_context(instance=pipeline.instance) as context:
        result = schedule.evaluate_tick(context)
    return result.run_requests or result.skip_message
