"""The tables and the report of one collection of 16 crawls, shared by the tests of the report."""

import pytest

from crawl_urn_dagster.figures import CATALOGUE
from crawl_urn_dagster.report import Content, Picture, report_page, to_markdown
from crawl_urn_dagster_tests.collections_for_tests import histories, presence_collection
from crawl_urn_dagster_tests.pipeline import FIGURES, Pipeline
from crawl_urn_dagster_tests.report.reading import N_CRAWLS, TABLES
from crawl_urn_dagster_tests.sharing import make_once


def run_collection(folder):
    collection = presence_collection(folder, histories(N_CRAWLS), drift={"window_crawls": 12, "step_crawls": 8})
    pipeline = Pipeline(collection, folder)
    assert pipeline.run(without=FIGURES | {"report", "export"}).success, pipeline.outcome.errors
    return collection, pipeline.tables(*TABLES)


@pytest.fixture(scope="session")
def collection_and_tables(tmp_path_factory, worker_id):
    """The collection and its tables."""
    return make_once(tmp_path_factory, worker_id, "report", run_collection)[1]


@pytest.fixture(scope="session")
def tables(collection_and_tables):
    return collection_and_tables[1]


@pytest.fixture
def content_with(collection_and_tables):
    """A function that returns the content of the report, with some tables replaced."""
    collection, tables = collection_and_tables

    def make(broken_rules=None, pictures=None, **replaced):
        return Content(collection, {**tables, **replaced}, broken_rules=broken_rules or {}, pictures=pictures or {})

    return make


@pytest.fixture(scope="session")
def page(collection_and_tables):
    """The report as Markdown, with a placeholder for every figure."""
    collection, tables = collection_and_tables
    pictures = {name: Picture(f"figures/{name}.png", b"", name, name) for name in CATALOGUE}
    return to_markdown(report_page(Content(collection, tables, broken_rules={}, pictures=pictures)))
