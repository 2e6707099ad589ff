"""Sample a shell element by element, and count captures by pair of crawls.

Does not choose coverage and survival, nor scale the counts; see `replicates`.

An element occupies a place, and an element that is born takes the place of one that is no longer eligible. Places are
bits of words, so one operation handles 64 of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import BoolArray, FloatArray

    Words: TypeAlias = npt.NDArray[np.uint64]

_Number = TypeVar("_Number", bound=np.generic)


class Sample(NamedTuple):
    """Counts of a shell, or of many shells on a leading axis.

    Attributes
    ----------
    sizes
        Elements in each crawl, shape (..., crawls).
    overlaps, recaptures
        Elements in i and j, and elements in i whose first return is j, shape (..., crawls, crawls); 0 unless i < j.
    in_all
        Elements in all crawls, shape (...).
    """

    sizes: FloatArray
    overlaps: FloatArray
    recaptures: FloatArray
    in_all: FloatArray


class Captures(NamedTuple):
    """Places of a sampled shell, 64 to a word, or of many shells on a leading axis.

    Attributes
    ----------
    captured
        Whether each crawl captured the element in the place, shape (..., crawls, words).
    kept
        Whether the element in the place is still eligible in the next crawl, shape (..., crawls - 1, words).
    """

    captured: Words
    kept: Words


def sample_shell(
    rng: np.random.Generator,
    coverage: FloatArray,
    survival: FloatArray,
    n: int,
    *,
    births_vary: bool,
    n_marks: int,
) -> tuple[Captures, FloatArray]:
    """Sample an urn of n elements, or of n on average, and sketch each crawl, shape (crawls, marks).

    Each birth replaces a death. In a sample of a larger urn the number of births is Poisson and independent of the
    deaths. An element has exponentially distributed marks, and the sketch of a crawl is the smallest of each mark.
    """
    if not births_vary and not n_marks:
        drawn = rng.random((2 * len(coverage) - 1, n))
        captured, kept = drawn[::2] < coverage[:, None], drawn[1::2] < survival[:, None]
        return Captures(_packed(captured), _packed(kept)), np.zeros((len(coverage), 0))
    return _sample_of_larger(rng, coverage, survival, n, births_vary=births_vary, n_marks=n_marks)


def _sample_of_larger(
    rng: np.random.Generator,
    coverage: FloatArray,
    survival: FloatArray,
    n: int,
    *,
    births_vary: bool,
    n_marks: int,
) -> tuple[Captures, FloatArray]:
    """Sample an urn whose number of elements varies, or whose elements have marks; see `sample_shell`."""
    n_crawls = len(coverage)
    captured, kept = [], []
    alive = np.ones(rng.poisson(n) if births_vary else n, dtype=bool)
    marks, smallest = rng.standard_exponential((len(alive), n_marks)), np.zeros((n_crawls, n_marks))
    for crawl in range(n_crawls):
        caught = alive & (rng.random(len(alive)) < coverage[crawl])
        captured.append(caught)
        smallest[crawl] = marks[caught].min(axis=0, initial=np.inf)
        if crawl < n_crawls - 1:
            dead = alive & (rng.random(len(alive)) >= survival[crawl])
            kept.append(alive & ~dead)
            births = int(rng.poisson(n * (1 - survival[crawl])) if births_vary else np.count_nonzero(dead))
            alive &= ~dead
            more = max(births - int(np.count_nonzero(~alive)), 0)
            alive, marks = (_with_rows(table, more) for table in (alive, marks))
            born = np.flatnonzero(~alive)[:births]
            alive[born] = True
            marks[born] = rng.standard_exponential((births, n_marks))
    tables = (np.stack([_with_rows(row, len(alive) - len(row)) for row in rows]) for rows in (captured, kept))
    return Captures(*map(_packed, tables)), smallest


def _packed(table: BoolArray) -> Words:
    """Pack a table of truth values 64 to a word along its last axis."""
    padded = np.zeros((*table.shape[:-1], -(-table.shape[-1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(table, axis=-1)
    padded[..., : packed.shape[-1]] = packed
    return padded.view(np.uint64)


def stack_captures(samples: Sequence[Captures]) -> Captures:
    """Stack samples, which may differ in the number of places, on a leading axis."""
    most = max(sample.captured.shape[-1] for sample in samples)
    parts = (
        [np.pad(table, ((0, 0), (0, most - table.shape[-1]))) for table in tables]
        for tables in zip(*samples, strict=True)
    )
    return Captures(*map(np.stack, parts))


def count_captures(captured: Words, kept: Words) -> Sample:
    """Count the captures of samples on a leading axis, for `Captures`."""
    n_crawls = captured.shape[-2]
    overlaps, recaptures = np.zeros((2, *captured.shape[:-2], n_crawls, n_crawls))
    # Captures of crawl i whose element is eligible `lag` crawls later, and those that no crawl in between captured.
    eligible = missed = captured
    for lag in range(1, n_crawls):
        still, later = kept[..., lag - 1 :, :], captured[..., lag:, :]
        eligible, missed = eligible[..., :-1, :] & still, missed[..., :-1, :] & still
        i, j = np.arange(n_crawls - lag), np.arange(lag, n_crawls)
        overlaps[..., i, j], recaptures[..., i, j] = _size(eligible & later), _size(missed & later)
        missed &= ~later
    in_all = np.bitwise_and.reduce(captured, axis=-2) & np.bitwise_and.reduce(kept, axis=-2)
    return Sample(_size(captured), overlaps, recaptures, _size(in_all))


def _size(words: Words) -> FloatArray:
    """Return the number of places in sets of places, shape (...), from shape (..., words)."""
    return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.float64))


def _with_rows(table: npt.NDArray[_Number], more: int) -> npt.NDArray[_Number]:
    return np.concatenate([table, np.zeros((more, *table.shape[1:]), dtype=table.dtype)]) if more else table
