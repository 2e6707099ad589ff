"""Generate trees of Parquet files in the layout that Common Crawl publishes, and serve them by ranges."""

import functools
import gzip

import duckdb

from crawl_urn_dagster_tests.sources.conftest import reply

#: Columns of the index in two eras, because names, types and order changed over the years.
ERAS = (
    "url_surtkey, url, url_host_name, host_tld AS url_host_tld, url_host_registered_domain, fetch_time::DATE AS "
    "fetch_time, 200::SMALLINT AS fetch_status, content_digest, warc_filename, warc_record_offset::INTEGER AS "
    "warc_record_offset",
    "content_digest, warc_filename, warc_record_offset, 'eng' AS content_languages, NULL::VARCHAR AS fetch_redirect, "
    "200::INTEGER AS fetch_status, fetch_time, url_host_private_domain, url_host_registered_domain::BLOB AS "
    "url_host_registered_domain, url_host_name, url, url_surtkey",
)
_PAGES = """
    SELECT
        'com,d' || site || ')/' || page AS url_surtkey,
        'https://www.d' || site || '.com/' || page AS url,
        'www.d' || site || '.com' AS url_host_name,
        'com' AS host_tld,
        if(site % 97 = 0, NULL, 'd' || site || '.com') AS url_host_registered_domain,
        'd' || site || '.com' AS url_host_private_domain,
        TIMESTAMP '2024-01-01' + to_seconds(page) AS fetch_time,
        md5(page::VARCHAR) AS content_digest,
        'crawl-data/segments/' || page % 7 || '/warc/part.warc.gz' AS warc_filename,
        page * 1000 AS warc_record_offset
    FROM (SELECT range AS page, hash(range // 4, {seed}) % {sites} AS site FROM range({rows}))
"""


def index_folder(crawl, subset="warc"):
    return f"cc-index/table/cc-main/warc/crawl={crawl}/subset={subset}"


def write_file(root, path, select):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{target}' (FORMAT parquet, ROW_GROUP_SIZE 50000)")


def write_list(root, path, paths):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress("".join(f"{one}\n" for one in paths).encode(), mtime=0))


def write_index(root, crawls, *, files=2, rows=2000, sites=400):
    """Write an index whose first half of crawls has the older columns, the second half the newer."""
    for number, crawl in enumerate(crawls):
        paths = []
        for part in range(files):
            paths.append(f"{index_folder(crawl)}/part-0000{part}-abc.c000.gz.parquet")
            era = ERAS[number * len(ERAS) // len(crawls)]
            pages = _PAGES.format(seed=number * files + part, rows=rows, sites=sites)
            write_file(root, paths[-1], f"SELECT {era} FROM ({pages})")
        other = f"{index_folder(crawl, 'robotstxt')}/part-00000-abc.c000.gz.parquet"
        write_list(root, f"crawl-data/{crawl}/cc-index-table.paths.gz", [other, *paths])


def write_domains(root, domains_of_crawls):
    """Write an index of given domains, with one page each."""
    for crawl, domains in domains_of_crawls.items():
        path = f"{index_folder(crawl)}/part-00000-abc.c000.gz.parquet"
        with duckdb.connect() as connection:
            connection.register("domains", domains)
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            connection.execute(f"COPY (SELECT domain AS url_host_registered_domain FROM domains) TO '{target}'")
        write_list(root, f"crawl-data/{crawl}/cc-index-table.paths.gz", [path])


def write_host_index(root, crawls, rows=2000):
    """Write a host index in which every third host was not fetched."""
    paths = []
    for number, crawl in enumerate(crawls):
        paths.append(f"projects/host-index-testing/v2/crawl={crawl}/part-00000-abc.c000.zstd.parquet")
        write_file(
            root,
            paths[-1],
            f"""SELECT
                'com,d' || range // 2 || if(range % 2 = 0, '', ',sub') AS surt_host_name,
                'd' || range // 2 || '.com' AS url_host_registered_domain,
                (range % 100) / 10 AS hcrank10, range * 1.5 AS hcrank, 0.5 AS prank10,
                if(range % 3 = {number % 3}, 0, 5) AS fetch_200, md5(range::VARCHAR) AS filler
            FROM range({rows})""",
        )
    write_list(root, "projects/host-index-testing/v2.paths.gz", paths)


def serve_tree(server, root):
    """Serve all files of a tree by ranges; return the numbers of served bytes by path, which are updated."""
    served = {}
    for path in root.rglob("*"):
        if path.is_file():
            name = f"/{path.relative_to(root).as_posix()}"
            server.answers[name] = functools.partial(answer_range, content=path.read_bytes(), served=served)
    return served


def answer_range(handler, content, served=None, version='"v1"'):
    """Answer a request for a range, or for the whole file, like a correct server."""
    requested = handler.headers.get("Range")
    first, last = 0, len(content) - 1
    if requested:
        start, _, end = requested.removeprefix("bytes=").partition("-")
        first = int(start) if start else max(len(content) - int(end), 0)
        last = int(end) if start and end else last
    body = content[first : last + 1]
    if served is not None:
        served[handler.path] = served.get(handler.path, 0) + len(body)
    headers = {"Content_Range": f"bytes {first}-{last}/{len(content)}"} if requested else {}
    reply(handler, body, status=206 if requested else 200, ETag=version, **headers)
