"""Define the sensors that poll a source for new crawls, and request an update after an ingest or an interruption.

Does not decide which runs are missing (`change_detection`) or send alerts (`alerts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.announcements import repeat_announcements
from crawl_urn_dagster.orchestration.asset_keys import (
    ASSET_JOB,
    COMMAND,
    FINGERPRINT,
    asset_key,
    job_names,
    new_crawl_sensor_name,
)
from crawl_urn_dagster.orchestration.change_detection import (
    plan_run_requests,
    repeat_interrupted_runs,
    repeated_since,
    run_since_ingest,
    unfinished_run,
)
from crawl_urn_dagster.orchestration.declarative import is_declarative
from crawl_urn_dagster.orchestration.partitions import crawl_partitions
from crawl_urn_dagster.orchestration.run_processes import fail_interrupted_runs, free_slots_of_ended_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.dagster_internals import UnresolvedAssetJobDefinition as Job
    from crawl_urn_dagster.orchestration.resources import CollectionHome

_FOLLOW_SECONDS = 30
_INTERRUPTED_SECONDS = 15


def new_crawl_sensor(
    collection: Collection, home: CollectionHome, jobs: Sequence[dg.JobDefinition | Job]
) -> dg.SensorDefinition:
    """Define the sensor that requests the collection's jobs if its source has something new; it has no cursor."""

    @dg.sensor(
        name=new_crawl_sensor_name(collection),
        jobs=jobs,
        description=f"Requests the jobs of {collection.name} if its source has a new crawl or a revision.",
        minimum_interval_seconds=collection.automation.look_every_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def new_crawl(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        plan = plan_run_requests(context.instance, collection, home)
        context.log.info(plan.message)
        partitions = crawl_partitions(collection)
        changes: list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest] = []
        if plan.new_crawls:
            changes.append(partitions.build_add_request(list(plan.new_crawls)))
        if plan.withdrawn_crawls:
            changes.append(partitions.build_delete_request(list(plan.withdrawn_crawls)))
        return dg.SensorResult(
            run_requests=list(plan.requests),
            skip_reason=None if plan.requests else dg.SkipReason(plan.message),
            dynamic_partitions_requests=changes,
            asset_events=list(plan.announcements),
        )

    return new_crawl


def interrupted_run_sensor(
    collections: Sequence[Collection], jobs: Sequence[dg.JobDefinition | Job]
) -> dg.SensorDefinition:
    """Define the sensor that fails the runs of killed processes, and requests their work again."""

    @dg.sensor(
        name=f"_interrupted_runs_{collections[0].name}",
        jobs=jobs,
        description="Fails runs whose process no longer exists, frees their pools, and requests their work again.",
        minimum_interval_seconds=_INTERRUPTED_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def interrupted_runs(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        launched_here = {job for one in collections for job in job_names(one)}
        if any(map(is_declarative, collections)):
            launched_here.add(ASSET_JOB)
        origin = context.code_location_origin
        location = origin.location_name if origin else None
        for run in fail_interrupted_runs(context.instance, launched_here, location):
            context.log.warning(f"Run {run.run_id} of {run.job_name} was interrupted.")
        free_slots_of_ended_runs(context.instance)
        requests = repeat_interrupted_runs(context.instance, collections)
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else dg.SkipReason("No job was interrupted a short time ago."),
            asset_events=repeat_announcements(context.instance, collections, repeated_since()),
        )

    return interrupted_runs


def ingested_sensor(collection: Collection, update: Job, ingest: Job) -> dg.SensorDefinition:
    """Define the sensor that requests the update after crawls were ingested, unless another ingest is in progress.

    It watches all runs, because the UI ingests chosen partitions in a job that Dagster names.
    """
    presence = asset_key(collection, "presence")

    @dg.run_status_sensor(
        run_status=dg.DagsterRunStatus.SUCCESS,
        name=f"{collection.name}_ingested",
        description=f"Requests {update.name} after crawls of {collection.name} were ingested.",
        request_job=update,
        minimum_interval_seconds=min(_FOLLOW_SECONDS, collection.automation.look_every_seconds),
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def ingested(context: dg.RunStatusSensorContext) -> dg.RunRequest | dg.SkipReason:
        run = context.dagster_run
        if run.job_name != ingest.name and presence not in (run.asset_selection or ()):
            return dg.SkipReason(f"Run {run.run_id} did not ingest a crawl of {collection.name}.")
        if COMMAND in run.tags:
            return dg.SkipReason("The command that launched this run also runs the update.")
        run_id = unfinished_run(context.instance, ingest.name)
        if run_id:
            return dg.SkipReason(f"Run {run_id} is in progress; the update follows it.")
        record = context.instance.get_run_record_by_id(run.run_id)
        run_id = run_since_ingest(context.instance, collection, record) if record else None
        if run_id:
            return dg.SkipReason(f"Run {run_id}, requested since, includes these crawls.")
        tags = {FINGERPRINT: run.tags[FINGERPRINT]} if FINGERPRINT in run.tags else {}
        return dg.RunRequest(run_key=run.run_id, tags=tags)

    return ingested
