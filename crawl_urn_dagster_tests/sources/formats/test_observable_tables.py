"""Test tables of pairs and of windows."""

import bz2
import csv
import lzma

import pytest
from pydantic import ValidationError

from crawl_urn_dagster.sources import ObservableTablesSource, Selection, SourceError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, gz, labels_of

PAIRS = (
    "crawl_i,crawl_j,lag,size_i,size_j,intersection\n"
    "2024-01,2024-02,1,10,20,5\n2024-02,2024-03,1,20,30,8\n2024-01,2024-03,2,10,30,2\n"
)
WINDOWS = "start,end,T,union\n2024-01,2024-01,0,10\n2024-01,2024-03,2,47\n2024-02,2024-03,1,nan\n2024-03,2024-03,0,30\n"
DATED = (
    "crawl_i,crawl_j,size_i,size_j,intersection,started_i,started_j\n"
    "a,b,10,20,5,2024-01-03,2024-02-05\nb,c,20,30,8,2024-02-05,2024-03-01\n"
)


def source(**settings):
    return ObservableTablesSource(**settings)


def test_pairs_and_windows_are_read(files, write):
    tables = source(pairs=write("p.csv", PAIRS), windows=write("w.csv", WINDOWS)).read_tables(files, ALL_CRAWLS)
    assert tables.crawls["crawl"].tolist() == ["2024-01", "2024-02", "2024-03"]
    assert tables.crawls["elements"].tolist() == [10, 20, 30]
    assert tables.crawls["dated_by"].tolist() == ["label"] * 3
    assert tables.pairs.to_dict("split")["data"] == [
        ["2024-01", "2024-02", 10, 20, 5],
        ["2024-02", "2024-03", 20, 30, 8],
        ["2024-01", "2024-03", 10, 30, 2],
    ]
    assert tables.windows.to_dict("split")["data"] == [
        ["2024-01", "2024-01", 1, 10],
        ["2024-01", "2024-03", 3, 47],
        ["2024-03", "2024-03", 1, 30],
    ]
    assert tables.pairs.dtypes[["size_i", "size_j", "intersection"]].tolist() == ["int64"] * 3
    assert [file.location.rsplit("/", 1)[1] for file in tables.inputs] == ["p.csv", "w.csv"]


def test_either_table_may_be_missing(files, write):
    pairs_only, windows_only = source(pairs=write("p.csv", PAIRS)), source(windows=write("w.csv", WINDOWS))
    assert (pairs_only.has_pairs, pairs_only.has_windows) == (True, False)
    assert (windows_only.has_pairs, windows_only.has_windows) == (False, True)
    assert pairs_only.read_tables(files, ALL_CRAWLS).windows is None
    tables = windows_only.read_tables(files, ALL_CRAWLS)
    assert tables.pairs is None
    assert tables.crawls["elements"].isna().tolist() == [False, True, False]


def test_selection_keeps_pairs_and_windows_within_it(files, write):
    both = source(pairs=write("p.csv", PAIRS), windows=write("w.csv", WINDOWS))
    tables = both.read_tables(files, Selection(last_crawl="2024-02"))
    assert tables.crawls["crawl"].tolist() == ["2024-01", "2024-02"]
    assert tables.pairs["crawl_j"].tolist() == ["2024-02"]
    assert tables.windows["distinct_elements"].tolist() == [10]
    assert labels_of(both.list_crawls(files, Selection(first_crawl="2024-02"))) == ["2024-02", "2024-03"]


def test_table_dates_its_crawls(files, write):
    tables = source(pairs=write("p.csv", DATED)).read_tables(files, ALL_CRAWLS)
    assert tables.crawls["dated_by"].tolist() == ["table"] * 3
    assert tables.crawls["started_at"].dt.strftime("%Y-%m-%d").tolist() == [
        "2024-01-03",
        "2024-02-05",
        "2024-03-01",
    ]


def test_columns_may_have_any_name(files, write):
    table = write("p.csv", 'from,"to;",n,m,"in both, est."\n2024-01,2024-02,10,20,5\n')
    columns = {
        "crawl_i": "from",
        "crawl_j": "to;",
        "size_i": "n",
        "size_j": "m",
        "intersection": "in both, est.",
    }
    assert source(pairs=table, columns=columns).read_tables(files, ALL_CRAWLS).pairs["intersection"].tolist() == [5]


def test_calendar_dates_labels(files, write):
    table = write("w.csv", "start,end,union\nspring,summer,5\n")
    calendar = write("c.csv", "id,from\nspring,2024-03-01\nsummer,2024-06-01\n")
    assert source(windows=table, calendar=calendar).read_tables(files, ALL_CRAWLS).crawls["dated_by"].tolist() == [
        "calendar",
        "calendar",
    ]


def test_negative_estimated_intersections_are_kept(files, write):
    table = write("p.csv", "crawl_i,crawl_j,size_i,size_j,intersection\n2024-01,2024-02,1000.4,2000,-7.6\n")
    pairs = source(pairs=table, relative_error=0.01).read_tables(files, ALL_CRAWLS).pairs
    assert pairs[["size_i", "intersection"]].to_numpy().tolist() == [[1000, -8]]


def test_window_of_one_crawl_gives_its_size(files, write):
    pairs = write("p.csv", "crawl_i,crawl_j,size_i,size_j,intersection\n2024-01,2024-02,1040,2000,7\n")
    windows = write("w.csv", "start,end,union\n2024-01,2024-01,1000\n")
    both = source(pairs=pairs, windows=windows, relative_error=0.01)
    assert both.read_tables(files, ALL_CRAWLS).crawls["elements"].tolist() == [1000, 2000]
    exacter = source(pairs=pairs, windows=windows, relative_error=0.007)
    message = r"p\.csv, line 2: 2024-01 has 1,040 elements, but 1,000 at .*w\.csv, line 2"
    with pytest.raises(SourceError, match=message):
        exacter.read_tables(files, ALL_CRAWLS)


PAIR_HEADER = "crawl_i,crawl_j,size_i,size_j,intersection\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("compress", [bytes, gz, bz2.compress, lzma.compress])
def test_text_of_any_encoding_is_read(files, write, encoding, compress):
    text = f"{PAIR_HEADER}\n2024-01,2024-02,100,90,80\n2024-02,2024-03,90,95,nan\n".replace("\n", "\r\n")
    tables = source(pairs=write("p.csv", compress(text.encode(encoding)))).read_tables(files, ALL_CRAWLS)
    assert tables.pairs[["size_i", "size_j", "intersection"]].to_numpy().tolist() == [[100, 90, 80]]
    assert tables.crawls["crawl"].tolist() == ["2024-01", "2024-02", "2024-03"]


@pytest.mark.parametrize(
    ("table", "content", "message"),
    [
        ("pairs", PAIR_HEADER.replace(",", ";"), r"its columns are separated by ';', expected ','"),
        ("pairs", PAIR_HEADER + "2024-01,2024-02,1,1\n", r"line 2: has 4 cells, expected 5"),
        ("pairs", PAIR_HEADER + "2024-01,2024-02,1,1,1,1\n", r"line 2: has 6 cells, expected 5"),
        ("pairs", PAIR_HEADER + '2024-01,2024-02,"1,000",1,1\n', r"line 2, size_i: found '1,000', expected a count"),
        ("pairs", PAIR_HEADER + "2024-01,2024-02,1,inf,1\n", r"line 2, size_j: found 'inf', expected a count"),
        ("pairs", PAIR_HEADER + "2024-01,2087-02,1,1,1\n", r"crawl '2087-02' starts .* in the future"),
        ("pairs", PAIR_HEADER + "2024-01,2024-01-01,1,1,1\n", r"'2024-01' and '2024-01-01' both start"),
        ("pairs", "PAR1", r"is a Parquet file, expected text"),
        ("pairs", "<html>sign in</html>", r"is a web page"),
        ("pairs", gz(PAIR_HEADER.encode())[:-6], r"is damaged gzip"),
        ("pairs", PAIR_HEADER.encode() + b"caf\xe9\n", r"is not UTF-8 text"),
        (
            "pairs",
            PAIR_HEADER + "2024-02,2024-01,1,1,1\n",
            r"line 2: 2024-02 .* is not before 2024-01 .* swap them",
        ),
        ("pairs", PAIR_HEADER + "2024-02,2024-02,1,1,1\n", r"line 2: 2024-02 .* is not before 2024-02"),
        (
            "pairs",
            PAIR_HEADER + "2024-01,2024-02,1,1,1\n2024-01,2024-02,1,1,1\n",
            r"line 3: 2024-01 to 2024-02 occurs twice, first at .*line 2",
        ),
        (
            "pairs",
            PAIR_HEADER + "2024-01,2024-02,-1,1,1\n",
            r"line 2, size_i: found -1, expected a count of at least 0",
        ),
        (
            "pairs",
            PAIR_HEADER + "2024-01,2024-02,1,1,-1\n",
            r"line 2, intersection: found -1, expected a count",
        ),
        (
            "pairs",
            PAIR_HEADER + "2024-01,2024-02,1,1.5,1\n",
            r"line 2, size_j: found 1.5, expected a whole number",
        ),
        ("pairs", PAIR_HEADER + "2024-01,a/b,1,1,1\n", r"line 2, crawl_j: found the crawl label 'a/b'"),
        ("pairs", PAIR_HEADER + "2024-01,,1,1,1\n", r"line 2, crawl_j: found the crawl label ''"),
        ("pairs", PAIR_HEADER + "2024-01,spring,1,1,1\n", r"crawl 'spring' cannot be dated"),
        (
            "pairs",
            PAIR_HEADER + "2024-01,2024-02,1,2,1\n2024-02,2024-03,3,1,1\n",
            r"line 3: 2024-02 has 3 elements, but 2 at .*line 2",
        ),
        (
            "pairs",
            "crawl_i,crawl_j,size_i,size_j,intersections\n",
            r"no column 'intersection'.*'intersections'",
        ),
        ("pairs", PAIR_HEADER[:-1] + ",started_i\n", r"has no column 'started_j'.*did you mean 'started_i'"),
        (
            "pairs",
            DATED.replace("b,c,20,30,8,2024-02-05", "b,c,20,30,8,2024-02-06"),
            r"line 3, started_i: b started "
            r"2024-02-06 .*, but 2024-02-05 .* at .*line 2; expected one start per crawl",
        ),
        ("pairs", DATED.replace("2024-03-01", "soon"), r"line 3, started_j: found 'soon', expected a date"),
        ("windows", "start,end,union\n2024-02,2024-01,1\n", r"line 2: 2024-02 .* is not before 2024-01"),
        ("windows", "start,end,union\n2024-01,2024-01,1\n2024-01,2024-01,1\n", r"line 3: .* occurs twice"),
        ("windows", "start,end,union\n2024-01,2024-01,-1\n", r"line 2, union: found -1"),
        ("windows", "start,end,unions\n", r"no column 'union'.*did you mean 'unions'"),
        ("windows", "start,end,union\n2024-01,autumn,1\n", r"crawl 'autumn' cannot be dated"),
    ],
)
def test_wrong_rows_are_errors(files, write, table, content, message):
    with pytest.raises(SourceError, match=message):
        source(**{table: write("t.csv", content)}).read_tables(files, ALL_CRAWLS)


def test_missing_configured_date_column_is_an_error(files, write):
    with pytest.raises(SourceError, match="has no column 'start_i'"):
        source(pairs=write("p.csv", PAIRS), columns={"started_i": "start_i"}).read_tables(files, ALL_CRAWLS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "neither pairs nor windows"),
        ({"pairs": "p.csv", "columns": {"sizes_i": "n"}}, r"'sizes_i' is not a column.*did you mean 'size_i'"),
        ({"pairs": "p.csv", "columns": {"size_i": 5}}, "valid string"),
        ({"pairs": "p.csv", "relative_error": -0.1}, "greater than or equal to 0"),
        ({"pairs": "p.csv", "relative_error": 1}, "less than 1"),
    ],
)
def test_configuration_is_checked(settings, message):
    with pytest.raises(ValidationError, match=message):
        source(**settings)


class TestRealTables:
    def test_edu_tables_are_read_completely(self, files, shared_data):
        folder = shared_data / "edu_hll"
        tables = source(
            pairs=str(folder / "edu_url_pairs_hll.csv"),
            windows=str(folder / "edu_url_discovery_hll.csv"),
            calendar=str(shared_data / "crawls.csv"),
            relative_error=0.016,
        ).read_tables(files, ALL_CRAWLS)
        with (folder / "edu_url_pairs_hll.csv").open(newline="") as file:
            pairs = {
                (
                    row["crawl_i"],
                    row["crawl_j"],
                    *(int(row[name]) for name in ("size_i", "size_j", "intersection")),
                )
                for row in csv.DictReader(file)
            }
        with (folder / "edu_url_discovery_hll.csv").open(newline="") as file:
            windows = {(row["start"], row["end"], int(row["T"]) + 1, int(row["union"])) for row in csv.DictReader(file)}
        assert set(tables.pairs.itertuples(index=False, name=None)) == pairs
        assert set(tables.windows.itertuples(index=False, name=None)) == windows
        assert len(tables.crawls) == 65
        assert set(tables.crawls["dated_by"]) == {"calendar"}
        assert (tables.pairs["intersection"] < 0).any()  # Estimates from sketches are kept.

    def test_edu_to_2016_has_every_pair(self, files, shared_data):
        tables = source(
            pairs=str(shared_data / "edu_hll" / "edu_url_pairs_hll.csv"),
            calendar=str(shared_data / "collinfo.json"),
            relative_error=0.016,
        ).read_tables(files, Selection(last_crawl="CC-MAIN-2016-50"))
        n = len(tables.crawls)
        assert tables.crawls["crawl"].iloc[-1] == "CC-MAIN-2016-50"
        assert len(tables.pairs) == n * (n - 1) // 2

    def test_german_academic_web_is_dated_by_its_table(self, files, shared_data):
        tables = source(
            pairs=str(shared_data / "gaw" / "gaw_pairs_2012-2018.csv"),
            columns={
                "size_i": "unique_urls_i",
                "size_j": "unique_urls_j",
                "intersection": "intersection_est",
                "started_i": "start_i",
                "started_j": "start_j",
            },
        ).read_tables(files, Selection(first_crawl="2013-12"))
        assert len(tables.crawls) == 10
        assert len(tables.pairs) == 45
        assert set(tables.crawls["dated_by"]) == {"table"}
        assert f"{tables.crawls['started_at'].iloc[0]:%Y-%m}" == "2013-12"
