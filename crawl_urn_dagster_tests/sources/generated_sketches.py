"""Generate sketches and statistics in Common Crawl's format."""

import gzip
import json

import numpy as np

from crawl_urn_dagster.sources.common_crawl.hyperloglog import cardinality


def sketch(keys, p=14):
    """Return the registers of a sketch of random 64-bit keys, which stand for hashes."""
    register = (keys & np.uint64(2**p - 1)).astype(np.intp)
    # Number of significant bits; a float is off by one only just below a power of two, which is rare.
    bits = np.frexp((keys >> np.uint64(p)).astype(np.float64))[1]
    rank = (64 - p - bits + 1).astype(np.int8)
    registers = np.zeros(2**p, dtype=np.int8)
    np.maximum.at(registers, register, rank)
    return registers


def as_json(registers):
    m = len(registers)
    return {
        "__type__": "HyperLogLog",
        "card": cardinality(registers),
        "p": m.bit_length() - 1,
        "M": registers.tolist(),
        "m": m,
        "alpha": 0.7213 / (1 + 1.079 / m),
    }


def statistics(crawl, registers, *, digests=None, space=" ", rows=()):
    """Return a gzip-compressed file of statistics, its JSON with or without spaces."""
    digests = registers[: len(registers) // 2] if digests is None else digests
    separators = (f",{space}", f":{space}")
    all_rows = [
        (["size", "page", crawl], 12),
        (["mimetype", "text/html\tx", crawl], [3, 2]),
        (["size_estimate_for", "domain", "example.org", "url", crawl], as_json(registers[:16])),
        (["size_estimate", "url", crawl], as_json(registers)),
        (["size_estimate", "digest", crawl], as_json(digests)),
        *rows,
    ]
    lines = ["\t".join(json.dumps(part, separators=separators) for part in row) for row in all_rows]
    return gzip.compress(("\n".join(lines) + "\n").encode(), compresslevel=1, mtime=0)
