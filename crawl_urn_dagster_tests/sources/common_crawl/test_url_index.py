"""Test Common Crawl's columnar index: columns of two eras, lists of files and mirrored folders."""

import pytest

from crawl_urn_dagster.sources import CommonCrawlIndexSource, SourceError
from crawl_urn_dagster_tests.sources.common_crawl.conftest import CRAWLS, brute_force, elements_of, source_of
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, reply


@pytest.mark.parametrize(
    ("element", "column"),
    [("registered_domain", "url_host_registered_domain"), ("host", "url_host_name"), ("url", "url_surtkey")],
)
def test_elements_equal_brute_force(files, tree, served, element, column):
    expected = brute_force(tree, column)
    assert elements_of(source_of(served[0], element=element), files) == expected
    assert elements_of(source_of(tree, element=element), files) == expected


def test_mirrored_folder_needs_no_lists(files, tree, tmp_path):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "cc-index").symlink_to(tree / "cc-index")
    (mirror / "collinfo.json").symlink_to(tree / "collinfo.json")
    assert elements_of(source_of(mirror), files) == brute_force(tree, "url_host_registered_domain")


def test_missing_column_of_an_era_is_an_error(files, tree):
    with pytest.raises(SourceError, match=r"2018-05.*has no column 'url_host_private_domain'; did you mean"):
        elements_of(source_of(tree, element="private_domain"), files, CRAWLS[:1])
    assert elements_of(source_of(tree, element="private_domain"), files, CRAWLS[2:]) == brute_force(
        tree, "url_host_private_domain", CRAWLS[2:]
    )


def test_no_published_crawl_is_an_error(files, tree, tmp_path):
    (tmp_path / "empty").mkdir()
    source = CommonCrawlIndexSource(data=str(tmp_path / "empty"), calendar=f"{tree}/collinfo.json")
    with pytest.raises(
        SourceError, match=r"empty: none of the 4 crawls listed, CC-.*for crawl-data/CC-.*gz, or in a folder cc-index/"
    ):
        source.list_crawls(files, ALL_CRAWLS)


def test_other_lists_of_files_are_errors(files, tree, server, served):
    name = f"/crawl-data/{CRAWLS[0]}/cc-index-table.paths.gz"
    for body, message in {
        "<html>sign in</html>": "is a web page",
        "../../etc/passwd\n": "expected .* lines that are each a path",
        "/etc/passwd\n": "expected .* lines that are each a path",
        "cc-index/other.parquet\n": "has no file in",
        "": "0 lines",
    }.items():
        server.answers[name] = lambda handler, body=body: reply(handler, body)
        with pytest.raises(SourceError, match=message):
            source_of(served[0]).list_crawls(files, ALL_CRAWLS)
