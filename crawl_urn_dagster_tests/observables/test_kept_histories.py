"""Kept capture histories against a full recount on sets."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_urn_dagster.observables import kept_histories
from crawl_urn_dagster.observables.history_arrays import captured, identify, words_of
from crawl_urn_dagster.observables.kept_histories import KeptHistories
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.progress import Progress


class Archive:
    """Crawls as sets of numbers, their partitions, and their histories counted independently of the tested code."""

    def __init__(self, folder):
        self.presence = PresenceFolder(folder / "presence")
        self.state = folder / "state"
        self.crawls = {}

    def put(self, crawl, elements):
        self.crawls[crawl] = frozenset(elements)
        captures = [(crawl, np.array([str(element) for element in elements], dtype=object), True)]
        list(self.presence.write(captures, {crawl: "1"}))

    def partitions(self, order):
        return self.presence.read_all(order)

    def count(self, order, **options):
        return as_counter(KeptHistories(self.state).count(self.partitions(order), **options))

    def expected(self, order):
        elements = set().union(*(self.crawls[crawl] for crawl in order))
        return Counter(tuple(element in self.crawls[crawl] for crawl in order) for element in elements)


def as_counter(counts):
    found = {tuple(map(bool, row)): int(n) for row, n in zip(counts.seen, counts.elements, strict=True)}
    assert len(found) == len(counts.elements)
    return Counter(found)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(kept_histories, "_ROWS_PER_BLOCK", 8)


def base_of(archive):
    """Return the manifest, which changes when a new base is written."""
    path = archive.state / "manifest.json"
    return path.read_bytes() if path.exists() else b""


class Base:
    """The documented rule for writing a new base, applied to sets."""

    def __init__(self):
        self.crawls = {}

    def is_to_be_written(self, crawls, looked_up):
        kept = {crawl: elements for crawl, elements in self.crawls.items() if crawls.get(crawl) == elements}
        base = self.crawls if kept else {}
        later = sum(len(elements) for crawl, elements in crawls.items() if crawl not in kept)
        written = len(kept) < len(base) or later > looked_up * len(frozenset().union(*base.values()))
        if written:
            self.crawls = dict(crawls)
        return written


LABELS = [f"c{number:02}" for number in range(12)]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "remove"]),
        st.sampled_from(LABELS),
        st.sets(st.integers(0, 40), max_size=30),
    ),
    min_size=1,
    max_size=14,
)


@given(changes=CHANGES, looked_up=st.sampled_from([0.0, 0.25, 10.0]), memory_bytes=st.sampled_from([1, 2**32]))
@settings(max_examples=100)
def test_any_sequence_of_changes_equals_a_full_rebuild(tmp_path_factory, changes, looked_up, memory_bytes):
    """Crawls are added in any position, replaced and removed."""
    archive, base = Archive(tmp_path_factory.mktemp("archive")), Base()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_histories, "_ROWS_PER_BLOCK", 8)
        patch.setattr(kept_histories, "_MAX_LOOKED_UP", looked_up)
        for change, crawl, elements in changes:
            if change == "put":
                archive.put(crawl, elements)
            else:
                archive.crawls.pop(crawl, None)
            order = sorted(archive.crawls)
            if order:
                before = base_of(archive)
                assert archive.count(order, memory_bytes=memory_bytes) == archive.expected(order)
                assert (base_of(archive) != before) == base.is_to_be_written(archive.crawls, looked_up)
        if order:
            archive.state = archive.state.with_name("rebuilt")
            assert archive.count(order) == archive.expected(order)


@pytest.mark.parametrize("crawls", [63, 64, 65, 129])
def test_histories_longer_than_a_word_are_counted(tmp_path, small_blocks, crawls):
    rng = np.random.default_rng(crawls)
    archive = Archive(tmp_path)
    order = [f"c{number:03}" for number in range(crawls)]
    for crawl in order:
        archive.put(crawl, rng.choice(60, 20, replace=False).tolist())
    assert archive.count(order[:60]) == archive.expected(order[:60])
    assert archive.count(order) == archive.expected(order)
    archive.put("late", [1, 2, 3])
    order.insert(5, "late")
    assert archive.count(order) == archive.expected(order)


def test_many_changes_reuse_the_slots_of_removed_crawls(tmp_path, small_blocks):
    """More crawls than two words have bits are added, changed and removed."""
    rng = np.random.default_rng(4)
    archive, base = Archive(tmp_path), Base()
    pool = [f"c{number:03}" for number in range(150)]
    for crawl in rng.choice(pool, 135, replace=False):
        archive.put(crawl, rng.choice(90, 12, replace=False).tolist())
    written, most = [], 0
    for step in range(30):
        for crawl in rng.choice(pool, rng.integers(1, 4), replace=False):
            if crawl in archive.crawls and rng.random() < 0.2:
                del archive.crawls[crawl]
            elif crawl not in archive.crawls or rng.random() < 0.3:
                archive.put(crawl, rng.choice(90, 12, replace=False).tolist())
        order, before = sorted(archive.crawls), base_of(archive)
        most = max(most, len(order))
        memory_bytes = 2**32 if step % 5 else 2**12
        assert archive.count(order, memory_bytes=memory_bytes, threads=2) == archive.expected(order)
        written.append(base_of(archive) != before)
        assert written[-1] == base.is_to_be_written(archive.crawls, 0.25)
    assert {True, False} == set(written)
    manifest = json.loads(base_of(archive))
    assert manifest["words"] == 3
    assert max(manifest["slots"].values()) < most


def test_one_later_crawl_is_looked_up_and_many_are_merged(tmp_path):
    archive = Archive(tmp_path)
    for crawl, elements in {"a": range(100), "b": range(50, 150)}.items():
        archive.put(crawl, elements)
    archive.count("ab")
    first = base_of(archive)
    archive.put("c", range(140, 160))
    assert archive.count("abc") == archive.expected("abc")
    assert base_of(archive) == first
    archive.put("d", range(140, 260))
    assert archive.count("abcd") == archive.expected("abcd")
    assert base_of(archive) != first


def test_count_without_changes_reads_no_partition(tmp_path):
    archive = Archive(tmp_path)
    archive.put("a", range(10))
    archive.put("b", range(5, 20))
    partitions = archive.partitions("ab")
    before = archive.count("ab")
    for partition in partitions:
        partition.path.unlink()
    assert as_counter(KeptHistories(archive.state).count(partitions)) == before


@pytest.mark.parametrize("manifest", ["", "[]", "null", "{}", '{"words": "2"}', '{"other": 1}'])
def test_invalid_manifest_is_treated_as_empty(tmp_path, manifest):
    archive = Archive(tmp_path)
    archive.put("a", range(10))
    archive.count("a")
    (archive.state / "manifest.json").write_text(manifest)
    assert archive.count("a") == archive.expected("a")
    assert len(list(archive.state.glob("*-*"))) == 3


def test_other_sample_is_recounted_and_mixed_samples_raise(tmp_path):
    archive, kept = Archive(tmp_path), KeptHistories(tmp_path / "state")
    elements = np.array([str(element) for element in range(400)], dtype=object)
    found = {}
    for one_in in (1, 4):
        captures = [("a", elements, True), ("b", elements, True)]
        found[one_in] = list(archive.presence.write(captures, dict.fromkeys("ab", "1"), one_in=one_in))
        counts = kept.count(found[one_in])
        assert counts.distinct_elements == found[one_in][0].elements
    with pytest.raises(ValueError, match=r"one in 1 \(a\) and one in 4 \(b\): ingest them again"):
        kept.count([found[1][0], found[4][1]])


def test_replaced_partition_raises_and_keeps_the_state(tmp_path):
    archive = Archive(tmp_path)
    archive.put("a", range(10))
    archive.count("a")
    before = base_of(archive)
    archive.put("b", range(50))
    stale = archive.partitions("ab")
    archive.put("b", range(60))
    with pytest.raises(ValueError, match="was replaced while it was read"):
        KeptHistories(archive.state).count(stale)
    assert base_of(archive) == before
    assert archive.count("ab") == archive.expected("ab")
    assert not list(archive.state.glob("*.partial"))


@pytest.mark.parametrize("damage", ["manifest.json", "keys-*", "word0-*", "counts-*"])
@pytest.mark.parametrize("how", ["removed", "cut"])
def test_damaged_state_is_rebuilt(tmp_path, damage, how):
    archive = Archive(tmp_path)
    archive.put("a", range(10))
    archive.put("b", range(5, 20))
    archive.count("ab")
    (path,) = archive.state.glob(damage)
    path.unlink() if how == "removed" else path.write_bytes(path.read_bytes()[:-9])
    archive.put("c", range(3))
    assert archive.count("abc") == archive.expected("abc")
    assert len(list(archive.state.glob("*-*"))) == 3


def test_counts_do_not_depend_on_threads_or_arrival_order(tmp_path, small_blocks):
    rng = np.random.default_rng(3)
    archive = Archive(tmp_path)
    order = list("abcdefgh")
    for crawl in rng.permutation(order):
        archive.put(crawl, rng.choice(500, 200, replace=False).tolist())
        archive.count(sorted(archive.crawls), threads=1)
    grown = archive.count(order, threads=2)
    archive.state = tmp_path / "rebuilt"
    assert archive.count(order, threads=1) == grown == archive.expected(order)
    assert archive.count(order[::-1]) == archive.expected(order[::-1])


def test_counts_of_a_sample_are_multiplied(tmp_path):
    presence = PresenceFolder(tmp_path / "presence")
    elements = np.array([str(number) for number in range(4000)], dtype=object)
    captures = [("a", elements[:3000], True), ("b", elements[1000:], True)]
    partitions = list(presence.write(captures, {"a": "1", "b": "1"}, one_in=4))
    counts = KeptHistories(tmp_path / "state").count(partitions)
    assert set((counts.elements % 4).tolist()) == {0}
    assert np.diagonal(counts.intersections()).tolist() == [one.elements for one in partitions]


def test_progress_reports_rows_speed_and_time_left(tmp_path, small_blocks, monkeypatch):
    monkeypatch.setitem(Progress.__init__.__kwdefaults__, "every_seconds", 0.0)
    archive = Archive(tmp_path)
    archive.put("a", range(50))
    archive.put("b", range(50))
    lines = []
    archive.count("ab", report=lines.append)
    assert all("rows/s" in line for line in lines)
    assert "of 100 rows" in lines[0]
    assert "s left" in lines[0]
    assert "100 rows in" in lines[-1]


@pytest.mark.parametrize("crawls", [3, 70], ids=["one word", "two words"])
@pytest.mark.parametrize("counted", [0, 2, 3])
def test_reading_yields_every_key_with_its_history(tmp_path, small_blocks, crawls, counted):
    """The state may contain none, some or more of the crawls that are read; it does not change."""
    archive = Archive(tmp_path)
    labels = [f"crawl-{number}" for number in range(crawls)]
    for number, label in enumerate(labels):
        archive.put(label, [n for n in range(40) if (n * (number + 3)) % 7 < 4])
    if counted:
        archive.count(labels[-counted:])
    before = base_of(archive)
    order = labels[:-1]
    found, keys = Counter(), []
    for (part, words), slots in KeptHistories(archive.state).read(archive.partitions(order)):
        keys += part.tolist()
        seen = captured(words, slots)
        found.update(map(tuple, seen.tolist()))
        again = words_of(seen, slots, len(words))
        assert identify(again).tolist() == identify(words).tolist()
        assert len(set(identify(words).tolist())) == len(np.unique(words, axis=1).T)
    assert found == archive.expected(order)
    assert keys == sorted(set(keys))
    assert base_of(archive) == before
