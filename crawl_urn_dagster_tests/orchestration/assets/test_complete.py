"""The mark of complete tables."""

import pytest

from crawl_urn_dagster.observables.database import MissingTableError
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, Pipeline


@pytest.mark.slow
def test_update_ends_with_the_mark(tmp_path):
    pipeline = Pipeline(tables_collection(tmp_path, histories(6), windows=False), tmp_path)
    result = pipeline.run(without=FIGURES)
    steps = [event.step_key for event in result.get_step_success_events()]
    assert steps[-1] == "tabled__complete"
    row = pipeline.home.observables.read("complete").iloc[0]
    assert (row["run_id"], row["crawls"]) == (result.run_id, 6)
    assert row["last_crawl"] == pipeline.home.observables.read("crawls")["crawl"].iloc[-1]

    pipeline.configure(
        tables_collection(tmp_path, histories(7), windows=False)
    )  # a run that is killed after the counts
    pipeline.run(without=ALL_BUT_OBSERVABLES)
    with pytest.raises(MissingTableError):
        pipeline.home.observables.read_all(["complete", "headline"])
    failed = pipeline.materialise("complete")
    (event,) = (event for event in failed.all_node_events if event.is_step_failure)
    assert "older than table crawls: quantities, " in event.step_failure_data.error.cause.message

    pipeline.run(without=FIGURES)  # a check on the numbers of few crawls fails
    assert not pipeline.outcome.errors
    assert pipeline.home.observables.read("complete")["crawls"].tolist() == [7]
    assert pipeline.materialise("complete").success
