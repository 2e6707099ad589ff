"""The Dagster instance of the command, and the lock on its jobs."""

import dagster as dg
import pytest

from crawl_urn_dagster.cli.launching import InstanceError, open_instance
from crawl_urn_dagster_tests.collections_for_tests import histories, tables_collection
from crawl_urn_dagster_tests.command import FAST, configure, start

pytestmark = pytest.mark.slow


def test_killed_run_is_cleaned_up_by_the_next(invoke, tmp_path):
    configuration = configure(tmp_path, tables_collection(tmp_path, histories(2), windows=False))
    arguments = ("run", "--collections", configuration, "--home", "home")
    killed = start(*arguments, cwd=tmp_path, **FAST)
    killed.kill()
    killed.communicate()
    with dg.DagsterInstance.from_config(str(tmp_path / "home" / ".dagster")) as instance:
        run_id = instance.get_runs()[0].run_id
        # As if it was killed inside a step: its pool slot is occupied.
        instance.event_log_storage.initialize_concurrency_limit_to_default("tabled_duckdb")
        instance.event_log_storage.claim_concurrency_slot("tabled_duckdb", run_id, "a step")
        assert not instance.get_run_by_id(run_id).is_finished

        repeated = invoke(*arguments)
        assert repeated.exit_code == 0
        assert f"run {run_id} was interrupted" in repeated.stdout
        assert instance.get_run_by_id(run_id).status == dg.DagsterRunStatus.FAILURE


@pytest.mark.parametrize(
    ("name", "content"),
    [("dagster.yaml", "storage: {sqlite: 3}"), ("dagster.yaml", "storage: ["), ("history", "")],
    ids=["wrong settings", "invalid YAML", "a file where a folder should be"],
)
def test_invalid_instance_is_reported(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    message = rf"(?s)in {tmp_path} cannot be opened: .*; check its dagster.yaml"
    with pytest.raises(InstanceError, match=message) as raised, open_instance(tmp_path):
        pass
    assert name in str(raised.value)
