"""Sensors that notice new crawls.

Here: when a source is looked at, and handing on what is missing. Not here: what is missing (`work`), or telling what
a run found (`alerts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.asset_keys import COMMAND, FINGERPRINT, asset_key, home_key, look_sensor_name
from crawl_urn_dagster.orchestration.change_detection import find_work, run_since_ingest, run_under_way
from crawl_urn_dagster.orchestration.partitions import crawl_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition as Job

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome

_FOLLOW_SECONDS = 30


def new_crawl_sensor(collection: Collection, jobs: Sequence[dg.JobDefinition | Job]) -> dg.SensorDefinition:
    """Sensor that requests the collection's jobs when its source has something new; it has no cursor."""
    key = home_key(collection)

    @dg.sensor(
        name=look_sensor_name(collection),
        jobs=jobs,
        description=f"Requests the jobs of {collection.name} when its source has a new crawl or a revision.",
        minimum_interval_seconds=collection.automation.look_every_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        required_resource_keys={key},
    )
    def new_crawl(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        home: CollectionHome = getattr(context.resources, key)
        work = find_work(context.instance, collection, home)
        context.log.info(work.said)
        partitions = crawl_partitions(collection)
        changes: list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest] = []
        if work.new:
            changes.append(partitions.build_add_request(list(work.new)))
        if work.withdrawn:
            changes.append(partitions.build_delete_request(list(work.withdrawn)))
        return dg.SensorResult(
            run_requests=list(work.requests),
            skip_reason=None if work.requests else dg.SkipReason(work.said),
            dynamic_partitions_requests=changes,
        )

    return new_crawl


def ingested_sensor(collection: Collection, update: Job, ingest: Job) -> dg.SensorDefinition:
    """Sensor that requests the update when crawls have been ingested, and no other ingest is under way.

    It watches all runs: those that the UI makes of chosen partitions have a job of their own.
    """
    presence = asset_key(collection, "presence")

    @dg.run_status_sensor(
        run_status=dg.DagsterRunStatus.SUCCESS,
        name=f"{collection.name}_ingested",
        description=f"Requests {update.name} when crawls of {collection.name} have been ingested.",
        request_job=update,
        minimum_interval_seconds=min(_FOLLOW_SECONDS, collection.automation.look_every_seconds),
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def ingested(context: dg.RunStatusSensorContext) -> dg.RunRequest | dg.SkipReason:
        run = context.dagster_run
        if run.job_name != ingest.name and presence not in (run.asset_selection or ()):
            return dg.SkipReason(f"Run {run.run_id} ingested no crawl of {collection.name}.")
        if COMMAND in run.tags:
            return dg.SkipReason("The command that ran it runs the update, too.")
        run_id = run_under_way(context.instance, ingest.name)
        if run_id:
            return dg.SkipReason(f"Run {run_id} is under way; the update follows it.")
        record = context.instance.get_run_record_by_id(run.run_id)
        run_id = run_since_ingest(context.instance, collection, record) if record else None
        if run_id:
            return dg.SkipReason(f"Run {run_id}, asked for since, brings it up to date.")
        tags = {FINGERPRINT: run.tags[FINGERPRINT]} if FINGERPRINT in run.tags else {}
        return dg.RunRequest(run_key=run.run_id, tags=tags)

    return ingested
