"""Find the events of a source that require an alert: it cannot be read, it can be read again, or it is stale.

Does not read the source; the ticks of the sensor for new crawls state the errors. Does not send alerts; see
`alerts.delivery`.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.alerts.records import (
    MAX_CHARACTERS,
    Alert,
    delivered_targets,
    record_delivered_targets,
)
from crawl_urn_dagster.orchestration.asset_keys import asset_key, new_crawl_sensor_name
from crawl_urn_dagster.orchestration.dagster_internals import InstigatorType, TickStatus
from crawl_urn_dagster.orchestration.run_results import root_error, root_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import dagster as dg

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.dagster_internals import InstigatorTick, SerializableErrorInfo

_POLLED = [TickStatus.SUCCESS, TickStatus.SKIPPED, TickStatus.FAILURE]
_MAX_UPDATES = 100
# Recorded next to the targets of an outage: the kind of its errors, or that it ended.
_KIND, _ENDED = "kind:", "kind:ended"


def source_alerts(instance: dg.DagsterInstance, collection: Collection) -> Iterator[Alert]:
    """Yield the alerts about the source; a target may have received them."""
    for alert in (_outage(instance, collection), _stale(instance, collection, datetime.now(timezone.utc))):
        if alert:
            yield alert


def _outage(instance: dg.DagsterInstance, collection: Collection) -> Alert | None:
    """Return an alert if as many latest polls as there are attempts failed in the same way, or if an outage ended."""
    event, sensor = f"crawl_urn/{collection.name}/unreadable", new_crawl_sensor_name(collection)
    ticks = _latest_polls(instance, sensor, collection.automation.attempts)
    if not ticks:
        return None
    recorded = delivered_targets(instance, event)
    if ticks[0].status != TickStatus.FAILURE:
        if not _start_event(instance, event, recorded, _ENDED):
            return None
        return Alert(
            event,
            f"{collection.name}: the source can be read again",
            f"The poll at {_time(ticks[0])} succeeded. See the ticks of the sensor {sensor}.",
            "success",
        )
    kinds = {_kind_of_error(tick.error) if tick.status == TickStatus.FAILURE else _ENDED for tick in ticks}
    if len(ticks) < collection.automation.attempts or len(kinds) > 1 or _ENDED in kinds:
        return None
    _start_event(instance, event, recorded, kinds.pop())
    return Alert(
        event,
        f"{collection.name}: the source cannot be read",
        f"The last {count_noun(len(ticks), 'poll')} of the source failed, since {_time(ticks[-1])}. "
        f"Error: {root_error_message(ticks[0].error)[:MAX_CHARACTERS]}\nPolling continues. A further alert is sent "
        f"when the polls fail in another way, or a poll succeeds. See the ticks of the sensor {sensor}.",
        "failure",
    )


def _start_event(instance: dg.DagsterInstance, event: str, recorded: set[str], kind: str) -> bool:
    """Forget who received the alert on an outage if its kind changed; return whether there is an outage to report.

    The end of an outage is reported only if its start was.
    """
    known = {word for word in recorded if word.startswith(_KIND)}
    if kind == _ENDED and not recorded - known:
        return _ENDED in known
    if kind not in known:
        record_delivered_targets(instance, event, {kind})
    return True


def _kind_of_error(error: SerializableErrorInfo | None) -> str:
    """Return the class of an error and of its cause; the message may contain a time or an address."""
    found = root_error(error)
    classes = [one.cls_name or "" for one in (found, found.cause if found else None) if one]
    return _KIND + "/".join(classes)


def _latest_polls(instance: dg.DagsterInstance, sensor: str, limit: int) -> Sequence[InstigatorTick]:
    # An instance in memory stores no sensors.
    states = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR) if instance.schedule_storage else ()
    return [
        tick
        for state in states
        if state.instigator_name == sensor
        for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=limit, statuses=_POLLED)
    ]


def _time(tick: InstigatorTick) -> str:
    return f"{datetime.fromtimestamp(tick.timestamp, timezone.utc):%Y-%m-%d %H:%M} UTC"


def _stale(instance: dg.DagsterInstance, collection: Collection, now: datetime) -> Alert | None:
    """Return an alert if the source has had no new crawl for longer than its settings allow."""
    allowed = collection.automation.stale_after_days
    if allowed is None:
        return None
    records = instance.fetch_materializations(asset_key(collection, "crawls"), limit=_MAX_UPDATES).records
    # A materialisation that a person reported has no such metadata.
    ages = [
        _last_crawl(crawls, record.timestamp)
        for record in records
        if (crawls := record.asset_materialization) and "last_crawl" in crawls.metadata
    ]
    if not ages:
        return None
    crawl, started, _ = ages[0]
    days = (now - started) / timedelta(days=1)
    if days <= allowed:
        return None
    # A crawl that was already stale on arrival does not reset the staleness alert.
    last_in_time = next((label for label, _, days_old in ages if days_old <= allowed), "none")
    settings = collection.automation
    return Alert(
        f"crawl_urn/{collection.name}/stale/{last_in_time}",
        f"{collection.name}: the source is stale",
        f"The latest crawl, {crawl}, started {days:.0f} days ago. One is expected every "
        f"{settings.expect_every_days:g} days and may be {settings.grace_days:g} days late. Check the source, and the "
        f"ticks of the sensor {new_crawl_sensor_name(collection)}.",
        "warning",
    )


def _last_crawl(crawls: dg.AssetMaterialization, materialised_at: float) -> tuple[str, datetime, float]:
    """Return the label and start of the latest crawl of a `crawls` table, and its age in days at materialisation."""
    metadata = crawls.metadata
    started = datetime.fromisoformat(str(metadata["last_crawl_started_at"].value)).replace(tzinfo=timezone.utc)
    age = datetime.fromtimestamp(materialised_at, timezone.utc) - started
    return str(metadata["last_crawl"].value), started, age / timedelta(days=1)
