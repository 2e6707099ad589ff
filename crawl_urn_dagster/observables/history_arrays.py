"""Histories of keys, and what becomes of them when crawls are merged: arrays in, arrays out.

Here: one range of keys at a time. Not here: files, or how the ranges are chosen (`histories`).
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
    """Keys, ascending and distinct, and the history of each; a history is never empty."""

    keys: IntArray
    words: Words


class KeptRange(NamedTuple):
    """Histories as they are kept: a word is an array of its own, and there may be fewer of them than are needed now."""

    keys: IntArray
    words: Sequence[npt.NDArray[np.uint64]]


class HistoryCounts(NamedTuple):
    """Distinct histories, and how many elements have each; in a change, how many more."""

    words: Words
    elements: IntArray


def history(slots: Iterable[int], n_words: int) -> Words:
    """Return the history that has some slots, shape (words, 1)."""
    words = [0] * n_words
    for slot in slots:
        words[slot // BITS] |= 1 << slot % BITS
    return np.array(words, dtype=np.uint64)[:, None]


def combine(crawls: Sequence[IntArray], alone: Words) -> Histories:
    """Histories of the keys of some crawls.

    Parameters
    ----------
    crawls
        Distinct keys of each crawl.
    alone
        History of an element that is in one crawl alone, shape (words, crawls).
    """
    keys = np.concatenate([np.empty(0, dtype=np.int64), *crawls])
    order = np.argsort(keys)
    keys = keys[order]
    starts = _starts(keys[None])
    captures = [len(some) for some in crawls]
    words = [np.bitwise_or.reduceat(np.repeat(word, captures)[order], starts) for word in alone]
    return Histories(keys[starts], np.stack(words))


def join(held: KeptRange, keep: Words, added: Histories) -> tuple[Histories, list[HistoryCounts]]:
    """Take the slots that are not kept out of held histories, and put in those of added ones.

    Parameters
    ----------
    held
        Histories before.
    keep
        The slots that stay, as a history.
    added
        Histories of the crawls that are new, in other slots.

    Returns
    -------
    The histories after, without those that are now empty, and their counts.
    """
    if len(held.keys):
        position, is_new = _lookup(held.keys, added.keys)
        at = position + np.cumsum(is_new) - is_new
        was_held = np.ones(len(held.keys) + np.count_nonzero(is_new), dtype=np.bool_)
        was_held[at[is_new]] = False
        keys = np.empty(len(was_held), dtype=np.int64)
        keys[was_held] = held.keys
        keys[at] = added.keys
        words = np.zeros((len(keep), len(keys)), dtype=np.uint64)
        for after, before, kept in zip(words, held.words, keep, strict=False):
            after[was_held] = before & kept
        words[:, at] |= added.words
        alive = words.any(axis=0)
        added = Histories(keys, words) if alive.all() else Histories(keys[alive], words[:, alive])
    return added, [count_by_history(added.words)]


def change(held: KeptRange, added: Histories) -> list[HistoryCounts]:
    """How the counts of held histories change when others are put in; arguments as of `join`."""
    position, is_new = _lookup(held.keys, added.keys)
    was_held, position = np.flatnonzero(~is_new), position[~is_new]
    before = np.zeros((len(added.words), len(position)), dtype=np.uint64)
    for word, bits in zip(before, held.words, strict=False):
        word[:] = bits[position]
    after = added.words.copy()
    after[:, was_held] |= before
    gone = count_by_history(before)
    return [HistoryCounts(gone.words, -gone.elements), count_by_history(after)]


def captured(words: Words, slots: Sequence[int]) -> BoolArray:
    """Return whether each history has each of some slots, shape (histories, slots)."""
    as_bytes = np.ascontiguousarray(words.T).astype("<u8", copy=False).view(np.uint8)
    return np.take(np.unpackbits(as_bytes, axis=1, bitorder="little"), slots, axis=1).view(np.bool_)


def _lookup(keys: IntArray, wanted: IntArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Where in ascending keys others are or would be, and whether they are not there."""
    position = np.searchsorted(keys, wanted)
    is_new = position == len(keys)
    is_new[~is_new] = keys[position[~is_new]] != wanted[~is_new]
    return position, is_new


def count_by_history(words: Words) -> HistoryCounts:
    """Count how often each history occurs."""
    ordered = np.sort(words) if len(words) == 1 else words[:, np.lexsort(words)]
    starts = _starts(ordered)
    return HistoryCounts(ordered[:, starts], np.diff(starts, append=words.shape[1]))


def sum_by_history(counts: Iterable[HistoryCounts]) -> HistoryCounts:
    """Add up counts; histories that no element has any more are dropped."""
    parts = list(counts)
    words = np.concatenate([some.words for some in parts], axis=1)
    order = np.lexsort(words)
    words, elements = words[:, order], np.concatenate([some.elements for some in parts])[order]
    starts = _starts(words)
    words, elements = words[:, starts], np.add.reduceat(elements, starts)
    return HistoryCounts(words[:, elements != 0], elements[elements != 0])


def _starts(rows: npt.NDArray[np.int64] | Words) -> npt.NDArray[np.intp]:
    """Positions in shape (words, rows) at which a row differs from the one before."""
    differs = np.ones(rows.shape[1], dtype=np.bool_)
    differs[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    return np.flatnonzero(differs)
