"""Find the events of a collection that require an alert, and write the alerts.

An event is one of four: a check failed whose previous evaluation did not fail for the same cause; a run ended in an
error and is not the next attempt at failed work; the source cannot be read; or the source is stale. Failed checks on
fits other than the headline are not events. Does not send alerts; see `alerts.delivery`.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.alerts.records import (
    SETTLED,
    Alert,
    delivered_targets,
    delivered_targets_by_event,
    record_delivered_targets,
)
from crawl_urn_dagster.orchestration.asset_keys import (
    FINGERPRINT,
    asset_key,
    has_asset,
    job_names,
    new_crawl_sensor_name,
)
from crawl_urn_dagster.orchestration.dagster_internals import (
    AssetCheckExecutionRecordStatus,
    InstigatorType,
    TickStatus,
)
from crawl_urn_dagster.orchestration.partitions import INGEST
from crawl_urn_dagster.orchestration.run_results import Outcome, grouped_checks, read_outcome, root_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.run_results import FailedCheck

# An event that could not be delivered for a week is dropped.
_LOOK_BACK = timedelta(days=7)
_MAX_RUNS = 200
# Job of the runs in which the UI materialises chosen assets.
_ASSET_JOB = "__ASSET_JOB"
_EVALUATED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}
_POLLED = [TickStatus.SUCCESS, TickStatus.SKIPPED, TickStatus.FAILURE]
_MAX_EVALUATIONS = 50
_MAX_UPDATES = 100
_MAX_CHARACTERS = 4000
_MAX_CHECKS_NAMED = 3
# Many collections have a reservation from the start; only a later one is news.
_NO_EVENT_AT_FIRST = {"numbers_may_be_quoted"}


def new_alerts(
    instance: dg.DagsterInstance, collection: Collection, *, ui_url: str | None, figure: str
) -> Iterator[Alert]:
    """Yield the alerts that some target may not have received, the oldest first."""
    runs = _ended_runs(instance, collection)
    events = {run.run_id: f"crawl_urn/{collection.name}/run/{run.run_id}" for run in runs}
    delivered = delivered_targets_by_event(instance, set(events.values()))
    for run in runs:
        event = events[run.run_id]
        if SETTLED in delivered[event]:
            continue
        outcome = _new_outcome(instance, collection, run)
        if outcome.errors or outcome.failed_checks:
            links = _links(collection, run.run_id, ui_url, _drawn_in(outcome) or figure)
            yield _run_alert(collection, event, run, outcome, links)
        else:
            record_delivered_targets(instance, event, {SETTLED})
    for alert in (_unreadable(instance, collection), _stale(instance, collection, datetime.now(timezone.utc))):
        if alert and SETTLED not in delivered_targets(instance, alert.event):
            yield alert


def _ended_runs(instance: dg.DagsterInstance, collection: Collection) -> list[dg.DagsterRun]:
    """Return the runs of the collection that ended recently, in the order of their end."""
    since = datetime.now(timezone.utc) - _LOOK_BACK
    ended = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    records = [
        record
        for job in (*job_names(collection), _ASSET_JOB)
        for record in instance.get_run_records(
            dg.RunsFilter(job_name=job, statuses=ended, updated_after=since), limit=_MAX_RUNS
        )
        if job != _ASSET_JOB or _selects_collection(record.dagster_run, collection)
    ]
    records.sort(key=lambda record: record.end_time or record.update_timestamp.timestamp())
    return [record.dagster_run for record in records]


def _selects_collection(run: dg.DagsterRun, collection: Collection) -> bool:
    checks = [check.asset_key for check in run.asset_check_selection or ()]
    return any(has_asset(collection, key) for key in [*(run.asset_selection or ()), *checks])


def _new_outcome(instance: dg.DagsterInstance, collection: Collection, run: dg.DagsterRun) -> Outcome:
    """Return the findings and errors of a run that were not already present before it."""
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
    """Return whether the evaluation before this run failed for the same cause; a first reservation is no event."""
    key = dg.AssetCheckKey(dg.AssetKey.from_user_string(check.asset), check.check)
    records = instance.event_log_storage.get_asset_check_execution_history(
        key, limit=_MAX_EVALUATIONS, status=_EVALUATED
    )
    earlier = dropwhile(lambda one: one.run_id == run_id, dropwhile(lambda one: one.run_id != run_id, records))
    before = next(earlier, None)
    if before is None:
        return check.check in _NO_EVENT_AT_FIRST
    if before.event is None or before.event.dagster_event is None:
        return False
    evaluation = before.event.dagster_event.asset_check_evaluation_data
    cause = evaluation.metadata.get("cause")
    return not evaluation.passed and (cause.value if cause else None) == check.metadata.get("cause")


def _is_next_attempt(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether the previous attempt at the same work also ended in an error."""
    # The tags that name the work identify an attempt, whoever requested it; failing those, the sensor does.
    known = next((tag for tag in (INGEST, FINGERPRINT, "dagster/sensor_name") if tag in run.tags), None)
    if known is None:
        return False
    same = dg.RunsFilter(job_name=run.job_name, tags={known: run.tags[known]})
    attempts = instance.get_runs(same, limit=_MAX_RUNS)
    before = next(islice(dropwhile(lambda one: one.run_id != run.run_id, attempts), 1, None), None)
    return before is not None and bool(read_outcome(instance, before.run_id).errors)


def _run_alert(collection: Collection, event: str, run: dg.DagsterRun, outcome: Outcome, links: list[str]) -> Alert:
    lines = [f"Error: {error}" for error in outcome.errors]
    lines += [
        f"{severity} {', '.join(checks)}: {description}"
        for (severity, description), checks in grouped_checks(outcome).items()
    ]
    events = [f"run of {run.job_name} failed"] if outcome.errors else []
    names = [check.check for check in outcome.failed_checks]
    if names:
        n_more = len(names) - _MAX_CHECKS_NAMED
        more = f" and {count_noun(n_more, 'more check')}" if n_more > 0 else ""
        events.append(f"{', '.join(names[:_MAX_CHECKS_NAMED])}{more} failed")
    is_failure = outcome.errors or any(check.severity == "ERROR" for check in outcome.failed_checks)
    return Alert(
        event,
        f"{collection.name}: {', '.join(events)}",
        "\n".join(["\n".join(lines)[:_MAX_CHARACTERS], *links]),
        "failure" if is_failure else "warning",
    )


def _drawn_in(outcome: Outcome) -> str | None:
    """Return the figure that shows the first failed check that names one."""
    figures = (check.metadata.get("drawn_in") for check in outcome.failed_checks)
    return next((str(name) for name in figures if name), None)


def _links(collection: Collection, run_id: str, ui_url: str | None, figure: str) -> list[str]:
    run, asset = f"runs/{run_id}", "/".join(["assets", *asset_key(collection, figure).path])
    base = f"{ui_url.rstrip('/')}/" if ui_url else ""
    return [f"Run: {base}{run}", f"Figure: {base}{asset}"]


def _unreadable(instance: dg.DagsterInstance, collection: Collection) -> Alert | None:
    """Return an alert if the latest polls of the source failed, as many as there are attempts."""
    event, sensor = f"crawl_urn/{collection.name}/unreadable", new_crawl_sensor_name(collection)
    # An instance in memory stores no sensors.
    states = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR) if instance.schedule_storage else ()
    attempts = collection.automation.attempts
    ticks = [
        tick
        for state in states
        if state.instigator_name == sensor
        for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=attempts, statuses=_POLLED)
    ]
    if ticks and ticks[0].status != TickStatus.FAILURE and delivered_targets(instance, event):
        record_delivered_targets(instance, event, set())  # the event is over and may occur again
    if len(ticks) < attempts or any(tick.status != TickStatus.FAILURE for tick in ticks):
        return None
    since = datetime.fromtimestamp(ticks[-1].timestamp, timezone.utc)
    return Alert(
        event,
        f"{collection.name}: the source cannot be read",
        f"The last {count_noun(len(ticks), 'poll')} of the source failed, since {since:%Y-%m-%d %H:%M} UTC. "
        f"Error: {root_error_message(ticks[0].error)[:_MAX_CHARACTERS]}\nPolling continues. No further alert is sent "
        f"until a poll succeeds. See the ticks of the sensor {sensor}.",
        "failure",
    )


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
