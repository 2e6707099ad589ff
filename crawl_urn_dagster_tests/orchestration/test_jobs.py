"""Jobs of a collection."""

import dagster as dg

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    tables_collection,
)


def names_of(defs, collection):
    return {key.path[1] for key in defs.resolve_all_asset_keys() if key.path[0] == collection}


def test_jobs_divide_the_assets_of_a_collection(tmp_path):
    pairs = tables_collection(tmp_path, histories(12), name="pairs", windows=False)
    defs = build_defs([demo_collection(), pairs], home=tmp_path)
    made = {
        job.name: {key.path[1] for key in defs.resolve_job_def(job.name).asset_layer.selected_asset_keys}
        for job in defs.jobs
        if not job.name.endswith("_read")
    }
    assert set(made) == {"demo_ingest", "demo_update", "pairs_update"}
    assert made["demo_ingest"] == {"presence"}
    assert made["demo_update"] == names_of(defs, "demo") - {"presence"}
    assert made["pairs_update"] == names_of(defs, "pairs")
    assert {sensor.name for sensor in defs.sensors if sensor.name.endswith("_ingested")} == {"demo_ingested"}


# Dagster #22523: the time to resolve a job grows with the assets of the whole code location.
def test_job_is_resolved_among_the_assets_of_its_collection(tmp_path):
    pairs = tables_collection(tmp_path, histories(12), name="pairs", windows=False)

    @dg.asset(key=["theirs", "input"], partitions_def=dg.StaticPartitionsDefinition(["a", "b"]))
    def foreign_input(): ...

    @dg.asset(key=["demo", "sum"], deps=[["demo", "headline"], ["theirs", "input"]])
    def user_asset(): ...

    assets = dg.Definitions(assets=[foreign_input, user_asset])
    defs = dg.Definitions.merge(build_defs([demo_collection(), pairs], home=tmp_path), assets)
    job = defs.resolve_job_def("demo_update")
    graph = job.asset_layer.asset_graph.source_asset_graph
    assert {key.path[0] for key in graph.get_all_asset_keys()} == {"demo", "theirs"}
    assert graph.get(foreign_input.key).partitions_def == foreign_input.partitions_def
    assert user_asset.key in job.asset_layer.selected_asset_keys
    assert foreign_input.key not in job.asset_layer.selected_asset_keys
