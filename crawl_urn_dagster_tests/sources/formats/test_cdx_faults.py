"""Test index files that were read wrongly once, next to the checkout: each gives the right captures."""

import pytest

from crawl_urn_dagster.sources import CdxSource
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, captures_of, labels_of


@pytest.fixture
def read(files, shared_faults):
    """Return a function that reads a file of the shared folder: numbers of lines by outcome, and elements."""

    def read(name, **configured):
        source = CdxSource(path=str(shared_faults / "sources" / name), **{"crawl_from": "year", **configured})
        listing = source.list_crawls(files, ALL_CRAWLS)
        return listing.findings, [element for _, element in captures_of(source, files, labels_of(listing))]

    return read


def test_status_is_read_from_its_column(read):
    for name in ("eleven_fields_no_legend.cdx", "outbackcdx_14_fields.cdx"):
        findings, elements = read(name)
        assert len(elements) == findings["captures_left_out_status"] == 500
        assert findings["lines_malformed"] == 0


def test_one_line_of_ten_fields_is_malformed(read):
    findings, elements = read("eleven_fields_one_of_ten.cdx")
    assert findings["lines_malformed"] == 1
    assert len(elements) + findings["captures_left_out_status"] == 999
    assert len(elements) in {499, 500}


def test_longer_lines_under_a_legend(read):
    assert read("outbackcdx_14_fields_under_11_letters.cdx")[1] == ["com,example)/"] * 3


@pytest.mark.parametrize("name", ["wayback_7_fields.txt", "wayback.json"])
def test_answers_of_the_wayback_api(read, name):
    """Four captures: 200, 301, 200 and a revisit."""
    assert len(read(name, present=["any"])[1]) == 4
    findings, elements = read(name)
    assert elements == ["com,example)/", "com,example)/a", "com,example)/b"]
    assert findings["captures_left_out_status"] == 1


def test_only_the_index_of_captures_is_read(read):
    findings, elements = read("wacz_indexes/2024-01/indexes", present=["any"])
    assert len(elements) == findings["lines"] == 1200
    assert findings["files_left_out_secondary_index"] == 1


def test_no_element_holds_a_mark(read):
    assert read("bom.cdxj", element="host")[1] == [f"site{number}.pt" for number in range(5)]
    assert read("bom.tsv", element="url_as_written")[1] == ["http://a.com/", "http://b.com/"]


def test_revisits_by_the_status_of_the_original(read):
    assert len(read("revisit_agnostic.cdx")[1]) == 3
    findings, elements = read("revisit_agnostic.cdx", revisits="original_present", present=["200", "revisit", "4xx"])
    assert elements == ["com,b)/"]
    assert findings["captures_left_out_status"] == 2


def test_private_domains(read):
    elements = read("private.cdx", element="private_domain")[1]
    assert {"a.github.io", "b.github.io"} <= set(elements)
    assert "github.io" in read("private.cdx", element="domain")[1]
