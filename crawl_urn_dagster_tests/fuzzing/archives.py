"""Run the parsers of the indexes of web archives on any bytes: they return a result or raise `SourceError`.

Does not search for bytes; see `mutations` and `__main__`.
"""

import functools
import gzip
from pathlib import Path

import duckdb

from crawl_urn_dagster.sources import CdxSource, Files, InputFile, LocalFile, SourceError
from crawl_urn_dagster.sources.common_crawl.web_graph_ranks import convert_ranks
from crawl_urn_dagster.sources.formats.canonical_urls import canonical_host, canonical_key, registered_domain
from crawl_urn_dagster.sources.formats.cdx_lines import detect_format
from crawl_urn_dagster.sources.formats.text_lines import line_batches
from crawl_urn_dagster.sources.transport.stores import Store

ELEMENTS = ("url", "url_as_written", "host", "domain")
_CDX = b"com,a)/ 20140101000000 http://www.a.com/ text/html 200 K - - 9 9 a.warc.gz\n"
_RANKS = b"#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\t#n_hosts\n1\t3.1e7\t3\t0.01\tcom.example\t12\n"

#: Nearly valid files by parser. The first byte of an index selects the kind of element.
SEEDS = {
    "index": [
        b"0 CDX N b a m s k r M S V g\n" + _CDX,
        b"1" + _CDX * 2,
        b'2!meta {}\ncom,a)/ 2014 {"url": "http://a.com/", "mime": "warc/revisit", "status_code": 200}\n',
        b"3http://www.uni.de/a?b=c#d 20140101000000\nhttp://1.2.3.4:80/\t2014\n",
        b"3\nCDX\nN b\nhttp://a.de 1.2.3.4 20060329081338 text/html 478 a.arc 10002 d2dd\n",
    ],
    "lines": [gzip.compress(_CDX, mtime=0) + gzip.compress(_CDX[:-1], mtime=0) * 2 + b"\0\0", _CDX + b"\r\n\xff\n\n"],
    "form": [b" CDX N b a m s k r M S V g\n", b"|CDX|N|b\n", _CDX, b"a 2014\n", b'a 2014 {"a": 1}\n'],
    "url": [b"http://www.a.co.uk:80/b/../c;jsessionid=0123456789ABCDEF?d=e&B=%41#f", b"com,a:80)", b"\xc3\xbc.de/"],
    "paths": [b"a/b=c/d.parquet\ne/f.gz\n", gzip.compress(b"a/b.parquet\n", mtime=0)],
    "ranks": [_RANKS, gzip.compress(_RANKS, mtime=0)],
}


def parse(target: str, data: bytes, folder: Path) -> object:
    """Run a parser on data; an error other than `SourceError` is a fault of the parser."""
    try:
        return _PARSERS[target](data, folder)
    except SourceError:
        return None


def _local(data: bytes, folder: Path) -> LocalFile:
    path = folder / "data"
    path.write_bytes(data)
    return LocalFile(path, InputFile("data", len(data), "0" * 64))


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def _index(data: bytes, folder: Path) -> object:
    source = CdxSource(path="data", element=ELEMENTS[data[0] % 4 if data else 0], crawl_from="year", max_malformed=1.0)
    source._write(_local(data[1:], folder), folder / "target", None, str)
    return True


def _lines(data: bytes, folder: Path) -> object:
    batches = list(line_batches(_local(data, folder), lambda text: len(text) > 5))
    numbers = [number for batch in batches for number in batch["line_number"].to_pylist()]
    assert numbers == list(range(1, len(numbers) + 1))
    return batches


def _form(data: bytes, folder: Path) -> object:
    form = detect_format(data.decode(errors="replace").split("\n")[:20], None, "data")
    return form, form.wide, form.is_line("a 2014 b")


def _url(data: bytes, folder: Path) -> object:
    text = data.decode(errors="replace")
    key, host = canonical_key(text), canonical_host(text)
    assert key is None or key.index(")") > 0
    return key, host, host and registered_domain(host)


def _paths(data: bytes, folder: Path) -> object:
    (folder / "list.gz").write_bytes(data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1))
    paths = Store(str(folder), Files(folder)).read_list("list.gz")
    assert not any(path.startswith("/") or ".." in path.split("/") for path in paths)
    return paths


def _ranks(data: bytes, folder: Path) -> object:
    convert_ranks(_connection(), _local(data, folder), folder / "target")
    return True


_PARSERS = {"index": _index, "lines": _lines, "form": _form, "url": _url, "paths": _paths, "ranks": _ranks}
