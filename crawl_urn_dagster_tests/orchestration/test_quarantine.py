"""A damaged list: the other crawls are updated; table, check, report and one alert name the crawl; it returns."""

import bz2

import dagster as dg
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster_tests.collections_for_tests import histories, lists_collection, presence_of, write_list
from crawl_urn_dagster_tests.orchestration.alerts.evaluating import tick
from crawl_urn_dagster_tests.orchestration.polling import advance_time, evaluate, launch, sensor_message
from crawl_urn_dagster_tests.pipeline import FIGURES, Pipeline
from crawl_urn_dagster_tests.servers import Receiver

pytestmark = pytest.mark.slow
OBSERVABLES = ("crawls", "containment", "discovery_curve")


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def follow_sensor(pipeline):
    """Run what the sensor requests until it requests nothing."""
    while (result := evaluate(pipeline)).run_requests:
        for request in result.dynamic_partitions_requests or ():
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                pipeline.add_partitions(request.partition_keys)
            else:
                for crawl in request.partition_keys:
                    pipeline.instance.delete_dynamic_partition(request.partitions_def_name, crawl)
        for request in result.run_requests:
            assert launch(pipeline, request).success
        advance_time(pipeline)


def test_damaged_list_is_reported_once_and_returns(tmp_path, receiver):
    lists = presence_of(histories(6, urn=200))
    bad, other = sorted(lists)[2], sorted(lists)[4]
    for crawl, elements in lists.items():
        write_list(tmp_path, crawl, elements)
    pipeline = Pipeline(lists_collection(tmp_path), tmp_path)

    def update(*damaged):
        for crawl in lists:
            write_list(tmp_path, crawl, () if crawl in damaged else lists[crawl])
        follow_sensor(pipeline)
        tick(pipeline, receiver.address)
        return pipeline.tables("quarantine", *OBSERVABLES)

    def alerts():
        return [alert for alert in receiver.received if "crawls_readable" in alert["title"]]

    whole = update()
    assert alerts() == []
    damaged = update(bad, other)
    assert damaged["quarantine"]["crawl"].tolist() == [bad, other]
    assert set(damaged["quarantine"]["kind"]) == {"damaged"}
    (alert,) = alerts()
    assert f"crawl {bad}" in alert["message"]
    assert "has a header but no rows" in alert["message"]
    assert f"set aside: 2 crawls, {bad} to {other}." in sensor_message(pipeline)
    assert pipeline.execute("update", without=FIGURES).success
    lines = pipeline.page().split("\n\n")
    assert any(line.startswith(f"**2 crawls cannot be read and are set aside: {bad}, {other}.**") for line in lines[:5])
    # The other crawls keep their dates and their counts; the years between them include the gap.
    kept = whole["crawls"][~whole["crawls"]["crawl"].isin([bad, other])]
    columns = ["crawl", "started_at", "years", "elements", "content"]
    assert damaged["crawls"][columns].values.tolist() == kept[columns].values.tolist()
    pairs = whole["containment"].set_index(["crawl_i", "crawl_j"])["intersection"]
    found = damaged["containment"].set_index(["crawl_i", "crawl_j"])["intersection"]
    assert found.to_dict() == pairs.loc[found.index].to_dict()
    assert len(found) == 6

    assert update(other)["quarantine"]["crawl"].tolist() == [other]
    assert len(alerts()) == 1
    mended = update()
    assert mended["quarantine"].empty
    for name in OBSERVABLES:
        assert mended[name].equals(whole[name])
    assert len(alerts()) == 1


def test_crawl_that_only_a_run_finds_damaged_is_set_aside(tmp_path):
    crawls = [f"CC-MAIN-2024-{week}" for week in (10, 18, 22, 26)]
    (tmp_path / "c.csv").write_text("id,from\n" + "".join(f"{one},2024-0{n}-01\n" for n, one in enumerate(crawls, 1)))
    for number, crawl in enumerate(crawls):
        for part, element in enumerate(("a.org", f"{number}.org")):
            content = bz2.compress(f'[3, "{element}", {number}]\t1\n'.encode())
            (tmp_path / f"{crawl}_{part:05}.bz2").write_bytes(content)
    source = {"type": "common_crawl_counts", "path": str(tmp_path / "{crawl}_{part}.bz2"), "parts": 2}
    source["calendar"] = str(tmp_path / "c.csv")
    pipeline = Pipeline(Collection(name="counted", granularity="domain", source=source), tmp_path)
    bad = tmp_path / f"{crawls[1]}_00001.bz2"
    content = bad.read_bytes()
    bad.write_bytes(content[:-9])

    def update():
        follow_sensor(pipeline)
        keys = pipeline.instance.get_materialized_partitions(dg.AssetKey(["counted", "presence"]))
        tables = pipeline.tables("crawls", "quarantine")
        assert sorted(keys) == sorted(pipeline.instance.get_dynamic_partitions("counted_crawls"))
        return [tables[name]["crawl"].tolist() for name in ("crawls", "quarantine")]

    readable = [crawl for crawl in crawls if crawl != crawls[1]]
    assert update() == [readable, [crawls[1]]]
    assert f"set aside: {crawls[1]}." in sensor_message(pipeline)
    runs = pipeline.instance.get_runs_count()
    assert update() == [readable, [crawls[1]]]
    assert pipeline.instance.get_runs_count() == runs  # it is not read again
    bad.write_bytes(content)
    assert update() == [crawls, []]
