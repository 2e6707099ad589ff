"""Recovery after all processes were killed at once; `benchmarks.kills` does it at many random moments."""

import sys

import dagster as dg
import pytest

from crawl_urn_dagster_tests.collections_for_tests import histories
from crawl_urn_dagster_tests.command import PATIENT_SECONDS
from crawl_urn_dagster_tests.killed_stack import KilledStack

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="finds processes under /proc")]


@pytest.fixture
def stack(tmp_path):
    stack = KilledStack(tmp_path, histories(3, urn=200), is_fast=True)
    stack.publish(3)
    stack.start()
    yield stack
    stack.close()


# Dagster #4319: after a reboot, runs stay STARTED forever.
def test_work_of_a_killed_stack_is_repeated(stack):
    update = dg.RunsFilter(job_name="killed_update", statuses=[dg.DagsterRunStatus.STARTED])
    (run,) = stack.wait_for(lambda: stack.instance.get_runs(update), 2 * PATIENT_SECONDS, every=0.1)
    stack.kill()
    assert stack.instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.STARTED
    stack.start()
    stack.wait_until(stack.is_up_to_date, 3 * PATIENT_SECONDS)
    assert stack.interrupted_runs() == {run.run_id}
    stack.wait_until(stack.reported_interruptions, PATIENT_SECONDS)
    assert stack.reported_interruptions() == [run.run_id]
    assert stack.different_tables() == []
