"""Merge and count capture histories of keys, as arrays, for one range of keys at a time.

Does not read or write files and does not choose the ranges; see `kept_histories`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from crawl_urn_dagster.urn.data.histories import BoolArray, IntArray  # noqa: TC001 - fields of named tuples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Histories as machine words, shape (words, rows): slot s is bit s % 64 of word s // 64.
Words = npt.NDArray[np.uint64]

BITS = 64


class Histories(NamedTuple):
    """Distinct keys in ascending order with the history of each; no history is empty."""

    keys: IntArray
    words: Words


class KeptRange(NamedTuple):
    """Histories as they are stored: one array per word, possibly fewer words than needed now."""

    keys: IntArray
    words: Sequence[npt.NDArray[np.uint64]]


class HistoryCounts(NamedTuple):
    """Distinct histories and the number of elements with each; in a change, the difference of that number."""

    words: Words
    elements: IntArray


def history(slots: Iterable[int], n_words: int) -> Words:
    """Return the history with these slots set, shape (words, 1).

    Examples
    --------
    >>> history([0, 2, 64], n_words=2).ravel().tolist()
    [5, 1]
    """
    words = [0] * n_words
    for slot in slots:
        words[slot // BITS] |= 1 << slot % BITS
    return np.array(words, dtype=np.uint64)[:, None]


def single_captures(slots: Iterable[int], n_words: int) -> Words:
    """Return for each slot the history of an element captured in it alone, shape (words, slots)."""
    return np.hstack([np.empty((n_words, 0), dtype=np.uint64), *(history([slot], n_words) for slot in slots)])


def combine(crawls: Sequence[IntArray], alone: Words) -> Histories:
    """Return the histories of the keys of several crawls.

    Parameters
    ----------
    crawls
        Distinct keys of each crawl.
    alone
        History of an element that only one of the crawls captured, shape (words, crawls).
    """
    keys = np.concatenate([np.empty(0, dtype=np.int64), *crawls])
    order = np.argsort(keys)
    keys = keys[order]
    starts = _run_starts(keys[None])
    captures = [len(crawl) for crawl in crawls]
    words = [np.bitwise_or.reduceat(np.repeat(word, captures)[order], starts) for word in alone]
    return Histories(keys[starts], np.stack(words))


def merge(held: KeptRange, keep: Words, added: Histories) -> Histories:
    """Clear slots of kept histories and merge added histories into them.

    Parameters
    ----------
    held
        Kept histories.
    keep
        Slots that stay, as a history; all others are cleared.
    added
        Histories of the new crawls, in other slots.

    Returns
    -------
    The merged histories, without those that are now empty.
    """
    if len(held.keys):
        position, is_new = _lookup(held.keys, added.keys)
        target = position + np.cumsum(is_new) - is_new
        was_held = np.ones(len(held.keys) + np.count_nonzero(is_new), dtype=np.bool_)
        was_held[target[is_new]] = False
        keys = np.empty(len(was_held), dtype=np.int64)
        keys[was_held] = held.keys
        keys[target] = added.keys
        words = np.zeros((len(keep), len(keys)), dtype=np.uint64)
        for after, before, kept in zip(words, held.words, keep, strict=False):
            after[was_held] = before & kept
        words[:, target] |= added.words
        is_captured = words.any(axis=0)
        added = Histories(keys, words) if is_captured.all() else Histories(keys[is_captured], words[:, is_captured])
    return added


def join(held: KeptRange, keep: Words, added: Histories) -> tuple[Histories, list[HistoryCounts]]:
    """Return the histories that `merge` returns, and their counts; parameters as in `merge`."""
    merged = merge(held, keep, added)
    return merged, [count_by_history(merged.words)]


def change(held: KeptRange, added: Histories) -> list[HistoryCounts]:
    """Return the change of the counts of kept histories when others are merged in; parameters as in `merge`."""
    position, is_new = _lookup(held.keys, added.keys)
    was_held, position = np.flatnonzero(~is_new), position[~is_new]
    before = np.zeros((len(added.words), len(position)), dtype=np.uint64)
    for word, bits in zip(before, held.words, strict=False):
        word[:] = bits[position]
    after = added.words.copy()
    after[:, was_held] |= before
    removed = count_by_history(before)
    return [HistoryCounts(removed.words, -removed.elements), count_by_history(after)]


def captured(words: Words, slots: Sequence[int]) -> BoolArray:
    """Return whether each history has each of these slots set, shape (histories, slots)."""
    as_bytes = np.ascontiguousarray(words.T).astype("<u8", copy=False).view(np.uint8)
    return np.take(np.unpackbits(as_bytes, axis=1, bitorder="little"), slots, axis=1).view(np.bool_)


def words_of(seen: BoolArray, slots: Sequence[int], n_words: int) -> Words:
    """Return histories as words, the inverse of `captured`.

    Examples
    --------
    >>> words_of(np.array([[True, False, True]]), [0, 1, 64], n_words=2).tolist()
    [[1], [1]]
    """
    bits = np.zeros((len(seen), n_words * BITS), dtype=np.uint8)
    bits[:, slots] = seen
    packed = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    return np.ascontiguousarray(packed.T)


def identify(words: Words) -> npt.NDArray[np.uint64]:
    """Return a number for each history: the history itself if it has one word, else a hash.

    Two of n histories of several words have the same number with a probability of about n² / 2^65.
    """
    if len(words) == 1:
        return np.asarray(words[0])
    result: npt.NDArray[np.uint64] = np.zeros(words.shape[1], dtype=np.uint64)
    for word in words:
        # The finaliser of SplitMix64, applied after each word.
        result = (result ^ word) * np.uint64(0x9E3779B97F4A7C15)
        result = (result ^ (result >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        result ^= result >> np.uint64(27)
    return result


def count_by_history(words: Words) -> HistoryCounts:
    """Count how often each history occurs.

    Examples
    --------
    >>> counts = count_by_history(np.array([[1, 3, 1]], dtype=np.uint64))
    >>> counts.words.tolist(), counts.elements.tolist()
    ([[1, 3]], [2, 1])
    """
    ordered = np.sort(words) if len(words) == 1 else words[:, np.lexsort(words)]
    starts = _run_starts(ordered)
    return HistoryCounts(ordered[:, starts], np.diff(starts, append=words.shape[1]))


def sum_by_history(counts: Iterable[HistoryCounts]) -> HistoryCounts:
    """Add up counts by history and drop histories whose sum is 0."""
    parts = list(counts)
    words = np.concatenate([part.words for part in parts], axis=1)
    order = np.lexsort(words)
    words, elements = words[:, order], np.concatenate([part.elements for part in parts])[order]
    starts = _run_starts(words)
    words, elements = words[:, starts], np.add.reduceat(elements, starts)
    return HistoryCounts(words[:, elements != 0], elements[elements != 0])


def _lookup(keys: IntArray, wanted: IntArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the insertion points of keys in ascending keys, and whether each key is absent."""
    position = np.searchsorted(keys, wanted)
    is_new = position == len(keys)
    is_new[~is_new] = keys[position[~is_new]] != wanted[~is_new]
    return position, is_new


def _run_starts(rows: npt.NDArray[np.int64] | Words) -> npt.NDArray[np.intp]:
    """Return the positions in shape (words, rows) at which a row differs from the previous one."""
    differs = np.ones(rows.shape[1], dtype=np.bool_)
    differs[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    return np.flatnonzero(differs)
