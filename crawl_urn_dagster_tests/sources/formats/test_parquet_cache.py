"""Test that raw files are converted once and read from the cache, with presence lists as raw files."""

import pytest

from crawl_urn_dagster.sources import Files, PresenceListSource, Selection, SourceError
from crawl_urn_dagster.sources.formats import parquet_cache
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, captures_of, gz, labels_of
from crawl_urn_dagster_tests.sources.formats.conftest import converted_files

CAPTURES = [("2024-01", "a"), ("2024-01", "b"), ("2024-02", "b")]
LIST = "crawl,element\n2024-01,a\n2024-01,b\n2024-02,b\n"


def source(path, **settings):
    return PresenceListSource(path=path, **settings)


def test_raw_file_is_converted_once(files, write):
    """Reading captures needs only the files that were converted for the listing."""
    configured = source(write("a.csv", LIST))
    configured.list_crawls(files, ALL_CRAWLS)
    (converted,) = converted_files(files)
    state = converted.stat()
    assert captures_of(configured, files, ["2024-01", "2024-02"]) == CAPTURES
    assert converted_files(files) == [converted]
    assert (converted.stat().st_ino, converted.stat().st_mtime_ns) == (state.st_ino, state.st_mtime_ns)


def test_changed_file_is_converted_again(read, write):
    read(source(write("a.csv", LIST)))
    assert read(source(write("a.csv", LIST + "2024-03,c\n")))[1] == [*CAPTURES, ("2024-03", "c")]


def test_other_columns_are_another_conversion(read, write):
    path = write("a.csv", "crawl,element,host\n2024-01,a,x\n")
    assert read(source(path))[1] == [("2024-01", "a")]
    assert read(source(path, element_column="host"))[1] == [("2024-01", "x")]


def test_only_new_files_are_converted(files, write, tmp_path):
    write("lists/2024-01.csv", "element\na\n")
    configured = source(f"{tmp_path}/lists/*.csv")
    configured.list_crawls(files, ALL_CRAWLS)
    converted = {path: path.stat().st_mtime_ns for path in converted_files(files)}
    write("lists/2024-02.csv", "element\nb\n")
    assert labels_of(configured.list_crawls(files, ALL_CRAWLS)) == ["2024-01", "2024-02"]
    assert len(converted_files(files)) == 2
    assert all(path.stat().st_mtime_ns == mtime for path, mtime in converted.items())


def test_files_may_share_crawls_but_copies_are_errors(files, read, write, tmp_path):
    write("lists/first.csv", "crawl,element\n2024-01,a\n")
    write("lists/second.csv", "crawl,element\n2024-01,b\n2024-02,b\n")
    assert read(source(f"{tmp_path}/lists/*"))[1] == CAPTURES
    write("lists/first.csv.gz", gz(b"crawl,element\n2024-01,a\n"))
    with pytest.raises(
        SourceError, match=r"lists/first\.csv and .*lists/first\.csv\.gz: differ only in their extensions"
    ):
        source(f"{tmp_path}/lists/*").list_crawls(files, ALL_CRAWLS)


def test_selection_applies_to_listing_and_captures(read, write):
    configured = source(write("a.csv", LIST + "2024-03,c\n"))
    listing, captures = read(configured, Selection("2024-02", "2024-03"))
    assert captures == [("2024-02", "b"), ("2024-03", "c")]
    assert labels_of(listing) == ["2024-02", "2024-03"]
    with pytest.raises(SourceError, match=r"first_crawl '2024-2' .* did you mean '2024-02'"):
        read(configured, Selection(first_crawl="2024-2"))


def test_revision_depends_on_the_crawls_own_captures(files, write):
    """In one file of several crawls, only the changed crawls have a new revision."""

    def revisions(rows):
        return source(write("a.csv", f"crawl,element\n{rows}")).list_crawls(files, ALL_CRAWLS).revisions

    before = revisions("2024-01,a\n2024-01,b\n2024-02,b\n")
    assert revisions("2024-02,b\n2024-01,b\n2024-01,a\n") == before
    after = revisions("2024-01,a\n2024-01,b\n2024-02,c\n2024-03,b\n")
    assert after["2024-01"] == before["2024-01"]
    assert after["2024-02"] != before["2024-02"]
    assert after["2024-03"] == before["2024-02"]  # The label does not enter the revision.


def test_revision_depends_on_own_files_and_columns(files, write, tmp_path):
    write("lists/2024-01.csv", "element,host\na,x\n")
    write("lists/2024-02.csv", "element,host\nb,y\n")

    def revisions(**settings):
        return source(f"{tmp_path}/lists/*.csv", **settings).list_crawls(files, ALL_CRAWLS).revisions

    before = revisions()
    assert revisions() == before
    write("lists/2024-02.csv", "element,host\nc,y\n")
    after = revisions()
    assert after["2024-01"] == before["2024-01"]
    assert after["2024-02"] != before["2024-02"]
    assert not set(revisions(element_column="host").values()) & set(after.values())


@pytest.mark.parametrize("vectors_at_once", [1, 512])
def test_crawl_may_span_files_and_chunks(read, write, tmp_path, monkeypatch, vectors_at_once):
    monkeypatch.setattr(parquet_cache, "VECTORS_PER_CHUNK", vectors_at_once)
    expected = []
    for part in range(3):
        rows = [(f"2024-0{1 + (number * 7 + part) % 3}", f"e{part}-{number}") for number in range(3000)]
        expected += rows
        write(f"lists/part{part}.csv", "crawl,element\n" + "".join(f"{crawl},{element}\n" for crawl, element in rows))
    assert read(source(f"{tmp_path}/lists/*.csv"))[1] == sorted(expected)


def test_only_requested_crawls_are_read(files, write):
    configured = source(write("a.csv", LIST + "2024-03,c\n"))
    assert captures_of(configured, files, ["2024-03", "2024-01"]) == [*CAPTURES[:2], ("2024-03", "c")]
    assert captures_of(configured, files, []) == []


def test_conversion_is_shared_between_processes(write, tmp_path):
    """The cache is on disk, so a new process does not convert again."""
    path = write("a.csv", LIST)
    source(path).list_crawls(Files(tmp_path / "cache"), ALL_CRAWLS)
    (converted,) = converted_files(Files(tmp_path / "cache"))
    inode = converted.stat().st_ino
    source(path).list_crawls(Files(tmp_path / "cache"), ALL_CRAWLS)
    assert converted.stat().st_ino == inode


def test_inputs_are_the_raw_file_and_the_calendar(files, write):
    path, calendar = (
        write("a.csv", LIST.replace("2024-0", "n")),
        write("c.csv", "id,from\nn1,2024-01-05\nn2,2024-02\n"),
    )
    listing = source(path, calendar=calendar).list_crawls(files, ALL_CRAWLS)
    assert labels_of(listing) == ["n1", "n2"]
    assert [file.location for file in listing.inputs] == [path, calendar]
