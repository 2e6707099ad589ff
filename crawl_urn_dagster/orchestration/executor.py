"""Define the executor of the jobs: all steps in the run's process, and a wait for a pool that sleeps and can be ended.

Does not choose the pools (`asset_keys`). In Dagster's executor, a step that waits for a pool uses a whole core and
ignores SIGTERM, because the time to its next claim is never positive (dagster #20367).
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import dagster as dg

from crawl_urn_dagster.orchestration.dagster_internals import (
    EngineEventData,
    ExecuteRunWithPlanIterable,
    InProcessExecutor,
    InstanceConcurrencyContext,
    PlanExecutionContextManager,
    inner_plan_execution_iterator,
    pop_captured_interrupt,
)
from crawl_urn_dagster.orchestration.run_processes import record_pid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawl_urn_dagster.orchestration.dagster_internals import (
        ExecutionPlan,
        PlanExecutionContext,
        PlanOrchestrationContext,
    )

# Longest time until a waiting step notices a signal.
_LONGEST_SLEEP_SECONDS = 1.0


class _PoolClaims(InstanceConcurrencyContext):
    """Claims on pools that sleep between two attempts and end on a signal."""

    def claim(self, concurrency_key: str, step_key: str, step_priority: int = 0) -> bool:
        """Try to claim a slot of a pool for a step.

        Raises
        ------
        DagsterExecutionInterruptedError
            If the process received SIGINT or SIGTERM; the message names the runs that occupy the pool.
        """
        if pop_captured_interrupt():
            holders = sorted(self._instance.event_log_storage.get_concurrency_info(concurrency_key).active_run_ids)
            held = f", which is occupied by run {', '.join(holders)}" if holders else ""
            raise dg.DagsterExecutionInterruptedError(
                f"stopped by a signal while step {step_key} waited for the pool {concurrency_key}{held}"
            )
        return super().claim(concurrency_key, step_key, step_priority)

    def interval_to_next_pending_claim_check(self) -> float:
        """Return the seconds to sleep before the next claim."""
        wait = min(self._pending_timeouts.values(), default=0.0) - time.time()
        return min(max(wait, 0.0), _LONGEST_SLEEP_SECONDS)


class _Executor(InProcessExecutor):
    """Dagster's in-process executor with the claims of this module."""

    def execute(
        self, plan_context: PlanOrchestrationContext, execution_plan: ExecutionPlan
    ) -> Iterator[dg.DagsterEvent]:
        """Execute the steps of a run one after another, and yield their events."""
        pid = os.getpid()
        yield dg.DagsterEvent.engine_event(
            plan_context,
            f"Executing steps in process (pid: {pid})",
            EngineEventData.in_process(pid, execution_plan.step_keys_to_execute),
        )
        record_pid(plan_context.instance, plan_context.run_id, pid)
        yield from ExecuteRunWithPlanIterable(
            execution_plan=plan_context.execution_plan,
            iterator=_execute_steps,
            execution_context_manager=PlanExecutionContextManager(
                job=plan_context.job,
                retry_mode=plan_context.retry_mode,
                execution_plan=plan_context.execution_plan,
                run_config=plan_context.run_config,
                dagster_run=plan_context.dagster_run,
                instance=plan_context.instance,
                raise_on_error=plan_context.raise_on_error,
                output_capture=plan_context.output_capture,
                step_dependency_config=self.step_dependency_config,
            ),
        )


def _execute_steps(job_context: PlanExecutionContext, execution_plan: ExecutionPlan) -> Iterator[dg.DagsterEvent]:
    with _PoolClaims(job_context.instance, job_context.dagster_run) as claims:
        yield from inner_plan_execution_iterator(job_context, execution_plan, claims)


def _create(context: dg.InitExecutorContext) -> dg.Executor:
    configured = dg.in_process_executor.executor_creation_fn(context)  # type: ignore[misc] # it is never None
    return _Executor(configured.retries, configured.step_dependency_config)


#: Executes all steps in the run's process; has the configuration of Dagster's in-process executor.
single_process_executor = dg.ExecutorDefinition(
    "in_process", config_schema=dg.in_process_executor.config_schema.as_field(), executor_creation_fn=_create
)
