"""Test captures from the indexes of web archives: formats, presence, crawls, elements and malformed lines."""

import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.sources import CdxSource, Files, Selection, SourceError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, captures_of, gz, labels_of, reply, serve
from crawl_urn_dagster_tests.sources.formats.conftest import converted_files

LEGEND = " CDX N b a m s k r M S V g\n"
#: Key, time, URL, mime, status and WARC of captures that every format can express.
CAPTURES = [
    ("com,example)/", "20140101000000", "http://www.example.com/", "text/html", "200", "JOB-1-2014.warc.gz"),
    ("com,example)/a?b=1", "20140215120000", "https://example.com/A?b=1#c", "text/html", "404", "JOB-1-2014.warc.gz"),
    (
        "uk,co,example,news)/",
        "20140301000000",
        "http://news.example.co.uk:80/",
        "warc/revisit",
        "-",
        "JOB-2-2014.warc.gz",
    ),
    ("uk,co,example,news)/x", "201404", "http://news.example.co.uk/x/", "image/png", "-", "JOB-2-2014.warc.gz"),
]


def legend_lines(letters, delimiter=" "):
    rows = []
    for key, time, url, mime, status, warc in CAPTURES:
        cells = {"N": key, "b": time, "a": url, "m": mime, "s": status, "g": warc}
        rows.append(delimiter.join(cells.get(letter, "-") for letter in letters.split()) + "\n")
    return "".join(rows)


def legend(letters, delimiter=" "):
    return delimiter.join(["", "CDX", *letters.split()]) + "\n"


def cdxj_lines(mime="mime", status="status"):
    lines = []
    for key, time, url, kind, code, warc in CAPTURES:
        values = {"url": url, mime: kind, status: code, "filename": warc}
        kept = {name: value for name, value in values.items() if value != "-"}
        lines.append(f"{key} {time} {json.dumps(kept)}\n")
    return "".join(lines)


FULL = "N b a m s k r M S V g"
FORMS = {
    "legend of 11": legend(FULL) + legend_lines(FULL),
    "legend of 10": legend("N b a m s k r M V g") + legend_lines("N b a m s k r M V g"),
    "legend of 9": legend("N b a m s k r V g") + legend_lines("N b a m s k r V g"),
    "another order": legend("g m b N s a") + legend_lines("g m b N s a"),
    "tabs": legend(FULL, "\t") + legend_lines(FULL, "\t"),
    "bars": legend(FULL, "|") + legend_lines(FULL, "|"),
    "no URL": legend("N b m s g") + legend_lines("N b m s g"),
    "no legend, 11": legend_lines(FULL),
    "no legend, 10": legend_lines("N b a m s k r M V g"),
    "no legend, 9": legend_lines("N b a m s k r V g"),
    "CRLF": (legend(FULL) + legend_lines(FULL)).replace("\n", "\r\n"),
    "two files in one": legend(FULL) + legend_lines(FULL)[:-1] + "\n\n" + legend(FULL).strip("\n"),
    "CDXJ": '!meta {"version": 1}\n' + cdxj_lines(),
    "CDXJ, other names": cdxj_lines("mime_type", "status_code"),
}
WITHOUT_STATUS = {
    "Netarkivet": legend_lines("a e b m n g V k"),
    "URL and time": legend_lines("a b"),
    "URL and time, tabs": legend_lines("a b", "\t"),
    "URL and time, commas": legend_lines("a b", ","),
}
KEYS = [capture[0] for capture in CAPTURES]


def read(files, path, **configured):
    source = CdxSource(path=path, **{"crawl_from": "year", **configured})
    listing = source.list_crawls(files, ALL_CRAWLS)
    return listing, captures_of(source, files, labels_of(listing))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("compress", [bytes, gz])
def test_every_format_gives_the_same_captures(files, write, name, compress):
    path = write("index", compress(FORMS[name].encode()))
    listing, captures = read(files, path)
    assert captures == [("2014", key) for key in sorted((KEYS[0], *KEYS[2:]))]
    assert (listing.findings["lines_malformed"], listing.findings["captures_left_out_status"]) == (0, 1)
    assert listing.captures == {"2014": 3}
    for element, expected in {
        "host": ["example.com", "news.example.co.uk", "news.example.co.uk"],
        "domain": ["example.co.uk", "example.co.uk", "example.com"],
    }.items():
        assert [found for _, found in read(files, path, element=element)[1]] == expected


def test_file_with_a_legend_only_has_no_capture(files, write, tmp_path):
    write("indexes/2014.cdx", FORMS["legend of 11"])
    write("indexes/2015.cdx", legend(FULL))
    listing, _ = read(files, str(tmp_path / "indexes"))
    assert (listing.captures, listing.findings["lines_header"]) == ({"2014": 3}, 2)


def test_members_of_gzip_may_each_have_a_legend(files, write):
    lines = legend_lines(FULL).splitlines(keepends=True)
    members = [legend(FULL) + "".join(lines[:2]), "", legend(FULL) + "".join(lines[2:])]
    listing, captures = read(files, write("index.cdx.gz", b"".join(gz(member.encode()) for member in members)))
    assert captures == [("2014", key) for key in sorted((KEYS[0], *KEYS[2:]))]
    assert (listing.findings["lines_header"], listing.findings["lines_malformed"]) == (2, 0)


@pytest.mark.parametrize("name", WITHOUT_STATUS)
def test_unknown_status_is_present_by_default(files, write, name):
    """Keys are made from the URLs."""
    path = write("index.txt", WITHOUT_STATUS[name])
    assert read(files, path)[1] == [("2014", key) for key in sorted(KEYS)]
    assert [found for _, found in read(files, path, element="url_as_written")[1]] == sorted(one[2] for one in CAPTURES)


@pytest.mark.parametrize(
    ("present", "kept"),
    [
        (["200"], [0]),
        (["revisit"], [2]),
        (["unknown"], [3]),
        (["4xx"], [1]),
        (["2xx", "404"], [0, 1]),
        (["any"], [0, 1, 2, 3]),
    ],
)
def test_present_selects_captures_by_status(files, write, present, kept):
    _, captures = read(files, write("index.cdx", FORMS["legend of 11"]), present=present)
    assert captures == [("2014", key) for key in sorted(KEYS[index] for index in kept)]


class TestGrouping:
    def test_file_labels_in_a_folder_and_a_glob(self, files, write, tmp_path):
        for name in ("2014-01.cdx.gz", "2014-02.cdxj"):
            text = FORMS["CDXJ" if name.endswith("j") else "legend of 11"].encode()
            write(f"folder/{name}", gz(text) if name.endswith("gz") else text)
        write("folder/.hidden", "no index")
        for path in ("folder", "folder/*"):
            listing, captures = read(files, str(tmp_path / path), crawl_from="file")
            assert [(crawl.crawl, crawl.dated_by) for crawl in listing.crawls] == [
                ("2014-01", "label"),
                ("2014-02", "label"),
            ]
            assert len(captures) == 6
        with pytest.raises(SourceError, match="found the crawl label"):
            read(files, write("folder2/Ω.cdx", FORMS["CDXJ"]), crawl_from="file")

    def test_equal_file_names_are_one_crawl_unless_in_one_folder(self, files, write, tmp_path):
        for name in ("a/2014-01.cdx", "b/2014-01.cdxj.gz"):
            form = FORMS["CDXJ"].encode()
            write(f"nodes/{name}", gz(form) if name.endswith("gz") else form)
        listing, captures = read(files, f"{tmp_path}/nodes/*/*", crawl_from="file")
        assert labels_of(listing) == ["2014-01"]
        assert len(captures) == 2 * len(read(files, f"{tmp_path}/nodes/a", crawl_from="file")[1])
        write("nodes/a/2014-01.CDX.gz", gz(FORMS["CDXJ"].encode()))
        for crawl_from in ("file", "year"):
            with pytest.raises(
                SourceError, match=r"a/2014-01\.CDX\.gz and .*a/2014-01\.cdx: differ only in their extensions"
            ):
                read(files, f"{tmp_path}/nodes/a", crawl_from=crawl_from)

    def test_warc_labels_are_dated_by_first_captures(self, files, write):
        listing, captures = read(
            files, write("index.cdx", FORMS["legend of 11"]), crawl_from="warc", warc_pattern="^(JOB-[0-9])-"
        )
        assert [(crawl.crawl, f"{crawl.started_at}", crawl.dated_by) for crawl in listing.crawls] == [
            ("JOB-1", "2014-01-01 00:00:00", "first_capture"),
            ("JOB-2", "2014-03-01 00:00:00", "first_capture"),
        ]
        assert captures == [("JOB-1", KEYS[0]), ("JOB-2", KEYS[2]), ("JOB-2", KEYS[3])]

    def test_warc_names_without_a_match_are_left_out(self, files, write):
        listing, _ = read(
            files, write("index.cdx", FORMS["legend of 11"]), crawl_from="warc", warc_pattern="JOB-2(?:-2014)"
        )
        assert labels_of(listing) == ["JOB-2-2014"]
        assert listing.findings["captures_left_out_no_crawl"] == 1

    @pytest.mark.parametrize(
        ("unit", "labels"),
        [
            ("day", ["2014-01-01", "2014-03-01", "2014-04-01"]),
            ("week", ["2013-12-30", "2014-02-24", "2014-03-31"]),
            ("month", ["2014-01", "2014-03", "2014-04"]),
            ("quarter", ["2014-01", "2014-04"]),
            ("year", ["2014"]),
        ],
    )
    def test_time_bins_are_labelled_by_their_first_day(self, files, write, unit, labels):
        listing, _ = read(files, write("index.cdx", FORMS["legend of 11"]), crawl_from=unit)
        assert labels_of(listing) == labels

    def test_a_calendar_dates_warc_jobs(self, files, write):
        calendar = write("calendar.csv", "id,from\nJOB-1,2014-06-01\nJOB-2,2014-05-01\n")
        listing, _ = read(
            files, write("i.cdx", FORMS["CDXJ"]), crawl_from="warc", warc_pattern="JOB-[0-9]", calendar=calendar
        )
        assert labels_of(listing) == ["JOB-2", "JOB-1"]

    def test_index_without_warc_names_is_an_error(self, files, write):
        with pytest.raises(SourceError, match=r"has no field g"):
            read(files, write("index.txt", WITHOUT_STATUS["URL and time"]), crawl_from="warc", warc_pattern="x")


MALFORMED = [
    "com,example)/b 20140101000000",
    "com,example)/c 2014x101000000 http://example.com/c text/html 200 K - - 1 2 a.warc.gz",
    "com,example)/d 20141301000000 http://example.com/d text/html 200 K - - 1 2 a.warc.gz",
    "com,example)/e 20140101000000 http://example.com/e not a mime 200 K - - 1 2 a.warc.gz",
    "- 20140101000000 - text/html 200 K - - 1 2 a.warc.gz",
    "com,example)/f 19140101000000 http://example.com/f text/html 200 K - - 1 2 a.warc.gz",
]


class TestMalformedLines:
    def test_malformed_lines_are_counted_and_sampled(self, files, write):
        text = LEGEND + legend_lines(FULL) + "\n".join(MALFORMED)
        listing, captures = read(files, write("index.cdx", text), max_malformed=0.9)
        assert len(captures) == 3
        assert listing.findings["lines_malformed"] == len(MALFORMED)
        shown = listing.findings["malformed"].splitlines()
        assert len(shown) == 5
        assert shown[0].endswith(f"index.cdx, line 6 does not have the fields of the other lines: {MALFORMED[0]!r}")
        assert "line 7 has no time of" in shown[1]

    def test_findings_name_files_with_largest_shares_first(self, files, write, tmp_path):
        good = LEGEND + legend_lines(FULL)
        write("shards/a.cdx", good * 4 + MALFORMED[0])
        write("shards/b.cdx", good + "\n".join(MALFORMED))
        write("shards/c.cdx", good)
        findings = read(files, f"{tmp_path}/shards", max_malformed=0.9)[0].findings
        assert (findings["lines_malformed"], findings["files_malformed"]) == (len(MALFORMED) + 1, 2)
        first, second = findings["malformed_by_file"].splitlines()
        assert first.endswith("shards/b.cdx: 6 of 11 lines (54.55%)")
        assert second.endswith("shards/a.cdx: 1 of 21 lines (4.76%)")
        samples = findings["malformed"].splitlines()
        assert len(samples) == 5
        assert "b.cdx, line 6 does not have" in samples[0]
        assert "a.cdx, line 21 does not have" in samples[1]

    def test_no_present_capture_is_an_error(self, files, write):
        with pytest.raises(SourceError, match=r"found no present capture .*'captures_left_out_status': 4"):
            read(files, write("index.cdx", FORMS["legend of 11"]), present=["500"])

    def test_too_many_malformed_lines_are_an_error(self, files, write):
        text = LEGEND + legend_lines(FULL) + MALFORMED[0]
        with pytest.raises(
            SourceError, match=r"index\.cdx: 1 of 6 lines are malformed, more than max_malformed 0\.01: line 6 does"
        ):
            read(files, write("index.cdx", text))

    def test_a_mime_may_hold_spaces(self, files, write):
        line = 'com,example)/b 20140101000000 http://example.com/b text/html; charset="utf 8" 200 K - - 1 2 a.warc.gz\n'
        assert ("2014", "com,example)/b") in read(files, write("i.cdx", LEGEND + legend_lines(FULL) + line))[1]

    def test_invalid_json_is_malformed(self, files, write):
        lines = ["com,a)/ 20140101000000 {", "com,a)/ 20140101000000 []", 'com,a)/ 20140101000000 {"url": 1} x']
        listing, _ = read(files, write("i.cdxj", cdxj_lines() + "\n".join(lines)), max_malformed=0.5)
        assert listing.findings["lines_malformed"] == 3

    def test_bytes_that_are_not_utf8_are_replaced(self, files, write):
        path = write("i.txt", b"http://example.com/\xff 20140101000000\nhttp://example.com/ 20140101000000\n")
        assert [found for _, found in read(files, path, element="url_as_written")[1]] == [
            "http://example.com/",
            "http://example.com/�",
        ]

    def test_captures_outside_the_web_are_left_out(self, files, write):
        lines = "".join(
            f"{url} 20140101000000\n"
            for url in ("dns:example.com", "ftp://example.com/", "example.com/a", "filedesc:a.arc")
        )
        listing, captures = read(files, write("i.txt", lines))
        assert captures == [("2014", "com,example)/a")]
        assert listing.findings["captures_left_out_not_web"] == 3

    def test_ip_addresses_and_suffixes_have_no_domain(self, files, write):
        path = write(
            "i.txt", "http://192.0.2.1/ 20140101000000\nhttp://a.github.io/ 20140101000000\nhttp://co.uk/ 2014\n"
        )
        listing, captures = read(files, path, element="domain")
        assert captures == [("2014", "github.io")]
        assert listing.findings["captures_left_out_no_element"] == 2


class TestGzip:
    def test_members_may_end_without_line_feed(self, files, write):
        """In a zipnum index each member is a block of whole lines, the last one without line feed."""
        lines = legend_lines(FULL).splitlines()
        blocks = b"".join(gz("\n".join(lines[start : start + 2]).encode()) for start in (0, 2))
        assert len(read(files, write("i.cdx.gz", blocks), present=["any"])[1]) == 4

    @pytest.mark.parametrize("size", [1, 7, 50])
    def test_members_may_end_anywhere(self, files, write, size):
        data = (LEGEND + legend_lines(FULL)).encode()
        members = b"".join(gz(data[start : start + size]) for start in range(0, len(data), size))
        assert len(read(files, write("i.cdx.gz", members + b"\0" * 9), present=["any"])[1]) == 4


def test_files_may_be_longer_than_a_batch(files, write, monkeypatch):
    monkeypatch.setattr("crawl_urn_dagster.sources.formats.text_lines._READ_BYTES", 1000)
    monkeypatch.setattr("crawl_urn_dagster.sources.formats.text_lines._BATCH_BYTES", 3000)
    lines = [f"http://example.com/{number} 20140101000000\n" for number in range(1000)]
    bad = "".join([*lines[:700], "bad\n", *lines[700:]])
    listing, captures = read(files, write("i.txt", bad))
    assert len(captures) == 1000
    assert "line 701 does not have" in listing.findings["malformed"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("<!DOCTYPE html>", "is a web page"),
        ("one two three four\n", "found lines such as 'one two three four'"),
        (" CDX N a m\n", "lacks b"),
        (" CDX b m\n", "lacks b .* or both N"),
    ],
)
def test_other_files_are_errors(files, write, text, message):
    with pytest.raises(SourceError, match=message):
        read(files, write("index.cdx", text))


def test_configured_legend_is_used(files, write):
    path = write("index.cdx", legend_lines("b a s"))
    with pytest.raises(SourceError, match="set `legend`"):
        read(files, path)
    assert read(files, path, legend="b a s", present=["200"])[1] == [("2014", KEYS[0])]


@pytest.mark.parametrize(
    ("configured", "message"),
    [
        ({"crawl_from": "warc"}, "go together"),
        ({"warc_pattern": "x"}, "go together"),
        ({"crawl_from": "warc", "warc_pattern": "("}, "is not a regular expression"),
        ({"crawl_from": "warc", "warc_pattern": "(a)(b)"}, "has 2 groups"),
        ({"legend": "N a"}, "lacks b"),
        ({"legend": "what"}, "is not the legend"),
        ({"present": ["20"]}, "String should match"),
        ({"max_malformed": 2}, "less than or equal to 1"),
    ],
)
def test_wrong_settings_are_errors(configured, message):
    with pytest.raises(ValidationError, match=message):
        CdxSource(path="x", **configured)


def test_element_agrees_with_the_granularity():
    with pytest.raises(ValidationError, match="granularity url, but its source gives elements of granularity host"):
        Collection.model_validate(
            {"name": "a", "granularity": "url", "source": {"type": "cdx", "path": "x", "element": "host"}}
        )


def test_revisions_change_with_captures_and_settings(files, write, tmp_path):
    write("f/2014-01.cdx", FORMS["CDXJ"])
    write("f/2014-02.cdx", FORMS["CDXJ"])

    def revisions(**configured):
        return CdxSource(path=str(tmp_path / "f"), **configured).list_crawls(files, Selection()).revisions

    before = revisions()
    write("f/2014-02.cdx", FORMS["legend of 11"])
    assert revisions() == before  # the same captures in another form
    write("f/2014-02.cdx", WITHOUT_STATUS["Netarkivet"])
    after = revisions()
    assert before["2014-01"] == after["2014-01"]
    assert before["2014-02"] != after["2014-02"]
    assert revisions(present=["any"])["2014-01"] != after["2014-01"]


class TestRemote:
    def test_busy_servers_and_truncated_files_are_retried(self, files, server):
        body = FORMS["CDXJ"].encode()
        flaws = [lambda handler: reply(handler, status=503, Retry_After="0"), serve(body, cut=60), serve(body)]

        def answer(handler):
            return (flaws.pop(0) if len(flaws) > 1 else flaws[0])(handler)

        server.answers["/2014.cdxj"] = answer
        assert len(read(files, server.url("/2014.cdxj"), crawl_from="file")[1]) == 3

    def test_wrong_answers_are_errors(self, tmp_path, server):
        for name, answer in {
            "is a web page": lambda handler: reply(handler, "<html>sign in</html>"),
            "answered 404": lambda handler: reply(handler, status=404),
            "answered 403": lambda handler: reply(handler, status=403, Retry_After="100"),
            "redirects more": lambda handler: reply(handler, status=302, Location="/2014.cdx"),
        }.items():
            server.answers["/2014.cdx"] = answer
            with pytest.raises(SourceError, match=name):
                read(Files(tmp_path / name), server.url("/2014.cdx"))


class TestRealFiles:
    def test_lines_and_captures_of_real_files(self, files, shared_data):
        for name, lines, captures in [
            ("pywb_iana.cdx", 172, 171),
            ("pywb_iana.cdxj", 171, 171),
            ("openwayback_test-cdx.txt", 2144, 2144),
            ("netarkivet_jobs-2-4-70.cdx", 252, 231),
            ("pywb_bad.cdx", 5, 4),
            ("pywb_zipnum-sample.cdx.gz", 188, 188),
        ]:
            listing, _ = read(files, str(shared_data / "cdx" / name), present=["any"])
            found = [listing.findings[name] for name in ("lines", "lines_malformed", "captures")]
            assert (name, *found) == (name, lines, 0, captures)

    def test_cdx_and_cdxj_of_one_index_agree(self, files, shared_data):
        for element in ("url", "host", "domain"):
            one, other = (
                read(files, str(shared_data / "cdx" / f"pywb_iana.{form}"), element=element)[1]
                for form in ("cdx", "cdxj")
            )
            assert one == other

    def test_jobs_of_netarkivet_are_crawls(self, files, shared_data):
        listing, _ = read(
            files,
            str(shared_data / "cdx" / "netarkivet_jobs-2-4-70.cdx"),
            crawl_from="warc",
            warc_pattern="^[0-9]+-[0-9]+",
        )
        assert {crawl.dated_by for crawl in listing.crawls} == {"first_capture"}
        assert len(listing.crawls) > 1


ANY_LINE = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{} {} {}".format, st.text(max_size=9), st.from_regex("[0-9]{3,18}", fullmatch=True), st.text(max_size=30)
    ),
    st.sampled_from([*legend_lines(FULL).splitlines(), *cdxj_lines().splitlines(), LEGEND, legend_lines("a b")]),
)


@pytest.mark.slow
@settings(max_examples=150)
@given(lines=st.lists(ANY_LINE, max_size=8), element=st.sampled_from(["url", "url_as_written", "host", "domain"]))
def test_any_text_gives_captures_or_a_source_error(files, write, lines, element):
    path = write("2014", "\n".join(lines).encode("utf-8", "surrogatepass"))
    source = CdxSource(path=path, element=element, max_malformed=1.0)
    try:
        listing = source.list_crawls(files, ALL_CRAWLS)
    except SourceError:
        return
    assert listing.findings["captures"] == sum(listing.captures.values())
    for _, found in captures_of(source, files, labels_of(listing)):
        assert found


def test_converted_files_have_present_captures_only(files, write):
    read(files, write("index.cdx", FORMS["legend of 11"]))
    (converted,) = converted_files(files)
    assert pq.read_table(converted)["element"].to_pylist() == [KEYS[0], KEYS[2], KEYS[3]]
