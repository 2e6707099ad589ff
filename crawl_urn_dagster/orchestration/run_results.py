"""What a finished run found, read from its event log.

Here: failed checks, errors, and the difference between a finding and an error. Not here: telling anyone (`alerts`,
`cli`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dagster_shared.error import SerializableErrorInfo

_PAGE = 1000
# Names of the exceptions that Dagster wraps others in.
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
    """What a run found: failed checks are findings, anything else that failed is an error.

    Attributes
    ----------
    failed_checks
        In the order they were evaluated.
    errors
        One text per step (or run) that failed for any other reason than a blocking check that reported.
    """

    failed_checks: tuple[FailedCheck, ...]
    errors: tuple[str, ...]

    @property
    def interrupted(self) -> bool:
        """Whether somebody ended the run, with Ctrl-C or a signal."""
        return any(dg.DagsterExecutionInterruptedError.__name__ in error for error in self.errors)


def grouped_checks(outcome: Outcome) -> dict[tuple[str, str], list[str]]:
    """Names of failed checks by severity and what they say: a violated collection says one thing of every fit."""
    groups: dict[tuple[str, str], list[str]] = {}
    for check in outcome.failed_checks:
        groups.setdefault((check.severity, check.description), []).append(check.check)
    return groups


def read_outcome(instance: dg.DagsterInstance, run_id: str) -> Outcome:
    """Read what a run found.

    A run whose only failed steps are blocking checks that reported has no errors, although Dagster marks the run
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
    errors = [
        f"{event.step_key}: {raised(event.step_failure_data.error)}"
        for event in _events(instance, run_id, dg.DagsterEventType.STEP_FAILURE)
        if event.step_key not in reported_steps
    ]
    if not errors and not reported_steps:
        errors = [
            event.message or "the run failed" for event in _events(instance, run_id, dg.DagsterEventType.RUN_FAILURE)
        ]
    return Outcome(tuple(failed), tuple(errors))


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


def raised(error: SerializableErrorInfo | None) -> str:
    """Message of the exception that was raised, without Dagster's wrapping."""
    if error is None:
        return "no error was recorded"
    while error.cause is not None and (error.cls_name or "").startswith(_WRAPPERS):
        error = error.cause
    return error.message.strip()
