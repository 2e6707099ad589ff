"""Import the names that Dagster keeps in private modules; no other module may import them.

Does not use them. A new release of Dagster may move them; their test states the release that they were tested with.
"""

from dagster._core.definitions.assets.graph.asset_graph import AssetGraph
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.definitions.repository_definition.valid_definitions import SINGLETON_REPOSITORY_NAME
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.events import EngineEventData, JobFailureData, RunFailureReason
from dagster._core.execution.api import ExecuteRunWithPlanIterable, execute_run_iterator
from dagster._core.execution.context.system import PlanExecutionContext, PlanOrchestrationContext
from dagster._core.execution.context_creation_job import PlanExecutionContextManager
from dagster._core.execution.plan.execute_plan import inner_plan_execution_iterator
from dagster._core.execution.plan.instance_concurrency_context import InstanceConcurrencyContext
from dagster._core.execution.plan.plan import ExecutionPlan
from dagster._core.executor.in_process import InProcessExecutor
from dagster._core.remote_origin import ManagedGrpcPythonEnvCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import InstigatorTick, TickStatus
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.tags import GRPC_INFO_TAG, RUN_FAILURE_REASON_TAG
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._utils.interrupts import pop_captured_interrupt
from dagster_shared.check import CheckError
from dagster_shared.error import SerializableErrorInfo

__all__ = [
    "GRPC_INFO_TAG",
    "RUN_FAILURE_REASON_TAG",
    "SINGLETON_REPOSITORY_NAME",
    "AssetCheckExecutionRecordStatus",
    "AssetGraph",
    "CheckError",
    "EngineEventData",
    "ExecuteRunWithPlanIterable",
    "ExecutionPlan",
    "InProcessExecutor",
    "InstanceConcurrencyContext",
    "InstigatorTick",
    "InstigatorType",
    "JobFailureData",
    "LoadableTargetOrigin",
    "ManagedGrpcPythonEnvCodeLocationOrigin",
    "PlanExecutionContext",
    "PlanExecutionContextManager",
    "PlanOrchestrationContext",
    "ReconstructableRepository",
    "RemoteRepositoryOrigin",
    "RunFailureReason",
    "SerializableErrorInfo",
    "TickStatus",
    "UnresolvedAssetJobDefinition",
    "execute_run_iterator",
    "inner_plan_execution_iterator",
    "pop_captured_interrupt",
]
