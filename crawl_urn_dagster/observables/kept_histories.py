"""Kept capture histories: every key with its history, so that a new crawl costs what it has, not what all crawls have.

Here: the state on disk, and counting by passes over ranges of keys. Not here: partitions (`presence`), the merge of one
range (`merging`), what follows from the counts (`urn.histories`, `tables`), or another engine (`engines`).

The state is a *base* of some crawls, its keys ascending, so that every step works on one range of keys at a time, in
memory that does not depend on how many there are. A crawl has a *slot*, a bit of the history, which it keeps as long as
it is in the base; time order is the caller's. Crawls that came later are looked up in the base without changing it,
until they are many, or one that is in the base has changed or gone: then a new base is written beside the old one, and
named in the manifest when it is whole and on disk.
"""

from __future__ import annotations

import json
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from crawl_urn_dagster.atomic import exclusive, replacing
from crawl_urn_dagster.observables.history_arrays import (
    BITS,
    Histories,
    HistoryCounts,
    KeptRange,
    captured,
    change,
    combine,
    history,
    join,
    sum_by_history,
)
from crawl_urn_dagster.observables.keys import first_key
from crawl_urn_dagster.observables.presence import common_sample, read_keys
from crawl_urn_dagster.progress import Progress
from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from crawl_urn_dagster.observables.history_arrays import Words
    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.urn.data.histories import IntArray

# So many are sorted in the processor's cache.
_ROWS_PER_BLOCK = 2**18
# Of a pass: the keys as they were read, and merged blocks that wait to be written, with their histories.
_BYTES_PER_ROW = 64
# Rows of later crawls, of each row of the base, that are looked up each time rather than merged once.
_LOOKED_UP = 0.25

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Manifest:
    """What the state holds: by crawl its slot, and the content that was merged."""

    generation: str = ""
    rows: int = 0
    histories: int = 0
    words: int = 1
    one_in: int = 1
    slots: dict[str, int] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptHistories:
    """The kept state of a collection.

    Parameters
    ----------
    folder
        Holds the state and nothing else; it may be deleted when nothing runs, and is then built anew.
    """

    folder: Path

    def count(
        self,
        partitions: Sequence[Partition],
        *,
        memory_bytes: int = 2**32,
        threads: int | None = None,
        report: Callable[[str], object] | None = None,
    ) -> CaptureHistoryCounts:
        """Count how many elements have each history: of these partitions, whatever the state is of.

        Parameters
        ----------
        partitions
            At least one; one per crawl, in time order.
        memory_bytes
            Bound on what is worked on at once.
        threads
            None: as many as there are processors.
        report
            Takes lines of progress.

        Returns
        -------
        Counts of elements; multiples of the sampling factor, and so estimates, when the partitions are samples.

        Raises
        ------
        ValueError
            When the partitions are samples of different sizes, or one is replaced meanwhile.
        """
        one_in = common_sample(partitions)
        contents = {partition.crawl: partition.content for partition in partitions}
        with exclusive(self.folder):
            held = self._held()
            kept = {crawl: slot for crawl, slot in held.slots.items() if contents.get(crawl) == held.contents[crawl]}
            if held.one_in != one_in or not kept:
                held, kept = _Manifest(), {}
            added = [partition for partition in partitions if partition.crawl not in kept]
            slots = _with_free_slots(kept, added)
            n_words = max(held.words, max(slots.values()) // BITS + 1)
            passes = _Passes(
                keys=self._keys(held),
                words=self._words(held),
                added=added,
                alone=np.hstack(
                    [history([slots[one.crawl]], n_words) for one in added] or [history([], n_words)[:, :0]]
                ),
                one_in=one_in,
                memory_bytes=memory_bytes,
                threads=threads or _processors(),
                report=report,
            )
            if len(kept) == len(held.slots) and sum(one.rows for one in added) <= _LOOKED_UP * held.rows:
                changes = chain.from_iterable(passes.run("looking up captures in kept histories", change))
                counted = sum_by_history([self._counts(held, n_words), *changes])
            else:
                target = _Manifest(uuid.uuid4().hex, words=n_words, one_in=one_in, slots=slots, contents=contents)
                keep = history(kept.values(), n_words)
                work = partial(join, keep=keep)
                counted = self._write(target, passes.run("merging captures into histories", work))
        return CaptureHistoryCounts(
            captured(counted.words, [slots[crawl] for crawl in contents]), counted.elements * one_in
        )

    def _write(self, target: _Manifest, ranges: Iterable[tuple[Histories, list[HistoryCounts]]]) -> HistoryCounts:
        """Write a base, name it in the manifest, remove the one before, and return its counts."""
        rows = 0
        changes: list[HistoryCounts] = []
        with ExitStack() as files:
            keys_file, counts_file, *word_files = (
                files.enter_context(files.enter_context(replacing(path)).open("wb")) for path in self._paths(target)
            )
            for histories, counts in ranges:
                histories.keys.tofile(keys_file)
                for word, file in zip(histories.words, word_files, strict=True):
                    word.tofile(file)
                rows += len(histories.keys)
                changes += counts
            counted = sum_by_history(changes)
            counted.words.tofile(counts_file)
            counted.elements.tofile(counts_file)
        whole = replace(target, rows=rows, histories=len(counted.elements))
        with replacing(self._manifest) as temporary:
            temporary.write_text(json.dumps(asdict(whole), indent=1), encoding="utf-8")
        for path in set(self.folder.glob("*-*")) - set(self._paths(whole)):
            path.unlink()
        return counted

    def _held(self) -> _Manifest:
        """Read what the state is; that of no crawl when there is none, or its files are not whole."""
        try:
            held = _Manifest(**json.loads(self._manifest.read_text(encoding="utf-8")))
            sizes = [path.stat().st_size // 8 for path in self._paths(held)]
        except (FileNotFoundError, ValueError, TypeError):
            return _Manifest()
        return (
            held if sizes == [held.rows, held.histories * (held.words + 1), *[held.rows] * held.words] else _Manifest()
        )

    def _keys(self, held: _Manifest) -> IntArray:
        return np.memmap(self._paths(held)[0], np.int64, "r") if held.rows else np.empty(0, np.int64)

    def _words(self, held: _Manifest) -> list[npt.NDArray[np.uint64]]:
        return [np.memmap(path, np.uint64, "r") for path in self._paths(held)[2:]] if held.rows else []

    def _counts(self, held: _Manifest, n_words: int | None = None) -> HistoryCounts:
        words = np.zeros((n_words or held.words, held.histories), dtype=np.uint64)
        if not held.histories:
            return HistoryCounts(words, np.empty(0, np.int64))
        numbers = np.fromfile(self._paths(held)[1], np.uint64).reshape(held.words + 1, held.histories)
        words[: held.words] = numbers[:-1]
        return HistoryCounts(words, numbers[-1].view(np.int64))

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    def _paths(self, held: _Manifest) -> list[Path]:
        """Files of a generation: keys, counts, and one per word of the histories."""
        kinds = ["keys", "counts", *(f"word{word}" for word in range(held.words))]
        return [self.folder / f"{kind}-{held.generation}" for kind in kinds]


@dataclass(frozen=True)
class _Passes:
    """Work on all keys, range after range.

    Attributes
    ----------
    keys, words
        The base: keys, and each word of their histories.
    added
        Partitions that are not in it.
    alone
        History of an element that is in one of them alone, shape (words, partitions).
    one_in
        The keys are in the lowest part of so many.
    memory_bytes, threads, report
        See `KeptHistories.count`.
    """

    keys: IntArray
    words: list[npt.NDArray[np.uint64]]
    added: Sequence[Partition]
    alone: Words
    one_in: int
    memory_bytes: int
    threads: int
    report: Callable[[str], object] | None

    def run(self, doing: str, work: Callable[..., _Result]) -> Iterator[_Result]:
        """Give what some work makes of each range, in order; several are worked on at once, as memory allows.

        Parameters
        ----------
        work
            Called with ``held`` and ``added`` histories of a range.
        """
        rows = len(self.keys) + sum(partition.rows for partition in self.added)
        parts = 1 + rows // _ROWS_PER_BLOCK
        at_once = max(1, self.memory_bytes // (_BYTES_PER_ROW * _ROWS_PER_BLOCK))
        edges = [first_key(part, parts * self.one_in) for part in range(parts + 1)]
        progress = Progress(doing, rows, self.report) if self.report else None
        with ThreadPoolExecutor(self.threads) as pool:
            for first in range(0, parts, at_once):
                lows = edges[first : min(first + at_once, parts)]
                high = edges[first + len(lows)] - 1
                crawls = list(pool.map(read_keys, self.added, repeat(lows[0]), repeat(high)))
                cuts = [_cuts(keys, lows, high) for keys in (self.keys, *crawls)]
                for part, result in enumerate(pool.map(partial(self._range, work, crawls, cuts), range(len(lows)))):
                    yield result
                    if progress:
                        progress.advance(sum(cut[part + 1] - cut[part] for cut in cuts))
        if progress:
            progress.finish()

    def _range(self, work: Callable[..., _Result], crawls: list[IntArray], cuts: list[list[int]], part: int) -> _Result:
        kept, *of_crawls = (slice(*cut[part : part + 2]) for cut in cuts)
        return work(
            held=KeptRange(self.keys[kept], [word[kept] for word in self.words]),
            added=combine([keys[here] for keys, here in zip(crawls, of_crawls, strict=True)], self.alone),
        )


def _with_free_slots(kept: dict[str, int], added: Sequence[Partition]) -> dict[str, int]:
    """Return the slots of all crawls: those that are kept stay, the others get the lowest that are free."""
    taken = set(kept.values())
    free = (slot for slot in count() if slot not in taken)
    return {**kept, **dict(zip((partition.crawl for partition in added), free, strict=False))}


def _cuts(keys: IntArray, lows: list[int], high: int) -> list[int]:
    """Where in ascending keys each range starts, and the last one ends."""
    return [*np.searchsorted(keys, lows).tolist(), int(np.searchsorted(keys, high, side="right"))]


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
