"""Test Common Crawl's host index: fetched hosts, and ranks as strata."""

import json

import duckdb
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.sources import CommonCrawlHostIndexSource, SourceError, StratumColumn
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, labels_of, reply
from crawl_urn_dagster_tests.sources.generated_indexes import serve_tree, write_host_index

CRAWLS = ["CC-MAIN-2024-10", "CC-MAIN-2024-18"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("host_index")
    write_host_index(root, CRAWLS)
    (root / "collinfo.json").write_text(
        json.dumps(
            [
                {"id": f"CC-MAIN-2024-{week}", "from": f"2024-{month}-20T00:00:00"}
                for week, month in ((10, "02"), (18, "04"), (22, "05"))
            ]
        )
    )
    return root


@pytest.fixture
def address(server, tree):
    serve_tree(server, tree)
    return server.url("")


def source_of(root, **settings):
    return CommonCrawlHostIndexSource(data=str(root), calendar=f"{root}/collinfo.json", **settings)


def brute_force(tree, select):
    with duckdb.connect() as connection:
        return {
            crawl: dict(
                connection.execute(
                    f"SELECT {select} FROM '{tree}/projects/host-index-testing/v2/crawl={crawl}/*.parquet' "
                    "WHERE fetch_200 > 0 GROUP BY 1"
                ).fetchall()
            )
            for crawl in CRAWLS
        }


def strata_of(source, files):
    found = {crawl: {} for crawl in CRAWLS}
    for crawl, elements, _, strata, _ in source.captures(files, CRAWLS):
        found[crawl].update(zip(elements, [None] * len(elements) if strata is None else strata, strict=True))
    return found


HOST = "array_to_string(list_reverse(string_split(surt_host_name, ',')), '.')"


@pytest.mark.parametrize(("element", "name"), [("host", HOST), ("registered_domain", "url_host_registered_domain")])
def test_only_fetched_hosts_are_present(files, tree, address, element, name):
    source = source_of(address, element=element)
    assert labels_of(source.list_crawls(files, ALL_CRAWLS)) == CRAWLS
    assert strata_of(source, files) == brute_force(tree, f"{name}, NULL")


@pytest.mark.parametrize(
    ("column", "ranks", "value"),
    [("hcrank10", False, "hcrank10"), ("prank10", False, "prank10"), ("hcrank", True, "hcrank")],
)
def test_domain_has_the_best_rank_of_its_hosts(files, tree, address, column, ranks, value):
    source = source_of(address, element="registered_domain").with_stratum(StratumColumn(column, ranks))
    expected = brute_force(tree, f"url_host_registered_domain, floor(max({value}))::BIGINT::VARCHAR")
    assert strata_of(source, files) == expected


def test_scale_cannot_be_divided_into_bands(tree):
    def collection(**stratum):
        return Collection.model_validate(
            {
                "name": "hosts",
                "granularity": "host",
                "stratum": stratum,
                "source": {"type": "common_crawl_host_index", "data": str(tree)},
            }
        )

    assert collection(column="hcrank10").source._rank == "hcrank10"
    with pytest.raises(ValueError, match="leave out bands"):
        collection(column="hcrank10", bands=[5])
    with pytest.raises(ValueError, match="no rank 'hcrank1'; did you mean 'hcrank10'"):
        collection(column="hcrank1")


def test_web_page_instead_of_the_list_is_an_error(files, tree, server, address):
    server.answers["/projects/host-index-testing/v2.paths.gz"] = lambda handler: reply(handler, "<html>")
    with pytest.raises(SourceError, match="is a web page"):
        source_of(address).list_crawls(files, ALL_CRAWLS)
