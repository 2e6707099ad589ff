"""Schedules that stand in for the sensor of new crawls.

Here: when a source is looked at although no sensor does, or has given up. Not here: what is missing (`work`), or
what is run (`build`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.asset_keys import home_key
from crawl_urn_dagster.orchestration.change_detection import find_work
from crawl_urn_dagster.orchestration.partitions import crawl_partitions

if TYPE_CHECKING:
    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome


def refresh_schedule(collection: Collection, job_name: str) -> dg.ScheduleDefinition:
    """Schedule that requests one of the collection's jobs when it is needed, however often it failed; off at first.

    A schedule has one job, so that each job has a schedule. When nothing is new nothing runs, so that a source that
    has fallen silent still shows in the age of its assets.
    """
    key = home_key(collection)

    @dg.schedule(
        name=f"{job_name}_refresh",
        job_name=job_name,
        cron_schedule=collection.automation.refresh_cron,
        execution_timezone=collection.automation.time_zone,
        description=f"Requests {job_name} when the source of {collection.name} has something new, as the sensor does.",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        required_resource_keys={key},
    )
    def refresh(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        home: CollectionHome = getattr(context.resources, key)
        work = find_work(context.instance, collection, home, limited=False)
        requests = [request for request in work.requests if request.job_name == job_name]
        if requests and work.new:
            context.instance.add_dynamic_partitions(str(crawl_partitions(collection).name), list(work.new))
        return requests or dg.SkipReason(work.said)

    return refresh
