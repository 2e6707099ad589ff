"""Test lists that were read wrongly once, next to the checkout: each gives the right elements or a clear error."""

import pytest

from crawl_urn_dagster.sources import CdxSource, PresenceListSource, SourceError
from crawl_urn_dagster_tests.sources.conftest import labels_of


@pytest.mark.parametrize("name", ["b.csv.bz2", "jsonl.jsonl", "f.feather"])
def test_other_formats_are_read(read, shared_faults, name):
    listing, captures = read(PresenceListSource(path=str(shared_faults / "sources" / name)))
    assert labels_of(listing) == ["2024-01", "2024-02", "2024-03"]
    assert len(captures) == 6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("list.parquet", r"column 'element' has the type VARCHAR\[\]"),
        ("samedate.csv", "crawls '2024-01' and '2024-01-01' both start 2024-01-01"),
        ("delta", "is a Delta table that cannot be read"),
        ("delta/part-00001-removed.snappy.parquet", "is part of a Delta table"),
        ("bom.tsv", r"its columns are separated by '\\t'"),
    ],
)
def test_unreadable_input_is_named(read, shared_faults, name, message):
    with pytest.raises(SourceError, match=message):
        read(PresenceListSource(path=str(shared_faults / "sources" / name)))


def test_parts_of_a_folder_are_one_crawl(read, shared_faults):
    listing, captures = read(CdxSource(path=str(shared_faults / "sources" / "parts_per_crawl")))
    assert labels_of(listing) == ["2024-01", "2024-02", "2024-03"]
    assert len(captures) == 6000
