"""HyperLogLog sketches as Common Crawl's statistics have them: what they count, alone and united.

Here: registers and cardinalities. Not here: the files they are in (`common_crawl_sketches`), or what the error of a
sketch makes of an interval (`urn.counting_error`).

The estimator is that of `hyperloglog` 0.0.14, with which Common Crawl writes the sketches: HyperLogLog++ (Heule,
Nunkesser and Hall 2013), its linear counting and its correction of bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Registers = npt.NDArray[np.int8]

_HASH_BITS = 64
_SMALLEST_P, _LARGEST_P = 4, 16


def relative_error(p: int) -> float:
    """One standard error of a sketch of 2^p registers, as a fraction of what it counts."""
    return 1.04 / 2 ** (p / 2)


def decode_registers(value: Any) -> Registers:
    """Return the registers of a sketch as it is in JSON.

    Raises
    ------
    ValueError
        When it is no sketch; the message says why, and what was expected.
    """
    import numpy as np

    if not isinstance(value, dict) or value.get("__type__") != "HyperLogLog":
        raise ValueError(f"found {str(value)[:60]}, expected an object with __type__ HyperLogLog")
    p, registers = value.get("p"), value.get("M")
    if type(p) is not int or not _SMALLEST_P <= p <= _LARGEST_P:
        raise ValueError(f"found p {str(p)[:20]}, expected {_SMALLEST_P} to {_LARGEST_P}")
    if not isinstance(registers, list) or len(registers) != 2**p or value.get("m") != 2**p:
        raise ValueError(f"found p {p} and another number of registers, expected M to have m = {2**p} of them")
    largest = _HASH_BITS - p + 1
    if not all(type(register) is int and 0 <= register <= largest for register in registers):
        raise ValueError(f"found a register that is no whole number from 0 to {largest}")
    return np.array(registers, dtype=np.int8)


def cardinality(registers: Registers) -> float:
    """Estimate how many elements a sketch has seen, from registers of shape (2^p,)."""
    from datasketch import HyperLogLogPlusPlus

    return float(HyperLogLogPlusPlus(reg=registers).count())


def pair_unions(sketches: Registers) -> npt.NDArray[np.int64]:
    """Estimate the union of every pair of sketches, from shape (sketches, 2^p); shape (sketches, sketches).

    On the diagonal is what each has alone; below it, 0.
    """
    import numpy as np

    n = len(sketches)
    unions = np.zeros((n, n), dtype=np.int64)
    for i, j in zip(*np.triu_indices(n), strict=True):
        unions[i, j] = round(cardinality(np.maximum(sketches[i], sketches[j])))
    return unions


def window_unions(sketches: Registers) -> npt.NDArray[np.int64]:
    """Estimate the union of every run of sketches, from i to j at [i, j]; shapes as of `pair_unions`."""
    import numpy as np

    n = len(sketches)
    unions = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        for j, united in enumerate(np.maximum.accumulate(sketches[i:], axis=0), start=i):
            unions[i, j] = round(cardinality(united))
    return unions
