"""Merging and counting of histories as arrays, against plain dictionaries."""

from collections import Counter

import numpy as np
import pytest

from crawl_urn_dagster.observables.history_arrays import (
    HistoryCounts,
    KeptRange,
    captured,
    change,
    combine,
    history,
    join,
    single_captures,
    sum_by_history,
)

SLOTS = [3, 64, 130]
N_WORDS = 3


def as_dict(histories):
    """Return the slots of each key, by key."""
    seen = captured(histories.words, range(64 * N_WORDS))
    return {int(key): frozenset(np.flatnonzero(row).tolist()) for key, row in zip(histories.keys, seen, strict=True)}


def as_counter(counts):
    found = Counter()
    for row, elements in zip(captured(counts.words, range(64 * N_WORDS)), counts.elements, strict=True):
        found[frozenset(np.flatnonzero(row).tolist())] += int(elements)
    return +found


@pytest.fixture
def crawls():
    rng = np.random.default_rng(5)
    return {slot: np.sort(rng.choice(200, 60, replace=False)).astype(np.int64) for slot in SLOTS}


def expected(crawls):
    keys = sorted(set().union(*(keys.tolist() for keys in crawls.values())))
    return {key: frozenset(slot for slot, found in crawls.items() if key in found) for key in keys}


def test_combine_gives_the_history_of_each_key(crawls):
    found = combine(list(crawls.values()), single_captures(crawls, N_WORDS))
    assert as_dict(found) == expected(crawls)
    assert (np.diff(found.keys) > 0).all()


def test_join_clears_slots_and_merges_new_crawls(crawls):
    first, second = {slot: crawls[slot] for slot in SLOTS[:2]}, {130: crawls[130]}
    base = combine(list(first.values()), single_captures(first, N_WORDS))
    merged, counts = join(
        KeptRange(base.keys, list(base.words)),
        history([64], N_WORDS),
        combine(list(second.values()), single_captures(second, N_WORDS)),
    )
    after = expected({slot: crawls[slot] for slot in SLOTS[1:]})
    assert as_dict(merged) == after
    assert as_counter(sum_by_history(counts)) == Counter(after.values())


def test_change_plus_kept_counts_equals_the_merged_counts(crawls):
    first, second = {slot: crawls[slot] for slot in SLOTS[:2]}, {130: crawls[130]}
    base = combine(list(first.values()), single_captures(first, N_WORDS))
    # The kept range has fewer words than the added histories.
    kept = KeptRange(base.keys, list(base.words[:2]))
    changes = change(kept, combine(list(second.values()), single_captures(second, N_WORDS)))
    before = HistoryCounts(base.words, np.ones(len(base.keys), dtype=np.int64))
    assert as_counter(sum_by_history([before, *changes])) == Counter(expected(crawls).values())
