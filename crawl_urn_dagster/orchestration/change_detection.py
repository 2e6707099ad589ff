"""Plan the runs and partitions that bring a collection up to date, and when failed work is retried.

Does not read the source (`sources`), find missing crawls (`partitions`), or request runs (`sensors`, `schedules`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import takewhile
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.announcements import describe_listing, last_report, plan_announcements
from crawl_urn_dagster.orchestration.asset_keys import (
    ASSET_JOB,
    COMMAND,
    COMMAND_NAME,
    FINGERPRINT,
    has_asset,
    ingest_job_name,
    job_names,
    read_job_name,
    update_job_name,
)
from crawl_urn_dagster.orchestration.declarative import is_declarative
from crawl_urn_dagster.orchestration.partitions import INGEST, PARTITION_TAGS, plan_ingest, withdrawn_crawls
from crawl_urn_dagster.orchestration.run_processes import was_interrupted
from crawl_urn_dagster.sources import SourceError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome
    from crawl_urn_dagster.sources import Listing

NOT_FINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
# Dagster ends a tick after 60 s, so larger downloads and conversions are left to a run.
_DEADLINE_SECONDS = 20
_MAX_BYTES = 32 * 2**20
_READ_AGAIN_SECONDS = 3600
_FOLLOWED_WITHIN_SECONDS = 120
# Shorter than the time above: two sensors must not request the work of the same interrupted run.
_REPEATED_WITHIN_SECONDS = 90


@dataclass(frozen=True)
class RunPlan:
    """Runs to request now, and partitions to add or delete.

    Attributes
    ----------
    message
        Finding and, if no run is requested, the reason.
    requests
        Runs to request; their run keys are never used again.
    announcements
        Events of the external assets of a source, in mode ``declarative``.
    new_crawls, withdrawn_crawls
        Crawls that need a partition, and partitions whose crawls the source no longer lists.
    """

    message: str
    requests: tuple[dg.RunRequest, ...] = ()
    announcements: tuple[dg.AssetMaterialization, ...] = ()
    new_crawls: tuple[str, ...] = ()
    withdrawn_crawls: tuple[str, ...] = ()


def plan_run_requests(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, *, limited: bool = True
) -> RunPlan:
    """Compare the crawls that the source lists with the materialised ones, and plan the missing runs.

    A crawl of a presence source is missing if its partition is not materialised or has another revision than the
    listing. Missing crawls are ingested first. Then, and for other sources, an update is planned if the fingerprint of
    the source differs from the fingerprint of the last report. No other state is kept, so a lost or repeated call does
    no harm.

    Parameters
    ----------
    limited
        Whether failed work waits before its next attempt, and is given up after too many attempts.

    Raises
    ------
    SourceError
        If the source cannot be read or does not match its configuration.
    """
    busy = _wait_for_run(instance, collection) or _wait_for_repeat(instance, collection)
    if busy:
        return busy
    files = replace(home.files, deadline_seconds=_DEADLINE_SECONDS, max_bytes=_MAX_BYTES, max_derived_bytes=_MAX_BYTES)
    try:
        listing = collection.source.list_crawls(files, collection.selection)
    except TooLargeError as error:
        return _plan_reading(instance, collection, str(error), limited=limited)
    plan = (
        _plan_announcements(instance, collection, home, listing)
        or _plan_ingest(instance, collection, home, listing, limited=limited)
        or _wait_for_follow_up(instance, collection)
        or _plan_update(instance, collection, listing, limited=limited)
    )
    # Tested again because another sensor may have requested a run in the meantime.
    busy = _wait_for_run(instance, collection) if plan.requests or plan.announcements else None
    if busy:
        return busy
    if collection.last_crawl is None:
        unpublished = collection.source.unpublished_crawls(files, listing)
        if unpublished:
            message = f"{plan.message} In the calendar, but without data yet: {_first_and_last(unpublished)}."
            plan = replace(plan, message=message)
    set_aside = [one.crawl for one in listing.quarantined]
    if set_aside:
        plan = replace(plan, message=f"{plan.message} Cannot be read, so set aside: {_first_and_last(set_aside)}.")
    withdrawn = withdrawn_crawls(instance, collection, listing)
    if removed := [crawl for crawl in withdrawn if crawl not in set_aside]:
        message = f"{plan.message} No longer listed, so excluded from the tables: {_first_and_last(removed)}."
        plan = replace(plan, message=message)
    if withdrawn:
        plan = replace(plan, withdrawn_crawls=withdrawn)
    return plan


def unfinished_run(instance: dg.DagsterInstance, job: str) -> str | None:
    """Return the id of a run of a job that has not ended."""
    runs = instance.get_runs(dg.RunsFilter(job_name=job, statuses=list(NOT_FINISHED)), limit=1)
    return runs[0].run_id if runs else None


def _wait_for_run(instance: dg.DagsterInstance, collection: Collection) -> RunPlan | None:
    run_ids = [run_id for job in job_names(collection) if (run_id := unfinished_run(instance, job))]
    if is_declarative(collection):
        chosen = instance.get_runs(dg.RunsFilter(job_name=ASSET_JOB, statuses=list(NOT_FINISHED)))
        run_ids += [
            run.run_id for run in chosen if any(has_asset(collection, key) for key in run.asset_selection or ())
        ]
    return RunPlan(f"Run {run_ids[0]} is in progress; the source is polled again after it.") if run_ids else None


def repeat_interrupted_runs(instance: dg.DagsterInstance, collections: Iterable[Collection]) -> list[dg.RunRequest]:
    """Request the work of runs that were interrupted a short time ago, unless it was requested since.

    Work that was interrupted as often as there are attempts is left to the slower sensor for new crawls, because it
    may be the cause.
    """
    attempts = {job: one.automation.attempts for one in collections for job in job_names(one)}
    failed = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=repeated_since()))
    requests = []
    for run in failed:
        if run.job_name not in attempts or not was_interrupted(run):
            continue
        tags = {name: run.tags[name] for name in (FINGERPRINT, INGEST, *PARTITION_TAGS) if name in run.tags}
        same = instance.get_runs(dg.RunsFilter(job_name=run.job_name, tags=tags), limit=attempts[run.job_name])
        is_cause = len(same) == attempts[run.job_name] and all(map(was_interrupted, same))
        commands = dg.RunsFilter(job_name=run.job_name, tags={COMMAND: COMMAND_NAME}, statuses=list(NOT_FINISHED))
        if same[0].run_id == run.run_id and not is_cause and not instance.get_runs(commands, limit=1):
            requests.append(dg.RunRequest(run_key=run.run_id, job_name=run.job_name, tags=tags))
    return requests


def repeated_since() -> datetime:
    """Return the earliest end of an interrupted run whose work is requested again at once."""
    return datetime.fromtimestamp(time.time() - _REPEATED_WITHIN_SECONDS, timezone.utc)


def _wait_for_repeat(instance: dg.DagsterInstance, collection: Collection) -> RunPlan | None:
    """Leave the work of an interrupted run to the sensor on interrupted runs for a while, because it is quicker."""
    for job in job_names(collection):
        latest = instance.get_run_records(dg.RunsFilter(job_name=job), limit=1)
        if (
            latest
            and was_interrupted(latest[0].dagster_run)
            and time.time() - (latest[0].end_time or 0) < _FOLLOWED_WITHIN_SECONDS
        ):
            return RunPlan(f"Run {latest[0].dagster_run.run_id} was interrupted; its work is requested again.")
    return None


def _plan_reading(instance: dg.DagsterInstance, collection: Collection, reason: str, *, limited: bool) -> RunPlan:
    """Plan a run that downloads and converts files that are too large for a sensor."""
    job = read_job_name(collection)
    attempts = instance.get_run_records(dg.RunsFilter(job_name=job), limit=100)
    failed = _failed_since_success(attempts)
    has_read = attempts and attempts[0].dagster_run.status == dg.DagsterRunStatus.SUCCESS
    if has_read and time.time() - (attempts[0].end_time or 0) < _READ_AGAIN_SECONDS:
        raise SourceError(
            f"{reason}, although run {attempts[0].dagster_run.run_id} has just read it: the server must support "
            "conditional requests (ETag or Last-Modified); if it does not, give the path of a local copy"
        )
    refusal = _reason_to_wait(collection, failed, 1, job) if limited else None
    if refusal:
        return RunPlan(f"{reason}. {refusal}")
    key = f"{collection.name}-read-{attempts[0].storage_id if attempts else 0}"
    return RunPlan(f"To read in a separate run: {reason}.", (dg.RunRequest(run_key=key, job_name=job),))


def run_since_ingest(instance: dg.DagsterInstance, collection: Collection, ingest: dg.RunRecord) -> str | None:
    """Return the id of an update that was requested after an ingest ended."""
    latest = instance.get_run_records(dg.RunsFilter(job_name=update_job_name(collection)), limit=1)
    if latest and latest[0].create_timestamp.timestamp() >= (ingest.end_time or math.inf):
        return latest[0].dagster_run.run_id
    return None


def _wait_for_follow_up(instance: dg.DagsterInstance, collection: Collection) -> RunPlan | None:
    """Leave the update after an ingest to the sensor on ingest runs for a while, because that sensor is quicker."""
    if not collection.has_histories:
        return None
    succeeded = dg.RunsFilter(job_name=ingest_job_name(collection), statuses=[dg.DagsterRunStatus.SUCCESS])
    latest = instance.get_run_records(succeeded, limit=1)
    if not latest or run_since_ingest(instance, collection, latest[0]):
        return None
    if time.time() - (latest[0].end_time or 0) > _FOLLOWED_WITHIN_SECONDS:
        return None
    return RunPlan(f"Run {latest[0].dagster_run.run_id} has just ingested crawls; the update follows.")


def _plan_announcements(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, listing: Listing
) -> RunPlan | None:
    if not is_declarative(collection):
        return None
    found = plan_announcements(instance, collection, home, listing)
    return RunPlan(found.message, announcements=found.events, new_crawls=found.new_crawls)


def _plan_ingest(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, listing: Listing, *, limited: bool
) -> RunPlan | None:
    ingest = plan_ingest(instance, collection, home, listing) if collection.has_histories else None
    if ingest is None:
        return None
    job = ingest_job_name(collection)
    message = f"To ingest: {_first_and_last(ingest.crawls)}."
    attempts = instance.get_run_records(dg.RunsFilter(job_name=job, tags={INGEST: ingest.fingerprint}))
    # Earlier revisions may return after others and be ingested again, so only attempts since a success count.
    refusal = _reason_to_wait(collection, _failed_since_success(attempts), len(ingest.run_tags), job)
    if limited and refusal:
        return RunPlan(f"{message} {refusal}")
    requests = (
        dg.RunRequest(run_key=f"{ingest.fingerprint}-{len(attempts)}-{number}", job_name=job, tags=tags)
        for number, tags in enumerate(ingest.run_tags)
    )
    return RunPlan(message, tuple(requests), new_crawls=ingest.new_crawls)


def _plan_update(instance: dg.DagsterInstance, collection: Collection, listing: Listing, *, limited: bool) -> RunPlan:
    job = update_job_name(collection)
    listed, description = describe_listing(listing)
    report = last_report(instance, collection)
    if report.fingerprint == listed:
        return RunPlan(f"Nothing new: {description}")
    attempts = instance.get_run_records(dg.RunsFilter(job_name=job, tags={FINGERPRINT: listed}))
    failed = _failed_attempts(one for one in attempts if one.create_timestamp.timestamp() > report.written_at)
    refusal = _reason_to_wait(collection, failed, 1, job) if limited else None
    if refusal:
        return RunPlan(f"New: {description} {refusal}")
    key = f"{listed}-{len(attempts) + 1}"
    return RunPlan(f"New: {description}", (dg.RunRequest(run_key=key, job_name=job, tags={FINGERPRINT: listed}),))


def _failed_since_success(attempts: Sequence[dg.RunRecord]) -> list[dg.RunRecord]:
    """Return the attempts after the last success, the newest first like the input."""
    failed = takewhile(lambda one: one.dagster_run.status != dg.DagsterRunStatus.SUCCESS, attempts)
    return _failed_attempts(failed)


def _failed_attempts(attempts: Iterable[dg.RunRecord]) -> list[dg.RunRecord]:
    """Leave out unfinished runs, and runs whose process was killed with the machine: the work is not the cause."""
    return [one for one in attempts if one.dagster_run.is_finished and not was_interrupted(one.dagster_run)]


def _reason_to_wait(collection: Collection, failed: Sequence[dg.RunRecord], per_attempt: int, job: str) -> str | None:
    """Explain why failed work is not retried now; None: it is.

    Parameters
    ----------
    failed
        Runs that failed, the newest first.
    per_attempt
        Number of runs in one attempt.
    """
    if not failed:
        return None
    settings, times = collection.automation, math.ceil(len(failed) / per_attempt)
    last = f"{times} of {settings.attempts} attempts failed, last run {failed[0].dagster_run.run_id}"
    if times >= settings.attempts:
        return f"{last}: fix the cause, then launch {job} manually."
    ended = max(one.end_time or one.update_timestamp.timestamp() for one in failed[:per_attempt])
    again = ended + settings.seconds_to_wait(times)
    if time.time() < again:
        return f"{last}: retried after {datetime.fromtimestamp(again, timezone.utc):%Y-%m-%d %H:%M:%S} UTC."
    return None


def _first_and_last(crawls: Sequence[str]) -> str:
    return crawls[0] if len(crawls) == 1 else f"{len(crawls)} crawls, {crawls[0]} to {crawls[-1]}"
