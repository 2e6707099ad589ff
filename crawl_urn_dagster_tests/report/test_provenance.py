"""The configuration in a report reproduces the collection and contains no secrets."""

import platform
from importlib.metadata import version

import pytest
import yaml

from crawl_urn_dagster.config.collection import Collection, demo_collection
from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.report.provenance import REDACTED, configuration_yaml, redacted, versions
from crawl_urn_dagster_tests.collections_for_tests import histories, presence_collection, tables_collection


def test_configuration_reproduces_the_collection(tmp_path):
    collections = [
        demo_collection(),
        tables_collection(tmp_path, histories(3), clock="year", owners=["team:crawling"]),
        presence_collection(tmp_path, histories(3), sample_one_in=4, first_crawl="2020-01-06"),
    ]
    for collection in collections:
        path = tmp_path / "again.yaml"
        path.write_text(configuration_yaml(collection))
        assert load_collections(path) == (collection,)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://host.example/a/b.csv", "https://host.example/a/b.csv"),
        ("https://host.example/a?sig=s3cr3t", f"https://host.example/a?{REDACTED}"),
        ("https://host.example/a#s3cr3t", f"https://host.example/a?{REDACTED}"),
        ("https://user:s3cr3t@host.example/a", f"https://host.example/a?{REDACTED}"),
        ("folder/a?b.csv", "folder/a?b.csv"),
    ],
)
def test_urls_are_shown_without_credentials(given, shown):
    assert redacted(given) == shown
    assert redacted({"path": [given]}) == {"path": [shown]}


def test_settings_named_like_secrets_are_redacted():
    settings = {"spark.hadoop.fs.s3a.secret.key": "s3cr3t", "spark.hadoop.fs.s3a.access.key": "s3cr3t"}
    settings |= {"spark.ssl.keyPassword": "s3cr3t", "spark.executor.memory": "8g"}
    collection = Collection.model_validate(
        {
            "name": "large",
            "granularity": "url",
            "source": {"type": "presence_list", "path": "https://host.example/a.csv?user=s3cr3t"},
            "engine": {"type": "spark", "master": "local[2]", "settings": settings},
        }
    )
    text = configuration_yaml(collection)
    assert "s3cr3t" not in text
    (shown,) = yaml.safe_load(text)["collections"]
    assert shown["engine"]["settings"]["spark.executor.memory"] == "8g"
    assert shown["engine"]["master"] == "local[2]"


def test_versions_are_the_installed_ones():
    assert versions().startswith(f"Python {platform.python_version()}, crawl-urn-dagster ")
    assert f"numpy {version('numpy')}" in versions()
