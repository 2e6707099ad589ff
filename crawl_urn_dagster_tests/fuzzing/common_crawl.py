"""Run the parsers of Common Crawl's files on any bytes: they return a result or raise `SourceError`.

Does not search for bytes; see `mutations` and `__main__`.
"""

import bz2
import json
from pathlib import Path

import numpy as np

from crawl_urn_dagster.sources import (
    CommonCrawlStatisticsSource,
    Files,
    InputFile,
    LocalFile,
    Selection,
    SourceError,
)
from crawl_urn_dagster.sources.calendar import read_calendar
from crawl_urn_dagster.sources.common_crawl.count_files import read_items
from crawl_urn_dagster.sources.common_crawl.hyperloglog import cardinality
from crawl_urn_dagster.sources.common_crawl.sketches import read_sketch

CRAWL = "CC-MAIN-2024-10"
_REGISTERS = [0, 61, *range(14)]
_VALUE = {"__type__": "HyperLogLog", "p": 4, "m": 16, "M": _REGISTERS}
_SKETCH = f'["size_estimate", "url", "{CRAWL}"]\t'

#: Nearly valid files by parser.
SEEDS = {
    "windows": [b"crawl,1,12,2,3\n2024-01,10,nan,nan,nan\n2024-02,2e1,nan,25.0,nan\n", b"crawl,1\nCC-MAIN-2012,7\n"],
    "counts": [b"crawl,domain,host,tld,url\n2024-01,1,2,3,4\n2024-02,nan,6,7,8\n"],
    "calendar": [b'[{"id": "CC-MAIN-2024-10", "from": "2024-02-20T10:00:00", "to": ""}]', b"id,from\na,2024\n"],
    "sketch": [
        f"{_SKETCH}{json.dumps(_VALUE | {'card': count})}\n".encode()
        for count in (1.0, cardinality(np.array(_REGISTERS, dtype=np.int8)))
    ],
    "items": [b'[3, "a.org", 56]\t[3, 2]\n[2,"www.a.org",56]\t1\n[90, 8, 56]\t7\n', b'[3, "\\u00fc\\n", 0]\t1\n'],
}


def parse(target: str, data: bytes, folder: Path) -> object:
    """Run a parser on data; an error other than `SourceError` is a fault of the parser."""
    path = folder / target
    path.write_bytes(bz2.compress(data, 1) if target == "items" else data)
    local = LocalFile(path, InputFile(target, len(data), "0" * 64))
    try:
        if target == "sketch":
            return read_sketch(local, "url", CRAWL)
        if target == "items":
            return list(read_items(local, "domain"))
        if target == "calendar":
            return read_calendar(local)
        locations = {"windows": str(path)}
        if target == "counts":
            good = folder / "good"
            good.write_bytes(SEEDS["windows"][0])
            locations = {"windows": str(good), "counts": str(path)}
        source = CommonCrawlStatisticsSource(calendar=None, **locations)
        return source.read_tables(Files(folder / "cache"), Selection()).published
    except SourceError:
        return None
