"""Define the schedules that poll a source in place of the sensor for new crawls.

Does not decide which crawls or runs are missing (`change_detection`) or define the jobs (`build`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.change_detection import plan_run_requests
from crawl_urn_dagster.orchestration.partitions import crawl_partitions

if TYPE_CHECKING:
    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome


def refresh_schedule(collection: Collection, home: CollectionHome, job_name: str, cron: str) -> dg.ScheduleDefinition:
    """Define a schedule, off by default, that requests a job of the collection if it is needed.

    It ignores the limit on attempts. A Dagster schedule has one job, so each job has a schedule. If the source has
    nothing new, no job runs, so a stale source still shows in the age of its assets.
    """

    @dg.schedule(
        name=f"{job_name}_refresh",
        job_name=job_name,
        cron_schedule=cron,
        execution_timezone=collection.automation.time_zone,
        description=f"Requests {job_name} if the source of {collection.name} has a new crawl or a revision.",
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
    def refresh(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        plan = plan_run_requests(context.instance, collection, home, limited=False)
        requests = [request for request in plan.requests if request.job_name == job_name]
        if requests and plan.new_crawls:
            context.instance.add_dynamic_partitions(str(crawl_partitions(collection).name), list(plan.new_crawls))
        return requests or dg.SkipReason(plan.message)

    return refresh
