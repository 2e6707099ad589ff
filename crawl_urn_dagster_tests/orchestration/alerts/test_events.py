"""Events that require an alert, on a real instance."""

import subprocess
import sys
from datetime import datetime, timedelta, timezone

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import InProcessCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, TickData, TickStatus
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster_shared.error import SerializableErrorInfo

from crawl_urn_dagster.config.settings import AutomationSettings
from crawl_urn_dagster.orchestration.alerts import source
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT
from crawl_urn_dagster.orchestration.partitions import INGEST
from crawl_urn_dagster.orchestration.run_processes import fail_interrupted_runs, record_pid
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    labels,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.orchestration.alerts.evaluating import run_check, set_drift, tick
from crawl_urn_dagster_tests.orchestration.checks.running import Broken
from crawl_urn_dagster_tests.pipeline import ALL_BUT_FITS, ALL_BUT_OBSERVABLES, Pipeline

pytestmark = pytest.mark.slow


def test_failed_headline_is_one_alert_and_not_a_failed_run(tmp_path, receiver):
    pipeline = Pipeline(tables_collection(tmp_path, avoiding_histories(12), name="avoiding", windows=False), tmp_path)
    assert not pipeline.run(without=ALL_BUT_FITS).success
    run_id = pipeline.instance.get_runs(dg.RunsFilter(job_name="avoiding_update"))[0].run_id
    assert tick(pipeline, receiver.address) == "Sent 1 alert."
    (message,) = receiver.received
    assert message["title"] == "avoiding: headline_fit failed"
    assert message["type"] == "failure"
    assert "ERROR headline_fit: Numbers may be quoted: no. Verdict no_urn: " in message["message"]
    assert message["message"].splitlines()[-2:] == [
        f"Run: http://ui.example/runs/{run_id}",
        "Figure: http://ui.example/assets/avoiding/containment_by_lag",
    ]
    assert not run_check(pipeline, "headline", "headline_fit")  # launched again manually: the same event
    assert tick(pipeline, receiver.address) == "No new event."
    assert len(receiver.received) == 1


def test_drift_alert_is_sent_at_each_onset(tabled, receiver):
    tick(tabled, receiver.address)
    assert receiver.received == []
    for by, n_alerts in ((-0.2, 1), (-0.2, 1), (-0.25, 1), (0.0, 1), (0.3, 2)):
        set_drift(tabled, by)
        assert run_check(tabled, "drift", "kappa_drift")
        tick(tabled, receiver.address)
        assert len(receiver.received) == n_alerts
    assert set(receiver.titles) == {"tabled: kappa_drift failed"}
    assert "κ changed by -0.200, from 0.400 to 0.200" in receiver.received[0]["message"]
    assert receiver.received[0]["message"].endswith("Figure: http://ui.example/assets/tabled/control_charts")
    assert receiver.received[0]["type"] == "warning"


def test_failed_fit_outside_the_headline_sends_no_alert(tmp_path, receiver):
    pipeline = Pipeline(tables_collection(tmp_path, histories(12), pairs=False), tmp_path)
    pipeline.run(without=ALL_BUT_FITS)
    assert "discovery_curve_core_shell_exact_per_crawl" in {check.check for check in pipeline.outcome.failed_checks}
    tick(pipeline, receiver.address)
    assert receiver.received == []


def test_change_of_verdict_sends_one_alert(tabled, receiver):
    diagnosis = tabled.home.observables.read("diagnosis")
    tick(tabled, receiver.address)
    assert receiver.received == []
    changed = diagnosis["verdict"].mask(diagnosis["test"] == "collection", "uneven_shell")
    with Broken(tabled, "diagnosis", lambda table: table.assign(verdict=changed)):
        for _ in range(2):
            assert run_check(tabled, "quantities", "numbers_may_be_quoted")
            tick(tabled, receiver.address)
    (message,) = receiver.received
    assert message["title"] == "tabled: numbers_may_be_quoted failed"
    assert "WARN numbers_may_be_quoted: Verdict uneven_shell: " in message["message"]
    assert message["type"] == "warning"


def test_retried_error_sends_one_alert(tmp_path, receiver):
    collection = presence_collection(tmp_path, histories(4, urn=200))
    listed = tmp_path / "listed.csv.gz"
    listed.rename(tmp_path / "away")
    pipeline = Pipeline(collection, tmp_path)
    for sensor in ("listed_ingested", "listed_new_crawl"):  # whichever sensor requested it
        tags = {FINGERPRINT: "content", "dagster/sensor_name": sensor}
        pipeline.execute("update", tags, without=ALL_BUT_OBSERVABLES)
    tick(pipeline, receiver.address)
    assert receiver.titles == ["listed: run of listed_update failed"]
    assert "listed.csv.gz: there is no such file" in receiver.received[0]["message"]
    pipeline.execute("update", {FINGERPRINT: "content"}, without=ALL_BUT_OBSERVABLES)
    pipeline.execute("update", {FINGERPRINT: "other content"}, without=ALL_BUT_OBSERVABLES)
    pipeline.execute("update", without=ALL_BUT_OBSERVABLES)  # launched manually: not an attempt at known work
    tick(pipeline, receiver.address)
    assert len(receiver.received) == 3


class TwoDaysLater(datetime):
    """A clock that is two days ahead."""

    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + timedelta(days=2)


def test_stale_source_sends_one_alert_until_a_crawl_arrives(tabled, receiver, monkeypatch):
    age = (datetime.now(timezone.utc) - datetime.fromisoformat(f"{labels(12)[-1]}T00:00+00:00")) / timedelta(days=1)

    def expecting(days):
        automation = AutomationSettings(expect_every_days=days, grace_days=10)
        return tabled.collection.model_copy(update={"automation": automation})

    tick(tabled, receiver.address)
    before = len(receiver.received)
    tick(tabled, receiver.address, collection=expecting(age - 9))
    assert len(receiver.received) == before
    for _ in range(2):
        tick(tabled, receiver.address, collection=expecting(age - 11))
    (message,) = receiver.received[before:]
    assert message["title"] == "tabled: the source is stale"
    assert f"The latest crawl, {labels(12)[-1]}, started {age:.0f} days ago" in message["message"]

    def arrives(days_old):
        start = (datetime.now(timezone.utc) - timedelta(days=days_old)).replace(tzinfo=None)
        metadata = {"last_crawl": f"{start:%Y-%m-%d}", "last_crawl_started_at": start.isoformat()}
        tabled.instance.report_runless_asset_event(dg.AssetMaterialization(["tabled", "crawls"], metadata=metadata))

    tabled.instance.report_runless_asset_event(dg.AssetMaterialization(["tabled", "crawls"]))
    for days_old in (age - 0.5, age - 1):
        arrives(days_old)  # newer than the latest crawl but already stale: still one event
        tick(tabled, receiver.address, collection=expecting(age - 12))
    assert len(receiver.received) == before + 1
    arrives(age - 2 - 1)  # not stale on arrival
    tick(tabled, receiver.address, collection=expecting(age - 12))
    assert len(receiver.received) == before + 1
    monkeypatch.setattr(source, "datetime", TwoDaysLater)
    tick(tabled, receiver.address, collection=expecting(age - 12))
    assert len(receiver.received) == before + 2


@pytest.fixture
def polled(tmp_path, receiver):
    """A function that records polls of a source and returns the number of alerts after each."""
    automation = {"attempts": 2}
    pipeline = Pipeline(tables_collection(tmp_path, histories(2), automation=automation), tmp_path, on_disk=True)
    origin = RemoteRepositoryOrigin(
        InProcessCodeLocationOrigin(LoadableTargetOrigin(python_file="definitions.py")), "repository"
    ).get_instigator_origin("tabled_new_crawl")
    state = InstigatorState(origin, InstigatorType.SENSOR, InstigatorStatus.DECLARED_IN_CODE)
    pipeline.instance.add_instigator_state(state)
    times = iter(range(1_600_000_000, 1_700_000_000, 60))

    def poll(*errors):
        n_alerts = []
        for error in errors:
            pipeline.instance.create_tick(
                TickData(
                    state.instigator_origin_id,
                    state.instigator_name,
                    InstigatorType.SENSOR,
                    TickStatus.FAILURE if error else TickStatus.SKIPPED,
                    timestamp=float(next(times)),
                    error=SerializableErrorInfo("wrapped", [], "SensorExecutionError", error) if error else None,
                    selector_id=state.selector_id,
                )
            )
            tick(pipeline, receiver.address)
            n_alerts.append(len(receiver.received))
        return n_alerts

    return poll


def source_error(message, cause=None):
    return SerializableErrorInfo(
        message, [], "SourceError", SerializableErrorInfo("", [], cause, None) if cause else None
    )


def test_unreadable_source_sends_one_alert_until_it_is_read(polled, receiver):
    failed = source_error("pairs.csv: status 404\n")
    assert polled(failed, failed, failed, None, failed, failed, failed, None, None) == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    unreadable, readable = "tabled: the source cannot be read", "tabled: the source can be read again"
    assert receiver.titles == [unreadable, readable] * 2
    start = "The last 2 polls of the source failed, since 2020-09-13 12:26 UTC. Error: pairs.csv: status 404\n"
    assert receiver.received[0]["message"].startswith(start)
    assert receiver.received[1]["type"] == "success"


def test_outage_of_another_kind_is_reported_again(polled, receiver):
    busy = source_error("pairs.csv: the server answered 500", "BusyError")
    page = source_error("pairs.csv: is a web page")
    late = source_error("pairs.csv: not received completely by the deadline", "TransientError")
    assert polled(busy, busy, page, busy, busy) == [0, 1, 1, 1, 1]  # one poll is not a change
    assert polled(page, page, page, late, late, busy, busy, None) == [1, 2, 2, 2, 3, 3, 4, 5]
    errors = [one["message"].partition("Error: ")[2].split("\n")[0] for one in receiver.received]
    assert errors == [*(one.message for one in (busy, page, late, busy)), ""]


def test_outage_that_was_not_reported_does_not_end(polled):
    failed = source_error("pairs.csv: status 404")
    assert polled(failed, None, None) == [0, 0, 0]


def test_failed_runs_of_one_ingest_send_one_alert(tmp_path, receiver):
    collection = presence_collection(tmp_path, histories(4, urn=200))
    pipeline = Pipeline(collection, tmp_path)
    (tmp_path / "listed.csv.gz").unlink()
    found = {"dagster/asset_partition_range_start": "a", "dagster/asset_partition_range_end": "a", INGEST: "content"}
    pipeline.add_partitions(["a"])
    for _ in range(2):
        assert not pipeline.execute("ingest", found).success
    tick(pipeline, receiver.address)
    assert receiver.titles == ["listed: run of listed_ingest failed"]


def test_interrupted_run_sends_one_alert_each(tabled, receiver):
    tick(tabled, receiver.address)
    before = len(receiver.received)
    for _ in range(2):
        run = tabled.instance.add_run(
            dg.DagsterRun(job_name="tabled_update", status=dg.DagsterRunStatus.STARTED, tags={FINGERPRINT: "same"})
        )
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            record_pid(tabled.instance, run.run_id, process.pid)
            process.kill()
        fail_interrupted_runs(tabled.instance)
        tick(tabled, receiver.address)
        tick(tabled, receiver.address)
    assert receiver.titles[before:] == ["tabled: run of tabled_update was interrupted"] * 2
    assert f"Process {process.pid} on " in receiver.received[-1]["message"]


def test_killed_run_sends_its_signal(tabled, receiver):
    tick(tabled, receiver.address)
    run = tabled.instance.add_run(dg.DagsterRun(job_name="tabled_update", status=dg.DagsterRunStatus.STARTED))
    # As the code server does when the process of a run is killed.
    signal_message = "Run execution process was terminated by signal 9 (SIGKILL)."
    tabled.instance.report_engine_event(signal_message, run)
    tabled.instance.report_run_failed(run)
    tick(tabled, receiver.address)
    assert signal_message in receiver.received[-1]["message"]


def test_silent_run_sends_one_alert(tabled, receiver):
    tick(tabled, receiver.address)
    before = len(receiver.received)
    run = tabled.instance.add_run(dg.DagsterRun(job_name="tabled_update", status=dg.DagsterRunStatus.STARTED))
    tabled.instance.report_engine_event("a step has started", run)
    tick(tabled, receiver.address)
    assert len(receiver.received) == before
    automation = tabled.collection.automation.model_copy(update={"silent_after_seconds": 0})
    impatient = tabled.collection.model_copy(update={"automation": automation})
    for _ in range(2):
        tick(tabled, receiver.address, collection=impatient)
    tabled.instance.report_run_canceled(run)
    assert receiver.titles[before:] == ["tabled: run of tabled_update is silent"]
    assert receiver.received[-1]["message"].endswith(f"Run: http://ui.example/runs/{run.run_id}")
