"""Declarative automation: conditions of the assets materialise each crawl and revision once."""

from collections import Counter
from datetime import datetime, timedelta, timezone

import dagster as dg
import pytest

from crawl_urn_dagster import AssetOptions, build_defs
from crawl_urn_dagster.observables.schema import COMPLETE
from crawl_urn_dagster.orchestration import announcements
from crawl_urn_dagster.orchestration.asset_keys import FINGERPRINT, asset_name
from crawl_urn_dagster.orchestration.build import _customised
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.orchestration.run_processes import INTERRUPTED
from crawl_urn_dagster.sources import InputFile, fingerprint
from crawl_urn_dagster_tests.collections_for_tests import histories, lists_collection, tables_collection, write_list
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES

SETTINGS = {"mode": "declarative", "look_every_seconds": 1, "first_wait_seconds": 900}
CRAWLS = ("2024-01-01", "2024-02-01", "2024-03-01")


class Daemon:
    """The sensors of a collection, ticked by hand on an instance, and the runs that they request."""

    def __init__(self, collection, folder, options=None):
        self.collection, self.cursor = collection, None
        self.instance = dg.DagsterInstance.ephemeral()
        self.folder = str(folder / "home")
        self.defs = build_defs([collection], home=self.folder, options=options)
        self.job = self.defs.resolve_implicit_global_asset_job_def()
        self.selection = dg.AssetSelection.all()

    def evaluate_only_observables(self):
        """Evaluate the conditions of presence and observables only, which takes a third of the time."""
        keys = self.defs.resolve_asset_graph().materializable_asset_keys
        kept = [key for key in keys if self.name(key) not in ALL_BUT_OBSERVABLES | {COMPLETE.name}]
        self.selection = dg.AssetSelection.assets(*kept)

    def poll(self):
        """Tick the sensor that polls the source; return the events that it reported."""
        with dg.build_sensor_context(
            instance=self.instance, definitions=self.defs, resources=self.defs.resources
        ) as context:
            tick = self.defs.resolve_sensor_def(f"{self.collection.name}_new_crawl").evaluate_tick(context)
        assert not tick.run_requests
        for request in tick.dynamic_partitions_requests or []:
            change = (
                self.instance.add_dynamic_partitions
                if isinstance(request, dg.AddDynamicPartitionsRequest)
                else lambda name, keys: [self.instance.delete_dynamic_partition(name, key) for key in keys]
            )
            change(request.partitions_def_name, request.partition_keys)
        for event in tick.asset_events:
            self.instance.report_runless_asset_event(event)
        self.message = tick.skip_message
        return list(tick.asset_events)

    def request(self):
        """Evaluate the conditions once, and return the result."""
        result = dg.evaluate_automation_conditions(
            self.defs, self.instance, asset_selection=self.selection, cursor=self.cursor
        )
        self.cursor = result.cursor
        return result

    def evaluate(self):
        """Evaluate the conditions once, and run what they request; return the requested assets by their last part."""
        result = self.request()
        requested = Counter()
        partitions = set()
        unpartitioned = []
        for found in result.results:
            subset = found.true_subset
            if subset.is_empty or not isinstance(subset.key, dg.AssetKey):
                continue
            requested[subset.key.path[-1]] += subset.size
            if subset.is_partitioned:
                partitions |= {one.partition_key for one in subset.expensively_compute_asset_partitions()}
                presence = subset.key
            else:
                unpartitioned.append(subset.key)
        for partition in sorted(partitions):
            assert self.job.execute_in_process(
                instance=self.instance, asset_selection=[presence], partition_key=partition
            ).success
        kept = [key for key in unpartitioned if self.name(key) not in ALL_BUT_OBSERVABLES | {COMPLETE.name}]
        if kept:
            assert self.job.execute_in_process(instance=self.instance, asset_selection=kept).success
        # The other assets take most of the time of an update; events stand for them.
        home = CollectionHome(self.folder, self.collection.name)
        for key in {*unpartitioned} - {*kept}:
            metadata = {}
            if self.name(key) == "report":
                inputs = home.observables.read("inputs").itertuples(index=False)
                metadata = {FINGERPRINT: fingerprint(tuple(InputFile(*row) for row in inputs))}
            self.instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata=metadata))
        return requested

    def settle(self):
        """Poll and evaluate until nothing is requested; return how often each asset was requested."""
        total = Counter()
        for _ in range(8):
            self.poll()
            requested = self.evaluate()
            total += requested
            if not requested:
                return total
        raise AssertionError(f"still requested: {requested}")

    def name(self, key):
        return asset_name(self.collection, key)

    def materialisations(self, *key):
        records = self.instance.fetch_materializations(dg.AssetKey(key), limit=100).records
        return Counter(record.partition_key for record in records)


@pytest.fixture
def lists(tmp_path, monkeypatch):
    """Three lists, nothing materialised, and no wait for the conditions."""
    monkeypatch.setattr(announcements, "_FOLLOWED_WITHIN", timedelta(0))
    for crawl in CRAWLS:
        write_list(tmp_path, crawl, ["a", "b", crawl])
    return Daemon(lists_collection(tmp_path, automation=SETTINGS), tmp_path)


@pytest.mark.slow
def test_each_crawl_and_revision_is_materialised_once(lists, tmp_path):
    requested = lists.settle()
    assert lists.materialisations("split", "presence") == Counter(dict.fromkeys(CRAWLS, 1))
    assert requested["crawls"] == requested["report"] == 1

    assert lists.settle() == Counter()
    assert "Nothing new" in lists.message

    write_list(tmp_path, "2024-04-01", ["a", "b", "new"])
    write_list(tmp_path, CRAWLS[1], ["a", "revised"])
    requested = lists.settle()
    assert requested["crawls"] == requested["report"] == 1
    assert lists.materialisations("split", "presence") == {CRAWLS[0]: 1, CRAWLS[1]: 2, CRAWLS[2]: 1, "2024-04-01": 1}
    assert lists.settle() == Counter()

    lists.cursor = None  # the sensor was reset
    assert lists.settle() == Counter()
    write_list(tmp_path, "2024-05-01", ["a", "b", "newer"])
    lists.poll()
    lists.cursor = None
    assert lists.settle()["crawls"] == 1
    assert lists.materialisations("split", "presence")["2024-05-01"] == 1
    assert lists.settle() == Counter()


@pytest.mark.slow
def test_conditions_may_be_evaluated_before_the_first_poll(lists):
    lists.evaluate_only_observables()
    assert lists.evaluate() == Counter()
    lists.settle()
    assert lists.materialisations("split", "presence") == Counter(dict.fromkeys(CRAWLS, 1))
    assert lists.materialisations("split", "crawls") == {None: 1}


@pytest.mark.slow
def test_withdrawn_crawl_updates_the_tables_and_ingests_nothing(lists, tmp_path):
    lists.evaluate_only_observables()
    lists.settle()
    (tmp_path / "lists" / f"{CRAWLS[0]}.csv").unlink()
    requested = lists.settle()
    assert requested["crawls"] == 1
    assert requested["presence"] == 0
    home = CollectionHome(lists.folder, "split")
    assert home.observables.read("crawls")["crawl"].tolist() == list(CRAWLS[1:])


@pytest.mark.slow
def test_revision_of_published_tables_updates_once(tmp_path):
    daemon = Daemon(tables_collection(tmp_path, histories(4), automation=SETTINGS), tmp_path)
    assert daemon.evaluate() == Counter()
    requested = daemon.settle()
    assert requested["crawls"] == requested["containment"] == requested["report"] == 1
    assert daemon.settle() == Counter()
    tables_collection(tmp_path, histories(4, seed=8), automation=SETTINGS)
    requested = daemon.settle()
    assert requested["crawls"] == requested["report"] == 1
    assert daemon.materialisations("tabled", "crawls") == {None: 2}


@pytest.mark.slow
def test_renamed_assets_are_automated_too(tmp_path, monkeypatch):
    monkeypatch.setattr(announcements, "_FOLLOWED_WITHIN", timedelta(0))
    for crawl in CRAWLS:
        write_list(tmp_path, crawl, ["a", "b", crawl])
    options = AssetOptions(translate=lambda spec, name: spec.replace_attributes(key=["web", f"{name}_of_split"]))
    daemon = Daemon(lists_collection(tmp_path, automation=SETTINGS), tmp_path, options)
    daemon.collection = _customised(daemon.collection, daemon.folder, options)
    requested = daemon.settle()
    assert daemon.materialisations("web", "presence_of_split") == Counter(dict.fromkeys(CRAWLS, 1))
    assert requested["crawls_of_split"] == requested["report_of_split"] == 1
    assert daemon.settle() == Counter()


def test_announcement_without_effect_is_repeated(lists, monkeypatch):
    assert len(lists.poll()) == len(CRAWLS)
    assert lists.poll() == []
    now = datetime.now(timezone.utc)
    announced = []
    # The events have the time of the test, so the waits of 15 min, 1 h and 4 h count from it.
    for hours in (0.2, 0.3, 0.4, 0.9, 1.1, 3.9, 4.1, 100):
        monkeypatch.setattr(announcements, "_now", lambda hours=hours: now + timedelta(hours=hours))
        announced += [hours] * bool(lists.poll())
    assert announced == [0.3, 1.1, 4.1]
    assert "of which 0 are announced now" in lists.message


def test_nothing_is_announced_while_a_run_is_in_progress(lists):
    run = lists.instance.create_run_for_job(
        lists.job,
        status=dg.DagsterRunStatus.STARTED,
        asset_selection={dg.AssetKey(["split", "presence"])},
    )
    assert lists.poll() == []
    assert f"Run {run.run_id} is in progress" in lists.message


def test_sensors_of_both_modes(tmp_path):
    names = {}
    for mode in ("sensor", "declarative"):
        defs = build_defs([lists_collection(tmp_path, automation={"mode": mode})])
        names[mode] = {sensor.name for sensor in defs.sensors}
        external = {spec.key.path[-1] for spec in defs.resolve_all_asset_specs()} & {"source", "source_crawls"}
        assert external == ({"source", "source_crawls"} if mode == "declarative" else set())
    assert names["sensor"] - names["declarative"] == {"split_ingested"}
    assert names["declarative"] - names["sensor"] == {"split_automation"}


@pytest.mark.slow
def test_work_of_an_interrupted_run_is_announced_again(lists, tmp_path, monkeypatch):
    """A run of conditions was killed with the machine after the conditions had requested it."""
    lists.evaluate_only_observables()
    lists.settle()
    write_list(tmp_path, "2024-04-01", ["a", "b", "new"])
    lists.poll()
    (presence,) = [found.true_subset.key for found in lists.request().results if not found.true_subset.is_empty]
    tags = {"dagster/partition": "2024-04-01"}
    keys = frozenset({presence})
    started = dg.DagsterRun("__ASSET_JOB", status=dg.DagsterRunStatus.STARTED, asset_selection=keys, tags=tags)
    run = lists.instance.add_run(started)
    assert lists.evaluate() == Counter()

    def interrupted_sensor():
        with dg.build_sensor_context(instance=lists.instance, definitions=lists.defs) as context:
            return lists.defs.resolve_sensor_def("_interrupted_runs_split").evaluate_tick(context).asset_events

    assert interrupted_sensor() == []
    lists.instance.add_run_tags(run.run_id, {INTERRUPTED: run.run_id})
    lists.instance.report_run_failed(run)
    (event,) = interrupted_sensor()
    assert (event.asset_key.path[-1], event.partition) == ("source_crawls", "2024-04-01")
    lists.instance.report_runless_asset_event(event)
    assert interrupted_sensor() == []
    assert lists.settle()["crawls"] == 1
    assert lists.materialisations("split", "presence")["2024-04-01"] == 1
