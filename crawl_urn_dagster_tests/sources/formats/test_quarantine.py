"""Crawls that are set aside because their files cannot be read, by source and fault."""

import gzip
from datetime import datetime
from unittest import mock

import pytest

from crawl_urn_dagster.sources import CdxSource, PresenceListSource, Selection, SourceError
from crawl_urn_dagster.sources.transport.files import Files

CRAWLS = ["2024-01", "2024-02", "2024-03", "2024-04"]
LIST = b"element\na.org\nb.org\n"
TRUNCATED = gzip.compress(b"element\n" + b"".join(b"host-%d.org\n" % n for n in range(5000)))[:-2000]
DAMAGED = {
    "truncated": (TRUNCATED, "damaged gzip"),
    "empty": (b"", "is empty"),
    "header_only": (b"element\n", "no rows"),
    "other_columns": (b"host,n\na.org,1\n", "no column 'element'"),
    "missing_element": (b"element,rank\n,1\nb.org,2\n", "found no element"),
    "not_text": (b"element\n\xff\xfe\xfd\n", "is not UTF-8 text|cannot be read"),
    "web_page": (b"<!DOCTYPE html><p>Log in", "is a web page"),
    "binary": (b"%PDF-1.7", "is a PDF file"),
}


@pytest.fixture
def folder(tmp_path):
    for crawl in CRAWLS:
        (tmp_path / f"{crawl}.csv").write_bytes(LIST)
    return tmp_path


def listed(folder, quarantine="damaged", selection=Selection(), **settings):  # noqa: B008 - frozen
    source = PresenceListSource(path=str(folder / "*.csv"), **settings).with_quarantine(quarantine)
    return source.list_crawls(Files(folder / "cache"), selection)


@pytest.mark.parametrize(("content", "reason"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_list_is_set_aside(folder, content, reason):
    before = listed(folder)
    (folder / "2024-02.csv").write_bytes(content)
    with pytest.raises(SourceError, match=reason) as stopped:
        listed(folder, "none")
    found = listed(folder)
    (quarantined,) = found.quarantined
    assert quarantined == (
        "2024-02",
        datetime.fromisoformat("2024-02-01"),
        str(folder / "2024-02.csv"),
        "damaged",
        str(stopped.value),
    )
    assert [crawl.crawl for crawl in found.crawls] == ["2024-01", "2024-03", "2024-04"]
    assert found.revisions == {crawl: before.revisions[crawl] for crawl in ("2024-01", "2024-03", "2024-04")}
    assert found.inputs != before.inputs
    (folder / "2024-02.csv").write_bytes(LIST)
    assert listed(folder) == before


def test_list_without_permission_is_set_aside(folder):
    def read(path):
        if path.stem == "2024-02":
            raise PermissionError(13, "Permission denied")
        return "0" * 64

    with mock.patch("crawl_urn_dagster.sources.transport.files._current_sha256", read):
        found = listed(folder)
    assert [(one.crawl, one.kind) for one in found.quarantined] == [("2024-02", "damaged")]
    assert found.quarantined[0].reason.endswith("cannot be opened: Permission denied; check its permissions")


def test_unreachable_list_is_set_aside_on_request_only(folder):
    fetch = Files.fetch

    def refuse(files, location):
        if "2024-03" in location:
            raise SourceError(f"{location}: the server answered 500")
        return fetch(files, location)

    with mock.patch.object(Files, "fetch", refuse):
        with pytest.raises(SourceError, match="500"):
            listed(folder)
        found = listed(folder, "any")
    assert [(one.crawl, one.kind) for one in found.quarantined] == [("2024-03", "unreachable")]


def test_damaged_list_is_not_read_again(folder):
    (folder / "2024-02.csv").write_bytes(TRUNCATED)
    before = listed(folder)
    with mock.patch.object(PresenceListSource, "_convert", side_effect=AssertionError), pytest.raises(AssertionError):
        listed(folder, "none")
    convert = PresenceListSource._convert

    def refuse(source, files, local, label):
        assert label != "2024-02"
        return convert(source, files, local, label)

    with mock.patch.object(PresenceListSource, "_convert", refuse):
        assert listed(folder) == before


def test_more_than_half_damaged_stops(folder):
    for crawl in CRAWLS[:2]:
        (folder / f"{crawl}.csv").write_bytes(TRUNCATED)
    assert len(listed(folder).quarantined) == 2
    (folder / "2024-03.csv").write_bytes(TRUNCATED)
    with pytest.raises(SourceError, match=r"2024-01\.csv: is damaged gzip"):
        listed(folder)


def test_damaged_file_of_many_crawls_stops(folder):
    (folder / "2024-01.csv").write_bytes(b"crawl,element\n2023-12,a.org\n2024-01,a.org\n")
    (folder / "2024-02.csv").write_bytes(TRUNCATED)
    with pytest.raises(SourceError, match=r"2024-02\.csv: is damaged gzip"):
        listed(folder)
    with pytest.raises(SourceError, match="damaged gzip"):
        PresenceListSource(path=str(folder / "2024-02.csv")).with_quarantine("any").list_crawls(
            Files(folder / "cache"), Selection()
        )


def test_crawl_with_one_damaged_part_is_set_aside_whole(tmp_path):
    for crawl in CRAWLS:
        for part in ("a", "b"):
            path = tmp_path / f"crawl={crawl}" / f"{part}.csv"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(LIST)
    (tmp_path / "crawl=2024-02" / "b.csv").write_bytes(TRUNCATED)
    source = PresenceListSource(path=str(tmp_path / "*" / "*.csv")).with_quarantine("damaged")
    files = Files(tmp_path / "cache")
    assert [one.crawl for one in source.list_crawls(files, Selection()).quarantined] == ["2024-02"]
    assert "2024-02" not in source.list_crawls(files, Selection()).revisions
    with pytest.raises(SourceError, match="damaged gzip"):
        list(source.captures(files, ["2024-01", "2024-02"]))


def test_selection_may_name_a_damaged_crawl(folder):
    (folder / "2024-02.csv").write_bytes(TRUNCATED)
    found = listed(folder, selection=Selection("2024-02", "2024-03"))
    assert [crawl.crawl for crawl in found.crawls] == ["2024-03"]
    assert [one.crawl for one in found.quarantined] == ["2024-02"]
    assert listed(folder, selection=Selection("2024-03")).quarantined == ()
    with pytest.raises(SourceError, match="damaged gzip"):
        listed(folder, selection=Selection("2024-02", "2024-02"))


def test_damaged_index_is_set_aside(tmp_path):
    lines = "".join(f"org,e)/{n} 20240105000000 http://e.org/{n} text/html 200 AAAA 1\n" for n in range(5000))
    for crawl in ("first", "second", "third"):
        (tmp_path / f"{crawl}.cdx.gz").write_bytes(gzip.compress(lines.replace("0105", "0205").encode()))
    (tmp_path / "first.cdx.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "third.cdx.gz").write_bytes(gzip.compress(lines.encode())[:-900])
    source = CdxSource(path=str(tmp_path / "*.cdx.gz")).with_quarantine("damaged")
    found = source.list_crawls(Files(tmp_path / "cache"), Selection())
    assert [crawl.crawl for crawl in found.crawls] == ["first", "second"]
    # Only captures would date it.
    assert [(one.crawl, one.started_at) for one in found.quarantined] == [("third", None)]
