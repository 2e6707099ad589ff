"""Test presence lists in CSV and Parquet."""

import csv
import gzip
import io
import json

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from crawl_urn_dagster.sources import PresenceListSource, Selection, SourceError, StratumColumn
from crawl_urn_dagster.sources.formats.presence_list import MAX_CRAWLS
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, REAL_DATA, gz, labels_of, reply
from crawl_urn_dagster_tests.sources.formats.conftest import converted_files

CAPTURES = [("2024-01", "a"), ("2024-01", "b"), ("2024-02", "b")]
LIST = "crawl,element\n2024-01,a\n2024-01,b\n2024-02,b\n"


def source(path, **settings):
    return PresenceListSource(path=path, **settings)


def parquet(path, select):
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return str(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", LIST),
        ("a.csv", LIST.replace("\n", "\r\n")),
        ("a.csv", b"\xef\xbb\xbf" + LIST.encode()),
        ("a.csv", '\ufeff"crawl","element"\r\n"2024-01","a"\r\n\r\n2024-01,b\r\n2024-02,"b"'),
        ("a.csv", "x,element,crawl,y\n1,a,2024-01,\n,b,2024-01,2\n3,b,2024-02,\n"),
        ("a.csv.gz", gz(LIST.encode())),
        ("named without ending", gz(LIST[:24].encode()) + gz(LIST[24:].encode())),
    ],
)
def test_csv_dialects(read, write, name, content):
    listing, captures = read(source(write(name, content)))
    assert captures == CAPTURES
    assert listing.captures == {"2024-01": 2, "2024-02": 1}
    assert [(crawl.crawl, crawl.dated_by) for crawl in listing.crawls] == [("2024-01", "label"), ("2024-02", "label")]


def test_columns_may_have_any_name(read, write):
    hostile = 'x" FROM x; DROP TABLE y; --'
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["crawl", hostile, "{element}"], *(("no", *row) for row in CAPTURES)])
    configured = source(write("a.csv", text.getvalue()), crawl_column=hostile, element_column="{element}")
    assert read(configured)[1] == CAPTURES


def test_column_names_are_case_sensitive(read, write):
    path = write("a.csv", "CRAWL,crawl,Element,element\nx,2024-01,x,a\nx,2024-01,x,b\nx,2024-02,x,b\n")
    assert read(source(path))[1] == CAPTURES


RANKED = "crawl,element,rank\n2024-01,a,7\n2024-01,b,\n2024-02,b, 12 \n"


def with_stratum(path, *, ranks=True):
    return source(path).with_stratum(StratumColumn("rank", ranks=ranks))


@pytest.mark.parametrize("as_parquet", [False, True])
def test_captures_have_their_stratum(files, write, as_parquet):
    path = write("a.csv", RANKED)
    if as_parquet:
        path = parquet(f"{path}.parquet", f"SELECT crawl, element, rank::INTEGER AS rank FROM '{path}'")
    ranked = with_stratum(path)
    found = [
        (some.crawl, element, None if pd.isna(value) else value)
        for some in ranked.captures(files, ["2024-01", "2024-02"])
        for element, value in zip(some.elements, some.strata if len(some.elements) else [], strict=True)
    ]
    assert found == [("2024-01", "a", "7"), ("2024-01", "b", None), ("2024-02", "b", "12")]
    assert all(some.strata is None for some in source(path).captures(files, ["2024-01"]))
    revisions = [one.list_crawls(files, ALL_CRAWLS).revisions for one in (ranked, source(path), with_stratum(path))]
    assert revisions[0] == revisions[2] != revisions[1]


@pytest.mark.parametrize(
    ("value", "ranks", "expected"),
    [
        *((value, True, "a whole number from 1") for value in ("0", "-3", "1.5", "x", "nan", "inf", "1e300")),
        *((value, False, "1 to 64 letters") for value in ("a|b", "<b>", "x" * 65, "=1")),
    ],
)
def test_invalid_stratum_is_an_error(files, write, value, ranks, expected):
    path = write("a.csv", f"{RANKED}2024-02,c,{value}\n")
    with pytest.raises(SourceError, match=rf"a.csv, data row 4: found the stratum .*, expected {expected}"):
        with_stratum(path, ranks=ranks).list_crawls(files, ALL_CRAWLS)


def test_longest_stratum_is_accepted(files, write):
    path = write("a.csv", f"{RANKED}2024-02,c,{'ж' * 64}\n")
    assert with_stratum(path, ranks=False).list_crawls(files, ALL_CRAWLS).captures == {"2024-01": 2, "2024-02": 2}


def test_missing_stratum_column_is_an_error(files, write):
    with pytest.raises(SourceError, match=r"a.csv: has no column 'rank' \(stratum\)"):
        with_stratum(write("a.csv", LIST)).list_crawls(files, ALL_CRAWLS)


def test_repeated_captures_are_kept(read, write):
    listing, captures = read(source(write("a.csv", LIST + "2024-02,b\n2024-02,b\n")))
    assert captures == [*CAPTURES, ("2024-02", "b"), ("2024-02", "b")]
    assert listing.captures == {"2024-01": 2, "2024-02": 3}


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=12)


@settings(max_examples=10)
@given(
    elements=st.lists(
        TEXT.filter(lambda text: text.strip(" ").lower() not in {"", "nan", "null", "<na>", r"\n"}),
        min_size=1,
        max_size=40,
    )
)
def test_any_element_survives_a_round_trip(read, write, elements):
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([("crawl", "element"), *(("2024-01", element) for element in elements)])
    _, captures = read(source(write("a.csv", text.getvalue())))
    assert captures == sorted(("2024-01", element) for element in elements)


class TestParquet:
    def test_text_columns(self, read, tmp_path):
        rows = ", ".join(f"('{crawl}', '{element}')" for crawl, element in CAPTURES)
        path = parquet(tmp_path / "a.parquet", f"SELECT * FROM (VALUES {rows}) AS t(crawl, element)")
        assert read(source(path))[1] == CAPTURES

    def test_dates_and_bytes_become_text(self, read, tmp_path):
        path = parquet(
            tmp_path / "a.parquet",
            'SELECT DATE \'2024-01-05\' AS "Fetch ""day""", \'\\xC3\\xBC\'::BLOB AS url, 1 AS url2',
        )
        configured = source(path, crawl_column='Fetch "day"', element_column="url")
        assert read(configured)[1] == [("2024-01-05", "ü")]

    def test_hive_partition_is_not_a_column(self, files, tmp_path):
        (tmp_path / "crawl=2024-01").mkdir()
        path = parquet(tmp_path / "crawl=2024-01" / "a.parquet", "SELECT 'a' AS element")
        with pytest.raises(SourceError, match="has no column 'crawl'"):
            source(path).list_crawls(files, ALL_CRAWLS)

    def test_missing_column_and_damage_are_named(self, files, tmp_path, write):
        path = parquet(tmp_path / "a.parquet", "SELECT '2024-01' AS crawl, 'a' AS elements")
        with pytest.raises(SourceError, match=r"a\.parquet: has no column 'element'.*did you mean 'elements'"):
            source(path).list_crawls(files, ALL_CRAWLS)
        with pytest.raises(SourceError, match=r"b\.parquet: cannot be read: "):
            source(write("b.parquet", b"PAR1" + b"x" * 40)).list_crawls(files, ALL_CRAWLS)


class TestOneFilePerCrawl:
    def test_star_matches_the_label(self, read, write, tmp_path):
        write("lists/hosts_2024-01.csv", "element\na\nb\n")
        write("lists/hosts_2024-02.csv", "element\nb\n")
        listing, captures = read(source(f"{tmp_path}/./lists//hosts_*.csv"))
        assert captures == CAPTURES
        assert [file.location.rsplit("_", 1)[1] for file in listing.inputs] == ["2024-01.csv", "2024-02.csv"]

    @pytest.mark.parametrize("of", ["lists", "lists/", "lists/*", "lists/*.gz", "lists/*.csv.gz"])
    def test_label_has_no_extension(self, read, write, tmp_path, of):
        write("lists/2024-01.csv.gz", gz(b"element\na\nb\n"))
        write("lists/2024-02.csv.gz", gz(b"element\nb\n"))
        assert read(source(f"{tmp_path}/{of}"))[1] == CAPTURES

    def test_star_may_match_a_folder(self, read, tmp_path):
        for crawl in ("2024-01", "2024-02"):
            (tmp_path / f"crawl={crawl}").mkdir()
            elements = [element for label, element in CAPTURES if label == crawl]
            parquet(tmp_path / f"crawl={crawl}" / "a.parquet", f"SELECT unnest({elements}) AS element")
        assert read(source(f"{tmp_path}/crawl=*/a.parquet"))[1] == CAPTURES

    def test_crawl_column_has_precedence_over_the_name(self, read, write, tmp_path):
        write("lists/first.csv", "crawl,element\n2024-01,a\n2024-01,b\n")
        write("lists/second.csv", "crawl,element\n2024-02,b\n")
        assert read(source(f"{tmp_path}/lists/*.csv"))[1] == CAPTURES

    def test_missing_configured_column_is_an_error(self, files, write, tmp_path):
        write("lists/2024-01.csv", "element\na\n")
        with pytest.raises(SourceError, match=r"2024-01\.csv: has no column 'snapshot'"):
            source(f"{tmp_path}/lists/*.csv", crawl_column="snapshot").list_crawls(files, ALL_CRAWLS)

    @pytest.mark.parametrize("pattern", ["lists/*/*.csv", "lists/?/a.csv", "**/a.csv"])
    def test_pattern_must_have_one_star(self, files, write, tmp_path, pattern):
        write("lists/a/a.csv", "element\na\n")
        with pytest.raises(SourceError, match=r"does not have exactly one \*; set crawl_column"):
            source(f"{tmp_path}/{pattern}").list_crawls(files, ALL_CRAWLS)

    def test_label_in_a_name_is_checked(self, files, write, tmp_path):
        write("lists/2024-01(1).csv", "element\na\n")
        with pytest.raises(SourceError, match=r"found the crawl label '2024-01\(1\)'"):
            source(f"{tmp_path}/lists/*.csv").list_crawls(files, ALL_CRAWLS)

    def test_one_file_without_labels_is_an_error(self, files, write):
        with pytest.raises(SourceError, match=r"2024-01\.csv: has no column 'crawl' .*: element"):
            source(write("2024-01.csv", "element\na\n")).list_crawls(files, ALL_CRAWLS)


def test_list_is_read_from_a_server(read, server):
    server.answers["/list?format=csv"] = lambda handler: reply(handler, gz(LIST.encode()))
    configured = source(server.url("/list?format=csv"))
    listing, captures = read(configured)
    assert captures == CAPTURES
    assert listing.inputs[0].location == server.url("/list?format=csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"is empty"),
        ("crawl,element\n", r"has a header but no rows"),
        ("crawl,elements\n2024-01,a\n", r"has no column 'element' \(element\); did you mean 'elements'"),
        ("crawl;element\n2024-01;a\n", r"its columns are separated by ';', expected ','"),
        ("crawl\telement\n2024-01\ta\n", r"its columns are separated by '\\t', expected ','"),
        ("crawl,element,element\n2024-01,a,b\n", r"has 2 columns 'element'"),
        ("crawl,element\n2024-01,a\n2024-01,\n", r"data row 2: found no element \(crawl 2024-01\)"),
        ("crawl,element\n2024-01,a\n2024-01,'  '\n".replace("'", '"'), r"data row 2: found no element"),
        ("crawl,element\n2024-01,a\n,b\n", r"data row 2: found the crawl label ''"),
        ("crawl,element\n2024-01,a\n../x,b\n", r"data row 2: found the crawl label '\.\./x'.* digit$"),
        ("crawl,element\n2024...,a\n", r"data row 1: found the crawl label '2024\.\.\.'.*not three dots in a row"),
        ("crawl,element\n2024-01,a\nspring,b\n", r"crawl 'spring' cannot be dated"),
        (
            "crawl,element\n2024-01,a\n2024-01\n",
            r"cannot be read: .*Line: 3.*Expected Number of Columns: 2 Found: 1",
        ),
        ("crawl,element\n2024-01,a,b\n", r"cannot be read: .*Line: 2"),
        ('crawl,element\n2024-01,"a\n', r"cannot be read: .*unterminated quote"),
        (
            b"crawl,element\n" + b"2024-01,a\n" * 9000 + b"2024-01,\xe9",
            r"cannot be read: .*Line: 9002.*not utf-8",
        ),
        (b"cr\xe9,element\n", r"is not UTF-8 text"),
        ("<!DOCTYPE html><html></html>", r"is a web page"),
        (gz(b"crawl,element\n" + b"2024-01,a\n" * 50_000)[:-200], r"is damaged gzip"),
        (b"\x1f\x8bgarbage", r"is damaged gzip"),
    ],
)
def test_other_files_are_errors_and_leave_no_file(files, write, content, message):
    with pytest.raises(SourceError, match=rf"list: {message}|list, {message}"):
        source(write("list", content)).list_crawls(files, ALL_CRAWLS)
    if "cannot be dated" not in message:
        assert converted_files(files) == []
    assert list(files.cache.rglob("*.partial")) == []


def test_column_with_too_many_crawls_is_an_error(files, write):
    rows = "".join(f"host{number},2024-01\n" for number in range(MAX_CRAWLS + 1))
    with pytest.raises(
        SourceError, match=r"has more than 10,000 crawls \('host0', 'host1', \.\.\.\); check the setting"
    ):
        source(write("a.csv", f"crawl,element\n{rows}")).list_crawls(files, ALL_CRAWLS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"crawl_column": "element"}, "both 'element'"),
        ({"element_column": ""}, "at least 1 character"),
        ({"relative_error": 0.1}, "Extra inputs"),
    ],
)
def test_configuration_is_checked(settings, message):
    with pytest.raises(ValidationError, match=message):
        source("a.csv", **settings)


class TestRealLists:
    @pytest.mark.parametrize("name", ["us_gov_hosts", "cc_webgraph_top1000"])
    def test_crawls_and_sizes_equal_the_reference(self, read, shared_data, shared_reference, name):
        path = shared_data / "presence" / f"{name}.csv.gz"
        reference = json.loads((shared_reference / f"{name}.json").read_text())
        listing, captures = read(source(str(path), crawl_column="snapshot"))
        assert labels_of(listing) == reference["crawls"]
        assert list(listing.captures.values()) == reference["sizes"]
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            assert captures == sorted((row["snapshot"], row["element"]) for row in csv.DictReader(file))

    def test_ranked_list_has_the_same_domains(self, read, shared_data):
        folder = shared_data / "presence"
        ranked = source(
            str(folder / "cc_webgraph_top1000_ranks.csv.gz"), crawl_column="snapshot", element_column="domain"
        )
        plain = source(str(folder / "cc_webgraph_top1000.csv.gz"), crawl_column="snapshot")
        last = Selection(first_crawl="2026-01-01")
        assert read(ranked, last)[1] == read(plain, last)[1]

    def test_one_file_per_crawl_gives_the_same_captures(self, read, shared_data, write, tmp_path):
        path = shared_data / "presence" / "us_gov_hosts.csv.gz"
        by_crawl = {}
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                by_crawl.setdefault(row["snapshot"], ["element"]).append(row["element"])
        crawls = sorted(by_crawl)[:4]
        for crawl in crawls:
            write(f"lists/hosts-{crawl}.csv.gz", gz("\n".join(by_crawl[crawl]).encode()))
        split = read(source(f"{tmp_path}/lists/hosts-*.csv.gz"))
        whole = read(source(str(path), crawl_column="snapshot"), Selection(last_crawl=crawls[-1]))
        assert split[1] == whole[1]
        assert split[0].crawls == whole[0].crawls


def test_excerpt_of_real_hosts_has_its_crawls_and_captures(read):
    """The hosts below hud.gov, nps.gov and weather.gov in 39 lists of United States government hosts."""
    listing, captures = read(source(str(REAL_DATA / "us_gov_hosts_excerpt.csv.gz"), crawl_column="snapshot"))
    with gzip.open(REAL_DATA / "us_gov_hosts_excerpt.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = sorted((row["snapshot"], row["element"]) for row in csv.DictReader(file))
    assert captures == rows
    assert len(listing.crawls) == 39
    assert sum(listing.captures.values()) == len(rows) == 1741
    assert len({element for _, element in captures}) == 78
