"""Record the process of a run in its tags, fail runs whose process no longer exists, and free their slots of pools.

Dagster's default launcher cannot test whether the process of a run exists, so its run monitoring does not notice a
crash of the whole machine. Does not request the work again; see `sensors` and `change_detection`.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import platform
import socket
import subprocess
import time
from contextlib import suppress
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import dagster as dg
from filelock import FileLock

from crawl_urn_dagster.orchestration.dagster_internals import (
    GRPC_INFO_TAG,
    RUN_FAILURE_REASON_TAG,
    JobFailureData,
    RunFailureReason,
)

if TYPE_CHECKING:
    from collections.abc import Collection

#: Tag of a run: its process, as JSON. A re-execution copies the tags of its parent, so the value contains the run.
PROCESS = "crawl_urn/process"
#: Tag of a run that was interrupted; its value is the run.
INTERRUPTED = "crawl_urn/interrupted"
_LOCK = "crawl_urn_interrupted_runs.lock"
_MAX_ENGINE_EVENTS = 100
# Time that a launched run may take to record its process: if processes cannot be listed, and if none can be its own.
_LONGEST_START_SECONDS, _SHORTEST_START_SECONDS = 60, 10
# Time in which a run that Dagster failed because it did not start is assessed.
_ASSESSED_AFTER_SECONDS = 3600
# Starts of processes are rounded, because the start of the machine is known in whole seconds.
_ROUNDED_SECONDS = 2
# Time in which the process of an ended run frees its slots of pools itself.
_FREED_AFTER_SECONDS = 30
_LOADED_AT = time.time()


class RunProcess(NamedTuple):
    """Process of a run.

    Attributes
    ----------
    host
        Name of the machine and a hash of its id.
    boot
        Id of the machine's last start; empty if the system has no such id.
    namespace
        Namespace of the process number, which differs between containers; empty if the system has no namespaces.
    pid
        Process number.
    started
        Start of the process: clock ticks since the machine's start, or a date.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    started: str


def record_process(instance: dg.DagsterInstance, run_id: str) -> None:
    """Record the process of a run, unless it is recorded or is neither this process nor its parent.

    With the multiprocess executor, a step has its own process, whose parent is the process of the run.
    """
    run = instance.get_run_by_id(run_id)
    if run is None or recorded_process(run):
        return
    parent = multiprocessing.parent_process()
    pid = _logged_pid(instance, run_id)
    if pid is not None and pid in {os.getpid(), parent.pid if parent else None}:
        record_pid(instance, run_id, pid)


def record_pid(instance: dg.DagsterInstance, run_id: str, pid: int) -> None:
    """Record a process of this machine as the process of a run, if its start can be read."""
    started = _start_of_process(pid)
    if started:
        process = RunProcess(_host(), _boot(), _namespace(), pid, started)
        instance.add_run_tags(run_id, {PROCESS: json.dumps({"run": run_id, **process._asdict()})})


def recorded_process(run: dg.DagsterRun) -> RunProcess | None:
    """Return the recorded process of a run."""
    content = json.loads(run.tags.get(PROCESS, "{}"))
    return RunProcess(**content) if content.pop("run", None) == run.run_id else None


def _logged_pid(instance: dg.DagsterInstance, run_id: str) -> int | None:
    """Return the process number that the launcher or the executor of a run logged first."""
    events = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT, limit=_MAX_ENGINE_EVENTS)
    for record in events.records:
        event = record.event_log_entry.dagster_event
        pid = event.engine_event_data.metadata.get("pid") if event and event.event_specific_data else None
        if pid is not None:
            return int(str(pid.value))
    return None


def process_is_gone(process: RunProcess) -> bool:
    """Return whether a process provably no longer exists; a process of another machine or container may exist."""
    if process.host != _host():
        return False
    if process.boot and _boot() and process.boot != _boot():
        return True
    if process.namespace != _namespace() or _start_of_process(os.getpid()) is None:
        return False
    started = _start_of_process(process.pid)
    return started != process.started if started else not _exists(process.pid)


def _exists(pid: int) -> bool:
    """Return whether a process exists whose start cannot be read, which may belong to another user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def was_interrupted(run: dg.DagsterRun) -> bool:
    """Return whether a run failed because its process no longer existed or never began."""
    return run.tags.get(INTERRUPTED) == run.run_id


def fail_interrupted_runs(
    instance: dg.DagsterInstance, launched_here: Collection[str] = (), location: str | None = None
) -> list[dg.DagsterRun]:
    """Fail the runs whose process no longer exists, free their slots of pools, and return them.

    After a long outage, Dagster's run monitoring may have failed a run because it did not start. Such a run is tagged
    and returned, too, under the same conditions.

    Parameters
    ----------
    launched_here
        Jobs whose runs the code server of this process launches. Such a run also fails if it was created or launched
        before this process existed, has not recorded its process, and no process can be that of the run. It is given 10
        seconds, or 60 if it was not launched or the processes cannot be listed.
    location
        Name of the code location that this process serves. Runs of its other jobs that occupy a slot of a pool are
        treated like those of `launched_here`, because the collection would wait for them.
    """
    unfinished = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    interrupted = []
    storage = instance.event_log_storage
    holders = storage.get_concurrency_run_ids() if storage.supports_global_concurrency_limits and location else ()
    with FileLock(Path(instance.root_directory) / _LOCK):  # Two sensors or commands may call this at the same time.
        for run in (*instance.get_runs(dg.RunsFilter(statuses=unfinished)), *_runs_that_did_not_start(instance)):
            is_holder = run.run_id in holders and _location_of(run) == location
            reason = _interruption(instance, run, is_launched_here=is_holder or run.job_name in launched_here)
            # The process may have ended the run after the query.
            current = instance.get_run_by_id(run.run_id) if reason else None
            if current is None or reason is None or (current.status not in unfinished and not run.is_finished):
                continue
            instance.add_run_tags(run.run_id, {INTERRUPTED: run.run_id})
            if run.is_finished:
                instance.report_engine_event(reason, current)
            else:
                cause = JobFailureData(error=None, failure_reason=RunFailureReason.UNEXPECTED_TERMINATION)
                instance.report_run_failed(current, reason, cause)
            storage.free_concurrency_slots_for_run(run.run_id)
            interrupted.append(current)
    return interrupted


def _runs_that_did_not_start(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Return the runs that Dagster failed a short time ago because they did not start in time."""
    did_not_start = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.FAILURE],
        tags={RUN_FAILURE_REASON_TAG: RunFailureReason.START_TIMEOUT.value},
        updated_after=datetime.fromtimestamp(time.time() - _ASSESSED_AFTER_SECONDS, timezone.utc),
    )
    return [run for run in instance.get_runs(did_not_start) if not was_interrupted(run)]


def free_slots_of_ended_runs(instance: dg.DagsterInstance) -> None:
    """Free the slots of pools of runs that ended, unless the process of such a run still exists.

    Run monitoring does so only if ``free_slots_after_run_end_seconds`` is set; a cancelled run would otherwise
    occupy its pool forever (dagster #33643).
    """
    storage = instance.event_log_storage
    for run_id in storage.get_concurrency_run_ids() if storage.supports_global_concurrency_limits else ():
        record = instance.get_run_record_by_id(run_id)
        if record is not None:
            process, ended = recorded_process(record.dagster_run), record.end_time
            if not ended or ended > time.time() - _FREED_AFTER_SECONDS or (process and not process_is_gone(process)):
                continue
        storage.free_concurrency_slots_for_run(run_id)


def _location_of(run: dg.DagsterRun) -> str | None:
    """Return the name of the code location of a run."""
    origin = run.remote_job_origin
    return origin.repository_origin.code_location_origin.location_name if origin else None


def _interruption(instance: dg.DagsterInstance, run: dg.DagsterRun, *, is_launched_here: bool) -> str | None:
    """Explain why the process of a run no longer exists; None: it may exist."""
    process = recorded_process(run)
    if process:
        if not process_is_gone(process):
            return None
        host = process.host.partition(" ")[0]
        cause = "The machine was restarted" if process.boot != _boot() else "The process was killed"
        return f"Process {process.pid} on {host} no longer exists, and it did not end this run. {cause}."
    return _failed_start(instance, run) if is_launched_here else None


def _failed_start(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str | None:
    """Explain why a run without a recorded process has none; None: it may have one, or may get one."""
    longest: float = _LONGEST_START_SECONDS
    since = instance.get_run_stats(run.run_id).launch_time
    if since is not None:
        may_exist = _may_have_process(since) if GRPC_INFO_TAG in run.tags else True
        # Without a list of processes, a run that has begun may have one.
        if may_exist or (may_exist is None and run.status == dg.DagsterRunStatus.STARTED):
            return None
        event, longest = "launched", _LONGEST_START_SECONDS if may_exist is None else _SHORTEST_START_SECONDS
    elif run.status in {dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.FAILURE}:
        # The daemon and the UI create a run and queue it at once.
        record = instance.get_run_record_by_id(run.run_id)
        since, event = record.create_timestamp.timestamp() if record else math.inf, "created, but not queued,"
    else:
        return None
    if since > min(_LOADED_AT, time.time() - longest):
        return None
    at = datetime.fromtimestamp(since, timezone.utc)
    return f"The run was {event} at {at:%Y-%m-%d %H:%M:%S} UTC by a process that was replaced, and has no process."


def _may_have_process(since: float) -> bool | None:
    """Return whether a process may be that of a run launched at a time; None: processes cannot be listed.

    A code server starts the process of a run by the module `multiprocessing`. The process begins after the launch, and
    its code server existed at the launch, so processes of runs of later code servers do not count.
    """
    boot = next((line for line in _read(Path("/proc/stat")).splitlines() if line.startswith("btime ")), None)
    if boot is None:
        return None
    seconds = since - int(boot.split()[1])
    return any(_may_be_launched_at(seconds, int(folder.name)) for folder in Path("/proc").glob("[0-9]*"))


def _may_be_launched_at(seconds: float, pid: int) -> bool:
    """Return whether a process may be that of a run launched at a time, in seconds since the start of the machine."""
    per_second = os.sysconf("SC_CLK_TCK")
    started = _start_of_process(pid)
    if started is None or int(started) / per_second < seconds - _ROUNDED_SECONDS:
        return False
    if "multiprocessing.spawn" not in _read(Path(f"/proc/{pid}/cmdline")):
        return False
    parent = _state_fields(pid)[1:2]
    server_started = _start_of_process(int(parent[0])) if parent else None
    return server_started is None or int(server_started) / per_second < seconds + _ROUNDED_SECONDS


@cache
def _host() -> str:
    machine = _read(Path("/etc/machine-id"))
    return f"{socket.gethostname()} {hashlib.sha256(machine.encode()).hexdigest()[:8]}"


@cache
def _boot() -> str:
    if platform.system() == "Darwin":
        return _output("sysctl", "-n", "kern.bootsessionuuid")
    return _read(Path("/proc/sys/kernel/random/boot_id"))


@cache
def _namespace() -> str:
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return ""


def _start_of_process(pid: int) -> str | None:
    """Return the start of a process; None: there is no such process, or it has ended, or its start cannot be read."""
    if Path("/proc/self/stat").exists():
        fields = _state_fields(pid)
        return fields[19] if fields and fields[0] not in "ZX" else None
    return _output("ps", "-p", str(pid), "-o", "lstart=") or None


def _is_zombie(pid: int) -> bool:
    return _state_fields(pid)[:1] == ["Z"]


def _state_fields(pid: int) -> list[str]:
    """Return the fields of a process from its state on, as Linux numbers them from 3; empty if there are none."""
    # The name of the process, in parentheses, may contain spaces.
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text().strip()
    return ""


def _output(*command: str) -> str:
    with suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return ""
