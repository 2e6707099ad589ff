"""Test what all sources share: locations in their configuration, and crawls that are announced but not published."""

import pytest
from pydantic import ValidationError

from crawl_urn_dagster.sources import Captures, ObservableTablesSource, PresenceListSource, SimulatedSource
from crawl_urn_dagster.sources.interface import StratumColumn
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, labels_of


def test_relative_paths_are_resolved_against_a_folder(tmp_path):
    source = ObservableTablesSource(pairs="pairs.csv", calendar="https://example.org/crawls.csv")
    placed = source.relative_to(tmp_path)
    assert placed.pairs == str(tmp_path / "pairs.csv")
    assert placed.windows is None
    assert placed.calendar == "https://example.org/crawls.csv"
    assert source.pairs == "pairs.csv"


def test_missing_files_are_local_ones(tmp_path, write):
    source = PresenceListSource(path=f"{tmp_path}/*.csv", calendar="https://example.org/c")
    assert source.missing_files() == [f"{tmp_path}/*.csv"]
    write("a.csv", "x")
    assert source.missing_files() == []


def test_unpublished_crawls_follow_the_last_listed_crawl(files, write):
    calendar = write("calendar.csv", "id,from\na,2024-01-01\nb,2024-02-01\nc,2024-03-01\n")
    source = PresenceListSource(path=write("a.csv", "crawl,element\na,x\nb,x\n"), calendar=calendar)
    listing = source.list_crawls(files, ALL_CRAWLS)
    assert labels_of(listing) == ["a", "b"]
    assert source.unpublished_crawls(files, listing) == ["c"]
    assert SimulatedSource().unpublished_crawls(files, listing) == []


def test_configuration_rejects_unknown_keys():
    with pytest.raises(ValidationError, match="Extra inputs"):
        PresenceListSource(path="a.csv", pth="b.csv")


def test_a_source_without_columns_rejects_a_stratum():
    with pytest.raises(ValueError, match="has no column 'rank' to take a stratum from; leave stratum out"):
        SimulatedSource().with_stratum(StratumColumn("rank", ranks=True))


def test_the_end_of_a_crawl_has_no_elements():
    crawl, elements, is_complete, strata, lost = Captures.end_of("2024-01")
    assert (crawl, len(elements), is_complete, strata, lost) == ("2024-01", 0, True, None, None)
