"""What a collection needs done: which runs, and which crawls are to be partitions.

Here: comparing what the source has with what was last materialised, and how often and how soon work that failed is
asked for again. Not here: reading the source (`sources`), which crawls are missing (`partitions`), or who asks
(`sensors`, `schedules`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import takewhile
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import (
    FINGERPRINT,
    asset_key,
    ingest_job_name,
    job_names,
    read_job_name,
    update_job_name,
)
from crawl_urn_dagster.orchestration.partitions import INGEST, find_ingest, withdrawn_crawls
from crawl_urn_dagster.sources import SourceError, TooLargeError, fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

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
# Dagster gives a tick 60 s: what takes longer to download or to convert is left to a run.
_DEADLINE_SECONDS = 20
_MAX_BYTES = 32 * 2**20
_WAIT_GROWS = 4
_READ_AGAIN_SECONDS = 3600
_FOLLOWED_WITHIN_SECONDS = 120


@dataclass(frozen=True)
class Work:
    """What is to be done now.

    Attributes
    ----------
    said
        What was found, and why nothing is asked for when nothing is.
    requests
        Runs to ask for; their keys never come again.
    new, withdrawn
        Crawls to make partitions of, and partitions whose crawls the source does not list any more.
    """

    said: str
    requests: tuple[dg.RunRequest, ...] = ()
    new: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()


def find_work(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, *, limited: bool = True
) -> Work:
    """Compare what a collection's source has with what is materialised.

    Of a presence source a crawl is missing when its partition is not materialised, or not of the revision that is
    listed; those are ingested first. Then, and for other sources, whatever content the last report was not made from
    is missing. Nothing else is remembered, so that a lost or repeated question does no harm.

    Parameters
    ----------
    limited
        Whether work that failed waits before it is asked for again, and is not when it failed too often.

    Raises
    ------
    SourceError
        When the source cannot be read, or is not what was configured.
    """
    busy = _busy(instance, collection)
    if busy:
        return busy
    files = replace(home.files, deadline_seconds=_DEADLINE_SECONDS, max_bytes=_MAX_BYTES, max_derived_bytes=_MAX_BYTES)
    try:
        listing = collection.source.list_crawls(files, collection.selection)
    except TooLargeError as error:
        return _read(instance, collection, str(error), limited=limited)
    work = (
        _ingest(instance, collection, home, listing, limited=limited)
        or _following_ingest(instance, collection)
        or _update(instance, collection, listing, limited=limited)
    )
    # Looked at again: another sensor may have asked for a run meanwhile.
    busy = _busy(instance, collection) if work.requests else None
    if busy:
        return busy
    if collection.last_crawl is None:
        awaited = collection.source.unpublished_crawls(files, listing)
        if awaited:
            work = replace(work, said=f"{work.said} In the calendar, but without data yet: {_some(awaited)}.")
    withdrawn = withdrawn_crawls(instance, collection, listing)
    if withdrawn:
        said = f"{work.said} Not listed any more, so left out of the tables: {_some(withdrawn)}."
        work = replace(work, said=said, withdrawn=withdrawn)
    return work


def run_under_way(instance: dg.DagsterInstance, job: str) -> str | None:
    """Id of a run of a job that has not ended."""
    runs = instance.get_runs(dg.RunsFilter(job_name=job, statuses=list(NOT_FINISHED)), limit=1)
    return runs[0].run_id if runs else None


def _busy(instance: dg.DagsterInstance, collection: Collection) -> Work | None:
    """Wait for a run that is under way."""
    run_ids = [run_id for job in job_names(collection) if (run_id := run_under_way(instance, job))]
    return Work(f"Run {run_ids[0]} is under way; looking again when it has ended.") if run_ids else None


def _read(instance: dg.DagsterInstance, collection: Collection, what: str, *, limited: bool) -> Work:
    """Work of fetching and converting files that are too large to do it here."""
    job = read_job_name(collection)
    attempts = instance.get_run_records(dg.RunsFilter(job_name=job), limit=100)
    failed = _failed_since_success(attempts)
    if attempts and not failed and time.time() - (attempts[0].end_time or 0) < _READ_AGAIN_SECONDS:
        raise SourceError(
            f"{what}, although run {attempts[0].dagster_run.run_id} has just read it: its server must answer "
            "conditional requests (ETag or Last-Modified), or give a path to a copy"
        )
    refusal = _refusal(collection, failed, 1, job) if limited else None
    if refusal:
        return Work(f"{what}. {refusal}")
    key = f"{collection.name}-read-{attempts[0].storage_id if attempts else 0}"
    return Work(f"To read in a run of its own: {what}.", (dg.RunRequest(run_key=key, job_name=job),))


def run_since_ingest(instance: dg.DagsterInstance, collection: Collection, ingest: dg.RunRecord) -> str | None:
    """Id of an update that was asked for after an ingest had ended."""
    latest = instance.get_run_records(dg.RunsFilter(job_name=update_job_name(collection)), limit=1)
    if latest and latest[0].create_timestamp.timestamp() >= (ingest.end_time or math.inf):
        return latest[0].dagster_run.run_id
    return None


def _following_ingest(instance: dg.DagsterInstance, collection: Collection) -> Work | None:
    """Leave the update that follows an ingest to the sensor on ingest, which is quick, for a while."""
    if not collection.has_histories:
        return None
    ended_well = dg.RunsFilter(job_name=ingest_job_name(collection), statuses=[dg.DagsterRunStatus.SUCCESS])
    latest = instance.get_run_records(ended_well, limit=1)
    if not latest or run_since_ingest(instance, collection, latest[0]):
        return None
    if time.time() - (latest[0].end_time or 0) > _FOLLOWED_WITHIN_SECONDS:
        return None
    return Work(f"Run {latest[0].dagster_run.run_id} has just ingested crawls; the update follows it.")


def _ingest(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, listing: Listing, *, limited: bool
) -> Work | None:
    found = find_ingest(instance, collection, home, listing) if collection.has_histories else None
    if found is None:
        return None
    job = ingest_job_name(collection)
    what = f"To ingest: {_some(found.crawls)}."
    attempts = instance.get_run_records(dg.RunsFilter(job_name=job, tags={INGEST: found.content}))
    # The same content may come back after other content, and be ingested again.
    refusal = _refusal(collection, _failed_since_success(attempts), len(found.runs), job) if limited else None
    if refusal:
        return Work(f"{what} {refusal}")
    requests = (
        dg.RunRequest(run_key=f"{found.content}-{len(attempts)}-{number}", job_name=job, tags=tags)
        for number, tags in enumerate(found.runs)
    )
    return Work(what, tuple(requests), found.new)


def _update(instance: dg.DagsterInstance, collection: Collection, listing: Listing, *, limited: bool) -> Work:
    job = update_job_name(collection)
    content = fingerprint(listing.inputs)
    what = f"{count_noun(len(listing.crawls), 'crawl')} to {listing.crawls[-1].crawl}, content {content}."
    report = instance.get_latest_materialization_event(asset_key(collection, "report"))
    materialization = report.asset_materialization if report else None
    if materialization and materialization.metadata[FINGERPRINT].value == content:
        return Work(f"Nothing new: {what}")
    attempts = instance.get_run_records(dg.RunsFilter(job_name=job, tags={FINGERPRINT: content}))
    since = report.timestamp if report else 0.0
    failed = [attempt for attempt in attempts if attempt.create_timestamp.timestamp() > since]
    refusal = _refusal(collection, failed, 1, job) if limited else None
    if refusal:
        return Work(f"New: {what} {refusal}")
    key = f"{content}-{len(attempts) + 1}"
    return Work(f"New: {what}", (dg.RunRequest(run_key=key, job_name=job, tags={FINGERPRINT: content}),))


def _failed_since_success(attempts: Sequence[dg.RunRecord]) -> list[dg.RunRecord]:
    """Newest first, as the attempts are."""
    return list(takewhile(lambda one: one.dagster_run.status != dg.DagsterRunStatus.SUCCESS, attempts))


def _refusal(collection: Collection, failed: Sequence[dg.RunRecord], per_attempt: int, job: str) -> str | None:
    """Why work that failed is not asked for now; None: it is."""
    if not failed:
        return None
    settings, times = collection.automation, math.ceil(len(failed) / per_attempt)
    last = f"{times} of {settings.attempts} attempts failed, last run {failed[0].dagster_run.run_id}"
    if times >= settings.attempts:
        return f"{last}: mend the cause and launch {job} by hand."
    ended = max(one.end_time or one.update_timestamp.timestamp() for one in failed[:per_attempt])
    again = ended + settings.first_wait_seconds * _WAIT_GROWS ** (times - 1)
    if time.time() < again:
        return f"{last}: asked for again after {datetime.fromtimestamp(again, timezone.utc):%Y-%m-%d %H:%M:%S} UTC."
    return None


def _some(crawls: Sequence[str]) -> str:
    return crawls[0] if len(crawls) == 1 else f"{len(crawls)} crawls, {crawls[0]} to {crawls[-1]}"
