import dagster as dg

from crawl_urn_dagster.orchestration.run_results import read_outcome


def test_an_error_is_the_one_that_was_raised_and_neither_its_cause_nor_dagsters_wrapping():
    @dg.op
    def failing():
        raise TimeoutError("held by process 7: close it there") from OSError("what DuckDB says of a lock")

    @dg.job
    def run():
        failing()

    with dg.DagsterInstance.ephemeral() as instance:
        result = run.execute_in_process(instance=instance, raise_on_error=False)
        (error,) = read_outcome(instance, result.run_id).errors
    assert "failing: TimeoutError: held by process 7: close it there" in error
    assert "what DuckDB says" not in error
