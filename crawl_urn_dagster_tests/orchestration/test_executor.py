"""A step that waits for a pool whose slot another run occupies, in a separate process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from crawl_urn_dagster.cli.launching import open_instance
from crawl_urn_dagster.orchestration.dagster_internals import InstanceConcurrencyContext
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.command import COMMAND, PATIENT_SECONDS, configure, environment

pytestmark = pytest.mark.slow

POOL = "tabled_duckdb"
WAITING_SECONDS = 5
DAGSTER = COMMAND.with_name("dagster")


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="reads processor times under /proc")
def test_waiting_for_a_pool_sleeps_and_ends_on_a_signal(tmp_path):
    configuration = configure(tmp_path, tables_collection(tmp_path, histories(2), windows=False))
    folder = tmp_path / "instance"
    with open_instance(folder) as instance:
        holder = instance.add_run(dg.DagsterRun(job_name="other", status=dg.DagsterRunStatus.STARTED))
        instance.event_log_storage.initialize_concurrency_limit_to_default(POOL)
        instance.event_log_storage.claim_concurrency_slot(POOL, holder.run_id, "a step")
        process = subprocess.Popen(
            [
                COMMAND.with_name("dagster"),
                "job",
                "execute",
                "-m",
                "crawl_urn_dagster.definitions",
                "-j",
                "tabled_update",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(
                CRAWL_URN_COLLECTIONS=str(configuration), CRAWL_URN_HOME=str(tmp_path), DAGSTER_HOME=str(folder)
            ),
        )
        end = time.monotonic() + PATIENT_SECONDS

        def wait_until(condition):
            while not condition():
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.2)

        def is_idle():
            used = processor_seconds(process.pid)
            time.sleep(WAITING_SECONDS)
            return processor_seconds(process.pid) - used < 0.01 * WAITING_SECONDS

        wait_until(lambda: len(instance.event_log_storage.get_concurrency_info(POOL).pending_steps) == 2)
        wait_until(is_idle)  # it may still be logging that it waits

        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENT_SECONDS)
        run = instance.get_runs(dg.RunsFilter(job_name="tabled_update"))[0]
        (failure,) = instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
        error = failure.event_log_entry.dagster_event.job_failure_data.error
        assert f"waited for the pool {POOL}, which is occupied by run {holder.run_id}" in error.message
        info = instance.event_log_storage.get_concurrency_info(POOL)
        assert {step.run_id for step in info.pending_steps} == info.active_run_ids == {holder.run_id}


def test_executor_of_dagster_still_does_not_sleep():
    """If this fails, Dagster has mended its wait, and the executor of this package is not needed."""
    with dg.DagsterInstance.ephemeral() as instance:
        claims = InstanceConcurrencyContext(instance, dg.DagsterRun(job_name="any"))
        claims._pending_claims.add("a step")
        claims._pending_timeouts["a step"] = time.time() + 10
        assert claims.interval_to_next_pending_claim_check() <= 0
