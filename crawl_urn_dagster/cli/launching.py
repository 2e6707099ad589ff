"""Running the code location's jobs in this process, in an instance that the UI can open later.

Here: the Dagster instance under the home folder, and runs that carry the code location they belong to, so that the UI
can re-execute them. Not here: what is printed (`cli`), or what a run found (`outcomes`).
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dagster import DagsterError, DagsterInstance, DagsterRunStatus, RunsFilter, get_dagster_logger
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.definitions.repository_definition.valid_definitions import SINGLETON_REPOSITORY_NAME
from dagster._core.execution.api import execute_run_iterator
from dagster._core.remote_origin import ManagedGrpcPythonEnvCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster_shared.check import CheckError
from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError
from yaml import YAMLError

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.orchestration.asset_keys import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import dagster as dg

_MODULE = "crawl_urn_dagster.definitions"
_LOCATION = "crawl_urn_dagster"

# The console shows the command's own progress; the whole log is in the instance.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

# On the runs of this module: no daemon watches over their process.
_OWN_RUN = {COMMAND: "crawl-urn"}
_UNFINISHED = [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.STARTED]

_INSTANCE_SETTINGS = Path(__file__).with_name("dagster.yaml")

_WORKSPACE = f"""\
load_from:
  - python_module:
      module_name: {_MODULE}
      location_name: {_LOCATION}
"""


class InstanceError(RuntimeError):
    """The Dagster instance cannot be opened; the message says which folder, why, and what to do."""


def instance_folder(home: Path) -> Path:
    """Folder of the Dagster instance: ``DAGSTER_HOME``, which must be there, else one under the home folder.

    Raises
    ------
    InstanceError
        When ``DAGSTER_HOME`` is no folder.
    """
    configured = os.environ.get("DAGSTER_HOME")
    if not configured:
        return home / ".dagster"
    folder = Path(configured).resolve()
    if not folder.is_dir():
        raise InstanceError(f"DAGSTER_HOME is {configured}, which is no folder: make it, or unset DAGSTER_HOME")
    return folder


@contextmanager
def open_instance(folder: Path) -> Iterator[dg.DagsterInstance]:
    """Open the Dagster instance in a folder; when there is no folder it is made, with the settings of this package.

    Raises
    ------
    InstanceError
        When no instance can be had of what is there.
    """
    try:
        if not folder.exists():
            with replacing(folder / _INSTANCE_SETTINGS.name) as file:
                file.write_bytes(_INSTANCE_SETTINGS.read_bytes())
        instance = DagsterInstance.from_config(str(folder))
    except (OSError, DagsterError, CheckError, SQLAlchemyError, YAMLError) as error:
        raise InstanceError(
            f"no Dagster instance can be opened in {folder}: {error}; check its dagster.yaml, and that it is a folder "
            "that can be written"
        ) from error
    with instance:
        yield instance


def workspace_file(folder: Path) -> Path:
    """Write the workspace file that opens the code location, under the name that runs are recorded with."""
    path = folder / "crawl_urn_workspace.yaml"
    with replacing(path) as file:
        file.write_text(_WORKSPACE, encoding="utf-8")
    return path


class AlreadyRunningError(RuntimeError):
    """Another process runs the same job in the same instance."""


@contextmanager
def sole_run_of(instance: dg.DagsterInstance, job_name: str) -> Iterator[None]:
    """Make sure that no other process of this command runs a job, and clear up after one that was killed.

    A killed process leaves its run unfinished and its place in the collection's pool taken, for ever: whoever holds the
    lock knows that no such process is alive.

    Raises
    ------
    AlreadyRunningError
        When another process holds the lock.
    """
    lock = FileLock(Path(instance.root_directory) / f"{job_name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise AlreadyRunningError(f"another crawl-urn run is at {job_name}; wait for it, or end it") from None
    try:
        for run in instance.get_runs(RunsFilter(job_name=job_name, tags=_OWN_RUN, statuses=_UNFINISHED)):
            instance.report_run_failed(run, "The process of this run ended before the run did.")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        yield
    finally:
        lock.release()


class CodeLocation:
    """The shipped code location, loaded in this process."""

    def __init__(self) -> None:
        self._repository = ReconstructableRepository.for_module(
            _MODULE, "definitions", working_directory=os.fspath(Path.cwd())
        )
        self._origin = RemoteRepositoryOrigin(
            code_location_origin=ManagedGrpcPythonEnvCodeLocationOrigin(
                loadable_target_origin=LoadableTargetOrigin(executable_path=sys.executable, module_name=_MODULE),
                location_name=_LOCATION,
            ),
            repository_name=SINGLETON_REPOSITORY_NAME,
        )

    def create_run(
        self, instance: dg.DagsterInstance, job_name: str, tags: Mapping[str, str] | None = None
    ) -> dg.DagsterRun:
        """Record a run of a job, which the UI takes for one it launched itself."""
        job = self._repository.get_reconstructable_job(job_name)
        return instance.create_run_for_job(
            job.get_definition(),
            run_config=_QUIET,
            tags={**_OWN_RUN, **(tags or {})},
            remote_job_origin=self._origin.get_job_origin(job_name),
            job_code_origin=job.get_python_origin(),
        )

    def execute(self, instance: dg.DagsterInstance, run: dg.DagsterRun) -> Iterator[dg.DagsterEvent]:
        """Execute a recorded run, giving its events as they happen."""
        job = self._repository.get_reconstructable_job(run.job_name)
        return execute_run_iterator(job, run, instance)


@contextmanager
def progress_to(say: Callable[[str], object]) -> Iterator[None]:
    """Hand the lines of progress that steps log to a function, too."""

    class Say(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage())

    logger, handler = get_dagster_logger(), Say(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
