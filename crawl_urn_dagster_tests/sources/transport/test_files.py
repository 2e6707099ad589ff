"""Test the hashing of local files, the cache of remote files, and derived files."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawl_urn_dagster.sources import Files, SourceError
from crawl_urn_dagster.sources.errors import AbsentError
from crawl_urn_dagster_tests.sources.conftest import reply, serve

BODY = bytes(range(256)) * 3000  # a few chunks


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def contents(folder):
    """Return the names of the complete contents in the cache."""
    return sorted(path.name for path in folder.rglob("*") if len(path.name) == 64 and path.is_file())


def versioned(pages):
    """Return an answer with the latest page and its ETag, or 304 to a client that has it."""

    def answer(handler):
        body = pages[-1]
        etag = f'"{sha256(body)[:8]}"'
        if handler.headers.get("If-None-Match") == etag:
            reply(handler, status=304, ETag=etag)
        else:
            reply(handler, body, ETag=etag)

    return answer


class TestLocal:
    def test_hash_and_size(self, files, write):
        path = write("a.csv", b"crawl\n")
        local = files.fetch(path)
        assert local.path.read_bytes() == b"crawl\n"
        assert (local.input.location, local.input.bytes) == (path, 6)
        assert local.input.sha256 == sha256(b"crawl\n")

    def test_changed_file_is_hashed_again(self, files, write):
        path = write("a.csv", b"one")
        files.fetch(path)
        write("a.csv", b"three")
        assert files.fetch(path).input.sha256 == sha256(b"three")

    def test_unchanged_state_is_hashed_once(self, write, tmp_path):
        path = write("a.csv", b"one")
        first = Files(tmp_path / "cache").fetch(path).input.sha256
        status = Path(path).stat()
        write("a.csv", b"two")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert Files(tmp_path / "other").fetch(path).input.sha256 == first

    def test_missing_file_is_an_error(self, files, tmp_path):
        with pytest.raises(SourceError, match=r"nothing\.csv: there is no such file"):
            files.fetch(str(tmp_path / "nothing.csv"))

    def test_glob_without_match_is_an_error(self, files, tmp_path):
        with pytest.raises(SourceError, match=r"\*\.csv: there is no such file"):
            files.fetch_all(str(tmp_path / "*.csv"))

    def test_folder_is_not_a_file(self, files, tmp_path):
        with pytest.raises(SourceError, match="no such file"):
            files.fetch(str(tmp_path))


class TestCache:
    def test_download_has_an_entry_next_to_it(self, files, server):
        server.answers["/a.csv"] = lambda handler: reply(
            handler, b"crawl\n", ETag='"x"', Last_Modified="Sat, 01 Mar 2025 00:00:00 GMT"
        )
        local = files.fetch(server.url("/a.csv"))
        assert local.path.read_bytes() == b"crawl\n"
        assert local.input.location == server.url("/a.csv")
        assert json.loads((local.path.parent / "entry.json").read_text()) == {
            "url": server.url("/a.csv"),
            "etag": '"x"',
            "last_modified": "Sat, 01 Mar 2025 00:00:00 GMT",
            "sha256": sha256(b"crawl\n"),
            "bytes": 6,
        }

    def test_only_content_and_entry_remain(self, files, server):
        server.answers["/a"] = lambda handler: reply(handler, b"x")
        folder = files.fetch(server.url("/a")).path.parent
        assert sorted(path.name for path in folder.iterdir()) == sorted([sha256(b"x"), "entry.json", ".lock"])

    def test_current_copy_is_not_downloaded_again(self, files, server):
        server.answers["/a"] = versioned([b"one"])
        first = files.fetch(server.url("/a"))
        assert files.fetch(server.url("/a")) == first
        asked = server.headers_sent_to("/a")
        assert "If-None-Match" not in asked[0]
        assert asked[1]["If-None-Match"] == f'"{sha256(b"one")[:8]}"'

    def test_last_modified_is_sent_as_condition(self, files, server):
        date = "Sat, 01 Mar 2025 00:00:00 GMT"
        server.answers["/a"] = lambda handler: (
            reply(handler, status=304)
            if handler.headers.get("If-Modified-Since") == date
            else reply(handler, b"one", Last_Modified=date)
        )
        assert files.fetch(server.url("/a")) == files.fetch(server.url("/a"))

    def test_republished_content_replaces_the_old(self, files, server):
        pages = [b"one"]
        server.answers["/a"] = versioned(pages)
        old = files.fetch(server.url("/a"))
        pages.append(b"two")
        new = files.fetch(server.url("/a"))
        assert new.path.read_bytes() == b"two"
        assert new.input.sha256 != old.input.sha256
        assert old.path.read_bytes() == b"one"  # A process may still be reading it.

    def test_only_two_versions_are_kept(self, files, server):
        pages = []
        server.answers["/a"] = versioned(pages)
        for page in (b"one", b"two", b"three"):
            pages.append(page)
            files.fetch(server.url("/a"))
        assert contents(files.cache) == sorted([sha256(b"two"), sha256(b"three")])

    def test_content_without_validators_is_always_downloaded(self, files, server):
        server.answers["/a"] = lambda handler: reply(handler, b"one")
        assert files.fetch(server.url("/a")) == files.fetch(server.url("/a"))
        assert len(server.headers_sent_to("/a")) == 2

    @pytest.mark.parametrize("damage", ["content changed", "content gone", "entry cut", "entry of another address"])
    def test_broken_entry_is_downloaded_again(self, files, server, damage):
        server.answers["/a"] = versioned([b"one"])
        local = files.fetch(server.url("/a"))
        entry = local.path.parent / "entry.json"
        if damage == "content changed":
            local.path.write_bytes(b"one and a half")
        elif damage == "content gone":
            local.path.unlink()
        elif damage == "entry cut":
            entry.write_text(entry.read_text()[:40])
        else:
            entry.write_text(entry.read_text().replace("/a", "/b"))
        assert files.fetch(server.url("/a")).path.read_bytes() == b"one"
        assert "If-None-Match" not in server.headers_sent_to("/a")[1]

    def test_entry_cannot_name_a_file_outside_the_cache(self, files, server, write):
        write("secret", b"one")
        server.answers["/a"] = versioned([b"one"])
        entry = files.fetch(server.url("/a")).path.parent / "entry.json"
        entry.write_text(entry.read_text().replace(sha256(b"one"), "../../secret"))
        assert files.fetch(server.url("/a")).path.name == sha256(b"one")

    def test_address_cannot_leave_the_cache(self, files, server):
        server.answers["/..%2F..%2Foutside"] = lambda handler: reply(handler, b"x")
        local = files.fetch(server.url("/..%2F..%2Foutside"))
        assert files.cache in local.path.parents

    def test_outage_is_an_error_despite_a_cached_copy(self, files, server):
        pages = [b"one"]
        server.answers["/a"] = versioned(pages)
        files.fetch(server.url("/a"))
        server.answers["/a"] = lambda handler: reply(handler, status=500)
        with pytest.raises(SourceError, match=r"/a: the server answered 500"):
            files.fetch(server.url("/a"))

    def test_concurrent_processes_get_complete_files(self, files, server):
        pages = [b"a" * 200_000, b"b" * 300_000]
        turns = iter(range(1000))
        server.answers["/a"] = lambda handler: reply(handler, pages[next(turns) % 2])
        script = (
            "import sys, hashlib, pathlib\n"
            "from crawl_urn_dagster.sources import Files\n"
            "for _ in range(12):\n"
            "    local = Files(pathlib.Path(sys.argv[1])).fetch(sys.argv[2])\n"
            "    content = local.path.read_bytes()\n"
            "    assert hashlib.sha256(content).hexdigest() == local.input.sha256\n"
            "    assert len(content) == local.input.bytes\n"
        )
        command = [sys.executable, "-c", script, str(files.cache), server.url("/a")]
        processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
        errors = [process.communicate()[1] for process in processes]
        assert errors == [b"", b""]
        assert contents(files.cache) == sorted(sha256(page) for page in pages)


class TestDerived:
    def test_made_once_per_version(self, files):
        made = []

        def make(path):
            made.append(path)
            path.write_text("derived")

        first = files.derive("key", "0" * 64, make)
        assert files.derive("key", "0" * 64, make) == first
        assert files.derive("key", "1" * 64, make) != first
        assert files.derive("other key", "0" * 64, make) != first
        assert len(made) == 3
        assert first.read_text() == "derived"

    def test_failure_leaves_no_file(self, files):
        def make(path):
            path.write_text("half")
            raise SourceError("no")

        with pytest.raises(SourceError, match="no"):
            files.derive("key", "0" * 64, make)
        assert [path for path in files.cache.rglob("*") if path.is_file()] == []

    def test_only_two_versions_are_kept(self, files):
        for version in ("0" * 64, "1" * 64, "2" * 64):
            files.derive("key", version, lambda path: path.write_text("derived"))
        assert contents(files.cache) == ["1" * 64, "2" * 64]


class TestIdentify:
    def test_remote_file_is_identified_without_download(self, files, server):
        server.answers["/a"] = serve(BODY)
        first = files.identify(server.url("/a"))
        assert (first.location, first.bytes) == (server.url("/a"), len(BODY))
        assert files.identify(server.url("/a")) == first
        server.answers["/a"] = serve(BODY, '"v2"')
        assert files.identify(server.url("/a")) != first
        assert [path for path in files.cache.rglob("*") if path.is_file()] == []

    def test_local_file_is_identified_by_its_content(self, files, write):
        path = write("a.txt", "x")
        assert files.identify(path) == files.fetch(path).input

    def test_missing_remote_file_is_absent(self, files, server):
        with pytest.raises(AbsentError, match="/none: the server answered 404"):
            files.identify(server.url("/none"))

    def test_remote_file_without_size_is_an_error(self, files, server):
        server.answers["/a"] = lambda handler: (handler.send_response(200), handler.end_headers())
        with pytest.raises(SourceError, match="/a: the server does not report the file's size"):
            files.identify(server.url("/a"))


def test_forgotten_file_is_downloaded_again(files, server, write):
    server.answers["/a"] = serve(BODY)
    for _ in range(2):
        files.fetch(server.url("/a"))
        files.forget(server.url("/a"))
    assert [headers.get("If-None-Match") for headers in server.headers_sent_to("/a")] == [None, None]
    path = write("a.txt", "x")
    files.forget(path)
    assert files.fetch(path).path.read_text() == "x"
