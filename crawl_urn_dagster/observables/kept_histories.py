"""Keep the capture history of every key on disk; adding a crawl then costs only that crawl's captures.

Does not write partitions (`presence`), merge a range of keys (`history_arrays`) or derive observables (`tables`).

The state is a *base*: the histories of some crawls, sorted by key. Every step works on one range of keys at a time, so
its memory does not depend on the number of keys. A crawl has a *slot*, a bit of the history, which it keeps as long as
it is in the base; slots are not in time order. Later crawls are looked up in the base without changing it. When there
are many of them, or a crawl of the base has changed or gone, a new base is written next to the old one. The manifest
names the new base once it is complete and on disk.
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
    merge,
    single_captures,
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

# This many keys are sorted within the processor's cache.
_ROWS_PER_BLOCK = 2**18
# Memory of a pass: keys as read, and merged blocks with their histories that wait to be written.
_BYTES_PER_ROW = 64
# Rows of later crawls per row of the base up to which looking them up in every run is cheaper than a new base.
_MAX_LOOKED_UP = 0.25

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Manifest:
    """Contents of the state: the slot and the merged revision of each crawl, and the size of the base."""

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
        Contains only the state. It may be deleted while nothing runs; the next count rebuilds it.
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
        """Count the elements with each capture history over these partitions, whatever crawls the state contains.

        Parameters
        ----------
        partitions
            At least one; one per crawl, in time order.
        memory_bytes
            Bound on the memory of the keys that are processed at once.
        threads, report
            Number of threads, None for one per processor, and receiver of lines of progress.

        Returns
        -------
        Counts of elements. If the partitions are samples, these are the sampled counts times ``one_in``.

        Raises
        ------
        ValueError
            If the partitions have different sampling fractions, or one is replaced meanwhile.
        """
        contents = {partition.crawl: partition.content for partition in partitions}
        with exclusive(self.folder):
            base, kept, passes = self._plan(partitions, memory_bytes, threads, report)
            n_words = len(passes.alone)
            if len(kept) == len(base.slots) and sum(one.rows for one in passes.added) <= _MAX_LOOKED_UP * base.rows:
                changes = chain.from_iterable(passes.run("looking up captures in kept histories", change))
                totals = sum_by_history([self._counts(base, n_words), *changes])
            else:
                target = _Manifest(
                    uuid.uuid4().hex, words=n_words, one_in=passes.one_in, slots=passes.slots, contents=contents
                )
                merged = partial(join, keep=history(kept.values(), n_words))
                totals = self._write(target, passes.run("merging captures into histories", merged))
        return CaptureHistoryCounts(
            captured(totals.words, [passes.slots[crawl] for crawl in contents]), totals.elements * passes.one_in
        )

    def read(
        self,
        partitions: Sequence[Partition],
        *,
        memory_bytes: int = 2**32,
        threads: int | None = None,
        report: Callable[[str], object] | None = None,
    ) -> Iterator[tuple[Histories, list[int]]]:
        """Yield every key with its history, in ascending order, in ranges that fit the memory.

        Crawls that the state does not contain are merged on the way; the state does not change.

        Parameters
        ----------
        partitions, memory_bytes, threads, report
            As in `count`.

        Yields
        ------
        Histories of a range of keys, and the slot of each partition.
        """
        with exclusive(self.folder):
            _, kept, passes = self._plan(partitions, memory_bytes, threads, report)
            merged = partial(merge, keep=history(kept.values(), len(passes.alone)))
            slots = [passes.slots[partition.crawl] for partition in partitions]
            yield from ((found, slots) for found in passes.run("reading histories", merged))

    def _plan(
        self,
        partitions: Sequence[Partition],
        memory_bytes: int,
        threads: int | None,
        report: Callable[[str], object] | None,
    ) -> tuple[_Manifest, dict[str, int], _Passes]:
        """Return the usable base, the slots of its crawls that are unchanged, and the pass that adds the others."""
        one_in = common_sample(partitions)
        contents = {partition.crawl: partition.content for partition in partitions}
        base = self._read_manifest()
        kept = {crawl: slot for crawl, slot in base.slots.items() if contents.get(crawl) == base.contents[crawl]}
        if base.one_in != one_in or not kept:
            base, kept = _Manifest(), {}
        added = [partition for partition in partitions if partition.crawl not in kept]
        slots = _with_free_slots(kept, added)
        n_words = max(base.words, max(slots.values()) // BITS + 1)
        passes = _Passes(
            keys=self._keys(base),
            words=self._words(base),
            added=added,
            slots=slots,
            alone=single_captures([slots[one.crawl] for one in added], n_words),
            one_in=one_in,
            memory_bytes=memory_bytes,
            threads=threads or _n_processors(),
            report=report,
        )
        return base, kept, passes

    def _write(self, target: _Manifest, ranges: Iterable[tuple[Histories, list[HistoryCounts]]]) -> HistoryCounts:
        """Write a base, name it in the manifest, remove the previous base and return the new counts."""
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
            totals = sum_by_history(changes)
            totals.words.tofile(counts_file)
            totals.elements.tofile(counts_file)
        complete = replace(target, rows=rows, histories=len(totals.elements))
        with replacing(self._manifest) as temporary:
            temporary.write_text(json.dumps(asdict(complete), indent=1), encoding="utf-8")
        for path in set(self.folder.glob("*-*")) - set(self._paths(complete)):
            path.unlink()
        return totals

    def _read_manifest(self) -> _Manifest:
        """Read the manifest; an empty one if the state is missing or its files are incomplete."""
        try:
            base = _Manifest(**json.loads(self._manifest.read_text(encoding="utf-8")))
            sizes = [path.stat().st_size // 8 for path in self._paths(base)]
        except (FileNotFoundError, ValueError, TypeError):
            return _Manifest()
        expected = [base.rows, base.histories * (base.words + 1), *[base.rows] * base.words]
        return base if sizes == expected else _Manifest()

    def _keys(self, base: _Manifest) -> IntArray:
        return np.memmap(self._paths(base)[0], np.int64, "r") if base.rows else np.empty(0, np.int64)

    def _words(self, base: _Manifest) -> list[npt.NDArray[np.uint64]]:
        return [np.memmap(path, np.uint64, "r") for path in self._paths(base)[2:]] if base.rows else []

    def _counts(self, base: _Manifest, n_words: int) -> HistoryCounts:
        words = np.zeros((n_words, base.histories), dtype=np.uint64)
        if not base.histories:
            return HistoryCounts(words, np.empty(0, np.int64))
        numbers = np.fromfile(self._paths(base)[1], np.uint64).reshape(base.words + 1, base.histories)
        words[: base.words] = numbers[:-1]
        return HistoryCounts(words, numbers[-1].view(np.int64))

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    def _paths(self, base: _Manifest) -> list[Path]:
        """Return the files of a base: keys, counts, and one per word of the histories."""
        names = ["keys", "counts", *(f"word{word}" for word in range(base.words))]
        return [self.folder / f"{name}-{base.generation}" for name in names]


@dataclass(frozen=True)
class _Passes:
    """A computation on all keys, one range after another.

    Attributes
    ----------
    keys, words
        The base: keys, and each word of their histories.
    added
        Partitions that are not in the base.
    slots
        Slot of each crawl, kept and added.
    alone
        History of an element that only one of these partitions contains, shape (words, partitions).
    one_in
        Inverse of the sampling fraction; keys are in the lowest ``1 / one_in`` of the key space.
    memory_bytes, threads, report
        See `KeptHistories.count`.
    """

    keys: IntArray
    words: list[npt.NDArray[np.uint64]]
    added: Sequence[Partition]
    slots: dict[str, int]
    alone: Words
    one_in: int
    memory_bytes: int
    threads: int
    report: Callable[[str], object] | None

    def run(self, doing: str, compute: Callable[..., _Result]) -> Iterator[_Result]:
        """Yield the result of each range in order; ranges run in parallel as memory allows.

        Parameters
        ----------
        doing
            Start of the lines of progress.
        compute
            Called with the ``held`` and ``added`` histories of a range.
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
                cuts = [_range_starts(keys, lows, high) for keys in (self.keys, *crawls)]
                ranges = pool.map(partial(self._compute_range, compute, crawls, cuts), range(len(lows)))
                for part, result in enumerate(ranges):
                    yield result
                    if progress:
                        progress.advance(sum(cut[part + 1] - cut[part] for cut in cuts))
        if progress:
            progress.finish()

    def _compute_range(
        self, compute: Callable[..., _Result], crawls: list[IntArray], cuts: list[list[int]], part: int
    ) -> _Result:
        kept, *crawl_slices = (slice(*cut[part : part + 2]) for cut in cuts)
        return compute(
            held=KeptRange(self.keys[kept], [word[kept] for word in self.words]),
            added=combine([keys[inside] for keys, inside in zip(crawls, crawl_slices, strict=True)], self.alone),
        )


def _with_free_slots(kept: dict[str, int], added: Sequence[Partition]) -> dict[str, int]:
    """Return the slots of all crawls: kept crawls keep theirs, added crawls get the lowest free ones."""
    taken = set(kept.values())
    free = (slot for slot in count() if slot not in taken)
    return {**kept, **dict(zip((partition.crawl for partition in added), free, strict=False))}


def _range_starts(keys: IntArray, lows: list[int], high: int) -> list[int]:
    """Return the position in ascending keys at which each range starts and the last one ends."""
    return [*np.searchsorted(keys, lows).tolist(), int(np.searchsorted(keys, high, side="right"))]


def _n_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
