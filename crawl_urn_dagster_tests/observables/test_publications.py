"""Publications recorded over time, and the revisions found in them."""

from datetime import datetime

import pandas as pd
import pytest

from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.observables.publications import record_publication, revisions
from crawl_urn_dagster.sources import CommonCrawlStatisticsSource, Files, Selection

FIRST, SECOND, THIRD = (datetime.fromisoformat(f"2026-0{month}-01") for month in (1, 2, 3))


def published(sha256, *rows):
    columns = ["quantity", "start_crawl", "end_crawl", "window_crawls", "distinct_elements"]
    return pd.DataFrame(rows, columns=columns).assign(location="w.csv", sha256=sha256)


BEFORE = published("one", ("url", "a", "b", 2, 30), ("url", "b", "b", 1, 20), ("domain", "b", "b", 1, 5))


@pytest.fixture
def file(tmp_path):
    return ObservablesFile(tmp_path / "observables.duckdb")


def stored(file, before, now, read_at):
    """Record a publication, write the table and read it back, as the asset does."""
    file.replace({"publications": record_publication(before, now, read_at)})
    return file.read("publications")


def test_only_new_and_changed_counts_are_added(file):
    first = stored(file, None, BEFORE, FIRST)
    assert len(first) == 3
    assert revisions(first).empty
    assert len(stored(file, first, BEFORE, SECOND)) == 3
    # A crawl a2 was added between a and b: the window of two starts later, the one of one is as it was.
    now = published("two", ("url", "a2", "b", 2, 25), ("url", "b", "b", 1, 20), ("domain", "b", "b", 1, 5))
    now = pd.concat([now, published("two", ("url", "c", "c", 1, 9))], ignore_index=True)
    second = stored(file, first, now, SECOND)
    assert second["sha256"].tolist() == ["one"] * 3 + ["two"] * 2
    (moved,) = revisions(second).to_dict("records")
    assert (moved["end_crawl"], moved["window_crawls"], moved["start_before"], moved["start_after"]) == (
        "b",
        2,
        "a",
        "a2",
    )
    assert (moved["before"], moved["after"], moved["first_read_at"]) == (30, 25, pd.Timestamp(SECOND))
    assert moved["change"] == pytest.approx(-1 / 6)


def test_withdrawn_counts_are_recorded_and_may_come_back(file):
    first = stored(file, None, BEFORE, FIRST)
    second = stored(file, first, BEFORE.iloc[1:], SECOND)
    assert len(second) == 4
    gone = revisions(second).iloc[0]
    assert (gone["before"], gone["start_before"]) == (30, "a")
    assert pd.isna(gone["after"])
    assert pd.isna(gone["change"])
    assert len(stored(file, second, BEFORE.iloc[1:], THIRD)) == 4  # withdrawn once
    third = stored(file, second, BEFORE, THIRD)
    assert third["distinct_elements"].iloc[-1] == 30
    assert len(third) == 5
    assert len(stored(file, third, BEFORE, THIRD)) == 5


def test_real_revision_of_windows_is_found(file, tmp_path, shared_data):
    """Two missing crawls were added: windows across them now start later, and single crawls are unchanged."""
    folder = shared_data / "common_crawl_statistics"
    files = Files(tmp_path / "cache")
    before = None
    for name, read_at in (("url_last_n_crawls.older.csv", FIRST), ("url_last_n_crawls.csv", SECOND)):
        source = CommonCrawlStatisticsSource(
            windows=str(folder / name), counts=str(folder / "domain.csv"), calendar=str(shared_data / "crawls.csv")
        )
        before = stored(file, before, source.read_tables(files, Selection()).published, read_at)
    assert set(before["quantity"]) == {"url", "domain", "host", "tld"}
    moved = revisions(before)
    # By hand: the last row of the older table, its six windows of more than one crawl.
    assert moved[["quantity", "end_crawl"]].drop_duplicates().to_numpy().tolist() == [["url", "CC-MAIN-2025-30"]]
    assert sorted(moved["window_crawls"]) == [2, 3, 4, 6, 9, 12]
    two = moved.set_index("window_crawls").loc[2]
    assert (two["start_before"], two["start_after"]) == ("CC-MAIN-2025-18", "CC-MAIN-2025-26")
    assert (two["before"], two["after"]) == (4887205320, 4763393384)
