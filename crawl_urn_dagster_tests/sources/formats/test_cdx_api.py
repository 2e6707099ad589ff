"""Test CDX APIs against a server on loopback that behaves, and misbehaves, as the real ones do."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
from pydantic import ValidationError

from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.sources import CdxApiSource, Files, Selection, SourceError, TooLargeError
from crawl_urn_dagster.sources.transport import http_requests
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, captures_of, labels_of, reply

FIELDS = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length")
DIGEST = "MTLF4B3LZJBBS5H4URUKXVRTO35I5XPN"


def rows(count, month=1):
    return [
        (
            f"org,example)/{number:03}",
            f"2024{month:02}{1 + number % 28:02}065311",
            f"http://example.org/{number:03}",
            "text/html",
            "404" if number % 5 == 4 else "200",
            DIGEST,
            str(number),
        )
        for number in range(count)
    ]


def present(count):
    return [row[0] for row in rows(count) if row[4] == "200"]


class Api:
    """Answers of an API; `flaws` are used before its answers, one a request."""

    def __init__(self, server, answer):
        self.server = server
        self._answer = answer
        self.flaws = []
        self.queries = []
        server.answers = self

    def get(self, path, _):
        """Return the answer to a path, as the server requests it."""
        address = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}

        def answer(handler):
            self.queries.append({"path": address.path, **query})
            body = self._answer(address.path, query)
            (self.flaws.pop(0) if self.flaws else _whole)(handler, body)

        return answer


def _whole(handler, body):
    status = 404 if body.startswith(b'{"message"') else 200
    reply(handler, body, status)


def cut(handler, body):
    reply(handler, body[: len(body) // 2])


def busy(status, **headers):
    return lambda handler, _: reply(handler, b"<html>busy</html>", status, **headers)


def wayback(count):
    """Answer as the Wayback CDX server: an array of JSON, with a resumption key if it is not the last part."""

    def answer(_, query):
        found = rows(count)
        start = int(query["resumeKey"].partition(" ")[2]) if "resumeKey" in query else 0
        end = start + int(query["limit"])
        lines = [list(FIELDS), *map(list, found[start:end])]
        if end < count:
            lines += [[], [quote_plus(f"org,example)/ {end}")]]
        return ("[" + ",\n".join(map(json.dumps, lines)) + "]\n").encode() if found[start:end] else b"[]"

    return answer


def pywb(count, size=10, *, counted=lambda pages: {"pages": pages, "pageSize": 5, "blocks": 25}):
    """Answer as pywb and Common Crawl's index server: lines of JSON in pages."""

    def answer(path, query):
        month = int(path[-2:]) if path[-2:].isdigit() else 1
        if not count:
            return json.dumps({"message": "No Captures found for: example.org"}).encode()
        if "showNumPages" in query:
            return json.dumps(counted(-(-count // size))).encode()
        start = int(query["page"]) * size
        names = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length")
        found = [dict(zip(names, row, strict=True)) for row in rows(count, month)[start : start + size]]
        return "".join(json.dumps(row | {"filename": "a.warc.gz"}) + "\n" for row in found).encode()

    return answer


def outbackcdx(count):
    return lambda _, query: "".join(" ".join(row) + "\n" for row in rows(count)).encode()


APIS = {"wayback": wayback, "pywb": pywb, "outbackcdx": outbackcdx}


def source_of(server, **configured):
    fast = {"captures_per_request": 10, "seconds_between_requests": 0.0, "url": "example.org"}
    return CdxApiSource(path=server.url("/cdx"), **{**fast, **configured})


def read(files, source, selection=ALL_CRAWLS):
    listing = source.list_crawls(files, selection)
    return listing, captures_of(source, files, labels_of(listing))


@pytest.fixture
def waits(monkeypatch):
    """The seconds that requests wait, which they do not."""
    waited = []
    monkeypatch.setattr("time.sleep", waited.append)
    monkeypatch.setattr(http_requests.time, "sleep", waited.append)
    return waited


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("count", [1, 10, 25])
def test_each_api_gives_all_captures_and_is_asked_once(files, server, api, count):
    answers = Api(server, APIS[api](count))
    source = source_of(server, api=api, since="2024", until="20241231")
    listing, captures = read(files, source)
    assert captures == [("2024-01", element) for element in present(count)]
    assert listing.findings.get("captures_left_out_status", 0) == count - len(present(count))
    assert listing.findings["lines_malformed"] == 0
    assert {(query["url"], query["matchType"], query["from"]) for query in answers.queries} == {
        ("example.org", "domain", "2024")
    }
    asked = len(answers.queries)
    read(files, source)
    assert len(answers.queries) == asked


def test_parts_continue_after_the_resumption_key(files, server):
    answers = Api(server, wayback(25))
    read(files, source_of(server))
    assert [query.get("resumeKey") for query in answers.queries] == [None, "org,example)/ 10", "org,example)/ 20"]
    assert {(query["limit"], query["output"], query["fl"]) for query in answers.queries} == {
        ("10", "json", ",".join(FIELDS))
    }


@pytest.mark.parametrize("counted", [lambda pages: pages, lambda pages: {"pages": pages}])
def test_pages_are_counted_first(files, server, counted):
    answers = Api(server, pywb(25, counted=counted))
    read(files, source_of(server, api="pywb"))
    assert [query.get("page") for query in answers.queries] == [None, "0", "1", "2"]


@pytest.mark.parametrize("api", APIS)
def test_busy_servers_and_cut_answers_are_asked_again(files, server, waits, api):
    answers = Api(server, APIS[api](25))
    flaws = [busy(429, Retry_After="7"), busy(503), cut]
    # The number of pages is one word; a part of it is not an error.
    answers.flaws = flaws[:2] if api == "pywb" else flaws
    _, captures = read(files, source_of(server, api=api, seconds_between_requests=2.0))
    assert len(captures) == 20
    assert waits[:3] == [0, 7.0, 8.0]  # The server's seconds, then the own ones, doubled twice.


def test_requests_keep_their_distance(files, server, waits):
    Api(server, wayback(25))
    read(files, source_of(server, seconds_between_requests=3.0))
    assert len(waits) == 3
    assert waits[0] == 0
    assert all(2 < seconds <= 3 for seconds in waits[1:])


def test_an_interrupted_answer_is_resumed(files, server, waits):
    answers = Api(server, wayback(25))
    answers.flaws = [_whole, _whole, *[busy(503)] * 4]
    with pytest.raises(SourceError, match=r"resumeKey=.*answered 503.*gave up after attempt 4"):
        read(files, source_of(server))
    del answers.queries[:]
    assert len(read(files, source_of(server))[1]) == 20
    assert [query.get("resumeKey") for query in answers.queries] == ["org,example)/ 20"]


def test_long_answer_is_continued_by_the_next_run(tmp_path, server):
    answers = Api(server, wayback(25))
    limited = Files(tmp_path / "cache", deadline_seconds=50)
    for _ in range(2):
        with pytest.raises(TooLargeError, match="the pages before it are kept, and the next run continues"):
            read(limited, source_of(server, seconds_between_requests=60.0))
    assert len(answers.queries) == 2
    assert len(read(limited, source_of(server, seconds_between_requests=60.0))[1]) == 20


def test_an_answer_is_refreshed(files, server, monkeypatch):
    Api(server, wayback(5))
    source = source_of(server, refresh_hours=1.0)
    before, _ = read(files, source)
    Api(server, wayback(10))
    assert read(files, source)[0].revisions == before.revisions
    monkeypatch.setattr("time.time", lambda: 4e9)
    after, captures = read(files, source)
    assert len(captures) == 8
    assert after.revisions != before.revisions


@pytest.mark.parametrize(
    ("api", "answer", "message"),
    [
        ("wayback", b"<html>sign in</html>", "is a web page"),
        ("wayback", b'[["urlkey"],\n["a"],\n[],\n["org%29+1"]]', "the server repeats the resumption key 'org%29\\+1'"),
        ("wayback", b"[]", "the server has no captures of 'example.org'"),
        ("pywb", b"no pages", "does not report its number of pages: found 'no pages'"),
        ("pywb", b'{"message": "No Captures found"}', "the server has no captures of 'example.org'"),
        ("outbackcdx", b"a b c\n", "found lines such as 'a b c'"),
    ],
)
def test_other_answers_are_errors(files, server, api, answer, message):
    Api(server, lambda path, query: answer)
    with pytest.raises(SourceError, match=message):
        read(files, source_of(server, api=api))


def test_each_crawl_of_common_crawl_is_asked_for(files, server, write):
    """The labels are the crawls; a crawl without captures is left out, and others are not requested."""

    def answer(path, query):
        return pywb(0 if "2024-02" in path else 12)(path.removesuffix("-index"), query)

    answers = Api(server, answer)
    labels = [f"CC-MAIN-2024-0{number}" for number in range(1, 5)]
    calendar = write("calendar.csv", "id,from\n" + "".join(f"{label},{label[8:]}-01\n" for label in labels))
    source = CdxApiSource(
        path=server.url("/{crawl}-index"),
        api="pywb",
        url="example.org",
        crawl_from="file",
        calendar=calendar,
        seconds_between_requests=0.0,
    )
    listing, captures = read(files, source, Selection(last_crawl="CC-MAIN-2024-03"))
    assert labels_of(listing) == ["CC-MAIN-2024-01", "CC-MAIN-2024-03"]
    assert len(captures) == 2 * len(present(12))
    assert {query["path"] for query in answers.queries} == {f"/{label}-index" for label in labels[:3]}


@pytest.mark.parametrize(
    ("configured", "message"),
    [
        ({"path": "index.cdx"}, "path is not an address"),
        ({"path": "http://a/{crawl}"}, "go together"),
        ({"crawl_from": "file"}, "go together"),
        ({"path": "http://a/{crawl}", "crawl_from": "file"}, "the calendar is needed"),
        ({"since": "yesterday"}, "String should match"),
        ({"captures_per_request": 0}, "greater than or equal to 1"),
    ],
)
def test_wrong_settings_are_errors(configured, message):
    with pytest.raises(ValidationError, match=message):
        CdxApiSource(**{"path": "http://a/cdx", "url": "example.org", **configured})


def test_the_example_is_read(files, server, tmp_path, waits):
    """Each collection of the example, with a server on loopback in place of the three."""
    labels = [f"CC-MAIN-2023-{week:02}" for week in (6, 14, 50)]

    def answer(path, query):
        if path == "/collinfo.json":
            return json.dumps([{"id": label, "from": f"2023-0{at}-01"} for at, label in enumerate(labels, 1)]).encode()
        return next(api for name, api in answers.items() if name in path)("", query)

    answers = {"search": wayback(5), "CC-MAIN": pywb(5), "collection": outbackcdx(5)}
    Api(server, answer)
    example = Path(__file__).parents[3] / "examples" / "cdx_apis.yaml"
    text = re.sub(
        r"https?://(web.archive.org|index.commoncrawl.org|localhost:8080)/", server.url("/"), example.read_text()
    )
    (tmp_path / "cdx_apis.yaml").write_text(text)
    found = {}
    for collection in load_collections(tmp_path / "cdx_apis.yaml"):
        listing, captures = read(files, collection.source, collection.selection)
        found[collection.name] = (labels_of(listing), len(captures))
    assert found == {
        "wayback_urls": (["2024-01"], 4),
        "common_crawl_urls_of_a_domain": (labels, 12),
        "own_hosts": (["2024-01"], 4),
    }
