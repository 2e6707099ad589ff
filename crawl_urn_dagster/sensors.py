"""Sensors that notice new crawls.

Here: comparing what a collection's source has with what was last materialised. Not here: reading the source
(`sources`), or sensors on finished runs (`alerts`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.sources import fingerprint
from crawl_urn_dagster.specs import FINGERPRINT, asset_key, home_key

if TYPE_CHECKING:
    from crawl_urn_dagster.collection import Collection
    from crawl_urn_dagster.resources import CollectionHome

NOT_FINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
MAX_ATTEMPTS = 3
INTERVAL_SECONDS = 15 * 60
# For each file; Dagster gives a tick 60 s.
_DEADLINE_SECONDS = 20


def new_crawl_sensor(collection: Collection, job_name: str) -> dg.SensorDefinition:
    """Sensor that requests the collection's job when its source has something new.

    New is whatever content the last report was not made from; a run that failed with an error leaves it new, and is
    asked for again up to `MAX_ATTEMPTS` times. The cursor is not used.
    """
    key = home_key(collection)

    @dg.sensor(
        name=f"{collection.name}_new_crawl",
        job_name=job_name,
        description=f"Requests {job_name} when the source of {collection.name} has a new crawl or a revision.",
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        required_resource_keys={key},
    )
    def new_crawl(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        home: CollectionHome = getattr(context.resources, key)
        files = replace(home.files, deadline_seconds=_DEADLINE_SECONDS)
        listing = collection.source.list_crawls(files, collection.selection)
        found = fingerprint(listing.inputs)
        what = f"{len(listing.crawls)} crawls to {listing.crawls[-1]}, content {found}"

        report = context.instance.get_latest_materialization_event(asset_key(collection, "report"))
        materialization = report.asset_materialization if report else None
        if materialization and materialization.metadata[FINGERPRINT].value == found:
            return dg.SkipReason(f"Nothing new: {what}.")

        under_way = context.instance.get_runs(dg.RunsFilter(job_name=job_name, statuses=list(NOT_FINISHED)), limit=1)
        if under_way:
            return dg.SkipReason(f"Run {under_way[0].run_id} is under way; looking again when it has ended.")

        attempts = context.instance.get_run_records(dg.RunsFilter(job_name=job_name, tags={FINGERPRINT: found}))
        since = report.timestamp if report else 0.0
        failed = sum(attempt.create_timestamp.timestamp() > since for attempt in attempts)
        if failed >= MAX_ATTEMPTS:
            return dg.SkipReason(
                f"New: {what}; but {failed} runs of it failed, last {attempts[0].dagster_run.run_id}. "
                f"Mend the cause and launch {job_name} by hand."
            )
        request = dg.RunRequest(run_key=f"{found}-{len(attempts) + 1}", tags={FINGERPRINT: found})
        context.log.info(f"New: {what}")
        return dg.SensorResult(run_requests=[request])

    return new_crawl
