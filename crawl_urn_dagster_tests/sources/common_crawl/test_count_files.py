"""Test Common Crawl's count files, from disk and from faulty servers."""

import bz2
import json

import pytest

from crawl_urn_dagster.sources import CommonCrawlCountsSource, Selection, SourceError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, captures_of, in_sequence, labels_of, reply, serve

# As in real files, a later crawl may have a smaller number.
IDS = {"CC-MAIN-2014-49": 99, "CC-MAIN-2014-52": 0}
CALENDAR = "id,from\nCC-MAIN-2014-52,2014-12-17\nCC-MAIN-2014-49,2014-11-20\n"


def lines(number, domains, space=" "):
    """Return a part as the count job writes it: types are numbers, and equal counts are one number."""
    separators = (f",{space}", f":{space}")
    rows = [([2, f"www.{domain}", number], [3, 2, 1]) for domain in domains]
    rows += [([3, domain, number], 7 if at % 2 else [9, 2]) for at, domain in enumerate(domains)]
    rows += [
        ([5, "org,example", number], 1),
        ([4, "org", number], [4, 1]),
        ([90, 8, number], 12),
        ([33, "x", number], 1),
    ]
    rows += [([3, "", number], 1), ([0, "org,example)/", "http://example.org/"], 2**50)]
    return bz2.compress(
        "".join("\t".join(json.dumps(part, separators=separators) for part in row) + "\n" for row in rows).encode()
    )


def contents(crawl):
    """Return the two parts of a crawl, with escapes, spaces and quotes in domains."""
    number = IDS[crawl]
    return [
        lines(number, [f"{letter}{number}.org" for letter in "ab"] + ["example.org"], space=""),
        lines(number, ["bücher.de", 'a"b\\c d', "x\ty.com"]),
    ]


def expected(crawl):
    number = IDS[crawl]
    return sorted([f"a{number}.org", f"b{number}.org", "example.org", "bücher.de", 'a"b\\c d', "x\ty.com"])


@pytest.fixture
def source(write):
    for crawl in IDS:
        for part, content in enumerate(contents(crawl)):
            folder = write(f"counts/{crawl}/count/part-0000{part}.bz2", content).rsplit("/", 3)[0]
    return CommonCrawlCountsSource(
        path=f"{folder}/{{crawl}}/count/part-{{part}}.bz2", parts=2, calendar=write("c.csv", CALENDAR)
    )


@pytest.fixture
def served(server):
    server.answers["/c.csv"] = serve((CALENDAR + "CC-MAIN-2015-06,2015-01-24\n").encode())
    for crawl in IDS:
        for part, content in enumerate(contents(crawl)):
            server.answers[f"/{crawl}/part-0000{part}.bz2"] = serve(content)
    return CommonCrawlCountsSource(path=server.url("/{crawl}/part-{part}.bz2"), parts=2, calendar=server.url("/c.csv"))


def test_items_are_read_by_crawl(source, read):
    listing, captures = read(source)
    assert labels_of(listing) == ["CC-MAIN-2014-49", "CC-MAIN-2014-52"]
    assert captures == sorted((crawl, item) for crawl in IDS for item in expected(crawl))
    assert set(listing.revisions) == set(IDS)
    assert len(set(listing.revisions.values())) == 2


@pytest.mark.parametrize(
    ("counted", "found"),
    [("host", "www.example.org"), ("tld", "org"), ("surt_domain", "org,example")],
)
def test_other_types_of_item_are_read(source, read, files, counted, found):
    other = source.model_copy(update={"counted": counted})
    listing, captures = read(other, Selection(last_crawl="CC-MAIN-2014-49"))
    assert ("CC-MAIN-2014-49", found) in captures
    assert len(captures) == (6 if counted == "host" else 2)
    assert listing.revisions != source.list_crawls(files, ALL_CRAWLS).revisions


def test_listing_and_reading_leave_no_count_files(served, files, server):
    listing = served.list_crawls(files, ALL_CRAWLS)
    assert labels_of(listing) == list(IDS)  # The third has no counts yet.
    assert listing.findings == {"crawls_without_files": "CC-MAIN-2015-06"}
    assert [local.location for local in listing.inputs] == [
        *(server.url(f"/{crawl}/part-00000.bz2") for crawl in IDS),
        server.url("/c.csv"),
    ]
    assert len([path for path, _ in server.requests if path.endswith(".bz2")]) == 3
    assert captures_of(served, files, list(IDS)) == sorted((crawl, item) for crawl in IDS for item in expected(crawl))
    assert [path.name for path in files.cache.rglob("*") if path.is_file() and path.suffix != ".lock"].count(
        "entry.json"
    ) == 1


def test_interrupted_run_keeps_its_downloads(served, files, server):
    (crawl, _) = IDS
    reading = served.captures(files, [crawl])
    next(reading)
    reading.close()
    captures_of(served, files, [crawl])
    asked = server.headers_sent_to(f"/{crawl}/part-00000.bz2")
    assert [headers.get("If-None-Match") for headers in asked] == [None, '"v1"']


def test_recounted_crawl_has_another_revision(served, files, server):
    before = served.list_crawls(files, ALL_CRAWLS).revisions
    crawl = "CC-MAIN-2014-52"
    server.answers[f"/{crawl}/part-00000.bz2"] = serve(contents(crawl)[0], '"v2"')
    after = served.list_crawls(files, ALL_CRAWLS).revisions
    assert [label for label in IDS if before[label] != after[label]] == [crawl]


def test_busy_answers_and_a_truncation_are_retried(served, files, server):
    (crawl, _) = IDS
    content = contents(crawl)[1]
    busy = [lambda handler, status=status: reply(handler, b"SlowDown", status) for status in (403, 503)]
    server.answers[f"/{crawl}/part-00001.bz2"] = in_sequence(*busy, serve(content, cut=30), serve(content))
    assert len(captures_of(served, files, [crawl])) == 6


BAD = {
    b"<html>Please log in</html>": "is a web page or XML, it starts with '<html>",
    b"": "is not bzip2, it starts with b''",
    contents("CC-MAIN-2014-49")[1][:-9]: "cannot be read: .*; get the file again",
    b"BZh9 broken": "cannot be read: .*; get the file again",
    bz2.compress(b'[3, "a.org", 99]\t1\nno tab\n'): "cannot be read: .*Expected 2 columns, got 1",
    bz2.compress(b'[3, "a.org", 99]\t1\n{}\t1\n'): r"line 2: found '\{\}\\t1', expected a line such as",
    bz2.compress(b'[2, "a.org", 99]\t1\n\r\n[3, "a.org"]\t1\n'): r"line 2: found '\\t'",
    bz2.compress(
        b'[2, "a.org", 99]\t1\n[4, "org", 99]\t1\n[3, "a.org"]\t1\n'
    ): r"line 3: found '\[3, .a.org.\]\\t1', expected a line such as",
    bz2.compress(b'[3, "a.org", "CC-MAIN-2014-49"]\t1\n'): "expected a line such as",
    bz2.compress(b'[3, "a.org", 99]\t0\n'): "counts above 0",
    bz2.compress(b'[3, "a.org", 99]\t-1\n'): "counts above 0",
    bz2.compress(b'[3, "a.org", 99]\t\n'): "counts above 0",
    bz2.compress(b'[3, "a.org", 98]\t1\n'): r"found the crawl numbers \[98, 99\], expected one number that only",
    bz2.compress(b'[3, "\xff\xfe", 99]\t1\n'): "invalid UTF8",
    bz2.compress(b"x" * (40 * 2**20)): "cannot be read: .*; get the file again",
}


@pytest.mark.parametrize(("content", "message"), BAD.items(), ids=range(len(BAD)))
def test_other_files_are_errors(served, files, server, content, message):
    (crawl, _) = IDS
    server.answers[f"/{crawl}/part-00001.bz2"] = serve(content)
    with pytest.raises(SourceError, match=f"{crawl}/part-00001.bz2.*{message}"):
        captures_of(served, files, [crawl])


def test_missing_part_is_an_error(served, source, files, server):
    with pytest.raises(SourceError, match=r"part-00002\.bz2: the server answered 404"):
        captures_of(served.model_copy(update={"parts": 3}), files, list(IDS))
    with pytest.raises(SourceError, match=r"part-00002\.bz2: there is no such file"):
        captures_of(source.model_copy(update={"parts": 3}), files, list(IDS))


def test_misplaced_files_are_an_error(source, files, write):
    for part, content in enumerate(contents("CC-MAIN-2014-49")):
        write(f"counts/CC-MAIN-2014-52/count/part-0000{part}.bz2", content)
    with pytest.raises(SourceError, match=r"2014-52.*numbers \[99\], of which one belongs to CC-MAIN-2014-49"):
        captures_of(source, files, list(IDS))


def test_parts_may_be_empty_or_of_several_streams(source, files, write):
    first, second = contents("CC-MAIN-2014-49")
    write("counts/CC-MAIN-2014-49/count/part-00000.bz2", bz2.compress(b""))
    write("counts/CC-MAIN-2014-49/count/part-00001.bz2", first + second)
    captures = captures_of(source, files, ["CC-MAIN-2014-49"])
    assert [item for _, item in captures] == expected("CC-MAIN-2014-49")


def test_crawl_without_the_type_is_an_error(source, files, write):
    for part in range(2):
        write(f"counts/CC-MAIN-2014-52/count/part-0000{part}.bz2", bz2.compress(b'[3, "a.org", 0]\t1\n'))
    hosts = source.model_copy(update={"counted": "host"})
    with pytest.raises(SourceError, match=r"2014-52.* has no line of type 2 \(host\) in 2 parts; check"):
        captures_of(hosts, files, list(IDS))


def test_lone_surrogate_stays_escaped(source, files, write):
    write("counts/CC-MAIN-2014-49/count/part-00000.bz2", bz2.compress(rb'[3, "\ud800.org", 99]' + b"\t1\n"))
    assert ("CC-MAIN-2014-49", "\\ud800.org") in captures_of(source, files, ["CC-MAIN-2014-49"])
