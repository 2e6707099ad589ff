"""Test trees of files in a folder and on a server; trees in S3 are tested with the index that is read from them."""

import pytest

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.errors import AbsentError
from crawl_urn_dagster.sources.transport.stores import MAX_FILES, Store
from crawl_urn_dagster_tests.sources.conftest import gz
from crawl_urn_dagster_tests.sources.generated_indexes import serve_tree, write_list

PATHS = ["a/part-0.parquet", "b/part-1.parquet"]


@pytest.fixture
def tree(tmp_path, write):
    for path in PATHS[:1]:
        write(f"tree/{path}", b"content")
    write_list(tmp_path / "tree", "lists/paths.gz", PATHS)
    return tmp_path / "tree"


@pytest.fixture(params=["folder", "server"])
def store(request, tree, files, server):
    serve_tree(server, tree)
    return Store(str(tree) if request.param == "folder" else server.url(""), files)


def test_a_list_gives_the_paths_of_the_tree(store):
    assert store.read_list("lists/paths.gz") == PATHS


def test_a_list_that_does_not_exist_is_absent(store):
    with pytest.raises(AbsentError):
        store.read_list("lists/none.gz")


def test_an_open_file_is_read_in_parts(store):
    with store.open(PATHS[0]) as file:
        file.seek(3)
        assert file.read(4) == b"tent"


def test_a_file_that_does_not_exist_cannot_be_opened(store):
    with pytest.raises(SourceError, match=r"part-1\.parquet: (cannot be opened|the server answered 404)"):
        store.open(PATHS[1])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"../../etc/passwd\n", "the line '../../etc/passwd'"),
        (b"a/b\n/etc/passwd\n", "the line '/etc/passwd'"),
        (b"", "0 lines"),
        (b"a\n" * (MAX_FILES + 1), "100,001 lines"),
    ],
)
def test_a_list_of_anything_else_is_an_error(files, write, tmp_path, text, found):
    write("paths.gz", gz(text))
    with pytest.raises(
        SourceError, match=rf"paths\.gz: found {found}, expected 1 to 100,000 lines that are each a path"
    ):
        Store(str(tmp_path), files).read_list("paths.gz")


def test_only_a_folder_knows_which_files_it_has(tree, files):
    folder, remote = Store(str(tree), files), Store("https://example.org", files)
    assert folder.list_folder("*/*.parquet") == PATHS[:1]
    assert remote.list_folder("*/*.parquet") == []
    assert folder.has_any(PATHS)
    assert not folder.has_any(PATHS[1:])
    assert remote.has_any(PATHS[1:])
