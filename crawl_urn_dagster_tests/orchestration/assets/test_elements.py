"""Assets of single elements, and the check of their losses."""

import dagster as dg
import duckdb
import pytest

from crawl_urn_dagster.observables.keys import element_keys
from crawl_urn_dagster.observables.schema import ELEMENTS, FILES, TABLES
from crawl_urn_dagster.orchestration.assets.elements import ELEMENT_TABLES
from crawl_urn_dagster.orchestration.assets.estimates import INFERENCE_TABLES
from crawl_urn_dagster_tests.collections_for_tests import histories, labels, presence_collection, presence_of
from crawl_urn_dagster_tests.orchestration.checks.running import Broken, run_checks
from crawl_urn_dagster_tests.pipeline import ALL_BUT_FITS, Pipeline

WITHOUT = (ALL_BUT_FITS | {"headline"}) - {"elements", *ELEMENT_TABLES}
UNCHANGED = {"parameters", "operator_terms", *INFERENCE_TABLES, "headline"}


def test_elements_are_a_file_that_duckdb_reads(listed):
    elements = duckdb.read_parquet(str(listed.home.elements)).df()
    crawls = presence_of(histories())
    every = set().union(*crawls.values())
    assert tuple(elements.columns) == ELEMENTS.column_names
    assert sorted(elements["key"]) == elements["key"].tolist() == sorted(element_keys(list(every)).tolist())
    assert elements.loc[elements["last_crawl"] == labels()[-1], "p_eligible"].eq(1).all()


def test_metadata_has_rows_preview_status_and_lineage(listed):
    metadata = listed.metadata("elements")
    assert metadata["dagster/row_count"] == len(duckdb.read_parquet(str(listed.home.elements)).df())
    assert metadata["status"] == "ok"
    assert metadata["as_of"] == labels()[-1]
    assert "p_eligible" in metadata["first_rows"]
    assert "p_eligible" in metadata["dagster/column_lineage"].deps_by_column
    reseed = listed.metadata("reseed")
    assert reseed["expected_yield"] == pytest.approx(listed.home.observables.read("reseed")["score"].sum())


def test_every_table_has_a_schema_and_depends_on_all_partitions(listed):
    layer = listed.defs.resolve_asset_graph()
    for name in ("elements", *ELEMENT_TABLES):
        node = layer.get(dg.AssetKey([listed.collection.name, name]))
        columns = node.metadata["dagster/column_schema"].columns
        assert [column.name for column in columns] == list((TABLES | FILES)[name].column_names)
        presence = dg.AssetKey([listed.collection.name, "presence"])
        assert isinstance(node.partition_mappings[presence], dg.AllPartitionMapping)


def test_concentrated_loss_fails_the_check(listed):
    passed = run_checks(listed, "losses_are_spread")["losses_are_spread"]
    assert passed.passed
    losses = {"group_by": "stem", "group": "a.org", "expected": 50, "lost": 40, "share_of_expected": 0.1}

    def change(table):
        row = table[:0].reindex([0])
        return row.assign(**losses, share_of_lost=0.8, p_value=1e-9, concentrated=True)

    with Broken(listed, "losses_by_group", change):
        failed = run_checks(listed, "losses_are_spread")["losses_are_spread"]
    assert not failed.passed
    assert "a.org" in failed.metadata["worst"].value


@pytest.mark.slow
def test_earlier_crawl_and_texts_follow_the_settings(tmp_path):
    simulated = histories(10, urn=400)
    collection = presence_collection(tmp_path, simulated, keep_elements=True)
    pipeline = Pipeline(collection, tmp_path)
    assert pipeline.run(without=WITHOUT).success, pipeline.outcome.errors
    reseed = pipeline.home.observables.read("reseed")
    assert (element_keys(reseed["element"].to_numpy()) == reseed["key"]).all()
    earlier = labels(10)[8]
    settings = {"as_of": earlier, "missed_crawls": 2, "list_rows": 7}
    pipeline.configure(presence_collection(tmp_path, simulated, elements=settings))
    # Whoever turns keep_elements off wants no texts on disk, even if no crawl is read again.
    pipeline.execute("ingest")
    assert not pipeline.home.names.folder.exists()
    assert pipeline.execute("update", without=WITHOUT | UNCHANGED).success, pipeline.outcome.errors
    reseed = pipeline.home.observables.read("reseed")
    assert len(reseed) == 7
    assert reseed["element"].isna().all()
    assert reseed["last_crawl"].max() < labels(10)[7]
    assert pipeline.metadata("elements")["as_of"] == earlier
