"""Runs whose process was killed: which are failed, and what is requested again."""

import logging
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._daemon.monitoring.run_monitoring import execute_run_monitoring_iteration

from crawl_urn_dagster.orchestration import run_processes
from crawl_urn_dagster.orchestration.alerts.events import new_alerts
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.change_detection import repeat_interrupted_runs
from crawl_urn_dagster.orchestration.dagster_internals import GRPC_INFO_TAG
from crawl_urn_dagster.orchestration.run_processes import (
    INTERRUPTED,
    PROCESS,
    fail_interrupted_runs,
    process_is_gone,
    record_pid,
    recorded_process,
    was_interrupted,
)
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.orchestration.polling import sensor_message

POOL = "tabled_duckdb"


def add_run(instance, job="tabled_update", **tags):
    return instance.add_run(dg.DagsterRun(job_name=job, status=dg.DagsterRunStatus.STARTED, tags=tags))


def status(instance, run):
    return instance.get_run_by_id(run.run_id).status


def process_of(instance, run):
    return recorded_process(instance.get_run_by_id(run.run_id))


def test_run_of_a_killed_process_fails_and_frees_its_pool(instance, sleeper):
    run = add_run(instance)
    record_pid(instance, run.run_id, sleeper.pid)
    instance.event_log_storage.initialize_concurrency_limit_to_default(POOL)
    instance.event_log_storage.claim_concurrency_slot(POOL, run.run_id, "a step")
    assert fail_interrupted_runs(instance) == []
    assert status(instance, run) == dg.DagsterRunStatus.STARTED

    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and its parent has not noticed
    (failed,) = fail_interrupted_runs(instance)
    assert failed.run_id == run.run_id
    assert was_interrupted(instance.get_run_by_id(run.run_id))
    assert status(instance, run) == dg.DagsterRunStatus.FAILURE
    assert instance.event_log_storage.get_concurrency_info(POOL).active_run_ids == set()
    (event,) = instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
    assert f"Process {sleeper.pid} on " in event.event_log_entry.dagster_event.message
    assert fail_interrupted_runs(instance) == []


def test_process_is_identified_by_more_than_its_number(instance, sleeper):
    run = add_run(instance)
    record_pid(instance, run.run_id, sleeper.pid)
    process = process_of(instance, run)
    assert not process_is_gone(process)
    assert process_is_gone(process._replace(started="1"))  # another process has received its number
    assert process_is_gone(process._replace(boot="an earlier start of the machine"))
    sleeper.kill()
    sleeper.wait()
    assert process_is_gone(process)
    assert not process_is_gone(process._replace(host="another machine"))
    assert not process_is_gone(process._replace(namespace="another container"))


def test_process_of_another_user_exists(monkeypatch, instance, sleeper):
    run = add_run(instance)
    record_pid(instance, run.run_id, sleeper.pid)
    process = process_of(instance, run)
    start = run_processes._start_of_process
    monkeypatch.setattr(run_processes, "_start_of_process", lambda pid: start(pid) if pid == os.getpid() else None)
    assert not process_is_gone(process)


def test_tags_of_the_parent_do_not_concern_a_re_execution(instance, sleeper):
    parent = add_run(instance)
    record_pid(instance, parent.run_id, sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    fail_interrupted_runs(instance)
    tags = instance.get_run_by_id(parent.run_id).tags
    assert {PROCESS, INTERRUPTED} <= tags.keys()
    child = add_run(instance, **tags)
    assert fail_interrupted_runs(instance) == []
    assert status(instance, child) == dg.DagsterRunStatus.STARTED
    assert not was_interrupted(child)


def interrupt(instance, run):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        record_pid(instance, run.run_id, process.pid)
        process.kill()
    fail_interrupted_runs(instance)
    assert was_interrupted(instance.get_run_by_id(run.run_id))


def test_interrupted_work_is_requested_once(tmp_path, instance):
    collection = tables_collection(tmp_path, histories(2), windows=False, automation={"attempts": 3})
    work = {"crawl_urn/fingerprint": "one"}
    first = add_run(instance, **work, other="tag")
    other = add_run(instance, job="other_update")
    interrupt(instance, first)
    interrupt(instance, other)
    (request,) = repeat_interrupted_runs(instance, [collection])
    assert (request.job_name, request.run_key, dict(request.tags)) == ("tabled_update", first.run_id, work)
    second = add_run(instance, **work)
    assert repeat_interrupted_runs(instance, [collection]) == []
    interrupt(instance, second)
    assert [request.run_key for request in repeat_interrupted_runs(instance, [collection])] == [second.run_id]
    # Work that was interrupted in every attempt may be the cause.
    interrupt(instance, add_run(instance, **work))
    assert repeat_interrupted_runs(instance, [collection]) == []


def test_interruption_does_not_count_as_failed_attempt(lists):
    assert sensor_message(lists).startswith("To ingest")
    run = add_run(lists.instance, job="split_ingest")
    interrupt(lists.instance, run)
    assert sensor_message(lists) == f"Run {run.run_id} was interrupted; its work is requested again."


def test_run_records_its_process(lists):
    lists.ingest()
    (run,) = lists.instance.get_runs()
    assert process_of(lists.instance, run).pid == os.getpid()
    assert not process_is_gone(process_of(lists.instance, run))


@pytest.fixture
def later(monkeypatch):
    """Advance the clock by 45 s, and load another code server in the meantime."""

    def advance():
        now = time.time()
        monkeypatch.setattr(run_processes, "_LOADED_AT", now + 30)
        monkeypatch.setattr(time, "time", lambda: now + 45)

    return advance


def add_launched_run(instance, event, job="tabled_update", ago=0, **tags):
    run = instance.add_run(dg.DagsterRun(job_name=job, tags={GRPC_INFO_TAG: "{}", **tags}))
    for kind in (dg.DagsterEventType.PIPELINE_STARTING, event):
        instance.report_dagster_event(
            dg.DagsterEvent(kind.value, run.job_name), run.run_id, timestamp=time.time() - ago
        )
    return run


@pytest.mark.parametrize("event", [dg.DagsterEventType.PIPELINE_STARTING, dg.DagsterEventType.PIPELINE_START])
def test_launched_run_without_any_process_fails_at_once(instance, later, monkeypatch, event):
    monkeypatch.setattr(run_processes, "_may_have_process", lambda _: False)
    run = add_launched_run(instance, event)
    assert fail_interrupted_runs(instance, {"tabled_update"}) == []  # its code server may still start it
    later()
    assert fail_interrupted_runs(instance) == []  # another machine may have launched it
    (failed,) = fail_interrupted_runs(instance, {"tabled_update"})
    assert failed.run_id == run.run_id


def test_launched_run_that_may_have_a_process_is_waited_for(instance, later, monkeypatch):
    run = add_launched_run(instance, dg.DagsterEventType.PIPELINE_STARTING)
    later()
    for may_have_process, expected in ((True, []), (None, []), (False, [run.run_id])):
        monkeypatch.setattr(run_processes, "_may_have_process", lambda _, value=may_have_process: value)
        assert [one.run_id for one in fail_interrupted_runs(instance, {"tabled_update"})] == expected


@pytest.fixture
def code_server():
    """A process that has started a process like that of a run, which prints its number: it has its command by then."""
    child = "import multiprocessing.spawn, os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    code = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {child!r}]))"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.stdin.close()  # ends both


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_process_of_a_later_code_server_is_not_that_of_a_run(code_server, sleeper):
    child = int(code_server.stdout.readline())
    since_boot = int(run_processes._start_of_process(child)) / os.sysconf("SC_CLK_TCK")
    assert run_processes._may_be_launched_at(since_boot, child)
    assert not run_processes._may_be_launched_at(since_boot + 10, child)  # too early
    assert not run_processes._may_be_launched_at(since_boot - 600, child)  # its code server is too late
    assert not run_processes._may_be_launched_at(since_boot, sleeper.pid)
    assert run_processes._may_have_process(time.time())


def test_created_run_that_was_never_queued_fails(instance, monkeypatch):
    run = instance.add_run(dg.DagsterRun(job_name="tabled_update"))
    now = time.time()
    monkeypatch.setattr(run_processes, "_LOADED_AT", now + 30)
    for seconds, expected in ((45, []), (75, [run.run_id])):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: now + seconds)
        assert [one.run_id for one in fail_interrupted_runs(instance, {"tabled_update"})] == expected


def test_run_of_a_user_that_occupies_a_pool_fails_too(instance, later, monkeypatch):
    """The process of an asset of a user was killed with the machine, and no step of this package recorded it."""
    monkeypatch.setattr(run_processes, "_may_have_process", lambda _: False)
    monkeypatch.setattr(run_processes, "_location_of", lambda run: run.tags["location"])
    instance.event_log_storage.initialize_concurrency_limit_to_default(POOL)
    runs = {}
    for place in ("here", "elsewhere"):
        runs[place] = add_launched_run(instance, dg.DagsterEventType.PIPELINE_START, job="of_a_user", location=place)
        idle = add_launched_run(instance, dg.DagsterEventType.PIPELINE_START, job="of_a_user", location=place)
        instance.event_log_storage.claim_concurrency_slot(POOL, runs[place].run_id, "a step")
    later()
    assert fail_interrupted_runs(instance) == []
    (failed,) = fail_interrupted_runs(instance, location="here")
    assert failed.run_id == runs["here"].run_id
    assert status(instance, idle) == dg.DagsterRunStatus.STARTED  # nothing waits for it
    assert instance.event_log_storage.get_concurrency_info(POOL).active_run_ids <= {runs["elsewhere"].run_id}


@pytest.fixture
def monitored(tmp_path):
    """An instance whose run monitoring fails a run that has not started after 5 minutes."""
    settings = {"enabled": True, "start_timeout_seconds": 300}
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides={"run_monitoring": settings}) as instance:
        yield instance


def monitor(instance):
    """Do what the daemon does every half minute."""
    context = SimpleNamespace(instance=instance, create_request_context=lambda: None)
    assert list(execute_run_monitoring_iteration(context, logging.getLogger(__name__))) == [None]


@pytest.mark.parametrize(("may_have_process", "n_requests"), [(False, 1), (True, 0)])
def test_start_that_an_outage_interrupted_is_repeated(tmp_path, monitored, monkeypatch, may_have_process, n_requests):
    monkeypatch.setattr(run_processes, "_LOADED_AT", time.time())
    monkeypatch.setattr(run_processes, "_may_have_process", lambda _: may_have_process)
    collection = tables_collection(tmp_path, histories(2), windows=False)
    tags = {"crawl_urn/fingerprint": "one"}
    run = add_launched_run(monitored, dg.DagsterEventType.PIPELINE_STARTING, ago=400, **tags)
    monitor(monitored)
    assert status(monitored, run) == dg.DagsterRunStatus.FAILURE

    defs = build_defs([collection], home=tmp_path / "home")
    sensor = defs.resolve_sensor_def("_interrupted_runs_tabled")
    with dg.build_sensor_context(instance=monitored, definitions=defs) as context:
        requests = sensor.evaluate_tick(context).run_requests or []
    found = [(one.run_key, one.job_name, one.tags["crawl_urn/fingerprint"]) for one in requests]
    assert found == [(run.run_id, "tabled_update", "one")] * n_requests
    (alert,) = new_alerts(monitored, collection, ui_url=None, figure="report")
    ending = "was interrupted" if n_requests else "failed"
    assert alert.title == f"tabled: run of tabled_update {ending}"
    assert "longer than 300 seconds to start" in alert.body
