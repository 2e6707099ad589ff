"""Test which crawls are published, from calendars and from paths of local files."""

# ruff: noqa: DTZ001 - dates of crawls are UTC without a zone

from datetime import datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from crawl_urn_dagster.sources import Selection, SourceError
from crawl_urn_dagster.sources.common_crawl.per_crawl_files import (
    PerCrawlLocation,
    find_published,
    list_candidates,
    unpublished_finding,
)
from crawl_urn_dagster.sources.errors import AbsentError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS

CALENDAR = {f"CC-MAIN-2024-{week}": datetime(2024, month, 1) for week, month in ((10, 3), (18, 5), (22, 6))}
CRAWLS = list(CALENDAR)
ADDRESS = "https://example.org/{crawl}/part-{part}.gz"


def find(label):
    if label == CRAWLS[-1]:
        raise AbsentError("absent")
    return f"file of {label}"


def test_candidates_at_an_address_come_from_the_calendar():
    assert [crawl.crawl for crawl in list_candidates(ADDRESS, CALENDAR, ALL_CRAWLS)] == CRAWLS
    selected = list_candidates(ADDRESS, CALENDAR, Selection(CRAWLS[1], CRAWLS[1]))
    assert [crawl.crawl for crawl in selected] == CRAWLS[1:2]


def test_an_address_without_calendar_is_an_error():
    with pytest.raises(SourceError, match="the crawls at an address are not known without a calendar; set `calendar`"):
        list_candidates(ADDRESS, None, ALL_CRAWLS)


def test_candidates_at_a_path_have_a_local_file(write, tmp_path):
    for crawl in CRAWLS[:2]:
        write(f"counts/{crawl}/part-00000.gz", b"")
    write("counts/CC-MAIN-2024-30/other.gz", b"")
    candidates = list_candidates(f"{tmp_path}/counts/{{crawl}}/part-{{part}}.gz", None, ALL_CRAWLS)
    assert [(crawl.crawl, crawl.dated_by) for crawl in candidates] == [(crawl, "iso_week") for crawl in CRAWLS[:2]]


def test_a_placeholder_that_includes_an_extension_is_an_error(write):
    path = write("stats/CC-MAIN-2024-10.gz", "").replace("CC-MAIN-2024-10.gz", "{crawl}")
    with pytest.raises(SourceError, match=r"label would be 'CC-MAIN-2024-10\.gz'; write the location with {crawl}\.gz"):
        list_candidates(path, CALENDAR, ALL_CRAWLS)


@pytest.mark.parametrize("location", ["stats.gz", "{crawl}/{crawl}.gz"])
def test_a_location_has_one_placeholder(location):
    with pytest.raises(ValidationError, match=r"does not have \{crawl\} exactly once"):
        TypeAdapter(PerCrawlLocation).validate_python(location)


def test_unpublished_crawls_are_left_out_and_reported():
    found = find_published(ADDRESS, list_candidates(ADDRESS, CALENDAR, ALL_CRAWLS), ALL_CRAWLS, find)
    assert found == {crawl: f"file of {crawl}" for crawl in CRAWLS[:2]}
    assert unpublished_finding(CRAWLS, found) == {"crawls_without_files": CRAWLS[-1]}
    assert unpublished_finding(CRAWLS[:2], found) == {}


def test_a_named_crawl_that_is_unpublished_is_an_error():
    selection = Selection(last_crawl=CRAWLS[-1])
    candidates = list_candidates(ADDRESS, CALENDAR, selection)
    message = rf"last_crawl {CRAWLS[-1]} has no files there \(yet\); searched for .*{CRAWLS[-1]}/part-00000.gz"
    with pytest.raises(SourceError, match=message):
        find_published(ADDRESS, candidates, selection, find)
