"""Alerts on a real instance, sent to HTTP receivers."""

import logging
import time
from datetime import datetime, timedelta, timezone

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import InProcessCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, TickData, TickStatus
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster_shared.error import SerializableErrorInfo

from crawl_urn_dagster.config.settings import AutomationSettings
from crawl_urn_dagster.orchestration.alerts.delivery import AlertError, deliver
from crawl_urn_dagster.orchestration.alerts.records import Alert
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.partitions import INGEST
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    labels,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_FITS, ALL_BUT_OBSERVABLES, QUIET, UNCHECKED, Pipeline
from crawl_urn_dagster_tests.servers import Receiver

pytestmark = pytest.mark.slow


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def other():
    receiver = Receiver()
    yield receiver
    receiver.close()


def tick(pipeline, *targets, collection=None):
    """Evaluate the alert sensor of the collection, as the daemon does; return its message."""
    one = collection or pipeline.collection
    defs = build_defs([one], home=pipeline.home.path.parent, alerts=targets, ui_url="http://ui.example/")
    with dg.build_sensor_context(instance=pipeline.instance, definitions=defs) as context:
        return defs.resolve_sensor_def(f"{one.name}_alerts").evaluate_tick(context).skip_message


def test_failed_headline_is_one_alert_and_not_a_failed_run(tmp_path, receiver):
    pipeline = Pipeline(presence_collection(tmp_path, avoiding_histories(12), name="avoiding"), tmp_path)
    assert not pipeline.run(without=ALL_BUT_FITS).success
    run_id = pipeline.instance.get_runs(dg.RunsFilter(job_name="avoiding_update"))[0].run_id
    assert tick(pipeline, receiver.address) == "Sent 1 alert."
    (message,) = receiver.received
    assert message["title"] == "avoiding: headline_fit failed"
    assert message["type"] == "failure"
    assert "model_violation" in message["message"]
    assert message["message"].splitlines()[-2:] == [
        f"Run: http://ui.example/runs/{run_id}",
        "Figure: http://ui.example/assets/avoiding/containment_by_lag",
    ]
    pipeline.execute("update", without=ALL_BUT_FITS)  # launched again manually: the same event
    assert tick(pipeline, receiver.address) == "No new event."
    assert len(receiver.received) == 1


def check_drift(pipeline):
    """Run only the drift check of the core, as the last step of an update."""
    key = dg.AssetCheckKey(dg.AssetKey([pipeline.collection.name, "drift"]), "kappa_drift")
    update = dg.define_asset_job(f"{pipeline.collection.name}_update", selection=dg.AssetSelection.checks(key))
    defs = dg.Definitions(
        assets=pipeline.defs.assets,
        asset_checks=pipeline.defs.asset_checks,
        resources=pipeline.defs.resources,
        jobs=[update],
    )
    job = defs.resolve_job_def(update.name)
    assert job.execute_in_process(instance=pipeline.instance, run_config=QUIET).success


@pytest.fixture(scope="module")
def tabled(tmp_path_factory):
    """An updated collection of pairs without an alert."""
    folder = tmp_path_factory.mktemp("tabled")
    pipeline = Pipeline(tables_collection(folder, histories(12), windows=False), folder)
    assert pipeline.run(without=UNCHECKED).success
    return pipeline


def test_drift_alert_is_sent_at_each_onset(tabled, receiver):
    tick(tabled, receiver.address)
    assert receiver.received == []
    for by, n_alerts in ((-0.2, 1), (-0.2, 1), (-0.25, 1), (0.0, 1), (0.3, 2)):
        set_drift(tabled, by)
        check_drift(tabled)
        tick(tabled, receiver.address)
        assert len(receiver.received) == n_alerts
    assert set(receiver.titles) == {"tabled: kappa_drift failed"}
    assert "κ changed by -0.200, from 0.400 to 0.200" in receiver.received[0]["message"]
    assert receiver.received[0]["message"].endswith("Figure: http://ui.example/assets/tabled/control_charts")
    assert receiver.received[0]["type"] == "warning"


def set_drift(pipeline, by):
    """Write a drift of the core to the table drift."""
    table = pipeline.home.observables.read("drift")
    row = {"reference_value": 0.4, "value": 0.4 + by, "difference": by, "statistic": abs(by), "reason": None}
    pipeline.home.observables.replace({"drift": table.assign(**row, drifted=abs(by) > 0.1)})


def test_failed_fit_outside_the_headline_sends_no_alert(tmp_path, receiver):
    pipeline = Pipeline(tables_collection(tmp_path, histories(12), pairs=False), tmp_path)
    pipeline.run(without=ALL_BUT_FITS)
    assert "discovery_curve_core_shell_exact_per_crawl" in {check.check for check in pipeline.outcome.failed_checks}
    tick(pipeline, receiver.address)
    assert receiver.received == []


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


def test_refused_alert_is_sent_later_to_that_target_only(tabled, receiver, other, caplog):
    set_drift(tabled, 0.0)
    check_drift(tabled)
    assert tick(tabled, other.address) == "No new event."  # other targets received it
    set_drift(tabled, 0.5)
    check_drift(tabled)
    caplog.set_level(logging.DEBUG)
    receiver.answers = [503]
    targets = (receiver.address, other.address)
    with pytest.raises(
        AlertError, match=r"target 1 of 2 \(JSON\) did not accept the alert 'tabled: kappa_drift failed'"
    ) as raised:
        tick(tabled, *targets)
    assert (len(receiver.received), len(other.received)) == (0, 1)
    assert tick(tabled, *targets) == "Sent 1 alert."
    assert tick(tabled, *targets) == "No new event."
    assert (len(receiver.received), len(other.received)) == (1, 1)
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("apprise")
    )


def test_unreachable_target_raises_without_its_url(tabled, receiver):
    receiver.close()
    alert = Alert("crawl_urn/tabled/test", "title", "body", "warning")
    with pytest.raises(AlertError, match=r"target 1 of 1 .* did not accept") as raised:
        deliver(tabled.instance, [receiver.address], [alert])
    assert "s3cret" not in str(raised.value)


def test_invalid_target_does_not_block_others(tabled, receiver, other):
    wrong = "https://chat.example.org/s3cret"
    alerts = [Alert(f"crawl_urn/tabled/mistyped/{number}", f"title {number}", "body", "warning") for number in (1, 2)]
    with pytest.raises(AlertError, match=r"^alerts, target 2 of 2: not a valid Apprise URL") as raised:
        deliver(tabled.instance, [receiver.address, wrong], alerts)
    assert "s3cret" not in str(raised.value)
    assert deliver(tabled.instance, [receiver.address, other.address], alerts) == 2
    assert receiver.titles == other.titles == ["title 1", "title 2"]
    with pytest.raises(AlertError, match="target 2 of 2: not a valid Apprise URL"):
        tick(tabled, receiver.address, wrong)  # also without a new event


def test_refusing_target_does_not_block_others(tabled, receiver, other):
    alerts = [Alert(f"crawl_urn/tabled/refused/{number}", f"title {number}", "body", "warning") for number in (1, 2)]
    receiver.answers = [503]
    with pytest.raises(AlertError, match=r"^alerts, target 1 of 2 \(JSON\) did not accept the alert 'title 1'"):
        deliver(tabled.instance, [receiver.address, other.address], alerts)
    assert (receiver.titles, other.titles) == ([], ["title 1", "title 2"])
    deliver(tabled.instance, [receiver.address, other.address], alerts)
    assert receiver.titles == other.titles == ["title 1", "title 2"]


def test_target_without_scheme_is_rejected_on_loading(tabled):
    with pytest.raises(ValueError, match="target 2 of 2: not a valid Apprise URL") as raised:
        build_defs([tabled.collection], alerts=["json://example.org/", "s3cret"])
    assert "s3cret" not in str(raised.value)


def test_sensor_is_off_without_targets(tabled):
    assert tick(tabled) == "No alert target is configured."
    defs = build_defs([tabled.collection])
    assert defs.resolve_sensor_def("tabled_alerts").default_status == dg.DefaultSensorStatus.STOPPED


def test_stale_source_sends_one_alert_until_a_crawl_arrives(tabled, receiver):
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
    arrives(age - 2 - 3 / 86_400)  # not stale on arrival, but stale seconds later
    end = time.monotonic() + 60
    while len(receiver.received) == before + 1 and time.monotonic() < end:
        time.sleep(0.5)
        tick(tabled, receiver.address, collection=expecting(age - 12))
    assert len(receiver.received) == before + 2


def test_unreadable_source_sends_one_alert_until_it_is_read(tmp_path, receiver):
    automation = {"attempts": 2}
    pipeline = Pipeline(tables_collection(tmp_path, histories(2), automation=automation), tmp_path, on_disk=True)
    origin = RemoteRepositoryOrigin(
        InProcessCodeLocationOrigin(LoadableTargetOrigin(python_file="definitions.py")), "repository"
    ).get_instigator_origin("tabled_new_crawl")
    state = InstigatorState(origin, InstigatorType.SENSOR, InstigatorStatus.DECLARED_IN_CODE)
    pipeline.instance.add_instigator_state(state)
    error = SerializableErrorInfo(
        "wrapped", [], "SensorExecutionError", SerializableErrorInfo("pairs.csv: status 404\n", [], None)
    )
    failed = (TickStatus.FAILURE, error)
    n_alerts = []
    for at, (status, why) in enumerate([failed, failed, failed, (TickStatus.SKIPPED, None), failed, failed, failed]):
        pipeline.instance.create_tick(
            TickData(
                state.instigator_origin_id,
                state.instigator_name,
                InstigatorType.SENSOR,
                status,
                timestamp=1_600_000_000.0 + 60 * at,
                error=why,
                selector_id=state.selector_id,
            )
        )
        tick(pipeline, receiver.address)
        n_alerts.append(len(receiver.received))
    assert n_alerts == [0, 1, 1, 1, 1, 2, 2]
    assert receiver.titles[0] == "tabled: the source cannot be read"
    start = "The last 2 polls of the source failed, since 2020-09-13 12:26 UTC. Error: pairs.csv: status 404\n"
    assert receiver.received[0]["message"].startswith(start)


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
