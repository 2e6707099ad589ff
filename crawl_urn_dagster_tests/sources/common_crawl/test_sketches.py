"""Test Common Crawl's statistics with sketches, from files and from faulty servers."""

import gzip
import json

import numpy as np
import pytest

from crawl_urn_dagster.sources import CommonCrawlSketchesSource, Selection, SourceError
from crawl_urn_dagster.sources.common_crawl.hyperloglog import relative_error
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, in_sequence, labels_of, reply, serve
from crawl_urn_dagster_tests.sources.generated_sketches import as_json, sketch, statistics

CRAWLS = ["CC-MAIN-2024-10", "CC-MAIN-2024-18", "CC-MAIN-2024-22"]
CALENDAR = json.dumps([{"id": crawl, "from": f"2024-0{month}-01T00:00:00"} for month, crawl in enumerate(CRAWLS, 3)])


@pytest.fixture(scope="module")
def keys():
    """Hashes of three crawls of 40,000 elements: half in all crawls, a quarter in a crawl and the next."""
    drawn = np.random.default_rng(1).integers(0, 2**64, 100_000, dtype=np.uint64)
    core, rest = drawn[:20_000], drawn[20_000:]
    return [np.concatenate([core, rest[10_000 * i : 10_000 * (i + 2)]]) for i in range(3)]


@pytest.fixture(scope="module")
def contents(keys):
    return [
        statistics(crawl, sketch(crawl_keys), space=space)
        for crawl, crawl_keys, space in zip(CRAWLS, keys, ["", " ", " "], strict=True)
    ]


@pytest.fixture
def source(write, contents):
    for crawl, content in zip(CRAWLS, contents, strict=True):
        folder = write(f"stats/{crawl}/part-00000.gz", content).rsplit("/", 2)[0]
    return CommonCrawlSketchesSource(path=f"{folder}/{{crawl}}/part-00000.gz", calendar=write("c.json", CALENDAR))


@pytest.fixture
def served(server, contents):
    """The same files on a server, with a fourth crawl that is listed but not published."""
    listed = [*json.loads(CALENDAR), {"id": "CC-MAIN-2024-26", "from": "2024-06-01"}]
    server.answers["/collinfo.json"] = serve(json.dumps(listed).encode())
    for crawl, content in zip(CRAWLS, contents, strict=True):
        server.answers[f"/{crawl}/stats.gz"] = serve(content)
    return CommonCrawlSketchesSource(path=server.url("/{crawl}/stats.gz"), calendar=server.url("/collinfo.json"))


def test_pairs_and_windows_equal_the_true_counts(source, files, keys):
    tables = source.read_tables(files, ALL_CRAWLS)
    error = relative_error(14)
    assert tables.crawls["elements"].to_numpy(dtype=float) == pytest.approx(40_000, rel=4 * error)
    assert len(tables.windows) == 6
    for row in tables.windows.itertuples():
        first, last = CRAWLS.index(row.start_crawl), CRAWLS.index(row.end_crawl)
        true = len(np.unique(np.concatenate(keys[first : last + 1])))
        assert row.distinct_elements == pytest.approx(true, rel=4 * error)
    for row in tables.pairs.itertuples():
        i, j = CRAWLS.index(row.crawl_i), CRAWLS.index(row.crawl_j)
        true = len(np.intersect1d(keys[i], keys[j]))
        # An intersection carries the error of the union.
        assert row.intersection == pytest.approx(true, abs=4 * error * len(np.union1d(keys[i], keys[j])))
    assert tables.not_published == ()


def test_digests_have_their_own_sketches(source, files):
    digests = source.model_copy(update={"counted": "digest", "relative_error": relative_error(13)})
    urls, other = (one.read_tables(files, ALL_CRAWLS).crawls["elements"] for one in (source, digests))
    assert (urls != other).all()


def test_unpublished_crawl_is_left_out(served, files):
    tables = served.read_tables(files, ALL_CRAWLS)
    assert tables.crawls["crawl"].tolist() == CRAWLS
    assert tables.not_published == ("CC-MAIN-2024-26",)
    listing = served.list_crawls(files, ALL_CRAWLS)
    assert labels_of(listing) == CRAWLS
    assert set(listing.inputs) == set(tables.inputs)
    with pytest.raises(
        SourceError, match=r"last_crawl CC-MAIN-2024-26 has no files .*for http.*/CC-MAIN-2024-26/stats"
    ):
        served.list_crawls(files, Selection(last_crawl="CC-MAIN-2024-26"))


@pytest.mark.parametrize("selection", [ALL_CRAWLS, Selection(CRAWLS[0], CRAWLS[-1])])
def test_no_published_crawl_is_an_error(served, files, selection):
    moved = served.model_copy(update={"path": served.path.replace("stats", "moved")})
    message = (
        r"\{crawl\}/moved.gz: none of the \d crawls listed, CC-MAIN-2024-10 to .*for http.*/CC-MAIN-2024-2\d/moved"
    )
    with pytest.raises(SourceError, match=message):
        moved.list_crawls(files, selection)


def test_current_statistics_are_not_downloaded_again(served, files, server):
    first = served.read_tables(files, ALL_CRAWLS)
    second = served.read_tables(files, ALL_CRAWLS)
    assert first.pairs.equals(second.pairs)
    for crawl in CRAWLS:
        assert [headers.get("If-None-Match") for headers in server.headers_sent_to(f"/{crawl}/stats.gz")] == [
            None,
            '"v1"',
        ]


def test_only_selected_crawls_are_requested(served, files, server):
    tables = served.read_tables(files, Selection(CRAWLS[1], CRAWLS[2]))
    assert tables.crawls["crawl"].tolist() == CRAWLS[1:]
    assert server.headers_sent_to(f"/{CRAWLS[0]}/stats.gz") == []


def test_busy_answers_are_retried(served, files, server, contents):
    busy = [lambda handler, status=status: reply(handler, b"SlowDown", status) for status in (403, 503)]
    server.answers[f"/{CRAWLS[1]}/stats.gz"] = in_sequence(*busy, serve(contents[1]))
    assert len(served.read_tables(files, ALL_CRAWLS).crawls) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Please log in</html>", "is a web page"),
        (b"\x1f\x8b\x08\x00 broken", "is damaged gzip"),
        (gzip.compress(b'["size_estimate", "url"', mtime=0), "line 1: is not JSON, a tab and JSON"),
        (gzip.compress(b'["size_estimate", 1] no tab', mtime=0), "line 1: is not JSON, a tab and JSON"),
        (gzip.compress(b'["size_estimate"' + b"[" * 9999 + b"\t1", mtime=0), "line 1: is not JSON, a tab and JSON"),
        (gzip.compress(b'["size", "url", "CC-MAIN-2024-18"]\t7\n', mtime=0), "has no sketch of url of CC-MAIN-2024-18"),
        (statistics("CC-MAIN-2024-10", np.zeros(2**14, dtype=np.int8)), "did you mean 'url CC-MAIN-2024-10'"),
        (gzip.compress(b'["size_estimate", "url", "CC-MAIN-2024-18"]\t[1]', mtime=0), "line 1: is not a sketch: found"),
        (gzip.compress(b"x" * (2**20 + 1), mtime=0), "line 1: is longer than the 1,048,576 characters of a line"),
        (b"", "has no sketch of url"),
        (gzip.compress(b"\xff\xfe", mtime=0), "is not UTF-8"),
    ],
)
def test_other_files_are_errors(served, files, server, content, message):
    server.answers[f"/{CRAWLS[1]}/stats.gz"] = serve(content)
    with pytest.raises(SourceError, match=f"{CRAWLS[1]}/stats.gz.*{message}"):
        served.read_tables(files, ALL_CRAWLS)


def test_inconsistent_sketches_are_errors(write, files):
    calendar = write("c.json", CALENDAR)
    good, wide = np.ones(2**14, dtype=np.int8), np.ones(2**12, dtype=np.int8)

    def read(second, **settings):
        write("a/CC-MAIN-2024-10.gz", statistics(CRAWLS[0], good))
        path = write("a/CC-MAIN-2024-18.gz", second).replace("CC-MAIN-2024-18", "{crawl}")
        return CommonCrawlSketchesSource(path=path, calendar=calendar, **settings).read_tables(files, ALL_CRAWLS)

    with pytest.raises(SourceError, match="has 4096 registers, but the first crawl 16384"):
        read(statistics(CRAWLS[1], wide))
    with pytest.raises(SourceError, match=r"relative_error is 0.005; set relative_error: 0.008125"):
        read(statistics(CRAWLS[1], good), relative_error=0.005)
    other = as_json(good) | {"card": 1}
    with pytest.raises(SourceError, match=r"line 6: has a second sketch of url"):
        read(statistics(CRAWLS[1], good, rows=[(["size_estimate", "url", CRAWLS[1]], other)]))
    alone = "\t".join(map(json.dumps, (["size_estimate", "url", CRAWLS[1]], other)))
    with pytest.raises(SourceError, match=r"line 1: the registers count .* but card is 1; get the file again"):
        read(gzip.compress(alone.encode()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": "stats.gz"}, "does not have {crawl} exactly once"),
        ({"counted": "host"}, "'url' or 'digest'"),
        ({"relative_error": 0}, "greater than 0"),
    ],
)
def test_wrong_settings_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        CommonCrawlSketchesSource(**settings)


def test_path_without_files_is_missing(write, tmp_path):
    relative = CommonCrawlSketchesSource(path="none/{crawl}.gz", calendar=write("c.json", "[]"))
    source = relative.relative_to(tmp_path)
    assert source.missing_files() == [f"{tmp_path}/none/{{crawl}}.gz"]
    write("none/CC-MAIN-2024-10.gz", b"")
    assert source.missing_files() == []
