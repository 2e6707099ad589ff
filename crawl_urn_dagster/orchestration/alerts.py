"""Alerts: what people are told of, each event once.

Here: which events there are, what is said of them, and the sensor that sends it. Not here: what a run found
(`outcomes`), when something has drifted (`checks`), or how a service takes a message (apprise).

An event is a check that failed and did not fail for the same cause before (of the fits, only the headline's: it speaks
for the collection), a run that ended in an error and is not the next attempt at what failed before, a source that
cannot be read, or one that has fallen silent. What each target was told is kept in the instance.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, NamedTuple

import dagster as dg
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import TickStatus
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT, asset_key, job_names, look_sensor_name
from crawl_urn_dagster.orchestration.partitions import INGEST
from crawl_urn_dagster.orchestration.run_results import Outcome, grouped_checks, raised, read_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from apprise import NotifyBase

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.run_results import FailedCheck

# What could not be delivered for longer is not news any more.
_LOOK_BACK = timedelta(days=7)
_RUNS_LOOKED_AT = 200
# Of runs in which the UI makes chosen assets.
_ASSET_JOB = "__ASSET_JOB"
_EVALUATED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}
_LOOKED = [TickStatus.SUCCESS, TickStatus.SKIPPED, TickStatus.FAILURE]
_EVALUATIONS_LOOKED_AT = 50
_UPDATES_LOOKED_AT = 100
_MAX_CHARACTERS = 4000
_NAMED = 3
# Kept beside the targets of an event of which nobody is to be told any more, also no target that is added later.
_SETTLED = "-"


class AlertError(RuntimeError):
    """An alert was not delivered; the message does not hold the target's address, which may be a secret."""


@dataclass(frozen=True)
class Alert:
    """What is told of one event, or of those of one run.

    Attributes
    ----------
    event
        Its name, which never comes again, or not before the event is over.
    title, body
        What is said: plain text.
    severity
        ``warning`` or ``failure``.
    """

    event: str
    title: str
    body: str
    severity: str


def alert_sensor(
    collection: Collection, targets: Sequence[str], *, ui_url: str | None, figure: str
) -> dg.SensorDefinition:
    """Sensor that sends what happened to a collection, the oldest first, and again later what was not taken.

    Parameters
    ----------
    targets
        Addresses in apprise's notation; without any the sensor is off, and skips with that reason.
    ui_url
        Where people see the UI, for links; None: runs and assets are named.
    figure
        Figure that alerts link to when no failed check names another.

    Raises
    ------
    ValueError
        When a target is no address; which services apprise knows is not looked up, for that takes long.
    """
    without_scheme = [_no_address(targets, index) for index, target in enumerate(targets) if "://" not in target]
    if without_scheme:
        raise ValueError("; ".join(without_scheme))

    @dg.sensor(
        name=f"{collection.name}_alerts",
        description=f"Tells of drift, failed fits, failed runs and a stale source of {collection.name}.",
        default_status=dg.DefaultSensorStatus.RUNNING if targets else dg.DefaultSensorStatus.STOPPED,
        # It requests nothing; Dagster wants a target nevertheless.
        asset_selection=dg.AssetSelection.assets(asset_key(collection, "report")),
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        if not targets:
            return dg.SkipReason("No target is set.")
        alerts = new_alerts(context.instance, collection, ui_url=ui_url, figure=figure)
        told = deliver(context.instance, targets, alerts)
        return dg.SkipReason(f"Told of {count_noun(told, 'event')}." if told else "Nothing new to tell.")

    return alerts


class _Target(NamedTuple):
    """Where alerts are sent."""

    #: Hash of the address; too little is left of it to find out a secret in the address.
    identity: str
    service: NotifyBase
    #: For messages, which never have the address.
    said: str


def _read_targets(addresses: Sequence[str]) -> tuple[list[_Target], list[str]]:
    """Read addresses in apprise's notation; also gives what is said of those that are none."""
    import logging

    import apprise

    # What it logs holds whole addresses.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    targets, wrong = [], []
    for index, address in enumerate(addresses):
        service = apprise.Apprise.instantiate(address)
        if isinstance(service, apprise.NotifyBase):
            identity = str(service.url_id())  # type: ignore[no-untyped-call]
            targets.append(_Target(identity, service, f"{_number(addresses, index)} ({service.service_name})"))
        else:
            wrong.append(_no_address(addresses, index))
    return targets, wrong


def wrong_targets(addresses: Sequence[str]) -> list[str]:
    """Say which of some addresses are none that apprise knows, and what was expected; without the addresses."""
    return _read_targets(addresses)[1]


def _number(addresses: Sequence[str], index: int) -> str:
    return f"target {index + 1} of {len(addresses)}"


def _no_address(addresses: Sequence[str], index: int) -> str:
    return (
        f"{_number(addresses, index)} of the alerts is no address that apprise knows; expected one such as "
        "slack://..., mailto://... or json://host/path"
    )


def new_alerts(
    instance: dg.DagsterInstance, collection: Collection, *, ui_url: str | None, figure: str
) -> Iterator[Alert]:
    """Find the events of a collection of which not all were told, the oldest first."""
    runs = _ended_runs(instance, collection)
    names = {run.run_id: f"crawl_urn/{collection.name}/run/{run.run_id}" for run in runs}
    told = _told(instance, set(names.values()))
    for run in runs:
        event = names[run.run_id]
        if _SETTLED in told[event]:
            continue
        outcome = _news(instance, collection, run)
        if outcome.errors or outcome.failed_checks:
            yield _alert_of(
                collection, event, run, outcome, _links(collection, run.run_id, ui_url, _drawn_in(outcome) or figure)
            )
        else:
            _remember(instance, event, {_SETTLED})
    for alert in (_unreadable(instance, collection), _stale(instance, collection, datetime.now(timezone.utc))):
        if alert and _SETTLED not in _told(instance, {alert.event})[alert.event]:
            yield alert


def deliver(instance: dg.DagsterInstance, addresses: Sequence[str], alerts: Iterable[Alert]) -> int:
    """Send alerts to the targets that were not told yet, and count them.

    A target that does not take one is not tried with those after it; every other target gets all.

    Raises
    ------
    AlertError
        When a target is no address, or did not take an alert, which it is then sent again later.
    """
    import apprise

    targets, wrong = _read_targets(addresses)
    refused: dict[str, str] = {}
    sent = 0
    for alert in alerts:
        told = _told(instance, {alert.event})[alert.event]
        for target in targets:
            if target.identity in told or target.identity in refused:
                continue
            sender = apprise.Apprise()
            sender.add(target.service)
            if sender.notify(title=alert.title, body=alert.body, notify_type=apprise.NotifyType(alert.severity)):
                told.add(target.identity)
                _remember(instance, alert.event, told)
            else:
                refused[target.identity] = (
                    f"the alert {alert.title!r} was not taken by {target.said}; it is sent again later"
                )
        if not wrong and all(target.identity in told for target in targets):
            _remember(instance, alert.event, told | {_SETTLED})
        sent += 1
    failures = [*wrong, *refused.values()]
    if failures:
        raise AlertError("; ".join(failures))
    return sent


def _told(instance: dg.DagsterInstance, events: set[str]) -> dict[str, set[str]]:
    """Targets that were told of events."""
    kept = instance.daemon_cursor_storage.get_cursor_values(events) if events else {}
    return {event: set(kept[event].split()) if event in kept else set() for event in events}


def _remember(instance: dg.DagsterInstance, event: str, told: set[str]) -> None:
    instance.daemon_cursor_storage.set_cursor_values({event: " ".join(sorted(told))})


def _ended_runs(instance: dg.DagsterInstance, collection: Collection) -> list[dg.DagsterRun]:
    """Find the runs of the collection that ended lately, in the order in which they ended."""
    since = datetime.now(timezone.utc) - _LOOK_BACK
    ended = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    records = [
        record
        for job in (*job_names(collection), _ASSET_JOB)
        for record in instance.get_run_records(
            dg.RunsFilter(job_name=job, statuses=ended, updated_after=since), limit=_RUNS_LOOKED_AT
        )
        if job != _ASSET_JOB or _is_of(collection, record.dagster_run)
    ]
    records.sort(key=lambda record: record.end_time or record.update_timestamp.timestamp())
    return [record.dagster_run for record in records]


def _is_of(collection: Collection, run: dg.DagsterRun) -> bool:
    checks = [check.asset_key for check in run.asset_check_selection or ()]
    return any(key.path[0] == collection.name for key in [*(run.asset_selection or ()), *checks])


def _news(instance: dg.DagsterInstance, collection: Collection, run: dg.DagsterRun) -> Outcome:
    """Read what a run found that was not so before it."""
    outcome = read_outcome(instance, run.run_id)
    every_fit = asset_key(collection, "parameters").to_user_string()
    checks = tuple(
        check
        for check in outcome.failed_checks
        if check.asset != every_fit and not _failed_before(instance, run.run_id, check)
    )
    errors = () if outcome.errors and _is_next_attempt(instance, run) else outcome.errors
    return Outcome(checks, errors)


def _failed_before(instance: dg.DagsterInstance, run_id: str, check: FailedCheck) -> bool:
    """Whether the evaluation before that of a run failed, for the same cause."""
    key = dg.AssetCheckKey(dg.AssetKey.from_user_string(check.asset), check.check)
    records = instance.event_log_storage.get_asset_check_execution_history(
        key, limit=_EVALUATIONS_LOOKED_AT, status=_EVALUATED
    )
    earlier = dropwhile(lambda one: one.run_id == run_id, dropwhile(lambda one: one.run_id != run_id, records))
    before = next(earlier, None)
    if before is None or before.event is None or before.event.dagster_event is None:
        return False
    evaluation = before.event.dagster_event.asset_check_evaluation_data
    cause = evaluation.metadata.get("cause")
    return not evaluation.passed and (cause.value if cause else None) == check.metadata.get("cause")


def _is_next_attempt(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the attempt before a run, at the same content, failed with an error, too."""
    # What the run was asked to make tells, whoever asked; where that is not known, who asked does.
    known = next((tag for tag in (INGEST, FINGERPRINT, "dagster/sensor_name") if tag in run.tags), None)
    if known is None:
        return False
    same = dg.RunsFilter(job_name=run.job_name, tags={known: run.tags[known]})
    attempts = instance.get_runs(same, limit=_RUNS_LOOKED_AT)
    before = next(islice(dropwhile(lambda one: one.run_id != run.run_id, attempts), 1, None), None)
    return before is not None and bool(read_outcome(instance, before.run_id).errors)


def _alert_of(collection: Collection, event: str, run: dg.DagsterRun, found: Outcome, links: list[str]) -> Alert:
    lines = [f"Error: {error}" for error in found.errors]
    lines += [
        f"{severity} {', '.join(checks)}: {description}"
        for (severity, description), checks in grouped_checks(found).items()
    ]
    what = [f"run of {run.job_name} failed"] if found.errors else []
    names = [check.check for check in found.failed_checks]
    if names:
        more = f" and {count_noun(len(names) - _NAMED, 'more check')}" if len(names) > _NAMED else ""
        what.append(f"{', '.join(names[:_NAMED])}{more} failed")
    severe = found.errors or any(check.severity == "ERROR" for check in found.failed_checks)
    return Alert(
        event,
        f"{collection.name}: {', '.join(what)}",
        "\n".join(["\n".join(lines)[:_MAX_CHARACTERS], *links]),
        "failure" if severe else "warning",
    )


def _drawn_in(outcome: Outcome) -> str | None:
    """Return the figure that a failed check says to look at."""
    named = (check.metadata.get("drawn_in") for check in outcome.failed_checks)
    return next((str(name) for name in named if name), None)


def _links(collection: Collection, run_id: str, ui_url: str | None, figure: str) -> list[str]:
    run, asset = f"runs/{run_id}", f"assets/{collection.name}/{figure}"
    base = f"{ui_url.rstrip('/')}/" if ui_url else ""
    return [f"Run: {base}{run}", f"Figure: {base}{asset}"]


def _unreadable(instance: dg.DagsterInstance, collection: Collection) -> Alert | None:
    """Tell that the last looks at the source failed, as many as a run has attempts."""
    event, sensor = f"crawl_urn/{collection.name}/unreadable", look_sensor_name(collection)
    # An instance in memory knows no sensors.
    states = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR) if instance.schedule_storage else ()
    looks = [
        look
        for state in states
        if state.instigator_name == sensor
        for look in instance.get_ticks(
            state.instigator_origin_id, state.selector_id, limit=collection.automation.attempts, statuses=_LOOKED
        )
    ]
    if looks and looks[0].status != TickStatus.FAILURE and _told(instance, {event})[event]:
        _remember(instance, event, set())  # it is over, and may come again
    if len(looks) < collection.automation.attempts or any(look.status != TickStatus.FAILURE for look in looks):
        return None
    since = datetime.fromtimestamp(looks[-1].timestamp, timezone.utc)
    return Alert(
        event,
        f"{collection.name}: the source cannot be read",
        f"The last {count_noun(len(looks), 'look')} at it failed, since {since:%Y-%m-%d %H:%M} UTC. "
        f"Error: {raised(looks[0].error)[:_MAX_CHARACTERS]}\nIt is looked at again, and this is not told again "
        f"before a look succeeds. Look at the ticks of the sensor {sensor}.",
        "failure",
    )


def _stale(instance: dg.DagsterInstance, collection: Collection, now: datetime) -> Alert | None:
    """Tell that the source has had no new crawl for longer than its own cadence allows."""
    allowed = collection.automation.stale_after_days
    if allowed is None:
        return None
    records = instance.fetch_materializations(asset_key(collection, "crawls"), limit=_UPDATES_LOOKED_AT).records
    # One that a person reported holds nothing.
    ages = [
        _last_crawl(made, record.timestamp)
        for record in records
        if (made := record.asset_materialization) and "last_crawl" in made.metadata
    ]
    if not ages:
        return None
    crawl, started, _ = ages[0]
    days = (now - started) / timedelta(days=1)
    if days <= allowed:
        return None
    # A crawl that was too old already when it came does not end the silence.
    last_in_time = next((label for label, _, days_old in ages if days_old <= allowed), "none")
    settings = collection.automation
    return Alert(
        f"crawl_urn/{collection.name}/stale/{last_in_time}",
        f"{collection.name}: the source is stale",
        f"The last crawl, {crawl}, started {days:.0f} days ago; one is expected every {settings.expect_every_days:g} "
        f"days, and may be {settings.grace_days:g} days late. Look at the source, and at the ticks of the sensor "
        f"{look_sensor_name(collection)}.",
        "warning",
    )


def _last_crawl(crawls: dg.AssetMaterialization, made_at: float) -> tuple[str, datetime, float]:
    """Label and start of the last crawl that table `crawls` had when it was made, and its age in days at that time."""
    metadata = crawls.metadata
    started = datetime.fromisoformat(str(metadata["last_crawl_started_at"].value)).replace(tzinfo=timezone.utc)
    age = datetime.fromtimestamp(made_at, timezone.utc) - started
    return str(metadata["last_crawl"].value), started, age / timedelta(days=1)
