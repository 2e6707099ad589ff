"""Presence partitions: writing, reading by range, sampling and failures."""

import hashlib
import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawl_urn_dagster.observables.keys import KEY_HASH, LOWEST_KEY, element_keys, first_key
from crawl_urn_dagster.observables.presence import PresenceFolder, common_sample, read_keys

HIGHEST_KEY = 2**63 - 1


def texts(low, high):
    return np.array([f"https://example.org/{number}" for number in range(low, high)], dtype=object)


def write(folder, captures, **options):
    revisions = {crawl: f"revision of {crawl}" for crawl, _, _ in captures}
    return {one.crawl: one for one in PresenceFolder(folder).write(captures, revisions, **options)}


def all_keys(partition):
    return read_keys(partition, LOWEST_KEY, HIGHEST_KEY)


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("memory_bytes", [2**32, 1000])
@pytest.mark.parametrize("batch", [7, 1000])
def test_partition_contains_each_key_once_in_order(tmp_path, memory_bytes, batch):
    elements = np.random.default_rng(1).permutation(np.concatenate([texts(0, 500), texts(200, 700)]))
    captures = [("2024-01", elements[low : low + batch], False) for low in range(0, len(elements), batch)]
    partition = write(tmp_path, captures, memory_bytes=memory_bytes)["2024-01"]
    expected = np.unique(element_keys(texts(0, 700)))
    assert all_keys(partition).tolist() == expected.tolist()
    assert (partition.rows, partition.elements) == (700, 700)
    assert partition.content == hashlib.sha256(expected.astype("<i8").tobytes()).hexdigest()


def test_mixed_crawls_are_written_as_soon_as_complete(tmp_path):
    captures = [
        ("a", texts(0, 5), False),
        ("b", texts(3, 9), True),
        ("a", texts(5, 8), False),
        ("c", texts(0, 0), True),
    ]
    partitions = write(tmp_path, captures)
    assert list(partitions) == ["b", "c", "a"]
    assert {crawl: one.rows for crawl, one in partitions.items()} == {"a": 8, "b": 6, "c": 0}
    assert visible(tmp_path) == ["a.parquet", "b.parquet", "c.parquet"]
    assert PresenceFolder(tmp_path).read_all(["c", "absent", "a"]) == [partitions["c"], partitions["a"]]


def test_keys_are_read_by_range(tmp_path):
    partition = write(tmp_path, [("a", texts(0, 300_000), True)])["a"]
    keys = all_keys(partition)
    assert pq.ParquetFile(partition.path).num_row_groups > 2
    for low, high in [
        (LOWEST_KEY, int(keys[0])),
        (int(keys[10]), int(keys[200_000])),
        (int(keys[5]) + 1, int(keys[6]) - 1),
    ]:
        assert read_keys(partition, low, high).tolist() == keys[(keys >= low) & (keys <= high)].tolist()


def test_sample_keeps_the_same_elements_in_every_crawl(tmp_path):
    captures = [("a", texts(0, 20_000), True), ("b", texts(10_000, 30_000), True)]
    partitions = write(tmp_path, captures, one_in=16, memory_bytes=10_000)
    a, b = (all_keys(partitions[crawl]) for crawl in "ab")
    assert max(a.max(), b.max()) < first_key(1, 16)
    both = element_keys(texts(10_000, 20_000))
    assert np.intersect1d(a, b).tolist() == np.sort(both[both < first_key(1, 16)]).tolist()
    assert partitions["a"].elements == 16 * partitions["a"].rows
    assert common_sample(list(partitions.values())) == 16


def test_different_sampling_fractions_raise(tmp_path):
    some = write(tmp_path, [("a", texts(0, 9), True)]) | write(tmp_path, [("b", texts(0, 9), True)], one_in=2)
    with pytest.raises(ValueError, match=r"one in 1 \(a\) and one in 2 \(b\): ingest them again"):
        common_sample(list(some.values()))


def test_outdated_crawls_have_another_revision_or_sample(tmp_path):
    write(tmp_path, [("a", texts(0, 9), True), ("b", texts(0, 9), True)])
    wanted = {"a": "revision of a", "b": "another", "c": "revision of c"}
    assert PresenceFolder(tmp_path).outdated(wanted, one_in=1) == ["b", "c"]
    assert PresenceFolder(tmp_path).outdated(wanted, one_in=2) == ["a", "b", "c"]


@pytest.mark.parametrize("label", ["../out", "a/b", "", ".hidden", "a\nb", "x" * 65])
def test_label_that_is_not_a_file_name_raises(tmp_path, label):
    with pytest.raises(ValueError, match="is not a valid label of a crawl"):
        write(tmp_path, [(label, texts(0, 1), True)])


def test_captures_of_an_unknown_crawl_raise(tmp_path):
    with pytest.raises(KeyError, match="b"):
        list(PresenceFolder(tmp_path).write([("b", texts(0, 1), True)], {"a": "1"}))


def test_reading_a_replaced_partition_raises(tmp_path):
    old = write(tmp_path, [("a", texts(0, 9), True)])["a"]
    write(tmp_path, [("a", texts(1, 9), True)])
    with pytest.raises(ValueError, match="was replaced while it was read"):
        all_keys(old)


def test_duckdb_reads_keys_and_metadata_of_a_partition(tmp_path):
    partition = write(tmp_path, [("a", texts(0, 9), True)], one_in=2)["a"]
    with duckdb.connect() as connection:
        keys = connection.execute("SELECT key FROM read_parquet(?)", [str(partition.path)]).fetchall()
        stated = connection.execute(
            "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'crawl_urn'", [str(partition.path)]
        ).fetchone()
    assert [key for (key,) in keys] == all_keys(partition).tolist()
    assert json.loads(stated[0]) == {
        "keys": KEY_HASH,
        "crawl": "a",
        "revision": "revision of a",
        "one_in": 2,
        "content": partition.content,
    }


@pytest.mark.parametrize("metadata", [None, {"crawl_urn": json.dumps({"keys": "another hash", "crawl": "a"})}])
def test_foreign_parquet_file_is_not_a_partition(tmp_path, metadata):
    pq.write_table(pa.table({"key": [1, 2]}).replace_schema_metadata(metadata), tmp_path / "a.parquet")
    assert PresenceFolder(tmp_path).read("a") is None
    assert PresenceFolder(tmp_path).outdated({"a": "1"}, 1) == ["a"]


def test_failure_keeps_only_complete_partitions(tmp_path):
    write(tmp_path, [("b", texts(0, 3), True)])

    def captures():
        yield "a", texts(0, 5), True
        yield "b", texts(0, 2), False
        raise OSError("the disk of the source is gone")

    with pytest.raises(OSError, match="is gone"):
        list(PresenceFolder(tmp_path).write(captures(), {"a": "1", "b": "2"}))
    found = {one.crawl: one.rows for one in PresenceFolder(tmp_path).read_all("ab")}
    assert found == {"a": 5, "b": 3}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "a.parquet", "b.parquet"]


def test_empty_crawl_has_a_partition(tmp_path):
    partitions = write(tmp_path, [("a", texts(0, 0), False), ("b", texts(0, 3), True)])
    assert partitions["a"].rows == 0
    assert all_keys(partitions["a"]).tolist() == []
    assert PresenceFolder(tmp_path).outdated({"a": "revision of a"}, 1) == []
