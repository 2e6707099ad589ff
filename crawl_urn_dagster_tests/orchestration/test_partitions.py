"""Presence partitions on a real instance: which crawls are ingested, and in which runs."""

from dataclasses import replace
from itertools import pairwise

import dagster as dg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.orchestration.partitions import INGEST, plan_ingest
from crawl_urn_dagster.sources.calendar import check_label
from crawl_urn_dagster_tests.collections_for_tests import lists_collection, write_list
from crawl_urn_dagster_tests.pipeline import Pipeline

START, END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
CRAWLS = [f"2024-{month:02}" for month in range(1, 7)]


def ranges(found):
    return [(tags[START], tags[END]) for tags in found.run_tags]


def create_pipeline(folder, crawls=CRAWLS, **configured):
    for crawl in crawls:
        write_list(folder, crawl, ["a", "b", crawl])
    return Pipeline(lists_collection(folder, **configured), folder)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    pipeline = create_pipeline(tmp_path_factory.mktemp("ingested"))
    pipeline.ingest()
    return pipeline


@pytest.fixture
def pipeline(tmp_path):
    pipeline = create_pipeline(tmp_path)
    pipeline.ingest()
    return pipeline


def inodes(pipeline):
    return {path.stem: path.stat().st_ino for path in pipeline.home.presence.folder.glob("[!.]*")}


def test_new_crawls_are_ingested_in_one_run(tmp_path):
    pipeline = create_pipeline(tmp_path)
    found = pipeline.plan_ingest()
    assert list(found.crawls) == list(found.new_crawls) == CRAWLS
    assert ranges(found) == [(CRAWLS[0], CRAWLS[-1])]
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == []  # planned, but not yet added
    (result,) = pipeline.ingest()
    assert result.success
    assert len([event for event in result.all_events if event.is_step_success]) == 1
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == CRAWLS
    assert pipeline.instance.get_materialized_partitions(dg.AssetKey(["split", "presence"])) == set(CRAWLS)
    assert pipeline.plan_ingest() is None


def test_run_without_chosen_partitions_ingests_all_crawls(tmp_path):
    pipeline = create_pipeline(tmp_path)
    assert pipeline.execute("ingest").success
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == CRAWLS
    assert_metadata_describe_partitions(pipeline)
    assert pipeline.plan_ingest() is None
    write_list(tmp_path, "2024-07", ["a"])
    assert pipeline.execute("ingest").success
    assert pipeline.plan_ingest() is None


def test_metadata_describe_partitions(ingested):
    assert_metadata_describe_partitions(ingested)


def assert_metadata_describe_partitions(ingested):
    records = ingested.instance.fetch_materializations(dg.AssetKey(["split", "presence"]), limit=100).records
    metadata = {record.partition_key: record.asset_materialization.metadata for record in records}
    assert sorted(metadata) == CRAWLS
    for crawl in CRAWLS:
        partition = ingested.home.presence.read(crawl)
        stated = {name: value.value for name, value in metadata[crawl].items()}
        assert (stated["dagster/row_count"], stated["elements"], stated["sample_one_in"]) == (3, 3, 1)
        assert (stated["revision"], stated["path"]) == (partition.revision, str(partition.path))


def test_late_crawl_is_appended_in_its_own_run(pipeline, tmp_path):
    write_list(tmp_path, "2024-02-15", ["a", "late"])
    before = inodes(pipeline)
    found = pipeline.plan_ingest()
    assert (found.crawls, found.new_crawls) == (("2024-02-15",), ("2024-02-15",))
    assert ranges(found) == [("2024-02-15", "2024-02-15")]
    assert all(result.success for result in pipeline.ingest())
    assert pipeline.instance.get_dynamic_partitions("split_crawls") == [*CRAWLS, "2024-02-15"]
    assert {**inodes(pipeline), **before} == inodes(pipeline)


def test_only_the_revised_crawl_is_ingested(pipeline, tmp_path):
    write_list(tmp_path, CRAWLS[2], ["a", "c"])
    before = inodes(pipeline)
    found = pipeline.plan_ingest()
    assert (found.crawls, found.new_crawls) == ((CRAWLS[2],), ())
    pipeline.ingest()
    changed = {crawl for crawl, inode in inodes(pipeline).items() if inode != before[crawl]}
    assert changed == {CRAWLS[2]}
    assert pipeline.home.presence.read(CRAWLS[2]).rows == 2


def test_deleted_file_is_ingested_again(pipeline):
    pipeline.home.presence.read(CRAWLS[4]).path.unlink()
    assert pipeline.plan_ingest().crawls == (CRAWLS[4],)
    pipeline.ingest()
    assert pipeline.home.presence.read(CRAWLS[4]).rows == 3
    assert pipeline.plan_ingest() is None


def test_current_file_is_materialised_without_rewriting(pipeline, tmp_path):
    """Another instance uses the same home folder."""
    other = Pipeline(pipeline.collection, tmp_path / "other")
    other.home = pipeline.home
    other.configure(pipeline.collection)
    before = inodes(pipeline)
    assert other.plan_ingest().crawls == tuple(CRAWLS)
    assert all(result.success for result in other.ingest())
    assert inodes(pipeline) == before
    assert other.plan_ingest() is None


def test_other_sampling_fraction_is_ingested_again(pipeline):
    whole = pipeline.plan_ingest()
    pipeline.configure(pipeline.collection.model_copy(update={"sample_one_in": 2}))
    found = pipeline.plan_ingest()
    assert whole is None
    assert found.crawls == tuple(CRAWLS)
    pipeline.ingest()
    assert {pipeline.home.presence.read(crawl).one_in for crawl in CRAWLS} == {2}


def test_withdrawn_crawl_is_not_ingested(pipeline, tmp_path):
    (tmp_path / "lists" / f"{CRAWLS[1]}.csv").unlink()
    assert pipeline.plan_ingest() is None
    for crawl in (CRAWLS[0], CRAWLS[2]):
        write_list(tmp_path, crawl, ["revised"])
    assert ranges(pipeline.plan_ingest()) == [(CRAWLS[0], CRAWLS[0]), (CRAWLS[2], CRAWLS[2])]
    assert all(result.success for result in pipeline.ingest())

    assert not pipeline.execute("ingest", {START: CRAWLS[0], END: CRAWLS[2]}).success
    assert f"the source does not list {CRAWLS[1]}" in pipeline.outcome.errors[0]


@given(revised=st.sets(st.sampled_from(CRAWLS)), new=st.sets(st.sampled_from(["2023-05", "2024-02-10", "2025-01"])))
@settings(max_examples=40)
def test_runs_are_unbroken_ranges_of_the_missing_crawls(ingested, revised, new):
    listing = ingested.collection.source.list_crawls(ingested.home.files, ingested.collection.selection)
    revisions = {crawl: "another" if crawl in revised else listing.revisions[crawl] for crawl in CRAWLS}
    revisions = dict(sorted({**revisions, **dict.fromkeys(new, "first")}.items()))
    found = plan_ingest(ingested.instance, ingested.collection, ingested.home, replace(listing, revisions=revisions))
    wanted = revised | new
    if not wanted:
        assert found is None
        return
    assert set(found.crawls) == wanted
    assert set(found.new_crawls) == new
    # Dagster orders a range by when its partitions were added.
    ordered = [*CRAWLS, *found.new_crawls]
    positions = [(ordered.index(first), ordered.index(last)) for first, last in ranges(found)]
    assert [one for first, last in positions for one in ordered[first : last + 1]] == [
        crawl for crawl in ordered if crawl in wanted
    ]
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(positions))
    assert {tags[INGEST] for tags in found.run_tags} == {found.fingerprint}


def test_fingerprint_depends_on_revisions_and_sampling(ingested):
    listing = ingested.collection.source.list_crawls(ingested.home.files, ingested.collection.selection)

    def fingerprint(sample_one_in=1, **changed):
        collection = ingested.collection.model_copy(update={"sample_one_in": sample_one_in})
        revisions = {**listing.revisions, **changed}
        return plan_ingest(
            ingested.instance, collection, ingested.home, replace(listing, revisions=revisions)
        ).fingerprint

    fingerprints = [
        fingerprint(**{CRAWLS[0]: "x"}),
        fingerprint(**{CRAWLS[0]: "y"}),
        fingerprint(**{CRAWLS[1]: "x"}),
        fingerprint(sample_one_in=2),
        fingerprint(sample_one_in=4),
    ]
    assert len(set(fingerprints)) == len(fingerprints)
    assert fingerprint(**{CRAWLS[0]: "x"}) == fingerprints[0]


LABELS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._:+ -]{0,62}[A-Za-z0-9._:+-])?", fullmatch=True)


@given(label=LABELS.filter(lambda text: "..." not in text))
def test_every_label_names_a_partition_and_a_file(ingested, label):
    check_label(label, "here")
    ingested.instance.add_dynamic_partitions("labels", [label])
    assert ingested.instance.has_dynamic_partition("labels", label)
    folder = PresenceFolder(ingested.home.path / "labels")
    list(folder.write([], {label: "1"}))
    assert folder.read(label).crawl == label


@pytest.mark.slow
# Dagster #21333 and #18145: special characters in keys break ranges of partitions and paths of files.
def test_labels_equal_after_cleaning_are_different_crawls(tmp_path):
    labels = [f"a{sign}b" for sign in (" ", "-", "--", "_", "..", ":", "+")] + ["x" * 64]
    crawls = [f"{label},element {number}\n" for number, label in enumerate(labels)]
    (tmp_path / "crawls.csv").write_text("crawl,element\n" + "".join(crawls))
    dates = [f"{label},20{number:02}-01-01\n" for number, label in enumerate(labels)]
    (tmp_path / "calendar.csv").write_text("id,from\n" + "".join(dates))
    source = {"type": "presence_list", "path": str(tmp_path / "crawls.csv"), "calendar": str(tmp_path / "calendar.csv")}
    collection = {"name": "odd", "granularity": "other", "source": source}
    pipeline = Pipeline(Collection.model_validate(collection), tmp_path)
    pipeline.ingest()
    assert pipeline.plan_ingest() is None
    assert sorted(pipeline.instance.get_dynamic_partitions("odd_crawls")) == sorted(labels)
    content = [pipeline.home.presence.read(label).content for label in labels]
    assert len(set(content)) == len(labels)
    # A range of partitions in the tags of a run contains exactly the crawls between its ends.
    for label in labels[1::2]:
        pipeline.home.presence.read(label).path.unlink()
    found = pipeline.plan_ingest()
    assert found.crawls == tuple(labels[1::2])
    for tags in found.run_tags:
        assert pipeline.execute("ingest", tags).success
    assert pipeline.plan_ingest() is None
    assert [pipeline.home.presence.read(label).content for label in labels] == content
