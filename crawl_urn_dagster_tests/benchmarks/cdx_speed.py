"""Compare this package with a lean loop and with DuckDB's bare read, on one CDX and one CDXJ file, in CPU seconds.

Run ``python -m crawl_urn_dagster_tests.benchmarks.cdx_speed [LINES]``. This package and the loop write crawl and
element of every accepted capture to Parquet, and must give the same captures. DuckDB splits the lines into columns and
stores nothing; of CDXJ it only reads the lines. With ``--memory GIB``, only this package reads a file of that size, and
the peak memory is printed.
"""

import argparse
import json
import re
import resource
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from crawl_urn_dagster.sources import CdxSource, Files, Selection

LINE = (
    "org,{site})/articles/2014/{page}/some-page.html 2014{month:02d}26{hour:02d}{minute:02d}{second:02d} "
    "http://www.{site}.org/articles/2014/{page}/some-page.html {mime} {status} OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB - - "
    "{length} {offset} JOB-{job}-20140126200624-00001-crawl.example.org.warc.gz\n"
)


def write_index(path, lines):
    with path.open("w") as file:
        file.write(" CDX N b a m s k r M S V g\n")
        for number in range(lines):
            file.write(
                LINE.format(
                    site=f"example{number // 40}",
                    page=number,
                    month=1 + number % 12,
                    hour=number % 24,
                    minute=number % 60,
                    second=number % 7,  # another start for each job
                    mime="text/html" if number % 50 else "text/html; charset=utf-8",
                    status=200 if number % 9 else 301,
                    length=number % 70_000,
                    offset=number * 10,
                    job=number % 7,
                )
            )


def write_cdxj(cdx, path):
    """Write the captures of a CDX file as CDXJ, as pywb does."""
    with cdx.open() as lines, path.open("w") as file:
        next(lines)
        for line in lines:
            key, stamp, url, *mime, status, digest, _, _, length, offset, warc = line.split()
            values = {"url": url, "mime": " ".join(mime), "status": status, "digest": digest}
            values |= {"length": length, "offset": offset, "filename": warc}
            file.write(f"{key} {stamp} {json.dumps(values)}\n")


def split_cdx(line):
    """Return key, mime, status and WARC of a line; surplus spaces belong to the mime."""
    fields = line.split(" ")
    extra = len(fields) - 11
    return fields[0], fields[3] if not extra else " ".join(fields[3 : 4 + extra]), fields[4 + extra], fields[-1]


def split_cdxj(line):
    key, _, rest = line.split(" ", 2)
    values = json.loads(rest)
    return key, values["mime"], values["status"], values["filename"]


def read_in_a_loop(path, target, split):
    """Read a file as a lean loop does: no check of a time, and each name of a WARC is searched once."""
    labels, crawls, elements = {}, [], []
    with path.open(encoding="utf-8") as file:
        if split is split_cdx:
            next(file)
        for line in file:
            key, mime, status, warc = split(line)
            if status in {"200", "-"} or mime == "warc/revisit":
                if warc not in labels:
                    labels[warc] = re.search(r"^JOB-[0-9]+", warc)[0]
                crawls.append(labels[warc])
                elements.append(key)
    pq.write_table(pa.table({"crawl": crawls, "element": elements}), target, compression="zstd")


def read_bare(path, columns):
    """Split the lines into columns of text by DuckDB, and read the last column."""
    names = {f"column{number:02}": "VARCHAR" for number in range(columns)}
    delimiter = " " if columns > 1 else chr(1)
    with duckdb.connect() as connection:
        connection.execute(
            f"SELECT count(*), max(length(column{columns - 1:02})) FROM read_csv('{path}', columns = {names}, "
            f"delim = '{delimiter}', quote = '', escape = '', header = false, auto_detect = false, "
            "null_padding = true, ignore_errors = true)"
        ).fetchall()


def timed(function):
    """Return the CPU seconds of a call, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def compare(path, files, split, columns):
    source = CdxSource(path=str(path), crawl_from="warc", warc_pattern="^JOB-[0-9]+")
    target = files.cache / "loop.parquet"
    files.fetch(str(path))  # hashes the file
    ours, listing = timed(lambda: source.list_crawls(files, Selection()))
    loop, _ = timed(lambda: read_in_a_loop(path, target, split))
    bare, _ = timed(lambda: read_bare(path, columns))
    assert sum(listing.captures.values()) == pq.read_metadata(target).num_rows
    print(
        f"{path.suffix}: this package {ours:.2f} s, lean loop {loop:.2f} s (ratio {ours / loop:.2f}), "
        f"DuckDB's bare read {bare:.2f} s (ratio {ours / bare:.1f}); {listing.findings['lines'] / ours:,.0f} lines/s"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lines", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--memory", type=float)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, files = Path(folder) / "index.cdx", Files(Path(folder) / "cache")
        source = CdxSource(path=str(path), crawl_from="warc", warc_pattern="^JOB-[0-9]+")
        if arguments.memory:
            write_index(path, int(arguments.memory * 2**30 / 270))
            seconds, listing = timed(lambda: source.list_crawls(files, Selection()))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            size = path.stat().st_size / 2**30
            print(f"{size:.2f} GiB, {listing.findings['lines']:,} lines: {seconds:.0f} s, {peak:.2f} GiB of memory")
            return
        write_index(path, 1000)
        source.list_crawls(files, Selection())  # loads the libraries
        write_index(path, arguments.lines)
        write_cdxj(path, path.with_suffix(".cdxj"))
        compare(path, files, split_cdx, 11)
        compare(path.with_suffix(".cdxj"), files, split_cdxj, 1)


if __name__ == "__main__":
    main()
