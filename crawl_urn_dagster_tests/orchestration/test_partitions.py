"""Partitions of presence on a real instance: which crawls are to be ingested, and in which runs."""

from dataclasses import replace
from itertools import pairwise

import dagster as dg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.orchestration.partitions import INGEST, find_ingest
from crawl_urn_dagster.sources.calendar import check_label
from crawl_urn_dagster_tests.collections_for_tests import lists_collection, write_list
from crawl_urn_dagster_tests.pipeline import Pipeline

START, END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
CRAWLS = [f"2024-{month:02}" for month in range(1, 7)]


def ranges(found):
    return [(tags[START], tags[END]) for tags in found.runs]


def line_of(folder, crawls=CRAWLS, **configured):
    for crawl in crawls:
        write_list(folder, crawl, ["a", "b", crawl])
    return Pipeline(lists_collection(folder, **configured), folder)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    pipeline = line_of(tmp_path_factory.mktemp("ingested"))
    pipeline.ingest()
    return pipeline


@pytest.fixture
def pipeline(tmp_path):
    pipeline = line_of(tmp_path)
    pipeline.ingest()
    return pipeline


def inodes(pipeline):
    return {path.stem: path.stat().st_ino for path in pipeline.home.presence.folder.glob("[!.]*")}


def test_new_crawls_are_ingested_in_one_run(tmp_path):
    pipeline = line_of(tmp_path)
    found = pipeline.find_ingest()
    assert list(found.crawls) == list(found.new) == CRAWLS
    assert ranges(found) == [(CRAWLS[0], CRAWLS[-1])]
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == []  # found, and not yet added
    (result,) = pipeline.ingest()
    assert result.success
    assert len([event for event in result.all_events if event.is_step_success]) == 1
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == CRAWLS
    assert pipeline.instance.get_materialized_partitions(dg.AssetKey(["split", "presence"])) == set(CRAWLS)
    assert pipeline.find_ingest() is None


def test_a_run_without_chosen_partitions_ingests_all_that_the_source_lists(tmp_path):
    pipeline = line_of(tmp_path)
    assert pipeline.execute("ingest").success
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == CRAWLS
    assert_each_partition_says_what_it_holds(pipeline)
    assert pipeline.find_ingest() is None
    write_list(tmp_path, "2024-07", ["a"])
    assert pipeline.execute("ingest").success
    assert pipeline.find_ingest() is None


def test_each_partition_says_what_it_holds(ingested):
    assert_each_partition_says_what_it_holds(ingested)


def assert_each_partition_says_what_it_holds(ingested):
    records = ingested.instance.fetch_materializations(dg.AssetKey(["split", "presence"]), limit=100).records
    metadata = {record.partition_key: record.asset_materialization.metadata for record in records}
    assert sorted(metadata) == CRAWLS
    for crawl in CRAWLS:
        partition = ingested.home.presence.read(crawl)
        stated = {name: value.value for name, value in metadata[crawl].items()}
        assert (stated["dagster/row_count"], stated["elements"], stated["sample_one_in"]) == (3, 3, 1)
        assert (stated["revision"], stated["path"]) == (partition.revision, str(partition.path))


def test_a_late_crawl_is_appended_and_alone_in_its_run(pipeline, tmp_path):
    write_list(tmp_path, "2024-02-15", ["a", "late"])
    before = inodes(pipeline)
    found = pipeline.find_ingest()
    assert (found.crawls, found.new) == (("2024-02-15",), ("2024-02-15",))
    assert ranges(found) == [("2024-02-15", "2024-02-15")]
    assert all(result.success for result in pipeline.ingest())
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == [*CRAWLS, "2024-02-15"]
    assert {**inodes(pipeline), **before} == inodes(pipeline)


def test_a_revised_crawl_is_ingested_alone(pipeline, tmp_path):
    write_list(tmp_path, CRAWLS[2], ["a", "c"])
    before = inodes(pipeline)
    found = pipeline.find_ingest()
    assert (found.crawls, found.new) == ((CRAWLS[2],), ())
    pipeline.ingest()
    changed = {crawl for crawl, inode in inodes(pipeline).items() if inode != before[crawl]}
    assert changed == {CRAWLS[2]}
    assert pipeline.home.presence.read(CRAWLS[2]).rows == 2


def test_a_lost_file_is_ingested_again(pipeline):
    pipeline.home.presence.read(CRAWLS[4]).path.unlink()
    assert pipeline.find_ingest().crawls == (CRAWLS[4],)
    pipeline.ingest()
    assert pipeline.home.presence.read(CRAWLS[4]).rows == 3
    assert pipeline.find_ingest() is None


def test_what_is_up_to_date_is_materialised_without_being_written_again(pipeline, tmp_path):
    """As with another instance on the same home folder."""
    other = Pipeline(pipeline.collection, tmp_path / "other")
    other.home = pipeline.home
    other.configure(pipeline.collection)
    before = inodes(pipeline)
    assert other.find_ingest().crawls == tuple(CRAWLS)
    assert all(result.success for result in other.ingest())
    assert inodes(pipeline) == before
    assert other.find_ingest() is None


def test_another_sample_is_ingested_anew_as_another_content(pipeline):
    whole = pipeline.find_ingest()
    pipeline.configure(pipeline.collection.model_copy(update={"sample_one_in": 2}))
    found = pipeline.find_ingest()
    assert whole is None
    assert found.crawls == tuple(CRAWLS)
    pipeline.ingest()
    assert {pipeline.home.presence.read(crawl).one_in for crawl in CRAWLS} == {2}


def test_a_crawl_that_is_not_listed_any_more_is_left_alone(pipeline, tmp_path):
    (tmp_path / "lists" / f"{CRAWLS[1]}.csv").unlink()
    assert pipeline.find_ingest() is None
    for crawl in (CRAWLS[0], CRAWLS[2]):
        write_list(tmp_path, crawl, ["revised"])
    assert ranges(pipeline.find_ingest()) == [(CRAWLS[0], CRAWLS[0]), (CRAWLS[2], CRAWLS[2])]
    assert all(result.success for result in pipeline.ingest())

    assert not pipeline.execute("ingest", {START: CRAWLS[0], END: CRAWLS[2]}).success
    assert f"the source does not list {CRAWLS[1]}" in pipeline.outcome.errors[0]


@given(revised=st.sets(st.sampled_from(CRAWLS)), new=st.sets(st.sampled_from(["2023-05", "2024-02-10", "2025-01"])))
@settings(max_examples=40)
def test_runs_are_unbroken_ranges_of_all_that_is_wanted_and_nothing_else(ingested, revised, new):
    listing = ingested.collection.source.list_crawls(ingested.home.files, ingested.collection.selection)
    revisions = {crawl: "another" if crawl in revised else listing.revisions[crawl] for crawl in CRAWLS}
    revisions = dict(sorted({**revisions, **dict.fromkeys(new, "first")}.items()))
    found = find_ingest(ingested.instance, ingested.collection, ingested.home, replace(listing, revisions=revisions))
    wanted = revised | new
    if not wanted:
        assert found is None
        return
    assert set(found.crawls) == wanted
    assert set(found.new) == new
    # Dagster takes a range in the order in which partitions were added.
    ordered = [*CRAWLS, *found.new]
    positions = [(ordered.index(first), ordered.index(last)) for first, last in ranges(found)]
    assert [one for first, last in positions for one in ordered[first : last + 1]] == [
        crawl for crawl in ordered if crawl in wanted
    ]
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(positions))
    assert {tags[INGEST] for tags in found.runs} == {found.content}


def test_the_content_is_of_what_is_asked_for(ingested):
    listing = ingested.collection.source.list_crawls(ingested.home.files, ingested.collection.selection)

    def content(sample_one_in=1, **changed):
        collection = ingested.collection.model_copy(update={"sample_one_in": sample_one_in})
        revisions = {**listing.revisions, **changed}
        return find_ingest(ingested.instance, collection, ingested.home, replace(listing, revisions=revisions)).content

    asked = [
        content(**{CRAWLS[0]: "x"}),
        content(**{CRAWLS[0]: "y"}),
        content(**{CRAWLS[1]: "x"}),
        content(sample_one_in=2),
        content(sample_one_in=4),
    ]
    assert len(set(asked)) == len(asked)
    assert content(**{CRAWLS[0]: "x"}) == asked[0]


LABELS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._:+ -]{0,62}[A-Za-z0-9._:+-])?", fullmatch=True)


@given(label=LABELS.filter(lambda text: "..." not in text))
def test_every_label_of_a_crawl_names_a_partition_and_a_file(ingested, label):
    check_label(label, "here")
    ingested.instance.add_dynamic_partitions("labels", [label])
    assert ingested.instance.has_dynamic_partition("labels", label)
    folder = PresenceFolder(ingested.home.path / "labels")
    list(folder.write([], {label: "1"}))
    assert folder.read(label).crawl == label
