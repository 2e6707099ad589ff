"""Decode the HyperLogLog sketches of Common Crawl's statistics and estimate the cardinality of their unions.

Does not read files; see `sketches`. Does not propagate the error of a sketch; see `urn.data.counting_error`.

The estimator is HyperLogLog++ [1]_ with linear counting and bias correction, and gives the same counts as `hyperloglog`
0.0.14, with which Common Crawl writes the sketches.

.. [1] S. Heule, M. Nunkesser and A. Hall, "HyperLogLog in practice: algorithmic engineering of a state of the art
   cardinality estimation algorithm", EDBT 2013.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    Registers = npt.NDArray[np.int8]

_HASH_BITS = 64
_SMALLEST_P, _LARGEST_P = 4, 16


def relative_error(p: int) -> float:
    """Return one standard error of a sketch of 2^p registers, as a fraction of its count."""
    return 1.04 / 2 ** (p / 2)


def decode_registers(value: Any) -> Registers:
    """Decode the registers of a sketch from its JSON value.

    Returns
    -------
    Registers, shape (2^p,).

    Raises
    ------
    ValueError
        When the value is not a sketch; the message states what was found and expected.
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
        raise ValueError(f"found a register that is not a whole number from 0 to {largest}")
    return np.array(registers, dtype=np.int8)


def cardinality(registers: Registers) -> float:
    """Estimate the number of elements in a sketch, from registers of shape (2^p,)."""
    from datasketch import HyperLogLogPlusPlus

    return float(HyperLogLogPlusPlus(reg=registers).count())


def pair_unions(sketches: Registers) -> npt.NDArray[np.int64]:
    """Estimate the cardinality of the union of every pair of sketches.

    Parameters
    ----------
    sketches
        Registers, shape (n_sketches, 2^p).

    Returns
    -------
    Unions, shape (n_sketches, n_sketches): the cardinality of each sketch on the diagonal, 0 below it.
    """
    import numpy as np

    return _upper_triangle(np.maximum(sketches[i], sketches[i:]) for i in range(len(sketches)))


def window_unions(sketches: Registers) -> npt.NDArray[np.int64]:
    """Estimate the cardinality of the union of every window of sketches, from i to j at [i, j].

    See `pair_unions` for parameters and shapes.
    """
    import numpy as np

    return _upper_triangle(np.maximum.accumulate(sketches[i:], axis=0) for i in range(len(sketches)))


def _upper_triangle(rows: Iterator[Registers]) -> npt.NDArray[np.int64]:
    """Estimate the cardinality of the sketches in each row, and align the rows at the last column."""
    import numpy as np

    counts = [[round(cardinality(registers)) for registers in row] for row in rows]
    return np.array([[0] * (len(counts) - len(row)) + row for row in counts], dtype=np.int64)
