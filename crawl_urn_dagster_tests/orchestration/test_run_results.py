"""Outcomes that are read from the event log of a run."""

import dagster as dg

from crawl_urn_dagster.orchestration.run_results import read_outcome


def test_error_is_the_raised_one_without_dagster_wrappers():
    @dg.op
    def failing():
        raise TimeoutError("held by process 7: close it there") from OSError("what DuckDB says of a lock")

    @dg.job
    def run():
        failing()

    with dg.DagsterInstance.ephemeral() as instance:
        result = run.execute_in_process(instance=instance, raise_on_error=False)
        outcome = read_outcome(instance, result.run_id)
    (error,) = outcome.errors
    assert not outcome.is_interrupted
    assert "failing: TimeoutError: held by process 7: close it there" in error
    assert "what DuckDB says" not in error


def test_interruption_is_recognised_by_its_class():
    @dg.op
    def interrupted():
        raise dg.DagsterExecutionInterruptedError

    @dg.op
    def failing():
        raise ValueError(dg.DagsterExecutionInterruptedError.__name__)

    for op, is_interrupted in ((interrupted, True), (failing, False)):
        job = dg.GraphDefinition("run", node_defs=[op]).to_job()
        with dg.DagsterInstance.ephemeral() as instance:
            result = job.execute_in_process(instance=instance, raise_on_error=False)
            outcome = read_outcome(instance, result.run_id)
        assert outcome.is_interrupted == is_interrupted
        assert outcome.errors
