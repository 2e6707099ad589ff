"""Test the formats of presence lists, and columns whose values are not elements."""

import bz2
import json
import time
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from crawl_urn_dagster.sources import PresenceListSource, SourceError
from crawl_urn_dagster_tests.sources.conftest import ALL_CRAWLS, gz, labels_of
from crawl_urn_dagster_tests.sources.transport.test_file_formats import zipped, zstd

CAPTURES = [("2024-01", "a"), ("2024-01", "b"), ("2024-02", "b")]
FRAME = pd.DataFrame(CAPTURES, columns=["crawl", "element"])
LIST = "crawl,element\n2024-01,a\n2024-01,b\n2024-02,b\n"
JSON_LINES = FRAME.to_json(orient="records", lines=True)


def source(path, **settings):
    return PresenceListSource(path=str(path), **settings)


def written(frame, write_frame):
    def content(path):
        write_frame(frame, path)
        return path.read_bytes()

    return content


@pytest.mark.parametrize(
    "content",
    [
        bz2.compress(LIST.encode()),
        zstd(LIST.encode()),
        zipped(("list.csv", LIST)),
        JSON_LINES.encode(),
        gz(JSON_LINES.encode()),
        zstd(JSON_LINES.encode()),
        written(FRAME, pd.DataFrame.to_feather),
        written(FRAME, pd.DataFrame.to_orc),
        written(FRAME, pd.DataFrame.to_parquet),
    ],
)
def test_every_format_gives_the_captures(read, write, tmp_path, content):
    path = tmp_path / "list"
    path.write_bytes(content(path) if callable(content) else content)
    assert read(source(path))[1] == CAPTURES


def test_json_values_keep_their_text(read, write):
    rows = [{"crawl": "2024-01", "element": value, "more": [1]} for value in ("2024-01-01", 12, "a,b", "ü")]
    path = write("a.jsonl", "\n".join(map(json.dumps, rows)))
    assert read(source(path))[1] == sorted(("2024-01", value) for value in ("2024-01-01", "12", "a,b", "ü"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"crawl": "2024-01", "element": "a"}]', "is a JSON array, expected JSON lines"),
        ('{"crawl": "2024-01", "element": ["a"]}', "cannot be read: .*a list or an object"),
        ('{"crawl": "2024-01", "element": {"a": 1}}', "cannot be read: .*a list or an object"),
        ('{"crawl": "2024-01", "elements": "a"}', "has no column 'element'.*did you mean 'elements'"),
        ('{"crawl": "2024-01", "element": "a"}\n{"crawl":', "cannot be read: .*alformed"),
        ('{"crawl": "2024-01", "element": null}', "data row 1: found no element"),
        ("crawl,element\n2024-01,NaN\n", "data row 1: found 'NaN', which stands for a missing value"),
        ("crawl,element\n2024-01,a\n2024-01,NULL\n", "data row 2: found 'NULL', which stands for a missing value"),
        (b"PAR2\x00\x01\x1b[31m", "is a binary file, expected text"),
    ],
)
def test_values_that_are_no_element_are_errors(files, write, content, message):
    with pytest.raises(SourceError, match=message) as error:
        source(write("a", content)).list_crawls(files, ALL_CRAWLS)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("['a', 'b']", r"a.parquet: column 'element' has the type VARCHAR\[\], expected text"),
        ("{'a': 1}", r"column 'element' has the type STRUCT\(a INTEGER\)"),
        ("MAP {'a': 1}", r"column 'element' has the type MAP\(VARCHAR, INTEGER\)"),
        ("'nan'::DOUBLE", "data row 1: found 'nan', which stands for a missing value"),
        ("NULL::VARCHAR", "data row 1: found no element"),
    ],
)
def test_parquet_columns_that_hold_no_elements_are_errors(files, tmp_path, value, message):
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT '2024-01' AS crawl, {value} AS element) TO '{tmp_path}/a.parquet'")
    with pytest.raises(SourceError, match=message):
        source(tmp_path / "a.parquet").list_crawls(files, ALL_CRAWLS)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland"])
def test_time_with_zone_is_dated_in_utc_on_every_machine(read, tmp_path, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        starts = pa.array([pd.Timestamp("2024-01-05T23:30:00Z")], pa.timestamp("us", "America/New_York"))
        pd.DataFrame({"crawl": starts.to_pandas(), "element": ["a"]}).to_parquet(tmp_path / "a.parquet")
        listing, captures = read(source(tmp_path / "a.parquet"))
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    assert captures == [("2024-01-05 23:30:00", "a")]
    assert listing.crawls[0].started_at.isoformat() == "2024-01-05T23:30:00"


class TestHeaderlessLists:
    def test_one_element_a_line(self, read, write, tmp_path):
        write("lists/2024-01.txt", 'http://a.org/?q=1,2\nhttp://b.org/"x"\n')
        write("lists/2024-02.txt.gz", gz(b"http://b.org/\r\n"))
        captures = read(source(tmp_path / "lists", columns=["element"]))[1]
        assert captures == [
            ("2024-01", "http://a.org/?q=1,2"),
            ("2024-01", 'http://b.org/"x"'),
            ("2024-02", "http://b.org/"),
        ]

    def test_rank_and_domain_with_a_date_in_the_name(self, read, write, tmp_path):
        write("top-1m-2024-01-05.csv.zip", zipped(("top-1m.csv", "1,a.org\r\n2,b.org\r\n")))
        write("top-1m-2024-02-05.csv.zip", zipped(("top-1m.csv", "1,b.org\r\n")))
        captures = read(source(tmp_path / "*.zip", columns=["rank", "domain"], element_column="domain"))[1]
        assert captures == [("2024-01-05", "a.org"), ("2024-01-05", "b.org"), ("2024-02-05", "b.org")]

    def test_header_in_a_list_without_header_is_an_error(self, files, write, tmp_path):
        write("2024-01.csv", "Rank,Domain\n1,a.org\n")
        with pytest.raises(SourceError, match=r"starts with the header \['Rank', 'Domain'\]; leave .* columns out"):
            source(tmp_path / "*.csv", columns=["rank", "domain"], element_column="domain").list_crawls(
                files, ALL_CRAWLS
            )

    def test_missing_header_is_an_error_that_names_the_setting(self, files, write, tmp_path):
        write("2024-01.csv", "1,a.org\n2,b.org\n")
        with pytest.raises(SourceError, match="name its columns in the setting columns"):
            source(tmp_path / "*.csv").list_crawls(files, ALL_CRAWLS)


ZONE = """\
org.\t3600\tin\tsoa\ta0.nic.org. hostmaster.org. 1 2 3 4 5
org.\t3600\tin\tns\ta0.nic.org.
A.org.\t3600\tIN\tNS\tns1.host.net.
a.org.\t3600\tin\tns\tns2.host.net.
ns1.b.org.\t3600\tin\ta\t192.0.2.1
b.org.\t3600\tin\tns\tns1.b.org.
b.org.\t3600\tin\tds\t1 2 3 abc
"""
MASTER = """\
$ORIGIN org.
$TTL 1d
@ IN SOA a0.nic hostmaster (
      1 ; serial
      2 3 4 5 )
  NS a0.nic
a 3600 NS ns1.host.net. ; delegated
  IN NS ns2.host.net.
$ORIGIN co.org.
c NS ns1.host.net.
"""


class TestZones:
    def test_delegated_names_are_elements(self, read, write, tmp_path):
        write("zones/2024-01.txt", ZONE)
        write("zones/2024-02.zone.gz", gz(MASTER.encode()))
        captures = read(source(tmp_path / "zones", format="zone"))[1]
        assert captures == [("2024-01", "a.org"), ("2024-01", "b.org"), ("2024-02", "a.org"), ("2024-02", "c.co.org")]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a.org.\t3600\tin\tns\tns1.host.net.\n", "has no SOA record, expected a DNS zone file"),
            (ZONE + "c 3600 in ns ns1\n", "line 8: has a relative name, but no .ORIGIN"),
        ],
    )
    def test_other_files_are_errors(self, files, write, tmp_path, content, message):
        write("zones/2024-01.txt", content)
        with pytest.raises(SourceError, match=message):
            source(tmp_path / "zones", format="zone").list_crawls(files, ALL_CRAWLS)


class TestHiveFolders:
    def test_parts_of_partition_folders_are_crawls(self, read, tmp_path):
        for crawl, part, elements in [("2024-01", 0, ["a"]), ("2024-01", 1, ["b"]), ("2024-02", 0, ["b"])]:
            folder = tmp_path / "table" / f"crawl={crawl}"
            folder.mkdir(parents=True, exist_ok=True)
            pd.DataFrame({"element": elements}).to_parquet(folder / f"part-{part}.parquet")
            (folder / "_SUCCESS").touch()
        (tmp_path / "table" / "_metadata").write_bytes(b"PAR1")
        for path in ("table", "table/crawl=*/part-*.parquet", "table/**/*.parquet"):
            listing, captures = read(source(tmp_path / path))
            assert (labels_of(listing), captures) == (["2024-01", "2024-02"], CAPTURES)

    def test_partition_folders_may_have_another_name(self, read, tmp_path):
        folder = tmp_path / "table" / "snapshot=2024-01"
        folder.mkdir(parents=True)
        pd.DataFrame({"element": ["a"]}).to_parquet(folder / "part-0.parquet")
        assert read(source(tmp_path / "table", crawl_column="snapshot"))[1] == [("2024-01", "a")]

    def test_empty_part_of_a_crawl_with_other_parts_is_accepted(self, read, files, tmp_path):
        for name, elements in {"2024-01/part-0": [], "2024-01/part-1": ["a"], "2024-02/part-0": ["a"]}.items():
            path = tmp_path / "table" / f"crawl={name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame({"element": pd.Series(elements, dtype=str)}).to_parquet(path)
        assert read(source(tmp_path / "table"))[1] == [("2024-01", "a"), ("2024-02", "a")]
        (tmp_path / "table" / "crawl=2024-01" / "part-1.parquet").unlink()
        with pytest.raises(SourceError, match=r"crawl=2024-01/part-0\.parquet: has a header but no rows"):
            source(tmp_path / "table").list_crawls(files, ALL_CRAWLS)


class TestEncodings:
    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
    @pytest.mark.parametrize(
        ("name", "text"), [("2024-01.csv", "element\r\nü.de\r\n"), ("2024-01.jsonl", '{"element": "ü.de"}\n')]
    )
    def test_marked_text_is_decoded(self, read, write, tmp_path, encoding, name, text):
        write(f"plain/{name}", text.encode(encoding))
        write(f"gzip/{name}.gz", gz(text.encode(encoding)))
        for folder in ("plain", "gzip"):
            assert read(source(tmp_path / folder))[1] == [("2024-01", "ü.de")]

    def test_mark_where_files_were_concatenated_is_removed(self, read, write, tmp_path):
        write("lists/2024-01.txt", "\ufeffa.org\n\ufeffb.org\n")
        captures = read(source(tmp_path / "lists", columns=["element"]))[1]
        assert captures == [("2024-01", "a.org"), ("2024-01", "b.org")]

    def test_text_cut_in_the_middle_of_a_character_is_an_error(self, files, write, tmp_path):
        write("lists/2024-01.csv", "element\na.org\n".encode("utf-16")[:-1])
        with pytest.raises(SourceError, match=r"2024-01\.csv: is not UTF-8 text: 'utf-16.*' codec"):
            source(tmp_path / "lists").list_crawls(files, ALL_CRAWLS)


class TestTableFolders:
    def test_delta_table_is_read_without_superseded_files(self, read, files, tmp_path):
        deltalake = pytest.importorskip("deltalake")
        path = tmp_path / "delta"
        deltalake.write_deltalake(path, FRAME.assign(element="old"))
        deltalake.write_deltalake(path, FRAME, mode="overwrite")
        assert len(list(path.glob("*.parquet"))) == 2
        assert read(source(path))[1] == CAPTURES
        deltalake.write_deltalake(path, FRAME.assign(element="new"), mode="append")
        assert len(read(source(path))[1]) == 2 * len(CAPTURES)
        with pytest.raises(SourceError, match="is part of a Delta table, in which files may be outdated; set the path"):
            source(path / "*.parquet").list_crawls(files, ALL_CRAWLS)

    @pytest.fixture
    def iceberg(self, tmp_path):
        """Return an empty Iceberg table with the columns of `FRAME`, and its folder."""
        pytest.importorskip("pyiceberg.catalog.sql", reason="needs sqlalchemy")
        from pyiceberg.catalog.sql import SqlCatalog

        catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/iceberg")
        catalog.create_namespace("n")
        table = catalog.create_table("n.t", schema=pa.Table.from_pandas(FRAME, preserve_index=False).schema)
        return table, Path(table.location().removeprefix("file://"))

    def test_iceberg_table_is_read_without_superseded_files(self, read, iceberg):
        table, path = iceberg
        table.append(pa.Table.from_pandas(FRAME.assign(element="old"), preserve_index=False))
        table.overwrite(pa.Table.from_pandas(FRAME, preserve_index=False))
        assert read(source(path))[1] == CAPTURES

    def test_iceberg_table_may_have_partitions_and_deleted_rows(self, read, iceberg):
        table, path = iceberg
        with table.update_spec() as update:
            update.add_identity("crawl")
        for element in ("a", "old"):
            table.append(pa.table({"crawl": ["2024-01", "2024-02"], "element": [element, element]}))
        table.delete("element = 'old'")
        table.delete("crawl = '2024-02'")
        assert read(source(path))[1] == [("2024-01", "a")]

    def test_iceberg_table_may_have_compressed_metadata(self, read, iceberg):
        table, path = iceberg
        table.append(pa.Table.from_pandas(FRAME, preserve_index=False))
        newest = max((path / "metadata").glob("*.metadata.json"))
        newest.with_name("00009-a.gz.metadata.json").write_bytes(gz(newest.read_bytes()))
        newest.unlink()
        assert read(source(path))[1] == CAPTURES

    def test_moved_iceberg_table_is_an_error_that_names_it(self, files, iceberg, tmp_path):
        table, path = iceberg
        table.append(pa.Table.from_pandas(FRAME, preserve_index=False))
        path.rename(tmp_path / "moved")
        with pytest.raises(SourceError, match=r"moved: is an Iceberg table that cannot be read: .*No such file"):
            source(tmp_path / "moved").list_crawls(files, ALL_CRAWLS)

    def test_unreadable_table_is_an_error_that_names_the_format(self, files, write, tmp_path):
        write("delta/_delta_log/00000000000000000000.json", "{}")
        with pytest.raises(SourceError, match="delta: is a Delta table that cannot be read"):
            source(tmp_path / "delta").list_crawls(files, ALL_CRAWLS)

    def test_missing_library_is_an_error_that_names_the_extra(self, files, write, tmp_path, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
        write("delta/_delta_log/00000000000000000000.json", "{}")
        with pytest.raises(SourceError, match=r"is a Delta table, which needs the extra `tables`: pip install"):
            source(tmp_path / "delta").list_crawls(files, ALL_CRAWLS)
