"""Test the source of WARC files, whole and damaged in every way that a crawler or a disk damages them."""

import gzip

import pyarrow as pa
import pytest

from crawl_urn_dagster.sources import CdxSource, SourceError, WarcSource

pytest.importorskip("fastwarc")
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nhello"


def record(kind, url=None, content=OK, *, date="2024-01-05T10:00:00Z", length=None):
    lines = ["WARC/1.0", f"WARC-Type: {kind}", "WARC-Record-ID: <urn:uuid:2bd1c6c5-2b1f-4b6f-8b1a-000000000000>"]
    lines += [f"WARC-Date: {date}"] if date else []
    lines += [f"WARC-Target-URI: {url}"] if url else []
    lines += [f"Content-Type: application/http; msgtype={kind}"]
    lines += [f"Content-Length: {len(content) if length is None else length}"] if length != "" else []
    return "\r\n".join((*lines, "", "")).encode() + content + b"\r\n\r\n"


def answer(status, url):
    return record("response", url, b"HTTP/1.1 %d X\r\n\r\n" % status)


INFO, REQUEST = (
    record("warcinfo", None, b"software: x\r\n"),
    record("request", "http://a.com/", b"GET / HTTP/1.0\r\n\r\n"),
)
A, B, MISSING = answer(200, "http://www.a.com/"), answer(200, "http://b.com/b"), answer(404, "http://c.com/")
REVISIT = record("revisit", "http://d.com/", b"HTTP/1.1 301 Moved\r\n\r\n")
DNS = record("response", "dns:a.com", b"20240105100000\n")
RECORDS = [INFO, A, REQUEST, MISSING, REVISIT, DNS, record("resource", "http://e.com/", b"x")]


@pytest.fixture
def outcomes(read, write):
    """Return a function that reads a file: findings without zeros, and the elements."""

    def outcomes(content, **configured):
        path = write("ARCHIVE-1.warc.gz", content)
        listing, captures = read(WarcSource(path=path, **{"crawl_from": "month", "max_malformed": 1.0, **configured}))
        return {name: found for name, found in listing.findings.items() if found}, captures

    return outcomes


def members(records):
    return b"".join(gzip.compress(one, mtime=0) for one in records)


def test_every_record_has_one_outcome(outcomes):
    for content in (b"".join(RECORDS), members(RECORDS), gzip.compress(b"".join(RECORDS), mtime=0)):
        findings, captures = outcomes(content)
        assert captures == [("2024-01", f"com,{site})/") for site in "ade"]
        assert findings == {
            "lines": 7,
            "captures": 3,
            "lines_header": 2,
            "captures_left_out_status": 1,
            "captures_left_out_not_web": 1,
        }


def test_revisits_follow_the_setting(outcomes):
    assert [element for _, element in outcomes(members(RECORDS), revisits="original_present")[1]] == [
        "com,a)/",
        "com,e)/",
    ]


def test_crawl_is_in_the_name_of_the_file(outcomes):
    assert outcomes(members([A]), crawl_from="warc", warc_pattern="ARCHIVE-([0-9])")[1] == [("1", "com,a)/")]


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([A, b"garbage here\r\n\r\n", B], "the next record cannot be read"),
        ([A, record("response", "http://a.com/x", length=500), B], "a record ends early"),
        ([A, record("response", "http://a.com/x", date=None), B], "has the WARC-Date ''"),
        ([A, record("response", None), B], "states no WARC-Target-URI"),
        ([A, B, MISSING[:-20]], "ends early"),
        ([A, B, MISSING[:60]], "ends early"),
        ([A, B, MISSING[:5]], "the next record cannot be read"),
    ],
)
@pytest.mark.parametrize("compress", [b"".join, members])
def test_damage_is_counted_and_reading_goes_on(outcomes, compress, records, problem):
    findings, captures = outcomes(compress(records), element="url_as_written")
    urls = [url for _, url in captures]
    assert urls == ["http://b.com/b", "http://www.a.com/"]
    assert findings["lines_malformed"] == 1
    assert findings["lines"] == findings["lines_malformed"] + findings["captures"]
    assert problem in findings["malformed"]
    assert "ARCHIVE-1.warc.gz, byte " in findings["malformed"]


@pytest.mark.parametrize("cut", [5, 40, 80])
def test_truncated_member_is_counted(outcomes, cut):
    whole = members([A, MISSING, B])
    findings, captures = outcomes(whole[: -len(gzip.compress(B, mtime=0)) + cut])
    assert findings["lines"] == 3
    assert findings["lines_malformed"] == 1
    assert len(captures) == 1


def test_damaged_member_is_skipped(outcomes):
    parts = [bytearray(gzip.compress(one, mtime=0)) for one in (A, MISSING, B)]
    parts[1][60] ^= 0xFF
    findings, captures = outcomes(b"".join(parts))
    assert len(captures) == 2
    assert findings["lines_malformed"] == 1


def test_damaged_first_record_is_counted(outcomes):
    for content in (b"xxxx" + A + B, members([b"xxxx", A, B])):
        findings, captures = outcomes(content.replace(A, b"\r\n" + A))
        assert len(captures) == 2
        assert findings["lines_malformed"] == 1


def test_damaged_file_of_zstd_is_an_error(outcomes):
    zstd = pa.Codec("zstd")
    blocks = b"".join(zstd.compress(one, asbytes=True) for one in (A, MISSING, B))
    assert len(outcomes(blocks)[1]) == 2
    with pytest.raises(SourceError, match=r"ARCHIVE-1.warc.gz: is damaged"):
        outcomes(blocks[:-20])


def test_damaged_file_compressed_as_a_whole_is_an_error(outcomes):
    with pytest.raises(SourceError, match=r"ARCHIVE-1.warc.gz: is damaged"):
        outcomes(gzip.compress(b"".join(RECORDS), mtime=0)[:-60])


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"hello\n" * 9, "is not a WARC file"), (b"", "has no records"), (b"BZh91AY", "is compressed by bzip2")],
)
def test_another_file_is_rejected(outcomes, content, found):
    with pytest.raises(SourceError, match=rf"ARCHIVE-1.warc.gz: {found}"):
        outcomes(content)


def test_more_malformed_records_than_allowed_are_named(outcomes):
    with pytest.raises(SourceError, match=r"1 of 2 lines are malformed.* byte \d+: a record ends early"):
        outcomes(members([A, B[:-30]]), max_malformed=0.1)


def test_progress_is_reported(outcomes, write, files):
    from dataclasses import replace

    from crawl_urn_dagster.sources import Selection

    lines = []
    source = WarcSource(path=write("a.warc", A * 3), crawl_from="month")
    source.list_crawls(replace(files, report=lines.append), Selection())
    assert any("a.warc" in line and "byte" in line for line in lines)


def test_an_index_source_names_the_source_of_warcs(files, write):
    from crawl_urn_dagster.sources import Selection

    with pytest.raises(SourceError, match=r"a.warc: is a WARC file; use the source warc"):
        CdxSource(path=write("a.warc", A)).list_crawls(files, Selection())
