"""The sensors for new crawls and for ingest runs, on a real instance."""

import itertools
import json

import dagster as dg
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.asset_keys import COMMAND, FINGERPRINT
from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster_tests.collections_for_tests import (
    lists_collection,
    write_list,
)
from crawl_urn_dagster_tests.orchestration.polling import (
    CRAWLS,
    advance_time,
    after_ingest,
    daemon,
    evaluate,
    launch,
    sensor_message,
    tick,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, QUIET, Pipeline

pytestmark = pytest.mark.slow


def test_new_crawls_become_partitions_and_are_requested(lists):
    result = evaluate(lists)
    (added,) = result.dynamic_partitions_requests
    assert (added.partitions_def_name, list(added.partition_keys)) == ("split_crawls", CRAWLS)
    (request,) = result.run_requests
    assert request.job_name == "split_ingest"
    assert daemon(lists) == [CRAWLS]


def test_ingest_is_followed_by_an_update(lists):
    daemon(lists, later=0)
    request, run = after_ingest(lists)
    assert request.run_key == run.run_id
    assert request.tags[FINGERPRINT]
    assert lists.defs.resolve_sensor_def("split_ingested").job.name == "split_update"
    assert tick(lists) == f"Run {run.run_id} has just ingested crawls; the update follows."
    advance_time(lists)  # that request was lost, so the other sensor requests the update
    again = tick(lists)
    assert again.job_name == "split_update"
    assert again.tags[FINGERPRINT] == request.tags[FINGERPRINT]  # attempts at the same work
    launch(lists, request)
    assert "requested since, includes these crawls" in after_ingest(lists)[0].skip_message
    assert lists.home.observables.read("crawls")["crawl"].tolist() == CRAWLS
    assert tick(lists).startswith("Nothing new: 3 crawls to 2024-03, fingerprint ")


def test_ingest_of_the_command_is_not_followed_by_the_sensor(lists):
    found = lists.plan_ingest()
    lists.add_partitions(found.new_crawls)
    lists.execute("ingest", {**found.run_tags[0], COMMAND: "crawl-urn"})
    assert after_ingest(lists)[0].skip_message == "The command that launched this run also runs the update."


def test_ingest_of_chosen_partitions_is_followed_by_an_update(lists):
    lists.add_partitions(CRAWLS)
    job = lists.defs.resolve_implicit_global_asset_job_def()
    chosen = {"dagster/asset_partition_range_start": CRAWLS[0], "dagster/asset_partition_range_end": CRAWLS[1]}
    presence = dg.AssetKey(["split", "presence"])
    job.execute_in_process(instance=lists.instance, asset_selection=[presence], tags=chosen, run_config=QUIET)
    request, run = after_ingest(lists, job.name)
    assert request.run_key == run.run_id
    lists.execute("update", request.tags, without=ALL_BUT_OBSERVABLES)
    assert lists.home.observables.read("crawls")["crawl"].tolist() == CRAWLS[:2]
    skipped, run = after_ingest(lists, "split_update")
    assert skipped.skip_message == f"Run {run.run_id} did not ingest a crawl of split."


def test_update_follows_the_last_of_several_ingests(lists):
    daemon(lists)
    job = lists.defs.resolve_job_def("split_ingest")
    other = lists.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert after_ingest(lists)[0].skip_message == f"Run {other.run_id} is in progress; the update follows it."
    lists.instance.report_run_canceled(other)
    assert isinstance(after_ingest(lists)[0], dg.RunRequest)


def test_withdrawn_crawl_is_excluded_without_ingest(lists, tmp_path):
    daemon(lists)
    launch(lists, tick(lists))
    (tmp_path / "lists" / "2024-02.csv").unlink()
    result = evaluate(lists)
    (withdrawn,) = result.dynamic_partitions_requests
    assert (type(withdrawn), withdrawn.partition_keys) == (dg.DeleteDynamicPartitionsRequest, ["2024-02"])
    (request,) = result.run_requests
    assert request.job_name == "split_update"
    assert "No longer listed, so excluded from the tables: 2024-02." in sensor_message(lists)
    lists.instance.delete_dynamic_partition("split_crawls", "2024-02")
    launch(lists, request)
    assert lists.home.observables.read("crawls")["crawl"].tolist() == ["2024-01", "2024-03"]
    assert lists.home.observables.read("containment")["intersection"].tolist() == [2]
    assert lists.home.observables.read("revisions")["first_crawl"].tolist() == ["2024-02"]
    assert tick(lists).startswith("Nothing new: 2 crawls")

    file = lists.home.presence.read("2024-02").path.stat().st_ino
    write_list(tmp_path, "2024-02", ["a", "b", "2024-02"])
    assert daemon(lists) == [["2024-02"]]  # a partition again, from the kept file
    assert lists.home.presence.read("2024-02").path.stat().st_ino == file
    assert lists.instance.get_dynamic_partitions("split_crawls") == ["2024-01", "2024-03", "2024-02"]


@pytest.mark.parametrize(
    "label",
    [
        "../2024-05",
        "2024'05",
        "2024\x0705",
        "2024-05'); DROP TABLE crawls; --",
        "x" * 65,
        "2024/05",
        "-2024-05",
        "2024…05",
        "２０２４",
        "[2024",
        "2024|05",
        "2024%2F05",
    ],
    ids=range(12),
)
def test_hostile_label_is_rejected_before_any_write(tmp_path, label):
    path = tmp_path / "listed.csv"
    path.write_text(f'crawl,element\n2024-04,a\n"{label}",b\n')
    source = {"type": "presence_list", "path": str(path)}
    pipeline = Pipeline(
        Collection.model_validate({"name": "hostile", "granularity": "url", "source": source}), tmp_path
    )
    with pytest.raises(SourceError, match=r"listed\.csv, data row 2: found the crawl label"):
        tick(pipeline)
    assert not pipeline.home.path.exists()
    assert pipeline.instance.get_dynamic_partitions("hostile_crawls") == []
    assert pipeline.instance.get_runs_count() == 0


def test_listing_of_too_many_crawls_is_rejected(remote, source):
    days = [
        f"{year}-{month:02}-{day:02}" for year in range(1990, 2090) for month in range(1, 13) for day in range(1, 29)
    ]
    rows = "".join(f"{one},{other},5,5,3\n" for one, other in itertools.pairwise(days[:20_000]))
    (source.folder / "pairs.csv").write_text(f"crawl_i,crawl_j,size_i,size_j,intersection\n{rows}")
    with pytest.raises(SourceError, match=r"pairs\.csv.*20,000 crawls, expected at most 10,000"):
        tick(remote)
    assert not remote.home.path.exists()


def test_invalid_large_calendar_is_rejected(tmp_path):
    write_list(tmp_path, "first", ["a"])
    calendar = tmp_path / "collinfo.json"
    calendar.write_text(json.dumps([{"id": f"C-{number}", "from": "no date"} for number in range(300_000)]))
    assert calendar.stat().st_size > 10_000_000
    collection = lists_collection(tmp_path)
    source = collection.source.model_copy(update={"calendar": str(calendar)})
    pipeline = Pipeline(collection.model_copy(update={"source": source}), tmp_path)
    with pytest.raises(SourceError, match=r"collinfo\.json"):
        tick(pipeline)
    assert not pipeline.home.path.exists()


def test_unreachable_source_raises(remote, source):
    source.publish(8)
    source.close()
    with pytest.raises((OSError, SourceError), match=r"pairs\.csv"):
        tick(remote)


def test_invalid_listing_raises(remote, source):
    (source.folder / "pairs.csv").write_text("<html>maintenance</html>")
    with pytest.raises(SourceError, match=r"pairs\.csv"):
        tick(remote)
