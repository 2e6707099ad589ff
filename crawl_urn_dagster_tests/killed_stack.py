"""The processes of `dagster dev`: webserver, daemon, code server and runs, all killed by SIGKILL and started again.

Does not assert anything. Linux only, because it finds the processes under /proc.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

import dagster as dg
import pandas as pd
import requests
import yaml

from crawl_urn_dagster.cli import launching
from crawl_urn_dagster.orchestration.run_processes import was_interrupted
from crawl_urn_dagster_tests.collections_for_tests import lists_collection, presence_of, write_list
from crawl_urn_dagster_tests.command import COMMAND, FAST, configure, environment, free_port
from crawl_urn_dagster_tests.pipeline import FIGURES, Pipeline
from crawl_urn_dagster_tests.servers import Receiver

#: Tables that do not contain the time of a run.
TABLES = ("crawls", "containment", "discovery_curve", "parameters", "operator_terms", "drift", "forecast")
#: Short waits; the other settings are the defaults.
AUTOMATION = {"look_every_seconds": 5}


class KilledStack:
    """The processes, their instance, and a collection of lists."""

    def __init__(self, folder, simulated, *, is_fast=False, **automation):
        self.folder, self.simulated, self.n_crawls = folder, simulated, 0
        self._variables = FAST if is_fast else {}
        self.receiver = Receiver()
        self.collection = lists_collection(folder, name="killed", automation={**AUTOMATION, **automation})
        self._configuration = configure(folder, self.collection)
        home = folder / "instance"
        home.mkdir()
        settings = yaml.safe_load(Path(launching.__file__).with_name("dagster.yaml").read_text())
        (home / "dagster.yaml").write_text(yaml.safe_dump(settings))
        self.instance = dg.DagsterInstance.from_config(str(home))
        self._process, self._port = None, free_port()

    def publish(self, number=1):
        """Publish the lists of further crawls."""
        lists = list(presence_of(self.simulated).items())
        for crawl, elements in lists[self.n_crawls : self.n_crawls + number]:
            write_list(self.folder, crawl, elements)
        self.n_crawls += number

    def start(self):
        with (self.folder / "dagster.log").open("a") as log:
            self._process = subprocess.Popen(
                [COMMAND.with_name("dagster"), "dev", "-m", "crawl_urn_dagster.definitions", "-p", str(self._port)],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment(
                    CRAWL_URN_COLLECTIONS=str(self._configuration),
                    CRAWL_URN_HOME=str(self.folder / "home"),
                    CRAWL_URN_ALERTS=self.receiver.address,
                    DAGSTER_HOME=self.instance.root_directory,
                    **self._variables,
                ),
                start_new_session=True,
            )

    def kill(self):
        """Kill every process of the session; return their number."""
        number = len(self._session())
        while session := self._session():
            for pid in session:
                os.kill(pid, signal.SIGKILL)
            self._process.wait()
            time.sleep(0.1)
        return number

    def is_serving(self):
        """Whether the webserver answers with the code location loaded."""
        query = {"query": '{ workspaceLocationEntryOrError(name: "crawl_urn_dagster.definitions") { __typename } }'}
        try:
            answer = requests.post(f"http://127.0.0.1:{self._port}/graphql", json=query, timeout=30)
        except requests.RequestException:
            return False
        return answer.json()["data"]["workspaceLocationEntryOrError"]["__typename"] == "WorkspaceLocationEntry"

    def _session(self):
        pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        return [pid for pid in pids if self._session_of(pid) == self._process.pid]

    @staticmethod
    def _session_of(pid):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return int(fields[3]) if fields[0] not in "ZX" else None

    def unfinished_runs(self):
        return [run for run in self.instance.get_runs(limit=20) if not run.is_finished]

    def interrupted_runs(self):
        return {run.run_id for run in self.instance.get_runs() if was_interrupted(run)}

    def runs_since(self, start):
        """Text of when each run of the collection since a time was requested, launched, begun and ended, in seconds."""
        records = self.instance.get_run_records(dg.RunsFilter(created_after=start), ascending=True)
        return "; ".join(f"{one.dagster_run.job_name} {', '.join(self._times_of(one, start))}" for one in records)

    def _times_of(self, record, start):
        times = {
            "requested": record.create_timestamp.timestamp(),
            "launched": self.instance.get_run_stats(record.dagster_run.run_id).launch_time,
            "begun": record.start_time,
            "ended": record.end_time,
        }
        return [f"{event} {at - start.timestamp():.0f}" for event, at in times.items() if at]

    def reported_interruptions(self):
        """Id of the run of each alert on an interruption."""
        messages = [one for one in self.receiver.received if "was interrupted" in one["title"]]
        return [one["message"].partition("Run: runs/")[2].split("\n")[0] for one in messages]

    def is_up_to_date(self):
        """Whether a report with all published crawls was written, and no run is unfinished."""
        keys = [dg.AssetKey(["killed", name]) for name in ("crawls", "report")]
        crawls, report = (self.instance.get_latest_materialization_event(key) for key in keys)
        if self.unfinished_runs() or crawls is None or report is None or report.timestamp < crawls.timestamp:
            return False
        return crawls.asset_materialization.metadata["dagster/row_count"].value == self.n_crawls

    def wait_until(self, condition, seconds):
        """Wait for a condition; return the seconds that it took."""
        start = time.monotonic()
        self.wait_for(condition, seconds)
        return time.monotonic() - start

    def wait_for(self, condition, seconds, *, every=1.0):
        """Wait for a condition; return what met it."""
        end = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > end:
                raise AssertionError(f"the condition was not met within {seconds} s")
            time.sleep(every)
        return found

    def different_tables(self):
        """Tables that differ from those of an undisturbed run."""
        folder = self.folder / "undisturbed"
        folder.mkdir()
        undisturbed = Pipeline(self.collection, folder)
        undisturbed.run(without=FIGURES | {"report", "export"})
        expected = undisturbed.tables(*TABLES)
        found = Pipeline(self.collection, self.folder).tables(*TABLES)
        return [name for name in TABLES if not _equal(found[name], expected[name])]

    def close(self):
        self.kill()
        self.receiver.close()
        self.instance.dispose()


def _equal(one, other):
    try:
        pd.testing.assert_frame_equal(one, other)
    except AssertionError:
        return False
    return True
