"""Slots of pools: a step frees its slot however it ends, and the slots of ended runs are freed."""

import dagster as dg
import pytest
import sqlalchemy

from crawl_urn_dagster.orchestration.executor import single_process_executor
from crawl_urn_dagster.orchestration.run_processes import free_slots_of_ended_runs, record_pid
from crawl_urn_dagster_tests.orchestration.test_run_processes import POOL, add_run

OUTCOMES = {"fails": ValueError, "is_interrupted": KeyboardInterrupt}


def holders(instance):
    return instance.event_log_storage.get_concurrency_info(POOL).active_run_ids


@dg.op(pool=POOL, out=dg.Out(dg.Nothing), config_schema=str, retry_policy=dg.RetryPolicy(max_retries=1))
def first(context):
    assert holders(context.instance) == {context.run_id}
    outcome = context.op_config
    if outcome == "fails_once" and context.retry_number == 0:
        raise ValueError
    if outcome in OUTCOMES:
        raise OUTCOMES[outcome]


@dg.op(pool=POOL, ins={"before": dg.In(dg.Nothing)})
def second(context):
    assert holders(context.instance) == {context.run_id}


@dg.job(executor_def=single_process_executor)
def pooled():
    second(first())


# Dagster #30712 and #31243: a retry, or the next step of a run, waits forever for the slot of its own run.
# Dagster #33643: a cancelled run occupies its pool forever.
@pytest.mark.parametrize("outcome", ["succeeds", "fails_once", "fails", "is_interrupted"])
def test_each_step_frees_its_slot(instance, outcome):
    config = {"ops": {"first": {"config": outcome}}, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.execute_job(dg.reconstructable(pooled), instance, run_config=config) as result:
        assert result.success is (outcome not in OUTCOMES)
    assert holders(instance) == set()


def occupy(instance, run):
    instance.event_log_storage.initialize_concurrency_limit_to_default(POOL)
    instance.event_log_storage.claim_concurrency_slot(POOL, run.run_id, "a step")


def end(instance, run, *, seconds_ago):
    instance.report_run_canceled(run)
    with instance.run_storage.connect() as connection:
        connection.execute(sqlalchemy.text(f"UPDATE runs SET end_time = end_time - {seconds_ago}"))


# Dagster #33643: without the setting free_slots_after_run_end_seconds, a cancelled run occupies its pool forever.
def test_slots_of_ended_runs_are_freed(instance):
    run = add_run(instance, job="of_a_user")
    occupy(instance, run)
    free_slots_of_ended_runs(instance)
    assert holders(instance) == {run.run_id}
    end(instance, run, seconds_ago=0)
    free_slots_of_ended_runs(instance)
    assert holders(instance) == {run.run_id}  # its process may be about to free them
    end(instance, run, seconds_ago=60)
    free_slots_of_ended_runs(instance)
    assert holders(instance) == set()


def test_slots_of_an_ended_run_whose_process_exists_are_kept(instance, sleeper):
    run = add_run(instance)
    record_pid(instance, run.run_id, sleeper.pid)
    occupy(instance, run)
    end(instance, run, seconds_ago=60)
    free_slots_of_ended_runs(instance)
    assert holders(instance) == {run.run_id}
    sleeper.kill()
    sleeper.wait()
    free_slots_of_ended_runs(instance)
    assert holders(instance) == set()
