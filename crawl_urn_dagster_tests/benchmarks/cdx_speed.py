"""Measure CDX lines per second, of this package and of a line-by-line reader, on one file and in one process.

Run ``python -m crawl_urn_dagster_tests.benchmarks.cdx_speed [LINES]``. Both readers write crawl and element of every
accepted capture to Parquet, and must give the same captures. With ``--memory GIB``, only this package reads a file of
that size, and the peak memory is printed.
"""

import argparse
import re
import resource
import tempfile
import time
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crawl_urn_dagster.sources import CdxSource, Files, Selection

NAMES = ("urlkey", "timestamp", "url", "mime", "status", "digest", "redirect", "meta", "length", "offset", "filename")
LINE = (
    "org,{site})/articles/2014/{page}/some-page.html 2014{month:02d}26{hour:02d}{minute:02d}24 "
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
                    mime="text/html" if number % 50 else "text/html; charset=utf-8",
                    status=200 if number % 9 else 301,
                    length=number % 70_000,
                    offset=number * 10,
                    job=number % 7,
                )
            )


def read_line_by_line(path, target):
    crawls, elements = [], []
    with path.open(encoding="utf-8") as file:
        next(file)
        for line in file:
            fields = line.rstrip("\n").split(" ")
            extra = len(fields) - len(NAMES)
            if extra:
                fields[3 : 4 + extra] = [" ".join(fields[3 : 4 + extra])]
            capture = dict(zip(NAMES, fields, strict=True))
            try:
                datetime.strptime(capture["timestamp"], "%Y%m%d%H%M%S")  # noqa: DTZ007
            except ValueError:
                continue
            if capture["mime"] == "warc/revisit" or capture["status"] in {"200", "-"}:
                crawls.append(re.search(r"^JOB-[0-9]+", capture["filename"])[0])
                elements.append(capture["urlkey"])
    pq.write_table(pa.table({"crawl": crawls, "element": elements}), target, compression="zstd")


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


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
        files.fetch(str(path))  # hashes the file
        ours, listing = timed(lambda: source.list_crawls(files, Selection()))
        plain, _ = timed(lambda: read_line_by_line(path, Path(folder) / "plain.parquet"))
        assert sum(listing.captures.values()) == pq.read_metadata(Path(folder) / "plain.parquet").num_rows
        for name, seconds in (("line by line", plain), ("this package", ours)):
            print(f"{name}: {arguments.lines / seconds:,.0f} lines/s")
        print(f"ratio: {plain / ours:.1f}")


if __name__ == "__main__":
    main()
