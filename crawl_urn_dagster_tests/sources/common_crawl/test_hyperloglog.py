"""Test sketches against the library that Common Crawl writes them with."""

import numpy as np
import pytest
from hyperloglog import HyperLogLog

from crawl_urn_dagster.sources.common_crawl.hyperloglog import (
    cardinality,
    decode_registers,
    pair_unions,
    relative_error,
    window_unions,
)


def reference(registers):
    """Return the count of `hyperloglog` from the same registers."""
    p = len(registers).bit_length() - 1
    sketch = HyperLogLog(1.04 / 2 ** (p / 2) * 1.0001)
    assert sketch.p == p
    sketch.M = registers.tolist()
    return sketch.card()


def sketched(rng, n, p=14):
    """Return registers after n elements: each is the maximum of a Poisson number of geometric ranks."""
    fewest = -np.log(rng.random(2**p)) / (n / 2**p)
    return np.clip(np.ceil(-np.log2(fewest)), 0, 64 - p + 1).astype(np.int8)


@pytest.mark.parametrize("p", [4, 7, 12, 14, 16])
@pytest.mark.parametrize("load", [0.0, 0.01, 0.3, 0.7, 1.0, 2.5, 4.9, 5.1, 1e3, 1e6])
def test_cardinality_equals_that_of_hyperloglog(p, load):
    """Loads range from an empty sketch through linear counting and bias correction to billions."""
    rng = np.random.default_rng(p)
    registers = sketched(rng, load * 2**p, p) if load else np.zeros(2**p, dtype=np.int8)
    assert cardinality(registers) == pytest.approx(reference(registers), rel=1e-12)


def test_union_of_real_elements():
    first, second = HyperLogLog(0.01), HyperLogLog(0.01)
    for number in range(3000):
        first.add(f"https://example.org/{number}")
        second.add(f"https://example.org/{number + 1500}")
    registers = np.array([first.M, second.M], dtype=np.int8)
    unions = pair_unions(registers)
    assert unions.tolist() == window_unions(registers).tolist()
    assert np.diagonal(unions).tolist() == [len(first), len(second)]
    first.update(second)
    assert unions[0, 1] == len(first) == pytest.approx(4500, rel=5 * relative_error(14))


def test_unions_have_the_named_crawls():
    rng = np.random.default_rng(5)
    registers = np.stack([sketched(rng, n) for n in (1e5, 3e5, 2e5)])
    pairs, windows = pair_unions(registers), window_unions(registers)
    assert pairs[0, 2] == round(reference(np.maximum(registers[0], registers[2])))
    assert windows[0, 2] == round(reference(registers.max(axis=0)))
    assert np.tril(pairs, -1).any() == np.tril(windows, -1).any() == False  # noqa: E712


GOOD = {"__type__": "HyperLogLog", "p": 4, "m": 16, "M": [0, 1, 61] + [2] * 13}


def test_valid_registers_are_decoded():
    assert decode_registers(GOOD).tolist() == GOOD["M"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "expected an object with __type__ HyperLogLog"),
        ({"__type__": "HyperLogLogPlus"}, "expected an object with __type__"),
        ({"p": True}, "found p True, expected 4 to 16"),
        ({"p": 3}, "expected 4 to 16"),
        ({"p": 10**9}, "expected 4 to 16"),
        ({"p": 5}, "found p 5 and another number of registers, expected M to have m = 32"),
        ({"m": 17}, "another number of registers"),
        ({"M": "0" * 16}, "another number of registers"),
        ({"M": [0] * 15 + [62]}, "found a register that is not a whole number from 0 to 61"),
        ({"M": [0] * 15 + [-1]}, "not a whole number"),
        ({"M": [0] * 15 + [1.0]}, "not a whole number"),
        ({"M": [0] * 15 + [True]}, "not a whole number"),
    ],
)
def test_other_values_are_errors(wrong, message):
    with pytest.raises(ValueError, match=message):
        decode_registers(GOOD | wrong if isinstance(wrong, dict) else wrong)
