"""Specs, metadata and freshness of assets."""

from datetime import timedelta
from pathlib import Path

import dagster as dg
import duckdb

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.config.settings import AutomationSettings
from crawl_urn_dagster.observables.schema import TABLES, VIEWS
from crawl_urn_dagster.orchestration.asset_keys import column_lineage
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster_tests.collections_for_tests import (
    histories,
    tables_collection,
)


def test_specs_have_owners_columns_and_code_references():
    collection = demo_collection().model_copy(update={"owners": ["team:crawling", "somebody@example.org"]})
    specs = {spec.key.path[1]: spec for spec in build_defs([collection]).resolve_all_asset_specs()}
    for spec in specs.values():
        assert spec.group_name == "demo"
        assert spec.kinds
        assert spec.description
        assert spec.owners == ["team:crawling", "somebody@example.org"]
        (reference,) = spec.metadata["dagster/code_references"].code_references
        line = Path(reference.file_path).read_text().splitlines()[reference.line_number - 1]
        assert line.strip().startswith("@")
    containment = specs["containment"]
    columns = containment.metadata["dagster/column_schema"].columns
    assert [column.name for column in columns][:4] == ["crawl_i", "crawl_j", "lag_crawls", "lag_years"]
    assert all(column.description for column in columns)


def test_table_names_can_be_queried_as_written(tmp_path):
    collection = demo_collection()
    home = CollectionHome(str(tmp_path), collection.name)
    with home.observables.writing() as connection:
        for name in {*TABLES, *VIEWS}:
            connection.execute(f"CREATE TABLE {name} AS SELECT '{name}' AS name")
    named = 0
    for spec in build_defs([collection], home=tmp_path).resolve_all_asset_specs():
        if spec.key.path[1] in {*TABLES, *VIEWS}:
            with duckdb.connect(spec.metadata["duckdb_file"].path, read_only=True) as connection:
                query = f"SELECT name FROM {spec.metadata['dagster/table_name']}"
                assert connection.execute(query).fetchall() == [(spec.key.path[1],)]
            named += 1
    assert named > 20


def test_column_lineage_names_existing_columns(tmp_path):
    for collection in (demo_collection(), tables_collection(tmp_path, histories(4), windows=False)):
        specs = {spec.key: spec for spec in build_defs([collection]).resolve_all_asset_specs()}
        declared = set()
        for name in {key.path[1] for key in specs} & {*TABLES, "headline"}:
            lineage = column_lineage(collection, name)["dagster/column_lineage"].deps_by_column
            for column, sources in lineage.items():
                assert column in columns_of(specs[dg.AssetKey([collection.name, name])])
                for source in sources:
                    assert source.column_name in columns_of(specs[source.asset_key])
                    declared.add((name, column))
        assert {("parameters", "kappa_low"), ("headline", "alpha"), ("drift", "value")} <= declared
        assert (("containment", "intersection") in declared) == collection.has_histories


def columns_of(spec):
    return {column.name for column in spec.metadata["dagster/column_schema"].columns}


def test_freshness_follows_the_expected_interval():
    defs = build_defs(
        [demo_collection().model_copy(update={"automation": AutomationSettings(expect_every_days=30, grace_days=10)})]
    )
    policies = {spec.key.path[1]: spec.freshness_policy for spec in defs.resolve_all_asset_specs()}
    with_policy = {name: policy for name, policy in policies.items() if policy}
    assert set(with_policy) == {"crawls", "headline", "report"}
    for policy in with_policy.values():
        assert policy == dg.FreshnessPolicy.time_window(fail_window=timedelta(days=40), warn_window=timedelta(days=30))
    assert not any(spec.freshness_policy for spec in build_defs([demo_collection()]).resolve_all_asset_specs())
