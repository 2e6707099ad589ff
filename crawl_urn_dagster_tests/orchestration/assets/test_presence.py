"""Ingest of lists into partitions."""

from crawl_urn_dagster.observables.keys import element_keys, first_key
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    presence_collection,
    presence_of,
)
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, Pipeline


def test_only_selected_crawls_are_ingested(tmp_path):
    pipeline = Pipeline(presence_collection(tmp_path, last_crawl="2020-03-02"), tmp_path)
    pipeline.run(without=ALL_BUT_OBSERVABLES)
    selected = ["2020-01-06", "2020-02-03", "2020-03-02"]
    assert pipeline.home.observables.read("crawls")["crawl"].tolist() == selected
    assert sorted(path.stem for path in pipeline.home.presence.folder.glob("*.parquet")) == selected


def test_sample_has_the_same_elements_in_every_crawl(tmp_path):
    simulated = histories(6, urn=1_000)
    pipeline = Pipeline(presence_collection(tmp_path, simulated, sample_one_in=4), tmp_path)
    pipeline.run(without=ALL_BUT_OBSERVABLES)
    kept = {
        crawl: {text for text, key in zip(texts, element_keys(texts), strict=True) if key < first_key(1, 4)}
        for crawl, texts in presence_of(simulated).items()
    }
    assert pipeline.home.observables.read("crawls")["elements"].tolist() == [4 * len(some) for some in kept.values()]
    pairs = pipeline.home.observables.read("containment")
    assert pairs["intersection"].tolist() == [
        4 * len(kept[pair.crawl_i] & kept[pair.crawl_j]) for pair in pairs.itertuples()
    ]
    assert (pairs["containment_low"] < pairs["containment"]).all()
    assert (pairs["containment"] < pairs["containment_high"]).all()


def test_missing_source_is_an_error_that_names_it(tmp_path):
    collection = presence_collection(tmp_path)
    (tmp_path / "listed.csv.gz").unlink()
    pipeline = Pipeline(collection, tmp_path)
    pipeline.add_partitions(["2020-01-06"])
    one = {"dagster/asset_partition_range_start": "2020-01-06", "dagster/asset_partition_range_end": "2020-01-06"}
    for job, tags, step in (("ingest", one, "listed__ingest"), ("update", {}, "listed__crawls")):
        assert not pipeline.execute(job, tags).success
        (error,) = pipeline.outcome.errors
        assert step in error
        assert "listed.csv.gz" in error
