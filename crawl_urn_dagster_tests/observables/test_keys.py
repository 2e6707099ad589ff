"""Keys against a reference implementation of their hash."""

import itertools

import numpy as np
import pytest

from crawl_urn_dagster.observables.keys import (
    KEY_SPACE,
    LOWEST_KEY,
    element_keys,
    elements_in_sample,
    first_key,
    in_sample,
)

MASK = 2**64 - 1
TEXTS = ["", "a", "example.org", "https://é.example/ü?x=1", "x" * 300, "with\0nul", "日本語"]


def rotated(value, by):
    return (value << by | value >> (64 - by)) & MASK


def siphash(key, message):
    """SipHash-2-4 as its authors (Aumasson and Bernstein, 2012) define it."""
    k = [int.from_bytes(key[i : i + 8], "little") for i in (0, 8)]
    v = [k[0] ^ 0x736F6D6570736575, k[1] ^ 0x646F72616E646F6D, k[0] ^ 0x6C7967656E657261, k[1] ^ 0x7465646279746573]

    def rounds(times):
        for _ in range(times):
            v[0], v[2] = v[0] + v[1] & MASK, v[2] + v[3] & MASK
            v[1], v[3] = rotated(v[1], 13) ^ v[0], rotated(v[3], 16) ^ v[2]
            v[0] = rotated(v[0], 32)
            v[2], v[0] = v[2] + v[1] & MASK, v[0] + v[3] & MASK
            v[1], v[3] = rotated(v[1], 17) ^ v[2], rotated(v[3], 21) ^ v[0]
            v[2] = rotated(v[2], 32)

    whole = len(message) // 8 * 8
    blocks = [int.from_bytes(message[i : i + 8], "little") for i in range(0, whole, 8)]
    for block in [*blocks, int.from_bytes(message[whole:], "little") | (len(message) & 0xFF) << 56]:
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def finalised(value):
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def test_reference_hash_is_siphash():
    # The test vector in the appendix of the SipHash paper.
    assert siphash(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


@pytest.mark.parametrize("text", TEXTS)
def test_keys_follow_the_documented_hash(text):
    stated = finalised(siphash(b"0123456789123456", text.encode()))
    assert element_keys([text]).view(np.uint64).tolist() == [stated]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", 1760245841805064774),
        ("example.org", -8974534044371716174),
        ("https://é.example/ü?x=1", -3639229747403073937),
    ],
)
def test_keys_equal_those_of_existing_archives(text, key):
    assert element_keys([text]).tolist() == [key]


def test_keys_depend_only_on_the_text():
    keys = element_keys([*TEXTS, *reversed(TEXTS)])
    assert keys.dtype == np.int64
    assert keys[: len(TEXTS)].tolist() == keys[len(TEXTS) :][::-1].tolist()
    assert len(set(keys.tolist())) == len(TEXTS)


def test_empty_input_has_no_keys():
    assert element_keys([]).shape == (0,)


def test_sample_is_the_lowest_part_of_the_key_space():
    keys = element_keys([str(number) for number in range(64_000)])
    kept = keys[in_sample(keys, 64)]
    assert set(kept.tolist()) == {key for key in keys.tolist() if key < LOWEST_KEY + KEY_SPACE // 64}
    # Binomial: 1000 expected, standard deviation 31.4.
    assert abs(len(kept) - 1000) < 4 * 31.4
    assert keys[in_sample(keys, 1)].tolist() == keys.tolist()


@pytest.mark.parametrize("parts", [1, 3, 64, 1000])
def test_parts_divide_the_key_space(parts):
    edges = [first_key(part, parts) for part in range(parts + 1)]
    assert (edges[0], edges[-1]) == (-(2**63), 2**63)
    widths = np.diff([float(edge) for edge in edges])
    assert widths.min() > 0
    assert max(b - a for a, b in itertools.pairwise(edges)) - KEY_SPACE // parts <= 1


@pytest.mark.parametrize("one_in", [1, 7])
def test_elements_in_sample_agree_with_keys_in_sample(one_in):
    elements = np.array([f"e{number}" for number in range(2000)], dtype=object)
    kept = elements[elements_in_sample(elements, one_in)]
    keys = element_keys(elements)
    assert element_keys(kept).tolist() == keys[in_sample(keys, one_in)].tolist()
