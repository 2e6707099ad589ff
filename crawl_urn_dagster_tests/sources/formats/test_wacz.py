"""Test indexes inside WACZ files, and folders with secondary indexes."""

import functools
import io
import re
import zipfile

import pytest

from crawl_urn_dagster.sources import CdxSource, Files, SourceError, TooLargeError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, captures_of, gz, labels_of, reply
from crawl_urn_dagster_tests.sources.generated_indexes import answer_range

COUNT = 300
KEYS = [f"com,site{number:03})/" for number in range(COUNT)]
CDXJ = "".join(f'{key} 20240101000000 {{"url": "http://a.com/", "mime": "text/html", "status": 200}}\n' for key in KEYS)
#: Secondary indexes of a WACZ, of pywb and of Common Crawl.
SECONDARY = {
    "WACZ": '!meta {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n'
    'com,site000)/ 20240101000000 {"offset": 0, "length": 1912, "digest": "sha256:aa", "filename": "index.cdx.gz"}\n',
    "WACZ without a first line": 'com,site000)/ 20240101 {"offset": 0, "length": 1912, "filename": "index.cdx.gz"}\n',
    "pywb": "com,site000)/ 20240101000000\tcdx-00000.gz\t0\t1912\t1\n",
    "Common Crawl": "com,site000)/ 20240101000000\tcdx-00000.gz\t0\t1912\n" * 5,
}


def wacz(*names, content=None):
    """Return a WACZ file with indexes of these names, and a WARC that is much larger."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.warc.gz", bytes(2**23))
        archive.writestr("indexes/index.idx", SECONDARY["WACZ"])
        for name in names:
            index = CDXJ.encode() if content is None else content
            archive.writestr(f"indexes/{name}", gz(index) if name.endswith("gz") else index)
    return stream.getvalue()


def read(files, path, **configured):
    source = CdxSource(path=path, **configured)
    listing = source.list_crawls(files, ALL_CRAWLS)
    return listing, captures_of(source, files, labels_of(listing))


@pytest.mark.parametrize("name", ["index.cdx.gz", "index.cdxj", "index.CDXJ"])
def test_a_local_wacz_is_read(files, write, name):
    listing, captures = read(files, write("2024-01.wacz", wacz(name)))
    assert captures == [("2024-01", key) for key in KEYS]
    assert listing.inputs[0].location.endswith(f"2024-01.wacz!/indexes/{name}")


def test_a_folder_of_wacz_files_is_a_crawl_per_file(files, write, tmp_path):
    for name in ("2024-01", "2024-02"):
        write(f"archive/{name}.wacz", wacz("index.cdx.gz"))
    for path in ("archive", "archive/*.wacz"):
        listing, _ = read(files, str(tmp_path / path))
        assert labels_of(listing) == ["2024-01", "2024-02"]


def test_a_remote_wacz_is_read_by_ranges(files, server):
    """The WARC inside, of 8 MiB, is not downloaded."""
    served = {}
    server.answers["/2024-01.wacz"] = functools.partial(answer_range, content=wacz("index.cdx.gz"), served=served)
    assert len(read(files, server.url("/2024-01.wacz"))[1]) == COUNT
    assert sum("Range" in headers for headers in server.headers_sent_to("/2024-01.wacz")) < 10
    body = sum(size for path, size in served.items())
    assert body - 2 * len(wacz("index.cdx.gz")) < 2**22  # HEAD requests are counted as whole files.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (wacz(), "has no index of the form indexes/"),
        (b"PK\3\4 and no more", "is not a WACZ file"),
        (wacz("index.cdx.gz")[:-3000], "is not a WACZ file"),
        (wacz("index.cdx", content=b"one two\n"), r"2024-01.wacz!/indexes/index.cdx: found lines such as 'one two'"),
        (wacz("index.cdx", "index.cdx.gz"), "differ only in their extensions"),
    ],
)
def test_other_wacz_files_are_errors(files, write, content, message):
    with pytest.raises(SourceError, match=message):
        read(files, write("2024-01.wacz", content))


def test_a_damaged_entry_is_an_error(files, write):
    content = wacz("index.cdxj")
    at = content.index(b"com,site100")
    with pytest.raises(SourceError, match=r"indexes/index.cdxj: cannot be read: Bad CRC"):
        read(files, write("2024-01.wacz", content[:at] + b"x" + content[at + 1 :]))


def test_a_large_index_is_left_to_a_run(tmp_path, write):
    with pytest.raises(TooLargeError, match=r"index.cdxj: has [0-9,]+ bytes, more than the 1,000"):
        read(Files(tmp_path / "cache", max_bytes=1000), write("2024-01.wacz", wacz("index.cdxj")))


def test_a_server_without_ranges_is_an_error(files, server):
    server.answers["/a.wacz"] = lambda handler: reply(handler, wacz("index.cdx"))
    with pytest.raises(SourceError, match="does not support ranges"):
        read(files, server.url("/a.wacz"))


@pytest.mark.parametrize("name", SECONDARY)
@pytest.mark.parametrize("file", ["index.idx", "part-1.cdx", "cluster.idx"])
def test_secondary_indexes_in_a_folder_are_left_out(files, write, tmp_path, name, file):
    write("indexes/2024-01.cdxj", CDXJ)
    write(f"indexes/{file}", SECONDARY[name])
    for path in ("indexes", "indexes/*"):
        listing, captures = read(files, str(tmp_path / path), crawl_from="month")
        assert captures == [("2024-01", key) for key in KEYS]
        assert listing.findings["files_left_out_secondary_index"] == 1


@pytest.mark.parametrize("name", SECONDARY)
def test_a_secondary_index_alone_is_an_error(files, write, tmp_path, name):
    path = write("indexes/cluster.idx", SECONDARY[name])
    with pytest.raises(SourceError, match=r"cluster\.idx: is the index of another index's blocks"):
        read(files, path)
    with pytest.raises(SourceError, match=re.escape(f"{tmp_path / 'indexes'}: there are only secondary indexes")):
        read(files, str(tmp_path / "indexes"))


def test_an_index_named_like_a_secondary_one_is_read_by_its_path(files, write):
    assert len(read(files, write("captures.idx", CDXJ), crawl_from="month")[1]) == COUNT
