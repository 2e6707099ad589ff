"""Run jobs of the code location in this process, in a Dagster instance that the UI can open later.

Runs record their code location, so the UI can re-execute them. Does not print (`cli.running`) or read the outcome of a
run (`orchestration.run_results`).
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dagster import DagsterError, DagsterInstance, get_dagster_logger
from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError
from yaml import YAMLError

from crawl_urn_dagster.atomic import replacing
from crawl_urn_dagster.orchestration.asset_keys import COMMAND, COMMAND_NAME
from crawl_urn_dagster.orchestration.dagster_internals import (
    SINGLETON_REPOSITORY_NAME,
    CheckError,
    LoadableTargetOrigin,
    ManagedGrpcPythonEnvCodeLocationOrigin,
    ReconstructableRepository,
    RemoteRepositoryOrigin,
    execute_run_iterator,
)
from crawl_urn_dagster.orchestration.run_processes import record_pid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import dagster as dg

_MODULE = "crawl_urn_dagster.definitions"
_LOCATION = "crawl_urn_dagster"

# The console shows the progress lines of the command; the full log is in the instance.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

# Tags of the runs launched here, which the command follows up itself.
_OWN_RUN = {COMMAND: COMMAND_NAME}

_INSTANCE_SETTINGS = Path(__file__).with_name("dagster.yaml")

_WORKSPACE = f"""\
load_from:
  - python_module:
      module_name: {_MODULE}
      location_name: {_LOCATION}
"""


class InstanceError(RuntimeError):
    """The Dagster instance cannot be opened; the message states the folder, the reason and a remedy."""


def instance_folder(home: Path) -> Path:
    """Return the folder of the Dagster instance: ``DAGSTER_HOME``, or else a folder under the home folder.

    Raises
    ------
    InstanceError
        If ``DAGSTER_HOME`` is set and is not a folder.
    """
    configured = os.environ.get("DAGSTER_HOME")
    if not configured:
        return home / ".dagster"
    folder = Path(configured).resolve()
    if not folder.is_dir():
        raise InstanceError(f"DAGSTER_HOME: no such folder: {configured}; create it or unset DAGSTER_HOME")
    return folder


@contextmanager
def open_instance(folder: Path) -> Iterator[dg.DagsterInstance]:
    """Open the Dagster instance in a folder; if the folder is absent, create it with the settings of this package.

    Raises
    ------
    InstanceError
        If the folder does not contain a valid instance.
    """
    try:
        if not folder.exists():
            with replacing(folder / _INSTANCE_SETTINGS.name) as file:
                file.write_bytes(_INSTANCE_SETTINGS.read_bytes())
        instance = DagsterInstance.from_config(str(folder))
    except (OSError, DagsterError, CheckError, SQLAlchemyError, YAMLError) as error:
        raise InstanceError(
            f"the Dagster instance in {folder} cannot be opened: {error}; check its dagster.yaml, and that the folder "
            "is writable"
        ) from error
    with instance:
        yield instance


def workspace_file(folder: Path) -> Path:
    """Write the workspace file that loads the code location under the name that runs record."""
    path = folder / "crawl_urn_workspace.yaml"
    with replacing(path) as file:
        file.write_text(_WORKSPACE, encoding="utf-8")
    return path


class AlreadyRunningError(RuntimeError):
    """Another process is running the same job in the same instance."""


@contextmanager
def sole_run_of(instance: dg.DagsterInstance, job_name: str) -> Iterator[None]:
    """Prevent other processes of this command from running a job.

    Raises
    ------
    AlreadyRunningError
        If another process holds the lock.
    """
    lock = FileLock(Path(instance.root_directory) / f"{job_name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise AlreadyRunningError(
            f"another crawl-urn process is running {job_name}; wait for it to finish or stop it"
        ) from None
    try:
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
        """Record a run of a job as the UI records its own runs."""
        job = self._repository.get_reconstructable_job(job_name)
        run = instance.create_run_for_job(
            job.get_definition(),
            run_config=_QUIET,
            tags={**_OWN_RUN, **(tags or {})},
            remote_job_origin=self._origin.get_job_origin(job_name),
            job_code_origin=job.get_python_origin(),
        )
        record_pid(instance, run.run_id, os.getpid())
        return run

    def execute(self, instance: dg.DagsterInstance, run: dg.DagsterRun) -> Iterator[dg.DagsterEvent]:
        """Execute a recorded run and yield its events."""
        job = self._repository.get_reconstructable_job(run.job_name)
        return execute_run_iterator(job, run, instance)


@contextmanager
def progress_to(write: Callable[[str], object]) -> Iterator[None]:
    """Pass the progress lines that steps log to a function as well."""

    class _Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            write(record.getMessage())

    logger, handler = get_dagster_logger(), _Handler(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
