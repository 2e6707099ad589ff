"""Read the failed checks and the errors of a finished run from its event log.

Separates findings about the data from errors. Does not report them; see `alerts` and `cli`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.dagster_internals import RunFailureReason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.orchestration.dagster_internals import SerializableErrorInfo

_PAGE = 1000
# Dagster wraps the exception of a step in exceptions whose names start like this.
_WRAPPERS = ("Dagster", "SensorExecutionError")


@dataclass(frozen=True)
class FailedCheck:
    """A check that was evaluated and did not pass."""

    asset: str
    check: str
    severity: str
    description: str
    metadata: dict[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Findings and errors of a run.

    Attributes
    ----------
    failed_checks
        Findings, in the order of evaluation.
    errors
        One text per step (or run) that failed for any reason other than a blocking check that reported.
    is_interrupted
        Whether the run was stopped by Ctrl-C or a signal.
    """

    failed_checks: tuple[FailedCheck, ...] = ()
    errors: tuple[str, ...] = ()
    is_interrupted: bool = False


def grouped_checks(outcome: Outcome) -> dict[tuple[str, str], list[str]]:
    """Group the names of failed checks by severity and description, because many fits may fail for one reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for check in outcome.failed_checks:
        groups.setdefault((check.severity, check.description), []).append(check.check)
    return groups


def read_outcome(instance: dg.DagsterInstance, run_id: str) -> Outcome:
    """Read the outcome of a run.

    A run has no errors if its only failed steps are blocking checks that reported, although Dagster marks such a run
    as failed.
    """
    failed: list[FailedCheck] = []
    reported_steps: set[str | None] = set()
    for event in _events(instance, run_id, dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        evaluation = event.asset_check_evaluation_data
        if evaluation.passed:
            continue
        if evaluation.blocking:
            reported_steps.add(event.step_key)
        failed.append(
            FailedCheck(
                asset=evaluation.asset_key.to_user_string(),
                check=evaluation.check_name,
                severity=evaluation.severity.value,
                description=evaluation.description or "",
                metadata={
                    name: entry.value
                    for name, entry in evaluation.metadata.items()
                    if isinstance(entry.value, float | int | str)
                },
            )
        )
    step_failures = [
        event
        for event in _events(instance, run_id, dg.DagsterEventType.STEP_FAILURE)
        if event.step_key not in reported_steps
    ]
    run_failures = list(_events(instance, run_id, dg.DagsterEventType.RUN_FAILURE))
    errors = [f"{event.step_key}: {root_error_message(event.step_failure_data.error)}" for event in step_failures]
    if any(map(_is_from_outside, run_failures)) or not (errors or reported_steps):
        errors += [f"{_signal_message(instance, run_id)}{event.message or 'the run failed'}" for event in run_failures]
    raised = [event.step_failure_data.error for event in step_failures]
    raised += [event.job_failure_data.error for event in run_failures if event.event_specific_data]
    return Outcome(tuple(failed), tuple(errors), any(map(_is_interruption, raised)))


def _is_interruption(error: SerializableErrorInfo | None) -> bool:
    while error is not None:
        if error.cls_name == dg.DagsterExecutionInterruptedError.__name__:
            return True
        error = error.cause
    return False


def _is_from_outside(failure: dg.DagsterEvent) -> bool:
    """Return whether a run was not failed by its own process."""
    if failure.event_specific_data is None:
        return True
    data = failure.job_failure_data
    return data.error is None and data.failure_reason != RunFailureReason.STEP_FAILURE


def _signal_message(instance: dg.DagsterInstance, run_id: str) -> str:
    """Return what Dagster logs directly before it fails a run without data: the signal, and its usual cause."""
    last, *before = (
        record.event_log_entry.dagster_event
        for record in instance.get_records_for_run(run_id, limit=2, ascending=False).records
    )
    if not last or last.event_specific_data or not before or not before[0]:
        return ""
    return f"{before[0].message} " if before[0].event_type == dg.DagsterEventType.ENGINE_EVENT else ""


def _events(instance: dg.DagsterInstance, run_id: str, kind: dg.DagsterEventType) -> Iterator[dg.DagsterEvent]:
    cursor = None
    while True:
        page = instance.get_records_for_run(run_id, cursor=cursor, of_type=kind, limit=_PAGE)
        for record in page.records:
            event = record.event_log_entry.dagster_event
            if event is not None:
                yield event
        if not page.has_more:
            return
        cursor = page.cursor


def root_error(error: SerializableErrorInfo | None) -> SerializableErrorInfo | None:
    """Return the exception that was raised, without Dagster's wrappers."""
    while error is not None and error.cause is not None and (error.cls_name or "").startswith(_WRAPPERS):
        error = error.cause
    return error


def root_error_message(error: SerializableErrorInfo | None) -> str:
    """Return the message of the exception that was raised."""
    root = root_error(error)
    return root.message.strip() if root else "no error was recorded"
