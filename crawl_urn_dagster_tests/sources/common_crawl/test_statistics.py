"""Test Common Crawl's published tables of windows and of counts."""

import csv

import pytest

from crawl_urn_dagster.sources import CommonCrawlStatisticsSource, Selection, SourceError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, REAL_DATA, labels_of


def source(windows, calendar=None, relative_error=0.0, **settings):
    return CommonCrawlStatisticsSource(windows=windows, calendar=calendar, relative_error=relative_error, **settings)


def windows_of(tables):
    return {
        (row.start_crawl, row.end_crawl): (row.window_crawls, row.distinct_elements)
        for row in tables.windows.itertuples()
    }


TABLE = "crawl,1,12,2,3\n2024-02,20,nan,25,nan\n2024-01,10,nan,nan,NaN\n2024-03,30,nan,45,50\n"


def test_window_ends_at_its_crawl(files, write):
    tables = source(write("t.csv", TABLE)).read_tables(files, ALL_CRAWLS)
    assert windows_of(tables) == {
        ("2024-01", "2024-01"): (1, 10),
        ("2024-02", "2024-02"): (1, 20),
        ("2024-03", "2024-03"): (1, 30),
        ("2024-01", "2024-02"): (2, 25),
        ("2024-02", "2024-03"): (2, 45),
        ("2024-01", "2024-03"): (3, 50),
    }
    assert tables.crawls["crawl"].tolist() == ["2024-01", "2024-02", "2024-03"]
    assert tables.crawls["elements"].tolist() == [10, 20, 30]
    assert tables.pairs is None
    assert list(tables.windows.columns) == ["start_crawl", "end_crawl", "window_crawls", "distinct_elements"]
    assert tables.windows.dtypes[["window_crawls", "distinct_elements"]].tolist() == ["int64", "int64"]


def test_calendar_gives_the_order(files, write):
    calendar = write("crawls.csv", "id,from\n2024-02,2023-01-01\n2024-01,2023-02-01\n2024-03,2023-03-01\n")
    table = write("t.csv", "crawl,1,2\n2024-01,10,25\n2024-02,20,nan\n2024-03,30,45\n")
    tables = source(table, calendar).read_tables(files, ALL_CRAWLS)
    assert windows_of(tables)["2024-02", "2024-01"] == (2, 25)
    assert windows_of(tables)["2024-01", "2024-03"] == (2, 45)


def test_windows_lie_within_the_selection(files, write):
    tables = source(write("t.csv", TABLE)).read_tables(files, Selection(first_crawl="2024-02"))
    assert windows_of(tables).keys() == {
        ("2024-02", "2024-02"),
        ("2024-03", "2024-03"),
        ("2024-02", "2024-03"),
    }


def test_unpublished_size_is_unknown(files, write):
    tables = source(write("t.csv", "crawl,1,2\n2024-01,nan,nan\n2024-02,20,25\n")).read_tables(files, ALL_CRAWLS)
    assert tables.crawls["elements"].isna().tolist() == [True, False]


def test_frame_without_windows_has_its_types(files, write):
    table = write("t.csv", "crawl,2\n2024-01,nan\n2024-02,5\n")
    tables = source(table).read_tables(files, Selection(first_crawl="2024-02"))
    assert len(tables.windows) == 0
    assert tables.windows["distinct_elements"].dtype == "int64"


def test_estimates_are_rounded(files, write):
    table = write("t.csv", "crawl,1\n2024-01,10.7\n")
    assert source(table, relative_error=0.01).read_tables(files, ALL_CRAWLS).crawls["elements"].tolist() == [11]


def test_listing_has_crawls_and_both_files(files, write):
    table, calendar = write("t.csv", TABLE), write("c.csv", "id,from\n")
    listing = source(table, calendar).list_crawls(files, Selection(last_crawl="2024-02"))
    assert labels_of(listing) == ["2024-01", "2024-02"]
    assert [file.location for file in listing.inputs] == [table, calendar]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("crawl,1\n2024-01,10\n2024-01,10\n", r"line 3: 2024-01 occurs twice, first at .*line 2"),
        ("crawl,1\nspring,10\n", r"crawl 'spring' cannot be dated"),
        ("crawl,1\n../x,10\n", r"line 2: found the crawl label '\.\./x'"),
        (
            "crawl,1,2\n2024-01,10,15\n",
            r"line 2, 2: 2024-01 is crawl number 1 .* no window of 2 crawls ends there",
        ),
        ("crawl,1\n2024-01,-1\n", r"line 2, 1: found -1, expected a count of at least 0"),
        ("crawl,1\n2024-01,10.5\n", r"line 2, 1: found 10.5, expected a whole number"),
        ("crawl,1\n2024-01,\n", r"line 2, 1: found '', expected .* or nan where it is not published"),
        ("crawl\n2024-01\n", r"has columns \['crawl'\], expected 'crawl', then numbers of crawls"),
        ("crawl,url\n2024-01,1\n", r"expected 'crawl', then numbers of crawls"),
        ("crawl,0\n2024-01,1\n", r"then numbers of crawls"),
        ("crawl,2,02\n2024-01,1,1\n", r"then numbers of crawls, each once"),
        ("id,1\n2024-01,1\n", r"has columns \['id', '1'\], expected 'crawl' first"),
        ("<!DOCTYPE html>\n", r"is a web page"),
        ("crawl,1,2\n", r"has no crawl"),
    ],
)
def test_other_tables_are_errors(files, write, content, message):
    with pytest.raises(SourceError, match=message):
        source(write("t.csv", content)).read_tables(files, ALL_CRAWLS)


def test_unknown_crawl_gets_the_closest_label(files, write):
    with pytest.raises(SourceError, match=r"last_crawl '2024-3' .* did you mean '2024-03'"):
        source(write("t.csv", TABLE)).list_crawls(files, Selection(last_crawl="2024-3"))


@pytest.mark.parametrize("calendar", ["crawls.csv", "collinfo.json"])
@pytest.mark.parametrize("table", ["url_last_n_crawls.csv", "url_last_n_crawls.older.csv"])
def test_real_tables_are_read_completely(files, shared_data, table, calendar):
    path = shared_data / "common_crawl_statistics" / table
    tables = source(str(path), str(shared_data / calendar), relative_error=0.008).read_tables(files, ALL_CRAWLS)
    with path.open(newline="") as file:
        rows = {row.pop("crawl"): row for row in csv.DictReader(file)}
    assert set(tables.crawls["crawl"]) == set(rows)
    assert tables.crawls["started_at"].is_monotonic_increasing
    published = {
        (crawl, int(length), int(value))
        for crawl, row in rows.items()
        for length, value in row.items()
        if value != "nan"
    }
    read = set(tables.windows[["end_crawl", "window_crawls", "distinct_elements"]].itertuples(index=False, name=None))
    assert read == published
    # Only crawls that are later than the calendar are dated by their week.
    calendar_text = (shared_data / calendar).read_text()
    undated = {crawl for crawl in rows if f'"{crawl}"' not in calendar_text and f"{crawl}," not in calendar_text}
    by_week = tables.crawls.loc[tables.crawls["dated_by"] == "iso_week", "crawl"]
    assert set(by_week) == undated
    assert bool(undated) == (calendar == "collinfo.json" and table == "url_last_n_crawls.csv")


def test_51_crawls_of_the_paper_have_every_window(files, shared_data):
    table = shared_data / "common_crawl_statistics" / "url_last_n_crawls.csv"
    tables = source(str(table), str(shared_data / "crawls.csv")).read_tables(
        files, Selection("CC-MAIN-2020-05", "CC-MAIN-2025-51")
    )
    assert len(tables.crawls) == 51
    gaps = tables.crawls["started_at"].diff().dt.total_seconds().dropna() / 86_400
    assert 21 <= gaps.min() <= gaps.max() <= 120
    assert len(tables.windows) == sum(51 - (length - 1) for length in (1, 2, 3, 4, 6, 9, 12))


def test_published_counts_do_not_depend_on_the_selection(files, write):
    windows, counts = write("t.csv", TABLE), write("c.csv", "crawl,domain,url\n2024-01,7,10\n2024-02,nan,20\n")
    tables = source(windows, counts=counts).read_tables(files, Selection(first_crawl="2024-02"))
    rows = tables.published.drop(columns="sha256").itertuples(index=False, name=None)
    assert set(rows) == {
        (start, end, length, union, "url", windows)
        for (start, end), (length, union) in windows_of(source(windows).read_tables(files, ALL_CRAWLS)).items()
    } | {("2024-01", "2024-01", 1, 7, "domain", counts)}
    assert [file.location for file in tables.inputs] == [windows, counts]


def test_repeated_crawl_in_counts_is_an_error(files, write):
    twice = source(write("t.csv", TABLE), counts=write("c.csv", "crawl,domain\n2024-01,7\n2024-01,7\n"))
    with pytest.raises(SourceError, match=r"c\.csv, line 3: 2024-01 occurs twice"):
        twice.read_tables(files, ALL_CRAWLS)


def test_default_locations_are_common_crawls():
    default = CommonCrawlStatisticsSource()
    assert default.windows.endswith("/plots/crawlsize/url_last_n_crawls.csv")
    assert default.calendar == "https://index.commoncrawl.org/collinfo.json"
    assert default.relative_error == pytest.approx(0.008125)


def test_excerpts_of_real_tables_are_read_completely(files, write):
    """The first 24 crawls of Common Crawl's tables; three early ids have no week and need a calendar."""
    early = "CC-MAIN-2008-2009,2008-05-09\nCC-MAIN-2009-2010,2009-07-02\nCC-MAIN-2012,2012-01-27\n"
    calendar = write("c.csv", f"id,from\n{early}")
    windows, counts = (str(REAL_DATA / f"{name}_excerpt.csv") for name in ("url_last_n_crawls", "domain"))
    tables = source(windows, calendar, 0.0081, counts=counts).read_tables(files, ALL_CRAWLS)
    assert len(tables.crawls) == 24
    assert tables.crawls["dated_by"].value_counts().to_dict() == {"iso_week": 21, "calendar": 3}
    assert len(tables.windows) == sum(24 - (length - 1) for length in (1, 2, 3, 4, 6, 9, 12))
    assert windows_of(tables)["CC-MAIN-2008-2009", "CC-MAIN-2009-2010"] == (2, 3_824_634_756)
    assert set(tables.published["quantity"]) == {"url", "domain", "host", "tld"}
