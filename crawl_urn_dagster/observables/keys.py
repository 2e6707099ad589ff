"""Elements as 64-bit keys that are the same on every machine and in every version.

Here: the hash, and which keys a sample keeps. Not here: files of keys (`presence`).

A key is SipHash-2-4 of the element's UTF-8 bytes under the key ``0123456789123456`` (16 ASCII bytes), passed through
the finaliser of SplitMix64 (a bijection), and read as a signed integer, which every engine can store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.urn.data.histories import BoolArray, IntArray

#: What the keys of a file are, for whoever reads it.
KEYS = "siphash-2-4(0123456789123456), splitmix64, int64"
LOWEST_KEY = -(2**63)
KEY_SPACE = 2**64


def element_keys(elements: npt.NDArray[np.object_] | Sequence[str]) -> IntArray:
    """Hash elements, vectorised.

    That any two of n elements share a key has a probability of about n² / 2^65: 3e-6 for ten million elements, 3 %
    for a billion; of the elements, then, two would count as one.

    Parameters
    ----------
    elements
        Texts, shape (elements,).

    Returns
    -------
    Shape (elements,); equal texts have equal keys.
    """
    from pandas.util import hash_array

    texts = np.asarray(elements, dtype=object)
    hashed = hash_array(texts, encoding="utf8", hash_key="0123456789123456", categorize=False)
    return hashed.view(np.int64)


def in_sample(keys: IntArray, one_in: int) -> BoolArray | slice:
    """Return which keys are in a coordinated sample: those in the lowest ``1 / one_in`` of all keys.

    Every crawl keeps the same elements, so that the overlaps of the sample are a sample of the overlaps.

    Parameters
    ----------
    keys
        Any keys.
    one_in
        At least 1; 1 keeps everything.

    Returns
    -------
    Index of the keys.
    """
    return slice(None) if one_in == 1 else keys < first_key(1, one_in)


def elements_in_sample(elements: npt.NDArray[np.object_], one_in: int) -> npt.NDArray[np.bool_]:
    """Return for each element whether it is in a coordinated sample."""
    return element_keys(elements) < first_key(1, one_in) if one_in > 1 else np.ones(len(elements), dtype=np.bool_)


def first_key(part: int, parts: int) -> int:
    """Lowest key of one of some equal parts of all keys; parts count from 0."""
    return LOWEST_KEY + part * KEY_SPACE // parts
