"""Read mutated index files and logs for some time, and compare the reader of many lines with the reader of one line.

Run ``python -m crawl_urn_dagster_tests.fuzzing.layouts SECONDS [SEED]``. Each input is a few lines of one layout, with
damaged bytes, fields or lines. It must be rejected by `SourceError`, or every line must have one outcome: captures,
captures left out, malformed lines and headers add up to the lines. Prints each input that fails, and the total.
"""

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from crawl_urn_dagster.sources import HeritrixLogSource, InputFile, LocalFile, SourceError
from crawl_urn_dagster.sources.formats.cdx_batches import BatchReader
from crawl_urn_dagster.sources.formats.cdx_fields import Capture, Outcome, PresenceRules, read_line
from crawl_urn_dagster.sources.formats.cdx_lines import LAYOUTS
from crawl_urn_dagster.sources.formats.index_lines import open_index
from crawl_urn_dagster.sources.formats.parquet_cache import ConversionNotes

VALUES = {
    "N": ["com,example)/", "com,example)/a?b=c", "com,example:8080)/", "de,www)/)", "org,ex%20ample)/x"],
    "b": ["20140101000000", "20150230000000", "2014", "20141231235959123", "19961231000000"],
    "a": ["http://example.com/", "https://www.example.com/a", "dns:example.com", "ftp://example.com/", "http://ü.de/"],
    "e": ["1.2.3.4", "-", "::1"],
    "m": ["text/html", "warc/revisit", "-", "unk", "text/html; charset=utf-8", "- html>", "application/x y/z"],
    "s": ["200", "404", "-", "301", "503", "304"],
    "k": [
        "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB",
        "-",
        "sha1:ABCDEFABCDEFABCDEFABCDEFABCDEFAB",
        "d41d8cd98f00b204e9800998ecf8427e",
    ],
    "r": ["-", "http://example.com/b"],
    "M": ["-", "A", "FI"],
    "u": ["-", "<urn:uuid:2bd1c6c5-2b1f-4b6f-8b1a-000000000000>"],
    "g": ["a-00001.warc.gz", "-", "b/2014.arc"],
    "3": ["a-00001.warc.gz", "-"],
    **{letter: ["0", "123", "-", "9999999999"] for letter in "SVn12"},
}
PIECES = [
    *"\t\n {}\"\\:,()-%/\x00\x1c\x85\ufeff", "\r\n", " CDX N b a m s k r M S V g\n", "9" * 25, "\udcff", "null", "true",
    "-", "200", "404", "warc/revisit", "http://", "20140101000000", "é", "\n\n", "  ", "!meta {}\n", "-9998", "1e5",
]  # fmt: skip
RULES = (PresenceRules(("200", "revisit", "unknown")), PresenceRules(("2xx", "revisit"), "original_present", "drop"))


def _columns(draw, letters, delimiter):
    return delimiter.join(draw.choice(VALUES[letter]) for letter in letters)


def _json(draw, *, has_prefix):
    values = {letter: draw.choice(VALUES[letter]) for letter in "NbamskSVg"}
    names = {"a": "url", "m": "mime", "s": "status", "k": "digest", "S": "length", "V": "offset", "g": "filename"}
    quoted = {letter: f'"{value}"' for letter, value in values.items()}
    for letter in "sSV":
        if values[letter].isdigit() and draw.random() < 0.2:
            quoted[letter] = values[letter]
    pairs = [f'"{name}": {quoted[letter]}' for letter, name in names.items()]
    if has_prefix:
        return f"{values['N']} {values['b']} {{{', '.join(pairs)}}}"
    return f'{{"urlkey": "{values["N"]}", "timestamp": "{values["b"]}", {", ".join(pairs)}}}'


def _rows(draw, n_lines):
    """Return the lines of an array of JSON as the Wayback CDX API sends it."""
    names = {"N": "urlkey", "b": "timestamp", "a": "original", "m": "mimetype", "s": "statuscode", "k": "digest"}
    rows = [list(names.values()), *([draw.choice(VALUES[letter]) for letter in names] for _ in range(n_lines))]
    return ["[", *(f"{json.dumps(row)}," for row in rows[:-1]), f"{json.dumps(rows[-1])}]"]


def _log(draw):
    status = draw.choice(["  200", "  404", "-9998", "   -2", "    1", "  304"])
    begun = draw.choice(["20110623171208574+225", "-"])
    uri, path = draw.choice(VALUES["a"]), draw.choice(["-", "L", "LREP", "LLE", "50+LLL"])
    note = draw.choice(["-", "2t", "warcRevisit:digest", '- {"warcFilename":"a.warc.gz"}'])
    return f"2011-06-23T17:12:08.802Z {status}       1299 {uri} {path} - text/html #014 {begun} sha1:ABC - {note}"


def make_input(draw):
    """Return whether an input is a log, and its text."""
    kind = draw.randrange(len(LAYOUTS) + 6)
    n_lines = draw.choice([1, 2, 3, 5, 8])
    if kind < len(LAYOUTS):
        delimiter = draw.choice(" \t")
        lines = [_columns(draw, LAYOUTS[kind], delimiter) for _ in range(n_lines)]
        if draw.random() < 0.3:
            letters = LAYOUTS[kind].rstrip("123")
            lines.insert(0, delimiter.join(["", "CDX", *letters]))
    elif kind == len(LAYOUTS):
        lines = [_json(draw, has_prefix=True) for _ in range(n_lines)]
    elif kind == len(LAYOUTS) + 1:
        lines = [_json(draw, has_prefix=False) for _ in range(n_lines)]
    elif kind == len(LAYOUTS) + 2:
        delimiter = draw.choice("\t ,;")
        lines = [_columns(draw, "ab", delimiter) for _ in range(n_lines)]
    elif kind == len(LAYOUTS) + 3:
        lines = _rows(draw, n_lines)
    else:
        lines = [_log(draw) for _ in range(n_lines)]
    text = "\n".join(lines) + draw.choice(["", "\n"])
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice([0, 0, 1, 2, 5, 30]))
        text = text[:start] + draw.choice([*PIECES, ""]) + text[end:]
    return kind > len(LAYOUTS) + 3, text


def check(data: bytes, path: Path, *, is_log: bool, rules: PresenceRules) -> bool:
    """Return whether the input was read; raise an error that is a fault of the reader."""
    path.write_bytes(data)
    local, notes = LocalFile(path, InputFile("data", len(data), "0" * 64)), ConversionNotes()
    try:
        form, batches = (
            HeritrixLogSource(path="data", discovery_path="L|-")._open(local, notes, str)
            if is_log
            else open_index(local, None)
        )
        found, expected, lines = Counter(), Counter(), 0
        for before, text in batches:
            batch = BatchReader(form, rules).read(text, before, samples=0)
            one_by_one = [read_line(line, form, rules) for line in text.decode().split("\n")]
            expected.update(None if isinstance(one, Capture) else one for one in one_by_one)
            captures = sorted(
                (one.stamp, one.url or "", one.key or "") for one in one_by_one if isinstance(one, Capture)
            )
            rows = sorted((row["stamp"], row["url"] or "", row["key"] or "") for row in batch.captures.to_pylist())
            assert [row[0] for row in rows] == [one[0] for one in captures], (rows, captures)
            assert rows == captures, (rows, captures)
            found.update(batch.outcomes)
            lines += sum(bool(line.strip()) for line in text.decode().split("\n"))
    except SourceError:
        return False
    except ValueError as error:
        if ": the legend " in str(error):
            return False
        raise
    del expected[Outcome.EMPTY]
    assert +found == +expected, (found, expected)
    assert sum(found.values()) == lines
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return True
    whole = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    assert lines + notes.counts["lines"] == sum(bool(line.strip("\ufeff").strip()) for line in whole)
    return True


def main() -> None:
    """Check inputs for some seconds."""
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    draw = random.Random(seed)
    end = time.monotonic() + seconds
    inputs = read = failed = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        while time.monotonic() < end and failed < 20:
            is_log, text = make_input(draw)
            data = text.encode("utf-8", "surrogateescape")
            inputs += 1
            try:
                read += check(data, Path(folder) / "data", is_log=is_log, rules=draw.choice(RULES))
            except Exception as error:
                failed += 1
                print(f"{data!r}: {type(error).__name__}: {error}", flush=True)
    print(f"{inputs:,} inputs with seed {seed}: {read:,} read, {inputs - read - failed:,} rejected, {failed:,} failed")


if __name__ == "__main__":
    main()
