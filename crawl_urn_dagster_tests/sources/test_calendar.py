"""Test calendars, dates in labels, and the selection of crawls."""

# ruff: noqa: DTZ001 - dates of crawls are UTC without a zone

import json
import string
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_urn_dagster.sources import Selection, SourceError
from crawl_urn_dagster.sources.calendar import (
    check_label,
    check_starts,
    crawls_frame,
    date_crawls,
    parse_date,
    read_calendar,
    select_crawls,
)


class TestDates:
    @pytest.mark.parametrize(
        ("text", "date"),
        [
            ("2024-05", datetime(2024, 5, 1)),
            ("2024-05-31", datetime(2024, 5, 31)),
            ("2024-05-31T12:30", datetime(2024, 5, 31, 12, 30)),
            ("2024-05-31 12:30:15", datetime(2024, 5, 31, 12, 30, 15)),
            ("2024-05-31T12:30:15.123Z", datetime(2024, 5, 31, 12, 30, 15)),
            ("2024-05-31T23:30:00-02:00", datetime(2024, 6, 1, 1, 30)),
            ("2024-05-31 23:30:00-02", datetime(2024, 6, 1, 1, 30)),
            ("2024-05-31 23:30:00-0230", datetime(2024, 6, 1, 2, 0)),
            ("2024", datetime(2024, 1, 1)),
            ("202405", datetime(2024, 5, 1)),
            ("20240531", datetime(2024, 5, 31)),
            ("2024053112", datetime(2024, 5, 31, 12)),
            ("202405311230", datetime(2024, 5, 31, 12, 30)),
            ("20240531123015", datetime(2024, 5, 31, 12, 30, 15)),
        ],
    )
    def test_every_form_is_parsed(self, text, date):
        assert parse_date(text) == date

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "CC-MAIN-2024-05",
            "2024-13",
            "2024-02-30",
            "2024-5-1",
            "2008-2009",
            "20241301000000",
            "20240230",
            "1001",
            "123456",
            "0000-01-01",
            "2024-05-31T",
            "2024-05-31T25:00",
            "2024-W05-1",
            "٢٠٢٤",
            " 2024-05",
        ],
    )
    def test_other_text_gives_none(self, text):
        assert parse_date(text) is None

    @given(
        date=st.datetimes(datetime(1990, 1, 2), datetime(2099, 12, 30)).map(lambda d: d.replace(microsecond=0)),
        hours=st.integers(-12, 12),
    )
    def test_dates_survive_a_round_trip(self, date, hours):
        assert parse_date(date.isoformat()) == date
        assert parse_date(f"{date:%Y%m%d%H%M%S}") == date
        assert parse_date(f"{date.isoformat()}{hours:+03d}:00") == date - timedelta(hours=hours)


class TestLabels:
    @given(
        label=st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._:+ -]{0,62}[A-Za-z0-9._:+-])?", fullmatch=True).filter(
            lambda text: "..." not in text
        )
    )
    def test_valid_labels_are_returned(self, label):
        assert check_label(label, "here") == label

    @given(
        label=st.text(min_size=1, max_size=20).filter(
            lambda text: not set(text) <= set(string.ascii_letters + string.digits + "._:+- ")
        )
    )
    def test_any_other_character_is_an_error(self, label):
        with pytest.raises(SourceError, match="here: found the crawl label"):
            check_label(label, "here")

    @pytest.mark.parametrize(
        "label",
        [
            "",
            " a",
            "a ",
            "..",
            ".",
            "../a",
            "a/b",
            "-rf",
            "+1",
            "a" * 65,
            "2024...2025",
            "a\n",
            "a\0b",
            "é",
            "<b>",
            "a;b",
            "{a}",
            "'",
        ],
    )
    def test_hostile_labels_are_errors(self, label):
        with pytest.raises(SourceError, match=r"starting with a letter or digit"):
            check_label(label, "here")


class TestCalendar:
    def read(self, files, write, content):
        return read_calendar(files.fetch(write("crawls", content)))

    def test_csv_is_read(self, files, write):
        assert self.read(files, write, "id,name,from,to\nb,,2024-02-01,\na,x,2024-01-01T01:02:03,\nc,,,\n") == {
            "a": datetime(2024, 1, 1, 1, 2, 3),
            "b": datetime(2024, 2, 1),
        }

    def test_collinfo_is_read(self, files, write):
        content = json.dumps([{"id": "b", "from": "2024-02-01T00:00:00", "name": "B"}, {"id": "a"}])
        assert self.read(files, write, content) == {"b": datetime(2024, 2, 1)}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("id,start\n", r"has no column 'from'"),
            ("id,from\na,soon\n", r"line 2, from: found 'soon', expected a date such as 2024-05"),
            (
                "id,from\na,2024-01-01\na,2024-01-02\n",
                r"line 3: a starts 2024-01-02.*, but 2024-01-01.*keep one",
            ),
            ("id,from\na/b,2024-01-01\n", r"line 2: found the crawl label 'a/b'"),
            ("[{", r"is not JSON"),
            ("[" * 100_000, r"is not JSON"),
            ('{"id": "a"}', r"expected an array of objects"),
            ("[1]", r"entry 0: found 1, expected an object with id and from"),
            ('[{"id": 5}]', r"entry 0: found .*'id': 5"),
            ('[{"id": "a", "from": 20240101}]', r"entry 0, from: found 20240101, expected a date in quotes"),
            ('[{"id": "a", "from": "x"}]', r"entry 0, from: found 'x', expected a date"),
            ("<html>", r"is a web page"),
        ],
    )
    def test_other_files_are_errors(self, files, write, content, message):
        with pytest.raises(SourceError, match=message):
            self.read(files, write, content)

    def test_both_real_calendars_agree(self, files, shared_data):
        listed = read_calendar(files.fetch(str(shared_data / "collinfo.json")))
        copied = read_calendar(files.fetch(str(shared_data / "crawls.csv")))
        assert len(copied) == 128
        assert len(listed) == len(listed.keys() & copied.keys()) > 100
        # The copy has dates without times for the latest crawls.
        assert {crawl: date.date() for crawl, date in listed.items()} == {
            crawl: copied[crawl].date() for crawl in listed
        }


class TestDating:
    def test_dates_have_an_order_of_precedence(self):
        labels = ["2024-03", "CC-MAIN-2024-10", "CC-MAIN-2024-18", "2024-07-04"]
        crawls = date_crawls(
            labels,
            where="here",
            calendar={"CC-MAIN-2024-10": datetime(2024, 2, 20), "2024-03": datetime(2024, 3, 9)},
            table_dates={"2024-03": datetime(2024, 3, 5)},
        )
        assert [(crawl.crawl, crawl.started_at, crawl.dated_by) for crawl in crawls] == [
            ("CC-MAIN-2024-10", datetime(2024, 2, 20), "calendar"),
            ("2024-03", datetime(2024, 3, 5), "table"),
            ("CC-MAIN-2024-18", datetime(2024, 4, 29), "iso_week"),
            ("2024-07-04", datetime(2024, 7, 4), "label"),
        ]

    def test_iso_week_starts_on_monday(self, files, shared_data):
        """The calendar copy gives the Monday of every id that has a week."""
        rows = (shared_data / "crawls.csv").read_text().splitlines()[1:]
        mondays = {row.split(",")[0]: row.split(",")[-1] for row in rows if not row.endswith(",")}
        crawls = date_crawls(mondays, where="here")
        assert len(crawls) == 125
        assert {crawl.crawl: f"{crawl.started_at:%Y-%m-%d}" for crawl in crawls} == mondays

    @pytest.mark.parametrize("label", ["spring", "CC-MAIN-2012", "CC-MAIN-2024-60", "CC-MAIN-2024-00"])
    def test_undatable_label_is_an_error_with_a_remedy(self, label):
        with pytest.raises(SourceError, match=rf"here: crawl '{label}' cannot be dated.*set `calendar`"):
            date_crawls([label], where="here")

    def test_misspelt_label_gets_the_closest_of_the_calendar(self):
        with pytest.raises(SourceError, match=r"'sprng' cannot be dated.*did you mean 'spring'\?"):
            date_crawls(["sprng"], where="here", calendar={"spring": datetime(2024, 3, 1)})


class TestSelection:
    CRAWLS = date_crawls(["2024-01", "2024-02", "2024-03", "2024-04"], where="here")

    @pytest.mark.parametrize(
        ("first", "last", "months"),
        [
            (None, None, "1234"),
            ("2024-02", None, "234"),
            (None, "2024-02", "12"),
            ("2024-02", "2024-03", "23"),
        ],
    )
    def test_both_ends_are_included(self, first, last, months):
        run = select_crawls(self.CRAWLS, Selection(first, last), "here")
        assert "".join(str(crawl.started_at.month) for crawl in run) == months

    @pytest.mark.parametrize(
        ("selection", "message"),
        [
            (
                Selection(first_crawl="2024-1"),
                r"first_crawl '2024-1' is not among the crawls; did you mean '2024-01'",
            ),
            (Selection(last_crawl="2025-01"), r"last_crawl '2025-01' is not among"),
            (Selection("2024-03", "2024-02"), r"first_crawl 2024-03 is later than last_crawl 2024-02"),
        ],
    )
    def test_impossible_selection_is_an_error(self, selection, message):
        with pytest.raises(SourceError, match=message):
            select_crawls(self.CRAWLS, selection, "here")

    def test_frame_has_nullable_sizes(self):
        frame = crawls_frame(self.CRAWLS[:2], {"2024-02": 2**62})
        assert list(frame.columns) == ["crawl", "started_at", "dated_by", "elements"]
        assert frame["started_at"].dtype == "datetime64[us]"
        assert frame["elements"].dtype == "Int64"
        assert frame["elements"].isna().tolist() == [True, False]
        assert frame["elements"].iloc[1] == 2**62


class TestStarts:
    def test_crawl_in_the_future_is_an_error(self):
        crawls = date_crawls(["2024-01", "2087-05"], where="list")
        with pytest.raises(SourceError, match=r"list: crawl '2087-05' starts 2087-05-01 .*, which is in the future"):
            check_starts(crawls, "list")

    def test_labels_of_one_date_are_an_error_that_names_them(self):
        crawls = date_crawls(["2024-01", "2024-01-01", "202401", "2024-02"], where="list")
        with pytest.raises(SourceError, match="list: crawls '2024-01' and '2024-01-01' both start 2024-01-01"):
            check_starts(crawls, "list")
