"""Crawls that are set aside because their files cannot be read, by source and fault."""

import gzip
from datetime import datetime
from unittest import mock

import pytest

from crawl_urn_dagster.sources import (
    CdxApiSource,
    CdxSource,
    HeritrixLogSource,
    PresenceListSource,
    Selection,
    SourceError,
    WarcSource,
)
from crawl_urn_dagster.sources.transport import http_requests
from crawl_urn_dagster.sources.transport.files import Files
from crawl_urn_dagster_tests.sources.common_crawl.test_failed_crawls import FAULTS, LOGIN
from crawl_urn_dagster_tests.sources.conftest import reply
from crawl_urn_dagster_tests.sources.formats.test_cdx_api import outbackcdx

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


def listing_of(source, files, quarantine):
    return source.with_quarantine(quarantine).list_crawls(files, Selection())


@pytest.mark.parametrize("fault", ["text", "binary", "empty", "web_page", "cut_gzip"])
def test_damaged_crawl_log_is_set_aside(tmp_path, fault):
    digest = "sha1:7AJUMSDTOMT4FN7MBFGGNJU3Z56MLCMW"
    line = "2011-0{}-23T17:12:08.802Z 200 9 http://www.a.com/ - - text/html #025 20110623171208546+922 {} - -\n"
    whole = {month: line.format(month, digest).encode() for month in (1, 2, 3)}
    faults = {
        "text": b"a b c\n" * 9,
        "binary": b"\x00\xff" * 99,
        "empty": b"",
        "web_page": b"<!DOCTYPE html>",
        "cut_gzip": gzip.compress(whole[2] * 5000)[:-30],
    }
    paths = {month: tmp_path / f"2011-0{month}" / "logs" / "crawl.log" for month in whole}
    for month, path in paths.items():
        path.parent.mkdir(parents=True)
        path.write_bytes(whole[month])
    source, files = HeritrixLogSource(path=str(tmp_path / "*" / "logs" / "crawl.log")), Files(tmp_path / "cache")
    before = listing_of(source, files, "damaged")
    paths[2].write_bytes(faults[fault])
    with pytest.raises(SourceError, match=r"2011-02.logs.crawl\.log"):
        listing_of(source, files, "none")
    found = listing_of(source, files, "damaged")
    assert [(one.crawl, one.kind) for one in found.quarantined] == [("2011-02", "damaged")]
    assert list(found.revisions) == ["2011-01", "2011-03"]
    paths[2].write_bytes(whole[2])
    assert listing_of(source, files, "damaged") == before


@pytest.mark.parametrize("fault", ["cut", "zeros", "empty", "web_page", "other_file"])
def test_damaged_warc_is_set_aside(tmp_path, fault):
    pytest.importorskip("fastwarc")
    from crawl_urn_dagster_tests.sources.formats.test_warc import answer as warc_answer

    whole = b"".join(gzip.compress(warc_answer(200, f"http://a.com/{n}"), mtime=0) for n in range(20))
    faults = {
        "cut": whole[:-20],
        "zeros": whole[:400] + bytes(300) + whole[700:],
        "empty": b"",
        "web_page": b"<!DOCTYPE html>",
        "other_file": b"PK\x03\x04" + b"x" * 99,
    }
    for crawl in CRAWLS:
        (tmp_path / crawl).mkdir()
        (tmp_path / crawl / "a.warc.gz").write_bytes(whole)
    source, files = WarcSource(path=str(tmp_path / "*" / "a.warc.gz"), crawl_from="file"), Files(tmp_path / "cache")
    before = listing_of(source, files, "damaged")
    (tmp_path / "2024-03" / "a.warc.gz").write_bytes(faults[fault])
    with pytest.raises(SourceError, match=r"2024-03.a\.warc\.gz"):
        listing_of(source, files, "none")
    found = listing_of(source, files, "damaged")
    assert [(one.crawl, one.kind) for one in found.quarantined] == [("2024-03", "damaged")]
    (tmp_path / "2024-03" / "a.warc.gz").write_bytes(whole)
    assert listing_of(source, files, "damaged") == before


@pytest.mark.parametrize("fault", FAULTS)
def test_crawl_of_a_failing_api_is_set_aside(server, tmp_path, monkeypatch, fault):
    monkeypatch.setattr(http_requests, "_ATTEMPTS", 1)
    monkeypatch.setattr(http_requests, "_SOCKET_TIMEOUT_SECONDS", 0.5)
    broken, kind = FAULTS[fault]
    if fault == "truncated":  # An answer without its last line break is a transfer that was cut.
        kind = "unreachable"
    fails = {"2024-02": False}

    class Answers:
        def get(self, path, _):
            crawl = path[1:8]
            if path.startswith("/login"):
                return lambda handler: reply(handler, LOGIN)
            if fails.get(crawl):
                return broken
            lines = outbackcdx(5)(None, None).replace(b"202401", crawl.replace("-", "").encode())
            return lambda handler: reply(handler, lines)

    server.answers = Answers()
    (tmp_path / "c.csv").write_text("id,from\n" + "".join(f"{crawl},{crawl}-01\n" for crawl in CRAWLS))
    source = CdxApiSource(
        path=server.url("/{crawl}"),
        api="outbackcdx",
        url="example.org",
        crawl_from="file",
        calendar=str(tmp_path / "c.csv"),
        seconds_between_requests=0.0,
    )

    def listed(quarantine, cache):
        return listing_of(source, Files(tmp_path / cache), quarantine)

    before = listed("damaged", "one")
    fails["2024-02"] = True
    with pytest.raises(SourceError, match="/2024-02"):
        listed("none", "two")
    quarantine = "any" if kind == "unreachable" else "damaged"
    found = listed(quarantine, "two")
    assert [(one.crawl, one.kind) for one in found.quarantined] == [("2024-02", kind)]
    assert [crawl.crawl for crawl in found.crawls] == [crawl for crawl in CRAWLS if crawl != "2024-02"]
    if kind == "unreachable":
        with pytest.raises(SourceError, match="/2024-02"):
            listed("damaged", "two")
    fails["2024-02"] = False
    assert listed(quarantine, "two").revisions == before.revisions
