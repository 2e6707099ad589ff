"""Test reading columns of Parquet files from a folder, HTTP and S3, with what servers do wrong."""

import threading
from urllib.parse import quote

import duckdb
import pytest
from pydantic import ValidationError

from crawl_urn_dagster.sources import CommonCrawlIndexSource, Files, Sample, Selection, SourceError
from crawl_urn_dagster_tests.command import PATIENT_SECONDS
from crawl_urn_dagster_tests.sources.common_crawl.conftest import (
    CRAWLS,
    FIRST_FILE,
    brute_force,
    calendar,
    elements_of,
    source_of,
)
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, labels_of, reply
from crawl_urn_dagster_tests.sources.generated_indexes import (
    answer_range,
    index_folder,
    serve_tree,
    write_file,
    write_index,
    write_list,
)


def test_listed_crawls_have_a_date_and_files(files, tree, served):
    for root in (tree, served[0]):
        listing = source_of(root).list_crawls(files, ALL_CRAWLS)
        assert labels_of(listing) == CRAWLS
        assert {crawl.dated_by for crawl in listing.crawls} == {"calendar"}
        assert listing.findings == {"crawls_without_files": "CC-MAIN-2026-10"}
        assert len(set(listing.revisions.values())) == 3
    assert labels_of(source_of(tree).list_crawls(files, Selection(CRAWLS[1], CRAWLS[1]))) == [CRAWLS[1]]
    with pytest.raises(
        SourceError, match=r"last_crawl CC-MAIN-2026-10 has no files there \(yet\); searched for crawl-data"
    ):
        source_of(tree).list_crawls(files, Selection(last_crawl="CC-MAIN-2026-10"))


def test_s3_gives_the_same_elements(files, server, tree, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    serve_tree(server, tree)
    server.answers = {f"/bucket{quote(path)}": answer for path, answer in server.answers.items()}
    data = f"s3://bucket?region=us-east-1&scheme=http&endpoint_override=127.0.0.1%3A{server.server_port}"
    source = CommonCrawlIndexSource(data=data, calendar=f"{tree}/collinfo.json")
    assert labels_of(source.list_crawls(files, ALL_CRAWLS)) == CRAWLS
    assert elements_of(source, files, CRAWLS[:1]) == brute_force(tree, "url_host_registered_domain", CRAWLS[:1])


def test_only_one_column_is_downloaded(files, server, tmp_path):
    """Only the end of each file, which holds the footer, and one column are served."""
    tree = tmp_path / "tree"
    write_index(tree, CRAWLS[2:], rows=20_000)
    served_bytes = serve_tree(server, tree)
    elements_of(source_of(server.url("")), files, CRAWLS[2:])
    with duckdb.connect() as connection:
        for path in (tree / index_folder(CRAWLS[2])).iterdir():
            column = connection.execute(
                "SELECT sum(total_compressed_size) FROM parquet_metadata(?) WHERE path_in_schema = ?",
                [str(path), "url_host_registered_domain"],
            ).fetchone()[0]
            name = f"/{path.relative_to(tree).as_posix()}"
            assert served_bytes[name] <= column + 2**16 + 1000
            assert served_bytes[name] < path.stat().st_size / 5


def test_sample_filters_the_elements(files, tree):
    source = source_of(tree, element="url")
    whole = elements_of(source, files)
    sample = source.with_sample(Sample(4, lambda texts: [text.endswith("7") for text in texts]))
    assert elements_of(sample, files) == {
        crawl: {text for text in texts if text.endswith("7")} for crawl, texts in whole.items()
    }


def test_interrupted_run_resumes_with_the_next_file(files, tree, served):
    root, served_bytes = served
    source = source_of(root, parallel_requests=1)
    reading = source.captures(files, CRAWLS[:1])
    next(reading)
    reading.close()
    served_bytes.pop(FIRST_FILE)
    assert elements_of(source, files, CRAWLS[:1]) == brute_force(tree, "url_host_registered_domain", CRAWLS[:1])
    assert FIRST_FILE not in served_bytes
    # The crawl is complete, so its cached files are removed.
    assert not [path for path in files.cache.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"PAR1"]


def test_parallel_requests_are_limited(files, tree, served, server):
    at_once, most, lock, second = [0], [0], threading.Lock(), threading.Event()
    crawl = "CC-MAIN-2019-05"
    paths = [f"{index_folder(crawl)}/part-0000{part}-abc.c000.gz.parquet" for part in range(8)]
    content = (tree / FIRST_FILE[1:]).read_bytes()

    def slow(handler):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
            if at_once[0] > 1:
                second.set()
        second.wait(PATIENT_SECONDS)
        server.stopping.wait(0.02)
        answer_range(handler, content)
        with lock:
            at_once[0] -= 1

    server.answers.update({f"/{path}": slow for path in paths})
    root = tree.parent / "limited"
    write_list(root, f"crawl-data/{crawl}/cc-index-table.paths.gz", paths)
    serve_tree(server, root)
    elements_of(source_of(served[0], parallel_requests=3), files, [crawl])
    assert 1 < most[0] <= 3


class TestFaultyServers:
    def bursts(self, status):
        asked = []

        def answer(handler, content):
            asked.append(1)
            if len(asked) in {1, 3}:
                reply(handler, "SlowDown", status=status, Retry_After="0")
            else:
                answer_range(handler, content)

        return answer

    def cut(self):
        asked = []

        def answer(handler, content):
            asked.append(1)
            if len(asked) > 2:
                answer_range(handler, content)
                return
            handler.send_response(206)
            handler.send_header(
                "Content-Range", f"bytes {max(len(content) - 65536, 0)}-{len(content) - 1}/{len(content)}"
            )
            handler.send_header("Content-Length", str(min(len(content), 65536)))
            handler.end_headers()
            handler.wfile.write(content[:100])

        return answer

    def slow(self):
        def answer(handler, content):
            handler.server.stopping.wait(0.3)
            answer_range(handler, content)

        return answer

    @pytest.mark.parametrize("flaw", ["403", "503", "429", "cut", "slow"])
    def test_transient_trouble_does_not_change_elements(self, files, tree, server, served, flaw):
        content = (tree / FIRST_FILE[1:]).read_bytes()
        answer = self.bursts(int(flaw)) if flaw.isdecimal() else getattr(self, flaw)()
        server.answers[FIRST_FILE] = lambda handler: answer(handler, content)
        found = elements_of(source_of(served[0]), files, CRAWLS[:1])
        assert found == brute_force(tree, "url_host_registered_domain", CRAWLS[:1])

    def test_lasting_trouble_is_an_error(self, tmp_path, tree, server, served):
        wide = big_footer(tmp_path)  # Its footer takes a second request.
        versions = iter(range(1000))
        loop = server.url(FIRST_FILE)
        flaws = {
            "answered 404": lambda handler: reply(handler, "gone", status=404),
            "answered 503": lambda handler: reply(handler, "busy", status=503, Retry_After="60"),
            "redirects more than": lambda handler: reply(handler, status=302, Location=loop),
            "does not support ranges": lambda handler: reply(handler, "PAR1"),
            "is a web page or XML, it starts with '<html>sign": lambda handler: reply(handler, "<html>sign in</html>"),
            "another part": lambda handler: reply(handler, "x" * 9, status=206, Content_Range="bytes 7-15/100"),
            "changed while": lambda handler: answer_range(handler, wide, version=f'"{next(versions)}"'),
            "is a web page or XML, it starts with '<p>Sign": lambda handler: answer_range(
                handler, b"<p>Sign in" * 9999
            ),
            "cannot be read": lambda handler: answer_range(handler, b"sign in" * 9),
        }
        for message, answer in flaws.items():
            server.answers[FIRST_FILE] = answer
            files = Files(tmp_path / message)
            with pytest.raises(SourceError, match=message):
                elements_of(source_of(served[0]), files, CRAWLS[:1])


def big_footer(folder):
    path = folder / "wide.parquet"
    if not path.exists():
        columns = ", ".join(f"{number} AS column_{number}_{'x' * 60}" for number in range(1500))
        write_file(folder, "wide.parquet", f"SELECT 'a.com' AS url_host_registered_domain, {columns}")
    return path.read_bytes()


def test_settings_are_checked_and_resolved(tmp_path):
    with pytest.raises(ValidationError, match="neither a folder nor an address"):
        CommonCrawlIndexSource(data="ftp://x")
    moved = CommonCrawlIndexSource(data="mirror", calendar="c.json").relative_to(tmp_path)
    assert (moved.data, moved.calendar) == (str(tmp_path / "mirror"), str(tmp_path / "c.json"))
    assert moved.missing_files() == [str(tmp_path / "c.json"), str(tmp_path / "mirror")]
    assert CommonCrawlIndexSource(data="s3://commoncrawl").relative_to(tmp_path).data == "s3://commoncrawl"


@pytest.mark.slow
def test_five_million_rows_equal_brute_force(files, server, tmp_path):
    """The domains of two eras equal brute force, and less than a tenth of the bytes is served."""
    root = tmp_path / "tree"
    write_index(root, CRAWLS[1:], files=2, rows=1_250_000, sites=200_000)
    (root / "collinfo.json").write_text(calendar(CRAWLS[1:]))
    served_bytes = serve_tree(server, root)
    found = elements_of(source_of(server.url("")), files, CRAWLS[1:])
    assert found == brute_force(root, "url_host_registered_domain", CRAWLS[1:])
    tree_bytes = sum(path.stat().st_size for path in root.rglob("*.parquet"))
    assert sum(served_bytes.values()) < tree_bytes / 10
