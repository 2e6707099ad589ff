"""Find the events of a collection that require an alert, and write the alerts.

An event is one of four: a check failed whose previous evaluation did not fail for the same cause; a run ended in an
error and is not the next attempt at failed work; a run was interrupted; or a run has logged nothing for long. Failed
checks on fits other than the headline are not events. The source has its own events; see `alerts.source`. Does not send
alerts; see `alerts.delivery`.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.orchestration.alerts.records import (
    MAX_CHARACTERS,
    SETTLED,
    Alert,
    delivered_targets_by_event,
    record_delivered_targets,
)
from crawl_urn_dagster.orchestration.alerts.source import source_alerts
from crawl_urn_dagster.orchestration.asset_keys import ASSET_JOB, FINGERPRINT, asset_key, has_asset, job_names
from crawl_urn_dagster.orchestration.change_detection import NOT_FINISHED
from crawl_urn_dagster.orchestration.dagster_internals import AssetCheckExecutionRecordStatus
from crawl_urn_dagster.orchestration.partitions import INGEST
from crawl_urn_dagster.orchestration.run_processes import was_interrupted
from crawl_urn_dagster.orchestration.run_results import Outcome, grouped_checks, read_outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.config.collection import Collection
    from crawl_urn_dagster.orchestration.run_results import FailedCheck

# An event that could not be delivered for a week is dropped.
_LOOK_BACK = timedelta(days=7)
_MAX_RUNS = 200
_EVALUATED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}
_MAX_EVALUATIONS = 50
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
    alerts = [*_silent_runs(instance, collection, ui_url), *source_alerts(instance, collection)]
    delivered = delivered_targets_by_event(instance, {alert.event for alert in alerts})
    yield from (alert for alert in alerts if SETTLED not in delivered[alert.event])


def _ended_runs(instance: dg.DagsterInstance, collection: Collection) -> list[dg.DagsterRun]:
    """Return the runs of the collection that ended recently, in the order of their end."""
    since = datetime.now(timezone.utc) - _LOOK_BACK
    ended = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    records = [
        record
        for job in (*job_names(collection), ASSET_JOB)
        for record in instance.get_run_records(
            dg.RunsFilter(job_name=job, statuses=ended, updated_after=since), limit=_MAX_RUNS
        )
        if job != ASSET_JOB or _selects_collection(record.dagster_run, collection)
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
    is_known = outcome.errors and not was_interrupted(run) and _is_next_attempt(instance, run)
    return Outcome(checks, () if is_known else outcome.errors)


def _failed_before(instance: dg.DagsterInstance, run_id: str, check: FailedCheck) -> bool:
    """Return whether the evaluation before this run failed for the same causes; a first reservation is not an event.

    A check may state a cause per line, of which some may have ended.
    """
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
    known, now = (str(one or "").splitlines() for one in (cause and cause.value, check.metadata.get("cause")))
    return not evaluation.passed and set(now) <= set(known) and bool(now) == bool(known)


def _is_next_attempt(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether the previous attempt at the same work also ended in an error, apart from interruptions."""
    # The tags that name the work identify an attempt, whoever requested it; failing those, the sensor does.
    known = next((tag for tag in (INGEST, FINGERPRINT, "dagster/sensor_name") if tag in run.tags), None)
    if known is None:
        return False
    same = dg.RunsFilter(job_name=run.job_name, tags={known: run.tags[known]})
    attempts = dropwhile(lambda one: one.run_id != run.run_id, instance.get_runs(same, limit=_MAX_RUNS))
    before = next((one for one in islice(attempts, 1, None) if not was_interrupted(one)), None)
    return before is not None and bool(read_outcome(instance, before.run_id).errors)


def _run_alert(collection: Collection, event: str, run: dg.DagsterRun, outcome: Outcome, links: list[str]) -> Alert:
    lines = [f"Error: {error}" for error in outcome.errors]
    lines += [
        f"{severity} {', '.join(checks)}: {description}"
        for (severity, description), checks in grouped_checks(outcome).items()
    ]
    ending = "was interrupted" if was_interrupted(run) else "failed"
    events = [f"run of {run.job_name} {ending}"] if outcome.errors else []
    names = [check.check for check in outcome.failed_checks]
    if names:
        n_more = len(names) - _MAX_CHECKS_NAMED
        more = f" and {count_noun(n_more, 'more check')}" if n_more > 0 else ""
        events.append(f"{', '.join(names[:_MAX_CHECKS_NAMED])}{more} failed")
    is_failure = outcome.errors or any(check.severity == "ERROR" for check in outcome.failed_checks)
    return Alert(
        event,
        f"{collection.name}: {', '.join(events)}",
        "\n".join(["\n".join(lines)[:MAX_CHARACTERS], *links]),
        "failure" if is_failure else "warning",
    )


def _silent_runs(instance: dg.DagsterInstance, collection: Collection, ui_url: str | None) -> Iterator[Alert]:
    """Yield an alert per unfinished run that has logged nothing for longer than the settings allow."""
    allowed = collection.automation.silent_after_seconds
    for record in instance.get_run_records(dg.RunsFilter(statuses=list(NOT_FINISHED))):
        run = record.dagster_run
        is_own = run.job_name in job_names(collection) or _selects_collection(run, collection)
        # A run that has not been in this state for long cannot have been silent for long.
        if not is_own or time.time() - record.update_timestamp.timestamp() < allowed:
            continue
        logged = instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
        last = logged[0].timestamp if logged else record.create_timestamp.timestamp()
        if time.time() - last < allowed:
            continue
        at = datetime.fromtimestamp(last, timezone.utc)
        yield Alert(
            f"crawl_urn/{collection.name}/silent/{run.run_id}",
            f"{collection.name}: run of {run.job_name} is silent",
            f"The run has status {run.status.value} and has logged nothing since {at:%Y-%m-%d %H:%M} UTC. If it makes "
            f"no progress, terminate it. It is stopped {collection.automation.max_runtime_seconds} s after its start.\n"
            f"{_link('Run', f'runs/{run.run_id}', ui_url)}",
            "warning",
        )


def _drawn_in(outcome: Outcome) -> str | None:
    """Return the figure that shows the first failed check that names one."""
    figures = (check.metadata.get("drawn_in") for check in outcome.failed_checks)
    return next((str(name) for name in figures if name), None)


def _links(collection: Collection, run_id: str, ui_url: str | None, figure: str) -> list[str]:
    return [
        _link("Run", f"runs/{run_id}", ui_url),
        _link("Figure", "/".join(["assets", *asset_key(collection, figure).path]), ui_url),
    ]


def _link(name: str, path: str, ui_url: str | None) -> str:
    return f"{name}: {ui_url.rstrip('/')}/{path}" if ui_url else f"{name}: {path}"
