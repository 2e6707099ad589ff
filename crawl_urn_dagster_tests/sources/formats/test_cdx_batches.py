"""Test that many lines at once are read as each line alone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_urn_dagster.sources.formats.cdx_batches import SCHEMA, BatchReader
from crawl_urn_dagster.sources.formats.cdx_fields import Capture, Outcome, PresenceRules, read_line
from crawl_urn_dagster.sources.formats.cdx_lines import CDXJ, JSON_LINES, LineFormat

KEYS = (
    "com,example)/",
    "com,example:8080)/a",
    "example.com/a",
    "-",
    "",
    "com,a b)/",
    "com,ü)/",
    "com,a)/?__wb_method=post",
)
STAMPS = (
    "20140101000000",
    "20240229235959",
    "20230229000000",
    "2014",
    "20141301000000",
    "19891231000000",
    "2014010100000x",
)
URLS = (
    "http://example.com/",
    "HTTPS://a",
    "http:///a",
    "http://",
    "example.com/a",
    "-",
    "",
    "dns:a",
    "http://ü.de/",
    "x" * 9000,
)
MIMES = ("text/html", "warc/revisit", "-", "warc/revisix", "text/html; charset=utf 8", "")
STATUSES = ("200", "404", "301", "-", "", "2", "2000", "2x0", "503")
FILES = ("a.warc.gz", "-", "")
RULES = [
    PresenceRules(("200", "revisit", "unknown")),
    PresenceRules(("4xx", "any")),
    PresenceRules(("2xx", "revisit"), revisits="original_present", post="drop"),
    PresenceRules(("unknown", "301"), post="drop"),
]
FORMS = ["Nbamsg", "bgsmaN", "Nbs", "ab", "Nbg"]


@st.composite
def delimited(draw, form):
    values = {"N": KEYS, "b": STAMPS, "a": URLS, "m": MIMES, "s": STATUSES, "g": FILES}
    line = form.delimiter.join(draw(st.sampled_from(values[letter])) for letter in form.letters)
    return draw(st.one_of(st.just(line), st.just(line), st.just(line), st.just(f" {line}"), st.just(line[:20])))


@st.composite
def with_json(draw, form):
    """Draw a line of JSON, with texts or numbers, in any order of keys, and now and then with an escape or a fault."""
    values = {
        "urlkey": st.sampled_from(KEYS),
        "timestamp": st.sampled_from(STAMPS),
        draw(st.sampled_from(["url", "original"])): st.sampled_from(URLS),
        draw(st.sampled_from(["mime", "mime_type"])): st.sampled_from(MIMES),
        draw(st.sampled_from(["status", "statuscode"])): st.one_of(st.sampled_from(STATUSES), st.integers(0, 1000)),
        "filename": st.sampled_from(FILES),
        "length": st.one_of(st.just("12"), st.integers(0, 10**6), st.none(), st.just({"a": "b"})),
    }
    names = draw(st.one_of(st.just(list(values)), st.permutations(list(values))))
    names = names[: draw(st.integers(3, len(names)))]
    found = {name: draw(values[name]) for name in names}
    separators = draw(st.sampled_from([(", ", ": "), (",", ":")]))
    text = json.dumps(found, separators=separators, ensure_ascii=draw(st.booleans()))
    text = draw(
        st.sampled_from([text, text, text, text[:-1], text.replace('"', "", 1), f"{text} ", text.replace("1", "01")])
    )
    return f"{draw(st.sampled_from(KEYS))} {draw(st.sampled_from(STAMPS))} {text}" if form.has_prefix else text


def assert_read_alike(lines, form, rules):
    reader = BatchReader(form, rules)
    batch = reader.read("".join(f"{line}\n" for line in lines).encode(), 10, samples=3)
    single = [read_line(line, form, rules) for line in lines]
    captures = [Capture(*row) for row in zip(*(batch.captures[name].to_pylist() for name in SCHEMA.names), strict=True)]
    assert sorted(captures, key=repr) == sorted((found for found in single if isinstance(found, Capture)), key=repr)
    for outcome in Outcome:
        expected = 0 if outcome is Outcome.EMPTY else single.count(outcome)
        assert batch.outcomes[outcome] == expected
    assert batch.outcomes[None] == len(captures)
    assert all(single[number - 11] is outcome for number, _, outcome in batch.malformed)


@settings(max_examples=120)
@given(data=st.data(), letters=st.sampled_from(FORMS), delimiter=st.sampled_from(" \t|"), rules=st.sampled_from(RULES))
def test_lines_of_columns_are_read_as_one_by_one(data, letters, delimiter, rules):
    form = LineFormat(letters, delimiter)
    assert_read_alike(data.draw(st.lists(delimited(form), max_size=12)), form, rules)


@settings(max_examples=120)
@given(data=st.data(), form=st.sampled_from([CDXJ, JSON_LINES]), rules=st.sampled_from(RULES))
def test_lines_of_json_are_read_as_one_by_one(data, form, rules):
    assert_read_alike(data.draw(st.lists(with_json(form), max_size=12)), form, rules)


@pytest.mark.parametrize("space", ["\x85", "\x0b", "\u2028", "\x1c"])
def test_keys_with_spaces_of_unicode_are_read_as_one_by_one(space):
    lines = [f"com,exa{space}mple)/ 20140101000000 http://example.com/ text/html 200 a.warc.gz"] * 2
    assert_read_alike(lines, LineFormat("Nbamsg"), RULES[0])


@pytest.mark.parametrize("before", ["\ufffd", "x", "[", " "])
def test_lines_with_text_before_json_are_read_as_one_by_one(before):
    line = '{"urlkey": "com,example)/", "timestamp": "20140101000000", "url": "http://example.com/", "status": "200"}'
    assert_read_alike([line, f"{before}{line}", line], JSON_LINES, RULES[0])


def test_plain_lines_are_not_read_one_by_one(monkeypatch):
    """The speed depends on it."""
    monkeypatch.setattr("crawl_urn_dagster.sources.formats.cdx_batches.read_line", None)
    line = "com,example)/ 20140101000000 http://example.com/ text/html 200 a.warc.gz"
    rules = RULES[0]
    assert BatchReader(LineFormat("Nbamsg"), rules).read(f"{line}\n".encode() * 3, 0, samples=0).outcomes[None] == 3
    for status in ('"200"', "200"):
        values = f'{{"url": "http://example.com/", "status": {status}, "length": 12, "filename": "a"}}'
        data = f"com,example)/ 20140101000000 {values}\n".encode() * 3
        assert BatchReader(CDXJ, rules).read(data, 0, samples=0).outcomes[None] == 3


@pytest.mark.parametrize(
    ("revisits", "statuses"),
    [("all", ["-", "200", "301", "304", "404", "503"]), ("original_present", ["-", "200", "304"])],
)
def test_revisits_count_by_the_status_of_the_original(revisits, statuses):
    rules = PresenceRules(("200", "revisit", "unknown"), revisits)
    lines = "".join(
        f"com,a{status})/ 20140101000000 http://a.com/ warc/revisit {status} a.warc.gz\n"
        for status in ("-", "200", "301", "304", "404", "503")
    )
    batch = BatchReader(LineFormat("Nbamsg"), rules).read(lines.encode(), 0, samples=0)
    assert batch.captures["key"].to_pylist() == [f"com,a{status})/" for status in statuses]
