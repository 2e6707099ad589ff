"""Test sources against moto's S3 server on loopback, which implements the store's protocol and its errors."""

import io

import pandas as pd
import pyarrow as pa
import pytest
import requests

from crawl_urn_dagster.sources import CdxSource, PresenceListSource, SourceError
from crawl_urn_dagster.sources.errors import AbsentError
from crawl_urn_dagster.sources.transport.object_stores import version_of
from crawl_urn_dagster.sources.transport.stores import Store
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, gz, labels_of

REASON = "needs the extra s3"
boto3 = pytest.importorskip("boto3", reason=REASON)
moto_server = pytest.importorskip("moto.server", reason=REASON)

CDX = "com,example)/{page} 20240105000000 http://example.com/{page} text/html 200 - - - 1 2 a.warc.gz\n"


@pytest.fixture(scope="module")
def server():
    """Return the server's address and a client of its owner."""
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    secrets = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "us-east-1"}
    yield endpoint, boto3.client("s3", endpoint_url=endpoint, **secrets)
    server.stop()


@pytest.fixture
def store(server, monkeypatch):
    """Return an empty bucket, with credentials that the server accepts."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    requests.post(f"{server[0]}/moto-api/reset", timeout=10)
    return Bucket(*server)


class Bucket:
    def __init__(self, endpoint, client):
        self.endpoint, self._client = endpoint, client
        self._settings = f"?region=us-east-1&endpoint_override={endpoint}"
        self._client.create_bucket(Bucket="bucket", ACL="public-read")

    def put(self, key, content, access="public-read"):
        self._client.put_object(Bucket="bucket", Key=key, Body=content, ACL=access)

    def delete(self, key):
        self._client.delete_object(Bucket="bucket", Key=key)

    def address(self, key, settings=""):
        return f"s3://bucket/{key}{self._settings}{settings}"


def parquet(elements):
    buffer = io.BytesIO()
    pd.DataFrame({"element": elements}).to_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("settings", ["", "&anonymous=true"], ids=["credentials", "anonymous"])
def test_hive_folders_are_read_with_several_parts(store, read, settings):
    for key, elements in {"2024-01/part-0": ["a"], "2024-01/part-1": ["b"], "2024-02/part-0": ["b"]}.items():
        store.put(f"lists/crawl={key}.parquet", parquet(elements))
    store.put("lists/_SUCCESS", b"")
    captures = read(PresenceListSource(path=store.address("lists", settings)))[1]
    assert captures == [("2024-01", "a"), ("2024-01", "b"), ("2024-02", "b")]


def test_folder_of_indexes_is_read(store, read):
    for month, pages in (("2024-01", "ab"), ("2024-02", "b")):
        store.put(f"indexes/{month}.cdx.gz", gz("".join(CDX.format(page=page) for page in pages).encode()))
    captures = read(CdxSource(path=store.address("indexes")))[1]
    assert captures == [("2024-01", "com,example)/a"), ("2024-01", "com,example)/b"), ("2024-02", "com,example)/b")]


def test_replaced_object_is_read_again(store, read):
    store.put("2024-01.csv", b"element\na\n")
    source = PresenceListSource(path=store.address("*.csv"))
    assert read(source)[1] == [("2024-01", "a")]
    store.put("2024-01.csv", b"element\nbc\n")
    assert read(source)[1] == [("2024-01", "bc")]


def test_object_that_vanishes_is_an_error_that_names_it(store, files):
    for month in ("2024-01", "2024-02"):
        store.put(f"{month}.csv", b"element\na\n")
    source = PresenceListSource(path=store.address("*.csv"))
    found = files.locate(source.path)
    store.delete("2024-02.csv")
    with pytest.raises(AbsentError, match=r"s3://bucket/2024-02\.csv.*: there is no such file"):
        [files.fetch(path) for path in found]
    assert labels_of(source.list_crawls(files, ALL_CRAWLS)) == ["2024-01"]


@pytest.mark.parametrize("location", ["none/2024-01.csv", "none/*.csv", "none"], ids=["object", "glob", "folder"])
def test_key_without_object_is_an_error_that_names_it(store, files, location):
    with pytest.raises(SourceError, match=r"s3://bucket/none.*: there is no such file; check the"):
        files.fetch_all(store.address(location))


def test_absent_bucket_is_an_error_that_names_it(store, files):
    address = store.address("2024-01.csv").replace("s3://bucket", "s3://other-bucket")
    with pytest.raises(SourceError, match=r"s3://other-bucket/2024-01\.csv.*: there is no such file; check the"):
        files.fetch_all(address)


def test_private_object_without_credentials_is_named(store):
    store.put("2024-01.csv", b"element\na\n", access="private")
    version_of(store.address("2024-01.csv"))
    with pytest.raises(SourceError, match=r"s3://bucket/2024-01\.csv.*: cannot be read: .*ACCESS_DENIED"):
        version_of(store.address("2024-01.csv", "&anonymous=true"))


def test_rejected_credentials_name_the_key_and_the_settings(store):
    store.put("2024-01.csv", b"element\na\n")
    requests.post(f"{store.endpoint}/moto-api/reset-auth", data=b"0", timeout=10)
    try:
        with pytest.raises(
            SourceError, match=r"s3://bucket/2024-01\.csv.*: cannot be read: .*; check the address and the credentials"
        ):
            version_of(store.address("2024-01.csv"))
    finally:
        requests.post(f"{store.endpoint}/moto-api/reset-auth", data=b"inf", timeout=10)


def test_tree_lists_and_opens_its_files(store, files):
    store.put("crawl-data/paths.gz", gz(b"a/part-0.parquet\n"))
    store.put("a/part-0.parquet", b"content")
    tree = Store(store.address(""), files)
    assert tree.read_list("crawl-data/paths.gz") == ["a/part-0.parquet"]
    with tree.open("a/part-0.parquet") as file:
        file.seek(3)
        assert file.read(4) == b"tent"
    with pytest.raises(AbsentError, match=r"s3://bucket/crawl-data/none\.gz\?region=.*: there is no such file"):
        tree.read_list("crawl-data/none.gz")


@pytest.mark.parametrize("path", ["table", "table/*.parquet", "table/part-0.parquet", "**/*.parquet"])
def test_delta_table_in_a_store_is_refused(store, files, path):
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"crawl": ["2024-01"], "element": ["a"]})
    options = {"AWS_ENDPOINT_URL": store.endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    for _ in range(2):
        deltalake.write_deltalake("s3://bucket/table", rows, mode="overwrite", storage_options=options)
    store.put("table/part-0.parquet", parquet(["a"]))
    with pytest.raises(
        SourceError, match="holds files of a Delta table, s3://bucket/table, in which files may be outdated"
    ):
        PresenceListSource(path=store.address(path)).list_crawls(files, ALL_CRAWLS)


def test_data_folder_of_an_iceberg_table_in_a_store_is_refused(store, files):
    store.put("t/metadata/00001-a.metadata.json", b"{}")
    store.put("t/data/crawl=2024-01/0.parquet", parquet(["a"]))
    with pytest.raises(SourceError, match="holds files of an Iceberg table, s3://bucket/t, in which"):
        files.locate(store.address("t/data"))
