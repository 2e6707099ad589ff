"""Schedules that refresh a collection without anything new being noticed.

Here: when. Not here: what is run (`build`), or noticing new crawls (`sensors`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from crawl_urn_dagster.collection import Collection

MONTHLY = "0 6 2 * *"


def monthly_schedule(collection: Collection, job_name: str) -> dg.ScheduleDefinition:
    """Schedule of the collection's job on the second of each month, off until it is turned on."""
    return dg.ScheduleDefinition(
        name=f"{collection.name}_monthly",
        job_name=job_name,
        cron_schedule=MONTHLY,
        execution_timezone="UTC",
        description=f"Runs {job_name} once a month, whether or not anything new was noticed.",
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
