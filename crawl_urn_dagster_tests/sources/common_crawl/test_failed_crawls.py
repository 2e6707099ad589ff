"""Crawls that a run sets aside because a server fails for one of them, and their return."""

import bz2
import functools
import os
from unittest import mock

import pytest

from crawl_urn_dagster.sources import CommonCrawlCountsSource, CommonCrawlIndexSource, Files, Selection, SourceError
from crawl_urn_dagster.sources.common_crawl import failed_crawls
from crawl_urn_dagster.sources.transport import http_requests
from crawl_urn_dagster_tests.command import PATIENT_SECONDS
from crawl_urn_dagster_tests.sources.conftest import reply, serve
from crawl_urn_dagster_tests.sources.generated_indexes import answer_range, index_folder, serve_tree, write_index

CRAWLS = ["CC-MAIN-2018-05", "CC-MAIN-2020-05", "CC-MAIN-2024-10", "CC-MAIN-2024-18"]
CALENDAR = "id,from\n" + "".join(f"{crawl},{crawl[8:12]}-0{1 + n}-01\n" for n, crawl in enumerate(CRAWLS))
BAD = CRAWLS[1]
OTHERS = [crawl for crawl in CRAWLS if crawl != BAD]
LOGIN = b"<!DOCTYPE html><title>Log in</title>" + b" " * 4000


def stall(handler):
    handler.send_response(206 if "Range" in handler.headers else 200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.server.stopping.wait(PATIENT_SECONDS)


def silent(handler):
    handler.server.stopping.wait(PATIENT_SECONDS)


def cut(handler):
    """Send fewer bytes than announced."""
    handler.send_response(206 if "Range" in handler.headers else 200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"BZh9" + b"x" * 96)


def redirect(handler):
    reply(handler, status=302, Location=handler.server.url("/login"))


#: Answers to requests for one file, and the kind of the failure.
FAULTS = {
    "error": (functools.partial(reply, body=b"sorry", status=500), "unreachable"),
    "refusal": (functools.partial(reply, body=b"no", status=401), "unreachable"),
    "time_out": (stall, "unreachable"),
    "cut": (cut, "unreachable"),
    "login_page": (functools.partial(answer_range, content=LOGIN), "damaged"),
    "login_redirect": (redirect, "damaged"),
    "truncated": (functools.partial(answer_range, content=b"BZh9PAR1 and nothing else of it"), "damaged"),
}


@pytest.fixture(autouse=True)
def _one_attempt(monkeypatch):
    monkeypatch.setattr(http_requests, "_ATTEMPTS", 1)
    monkeypatch.setattr(http_requests, "_SOCKET_TIMEOUT_SECONDS", PATIENT_SECONDS)


@pytest.fixture
def _short_time_out(request, monkeypatch):
    """Time out after two seconds in the tests of time-outs; the other answers take milliseconds."""
    if "time_out" in request.node.callspec.params.values():
        monkeypatch.setattr(http_requests, "_SOCKET_TIMEOUT_SECONDS", 2)


class Archive:
    """A source on a server, and the file of one crawl that fails."""

    def __init__(self, server, source, path, folder):
        self.server, self._source, self.path = server, source, path
        self.files = Files(folder / "cache", deadline_seconds=PATIENT_SECONDS)
        self.good = server.answers[path]
        server.answers["/login"] = functools.partial(answer_range, content=LOGIN)

    def fail(self, answer, *, heads=False):
        """Let requests for the file fail, or only those for its content."""
        self.server.answers[self.path] = lambda handler: (
            self.good(handler) if handler.command == "HEAD" and not heads else answer(handler)
        )

    def list(self, quarantine="damaged"):
        return self._source.with_quarantine(quarantine).list_crawls(self.files, Selection())

    def read(self, quarantine="damaged"):
        """Read all crawls; return those that were read and those that were set aside."""
        read, set_aside = [], []
        for captures in self._source.with_quarantine(quarantine).captures(self.files, CRAWLS):
            if captures.complete is not False:
                (set_aside if captures.complete is None else read).append(captures.crawl)
        return read, set_aside


@pytest.fixture
def counts(server, tmp_path):
    server.answers["/c.csv"] = serve(CALENDAR.encode())
    for number, crawl in enumerate(CRAWLS):
        for part in ("00000", "00001"):
            content = bz2.compress(f'[3, "{part}.org", {number}]\t1\n'.encode())
            server.answers[f"/{crawl}/{part}"] = functools.partial(answer_range, content=content)
    path = server.url("/{crawl}/{part}")
    source = CommonCrawlCountsSource(path=path, parts=2, calendar=server.url("/c.csv"))
    return Archive(server, source, f"/{BAD}/00001", tmp_path)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    write_index(root, CRAWLS, rows=200, sites=40)
    (root / "c.csv").write_text(CALENDAR)
    return root


@pytest.fixture
def index(server, tree, tmp_path):
    serve_tree(server, tree)
    source = CommonCrawlIndexSource(data=server.url(""), calendar=server.url("/c.csv"))
    (path, *_) = [path for path in server.answers if path.startswith(f"/{index_folder(BAD)}")]
    return Archive(server, source, path, tmp_path)


@pytest.mark.parametrize(
    ("name", "fault"),
    [*(("counts", fault) for fault in FAULTS), *(("index", fault) for fault in ("error", "cut", "login_page"))],
)
@pytest.mark.usefixtures("_short_time_out")
def test_crawl_of_a_failing_file_is_set_aside_and_returns(request, name, fault):
    archive, (answer, kind) = request.getfixturevalue(name), FAULTS[fault]
    whole = archive.list("any")
    archive.fail(answer)
    assert archive.list("any") == whole  # its content is not requested yet
    with pytest.raises(SourceError, match=archive.path) as stopped:
        archive.read("none")
    if kind == "unreachable":
        with pytest.raises(SourceError, match=archive.path):
            archive.read("damaged")
    quarantine = "any" if kind == "unreachable" else "damaged"
    assert archive.read(quarantine) == (OTHERS, [BAD])
    found = archive.list(quarantine)
    assert [crawl.crawl for crawl in found.crawls] == list(found.revisions) == OTHERS
    (one,) = found.quarantined
    assert (one.crawl, one.started_at, one.kind) == (BAD, whole.crawls[1].started_at, kind)
    assert archive.path in one.location
    assert str(stopped.value)[:60] in one.reason
    assert found.inputs != whole.inputs
    assert archive.list("none") == whole

    archive.server.answers[archive.path] = archive.good
    if kind == "unreachable":
        assert archive.list(quarantine) == found  # it is tried again after a day
        with mock.patch.object(failed_crawls, "_TRIED_AGAIN_SECONDS", -1):
            assert archive.list(quarantine) == whole
    # A file that was damaged returns when it is replaced.
    archive.server.answers[archive.path] = lambda handler: archive.good(handler, version='"v2"')
    assert archive.list(quarantine) == whole
    assert archive.read(quarantine) == (CRAWLS, [])


@pytest.mark.parametrize("name", ["error", "time_out"])
@pytest.mark.usefixtures("_short_time_out")
def test_crawl_that_cannot_be_found_is_set_aside(counts, name):
    whole = counts.list("any")
    counts.path = f"/{BAD}/00000"
    counts.good = counts.server.answers[counts.path]
    counts.fail(
        FAULTS[name][0] if name == "error" else lambda handler: handler.server.stopping.wait(PATIENT_SECONDS),
        heads=True,
    )
    with pytest.raises(SourceError, match=counts.path):
        counts.list("damaged")
    found = counts.list("any")
    assert [(one.crawl, one.kind) for one in found.quarantined] == [(BAD, "unreachable")]
    counts.server.answers[counts.path] = counts.good
    assert counts.list("any") == whole


def test_outage_sets_no_crawl_aside(counts):
    for path in counts.server.answers:
        if path != "/c.csv":
            counts.server.answers[path] = FAULTS["error"][0]
    with pytest.raises(SourceError, match="500"):
        counts.list("any")
    asked = {path for path, _ in counts.server.requests if "/CC-MAIN" in path}
    assert len(asked) == 3  # each takes as long as the deadline


def test_more_than_half_failing_stops(counts):
    for crawl in CRAWLS[:3]:
        counts.server.answers[f"/{crawl}/00001"] = functools.partial(answer_range, content=LOGIN)
    assert counts.read() == (CRAWLS[3:], CRAWLS[:3])
    with pytest.raises(SourceError, match=f"/{CRAWLS[0]}/00001: is a web page"):
        counts.list()


def test_replaced_file_of_a_mirrored_index_returns(tree, tmp_path):
    copy = tmp_path / "mirror"
    write_index(copy, CRAWLS, rows=200, sites=40)
    (copy / "c.csv").write_text(CALENDAR)
    source = CommonCrawlIndexSource(data=str(copy), calendar=str(copy / "c.csv")).with_quarantine("damaged")
    files = Files(tmp_path / "cache")
    path = sorted((copy / index_folder(BAD)).glob("*.parquet"))[1]
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    assert [captures.crawl for captures in source.captures(files, CRAWLS) if captures.complete is None] == [BAD]
    (one,) = source.list_crawls(files, Selection()).quarantined
    assert (one.crawl, one.location, one.kind) == (BAD, str(path), "damaged")
    path.write_bytes(content)
    os.utime(path, (1, 1))
    assert source.list_crawls(files, Selection()).quarantined == ()
