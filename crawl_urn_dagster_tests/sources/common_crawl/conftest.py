"""Provide a small columnar index of three crawls, in a folder and on a server, and its elements by brute force."""

import json
from datetime import date

import duckdb
import pytest

from crawl_urn_dagster.sources import CommonCrawlIndexSource
from crawl_urn_dagster_tests.sources.generated_indexes import index_folder, serve_tree, write_index

CRAWLS = ["CC-MAIN-2018-05", "CC-MAIN-2020-05", "CC-MAIN-2024-10"]
FIRST_FILE = f"/{index_folder(CRAWLS[0])}/part-00000-abc.c000.gz.parquet"


def calendar(crawls):
    return json.dumps(
        [{"id": crawl, "from": f"{date.fromisocalendar(int(crawl[8:12]), int(crawl[13:]), 1)}"} for crawl in crawls]
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    write_index(root, CRAWLS)
    (root / "collinfo.json").write_text(calendar([*CRAWLS, "CC-MAIN-2026-10"]))
    return root


def source_of(root, **settings):
    return CommonCrawlIndexSource(data=str(root), calendar=f"{root}/collinfo.json", **settings)


def brute_force(root, column, crawls=CRAWLS):
    with duckdb.connect() as connection:
        return {
            crawl: {
                row[0].decode() if isinstance(row[0], bytes) else row[0]
                for row in connection.execute(
                    f"SELECT DISTINCT {column} FROM '{root}/{index_folder(crawl)}/*.parquet' WHERE {column} IS NOT NULL"
                ).fetchall()
            }
            for crawl in crawls
        }


def elements_of(source, files, crawls=CRAWLS):
    found, complete = {crawl: [] for crawl in crawls}, []
    for crawl, elements, is_complete, *_ in source.captures(files, crawls):
        found[crawl].extend(elements)
        complete += [crawl] if is_complete else []
    assert complete == list(crawls)
    return {crawl: set(elements) for crawl, elements in found.items()}


@pytest.fixture
def served(server, tree):
    """Serve the tree; gives its address and the count of bytes by path."""
    return server.url(""), serve_tree(server, tree)
