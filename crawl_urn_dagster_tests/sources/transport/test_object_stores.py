"""Test files in object stores: against loopback servers that answer as S3, Google Cloud Storage and Hugging Face do."""

import json
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from crawl_urn_dagster.sources import PresenceListSource, SourceError
from crawl_urn_dagster.sources.errors import AbsentError
from crawl_urn_dagster.sources.transport.object_stores import open_filesystem, version_of
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, gz, labels_of, reply
from crawl_urn_dagster_tests.sources.generated_indexes import answer_range

LISTS = {
    "lists/2024-01.csv.gz": gz(b"element\na\nb\n"),
    "lists/2024-02.csv.gz": gz(b"element\nb\n"),
    "lists/_SUCCESS": b"",
    "lists/more/readme.md": b"not a list",
    "delta/_delta_log/00000000000000000000.json": b"{}",
    "delta/part-0.parquet": b"outdated",
    "iceberg/metadata/00000-a.metadata.json": b"{}",
    "iceberg/data/0.parquet": b"outdated",
}
CAPTURES = [("2024-01", "a"), ("2024-01", "b"), ("2024-02", "b")]
DATE = "Fri, 05 Jan 2024 10:00:00 GMT"


class Answers:
    """Answers by a function of the address, in place of a table of paths."""

    def __init__(self, answer):
        self._answer = answer

    def get(self, address, absent):
        return self._answer(urlsplit(address)) or absent


def s3(files):
    """Answer like S3: an object by its key, a list by the query."""

    def answer(address):
        query = parse_qs(address.query)
        key = unquote(address.path).removeprefix("/bucket").strip("/")
        if "list-type" in query:
            prefix = query.get("prefix", [""])[0]
            found = [
                f"<Contents><Key>{name}</Key><Size>{len(content)}</Size><LastModified>2024-01-05T10:00:00Z</LastModified>"
                "<ETag>1</ETag><StorageClass>STANDARD</StorageClass></Contents>"
                for name, content in files.items()
                if name.startswith(prefix)
            ]
            head = f"<Name>bucket</Name><Prefix>{prefix}</Prefix><KeyCount>{len(found)}</KeyCount>"
            body = f"<ListBucketResult>{head}<IsTruncated>false</IsTruncated>{''.join(found)}</ListBucketResult>"
            return lambda handler: reply(handler, body, Content_Type="application/xml")
        if key not in files:
            return None

        def send(handler):
            if handler.command == "HEAD":
                reply(handler, files[key], ETag='"1"', Last_Modified=DATE)
            else:
                answer_range(handler, files[key])

        return send

    return Answers(answer)


def google(files):
    """Answer like Google Cloud Storage: the metadata of an object, its content, or a list."""

    def described(name):
        return {
            "kind": "storage#object",
            "name": name,
            "bucket": "bucket",
            "size": str(len(files[name])),
            "updated": "2024-01-05T10:00:00Z",
            "timeCreated": "2024-01-05T10:00:00Z",
            "generation": "1",
        }

    def answer(address):
        path, query = unquote(address.path), parse_qs(address.query)
        if path.rstrip("/").endswith("/b/bucket/o"):
            prefix = query.get("prefix", [""])[0]
            items = [described(name) for name in files if name.startswith(prefix)]
            return lambda handler: reply(handler, json.dumps({"kind": "storage#objects", "items": items}))
        key = path.partition("/b/bucket/o/")[2] or path.removeprefix("/bucket/")
        if key not in files:
            return None
        if "/b/bucket/o/" in path and query.get("alt") != ["media"]:
            return lambda handler: reply(handler, json.dumps(described(key)))
        return lambda handler: answer_range(handler, files[key])

    return Answers(answer)


def hugging_face(files):
    """Answer like Hugging Face: a list in two pages, and files."""

    def answer(address):
        _, _, path = unquote(address.path).partition("/owner/name/")
        kind, _, key = f"{path}/".partition("/main/")
        key = key.rstrip("/")
        if kind == "resolve" and key in files:
            return lambda handler: answer_range(handler, files[key])
        found = [{"type": "file", "path": name} for name in files if name.startswith(f"{key}/".lstrip("/"))]
        if kind != "tree" or not found:
            return None
        second = "cursor" in address.query
        next_page = {} if second else {"Link": f'<{address.path}?recursive=true&cursor=2>; rel="next"'}
        page = found[1:] if second else found[:1]

        def send(handler):
            host = f"http://{handler.headers['Host']}"
            reply(
                handler, json.dumps(page), **{name: text.replace("<", f"<{host}") for name, text in next_page.items()}
            )

        return send

    return Answers(answer)


@pytest.fixture(params=["s3", "gs", "hf"])
def address(request, server, monkeypatch):
    """Return a function that returns the address of a path in a store with `LISTS`."""
    if request.param == "hf":
        monkeypatch.setenv("HF_ENDPOINT", server.url(""))
        server.answers = hugging_face(dict(LISTS))
        return "hf://datasets/owner/name/{}".format
    server.answers = (s3 if request.param == "s3" else google)(dict(LISTS))
    settings = f"?anonymous=true&endpoint_override=http://127.0.0.1:{server.server_port}"
    region = "&region=us-east-1" if request.param == "s3" else ""
    return lambda path: f"{request.param}://bucket/{path}{settings}{region}"


@pytest.mark.parametrize("path", ["lists/*.csv.gz", "lists/*", "**/*.gz"])
def test_glob_in_a_store_gives_its_captures(read, address, path):
    source = PresenceListSource(path=address(path))
    assert source.missing_files() == []
    listing, captures = read(source)
    assert captures == CAPTURES
    assert [file.location for file in listing.inputs] == [address(name) for name in LISTS if name.endswith("gz")]


def test_folder_in_a_store_gives_the_files_in_it(files, address):
    assert [file.input.location for file in files.fetch_all(address("lists"))] == [
        address(name) for name in LISTS if name.startswith("lists/2") or name.endswith(".md")
    ]


def test_one_file_in_a_store_is_read_once(files, server, address):
    location = address("lists/2024-01.csv.gz")
    assert [file.input.location for file in files.fetch_all(location)] == [location]
    assert files.fetch(location).path.read_bytes() == LISTS["lists/2024-01.csv.gz"]


def test_absent_file_is_an_error_that_names_bucket_and_key(files, address):
    with pytest.raises(AbsentError, match=r"main/lists/none.csv: .*404|bucket/lists/none.csv.*: there is no such file"):
        files.fetch(address("lists/none.csv"))


def test_refused_access_names_the_key_and_the_settings(server):
    server.answers = Answers(lambda _: lambda handler: reply(handler, b"", 403))
    location = (
        f"s3://bucket/a.csv?region=us-east-1&anonymous=true&endpoint_override=http://127.0.0.1:{server.server_port}"
    )
    with pytest.raises(
        SourceError, match=r"s3://bucket/a.csv.*: cannot be read: .*; public data may need .anonymous=true"
    ):
        version_of(location)


def test_settings_of_a_public_bucket_are_accepted():
    filesystem, path = open_filesystem("s3://commoncrawl/a/b?anonymous=true&region=us-east-1")
    assert path == "commoncrawl/a/b"
    assert filesystem.region == "us-east-1"


@pytest.mark.parametrize(("path", "kind"), [("delta", "a Delta"), ("delta/*", "a Delta"), ("iceberg", "an Iceberg")])
def test_table_in_a_store_is_refused(files, address, path, kind):
    with pytest.raises(SourceError, match=f"holds files of {kind} table, .*, in which files may be outdated; copy the"):
        files.locate(address(path))


def test_address_without_data_set_is_an_error(files):
    with pytest.raises(SourceError, match="expected an address such as hf://datasets/OWNER/NAME"):
        PresenceListSource(path="hf://models/a.csv").list_crawls(files, ALL_CRAWLS)


def test_labels_are_those_of_local_files(files, address):
    assert labels_of(PresenceListSource(path=address("lists/*.csv.gz")).list_crawls(files, ALL_CRAWLS)) == [
        "2024-01",
        "2024-02",
    ]
