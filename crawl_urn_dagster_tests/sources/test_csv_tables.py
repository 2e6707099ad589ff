"""Test small tables as text: dialects, encodings, numbers, and errors."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.sources.csv_tables import Row, parse_count, read_header, read_rows
from crawl_urn_dagster_tests.sources.conftest import gz


@pytest.fixture
def local(files, write):
    """Return a function that writes and fetches a file."""
    return lambda content, name="table.csv": files.fetch(write(name, content))


def cells(local_file, columns=None):
    return [dict(row.cells) for row in read_rows(local_file, columns)[1]]


@pytest.mark.parametrize(
    "content",
    [
        b"crawl,union\na,1\nb,2\n",
        b"crawl,union\r\na,1\r\nb,2\r\n",
        b"\xef\xbb\xbfcrawl,union\na,1\n\nb,2",
        b'\xef\xbb\xbf"crawl","union"\r\n"a","1"\r\n\r\nb,2\r\n',
        gz(b"crawl,union\na,1\nb,2\n"),
        gz(b"crawl,union\na,1\n") + gz(b"b,2\n"),
        gz(b"\xef\xbb\xbfcrawl,union\na,1\nb,2\n"),
    ],
)
def test_every_dialect_gives_the_same_rows(local, content):
    assert cells(local(content)) == [{"crawl": "a", "union": "1"}, {"crawl": "b", "union": "2"}]


def test_columns_are_found_by_their_name_in_the_file(local):
    table = local("x,how many\nignored,7\n")
    assert cells(table, {"union": "how many"}) == [{"union": "7"}]


def test_rows_have_their_line(local):
    _, rows = read_rows(local('crawl,note\n\na,"two\nlines"\nb,x\n'))
    assert [row.where.rsplit(", ", 1)[1] for row in rows] == ["line 4", "line 5"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"table\.csv: is empty; expected CSV with a line of column names"),
        ("crawl,unions\n", r"has no column 'union' \(union\); did you mean 'unions'\? .*: crawl, unions"),
        ("union,union\n", r"has 2 columns 'union', expected one"),
        ("crawl,union\na,1\nb\n", r"table\.csv, line 3: has 1 cells, expected 2"),
        ("crawl,union\na,1,2\n", r"line 2: has 3 cells, expected 2"),
        ('crawl,union\na,"1"2\n', r"line 2: is not CSV"),
        ('crawl,union\na,"1\n', r"is not CSV"),
        (b"crawl,union\n\xe9,1\n", r"is not UTF-8 text"),
        (gz(b"crawl,union\n" * 99)[:-12], r"is damaged gzip"),
        (gz(b"crawl,union\n")[:5] + b"garbage", r"is damaged gzip"),
        (b"PAR1\x15\x04\xff\xfe", r"is a Parquet file, expected text"),
        ("<?xml version='1.0'?>", r"is a web page or XML"),
    ],
)
def test_other_files_are_errors(local, content, message):
    with pytest.raises(SourceError, match=message):
        read_rows(local(content), {"union": "union"})


def test_header_of_a_long_file_is_read_on_its_own(local):
    assert read_header(local("crawl,element\n" + "a,b\n" * 100_000)) == ["crawl", "element"]


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(TEXT, TEXT), max_size=5))
def test_any_text_survives_a_round_trip(local, rows):
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("crawl", "union"), *rows])
    assert cells(local(written.getvalue())) == [{"crawl": crawl, "union": union} for crawl, union in rows]


class TestCounts:
    @staticmethod
    def parse(text, **kinds):
        return parse_count(Row("t.csv, line 2", {"union": text}), "union", **{"estimated": False, **kinds})

    @pytest.mark.parametrize(
        ("text", "value"),
        [("0", 0), (" 12 ", 12), ("12.0", 12), ("1e3", 1000), (str(2**63 - 1), 2**63 - 1), ("-0", 0)],
    )
    def test_whole_numbers_are_parsed(self, text, value):
        assert self.parse(text) == value

    @pytest.mark.parametrize("text", ["nan", "NaN", " nan"])
    def test_nan_gives_no_count(self, text):
        assert self.parse(text) is None

    def test_estimates_are_rounded_and_may_be_negative(self):
        assert self.parse("12.6", estimated=True) == 13
        assert self.parse("-12.6", estimated=True, negative=True) == -13

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "x",
            "1_000",
            "1,000",
            "inf",
            "-inf",
            "0x10",
            "١٢",
            "1e999",
            "1e99999",
            "--1",
            "-1",
            str(2**63),
            "9" * 5000,
        ],
    )
    def test_other_text_is_an_error(self, text):
        with pytest.raises(SourceError, match=r"t\.csv, line 2, union: found .*, expected a count of at least 0"):
            self.parse(text)

    def test_fractional_exact_count_is_an_error(self):
        with pytest.raises(SourceError, match=r"found 12\.5, expected a whole number; .* set relative_error"):
            self.parse("12.5")

    @given(value=st.integers(0, 2**63 - 1))
    def test_integers_are_exact(self, value):
        assert self.parse(str(value)) == value
