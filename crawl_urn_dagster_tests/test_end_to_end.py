"""An unattended collection: webserver and daemon, with a source and a webhook on loopback."""

import os
import signal
from pathlib import Path

import dagster as dg
import numpy as np
import pytest
import yaml
from dagster._core.scheduler.instigation import TickStatus

from crawl_urn_dagster.cli import launching
from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT
from crawl_urn_dagster.urn import simulate
from crawl_urn_dagster_tests.collections_for_tests import presence_frame
from crawl_urn_dagster_tests.command import FAST, PATIENT_SECONDS, Ui, configure
from crawl_urn_dagster_tests.servers import FileServer, Receiver

pytestmark = pytest.mark.slow

REFERENCE, BEFORE = 12, 15
PARTS = ("presence", "report")


def crawls_frame(n_crawls):
    """Captures of an urn whose shell coverage falls at some crawl."""
    coverage = np.where(np.arange(n_crawls) < BEFORE, 0.6, 0.4)
    return presence_frame(
        simulate(times=np.arange(n_crawls), core=2000, shell=3000, alpha=0.75, coverage=coverage, seed=7)
    )


class Unattended:
    """The processes, their instance, and the materialisations."""

    def __init__(self, folder):
        self.folder = folder
        self.source, self.receiver = FileServer(folder / "www"), Receiver()
        collection = Collection.model_validate(
            {
                "name": "remote",
                "granularity": "other",
                "source": {"type": "presence_list", "path": self.source.address("listed.csv")},
                "drift": {"window_crawls": REFERENCE},
                "automation": {"look_every_seconds": 3, "first_wait_seconds": 1, "attempts": 2},
            }
        )
        self.configuration = configure(folder, collection)
        home = folder / "instance"
        home.mkdir()
        settings = yaml.safe_load(Path(launching.__file__).with_name("dagster.yaml").read_text())
        settings["run_monitoring"] |= {"poll_interval_seconds": 1, "free_slots_after_run_end_seconds": 1}
        (home / "dagster.yaml").write_text(yaml.safe_dump(settings))
        self.instance = dg.DagsterInstance.from_config(str(home))
        self.start()

    def start(self):
        values = {"DAGSTER_HOME": self.instance.root_directory, "CRAWL_URN_ALERTS": self.receiver.address}
        self.ui = Ui(self.folder, self.configuration, **values, **FAST)

    def kill_daemon(self):
        """Kill only the daemon, by its id; `dagster dev` then ends."""
        children = Path(f"/proc/{self.ui.process.pid}/task/{self.ui.process.pid}/children").read_text().split()
        (daemon,) = (one for one in children if b"dagster._daemon" in Path(f"/proc/{one}/cmdline").read_bytes())
        os.kill(int(daemon), signal.SIGKILL)
        self.ui.process.wait(timeout=PATIENT_SECONDS)

    def close(self):
        self.ui.close()
        self.source.close()
        self.receiver.close()
        self.instance.dispose()

    def materialised(self, name):
        """Partition and input of each materialisation of an asset, the newest first."""
        records = self.instance.fetch_materializations(dg.AssetKey(["remote", name]), limit=1000).records
        input_of = {"presence": "revision", "report": FINGERPRINT}[name]
        return [(record.partition_key, record.asset_materialization.metadata[input_of].value) for record in records]

    def wait_for_report(self, number):
        """Wait until reports of this many fingerprints are materialised and no run is unfinished."""

        def is_materialised():
            unfinished = [run for run in self.instance.get_runs(limit=10) if not run.is_finished]
            return len({fingerprint for _, fingerprint in self.materialised("report")}) == number and not unfinished

        self.ui.wait_until(is_materialised, 2 * PATIENT_SECONDS)

    def wait_for_alerts(self, number):
        self.ui.wait_until(lambda: len(self.receiver.received) >= number)

    def wait_for_tick(self, status):
        """Wait until the latest poll has a status; return it."""

        def latest():
            tick = self._latest_tick()
            return tick if tick.status == status else None

        return self.ui.wait_until(latest)

    def _latest_tick(self):
        (state,) = (one for one in self.instance.all_instigator_state() if one.instigator_name == "remote_new_crawl")
        (tick,) = self.instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=1)
        return tick

    def failed_checks(self):
        evaluations = self.instance.get_records_for_run(
            self.instance.get_runs(dg.RunsFilter(job_name="remote_update"), limit=1)[0].run_id,
            of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION,
        ).records
        found = [one.event_log_entry.dagster_event.asset_check_evaluation_data for one in evaluations]
        return {one.check_name for one in found if not one.passed}


@pytest.fixture
def unattended(tmp_path):
    one = Unattended(tmp_path)
    yield one
    one.close()


def test_publications_are_reported_once_despite_a_crash(unattended):
    one, crawls = unattended, crawls_frame(BEFORE + 2)
    labels = sorted(crawls["crawl"].unique())

    def publish(n_crawls):
        one.source.publish("listed.csv", crawls[crawls["crawl"].isin(labels[:n_crawls])])

    publish(BEFORE)
    one.wait_for_report(1)
    assert one.receiver.received == []
    figure = one.folder / "home" / "remote" / "figures" / "core_shell_fits.png"
    drawn = figure.stat().st_mtime_ns

    publish(BEFORE + 1)
    one.wait_for_report(2)
    one.wait_for_alerts(1)
    assert labels[BEFORE] in one.instance.get_dynamic_partitions("remote_crawls")
    assert figure.stat().st_mtime_ns > drawn
    assert "coverage_drift" in one.failed_checks()
    (message,) = one.receiver.received
    assert "coverage_drift" in message["message"]
    assert f"c changed by -0.196, from 0.592 to 0.396, since {labels[BEFORE]}" in message["message"]
    assert message["message"].endswith("assets/remote/control_charts")

    one.source.close()
    assert "listed.csv" in one.wait_for_tick(TickStatus.FAILURE).error.to_string()
    one.wait_for_alerts(2)
    assert one.receiver.titles[1] == "remote: the source cannot be read"
    assert "The last 2 polls of the source failed" in one.receiver.received[1]["message"]
    one.source.open()
    one.wait_for_tick(TickStatus.SKIPPED)
    one.wait_for_alerts(3)
    assert one.receiver.titles[2] == "remote: the source can be read again"

    crawls = crawls[
        (crawls["crawl"] != labels[2]) | (crawls.index % 2 == 0)
    ]  # a revision of the past, with a new crawl
    publish(BEFORE + 2)
    started = dg.RunsFilter(job_name="remote_update", statuses=[dg.DagsterRunStatus.STARTED])
    one.ui.wait_until(lambda: one.instance.get_runs(started), every=0.1)
    one.kill_daemon()
    one.start()
    one.wait_for_report(3)

    for name in PARTS:
        materialised = one.materialised(name)
        assert len(materialised) == len(set(materialised))
    assert len(one.materialised("report")) == 3
    failed_runs = one.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
    expected = {"coverage_drift": 1, "revised_history": 1, "Error: ": 1 + min(len(failed_runs), 1), "The poll at ": 1}
    one.wait_for_alerts(sum(expected.values()))
    messages = [message["message"] for message in one.receiver.received]
    assert {text: sum(text in message for message in messages) for text in expected} == expected
    assert len(messages) == sum(expected.values())
