"""Announce what a source has: events of the external assets that automate a collection in mode ``declarative``.

Does not decide what an event leads to; the conditions of the assets do (`declarative`).
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

import dagster as dg

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import ASSET_JOB, FINGERPRINT, asset_key, asset_name, has_asset
from crawl_urn_dagster.orchestration.declarative import SOURCE, SOURCE_CRAWLS, is_declarative
from crawl_urn_dagster.orchestration.partitions import PARTITION_TAGS, plan_ingest
from crawl_urn_dagster.orchestration.run_processes import was_interrupted
from crawl_urn_dagster.sources import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.resources import CollectionHome
    from crawl_urn_dagster.sources import Listing

#: Metadata of an announcement: the revision of a crawl, or the fingerprint of a source.
REVISION = "crawl_urn/revision"
_MAX_EVENTS = 100
# The conditions are evaluated every 30 s, so the update of ingested crawls is requested by then.
_FOLLOWED_WITHIN = timedelta(seconds=120)


class Announcements(NamedTuple):
    """Events to report now, and partitions to add first.

    Attributes
    ----------
    message
        Finding and, if nothing is announced, the reason.
    events
        Materialisations of the external assets.
    new_crawls
        Crawls that need a partition.
    """

    message: str
    events: tuple[dg.AssetMaterialization, ...] = ()
    new_crawls: tuple[str, ...] = ()


def plan_announcements(
    instance: dg.DagsterInstance, collection: Collection, home: CollectionHome, listing: Listing
) -> Announcements:
    """Plan the events for what a source has and the tables have not.

    A crawl is announced if its partition is not materialised or has another revision, and the source as a whole if the
    last report used another fingerprint. An announcement without effect is repeated after the waits
    between attempts, as often as the settings allow.
    """
    ingest = plan_ingest(instance, collection, home, listing) if collection.has_histories else None
    if ingest:
        due = {crawl: listing.revisions[crawl] for crawl in ingest.crawls}
        events = [
            dg.AssetMaterialization(key, partition=crawl, metadata={REVISION: revision})
            for key in [asset_key(collection, SOURCE_CRAWLS)]
            for crawl, revision in due.items()
            if _is_due(instance, collection, key, revision, crawl)
        ]
        crawls = count_noun(len(due), "crawl")
        message = f"To ingest: {crawls}, of which {len(events)} are announced now."
        return Announcements(message, tuple(events), ingest.new_crawls)
    listed, description = describe_listing(listing)
    if last_report(instance, collection).fingerprint == listed:
        return Announcements(f"Nothing new: {description}")
    if collection.has_histories and _is_recent(instance, asset_key(collection, "presence")):
        return Announcements(f"Crawls have just been ingested; the update follows: {description}")
    key = asset_key(collection, SOURCE)
    if not _is_due(instance, collection, key, listed, None):
        return Announcements(f"Announced before: {description}")
    return Announcements(f"New: {description}", (dg.AssetMaterialization(key, metadata={REVISION: listed}),))


def repeat_announcements(
    instance: dg.DagsterInstance, collections: Iterable[Collection], since: datetime
) -> list[dg.AssetMaterialization]:
    """Return the events that led to runs which were interrupted a short time ago, unless reported again since.

    Parameters
    ----------
    since
        Earliest end of an interrupted run.
    """
    filters = dg.RunsFilter(job_name=ASSET_JOB, statuses=[dg.DagsterRunStatus.FAILURE], updated_after=since)
    interrupted = [one for one in instance.get_run_records(filters) if was_interrupted(one.dagster_run)]
    events: dict[tuple[dg.AssetKey, str | None], dg.AssetMaterialization] = {}
    for collection in filter(is_declarative, collections):
        for record in interrupted:
            run = record.dagster_run
            assets = {asset_name(collection, key) for key in run.asset_selection or () if has_asset(collection, key)}
            crawl = run.tags.get(PARTITION_TAGS[-1])
            key = asset_key(collection, SOURCE_CRAWLS if crawl else SOURCE)
            event = _to_repeat(instance, collection, key, crawl, record.end_time or 0) if assets else None
            if event:
                events[key, crawl] = event
    return list(events.values())


def _to_repeat(
    instance: dg.DagsterInstance, collection: Collection, key: dg.AssetKey, crawl: str | None, ended: float
) -> dg.AssetMaterialization | None:
    """Return the last announcement; None: nothing was announced before the end, or the attempts are used up."""
    records = _announcements(instance, key, crawl)
    event = records[0].asset_materialization if records else None
    if event is None or records[0].timestamp > ended:
        return None
    attempts = _select_revision(records, str(event.metadata[REVISION].value))
    return event if len(attempts) < collection.automation.attempts else None


def describe_listing(listing: Listing) -> tuple[str, str]:
    """Return the fingerprint of what a source has, and a text that states it."""
    listed = fingerprint(listing.inputs)
    return listed, f"{count_noun(len(listing.crawls), 'crawl')} to {listing.crawls[-1].crawl}, fingerprint {listed}."


class LastReport(NamedTuple):
    """State of the last report.

    Attributes
    ----------
    fingerprint
        Fingerprint of the source that the report describes; None without a report.
    written_at
        Time of the report in seconds since the epoch; 0 without a report.
    """

    fingerprint: str | None = None
    written_at: float = 0.0


def last_report(instance: dg.DagsterInstance, collection: Collection) -> LastReport:
    """Return the state of the last report of a collection."""
    event = instance.get_latest_materialization_event(asset_key(collection, "report"))
    report = event.asset_materialization if event else None
    if event is None or report is None:
        return LastReport()
    return LastReport(str(report.metadata[FINGERPRINT].value), event.timestamp)


def _is_due(
    instance: dg.DagsterInstance, collection: Collection, key: dg.AssetKey, revision: str, crawl: str | None
) -> bool:
    """Return whether a revision was never announced, or an attempt at it is due again."""
    records = _announcements(instance, key, crawl)
    times = [record.timestamp for record in _select_revision(records, revision)]
    settings = collection.automation
    if not times:
        return True
    if len(times) >= settings.attempts:
        return False
    return bool(_now().timestamp() > times[0] + settings.seconds_to_wait(len(times)))


def _announcements(instance: dg.DagsterInstance, key: dg.AssetKey, crawl: str | None) -> Sequence[dg.EventLogRecord]:
    """Return the last announcements of a crawl or of the source, the newest first."""
    filters = dg.AssetRecordsFilter(asset_key=key, asset_partitions=None if crawl is None else [crawl])
    return instance.fetch_materializations(filters, limit=_MAX_EVENTS).records


def _select_revision(records: Iterable[dg.EventLogRecord], revision: str) -> list[dg.EventLogRecord]:
    """Return the events of one revision since another one was announced, the newest first like the input."""
    found = []
    for record in records:
        event = record.asset_materialization
        if event is None or event.metadata[REVISION].value != revision:
            break
        found.append(record)
    return found


def _is_recent(instance: dg.DagsterInstance, key: dg.AssetKey) -> bool:
    event = instance.get_latest_materialization_event(key)
    since = _now() - _FOLLOWED_WITHIN
    return event is not None and event.timestamp > since.timestamp()


def _now() -> datetime:
    return datetime.now(timezone.utc)
